package main

// What `hallmark health` says to a person.

const healthHelp = `Work with health checks of custom resources. A spec (kind HealthCheck) says in CEL what
Healthy, Progressing, Degraded and Suspended mean for a kind; hallmark compiles it to
the Lua that Argo CD runs and to what Flux, the Argo CD operator and Helm chart take.
The format is described in the package comment of health.`

const healthExample = `  hallmark health test checks/
  hallmark health build --library cert-manager.io > argocd-cm.yaml
  kubectl get certificate -A -o yaml | hallmark health eval --library cert-manager.io`

const healthTestHelp = `Run the cases of specs (FILE, or each spec of DIR) in Argo CD's own Lua VM, with its
libraries off as for argocd-cm, and in cel-go. Both must say what the case wants. The
cases of certificate.yaml stand in certificate_test.yaml beside it.

Each check is also given a corpus of objects that controllers and people really make
(no status, a list without entries, a text where a number belongs, 10,000 conditions):
for each of them both must agree on a valid status and a message, and the script must not
take more than 50 ms of processor time.

A rule that no case reaches is named, and --cover 100 makes it a failure.

With -o json the result is a list of checks, each with check, file, cases, robustness (the
objects that failed), objects (how many there were), rules (label, line, and how many cases
it decides), coverage in percent and passed. -o junit is for CI systems.`

const healthTestExample = `  hallmark health test checks/
  hallmark health test --cover 100 -v certificate.yaml
  hallmark health test --library '*' -o junit > report.xml`

const healthBuildHelp = `Build what a platform team installs from specs (FILE, or each spec of DIR) and from
hallmark's own library (--library). A spec with a fault, or with a construct that Lua
cannot do exactly, builds nothing.

  argocd-cm        the ConfigMap argocd-cm with the checks and nothing else
  argocd-cm-patch  the same as a strategic-merge patch
  helm-values      values for the argo-cd Helm chart
  operator         spec.resourceHealthChecks for the Argo CD operator
  flux             healthCheckExprs for a Kustomization or HelmRelease of Flux
  lua              the script of one check
  layout           health.lua, health_test.yaml and testdata in the folder --out, as
                   Argo CD's own resource_customizations are laid out

What an output cannot express is said on standard error.`

const healthBuildExample = `  hallmark health build checks/ > argocd-cm.yaml
  hallmark health build --library cert-manager.io --library batch/cronjob -o helm-values > values.yaml
  hallmark health build -o layout --out resource_customizations checks/
  hallmark health build --expand certificate.yaml`

const healthEvalHelp = `Say what health checks say of objects: YAML or JSON, several documents, lists as kubectl
prints them. The checks are those of specs (SPEC, or each of DIR), of hallmark's own
library (--library), of an argocd-cm (--argocd-cm) with the scripts that Argo CD itself
brings along, and of one script for every object that no other is for (--lua); for each
object they are asked in this order. Each runs in Argo CD's own Lua VM. What Argo CD
judges by code of its own, such as a Deployment or an object that is being deleted, is
judged by that code. A status "error" is a script that raises, which makes an
application Unknown; "empty" is a script without a verdict, which blocks a wave.

With --fail-on the exit code is 1 where an object has one of the statuses, so that a
pipeline can wait for what Argo CD would wait for: --fail-on not-healthy passes where
every object that a check is for is Healthy, and not where there is no object at all.

With -o json the result is a list of objects with kind, group, namespace, name, status,
message, rule (of a spec) and check (where it is from).`

const healthEvalExample = `  kubectl get certificate -A -o yaml | hallmark health eval --library cert-manager.io
  hallmark health eval -f widget.yaml --lua health.lua
  kubectl get -f release.yaml -o yaml | hallmark health eval --argocd-cm argocd-cm.yaml --fail-on not-healthy`
