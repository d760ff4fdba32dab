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
var (
	executing = regexp.MustCompile(`(?s)(?:template: )?([^\s:]+):(\d+):(\d+):?\s+executing "[^"]*" at <(.*?)>:\s*`)
	wrapped   = regexp.MustCompile(`(?s)^(?:execution|parse) error (?:at|in) \(([^():]+)(?::(\d+))?(?::(\d+))?\): (.*)$`)
	located   = regexp.MustCompile(`(?s)^template: ([^\s:]+):(\d+)(?::(\d+))?: (.*)$`)
)

func tidy(err error) error {
	msg := strings.TrimSpace(err.Error())
	if m := wrapped.FindStringSubmatch(msg); m != nil {
		return position(m[1], m[2], m[3], m[4])
	}
	if all := executing.FindAllStringSubmatchIndex(msg, -1); all != nil {
		last := all[len(all)-1]
		group := func(i int) string { return msg[last[2*i]:last[2*i+1]] }
		fact := strings.TrimSpace(msg[last[1]:])
		if fact == "" {
			fact = "the template failed"
		}
		place := position(group(1), group(2), group(3), fmt.Sprintf("%s (at <%s>)", oneLine(fact), oneLine(group(4))))
		outer := msg[all[0][2]:all[0][3]]
		if outer != group(1) {
			place.Msg += ", while rendering " + outer
		}
		return place
	}
	if m := located.FindStringSubmatch(msg); m != nil {
		return position(m[1], m[2], m[3], m[4])
	}
	return errors.New(oneLine(msg))
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
	s = strings.Join(strings.Fields(s), " ")
	const most = 400
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " ..."
	}
	return s
}

// loadError positions what Helm's loader says about a file of the chart.
func loadError(dir string, err error) error {
	msg := oneLine(err.Error())
	for _, name := range []string{"Chart.yaml", "Chart.lock", "values.yaml", "requirements.yaml", "requirements.lock"} {
		if strings.HasPrefix(msg, "cannot load "+name+": ") {
			return &diag.Error{File: path.Join(dir, name), Msg: strings.TrimPrefix(msg, "cannot load "+name+": ")}
		}
	}
	if strings.HasPrefix(msg, "validation: ") {
		return &diag.Error{File: path.Join(dir, "Chart.yaml"), Msg: strings.TrimPrefix(msg, "validation: ")}
	}
	return &diag.Error{File: dir, Msg: msg}
}

func valuesError(doc Document, err error) error {
	return &diag.Error{File: doc.Name, Msg: oneLine(err.Error())}
}

// schemaError keeps the list that Helm made: each line names a field and the
// rule that it breaks. The rules quote values, so those lines are reduced to
// the field and the keyword.
func schemaError(dir string, err error) error {
	msg := err.Error()
	if !strings.Contains(msg, "schema") {
		return &diag.Error{File: path.Join(dir, "values.yaml"), Msg: oneLine(msg)}
	}
	var list diag.List
	chartName := ""
	for line := range strings.Lines(msg) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "- "):
			list.Add(&diag.Error{File: path.Join(dir, "values.schema.json"), Msg: fmt.Sprintf("values of chart %q: %s", chartName, maskQuoted(line[2:]))})
		case strings.HasSuffix(line, ":") && !strings.Contains(line, " "):
			chartName = strings.TrimSuffix(line, ":")
		}
	}
	if len(list) == 0 {
		list.Add(&diag.Error{File: path.Join(dir, "values.schema.json"), Msg: maskQuoted(oneLine(msg))})
	}
	return diag.WithHint(list.Err(), "skip-schema-validation renders without checking values against the schema")
}

// maskQuoted hides the instance values that the schema validator prints after
// "got" or as a quoted value, but keeps the location and the expectation.
func maskQuoted(line string) string {
	at, fact, found := strings.Cut(line, ": ")
	if !found {
		return line
	}
	for _, lead := range []string{"does not match pattern ", "is not valid "} {
		if i := strings.Index(fact, lead); i >= 0 {
			fact = "value " + fact[i:]
		}
	}
	return at + ": " + fact
}

func kubeVersionError(file, want, have string) error {
	return diag.WithHint(
		&diag.Error{File: file, Msg: fmt.Sprintf("the chart requires kubeVersion %q, which is incompatible with Kubernetes %s", want, have)},
		"set kube-version, or --kube-version on the command line, to the version of the target cluster")
}
