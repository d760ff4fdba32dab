// Package health is the health check of a custom resource as a spec: what its
// YAML means, with positions, and how its CEL expressions are type-checked.
//
// A spec is data and independent of where it runs. Package compile turns it into
// the Lua that Argo CD runs, package eval evaluates it directly and is the oracle
// that the generated script is compared with.
//
// The rule of the folder: whatever object it is given, a spec yields one of Argo
// CD's statuses and a message. A rule whose expression errors, such as on a
// missing field, does not match.
package health
