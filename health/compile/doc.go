// Package compile translates a type-checked health spec into a Lua syntax tree.
//
// Lua in Argo CD's VM cannot do all of CEL exactly: absent and null are one, an
// integer above 2^53 loses digits, and there is no string library. What cannot be
// exact is a compile error that names the construct and the way out; nothing is
// approximated. Every script that is emitted returns a valid status and a string
// message for every object, and cannot raise.
//
// # How an expression is translated
//
// In a script nil is "error": no value of an object is null, so nil is free. Each
// expression has a translation to a Lua expression that gives its value, or nil
// where CEL gives an error (value.go). It never raises: where Lua would, as at a
// field of a text, a helper is called that returns nil instead (helpers.lua).
//
// A condition is translated twice over, because CEL's logic has three values: an
// error on one side of || is forgotten if the other side is true. when(e, true) is a Lua
// condition that holds exactly where e is true, when(e, false) one that holds exactly
// where e is false (truth.go). Neither holds where e errors. So
//
//	when(a || b, true)  = when(a, true) or when(b, true)
//	when(a || b, false) = when(a, false) and when(b, false)
//	when(!a, true)      = when(a, false)
//
// and so on through the macros: exists() is true where any element is true, and
// false where every element is false. Only at the leaves is it asked whether there is a
// value at all, and a rule, which needs to know only when it is true, becomes a
// plain Lua condition.
//
// A path from the object, such as status.conditions, becomes one local at the top
// of the script, however often it is used.
//
// # How a script is kept short
//
// Argo CD parses a script each time that it runs it, and that takes longer than all that
// the script then does: what counts is how many words it has, and how many functions.
// So what rules have in common is said once. exists() and first() of a condition are
// calls of one helper (condition.go), in the form that the script needs (finder.go); what
// a rule has found is still there for its message and for the next rule (found.go);
// rules that say what a condition says become a list of reports (report.go); the few other
// loops over a list stand in the script themselves (written.go), as does what a helper does
// in a few words (shorten.go); and a path below something that is not asked for
// itself is read without a helper (locals.go).
package compile
