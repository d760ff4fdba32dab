// Package application reads Argo CD Application and ApplicationSet manifests and
// says what each application renders, in the terms of package plugin.
//
//	found, err := application.Find(tree, ".", application.Options{Here: here})
//	for _, a := range found.Applications {
//		for _, s := range a.Sources { ... s.Path, s.Parameters ... }
//	}
//
// It reads files and decides nothing else: which repositories are at hand, and so
// which sources can be rendered, is the caller's knowledge.
//
// # Applications
//
// A native source (helm, kustomize, directory) becomes the parameters that mean the
// same, see [Source]; the parameters of a plugin source are taken as they stand.
// Argo CD merges two files of an application's folder into its source, which
// [Source.Overridden] does.
//
// The manifest is held to the fields and types of Argo CD 2.14 to 3.3. A field that
// Argo CD does not know would be dropped there without a word, and the application
// rendered without what its author meant; so it is a fault here, as is a number where
// Argo CD wants a string.
//
// # ApplicationSets
//
// [Expand] does what the ApplicationSet controller of Argo CD 3.2 does, with the
// generators that need nothing but files: list, git, matrix and merge. The others ask
// a cluster, a forge or a service, and are named in the error. Where 3.2 and 2.14
// differ (selectors of nested generators, a file that holds an empty list, exclude of
// git files), 3.2 is followed. Two things are different on purpose:
//
//   - A merge generator yields its applications in the order of its first generator,
//     where Argo CD's order is random.
//   - Template functions whose result depends on the clock, the time zone or chance
//     are refused: applications are to come out the same each time.
//
// Argo CD makes no application of an ApplicationSet that has any fault. Here the
// applications that came out are returned beside the faults, because a preview that
// shows most is of more use than one that shows nothing.
//
// Templates come from a stranger's repository and run in this process. So the steps,
// the size of values and the output of one expansion are bounded, see [Expand].
package application
