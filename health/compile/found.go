package compile

import (
	"slices"
	"strings"

	"hallmark.dev/hallmark/lua/ast"
	"hallmark.dev/hallmark/lua/print"
)

// searches are the helpers that look for an entry of a list.
var searches = []string{"condition", "find", "first"}

// findOnce spares a rule a second search for the entry that its condition or its message
// is about: the search is made once, into the variable found. Where the rule before
// has made it, it is still there.
func (c *compiler) findOnce(r *rule) {
	inCond, inMessage := searchesIn(r.cond), searchesIn(r.message)
	text := ""
	if slices.Contains(inCond, c.found) || slices.Contains(inMessage, c.found) {
		text = c.found
	}
	for i, s := range inCond {
		if text == "" && (slices.Contains(inMessage, s) || slices.Contains(inCond[i+1:], s) || readsField(r.cond, s)) {
			text = s
		}
	}
	onlyThen := text == "" && len(inMessage) > 0 && isSearch(inMessage[0], "condition", "find")
	if onlyThen {
		text = inMessage[0]
	}
	if text == "" {
		return
	}
	var search ast.Expr
	found := ast.Name(c.foundName())
	replace := func(e ast.Expr) ast.Expr {
		return replaceSearches(e, func(call ast.Expr) ast.Expr {
			if print.Expr(call) != text {
				return call
			}
			search = call
			return found
		})
	}
	cond, message := replace(r.cond), replace(r.message)
	isMap := findsMap(search)
	if isMap && cond != nil && (hasConjunct(cond, found) || asksField(cond, found)) {
		cond = readFields(withoutConjunct(cond, found), found, true)
		cond = and(found, cond)
		message = readFields(message, found, true)
	} else if isMap {
		cond, message = readFieldsIfFound(cond, found), readFieldsIfFound(message, found)
	}
	cond = c.writeOlder(r, cond)
	assign := ast.Assign{Name: string(found), Value: search}
	switch {
	case onlyThen:
		r.found = assign
	case text != c.found:
		r.search, c.found = search, text
	}
	r.cond, r.message, r.variable = cond, message, string(found)
}

// writeOlder writes a call of older out that compares a generation of what was found.
func (c *compiler) writeOlder(r *rule, cond ast.Expr) ast.Expr {
	if cond == nil {
		return nil
	}
	parts := operands(cond, "and")
	for i, part := range parts[1:] {
		call, ok := part.(ast.Call)
		if !ok || call.Func != ast.Expr(ast.Name("older")) || !isPlain(call.Args[0]) || !isPlain(call.Args[1]) || c.seen == maxSeen || parts[0] != ast.Expr(ast.Name(c.foundName())) {
			continue
		}
		c.seen++
		n := c.name("", "seen")
		value := and(parts[0], call.Args[0])
		r.loops = append(r.loops, ast.Local{Name: n, Value: c.call("tonumber", value)})
		parts[i+1] = c.isOlder(n, call.Args[0], call.Args[1])
		if parts[0] == ast.Expr(ast.Name(c.foundName())) && i == 0 {
			parts[0] = ast.Bool(true) // a generation is only of what was found
		}
		break
	}
	out := ast.Expr(ast.Bool(true))
	for _, part := range parts {
		out = and(out, part)
	}
	return out
}

// foundName is the variable for what a rule finds, the same one for all rules.
func (c *compiler) foundName() string {
	if _, declared := c.byPath["found"]; !declared {
		name := c.name("", "found")
		c.byPath["found"] = name
		c.locals = append(c.locals, ast.Local{Name: name})
	}
	return c.byPath["found"]
}

// isSearch reports whether a text is that of a search by one of the helpers.
func isSearch(text string, helpers ...string) bool {
	name, _, _ := strings.Cut(text, "(")
	return slices.Contains(helpers, name)
}

// searchesIn is the texts of the searches in an expression, outside of functions.
func searchesIn(e ast.Expr) (texts []string) {
	replaceSearches(e, func(call ast.Expr) ast.Expr {
		texts = append(texts, print.Expr(call))
		return call
	})
	return texts
}

// readsField reports whether a condition asks for a field of what a search finds, so
// that it does not hold where that finds nothing.
func readsField(cond ast.Expr, text string) bool {
	const entry = ast.Name("found")
	return asksField(replaceSearches(cond, func(call ast.Expr) ast.Expr {
		if print.Expr(call) == text && findsMap(call) {
			return entry
		}
		return call
	}), entry)
}

// replaceSearches replaces the searches in an expression, outside of functions.
func replaceSearches(e ast.Expr, by func(ast.Expr) ast.Expr) ast.Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case ast.Function:
		return e
	case ast.Call:
		if name, ok := e.Func.(ast.Name); ok && slices.Contains(searches, string(name)) {
			return by(e)
		}
	}
	return ast.Map(e, func(inner ast.Expr) ast.Expr { return replaceSearches(inner, by) })
}

// hasConjunct reports whether one of the operands of a chain of "and" is a name.
func hasConjunct(e ast.Expr, name ast.Name) bool {
	if b, ok := e.(ast.Binary); ok && b.Op == "and" {
		return hasConjunct(b.X, name) || hasConjunct(b.Y, name)
	}
	return e == ast.Expr(name)
}

// withoutConjunct is the chain without that operand.
func withoutConjunct(e ast.Expr, name ast.Name) ast.Expr {
	if b, ok := e.(ast.Binary); ok && b.Op == "and" {
		return and(withoutConjunct(b.X, name), withoutConjunct(b.Y, name))
	}
	if e == ast.Expr(name) {
		return ast.Bool(true)
	}
	return e
}

// readFieldsIfFound replaces field(found, key) by found and found[key], where it is not
// certain that there is something.
func readFieldsIfFound(e ast.Expr, found ast.Name) ast.Expr {
	if e == nil {
		return nil
	}
	if key, ok := fieldOf(e, found); ok {
		return and(found, ast.Index{X: found, Key: key})
	}
	return ast.Map(e, func(inner ast.Expr) ast.Expr { return readFieldsIfFound(inner, found) })
}
