// Package flux holds what hallmark writes for Flux against Flux's own code: the health
// check expressions against its evaluator, and the status of a MigrationLedger against
// kstatus and the wait of a Kustomization. It is a module of its own because Flux and
// Argo CD ask for different versions of Kubernetes; it reads the golden files of
// health/export and internal/ledger/projection, and imports nothing of hallmark.
package flux
