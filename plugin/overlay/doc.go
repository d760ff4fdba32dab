// Package overlay builds kustomizations in-process and gives the objects that
// `kustomize build --enable-helm` of the release [Version] prints, in its order.
// It is the only package that imports Kustomize.
//
// Kustomize itself does the work (api/krusty). Around it stand, in the order of
// a build:
//
//   - edit.go applies an Application's options to the kustomization that is
//     built, as Argo CD does with `kustomize edit`, but in memory;
//   - filesystem.go is the repository as Kustomize's file system: read-only,
//     confined, each read visible to the fs.FS that was passed in;
//   - scan.go looks at each kustomization before Kustomize does: what would be
//     fetched or executed is refused, and faults get file, line and column;
//   - plugins.go wraps the built-in plugins, which keeps them off the network,
//     and puts inflate.go in place of the generator that would run helm;
//   - ksopsconfig.go reads the configuration of ksops generators, which ksops.go
//     runs without that program;
//   - values.go turns node trees into Go values without printing them;
//   - origin.go finds the file of each object, errors.go the cause in an error.
//
// # No network, no child process
//
// Kustomize's loader fetches http(s) paths and clones what looks like a git
// address. Paths that stand in a kustomization are checked by the scan, with
// Kustomize's own tests for both; paths in plugin configurations go through a
// guarded loader. External plugins are off, the helm generator is replaced, and
// ksops, which is an external plugin, is done here: the file system decrypts.
// The exec and git code is linked in but has no way to be reached.
//
// # Why the plugin factories are replaced through go:linkname
//
// Kustomize has no seam for its Helm generator. Rewriting kustomizations as they
// are read (the chart's output as one more resource) was considered: it changes
// the order against other generators, merge behaviour, the namespace inherited
// from a parent, origin annotations and load restrictions. Kustomize's own
// factory maps are the exact place. They are internal, hence the linkname; a
// test fails if an upgrade moves them.
//
// # Known differences from the CLI (also in plugin/testdata/differences.yaml)
//
//	what                                   CLI            here
//	remote bases, files and schemas        fetched        refused
//	charts not in the repository           pulled         refused
//	a chart with version and repo found    pulled         used, if its version
//	as chartHome/name only                                is the wanted one
//	two charts, one with apiVersions of    the others'    each chart its own
//	its own, and apiVersions as option     list is
//	                                       overwritten
//	kind ksops, apiVersion builtin or a    printed        refused
//	function annotation in resources
//	a path through a symbolic link that    followed       refused
//	leaves the repository
//	an anchor that contains itself         crashes        refused
//
// And to ksops v4.5.1, as an exec plugin of the CLI:
//
//	what                                   ksops          here
//	quotes, "$" and " #" in a dotenv file  interpreted    part of the value
//	"KEY: value" in a dotenv file          taken          refused
//	one key twice in a Secret              the last wins  refused
//	an unknown field, or one at another    ignored        refused
//	level; an entry without files
//	a text file that is not UTF-8          replaced       refused
//	a path that leaves the repository      read           refused
//
// Kustomize prints notes on deprecated fields to the process's standard error
// and unused vars to the standard logger; nothing in its API turns that off.
//
// # Sources
//
// kustomize/api v0.21.2 (krusty, internal/target, internal/builtins),
// kustomize/v5 v5.8.2 (commands/edit, commands/build), argo-cd v2.14
// (util/kustomize/kustomize.go; ignoreMissingComponents as in v3).
package overlay
