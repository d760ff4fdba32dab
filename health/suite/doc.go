// Package suite runs the test cases of a health spec, each in the oracle and in
// Argo CD's Lua VM, and reports every difference between expected status, oracle
// and VM.
//
// # The format of test cases
//
//	apiVersion: hallmark.dev/v1
//	kind: HealthTest
//	metadata: {name: certificate}          # the name of the check
//	spec:
//	  check: certificate.yaml              # beside this file
//	  cases:
//	    - name: ready
//	      want: {status: Healthy, message: Certificate is up to date}
//	      rule: rule 3
//	      object: {...}
//
// The message of want and the rule, by its label, are compared only where they are
// given. The object stands in object, or in the file that file names.
//
// To its cases each check gets the robustness corpus (package corpus), on a bare object
// and on the object of each case: whatever the object is, the VM must say
// what the oracle says, within 50 ms of processor time, and must not raise.
package suite
