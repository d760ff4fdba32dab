package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"hallmark.dev/hallmark/plugin/compare"
)

// The types below are those of package compare with identities, and with lists that
// are never null: a field of an outer struct hides that of the embedded one.

type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	compare.Report
	Totals       totals                `json:"totals"`
	Notes        []string              `json:"notes"`
	Causes       []compare.Cause       `json:"causes"`
	Applications []documentApplication `json:"applications"`
}

type documentApplication struct {
	compare.Application
	Objects  []documentObject  `json:"objects"`
	Problems []compare.Problem `json:"problems"`
	Notes    []string          `json:"notes"`
}

type documentObject struct {
	Object identity  `json:"object"`
	Was    *identity `json:"was,omitempty"`
	compareObject
	Fields []compare.Field `json:"fields"`
}

// compareObject is another name, because the field of the identity is Object too.
type compareObject = compare.Object

type identity struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// JSON writes a report as JSON with an indentation of two spaces. What a terminal
// would act on is escaped; readers of JSON see the same strings.
func JSON(w io.Writer, r *compare.Report) error {
	d := document{APIVersion: "hallmark.dev/v1", Kind: "Comparison", Report: *r, Totals: newOutline(r).totals,
		Notes: list(r.Notes), Causes: list(r.Causes), Applications: make([]documentApplication, len(r.Applications))}
	for i, cause := range d.Causes {
		d.Causes[i].Applications = list(cause.Applications)
	}
	for i, app := range r.Applications {
		out := documentApplication{Application: app, Objects: make([]documentObject, len(app.Objects)),
			Problems: list(app.Problems), Notes: list(app.Notes)}
		for j, obj := range app.Objects {
			out.Objects[j] = documentObject{Object: identity(obj.ID), compareObject: obj, Fields: list(obj.Fields)}
			if obj.Was != nil {
				was := identity(*obj.Was)
				out.Objects[j].Was = &was
			}
		}
		d.Applications[i] = out
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return fmt.Errorf("writing a comparison as JSON: %w", err)
	}
	_, err := w.Write(visible(b.Bytes()))
	return err
}

// list is a copy of a list that is not nil.
func list[T any](items []T) []T { return append([]T{}, items...) }

// visible escapes what encoding/json leaves as it is: C1 control characters, and
// those that change the direction of text. They stand in strings only.
func visible(text []byte) []byte {
	odd := func(r rune) bool {
		return r > unicode.MaxASCII && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) || r == 0x7f
	}
	if bytes.IndexFunc(text, odd) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if odd(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}
