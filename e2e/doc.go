// Package e2e proves hallmark in a real Argo CD. The tests are a module of their
// own and know only programs: etcd, kube-apiserver, kube-controller-manager,
// redis-server, PostgreSQL, Argo CD 2.14 and 3.2, and the hallmark that was built.
//
//	make e2e                                        # builds what is missing, runs all
//	go test . -v                                    # in this folder, with the programs in ../bin
//	go test . -run 'TestArgoCD/3.2/unrelated-commit'
//	go test . -bin DIR                              # programs in another folder
//
// Beside the programs it takes Linux, git, sh, the go command, redis-server and
// PostgreSQL. A test whose programs are missing is skipped, or fails where the
// variable CI is set; the image takes root. Everything listens on loopback (but for the
// metrics of Argo CD's application-controller, whose address cannot be set), has
// its files in temporary folders, and ends with the test. With a test that is
// killed the programs end too; its folders stay.
//
// Each release gets one cluster and one Argo CD, with argocd-cm as hallmark
// ships it. Each scenario has repositories, namespaces and Applications of its
// own, and those that stop or replace a sidecar a sidecar of their own, so that
// all of them run at the same time.
//
// # What is proven
//
//   - forms: examples/checkout by Helm 3, Helm 4, Kustomize and as plain files
//     becomes Synced. What is in the cluster, hooks included, carries the five
//     annotations, and they are those that `hallmark render` prints for the same
//     commit. `hallmark verify` accepts what was applied.
//   - native: an Application moves from native Helm, Kustomize and directory
//     sources to the plugin and keeps all of its objects but the stamps.
//   - unplaced: objects without a namespace, which Argo CD completes, verify.
//   - unrelated-commit, server-side-apply: the Application stays Synced at the new
//     revision, no sync starts, no hook runs again, and the sidecar's log has the
//     new revision, answered from memory.
//   - one-value: exactly the object that changed is OutOfSync; after the sync
//     each object has the new render hash and revision.
//   - upgrade, renderer-change: with other versions of all renderers, or another
//     renderer, that give the same objects, Applications stay Synced and no hook
//     runs again.
//   - refused: a render error, an empty render and a chart that is not
//     deterministic are a ComparisonError with hallmark's own first line, and
//     nothing in the cluster is touched although pruning and self-healing are on.
//   - sealed: a SOPS chart (secrets://, and templates that encode what is decrypted)
//     and a SOPS overlay (a resource that is patched, and a ksops generator) are a
//     ComparisonError that names recipients and identities while the key in the
//     mount is another, with nothing in the cluster; with the right key, and
//     after the next one has replaced it, each Secret holds what was encrypted.
//     No restart, and no value in a condition or a log.
//   - policed: decryption by the rule that matches the repository, the namespace
//     and, from Argo CD 3 on, the project; refusals that name the rule, also of
//     wishes for more, and of ciphertext that is for a key of another team;
//     versions of the policy that replace each other under a
//     running sidecar, a broken one among them.
//   - derived: a chart that makes a password, a certificate and a checksum at random is
//     Synced and Healthy with values that are derived from a seed, and stays so through
//     hard refreshes, an unrelated commit and a restart; with determinism=warn it is
//     OutOfSync then. A generation, and later a second seed, moves one Application and
//     rolls its pods. The password is the one that `hallmark random show` prints, and in
//     no log.
//   - linted: release rules that a policy denies, one of them the team's own in CEL, are
//     a ComparisonError with nothing touched; a waiver in the object lets it in, an
//     expired one does not; a warning is in the sidecar's log.
//   - landlocked: links out of the mounts lead a confined server nowhere.
//   - killed: a sidecar that dies in the middle of a render and comes back.
//   - fleet: 40 Applications that are refreshed at once.
//   - large-repository, large-parameter: 100 MB of which 1 MB is needed, in
//     bounded memory; a parameter that no environment variable could hold.
//   - exec: argocd-cmp-server with the plugin.yaml that is shipped gives what
//     `hallmark serve` gives, stamps included.
//   - ui: the parameters that argocd-server asks repo-server for are those that
//     `hallmark parameters` prints. A sidecar with discovery renders a folder with
//     hallmark.yaml for an Application that names no plugin, and any folder for one
//     that names it.
//
// TestHealth has a cluster and an Argo CD of its own for each release, into whose
// argocd-cm what `hallmark health build -o argocd-cm-patch` printed is merged by
// kubectl patch while Argo CD runs:
//
//   - wave: a custom resource in wave 0 and a Deployment in wave 1, for an exact kind
//     and one of a wildcard, by specs of testdata/health and by hallmark's library.
//     Without a status it is Progressing, and there is no Deployment; a failure is
//     Degraded and fails the sync; in the next sync the Deployment follows when it is
//     Healthy. When both change, the new Deployment waits until the controller has
//     seen the new generation. Each time the Application and the sync have the
//     check's message.
//   - beside: a check written by hand raises a script error, which the object shows,
//     and makes the Application Unknown. Ours beside it say what is.
//
// TestLedger has a cluster and an Argo CD of its own for each release, too, and a
// PostgreSQL. `hallmark ledger project` runs as its Deployment says, with a token of
// its ServiceAccount and a role with the rights that ../manifests/ledger/README.md
// grants; Jobs run as in ../manifests/ledger/job. In all of it no log, message, pod or
// object has a password.
//
//   - release: the chart of ../examples/ledger, rendered by the plugin. While its Job
//     runs, and after one that left a broken invariant, nothing of the release is
//     there. The next Job finds the change done and runs nothing; the Deployment of
//     wave 1 waits until the MigrationLedger says so, too.
//   - outside: without a Job the MigrationLedger alone holds the Deployment: while
//     nothing is recorded and while the migration runs Progressing, with a broken
//     invariant Degraded, until it is mended and was asked again.
//   - killed-retry, killed-succeeded: the executor of the second release's migration is
//     killed in the middle. The Job's retry runs nothing, the sync fails, the
//     Deployment stays as the first release left it. With the Job in wave 0 the
//     Application is Degraded: investigate, do not re-run. After `hallmark ledger
//     recover` and a sync the release goes on, with one more run or without.
//   - evicted: a pod that is evicted has its migration stopped, and that is recorded.
//   - revision: what an earlier revision has recorded does not open the gate of an
//     object that asks for the one that was rendered.
//   - tool: golang-migrate's table, read once by hand: what it cannot tell opens no
//     gate, neither Argo CD's nor that of kubectl wait.
//
// TestManifests has an API server accept what ../manifests installs, and looks at
// the pod that comes of it. TestImage builds what ../Dockerfile describes and runs
// it in a jail beside both Argo CDs (see package jail), with policy and keys as
// the components mount them.
//
// What was applied is read from the annotation in which Argo CD keeps it: the
// live object itself has defaults of the API server in it, which no renderer
// has seen.
//
// # What is not
//
// No node runs, so no container does: the harness reports what nodes would (see
// package cluster). The containers of TestLedger's Jobs are processes that nothing
// isolates.
package e2e
