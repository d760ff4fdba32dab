// Package compile translates a type-checked health spec into a Lua syntax tree.
//
// Lua in Argo CD's VM cannot do all of CEL exactly: absent and null are one, an
// integer above 2^53 loses digits, and there is no string library. What cannot be
// exact is a compile error that names the construct and the way out; nothing is
// approximated. Every script that is emitted returns a valid status and a string
// message for every object, and cannot raise.
package compile
