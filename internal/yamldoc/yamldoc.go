// Package yamldoc reads and prints the YAML of Kubernetes manifests: one
// document or a stream of them, within limits, with positions in every error.
//
// # What a document means
//
// Argo CD, kubectl and Helm all read YAML through sigs.k8s.io/yaml: YAML 1.1 as
// goyaml v2 understands it, turned into JSON, decoded by the Kubernetes API
// machinery. That is the meaning of a document here too, quirks included: "on"
// is true, 0777 is 511, 1.0 is the integer 1, the last of two equal keys wins.
// Values are map[string]any, []any, string, bool, int64, float64 and nil.
// A stream is split as Argo CD splits it, by the decoder in
// k8s.io/apimachinery/pkg/util/yaml: on lines that begin with "---", or, when
// the text begins with "{", into JSON values.
//
// # Why there is a fast path
//
// The library reads about 8 MB/s and prints about 5 MB/s, so a chart with 4.5 MB
// of custom resource definitions would spend over a second in YAML. On such
// definitions the reader of this package is more than ten times as fast and the
// printer more than thirty times; the command
//
//	go test -run '^$' -bench . ./internal/yamldoc
//
// prints both side by side.
//
// The fast path reads the subset that generators and hand-written charts use:
//
//   - block mappings and sequences, one key per line, plain or quoted keys that
//     are strings, sequences at or below the column of their key, "- - a" and
//     "- a: b";
//   - plain and quoted scalars on one or several lines, literal and folded
//     scalars with their indicators, empty values;
//   - flow collections of such scalars, comments, and one leading "---".
//
// The rule is: exactly the library's result, or decline. It declines (and the
// library decides, also about errors) at anchors, aliases, merge keys, tags,
// keys of other types, "?" keys, document markers and directives, tabs outside
// quoted and block scalars, line breaks other than "\n", byte order marks
// inside the text, NaN and infinity, and at whatever else it does not
// recognise. Differential tests and FuzzDecode hold it to the rule.
//
// Three differences to the libraries are deliberate. Text that is not UTF-8 is
// an error, where a JSON decoder puts U+FFFD in its place. Two keys that are
// different in YAML and equal in JSON (1 and "1") give the value of the one that
// is a string, where the library picks at random. And the Kubernetes line
// reader loses the last line of a stream if that has no line break and a length
// that is a multiple of 4096; here it is kept.
package yamldoc

import (
	"fmt"

	"hallmark.dev/hallmark/internal/diag"
)

// Document is one document of a stream.
type Document struct {
	// Line is the 1-based line of the stream on which Text begins.
	Line int
	// Text is the document without the separator that ends it. A separator that
	// begins the stream is part of it. Line breaks are "\n" unless the document
	// is one of a JSON stream. It shares memory with the stream where it can.
	Text []byte
	// Value is what the document says; nil for one that is empty or has only
	// comments, and for all documents of Split. It shares no memory with Text.
	Value any

	json   bool        // one of a JSON stream
	fault  *diag.Error // the stream breaks off here
	limits Limits
}

// Limits bounds what a reader takes. A field that is zero stands for its
// default, so Limits{} are the limits of the package's functions.
type Limits struct {
	// Bytes bounds the size of a stream, and the size of all scalars of one
	// document after its aliases are expanded. Default 64 MiB.
	Bytes int
	// Depth bounds how deep collections nest. Default 512.
	Depth int
	// Documents bounds the number of documents in a stream. Default 50000.
	Documents int
}

func (l Limits) orDefault() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 64 << 20
	}
	if l.Depth <= 0 {
		l.Depth = 512
	}
	if l.Documents <= 0 {
		l.Documents = 50_000
	}
	return l
}

// Decode reads the first document of data; like the library it does not look at
// what follows it. Errors are *diag.Error in file.
func Decode(file string, data []byte) (any, error) { return Limits{}.Decode(file, data) }

// Stream reads all documents of data. On an error, which is a *diag.Error in
// file, it also returns the documents before the faulty one.
func Stream(file string, data []byte) ([]Document, error) { return Limits{}.Stream(file, data) }

// Split finds the documents of data without decoding them, for callers that
// decode them in parallel with [Document.Decode]. A stream that breaks off, for
// instance at a line "---x", ends in a document whose Decode reports why.
func Split(data []byte) []Document { return Limits{}.Split(data) }

// Decode is [Decode] within limits.
func (l Limits) Decode(file string, data []byte) (any, error) {
	l = l.orDefault()
	if len(data) > l.Bytes {
		return nil, l.tooLarge(file)
	}
	data, fault := stripBOM(data)
	if fault != nil {
		fault.File = file
		return nil, fault
	}
	return l.decode(source{file: file, text: data})
}

// Stream is [Stream] within limits.
func (l Limits) Stream(file string, data []byte) ([]Document, error) {
	docs := l.Split(data)
	for i := range docs {
		v, err := docs[i].Decode(file)
		if err != nil {
			return docs[:i], err
		}
		docs[i].Value = v
	}
	return docs, nil
}

// Decode decodes a document of [Split] and returns its value; d.Value is not
// set. Errors are *diag.Error in file, with lines counted from the start of the
// stream.
func (d Document) Decode(file string) (any, error) {
	if d.fault != nil {
		fault := *d.fault
		fault.File = file
		return nil, &fault
	}
	src := source{file: file, text: d.Text, lines: max(d.Line-1, 0)}
	if d.json {
		return d.limits.orDefault().decodeJSON(src)
	}
	return d.limits.orDefault().decode(src)
}

func (l Limits) decode(src source) (any, error) {
	p := &fast{maxDepth: l.Depth}
	if v, ok := p.parse(string(src.text)); ok {
		return v, nil
	}
	if p.tooDeep {
		return nil, src.at(p.pos, l.tooDeep())
	}
	return l.decodeLibrary(src)
}

func (l Limits) tooLarge(file string) *diag.Error {
	return &diag.Error{File: file, Msg: fmt.Sprintf("larger than %d bytes (limit Bytes)", l.Bytes)}
}

func (l Limits) tooDeep() string {
	return fmt.Sprintf("nested deeper than %d levels (limit Depth)", l.Depth)
}
