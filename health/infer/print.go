package infer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// width is where comments are broken.
const width = 100

// write prints the draft.
func (d *draft) write(b *strings.Builder, name string) {
	d.number()
	basis := "its schema in " + inComment(d.file)
	if d.samples > 0 {
		basis += fmt.Sprintf(" and %d %s in %s", d.samples, plural(d.samples, "object"), strings.Join(d.files, ", "))
	}
	comment(b, "", "", fmt.Sprintf("A draft of a health check for %s of %s/%s, from %s. What follows \"guess\" is what a line rests on.", d.kind, d.group, printable(d.version), basis))
	b.WriteString("#\n")
	comment(b, "", "", "What you have to decide, before it is used:")
	for _, q := range d.decisions {
		label := fmt.Sprintf("%2d. ", q.number)
		comment(b, " ", label, q.text)
	}
	if len(d.decisions) == 0 {
		comment(b, " ", "", "nothing that the schema leaves open; see if the guesses are right")
	}
	b.WriteString("apiVersion: hallmark.dev/v1\nkind: HealthCheck\nmetadata: {name: " + name + "}\nspec:\n")
	b.WriteString("  targets:\n    - {group: " + scalar(d.group) + ", kinds: [" + scalar(d.kind) + "]}\n")
	if d.observed != "" {
		guess(b, "  ", d.observed, nil)
		b.WriteString("  observedGeneration: status.observedGeneration\n")
	}
	d.writeConditions(b)
	if d.phase != nil && d.phase.expr() != "status.phase" && slices.ContainsFunc(d.rules, func(r rule) bool { return r.phase != nil }) {
		guess(b, "  ", "the name of "+d.phase.shown(), nil)
		b.WriteString("  phase: " + d.phase.expr() + "\n")
	}
	b.WriteString("  noStatus: {status: Progressing, message: waiting for the controller}\n  rules:\n")
	for _, r := range d.rules {
		guess(b, "    ", r.guess, r.decision)
		b.WriteString("    - " + r.flow() + "\n")
	}
	b.WriteString("  otherwise: {status: Progressing, message: the status says nothing that a rule knows}\n")
}

// writeConditions prints the defaults of the shorthand condition, where they are not
// those of every check.
func (d *draft) writeConditions(b *strings.Builder) {
	if !slices.ContainsFunc(d.rules, func(r rule) bool { return r.conditions != nil }) {
		return
	}
	l := d.conditions
	var parts, why []string
	if path := expr(l.path); path != "status.conditions" {
		parts, why = append(parts, "path: "+path), append(why, l.from)
	}
	if l.current {
		parts, why = append(parts, "current: true"), append(why, "a condition has observedGeneration")
	}
	if len(parts) > 0 {
		guess(b, "  ", strings.Join(why, "; "), nil)
		b.WriteString("  conditions: {" + strings.Join(parts, ", ") + "}\n")
	}
}

// number puts the decisions in their order.
func (d *draft) number() {
	slices.SortStableFunc(d.decisions, func(a, b *decision) int {
		rank := map[bool]int{true: 0, false: 1}
		return cmp.Compare(rank[a.first], rank[b.first])
	})
	for i, q := range d.decisions {
		q.number = i + 1
	}
}

func guess(b *strings.Builder, indent, text string, q *decision) {
	if q != nil {
		text += fmt.Sprintf(" (decide: %d)", q.number)
	}
	comment(b, indent, "", "guess: "+text)
}

// comment prints text as lines of comment; label stands in front of the first.
func comment(b *strings.Builder, indent, label, text string) {
	// The indent of a list at the top of a document stands behind the "#".
	start, inner := indent+"# ", ""
	if indent == " " {
		start, inner = "# ", " "
	}
	line := start + inner + label
	hang := start + inner + strings.Repeat(" ", len(label))
	empty := true
	for word := range strings.FieldsSeq(text) {
		switch {
		case empty:
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			b.WriteString(line + "\n")
			line = hang
		default:
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// flow is the rule in YAML.
func (r rule) flow() string {
	if r.kstatus {
		return "{kstatus: {}}"
	}
	parts := []string{"status: " + string(r.status)}
	if len(r.conditions) == 1 {
		parts = append(parts, "condition: "+r.conditions[0].flow())
	} else if len(r.conditions) > 1 {
		var all []string
		for _, c := range r.conditions {
			all = append(all, c.flow())
		}
		parts = append(parts, "condition: ["+strings.Join(all, ", ")+"]")
	}
	if r.phase != nil {
		parts = append(parts, "phase: "+oneOrList(r.phase))
	}
	if r.when != "" {
		parts = append(parts, "when: "+quoted(r.when))
	}
	if r.message != "" {
		parts = append(parts, "message: "+scalar(r.message))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (c condition) flow() string {
	parts := []string{"type: " + scalar(c.kind), "status: " + oneOrList(c.statuses)}
	if len(c.reasons) > 0 {
		parts = append(parts, "reason: "+oneOrList(c.reasons))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func oneOrList(texts []string) string {
	if len(texts) == 1 {
		return scalar(texts[0])
	}
	var all []string
	for _, t := range texts {
		all = append(all, scalar(t))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

var (
	plainScalar = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)
	notStrings  = set("true false yes no on off y n null")
)

// scalar is a text in YAML, with quotation marks where it needs them.
func scalar(text string) string {
	if plainScalar.MatchString(text) && !notStrings[strings.ToLower(text)] {
		return text
	}
	return quoted(text)
}

// quoted is a text in double quotation marks. What has an escape in Go has the same
// one in YAML and in CEL.
func quoted(text string) string { return strconv.QuoteToASCII(text) }

// celText is a text in CEL.
func celText(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '\'' || r == '\\' }) {
		return quoted(text)
	}
	return "'" + text + "'"
}

func celTexts(texts []string) []string {
	var all []string
	for _, t := range texts {
		all = append(all, celText(t))
	}
	return all
}

// What an identifier is in CEL, and which are not free.
var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	reserved   = set(`true false null in as break const continue else for function if import let loop package namespace
		return var void while`)
)

func isIdentifier(name string) bool { return identifier.MatchString(name) && !reserved[name] }

// expr is a path in CEL.
func expr(path []string) string {
	text := path[0]
	for _, name := range path[1:] {
		if isIdentifier(name) {
			text += "." + name
		} else {
			text += "[" + celText(name) + "]"
		}
	}
	return text
}

// printable is a text for a comment: one that has anything but visible ASCII, or that
// would not be told from the words round it, in quotation marks.
func printable(text string) string {
	const most = 128
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' || r == '"' }) {
		return quoted(text)
	}
	return text
}

// inComment is the name of a file in a comment: without its folder, which says nothing
// to the next reader of a draft.
func inComment(file string) string {
	name := file[strings.LastIndexAny(file, `/\`)+1:]
	if joined := strings.ReplaceAll(name, " ", ""); printable(joined) == joined {
		return name // as it is, also "standard input"
	}
	return printable(name)
}

func printables(list []string) []string {
	var all []string
	for _, t := range list {
		all = append(all, printable(t))
	}
	return all
}

// inWords is a list as it stands in a sentence.
func inWords(list []string, last string) string {
	switch n := len(list); n {
	case 0:
		return "none"
	case 1:
		return list[0]
	default:
		return strings.Join(list[:n-1], ", ") + " " + last + " " + list[n-1]
	}
}

// listing is a list of things with parts, cut where it becomes long.
func listing(items []string) string {
	const most = 8
	if len(items) > most {
		return strings.Join(items[:most], "; ") + fmt.Sprintf("; and %d more", len(items)-most)
	}
	return strings.Join(items, "; ")
}

// some are the first of a long list.
func some(texts []string) string {
	const most = 8
	if len(texts) <= most {
		return inWords(printables(texts), "or")
	}
	return strings.Join(printables(texts[:most]), ", ") + fmt.Sprintf(" and %d more", len(texts)-most)
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
