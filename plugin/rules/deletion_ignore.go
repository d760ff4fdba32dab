package rules

import (
	"slices"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

func checkIgnoreOwner(r *render, report report) {
	for _, app := range r.applications() {
		if strings.TrimSpace(app.says(annotationIgnored)) != "" {
			continue
		}
		for i, entry := range object.Items(app.spec["ignoreDifferences"]) {
			if len(object.Items(object.Field(entry, "managedFieldsManagers"))) == 0 {
				report(app.item, app.at.under("ignoreDifferences", i), "nothing says who writes what is ignored in %s", kindOf(entry))
			}
		}
	}
}

func checkIgnoreDifferences(r *render, report report) {
	for _, app := range r.applications() {
		for i, entry := range object.Items(app.spec["ignoreDifferences"]) {
			at := app.at.under("ignoreDifferences", i)
			for j, pointer := range object.Items(object.Field(entry, "jsonPointers")) {
				text, isText := pointer.(string)
				if !isText {
					continue
				}
				if what := covered(entry, parsePointer(text)); what != "" {
					report(app.item, at.under("jsonPointers", j), "%q of %s covers %s", text, kindOf(entry), what)
				}
			}
			for j, expression := range object.Items(object.Field(entry, "jqPathExpressions")) {
				text := object.Text(expression)
				for _, p := range parseJQ(text) {
					if what := covered(entry, p); what != "" {
						report(app.item, at.under("jqPathExpressions", j), "%q of %s covers %s", text, kindOf(entry), what)
						break
					}
				}
			}
		}
	}
}

// kindOf names the objects that an entry of ignoreDifferences is about.
func kindOf(entry any) string {
	kind, name := object.Text(object.Field(entry, "kind")), object.Text(object.Field(entry, "name"))
	switch {
	case kind == "" || kind == "*":
		return "all kinds"
	case name != "":
		return kind + " " + strconv.Quote(name)
	}
	return kind
}

// An ignored path leads to a field whose differences are ignored.
type ignored struct {
	steps []string // keys; anyIndex for each item of a list, whichever it is
	// chosen says that the last step is not a place but a choice, as by
	// select(.name == "proxy"). An item that is chosen as a whole is one that
	// somebody adds to the list in the cluster.
	chosen bool
}

const anyIndex = "[]"

func parsePointer(text string) ignored {
	if text == "" {
		return ignored{}
	}
	var p ignored
	for step := range strings.SplitSeq(strings.TrimPrefix(text, "/"), "/") {
		if _, err := strconv.Atoi(step); err == nil {
			step = anyIndex
		}
		p.steps = append(p.steps, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return p
}

// parseJQ returns the paths of a jq expression that is made of plain paths, pipes,
// commas, parentheses and select: what Argo CD's users write. Others give no path, since
// what they select cannot be told without running them.
//
// A pipe binds looser than a comma: `.a, .b | .c` is `(.a, .b) | .c`.
func parseJQ(text string) []ignored {
	if len(text) > longestJQ {
		return nil
	}
	paths := []ignored{{}}
	for _, part := range splitJQ(text, '|') {
		var next []ignored
		for _, alternative := range splitJQ(part, ',') {
			for _, behind := range jqTerm(strings.TrimSpace(alternative)) {
				for _, p := range paths {
					next = append(next, p.then(behind))
				}
				if len(next) > mostPaths {
					return nil
				}
			}
		}
		paths = next
	}
	return paths
}

// Each pipe multiplies the paths in front of it by the commas behind it, and each
// parenthesis is read once more for every one around it.
const (
	longestJQ = 4096 // bytes
	mostPaths = 256
)

// jqTerm returns the paths of a term, which has no pipe and no comma of its own.
func jqTerm(text string) []ignored {
	if text == "" {
		return nil
	}
	starts := []ignored{{}}
	if rest, found := afterSelect(text); found {
		starts, text = []ignored{{chosen: true}}, rest
	} else if inside, rest, found := cutParentheses(text); found {
		starts, text = parseJQ(inside), rest
	}
	steps, ok := jqSteps(text)
	if !ok {
		return nil
	}
	var out []ignored
	for _, p := range starts {
		out = append(out, p.then(ignored{steps: steps}))
	}
	return out
}

// then returns the path that goes on with another.
func (p ignored) then(behind ignored) ignored {
	if len(behind.steps) == 0 {
		return ignored{p.steps, p.chosen || behind.chosen}
	}
	return ignored{slices.Concat(p.steps, behind.steps), behind.chosen}
}

// splitJQ splits at a separator outside of parentheses, brackets and strings.
func splitJQ(text string, separator byte) []string {
	var out []string
	depth, start, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == separator && depth == 0:
			out = append(out, text[start:i])
			start = i + 1
		}
	}
	return append(out, text[start:])
}

// afterSelect returns what follows a select(...) at the start of the text.
func afterSelect(text string) (rest string, found bool) {
	arguments, found := strings.CutPrefix(text, "select")
	if !found {
		return "", false
	}
	_, rest, found = cutParentheses(arguments)
	return rest, found
}

// cutParentheses returns what stands in the parentheses at the start of a text, and what
// follows them.
func cutParentheses(text string) (inside, rest string, found bool) {
	if !strings.HasPrefix(text, "(") {
		return "", "", false
	}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return text[1:i], strings.TrimSpace(text[i+1:]), true
			}
		}
	}
	return "", "", false
}

// jqSteps reads a path such as .spec.containers[]."a/b"?.
func jqSteps(text string) (steps []string, ok bool) {
	if text != "" && text[0] != '.' || strings.HasPrefix(text, "..") {
		return nil, false
	}
	for rest := text; rest != ""; {
		switch {
		case rest[0] == '.' || rest[0] == '?':
			rest = rest[1:]
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, false
			}
			inside := strings.TrimSpace(rest[1:end])
			rest = rest[end+1:]
			if key, err := strconv.Unquote(inside); err == nil {
				steps = append(steps, key)
			} else {
				steps = append(steps, anyIndex)
			}
		case rest[0] == '"':
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return nil, false
			}
			steps = append(steps, rest[1:end+1])
			rest = rest[end+2:]
		default:
			end := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !isLetter(r) && (r < '0' || r > '9') })
			if end == 0 {
				return nil, false // an operator or a function
			}
			if end < 0 {
				end = len(rest)
			}
			steps = append(steps, rest[:end])
			rest = rest[end:]
		}
	}
	return steps, true
}

// A guarded field is one whose differences nobody may miss.
type guarded struct {
	what  string
	steps []string
}

const (
	anImage           = "an image"
	aSecurityContext  = "a security context"
	aSelector         = "a selector"
	roleRules         = "the rules of a role"
	bindingOfRole     = "the role of a binding"
	subjectsOfBinding = "the subjects of a binding"
)

// guardedFields are those of a kind, "" or "*" standing for all.
func guardedFields(group, kind string) []guarded {
	every := kind == "" || kind == "*"
	out := []guarded{{aSelector, []string{"spec", "selector"}}, {aSelector, []string{"spec", "podSelector"}}}
	if every || strings.HasPrefix(kind, "Role") && kind != "Rollout" || strings.HasPrefix(kind, "ClusterRole") || group == rbacGroup {
		out = append(out,
			guarded{roleRules, []string{"rules"}},
			guarded{bindingOfRole, []string{"roleRef"}},
			guarded{subjectsOfBinding, []string{"subjects"}})
	}
	var specs [][]string
	switch kind {
	case "Pod":
		specs = [][]string{{"spec"}}
	case "CronJob":
		specs = [][]string{{"spec", "jobTemplate", "spec", "template", "spec"}}
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "Rollout", "", "*":
		specs = [][]string{{"spec", "template", "spec"}}
	}
	for _, spec := range specs {
		for _, list := range []string{"containers", "initContainers"} {
			out = append(out,
				guarded{anImage, slices.Concat(spec, []string{list, anyIndex, "image"})},
				guarded{aSecurityContext, slices.Concat(spec, []string{list, anyIndex, "securityContext"})})
		}
		out = append(out, guarded{aSecurityContext, slices.Concat(spec, []string{"securityContext"})})
	}
	return out
}

// covered says which guarded fields a path takes in, in whole or in part, or "".
func covered(entry any, p ignored) string {
	group, kind := object.Text(object.Field(entry, "group")), object.Text(object.Field(entry, "kind"))
	switch {
	case len(p.steps) == 0 && p.chosen:
		return ""
	case len(p.steps) == 0:
		return "the whole object"
	case len(p.steps) == 1 && p.steps[0] == "spec":
		return "the whole spec"
	}
	var what []string
	add := func(s string) {
		if !slices.Contains(what, s) {
			what = append(what, s)
		}
	}
	for _, g := range guardedFields(group, kind) {
		shared := min(len(p.steps), len(g.steps))
		whole := len(p.steps) < len(g.steps)
		if slices.Equal(p.steps[:shared], g.steps[:shared]) && !(whole && p.chosen) {
			add(g.what)
		}
	}
	// Custom resources have these fields too, in places of their own.
	if p.steps[len(p.steps)-1] == "image" {
		add(anImage)
	}
	if slices.Contains(p.steps, "securityContext") {
		add(aSecurityContext)
	}
	return strings.Join(what, " and ")
}
