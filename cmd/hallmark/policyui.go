package main

// What `hallmark policy` says to a person.

const policyHelp = `Work with the RenderPolicy: the file in which a platform team says what
applications may ask of a render. Its format is described in the package comment of
plugin/policy.`

const policyExample = `  hallmark policy check policy.yaml
  hallmark policy explain --policy policy.yaml --project payments --namespace payments`

const policyCheckHelp = `Read a policy as the plugin does. Says ok, or names each fault with its line and
column.`

const policyCheckExample = `  hallmark policy check policy.yaml`

const policyExplainHelp = `Say which rule of a policy decides for an application, why the rules in front of it
do not, and what it allows. The application is told by what Argo CD says of it: its
project, the URL of its repository, the namespace of its destination; what is left
out is empty. A limit that the policy does not set is shown with hallmark's default,
which --limit of hallmark serve replaces.

With -o json the same is one object:

  subject     the project, repoURL and namespace that were asked about, without
              passwords
  considered  the rules in their order, up to the one that decides; each with name,
              file, line, matches (true or false) and why
  decides     the rule that decides: name, file and line, or null for the default of
              a policy in which no rule matches
  allows      renderers (a list), decryption (null, or keys, roles and
              outsideSecrets; each of keys has kind and names, a list of globs, or
              null where every key of the kind may be used), fetchCharts,
              determinism, determinismAllowed (what an application may ask for),
              derivation (null where nothing is derived, or outsideSecrets), allowEmpty, limits by name, renderTime as text such as
              "1m20s", and lint (null where no release rules are checked, or default,
              rules: a level by id, waivers, healthChecks: each with group and kinds,
              and policies: the names of the team's own rules)`

const policyExplainExample = `  hallmark policy explain --project payments --repo-url https://git.example.com/payments/api --namespace payments
  hallmark policy explain --policy policy.yaml --project payments -o json | jq .allows.decryption`

const hintNoPolicy = "name the file with --policy; a server without one decrypts nothing, and all else is as the application asks"
