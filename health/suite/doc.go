// Package suite runs the test cases of a health spec, each in the oracle and in
// Argo CD's Lua VM, and reports every difference between expected status, oracle
// and VM.
package suite
