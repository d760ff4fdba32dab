// Package eval evaluates a health spec with cel-go, over the top-level keys of an
// object as Flux binds them. It is the oracle: a generated script is right when
// it says what this package says.
//
// cel-go does the work. What this package adds is the object as Lua in Argo CD sees it,
// which package health describes (value.go), and the bounds that go with it: a
// whole number of 2^53 or more, arithmetic with decimals and the length of a text
// are errors (bounds.go).
package eval
