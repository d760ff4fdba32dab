// Package vm runs a health script exactly as Argo CD does: the same interpreter,
// libraries off by default, one second, the same conversion of values and the
// same rules for what a script may return. It is the only importer of Argo CD's
// util/lua and of gopher-lua.
//
// [Run] is Argo CD's own code. [Inspect] runs the script in a state of the same
// making and tells what it returned, which Argo CD's code hides; that both agree is
// tested on all scripts and fixtures that Argo CD brings along. [Read] tells what a
// script says without running it.
//
// A script is input. What reaches from it to the machine is taken away before it
// runs, see fence; in Argo CD it is there.
package vm
