package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page, its style and its script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"hallmark.dev/hallmark/plugin/compare"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string

	pageTemplate = template.Must(template.New("page").Parse(pageText))
)

// HTML writes a report as one page that needs nothing else, no network either. The
// applications can be filtered, and their objects are shown field by field and side
// by side. The browser runs the page's own script and no other.
func HTML(w io.Writer, r *compare.Report) error {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, newPage(r)); err != nil {
		return fmt.Errorf("writing a comparison as HTML: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// contentPolicy lets the style and the script of the page be used and forbids all
// else, the network with it.
func contentPolicy(style, script string) string {
	source := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return strings.Join([]string{
		"default-src 'none'", "style-src " + source(style), "script-src " + source(script), "img-src data:",
		"base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
	}, "; ")
}

// A page is what the template shows at once. Objects stand in Data, from which the
// script makes them when an application is opened.
type page struct {
	Policy           string
	Style            template.CSS
	Script           template.JS
	Verdict, Subject string
	Notes            []string
	Tiles            []tile
	Statuses         []tile
	Causes           []pageCause
	Problems         []pageProblem
	Applications     []pageApplication
	Data             pageData
}

type tile struct {
	Label, Class string
	Count        int
	Checked      bool
}

type pageCause struct {
	Number, Objects int
	Path, Text      string
	Applications    string
}

type pageProblem struct {
	Application, About string
	Side, Hint         string
	Absent             bool
	Lines              []string
}

type pageApplication struct {
	Index               int
	Name, About, Status string
	Counts              compare.Counts
	Empty               bool // nothing to open
}

type pageData struct {
	Applications []dataApplication `json:"applications"`
}

type dataApplication struct {
	Name    string       `json:"name"`
	Status  string       `json:"status"`
	From    string       `json:"from"`
	To      string       `json:"to"`
	Notes   []string     `json:"notes"`
	Objects []dataObject `json:"objects"`
}

type dataObject struct {
	Kind   string      `json:"kind"`
	Title  string      `json:"title"`
	Sign   string      `json:"sign"`
	Origin string      `json:"origin"`
	Fields []dataField `json:"fields"`
	Lines  []segment   `json:"lines"`
}

type dataField struct {
	Sign  string `json:"sign"`
	Path  string `json:"path"`
	Cause int    `json:"cause"` // by number, from 1; 0 for none
	Note  string `json:"note,omitempty"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
	// Lines are those of a difference, each behind its operation.
	Lines []string `json:"lines,omitempty"`
}

func newPage(r *compare.Report) page {
	o := newOutline(r)
	all, objects := o.totals.Applications, o.totals.Objects
	p := page{
		Policy:  contentPolicy(pageStyle, pageScript),
		Style:   template.CSS(pageStyle), //nolint:gosec // the package's own file
		Script:  template.JS(pageScript), //nolint:gosec // the package's own file
		Verdict: o.totals.verdict(), Subject: subject(r, " → ", printable),
		Tiles: []tile{
			{Label: "objects added", Class: "added", Count: objects.Added},
			{Label: "objects removed", Class: "removed", Count: objects.Removed},
			{Label: "objects changed", Class: "changed", Count: objects.Changed},
			{Label: "objects unchanged", Class: "unchanged", Count: objects.Unchanged},
		},
		Statuses: []tile{
			{"changed", "changed", all.Changed, true}, {"added", "added", all.Added, true}, {"removed", "removed", all.Removed, true},
			{"refused", "refused", all.Refused, true}, {"unchanged", "unchanged", all.Unchanged, all.Unchanged == all.Total},
		},
		Applications: make([]pageApplication, len(o.apps)),
		Data:         pageData{make([]dataApplication, len(o.apps))},
	}
	for _, note := range r.Notes {
		p.Notes = append(p.Notes, printable(note))
	}
	for i, cause := range r.Causes {
		in, everywhere := o.everywhere(cause)
		if !everywhere {
			in = names(cause.Applications, 8)
		}
		p.Causes = append(p.Causes, pageCause{Number: i + 1, Objects: cause.Objects, Path: printable(cause.Path), Text: o.causeText(i, 300), Applications: in})
	}
	for i, app := range o.apps {
		p.Applications[i] = pageApplication{Index: i, Name: printable(app.Name), About: pageAbout(app.Application),
			Status: printable(string(app.Status)), Counts: app.Counts, Empty: len(app.Objects)+len(app.Notes) == 0}
		p.Data.Applications[i] = dataOf(app.Application, len(r.Causes))
		for _, problem := range app.Problems {
			p.Problems = append(p.Problems, newProblem(r, app.Application, problem))
		}
	}
	return p
}

// pageAbout is where an application stands and what it was rendered with.
func pageAbout(app *compare.Application) string {
	with := renderers(app, " → ")
	switch {
	case app.Origin == "" || app.Origin == app.Name:
		return with
	case with == "":
		return printable(app.Origin)
	}
	return printable(app.Origin) + " · " + with
}

func newProblem(r *compare.Report, app *compare.Application, problem compare.Problem) pageProblem {
	out := pageProblem{Application: printable(app.Name), Absent: problem.Absent, Lines: messageLines(problem.Message)}
	if app.Origin != app.Name {
		out.About = printable(app.Origin)
	}
	for _, part := range []string{problem.Source, sideName(r, problem.Side)} {
		if part != "" {
			out.About = strings.TrimPrefix(out.About+" · "+printable(part), " · ")
		}
	}
	if problem.Hint != "" {
		out.Hint = strings.Join(messageLines(problem.Hint), " ")
	}
	return out
}

func dataOf(app *compare.Application, causes int) dataApplication {
	out := dataApplication{Name: printable(app.Name), Status: string(app.Status), From: printable(app.From), To: printable(app.To),
		Notes: make([]string, len(app.Notes)), Objects: make([]dataObject, len(app.Objects))}
	for i, note := range app.Notes {
		out.Notes[i] = printable(note)
	}
	for i := range app.Objects {
		obj := &app.Objects[i]
		data := dataObject{Kind: kind(obj.ID), Title: title(obj), Sign: string(sign(obj.Change)), Origin: printable(obj.Origin),
			Fields: make([]dataField, len(obj.Fields)), Lines: sideBySide(obj.Before, obj.After)}
		for j := range obj.Fields {
			data.Fields[j] = fieldData(&obj.Fields[j], causes)
		}
		out.Objects[i] = data
	}
	return out
}

func fieldData(f *compare.Field, causes int) dataField {
	const room = 4000 // a page can show what a line cannot
	v := newView(f)
	out := dataField{Sign: string(v.sign), Path: v.path, Note: v.note}
	if f.Cause >= 0 && f.Cause < causes {
		out.Cause = f.Cause + 1
	}
	out.From, out.To = shortenPair(v.from, v.to, room)
	for _, l := range v.lines {
		text := l.text
		if l.op != hunk {
			text = string(l.op) + shorten(text, room)
		}
		out.Lines = append(out.Lines, text)
	}
	return out
}
