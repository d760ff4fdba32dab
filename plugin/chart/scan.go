package chart

import (
	"maps"
	"path"
	"slices"
	"strings"
	"text/template/parse"
)

// A template is a function of its values, except where it calls one of a few
// functions. scan finds those calls by name: first as words in the text, which
// costs next to nothing, and only if there are any in the parsed templates,
// following `include` and `template` from the files that produce output. Text
// that `tpl` may run is searched as words. What scan finds is a suspicion, and
// what it does not find is safe; prove decides.

// class says in what way a function's result can change between renders.
type class int

const (
	strong class = iota + 1 // enough random bits that two results never agree
	weak                    // random, but two results may agree by chance
	clock                   // the current time
	date                    // formats a time; given anything else, the current time
	order                   // the order of a map
	notice                  // nothing changes, but a reader should know
)

var suspects = map[string]class{
	"randAlphaNum": strong, "randAlpha": strong, "randAscii": strong, "randNumeric": strong, "randBytes": strong,
	"uuidv4": strong, "htpasswd": strong, "bcrypt": strong, "encryptAES": strong,
	"genPrivateKey": strong, "genCA": strong, "genCAWithKey": strong,
	"genSelfSignedCert": strong, "genSelfSignedCertWithKey": strong, "genSignedCert": strong, "genSignedCertWithKey": strong,
	"randInt": weak, "shuffle": weak,
	"now": clock, "ago": clock,
	"date": date, "htmlDate": date, "dateInZone": date, "date_in_zone": date, "htmlDateInZone": date,
	"keys": order, "values": order,
	"lookup": notice, "getHostByName": notice,
}

// fewRandomCharacters is the length up to which a random string may come out
// the same twice: 62^4 is fourteen million, 10^4 is not.
const fewRandomCharacters = 8

// call is one use of a suspicious function.
type call struct {
	function string
	class    class
	template string // the file, or the place of a text that `tpl` may run
	line     int
	pos      int // byte offset of the function's name, -1 in texts of `tpl`
	end      int // byte offset behind the command, -1 where it is not known
}

// findings of a scan.
type scanned struct {
	// calls that the output may depend on.
	calls []call
	// reach gives, for each file that produces output, the calls it may reach.
	reach map[string][]call
	// sortKeys are the edits that put the keys of maps into a fixed order.
	sortKeys edits
	// noticed are the names of functions of class notice.
	noticed []string
}

func scan(p *prepared) *scanned {
	s := &scanned{reach: map[string][]call{}, sortKeys: edits{}}
	suspicious, usesTpl := false, false
	for _, t := range p.templates {
		found, tpl := words(t.text)
		suspicious = suspicious || len(found) > 0
		usesTpl = usesTpl || tpl
	}
	var fromTexts []call
	if usesTpl {
		p.texts(func(name, text string) bool {
			if strings.Contains(text, "{{") {
				found, _ := words(text)
				for _, f := range found {
					fromTexts = append(fromTexts, call{function: f, class: suspects[f], template: name, pos: -1, end: -1})
				}
			}
			return true
		})
	}
	if !suspicious && len(fromTexts) == 0 {
		return s
	}
	bodies := map[string][]*body{}
	for _, t := range p.templates {
		parseBodies(t, bodies)
	}
	for _, t := range p.templates {
		if strings.HasPrefix(path.Base(t.name), "_") {
			continue
		}
		s.addRoot(t.name, bodies, fromTexts)
	}
	return s
}

// addRoot records the calls that the file may reach.
func (s *scanned) addRoot(file string, bodies map[string][]*body, fromTexts []call) {
	seen := map[string]bool{}
	queue := []string{file}
	tpl := false
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, b := range bodies[name] {
			s.addCalls(file, b.calls)
			queue = append(queue, b.includes...)
			if b.dynamic {
				// The name is computed: any named template may be meant.
				queue = append(queue, slices.Sorted(maps.Keys(bodies))...)
			}
			tpl = tpl || b.tpl
		}
	}
	if tpl {
		s.addCalls(file, fromTexts)
	}
}

func (s *scanned) addCalls(file string, calls []call) {
	for _, c := range calls {
		switch {
		case c.class == notice:
			if !slices.Contains(s.noticed, c.function) {
				s.noticed = append(s.noticed, c.function)
				slices.Sort(s.noticed)
			}
			s.reach[file] = append(s.reach[file], c)
			continue
		case c.function == "keys" && c.end >= 0:
			s.sortKeys.add(edit{template: c.template, at: c.end, end: c.end, text: " | sortAlpha"})
			continue
		}
		s.reach[file] = append(s.reach[file], c)
		if !slices.Contains(s.calls, c) {
			s.calls = append(s.calls, c)
		}
	}
}

// words returns the suspicious names among the identifiers of a text, and
// whether `tpl` is one of them.
func words(text string) (found []string, tpl bool) {
	for i := 0; i < len(text); {
		if !isLetter(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && (isLetter(text[i]) || text[i] >= '0' && text[i] <= '9') {
			i++
		}
		// A field is not a function: .Values.keys
		if start > 0 && (text[start-1] == '.' || text[start-1] == '$') {
			continue
		}
		word := text[start:i]
		if word == "tpl" {
			tpl = true
		} else if suspects[word] != 0 && !slices.Contains(found, word) {
			found = append(found, word)
		}
	}
	return found, tpl
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// body is what one named template calls.
type body struct {
	calls    []call
	includes []string
	dynamic  bool // includes a name that is computed
	tpl      bool
}

// parseBodies adds the bodies of a file and of the templates it defines. A file
// that does not parse is left to the engine, which reports it.
func parseBodies(t *template, bodies map[string][]*body) {
	tree := parse.New(t.name)
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(t.text, "", "", trees); err != nil {
		return
	}
	for name, tr := range trees {
		if tr.Root == nil {
			continue
		}
		v := &visitor{file: t, body: &body{}}
		v.list(tr.Root)
		bodies[name] = append(bodies[name], v.body)
	}
}

// visitor walks a parsed template.
type visitor struct {
	file *template
	body *body
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
		v.command(c, i > 0)
	}
}

func (v *visitor) command(c *parse.CommandNode, piped bool) {
	for i, arg := range c.Args {
		switch arg := arg.(type) {
		case *parse.IdentifierNode:
			v.identifier(arg, c, i == 0, piped)
		case *parse.PipeNode:
			v.pipe(arg)
		case *parse.ChainNode:
			if p, ok := arg.Node.(*parse.PipeNode); ok {
				v.pipe(p)
			}
		}
	}
}

func (v *visitor) identifier(id *parse.IdentifierNode, c *parse.CommandNode, first, piped bool) {
	switch id.Ident {
	case "tpl":
		v.body.tpl = true
		return
	case "include":
		if name, ok := literal(c, 1); ok && first && !piped {
			v.body.includes = append(v.body.includes, name)
		} else {
			v.body.dynamic = true
		}
		return
	}
	kind := suspects[id.Ident]
	if kind == 0 {
		return
	}
	if kind == strong && strings.HasPrefix(id.Ident, "rand") && first && len(c.Args) > 1 {
		if n, ok := c.Args[1].(*parse.NumberNode); ok && n.IsInt && n.Int64 < fewRandomCharacters {
			kind = weak
		}
	}
	pos := int(id.Pos)
	found := call{
		function: id.Ident, class: kind, template: v.file.name,
		line: 1 + strings.Count(v.file.text[:pos], "\n"), pos: pos, end: -1,
	}
	if first {
		found.end = commandEnd(v.file.text, pos)
	}
	v.body.calls = append(v.body.calls, found)
}

func literal(c *parse.CommandNode, i int) (string, bool) {
	if len(c.Args) <= i {
		return "", false
	}
	s, ok := c.Args[i].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return s.Text, true
}

// commandEnd returns the offset behind the last argument of the command that
// starts at pos: the parser keeps no ends. It returns -1 if there is none.
func commandEnd(text string, pos int) int {
	depth := 0
	end := -1
	for i := pos; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\'' || c == '`':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' && c != '`' {
					i++
				}
			}
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case depth == 0 && (c == '|' || c == ')' || c == '}' || c == '-' && strings.HasPrefix(text[i:], "-}}")):
			end = i
		}
		if end >= 0 {
			break
		}
	}
	for end > pos && strings.IndexByte(" \t\r\n", text[end-1]) >= 0 {
		end--
	}
	return end
}
