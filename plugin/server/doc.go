// Package server is the config management plugin service that argocd-repo-server
// calls over a unix socket. It is the only importer of Argo CD's plugin API
// client.
//
// The service takes parameters from the request message, where the limit of 128
// KiB on one environment variable does not apply, and receives the repository as
// a bounded tar stream. It holds no state between two requests.
package server
