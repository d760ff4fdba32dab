//go:build tools

// Package tools pins the cluster of the end-to-end tests: kube-apiserver, kube-controller-manager and kubectl.
// It is a module of its own because the program's dependencies do not build
// together with hallmark's; `make e2e-tools` builds it into ./bin.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
