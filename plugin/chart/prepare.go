package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/redact"
)

// prepared is a chart that is ready to run: values merged, dependencies decided.
// It is used for one execution, because running a template may change it.
type prepared struct {
	// templates are those that take part, of the chart and its enabled
	// dependencies.
	templates []*template
	// crds are the files of the crds/ folders, in the order of their output.
	crds []namedFile
	// texts yields the strings that a template could hand to `tpl`: the merged
	// values, the charts' files and what Chart.yaml says. It is called only if
	// `tpl` is used.
	texts    func(yield func(text))
	warnings []string
	// applied are the edits that the engine's templates carry.
	applied edits
	// oracle answers marked calls; nil where there are none.
	oracle *oracle
	// run executes Helm's engine.
	run func() (map[string]string, error)
}

// text is a string that a template may execute with `tpl`.
type text struct {
	name, body string
	set        func(body string) // nil if it cannot be changed any more
}

// template is one file of a templates/ folder.
type template struct {
	name string // as Helm prints it: "web/templates/service.yaml"
	text string
	set  func(text string) // replaces the text that the engine will see
}

func (c *Chart) prepare(engine Engine, o Options) (*prepared, error) {
	if engine == Helm4 {
		return c.prepare4(o)
	}
	return c.prepare3(o)
}

// execute runs the engine and bounds what came out of it.
func (p *prepared) execute(limit int) (map[string]string, error) {
	rendered, err := p.run()
	if err != nil {
		return nil, p.unshift(tidy(err))
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if total += len(rendered[name]); total > limit {
			return nil, diag.WithHint(
				&diag.Error{File: name, Msg: fmt.Sprintf("the templates produced more than %d bytes (limit outputBytes)", limit)},
				"look for a template that loops or repeats without bound; or raise limits.outputBytes (--limit outputBytes=N on the command line, the policy in the plugin)")
		}
	}
	return rendered, nil
}

// dependency is what both chart types tell of an entry in Chart.yaml.
type dependency struct {
	name, version, repository string
}

// missingDependency is the error for a dependency that is not vendored.
func missingDependency(chartName, file string, missing []dependency) error {
	var list diag.List
	for _, d := range missing {
		what := fmt.Sprintf("chart %q needs dependency %q", chartName, d.name)
		if d.version != "" {
			what += fmt.Sprintf(" version %q", d.version)
		}
		if d.repository != "" {
			what += fmt.Sprintf(" from %s", redact.URL(d.repository))
		}
		list.Add(&diag.Error{File: file, Msg: what + ", which is not in charts/"})
	}
	return diag.WithHint(list.Err(),
		"run `helm dependency build` in the chart's folder and commit charts/; hallmark fetches nothing while rendering")
}

// lockWarnings compares Chart.lock with what is vendored. Helm ignores the
// difference when it renders.
func lockWarnings(lock []dependency, vendored []dependency) []string {
	var warnings []string
	for _, l := range lock {
		var versions []string
		for _, v := range vendored {
			if v.name == l.name {
				versions = append(versions, v.version)
			}
		}
		switch {
		case len(versions) == 0:
			warnings = append(warnings, fmt.Sprintf("Chart.lock names dependency %q %s, which is not in charts/", l.name, l.version))
		case !slices.ContainsFunc(versions, func(v string) bool { return sameVersion(v, l.version) }):
			warnings = append(warnings, fmt.Sprintf("Chart.lock names dependency %q %s, but charts/ holds %s", l.name, l.version, strings.Join(versions, ", ")))
		}
	}
	return warnings
}

func sameVersion(a, b string) bool {
	return strings.TrimPrefix(a, "v") == strings.TrimPrefix(b, "v")
}

// notInstallable is Helm's refusal of library charts as the root.
func notInstallable(file, kind string) error {
	return &diag.Error{File: file, Msg: fmt.Sprintf("%s charts are not installable", kind)}
}

// walkStrings yields every string inside v, under its path; set replaces v.
func walkStrings(at string, v any, set func(string), yield func(text)) {
	switch v := v.(type) {
	case string:
		yield(text{at, v, set})
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			yield(text{at, k, nil})
			walkStrings(at+"."+k, v[k], func(s string) { v[k] = s }, yield)
		}
	case []any:
		for i, e := range v {
			walkStrings(fmt.Sprintf("%s[%d]", at, i), e, func(s string) { v[i] = s }, yield)
		}
	}
}
