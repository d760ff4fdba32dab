// Package compare sets two renders side by side, object by object and field by
// field: two renderers on one input, or two revisions of a repository. It answers
// what an upgrade or a commit changes before a cluster sees it.
//
//	Objects     two lists of objects become what differs between them
//	Causes      differences that repeat over many objects become one cause
//	Run         renders many applications twice, side by side, within bounds
//
// # What is a difference
//
// The order of objects and the file that an object comes from are none, nor are the
// stamps, nor a field that differs from render to render anyway. A list whose items
// have a name (containers, env, ports, volumes) is compared by that name, so that an
// item put in front is one addition; where only the order of such a list differs,
// that is a difference of its own, because it rolls a workload.
//
// An object that is gone and one that is new are one renamed object where the names
// differ by a generated suffix alone, as those of Kustomize's ConfigMaps do, or where
// they are the same but for the name. References that only follow a new name are
// counted with it. An object that moved to another API group under its name is one
// changed object.
//
// The manifest of an Application counts as one of its objects where it differs and no
// other application renders it: its destination and sync options are in none that it
// renders.
//
// # Secrets
//
// The values of a Secret are compared and never shown: the report says which key
// changed. A value of 6 bytes or more, and what was decrypted, is taken out of
// everything else that is shown as well, messages included, and so is its bare
// checksum; but not a word that the objects have for a name or an image anyway. A
// report can stand in a pull request.
package compare
