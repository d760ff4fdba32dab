// Package vm runs a health script exactly as Argo CD does: the same interpreter,
// libraries off by default, one second, the same conversion of values and the
// same rules for what a script may return. It is the only importer of Argo CD's
// util/lua and of gopher-lua.
package vm
