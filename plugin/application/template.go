package application

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"hallmark.dev/hallmark/internal/diag"
)

// The bounds of one expansion, far above what an ApplicationSet of thousands of
// applications needs and within seconds of one processor.
const (
	maxApplications = 20_000
	maxSets         = 200_000   // of parameters, those that are combined included
	maxTemplate     = 256 << 10 // bytes of one templated string, before
	maxResult       = 1 << 20   // and after, and of a value within a template
	maxSteps        = 3_000_000
	maxBytes        = 256 << 20 // of all results
	templateSteps   = 300       // that a call of a template counts for
)

// An engine fills in templates in one of Argo CD's two ways. It is used by one
// goroutine.
type engine struct {
	goTemplate bool
	options    []string
	functions  template.FuncMap
	parsed     map[string]*template.Template
	steps      int // left
	bytes      int // left
}

func newEngine(goTemplate bool, options []string) *engine {
	e := &engine{goTemplate: goTemplate, options: options, steps: maxSteps, bytes: maxBytes, parsed: map[string]*template.Template{}}
	if goTemplate {
		e.functions = functions(e)
	}
	return e
}

// limitError says that a template goes beyond a bound.
func limitError(format string, args ...any) error {
	return diag.WithHint(fmt.Errorf(format, args...), "look for a template that loops or repeats without bound")
}

// spend takes so many steps of those that are left.
func (e *engine) spend(steps int) error {
	if e.steps -= steps; e.steps < 0 {
		return limitError("the templates of this ApplicationSet take more than %d steps", maxSteps)
	}
	return nil
}

// replace fills in a template.
func (e *engine) replace(text string, params map[string]any) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	if len(text) > maxTemplate {
		return "", limitError("a template of more than %d bytes", maxTemplate)
	}
	var out string
	var err error
	if e.goTemplate {
		out, err = e.execute(text, params)
	} else {
		out, err = substitute(text, params)
	}
	if err != nil {
		return "", fmt.Errorf("template %q: %w", excerpt(text), err)
	}
	if e.bytes -= len(out); e.bytes < 0 {
		return "", limitError("the templates of this ApplicationSet give more than %d bytes", maxBytes)
	}
	return out, e.spend(1 + len(out)/64)
}

// excerpt is enough of a template to know it by.
func excerpt(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

var templated = regexp.MustCompile(`.*{{.*}}.*`)

// substitute replaces {{ key }} by a parameter that is a string, and leaves what it
// does not know as it is.
func substitute(text string, params map[string]any) (string, error) {
	if !templated.MatchString(text) {
		return text, nil
	}
	var out strings.Builder
	for rest := text; ; {
		before, behind, found := strings.Cut(rest, "{{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		tag, after, closed := strings.Cut(behind, "}}")
		if !closed {
			return "", errors.New("a {{ has no }}")
		}
		if value, known := params[strings.TrimSpace(tag)].(string); known && strings.TrimSpace(tag) != "" {
			out.WriteString(value)
		} else {
			out.WriteString("{{" + tag + "}}")
		}
		if out.Len() > maxResult {
			return "", limitError("it gives more than %d bytes", maxResult)
		}
		rest = after
	}
}

// templateFault is how package template begins an error: the name, which is empty, and
// line and column in a string that the reader sees whole.
var templateFault = regexp.MustCompile(`^template: :\d+(:\d+)?: (executing "" at )?`)

// execute runs a Go template.
func (e *engine) execute(text string, params map[string]any) (string, error) {
	t, known := e.parsed[text]
	if !known {
		var err error
		if t, err = template.New("").Funcs(e.functions).Option(e.options...).Parse(text); err == nil {
			e.instrument(t)
		} else {
			return "", plainFault(err)
		}
		e.parsed[text] = t
	}
	out := &bounded{}
	if err := t.Execute(out, params); err != nil {
		return "", plainFault(err)
	}
	return out.String(), nil
}

// plainFault drops the beginning of an error of package template, and keeps a remedy
// that one of the functions gave.
func plainFault(err error) error {
	plain := errors.New(templateFault.ReplaceAllString(err.Error(), ""))
	if hint := diag.Hint(err); hint != "" {
		return diag.WithHint(plain, hint)
	}
	return plain
}

// Functions that count. An author may call them too, and gets nothing for it.
const (
	countRound = "hallmarkRound"
	countCall  = "hallmarkCall"
)

// instrument makes each round of a loop and each call of a template count, so that it
// ends: text/template itself has no bound on either.
func (e *engine) instrument(t *template.Template) {
	call := func(name string) parse.Node {
		trees, err := parse.Parse("", "{{"+name+"}}", "", "", e.functions)
		if err != nil {
			panic(err) // it is a call of a function that is there
		}
		return trees[""].Root.Nodes[0]
	}
	round, entry := call(countRound), call(countCall)
	again := false // the template calls itself, whose name is empty
	var walk func(list *parse.ListNode)
	walk = func(list *parse.ListNode) {
		if list == nil {
			return
		}
		for _, n := range list.Nodes {
			switch n := n.(type) {
			case *parse.TemplateNode:
				again = again || n.Name == ""
			case *parse.IfNode:
				walk(n.List)
				walk(n.ElseList)
			case *parse.WithNode:
				walk(n.List)
				walk(n.ElseList)
			case *parse.RangeNode:
				walk(n.List)
				walk(n.ElseList)
				n.List.Nodes = slices.Insert(n.List.Nodes, 0, round)
			}
		}
	}
	for _, named := range t.Templates() {
		if named.Tree == nil || named.Root == nil {
			continue
		}
		walk(named.Root)
		if named.Name() != "" {
			named.Root.Nodes = slices.Insert(named.Root.Nodes, 0, entry)
		}
	}
	if again {
		t.Root.Nodes = slices.Insert(t.Root.Nodes, 0, entry)
	}
}

// bounded is a buffer that takes no more than maxResult bytes.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxResult {
		return 0, limitError("it gives more than %d bytes", maxResult)
	}
	return b.Builder.Write(p)
}
