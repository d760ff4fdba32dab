// Package ast is the syntax tree of the subset of Lua 5.1 that hallmark
// generates. It imports nothing outside the standard library.
package ast
