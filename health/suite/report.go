package suite

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// TextOptions are those of [WriteText].
type TextOptions struct {
	Verbose bool // every case, not only those that failed
	Cover   int  // the least share of rules, in percent
}

// WriteText prints reports as a test runner does: what failed, and a line for each
// check.
func WriteText(w io.Writer, reports []*Report, o TextOptions) error {
	p := textPrinter{w: w}
	for _, r := range reports {
		for _, c := range r.Cases {
			switch {
			case len(c.Faults) > 0:
				p.line("FAIL %s: %s (%s:%d)", r.Check.Name, c.Name, c.File, c.Line)
				for _, fault := range c.Faults {
					p.line("     %s", fault)
				}
			case o.Verbose:
				p.line("pass %s: %s: %s by %s", r.Check.Name, c.Name, describe(c.Got), c.Rule)
			}
		}
		const most = 20
		for i, c := range r.Robustness {
			if i == most && !o.Verbose {
				p.line("FAIL %s: and %d more objects", r.Check.Name, len(r.Robustness)-most)
				break
			}
			p.line("FAIL %s: robustness: %s", r.Check.Name, c.Name)
			for _, fault := range c.Faults {
				p.line("     %s", fault)
			}
		}
		unreached := r.Unreached()
		for _, rule := range unreached {
			p.line("     %s:%d: no case reaches %s", r.Check.File, rule.Line, rule.Label)
		}
		verdict := "ok  "
		if r.Failed() > 0 || r.Coverage() < o.Cover {
			verdict = "FAIL"
		}
		p.line("%s %s (%s): %d cases, %d objects of the robustness corpus, %d of %d rules reached", verdict,
			r.Check.Name, r.Check.File, len(r.Cases), r.Objects, len(r.Check.Rules)-len(unreached), len(r.Check.Rules))
	}
	return p.err
}

type textPrinter struct {
	w   io.Writer
	err error
}

func (p *textPrinter) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD"))
	}
}

type jsonReport struct {
	Check      string       `json:"check"`
	File       string       `json:"file"`
	Cases      []jsonResult `json:"cases"`
	Robustness []jsonResult `json:"robustness"` // those that failed
	Objects    int          `json:"objects"`
	Rules      []jsonRule   `json:"rules"`
	Coverage   int          `json:"coverage"`
	Passed     bool         `json:"passed"`
}

type jsonResult struct {
	Name    string   `json:"name"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Status  string   `json:"status"`
	Message string   `json:"message"`
	Rule    string   `json:"rule"`
	Passed  bool     `json:"passed"`
	Faults  []string `json:"faults"`
}

type jsonRule struct {
	Label string `json:"label"`
	Line  int    `json:"line"`
	Cases int    `json:"cases"` // how many it decides
}

// WriteJSON prints reports as one JSON list. cover is the least share of rules, in
// percent, that lets a check pass.
func WriteJSON(w io.Writer, reports []*Report, cover int) error {
	out := []jsonReport{}
	for _, r := range reports {
		j := jsonReport{
			Check: r.Check.Name, File: r.Check.File, Cases: []jsonResult{}, Robustness: []jsonResult{},
			Objects: r.Objects, Coverage: r.Coverage(), Passed: r.Failed() == 0 && r.Coverage() >= cover,
		}
		for _, c := range r.Cases {
			j.Cases = append(j.Cases, asJSON(c))
		}
		for _, c := range r.Robustness {
			j.Robustness = append(j.Robustness, asJSON(c))
		}
		for _, rule := range r.Check.Rules {
			j.Rules = append(j.Rules, jsonRule{rule.Label, rule.Line, r.Reached[rule.Label]})
		}
		out = append(out, j)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func asJSON(r Result) jsonResult {
	return jsonResult{
		Name: r.Name, File: r.File, Line: r.Line, Status: string(r.Got.Status), Message: r.Got.Message, Rule: r.Rule,
		Passed: len(r.Faults) == 0, Faults: append([]string{}, r.Faults...),
	}
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	File     string      `xml:"file,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit prints reports in the XML that CI systems read. The robustness corpus
// of a check is one test, and so is the coverage of its rules, of which cover is the
// least in percent.
func WriteJUnit(w io.Writer, reports []*Report, cover int) error {
	var out junitSuites
	for _, r := range reports {
		s := junitSuite{Name: r.Check.Name, File: r.Check.File}
		for _, c := range r.Cases {
			s.add(c.Name, c.Faults)
		}
		var faults []string
		for _, c := range r.Robustness {
			faults = append(faults, c.Name+": "+strings.Join(c.Faults, "; "))
		}
		s.add(fmt.Sprintf("robustness (%d objects)", r.Objects), faults)
		var unreached []string
		if r.Coverage() < cover {
			for _, rule := range r.Unreached() {
				unreached = append(unreached, fmt.Sprintf("%s:%d: no case reaches %s", r.Check.File, rule.Line, rule.Label))
			}
		}
		s.add(fmt.Sprintf("coverage (%d %% of %d rules)", r.Coverage(), len(r.Check.Rules)), unreached)
		out.Suites = append(out.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(name string, faults []string) {
	c := junitCase{Class: s.Name, Name: name}
	if len(faults) > 0 {
		c.Failure = &junitFailure{Message: faults[0], Text: strings.Join(faults, "\n")}
		s.Failures++
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}
