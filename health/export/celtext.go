package export

import (
	"strings"
)

// lineLength is where a condition gets a line for each of its parts.
const lineLength = 100

// printCondition prints a formula, on several lines if it is long.
func printCondition(f formula) string {
	text := printFormula(f)
	if len(text) <= lineLength {
		return text
	}
	parts, operator := []formula(nil), ""
	switch f := f.(type) {
	case disjunction:
		parts, operator = f, "||"
	case conjunction:
		parts, operator = f, "&&"
	default:
		return text
	}
	lines := make([]string, len(parts))
	for i, p := range parts {
		lines[i] = printPart(p, operator)
	}
	return strings.Join(lines, " "+operator+"\n")
}

// printFormula prints a formula on one line.
func printFormula(f formula) string {
	switch f := f.(type) {
	case constant:
		if f {
			return "true"
		}
		return "false"
	case conjunction:
		return printParts(f, "&&")
	case disjunction:
		return printParts(f, "||")
	case *atom:
		return printAtom(f)
	}
	return ""
}

func printParts(parts []formula, operator string) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = printPart(p, operator)
	}
	return strings.Join(texts, " "+operator+" ")
}

// printPart prints an operand of && or ||, of which && binds tighter.
func printPart(f formula, operator string) string {
	if _, ok := f.(disjunction); ok && operator == "&&" {
		return "(" + printFormula(f) + ")"
	}
	return printFormula(f)
}

func printAtom(a *atom) string {
	switch a.kind {
	case presence:
		return negation(a) + "has(" + presencePath(a.path) + ")"
	case membership:
		switch {
		case len(a.values) == 1 && a.negated:
			return a.text + " != " + a.values[0]
		case len(a.values) == 1:
			return a.text + " == " + a.values[0]
		case a.negated:
			return "!(" + a.text + " in [" + strings.Join(a.values, ", ") + "])"
		}
		return a.text + " in [" + strings.Join(a.values, ", ") + "]"
	case loop:
		macro := ".exists("
		if a.universal {
			macro = ".all("
		}
		return negation(a) + a.text + macro + a.variable + ", " + printFormula(a.body) + ")"
	case emptyStatus:
		if a.negated {
			return "size(status) != 0"
		}
		return "size(status) == 0"
	}
	switch {
	case !a.negated:
		return a.text
	case a.opposite != "":
		return a.opposite
	}
	return "!(" + a.text + ")"
}

func negation(a *atom) string {
	if a.negated {
		return "!"
	}
	return ""
}

// presencePath is the argument of has() for a field below fields that need not be
// there either: has(a.?b.c) is false where a has no b, and has(a.b.c) an error.
func presencePath(path []string) string {
	text := path[0]
	for i, name := range path[1:] {
		if i < len(path)-2 {
			text += ".?" + name
		} else {
			text += "." + name
		}
	}
	return text
}

// singleQuoted writes the texts of CEL in single quotes where that needs no
// escapes, so that YAML can hold the expression as it is.
func singleQuoted(cel string) string {
	var out strings.Builder
	for cel != "" {
		start := strings.IndexByte(cel, '"')
		if start < 0 {
			break
		}
		end := start + 1
		for end < len(cel) && cel[end] != '"' {
			if cel[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(cel)-1)
		out.WriteString(cel[:start])
		if content := cel[start+1 : end]; strings.ContainsAny(content, `\'`) {
			out.WriteString(cel[start : end+1])
		} else {
			out.WriteString("'" + content + "'")
		}
		cel = cel[end+1:]
	}
	return out.String() + cel
}
