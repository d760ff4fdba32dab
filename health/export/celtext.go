package export

import (
	"strings"
)

// lineLength is how long a line may be before its parts get lines of their own.
const lineLength = 100

// printCondition prints a formula, on several lines if it is long.
func printCondition(f formula) string { return strings.Join(printLines(f, lineLength), "\n") }

func printLines(f formula, width int) []string {
	text := printFormula(f)
	if len(text) <= width {
		return []string{text}
	}
	switch f := f.(type) {
	case disjunction:
		return alternativeLines(f, width)
	case conjunction:
		return filledLines(f, width)
	case *atom:
		head := strings.Index(text, "("+f.variable+", ")
		if f.kind == loop && head >= 0 && !strings.Contains(f.text, "("+f.variable+", ") {
			return enclosed(text[:head]+"("+f.variable+",", printLines(f.body, width-2), ")")
		}
	}
	return []string{text}
}

// alternativeLines gives each part of a disjunction lines of its own.
func alternativeLines(parts []formula, width int) []string {
	var out []string
	for i, p := range parts {
		lines := printLines(p, width-len(" ||"))
		if _, several := p.(conjunction); several {
			lines = append(lines[:1:1], inset(lines[1:])...)
		}
		if i < len(parts)-1 {
			lines[len(lines)-1] += " ||"
		}
		out = append(out, lines...)
	}
	return out
}

// filledLines puts as many parts of a conjunction on a line as fit. One that needs
// several lines begins a new one.
func filledLines(parts []formula, width int) []string {
	width -= len(" &&")
	var out []string
	for i, p := range parts {
		lines := []string{printPart(p, "&&")}
		if len(lines[0]) > width {
			if d, ok := p.(disjunction); ok {
				lines = enclosed("(", printLines(d, width-2), ")")
			} else {
				lines = printLines(p, width)
			}
		}
		if i < len(parts)-1 {
			lines[len(lines)-1] += " &&"
		}
		last := len(out) - 1
		if last >= 0 && len(lines) == 1 && len(out[last])+len(lines[0]) < width && !strings.HasPrefix(out[last], ")") {
			out[last] += " " + lines[0]
		} else {
			out = append(out, lines...)
		}
	}
	return out
}

func enclosed(first string, lines []string, last string) []string {
	return append(append([]string{first}, inset(lines)...), last)
}

func inset(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "  " + l
	}
	return out
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
