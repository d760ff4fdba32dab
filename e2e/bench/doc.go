// Package bench measures hallmark in a real Argo CD: how long repo-server takes
// to answer GenerateManifest without its cache, for the same application and
// the same commit, rendered in different ways.
//
//	make bench-argocd                                       # builds the programs, runs all
//	go test ./bench -run '^$' -bench . -benchtime 1x -v     # with the programs in ../bin
//
// # The ways
//
//   - native Helm: repo-server runs helm itself.
//   - helm template plugin: argocd-cmp-server runs helm, through the sh that such
//     a plugin needs to pass on its variables, which takes one millisecond.
//   - hallmark generate plugin: argocd-cmp-server runs hallmark.
//   - hallmark serve: as installed, for a value of the chart that no request had
//     before. Nothing but the loaded chart comes from its cache.
//   - hallmark serve, other commit: a commit that changes nothing in the
//     application, answered from its cache.
//   - floor: a plugin server that drops what it receives, unread, and answers
//     with manifests that were printed before. This is what repo-server needs for
//     itself and for the transport. One floor answers as hallmark does, with a
//     string of JSON for each object, one with YAML.
//
// # How it is measured
//
// A round is a commit that touches a file outside of the application, which
// repo-server fetches before anything is measured, and then one request of each
// way, in an order that changes from round to round. Machines differ and are
// noisy, so what counts are quotients of two ways in the same round, and of
// those the median. Nothing fails on a time: targets are printed beside what was
// measured.
//
// Before that, the ways are compared: apart from stamps all give the same objects.
//
// repo-server runs as it does by default, with no limit on concurrent requests.
// Plugins work side by side on one repository and revision, whatever their
// parameters are, so the applications of a fleet do not wait for each other.
package bench
