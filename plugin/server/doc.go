// Package server is the config management plugin that Argo CD's repo-server
// talks to: the gRPC service ConfigManagementPluginService on a unix socket. It
// is the only importer of argo-cd's cmpserver/apiclient.
//
// # One request
//
//	slot      waits for one of the render slots
//	receive   metadata, then the repository as a gzipped tar in chunks; unpacked
//	          into memory, checked against its checksum
//	load, render, gate, stamp   by package plugin, or an answer from its cache
//
// A request that cannot be answered in time is answered with an error a moment
// before Argo CD's deadline, so that a user reads a reason instead of "context
// deadline exceeded". The slot stays taken for as long as something works on the
// request: an engine that never ends cannot be stopped from outside. When such
// renders hold every slot, or the socket is gone, the server says that it is not
// alive, and kubelet starts another.
//
// repo-server reports an error of its own if a plugin answers while it still
// sends (util/cmp/stream.go, sendFile), and drops the plugin's. So the rest of a
// refused archive is read and dropped before the answer.
//
// # What is seen from outside
//
// Metrics have few label values, none from a request. Logs name the application,
// its repository and the stamps, never a manifest, a value of a parameter or of
// a variable. Both see error texts only as far as a user of Argo CD does.
package server
