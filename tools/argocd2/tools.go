//go:build tools

// Package tools pins Argo CD 2.14, one of the two that the end-to-end tests run against.
// It is a module of its own because the program's dependencies do not build
// together with hallmark's; `make e2e-tools` builds it into ./bin.
package tools

import _ "github.com/argoproj/argo-cd/v2/cmd"
