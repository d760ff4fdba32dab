package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/overlay"
	"hallmark.dev/hallmark/plugin/stamp"
)

// A location is where a person changes what a finding is about.
type location struct {
	// File is relative to the repository root. It is always a file that is there,
	// since GitHub shows nothing else.
	File string
	// Line is from 1, or 0 where it is not known.
	Line int
	// Exact says that the object is written in File. Where it is not, as with a
	// template of a packed subchart, File is the one that brings the object in.
	Exact bool
}

// locations finds the sources of objects. Files are read as they are stored, so that
// nothing is decrypted here.
type locations struct {
	fsys     fs.FS
	dir      string // of the application
	renderer string // "helm3/v3.22.0", also with more behind it
	sources  map[string][]sourceDoc
}

// A sourceDoc is a YAML document of a file, or what is left of it where it is a
// template.
type sourceDoc struct {
	line int // on which it begins
	root *yamlv3.Node
}

func newLocations(fsys fs.FS, dir, renderer string) *locations {
	return &locations{fsys: fsys, dir: path.Clean(dir), renderer: renderer, sources: map[string][]sourceDoc{}}
}

// find returns the place of a field, an RFC 6901 pointer, of an object that comes from
// a line of origin. Where the field is not written there, it is the place of the
// innermost field above it that is.
func (l *locations) find(id object.ID, origin string, line int, field string) location {
	at := l.file(origin)
	if at.Exact {
		at.Line = l.line(at.File, id, line, field)
	}
	return at
}

func (l *locations) file(origin string) location {
	switch {
	case strings.HasPrefix(l.renderer, "helm"):
		_, inChart, _ := strings.Cut(origin, "/")
		return l.template(l.dir, inChart)
	case l.isFile(origin):
		return location{File: origin, Exact: true}
	case strings.HasPrefix(l.renderer, "kustomize"):
		return l.overlay(origin)
	}
	return location{File: l.dir}
}

func (l *locations) isFile(name string) bool {
	info, err := fs.Stat(l.fsys, name)
	return err == nil && !info.IsDir()
}

// template finds a file of a chart or of the charts below it by its name in the chart
// in dir: "templates/x.yaml", or "charts/redis/templates/x.yaml", where a chart goes by
// its alias if it has one. For a chart that is packed it is the line of its parent's
// Chart.yaml that asks for it.
func (l *locations) template(dir, name string) location {
	chartFile := path.Join(dir, "Chart.yaml")
	rest, below := strings.CutPrefix(name, "charts/")
	if !below {
		if file := path.Join(dir, name); l.isFile(file) {
			return location{File: file, Exact: true}
		}
		return location{File: chartFile}
	}
	called, rest, _ := strings.Cut(rest, "/")
	named, line := l.dependency(chartFile, called)
	for _, folder := range []string{called, named} {
		if sub := path.Join(dir, "charts", folder); folder != "" && l.isFile(path.Join(sub, "Chart.yaml")) {
			return l.template(sub, rest)
		}
	}
	return location{File: chartFile, Line: line}
}

// dependency finds a dependency of a chart by its alias or name.
func (l *locations) dependency(chartFile, called string) (name string, line int) {
	data, err := fs.ReadFile(l.fsys, chartFile)
	if err != nil {
		return "", 0
	}
	value, err := yamldoc.Decode(chartFile, data)
	if err != nil {
		return "", 0
	}
	list := object.Items(object.Field(value, "dependencies"))
	for _, field := range []string{"alias", "name"} {
		for i, entry := range list {
			if object.Text(object.Field(entry, field)) == called {
				line, _, _ = yamldoc.Find(data, "dependencies", i)
				return object.Text(object.Field(entry, "name")), line
			}
		}
	}
	return "", 0
}

// overlay finds the template of a chart that a kustomization inflates, in the folder
// where Kustomize looks for charts if nothing else is said; else it is the kustomization.
func (l *locations) overlay(origin string) location {
	home := path.Join(l.dir, "charts")
	candidates := []string{path.Join(home, origin)}
	entries, _ := fs.ReadDir(l.fsys, home) // there may be none
	for _, entry := range entries {
		candidates = append(candidates, path.Join(home, entry.Name(), origin)) // charts/<name>-<version>/<name>
	}
	if i := slices.IndexFunc(candidates, l.isFile); origin != "" && i >= 0 {
		return location{File: candidates[i], Exact: true}
	}
	if name, found, err := overlay.Find(l.fsys, l.dir); err == nil && found {
		return location{File: path.Join(l.dir, name)}
	}
	return location{File: l.dir}
}

// line finds the line of a field in a file. Where several objects can be meant, it
// is not known for a template, and the line of the object's document otherwise.
func (l *locations) line(file string, id object.ID, at int, field string) int {
	docs := l.documents(file, at == 0)
	if at > 0 {
		behind := slices.IndexFunc(docs, func(d sourceDoc) bool { return d.line > at })
		if behind < 0 {
			behind = len(docs)
		}
		docs = docs[max(behind-1, 0):behind]
	}
	type written struct {
		before int // lines in front of its document
		node   *yamlv3.Node
	}
	var found []written
	for _, doc := range docs {
		for _, node := range objectNodes(doc.root) {
			if fits(text(node, "kind"), id.Kind) && (at > 0 || fits(text(node, "metadata", "name"), id.Name)) {
				found = append(found, written{doc.line - 1, node})
			}
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(w written) bool { return !fits(text(w.node, "metadata", "name"), id.Name) })
	}
	if len(found) != 1 {
		return at
	}
	return found[0].before + lineOf(found[0].node, field, at == 0)
}

// documents are the YAML documents of a file that can be read.
func (l *locations) documents(file string, template bool) []sourceDoc {
	if docs, known := l.sources[file]; known {
		return docs
	}
	var docs []sourceDoc
	data, err := fs.ReadFile(l.fsys, file)
	if template {
		data = withoutActions(data)
	}
	if err == nil {
		for _, doc := range yamldoc.Split(data) {
			docs = append(docs, sourceDoc{max(doc.Line, 1), yamldoc.Node(doc.Text)})
		}
	}
	l.sources[file] = docs
	return docs
}

// hole stands for what an action of a template prints. It is a character that nobody
// else uses and that YAML takes for a letter.
const hole = "\uE000"

var (
	action    = regexp.MustCompile(`(?s)\{\{-?\s*/\*.*?\*/\s*-?\}\}|\{\{.*?\}\}`)
	emptyLine = regexp.MustCompile(`(?m)^[ \t` + hole + `]+$`)
	// wholeValue is a value of which nothing is known.
	wholeValue = regexp.MustCompile(`([:-])[ \t]+` + hole + `[ \t]*$`)
)

// withoutActions is a template with holes for its actions, and nothing where they are
// alone on a line or where the lines below a value go on with it. Nearly every template
// is YAML then, with the lines where they were; where it is not, the place of a finding
// is less exact.
func withoutActions(template []byte) []byte {
	text := action.ReplaceAllFunc(template, func(action []byte) []byte {
		return []byte(hole + strings.Repeat("\n", strings.Count(string(action), "\n")))
	})
	lines := strings.Split(string(emptyLine.ReplaceAll(text, nil)), "\n")
	below := 0 // how far the next line with text is indented
	for i, line := range slices.Backward(lines) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		indented := len(line) - len(strings.TrimLeft(line, " "))
		if below > indented {
			lines[i] = wholeValue.ReplaceAllString(line, "$1")
		}
		below = indented
	}
	return []byte(strings.Join(lines, "\n"))
}

// fits reports whether a text that may have holes can have become value.
func fits(text, value string) bool {
	if !strings.Contains(text, hole) {
		return text == value
	}
	var pattern strings.Builder
	for i, part := range strings.Split(text, hole) {
		if i > 0 {
			pattern.WriteString(".*")
		}
		pattern.WriteString(regexp.QuoteMeta(part))
	}
	matches, err := regexp.MatchString("^"+pattern.String()+"$", value)
	return err == nil && matches
}

// objectNodes is an object itself, or the items of a list of objects.
func objectNodes(root *yamlv3.Node) []*yamlv3.Node {
	if root == nil {
		return nil
	}
	if items, _ := entry(root, "items"); items != nil && items.Kind == yamlv3.SequenceNode {
		return items.Content
	}
	return []*yamlv3.Node{root}
}

func text(node *yamlv3.Node, keys ...string) string {
	for _, key := range keys {
		node, _ = entry(node, key)
	}
	if node == nil {
		return ""
	}
	return node.Value
}

// entry returns the value of a key, with the line of the key. Of equal keys the last
// one counts.
func entry(node *yamlv3.Node, key string) (value *yamlv3.Node, line int) {
	if node == nil || node.Kind != yamlv3.MappingNode {
		return nil, 0
	}
	for i := len(node.Content) - 2; i >= 0; i -= 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1], node.Content[i].Line
		}
	}
	return nil, 0
}

// lineOf returns the line of the key or item that a pointer leads to, or of the last
// one on the way that is there. One item of a template's list may have become several,
// and of several some may be left out: only one that is alone is the item.
func lineOf(node *yamlv3.Node, pointer string, template bool) int {
	line := node.Line
	steps, err := stamp.ParsePath(pointer)
	if err != nil {
		return line // the whole object
	}
	for _, element := range steps {
		step, _ := element.(string)
		if node.Kind == yamlv3.AliasNode {
			node = node.Alias
		}
		if node.Kind == yamlv3.SequenceNode {
			i, err := strconv.Atoi(step)
			if template {
				i = 0
			}
			if err != nil || i < 0 || i >= len(node.Content) || template && len(node.Content) > 1 {
				return line
			}
			node = node.Content[i]
			line = node.Line
			continue
		}
		value, at := entry(node, step)
		if value == nil {
			return line
		}
		node, line = value, at
	}
	return line
}

// String is the place for a person: the file and, where it is known, the line.
func (l location) String() string {
	if l.Line == 0 {
		return l.File
	}
	return fmt.Sprintf("%s:%d", l.File, l.Line)
}
