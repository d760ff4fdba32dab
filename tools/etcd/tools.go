//go:build tools

// Package tools pins etcd, the store of the end-to-end tests' cluster.
// It is a module of its own because the program's dependencies do not build
// together with hallmark's; `make e2e-tools` builds it into ./bin.
package tools

import _ "go.etcd.io/etcd/server/v3"
