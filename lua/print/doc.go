// Package print writes a Lua syntax tree as text: the same tree, the same bytes.
// Quoting is its own, so that no string of a spec can end a literal early.
package print
