// Package eval evaluates a health spec with cel-go, over the top-level keys of an
// object as Flux binds them. It is the oracle: a generated script is right when
// it says what this package says.
package eval
