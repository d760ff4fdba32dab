package suite

import (
	"fmt"
	"path"
	"slices"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/fields"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// MaxFile bounds a file of test cases, and a file that one names, in bytes.
const MaxFile = 16 << 20

// Tests are the cases of one check.
type Tests struct {
	File  string
	Check string // the file of the check
	Name  string // the name of the check in it
	Cases []Case
}

// Case is one object and what the check has to say of it.
type Case struct {
	Name   string
	Object map[string]any
	Want   health.Verdict
	// AnyMessage is set where the case does not say which message is wanted.
	AnyMessage bool
	Rule       string // its label, or "" for any
	File       string
	Line       int
}

// Parse reads test cases, one HealthTest for each document. read reads a file that
// one names; its path is relative to the folder of file, with slashes.
func Parse(file string, data []byte, read func(name string) ([]byte, error)) ([]*Tests, error) {
	docs, err := yamldoc.Limits{Bytes: MaxFile, Depth: 256}.Stream(file, data)
	if err != nil {
		return nil, err
	}
	docs = slices.DeleteFunc(docs, func(d yamldoc.Document) bool { return d.Value == nil })
	if len(docs) == 0 {
		return nil, &diag.Error{File: file, Msg: `the file is empty, want kind "HealthTest"`}
	}
	var all []*Tests
	var faults diag.List
	for _, doc := range docs {
		reader, root := fields.Open(file, doc, true)
		p := parser{file: file, read: read}
		all = append(all, p.document(root))
		faults = append(faults, reader.Faults...)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return all, nil
}

type parser struct {
	file string
	read func(name string) ([]byte, error)
}

func (p parser) document(root fields.Field) *Tests {
	name, spec, ok := health.Header(root, "HealthTest", "a check and cases")
	if !ok {
		return nil
	}
	tests := &Tests{File: p.file, Name: name}
	m := spec.Mapping("check", "cases")
	if m == nil {
		return nil
	}
	if f, found := m["check"]; !found {
		spec.Faultf("check: missing, want the file of the check, beside this file")
	} else if text, ok := f.Text(); ok {
		tests.Check = path.Join(path.Dir(p.file), text)
	}
	if !m["cases"].There() {
		spec.Faultf("cases: missing, want a list of cases")
		return nil
	}
	lines := map[string]int{}
	for _, item := range m["cases"].List() {
		c := p.testCase(item)
		if first, twice := lines[c.Name]; twice {
			item.Faultf("the name %q is taken by the case in line %d", c.Name, first)
		}
		lines[c.Name] = c.Line
		tests.Cases = append(tests.Cases, c)
	}
	return tests
}

func (p parser) testCase(item fields.Field) Case {
	c := Case{File: p.file, AnyMessage: true}
	c.Line, _ = item.Position()
	m := item.Mapping("name", "want", "rule", "object", "file")
	if m == nil {
		return c
	}
	for _, name := range []string{"name", "want"} {
		if !m[name].There() {
			item.Faultf("%s: missing", name)
		}
	}
	if f := m["name"]; f.There() {
		c.Name, _ = f.Text()
	}
	if f := m["rule"]; f.There() {
		c.Rule, _ = f.Text()
	}
	if f := m["want"]; f.There() {
		want := f.Mapping("status", "message")
		if status, found := want["status"]; found {
			c.Want.Status = health.Status(status.OneOf("Healthy", "Progressing", "Degraded", "Suspended"))
		} else if want != nil {
			f.Faultf("status: missing, want Healthy, Progressing, Degraded or Suspended")
		}
		if message, found := want["message"]; found {
			c.Want.Message, _ = message.Text()
			c.AnyMessage = false
		}
	}
	object, file := m["object"], m["file"]
	switch {
	case object.There() == file.There():
		item.Faultf("want either an object or a file with one")
	case object.There():
		c.Object, _ = object.Value().(map[string]any)
		if c.Object == nil {
			object.Faultf("got %s, want an object", fields.KindOf(object.Value()))
		}
	default:
		if name, ok := file.Text(); ok {
			value, err := p.objectFile(path.Join(path.Dir(p.file), name))
			if err != nil {
				file.Faultf("%v", err)
			}
			c.Object = value
		}
	}
	return c
}

func (p parser) objectFile(name string) (map[string]any, error) {
	data, err := p.read(name)
	if err != nil {
		return nil, err
	}
	value, err := yamldoc.Limits{Bytes: MaxFile, Depth: 256}.Decode(name, data)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: got %s, want an object", name, fields.KindOf(value))
	}
	return object, nil
}
