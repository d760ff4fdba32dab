//go:build tools

// Package tools pins the Kustomize command line, the reference that hallmark's goldens are taken
// from. It is a module of its own because the program's dependencies do not
// build together with hallmark's; `make tools` builds it into ./bin.
package tools

import _ "sigs.k8s.io/kustomize/kustomize/v5"
