// Package flux holds the health check expressions that hallmark writes against
// Flux's own evaluator. It is a module of its own because Flux and Argo CD ask for
// different versions of Kubernetes; it reads the golden files of
// health/export/testdata/flux and imports nothing of hallmark.
package flux
