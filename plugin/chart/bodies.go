package chart

import (
	"strconv"
	"strings"
	"text/template/parse"
	"unicode/utf8"
)

// body is what one named template calls.
type body struct {
	calls    []*call
	includes []string
	dynamic  bool // includes a name that is computed
	tpl      bool
}

// literal is a string in a template's source.
type literal struct {
	template, body string
	place          place
}

// place says where a text stands inside a file that holds it in quotes. The zero
// value is a text that is a file of its own.
type place struct {
	quote   byte  // '"' or '`'
	offsets []int // of each byte of the text in the file, and of its end
	lines   int   // lines of the file before the text
	fixed   bool  // the text cannot be edited
}

// placeOf finds the bytes of a quoted string in the file.
func placeOf(file string, pos int, quoted string) place {
	p := place{quote: quoted[0], lines: strings.Count(file[:pos], "\n")}
	at := pos + 1
	for rest := quoted[1 : len(quoted)-1]; rest != ""; {
		if p.quote == '`' {
			p.offsets = append(p.offsets, at)
			at, rest = at+1, rest[1:]
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(rest, p.quote)
		if err != nil {
			return place{fixed: true} // the parser accepted it, so this does not happen
		}
		width := 1
		if multibyte {
			width = utf8.RuneLen(r)
		}
		for range width {
			p.offsets = append(p.offsets, at)
		}
		at, rest = at+len(rest)-len(tail), tail
	}
	p.offsets = append(p.offsets, at)
	return p
}

// write returns a text in the form that it has inside the quotes.
func (p place) write(text string) string {
	switch p.quote {
	case '"':
		quoted := strconv.Quote(text)
		return quoted[1 : len(quoted)-1]
	case '`':
		return strings.ReplaceAll(text, "`", `"`)
	}
	return text
}

// bodies collects the named templates of a chart. A name can have several: which
// one counts is decided by the order in which Helm parses them, and taking all
// is on the safe side.
type bodies struct {
	names    vocabulary
	named    map[string][]*body
	literals []literal
}

// add parses a text and adds its own body under name and those of the templates
// that it defines. A text that does not parse is left to the engine, which
// reports it.
func (b *bodies) add(name, origin, source string, at place) bool {
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(source, "", "", trees); err != nil {
		return false
	}
	for defined, tr := range trees {
		if tr.Root == nil {
			continue
		}
		v := &visitor{origin: origin, source: source, at: at, executed: name == executed, body: &body{}, all: b}
		v.list(tr.Root)
		b.named[defined] = append(b.named[defined], v.body)
	}
	return true
}

// addExecuted adds a text that `tpl` may execute. One that is no template by
// itself may be a part of one that is put together: of what stands in its braces
// all names count then, and it may include anything. Outside of braces only names
// count that are no words of a language.
func (b *bodies) addExecuted(origin, source string, at place) {
	if strings.Contains(source, "{{") && b.add(executed, origin, source, at) {
		return
	}
	part := &body{}
	suspect := func(text string, inside bool) {
		found, tpl := b.names.words(text)
		part.tpl = part.tpl || inside && tpl
		for _, f := range found {
			if kind := b.names[f]; inside || kind == random || kind == slow {
				part.calls = append(part.calls, &call{function: f, class: kind, template: origin, pos: -1, end: -1})
			}
		}
	}
	for source != "" {
		before, after, _ := strings.Cut(source, "{{")
		suspect(before, false)
		action, rest, closed := strings.Cut(after, "}}")
		if closed {
			part.dynamic = part.dynamic || strings.Contains(action, "include") || strings.Contains(action, "template")
			suspect(action, true)
		} else {
			suspect(after, false)
		}
		source = rest
	}
	if len(part.calls) > 0 || part.dynamic || part.tpl {
		b.named[executed] = append(b.named[executed], part)
	}
}

// visitor walks a parsed template.
type visitor struct {
	origin, source string
	at             place
	executed       bool // it is what `tpl` may execute
	body           *body
	all            *bodies
}

func (v *visitor) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			v.pipe(n.Pipe)
		case *parse.IfNode:
			v.branch(&n.BranchNode)
		case *parse.RangeNode:
			v.branch(&n.BranchNode)
		case *parse.WithNode:
			v.branch(&n.BranchNode)
		case *parse.TemplateNode:
			v.body.includes = append(v.body.includes, n.Name)
			v.pipe(n.Pipe)
		}
	}
}

func (v *visitor) branch(b *parse.BranchNode) {
	v.pipe(b.Pipe)
	v.list(b.List)
	v.list(b.ElseList)
}

func (v *visitor) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	for i, c := range p.Cmds {
		for j, arg := range c.Args {
			v.argument(arg, c, j == 0, i > 0)
		}
	}
}

// argument looks at one word of a command; first says that it is the function,
// piped that the command gets the result of another.
func (v *visitor) argument(arg parse.Node, c *parse.CommandNode, first, piped bool) {
	switch arg := arg.(type) {
	case *parse.IdentifierNode:
		v.identifier(arg, c, first, piped)
	case *parse.PipeNode:
		v.pipe(arg)
	case *parse.ChainNode: // (pipeline).Field, function.Field
		v.argument(arg.Node, c, false, piped)
	case *parse.StringNode:
		if v.at.quote == 0 {
			v.all.literals = append(v.all.literals, literal{v.origin, arg.Text, placeOf(v.source, int(arg.Pos), arg.Quoted)})
		}
	}
}

func (v *visitor) identifier(id *parse.IdentifierNode, c *parse.CommandNode, first, piped bool) {
	switch id.Ident {
	case "tpl":
		v.body.tpl = true
		return
	case "include":
		if name, ok := includedName(c); ok && first && !piped {
			v.body.includes = append(v.body.includes, name)
		} else {
			v.body.dynamic = true
		}
		return
	}
	kind := v.all.names[id.Ident]
	if kind == 0 {
		return
	}
	pos := int(id.Pos)
	found := &call{
		function: id.Ident, class: kind, template: v.origin,
		line: 1 + strings.Count(v.source[:pos], "\n"), pos: pos, end: -1,
	}
	if first {
		found.end = commandEnd(v.source, pos)
		found.args, found.argAt = arguments(v.source[pos:max(pos, found.end)])
		for i := range found.argAt {
			found.argAt[i] += pos
		}
	}
	if found.start, found.stop = pos, found.end; v.executed {
		found.within = v.source
	}
	if v.at.fixed {
		found.pos, found.end, found.fixed = -1, -1, true
	}
	if at := v.at; at.quote != 0 {
		found.place = at
		found.line += at.lines
		found.pos = at.offsets[pos]
		if found.end >= 0 {
			found.end = at.offsets[found.end]
		}
	}
	v.body.calls = append(v.body.calls, found)
}

func includedName(c *parse.CommandNode) (string, bool) {
	if len(c.Args) < 2 {
		return "", false
	}
	s, ok := c.Args[1].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return s.Text, true
}

// tokens yields the start and end of each word of a command that starts at from,
// and stops where the command does: the parser keeps no ends. A word is what
// stands between blanks outside of quotes and parentheses.
func tokens(text string, from int, yield func(start, end int)) {
	depth, start := 0, -1
	for i := from; i <= len(text); i++ {
		stop := i == len(text)
		if !stop {
			switch c := text[i]; {
			case c == '"' || c == '\'' || c == '`':
				if start < 0 {
					start = i
				}
				for i++; i < len(text) && text[i] != c; i++ {
					if text[i] == '\\' && c != '`' {
						i++
					}
				}
				continue
			case c == '(':
				depth++
			case c == ')' && depth > 0:
				depth--
			case depth == 0 && (c == '|' || c == ')' || c == '}' || c == '-' && strings.HasPrefix(text[i:], "-}}")):
				stop = true
			}
		}
		blank := stop || depth == 0 && strings.IndexByte(" \t\r\n", text[i]) >= 0
		switch {
		case blank && start >= 0:
			yield(start, i)
			start = -1
		case !blank && start < 0:
			start = i
		}
		if stop {
			return
		}
	}
}

// commandEnd returns the offset behind the last word of the command at pos.
func commandEnd(text string, pos int) int {
	last := -1
	tokens(text, pos, func(_, end int) { last = end })
	return last
}

// arguments returns the words behind the first one of a command and their offsets.
func arguments(command string) (words []string, at []int) {
	tokens(command, 0, func(start, end int) {
		words, at = append(words, command[start:end]), append(at, start)
	})
	if len(words) == 0 {
		return nil, nil
	}
	return words[1:], at[1:]
}
