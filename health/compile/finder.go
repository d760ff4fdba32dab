package compile

import (
	"slices"
	"strings"

	"hallmark.dev/hallmark/lua/ast"
)

// A finder is the helper condition in the form that a script needs: without a
// parameter that is the same in all calls, and without a test that no call asks for.
type finder struct {
	list       string // the local that most calls search, if there is one
	lists      bool   // some search another
	metadata   string // the locals of the object's metadata and generation
	generation string

	some, all  bool // some calls, all calls give a status
	two        bool // some give two
	reason     bool // some give reasons
	reasons    bool // some give several
	current    bool // some want an entry of the current generation
	stale      bool // some do not care
	conditions bool // some are not in a report
	report     bool // some are
	message    bool // some reports have a message of their own
	isTable    bool // the list is known to be a table
	parameters []string
}

// minShared is how many calls have to search the same list to be spared naming it.
const minShared = 4

// own are the names inside of the helper.
var own = []string{"list", "kind", "status", "other", "reason", "reasons", "stale", "health", "message", "c", "i", "seen"}

// newFinder looks through the calls in the statements; nil where there is none.
func (c *compiler) newFinder(stmts []ast.Stmt) *finder {
	f := &finder{all: true}
	calls, reports := 0, 0
	lists := map[string]int{}
	params := map[string]bool{}
	ast.WalkStmts(stmts, func(e ast.Expr) bool {
		if inner, ok := e.(ast.Function); ok {
			params[inner.Params[0]] = true
		}
		if report, ok := e.(ast.Call); ok && report.Func == ast.Expr(ast.Name("report")) {
			f.report = true
			f.message = f.message || report.Args[1] != ast.Expr(ast.Nil{})
			reports++
		}
		call, ok := conditionOf(e)
		if !ok {
			return true
		}
		calls++
		list, _ := call.Args[argList].(ast.Name)
		if lists[string(list)]++; lists[string(list)] > lists[f.list] {
			f.list = string(list)
		}
		statuses, reasons := len(call.Args[argStatuses].(ast.Table).Items), len(call.Args[argReasons].(ast.Table).Items)
		f.some, f.all, f.two = f.some || statuses > 0, f.all && statuses > 0, f.two || statuses > 1
		f.reason, f.reasons = f.reason || reasons > 0, f.reasons || reasons > 1
		isCurrent := bool(call.Args[argCurrent].(ast.Bool))
		f.current, f.stale = f.current || isCurrent, f.stale || !isCurrent
		return true
	})
	if calls == 0 {
		return nil
	}
	f.conditions = calls > reports
	f.lists = lists[f.list] < calls
	if f.lists && lists[f.list] < minShared || params[f.list] || slices.Contains(own, f.list) || !c.isLocal(f.list) {
		f.list, f.lists = "", true
	}
	if f.current {
		f.metadata = string(c.path(nil, "metadata").(ast.Name))
		f.generation = string(c.path(ast.Name(f.metadata), "generation").(ast.Name))
	}
	f.stale = f.stale && f.current
	for _, p := range []struct {
		name   string
		wanted bool
	}{{"list", f.list == ""}, {"kind", true}, {"status", f.some}, {"reason", f.reason}, {"other", f.two}, {"stale", f.stale}, {"list", f.list != "" && f.lists}} {
		if p.wanted {
			f.parameters = append(f.parameters, p.name)
		}
	}
	return f
}

func (c *compiler) isLocal(name string) bool {
	return slices.ContainsFunc(c.locals, func(s ast.Stmt) bool {
		local, ok := s.(ast.Local)
		return ok && local.Name == name
	})
}

// conditionOf is e as a call of the helper condition.
func conditionOf(e ast.Expr) (ast.Call, bool) {
	call, ok := e.(ast.Call)
	return call, ok && call.Func == ast.Expr(ast.Name("condition"))
}

// rewrite gives each call the arguments that the helper takes.
func (f *finder) rewrite(e ast.Expr) ast.Expr {
	e = ast.Map(e, f.rewrite)
	if report, ok := e.(ast.Call); ok && report.Func == ast.Expr(ast.Name("report")) {
		return f.rewriteReport(report)
	}
	call, ok := conditionOf(e)
	if !ok {
		return e
	}
	statuses, reasons := call.Args[argStatuses].(ast.Table).Items, call.Args[argReasons].(ast.Table).Items
	var args []ast.Expr
	given := 0
	for _, name := range f.parameters {
		arg := ast.Expr(ast.Nil{})
		switch {
		case name == "list" && f.list == "":
			arg = call.Args[argList]
		case name == "list" && call.Args[argList] != ast.Expr(ast.Name(f.list)):
			arg = or(call.Args[argList], ast.Table{}) // nil is the list that the others search
		case name == "kind":
			arg = call.Args[argType]
		case name == "status" && len(statuses) > 0:
			arg = statuses[0]
		case name == "other" && len(statuses) > 1:
			arg = statuses[1]
		case name == "reason" && f.reasons && len(reasons) > 0:
			arg = asKeys(reasons)
		case name == "reason" && len(reasons) > 0:
			arg = reasons[0]
		case name == "stale" && call.Args[argCurrent] == ast.Expr(ast.Bool(false)):
			arg = ast.Bool(true)
		}
		args = append(args, arg)
		if arg != ast.Expr(ast.Nil{}) {
			given = len(args)
		}
	}
	return ast.Call{Func: call.Func, Args: args[:given]}
}

// asKeys is a table with the texts as keys.
func asKeys(texts []ast.Expr) ast.Expr {
	var out ast.Table
	for _, text := range texts {
		out.Fields = append(out.Fields, ast.Field{Key: string(text.(ast.String)), Value: ast.Bool(true)})
	}
	return out
}

// helper is the text of the helper.
func (f *finder) helper() ast.Verbatim {
	var about []string
	tests := `type(c) == "table" and c.type == kind`
	switch {
	case f.two && f.all:
		tests += " and (c.status == status or other and c.status == other)"
	case f.two:
		tests += " and (not status or c.status == status or other and c.status == other)"
	case f.all:
		tests += " and c.status == status"
	case f.some:
		tests += " and (not status or c.status == status)"
	}
	switch {
	case f.reasons:
		tests += " and (not reason or reason[c.reason])"
		about = append(about, "one of the reasons")
	case f.reason:
		tests += " and (not reason or c.reason == reason)"
		about = append(about, "a reason")
	}
	comment := "-- the first condition of a type"
	if f.some {
		comment += " and status"
	}
	if len(about) > 0 {
		comment += ", with " + about[0] + " if that is given"
	}
	if f.current {
		comment += ";\n-- none of an older generation than the object"
	}
	if f.stale {
		comment += ", unless stale ones will do"
	}
	list, guard := "list", "  if type(list) ~= \"table\" then return nil end\n"
	switch {
	case f.list != "" && f.lists:
		guard = "  list = list or " + f.list + "\n" + guard
	case f.list != "":
		list, guard = f.list, strings.ReplaceAll(guard, "list", f.list)
	}
	if f.isTable {
		guard = ""
	}
	found := "return c"
	if f.current {
		found = strings.NewReplacer("METADATA", f.metadata, "GENERATION", f.generation).Replace(currentTest)
		if f.stale {
			found = strings.Replace(found, "if seen", "if stale or seen", 1)
		}
	}
	condition := comment + "\nlocal function condition(" + strings.Join(f.parameters, ", ") + ")\n" + guard +
		"  for i = 1, #" + list + " do\n    local c = " + list + "[i]\n    if " + tests + " then\n      " + found + "\n    end\n  end\nend"
	if f.report {
		condition = f.reportHelper(condition)
	}
	return ast.Verbatim(condition)
}

// currentTest is true of an entry that has no generation, of any where the object
// has none, and of one that is not of an older generation; an error is not.
const currentTest = `local seen = c.observedGeneration
      if seen == nil or seen == GENERATION
        or GENERATION == nil and METADATA ~= nil and (type(METADATA) ~= "table" or METADATA[1] == nil)
        or type(seen) == type(GENERATION) and type(seen) ~= "table" and (seen == true or seen and seen > GENERATION)
      then
        return c
      end`
