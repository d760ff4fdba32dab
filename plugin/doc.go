// Package plugin renders one application: it is what the command line, the exec
// plugin and the plugin server have in common.
//
//	load      hallmark.yaml beside the sources; the Application's parameters override it
//	render    Helm 3, Helm 4, Kustomize or plain files, all in memory
//	gate      refuse what must not reach a cluster, then what the policy's release
//	          rules deny
//	stamp     write the five annotations
//
// A Request names a tree and a folder in it; Render returns the stamped objects
// or an error, never both. Equal requests give equal bytes. A Cache does the same
// for a server, and answers from memory what nothing has changed about.
//
// A render is work on goroutines that cannot be stopped from outside. So it is
// bounded in time and memory, its caller is always answered, and Request.Ended says
// when nobody works on it any more.
//
// The renderers do not know of each other. Where a kustomization inflates Helm
// charts, this package hands the chart renderer to Kustomize.
package plugin
