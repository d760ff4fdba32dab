package compile

import (
	"strings"

	"hallmark.dev/hallmark/lua/ast"
	"hallmark.dev/hallmark/lua/print"
)

// Many rules ask for one condition and say what its message says, or a text of their own.
// Where a script has enough of those they become
//
//	answer =
//	  -- rule 1, line 9
//	  report("Degraded", "Ready", "False")
//	  -- rule 2, line 10
//	  or report("Suspended", "Paused", "True", "paused")
//	if answer then
//	  return answer
//	end
//
// which is half as long. report(status, message, condition(...)) is the call until finder.go
// rewrites it; a message that is nil is that of the condition.

// reports is how many rules are worth the helper report, where condition is needed too.
const reports = 9

// reported is the statements of the rules.
func (c *compiler) reported(rules []rule) (out []ast.Stmt) {
	calls := make([]ast.Expr, len(rules))
	simple, defaults := 0, 0
	for i := range rules {
		message := ast.Expr(nil)
		if calls[i], message = reportOf(rules, i); calls[i] == nil {
			continue
		}
		simple++
		if message == ast.Expr(ast.Nil{}) {
			defaults++
		}
	}
	others := -simple
	ast.WalkStmts(statements(rules), func(e ast.Expr) bool {
		if _, ok := conditionOf(e); ok {
			others++
		}
		return true
	})
	if defaults == 0 || others > 0 && simple < reports {
		return statements(merge(rules))
	}
	for i := 0; i < len(rules); {
		if calls[i] == nil {
			out = append(out, statements(rules[i:i+1])...)
			i++
			continue
		}
		var either ast.Either
		for ; i < len(rules) && calls[i] != nil; i++ {
			either.Of = append(either.Of, ast.Commented{Comment: rules[i].comment, Value: calls[i]})
		}
		out = append(out, ast.Blank{})
		if i == len(rules)-1 && rules[i].cond == nil && len(rules[i].declared) == 0 && rules[i].found == nil {
			either.Of = append(either.Of, ast.Commented{Comment: rules[i].comment, Value: rules[i].verdict()})
			return append(out, either)
		}
		either.Name = c.answerName()
		out = append(out, either, ast.If{Cond: ast.Name(either.Name), Then: []ast.Stmt{ast.Return{Value: ast.Name(either.Name)}}})
	}
	return out
}

// merge makes one rule of neighbours that say the same of different conditions.
func merge(rules []rule) (out []rule) {
	for _, r := range rules {
		if n := len(out) - 1; n >= 0 && sameAnswer(out[n], r) {
			out[n].comment += "\n" + r.comment
			out[n].search = or(out[n].search, r.search)
			continue
		}
		out = append(out, r)
	}
	return out
}

// sameAnswer reports whether two rules have the same status, and the message of what
// they find.
func sameAnswer(a, b rule) bool {
	return a.search != nil && b.search != nil && len(a.declared)+len(b.declared)+len(a.loops)+len(b.loops) == 0 && a.found == nil && b.found == nil &&
		a.status == b.status && a.cond == ast.Expr(ast.Name(a.variable)) && b.cond == a.cond && print.Expr(a.message) == print.Expr(b.message)
}

// reportOf is the i-th rule as a call of report, and its message; nil for a rule that is
// not as simple, or whose condition a later one is about too.
func reportOf(rules []rule, i int) (call, message ast.Expr) {
	r := rules[i]
	if len(r.declared)+len(r.loops) > 0 || r.found != nil {
		return nil, nil
	}
	condition, ok := conditionOf(r.cond)
	message, literal := r.message.(ast.String)
	if found := ast.Name(r.variable); r.search != nil && r.cond == ast.Expr(found) {
		condition, ok = conditionOf(r.search)
		if print.Expr(r.message) == r.variable+".message" {
			message, literal = ast.Nil{}, true
		}
		for _, next := range rules[i+1:] {
			if next.search != nil || next.searches {
				break
			}
			if mentions(next, found) {
				return nil, nil
			}
		}
	}
	if !ok || !literal {
		return nil, nil
	}
	return ast.Call{Func: ast.Name("report"), Args: []ast.Expr{ast.String(r.status), message, condition}}, message
}

func mentions(r rule, name ast.Name) bool {
	used := called(statements([]rule{r}))
	return used[string(name)]
}

// answerName is the variable for what a report says, the same one for all rules.
func (c *compiler) answerName() string {
	if _, declared := c.byPath["answer"]; !declared {
		name := c.name("", "answer")
		c.byPath["answer"] = name
		c.locals = append(c.locals, ast.Local{Name: name})
	}
	return c.byPath["answer"]
}

// rewriteReport gives a call of report the arguments that it takes; the condition in it
// has those of condition already.
func (f *finder) rewriteReport(call ast.Call) ast.Expr {
	args := append([]ast.Expr{call.Args[0]}, call.Args[2].(ast.Call).Args...)
	if message := call.Args[1]; message != ast.Expr(ast.Nil{}) {
		for len(args) <= len(f.parameters) {
			args = append(args, ast.Nil{})
		}
		args = append(args, message)
	}
	return ast.Call{Func: call.Func, Args: args}
}

// reportHelper is the text of the helper report, which is the helper condition with
// another result where no rule calls that.
func (f *finder) reportHelper(condition string) string {
	parameters, message := "health, "+strings.Join(f.parameters, ", "), "c.message"
	if f.message {
		parameters, message = parameters+", message", "message or c.message"
	}
	result := "return verdict(health, " + message + ")"
	if !f.conditions {
		return strings.NewReplacer(
			"-- the first condition", "-- a verdict with the message of the first condition",
			"function condition("+strings.Join(f.parameters, ", "), "function report("+parameters,
			"return c\n", result+"\n",
		).Replace(condition)
	}
	return condition + "\n\n-- a verdict with the message of that condition\nlocal function report(" + parameters + ")\n" +
		"  local c = condition(" + strings.Join(f.parameters, ", ") + ")\n  if c then " + result + " end\nend"
}
