package chart

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
)

// The engines report where a template failed in three shapes:
//
//	template: web/templates/a.yaml:3:14: executing "..." at <...>: FACT        (text/template)
//	execution error at (web/templates/a.yaml:3:14): FACT                       (fail and required)
//	parse error at (web/templates/a.yaml:3): FACT                              (syntax)
//
// Nested includes repeat the first shape, outermost first; Helm 4 spreads it
// over several lines. tidy turns all of them into one positioned line that names
// the innermost place.
//
// Text that `tpl` runs is a template of the name "gotpl". It may be a value, so
// its place is that of the call, and what failed in it stands in the fact.
var (
	executing = regexp.MustCompile(`(?s)(?:template: )?([^\s:]+):(\d+):(\d+):?\s+executing "[^"]*" at <(.*?)>:\s*`)
	wrapped   = regexp.MustCompile(`(?s)^(execution|parse) error (at|in) \(([^():]+)(?::(\d+))?(?::(\d+))?\):\s*(.*)$`)
	located   = regexp.MustCompile(`(?s)^template: ([^\s:]+):(\d+)(?::(\d+))?: (.*)$`)
	fieldPath = regexp.MustCompile(`^\$?(?:\.[A-Za-z_]\w*)+$`)
)

// tplName is the name that Helm gives to the text of a `tpl` call.
const tplName = "gotpl"

func tidy(err error) error {
	msg := strings.TrimSpace(err.Error())
	if m := wrapped.FindStringSubmatch(msg); m != nil {
		fact := m[6]
		if m[1] == "execution" && m[2] == "in" || fact == "" {
			fact = maskFact(fact, "")
		}
		// The rest is the chart author's own text: what `fail` and `required`
		// were given, or what the parser found in a template.
		return position(m[3], m[4], m[5], fact)
	}
	if all := executing.FindAllStringSubmatch(msg, -1); all != nil {
		ends := executing.FindAllStringIndex(msg, -1)
		return whereExecuted(all, msg[ends[len(ends)-1][1]:])
	}
	if m := located.FindStringSubmatch(msg); m != nil {
		return position(m[1], m[2], m[3], maskFact(m[4], ""))
	}
	return errors.New(oneLine(maskFact(msg, "")))
}

// whereExecuted words an error from the places on the way to it, outermost first.
func whereExecuted(places [][]string, fact string) error {
	outer, inner, text := places[0], places[0], []string(nil)
	for _, p := range places {
		if p[1] == tplName {
			text = p
		} else {
			inner, text = p, nil
		}
	}
	source := fold(inner[4])
	if text == nil {
		fact = maskFact(fact, source)
	} else {
		fact = maskFact(fact, "")
		if fieldPath.MatchString(text[4]) {
			fact += " at <" + text[4] + ">"
		}
		fact = fmt.Sprintf("line %s of the text that tpl runs: %s", text[2], fact)
	}
	e := position(inner[1], inner[2], inner[3], fmt.Sprintf("%s (at <%s>)", oneLine(fact), oneLine(source)))
	if outer[1] != inner[1] {
		e.Msg += ", while rendering " + outer[1]
	}
	return e
}

func position(file, line, col, msg string) *diag.Error {
	e := &diag.Error{File: file, Msg: oneLine(msg)}
	e.Line, _ = strconv.Atoi(line)
	if n, err := strconv.Atoi(col); err == nil {
		e.Col = n + 1 // text/template counts columns from 0
	}
	return e
}

// oneLine folds a message into one bounded line: Argo CD shows the first line,
// and a message that quotes a template's text would go on for pages.
func oneLine(s string) string {
	s = fold(s)
	const most = 400
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " ..."
	}
	return s
}

func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// unpacking is how Helm's loader says in which dependency a fault is.
var unpacking = regexp.MustCompile(`^error unpacking subchart (\S+) in \S+: (.*)$`)

// loadError positions what Helm's loader says about a file of the chart.
func loadError(dir string, err error) error { return loadFault(dir, fold(err.Error())) }

func loadFault(dir, msg string) error {
	if m := unpacking.FindStringSubmatch(msg); m != nil {
		return loadFault(path.Join(dir, "charts", m[1]), m[2])
	}
	for _, name := range []string{"Chart.yaml", "Chart.lock", "values.yaml", "requirements.yaml", "requirements.lock"} {
		if fact, ok := strings.CutPrefix(msg, "cannot load "+name+": "); ok {
			return &diag.Error{File: path.Join(dir, name), Msg: oneLine(maskFact(fact, ""))}
		}
	}
	if fact, ok := strings.CutPrefix(msg, "validation: "); ok {
		return &diag.Error{File: path.Join(dir, "Chart.yaml"), Msg: oneLine(fact)}
	}
	// What is left is about archives and the names of files.
	return &diag.Error{File: dir, Msg: oneLine(msg)}
}

func valuesError(doc Document, err error) error {
	return &diag.Error{File: doc.Name, Msg: oneLine(maskFact(err.Error(), ""))}
}

// mismatch is Helm's word for a dependency whose values are a scalar. What
// follows the chart's name is that scalar.
var mismatch = regexp.MustCompile(`^type mismatch on (\S+): `)

// mergeError positions what Helm says when it merges the values of a chart and
// its dependencies.
func mergeError(dir string, err error) error {
	file := path.Join(dir, "values.yaml")
	if m := mismatch.FindStringSubmatch(err.Error()); m != nil {
		return &diag.Error{File: file, Msg: fmt.Sprintf("values of chart %q: want a mapping", m[1])}
	}
	return &diag.Error{File: file, Msg: oneLine(maskFact(err.Error(), ""))}
}

func kubeVersionError(file, want, have string) error {
	return diag.WithHint(
		&diag.Error{File: file, Msg: fmt.Sprintf("the chart requires kubeVersion %q, which is incompatible with Kubernetes %s", want, have)},
		"set kube-version, or --kube-version on the command line, to the version of the target cluster")
}
