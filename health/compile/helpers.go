package compile

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hallmark.dev/hallmark/lua/ast"
)

//go:embed helpers.lua
var helpersText string

// A helper is one function of helpers.lua, with the comment above it.
type helper struct {
	name, text string
	uses       []string // the helpers that it calls
}

var (
	helperHead = regexp.MustCompile(`(?m)^local function (\w+)`)
	call       = regexp.MustCompile(`(\.?)(\w+)\(`)
	helpers    = sync.OnceValue(func() []helper { return parseHelpers(helpersText) }) // a server that compiles nothing parses nothing
)

// parseHelpers cuts the file at its blank lines. A helper uses those above it
// that it calls.
func parseHelpers(file string) (all []helper) {
	for part := range strings.SplitSeq(file, "\n\n") {
		head := helperHead.FindStringSubmatch(part)
		if head == nil {
			continue // the comment at the top
		}
		h := helper{name: head[1], text: part}
		_, code, _ := strings.Cut(part, "local function ")
		calls := call.FindAllStringSubmatch(code, -1)
		for _, earlier := range all {
			if slices.ContainsFunc(calls, func(m []string) bool { return m[1] == "" && m[2] == earlier.name }) {
				h.uses = append(h.uses, earlier.name)
			}
		}
		all = append(all, h)
	}
	return all
}

// withHelpers returns the helpers of those names and of what they use, in the
// order of the file.
func withHelpers(used map[string]bool) []ast.Stmt {
	for _, h := range slices.Backward(helpers()) {
		if used[h.name] {
			for _, name := range h.uses {
				used[name] = true
			}
		}
	}
	var out []ast.Stmt
	for _, h := range helpers() {
		if used[h.name] {
			out = append(out, ast.Verbatim(h.text), ast.Blank{})
		}
	}
	return out
}

// called is the names that statements read, among them those of the functions that
// they call.
func called(stmts []ast.Stmt) map[string]bool {
	names := map[string]bool{}
	ast.WalkStmts(stmts, func(e ast.Expr) bool {
		if name, ok := e.(ast.Name); ok {
			names[string(name)] = true
		}
		return true
	})
	return names
}
