package application

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/source"
)

// maxManifest bounds a file that is looked into. What is larger holds no Applications.
const maxManifest = 16 << 20

// Found is what [Find] found, in the order of the files.
type Found struct {
	Applications []Application
	Faults       []Fault
}

// Find reads the Applications and expands the ApplicationSets below dir: in files that
// end in .yaml, .yml or .json, in all their documents and in Lists. A manifest with
// faults is one entry of Faults, and does not keep the others from being found.
//
// It passes over what is no manifest as it stands: the templates of charts, files with
// {{ that are no YAML (but for ApplicationSets with goTemplate, whose author has to put
// templates in quotes), and files that a kustomization names as patches. The bases of
// kustomizations are read as they stand. Symbolic links are not followed: what they
// lead to inside of fsys is found in its own place.
//
// The error is about dir itself.
func Find(fsys fs.FS, dir string, opt Options) (Found, error) {
	f := &finder{fsys: fsys, opt: opt}
	entries := 0
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == dir {
				return err
			}
			f.fault("", name, 0, err)
			return nil
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("more than %d files and folders below %s", maxEntries, dir)
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == "templates" && name != dir && exists(fsys, path.Join(path.Dir(name), "Chart.yaml")) {
				return fs.SkipDir
			}
			return nil
		}
		switch path.Ext(name) {
		case ".yaml", ".yml", ".json":
			if d.Type().IsRegular() {
				f.file(name)
			}
		}
		if len(f.found.Applications) > maxApplications {
			return fmt.Errorf("more than %d applications below %s", maxApplications, dir)
		}
		return nil
	})
	slices.SortStableFunc(f.found.Faults, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return f.found, err
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

type finder struct {
	fsys  fs.FS
	opt   Options
	found Found
}

func (f *finder) fault(name, file string, line int, err error) {
	f.found.Faults = append(f.found.Faults, Fault{Name: name, File: file, Line: line, Err: err})
}

var (
	// Whether a document is worth decoding. Custom resource definitions are, too.
	kindLine = regexp.MustCompile(`\bkind["']?\s*:\s*["']?Application(Set)?(["'\s,}]|$)`)
	// Whether a document that is no YAML is an ApplicationSet all the same.
	setLine        = regexp.MustCompile(`(?m)^["']?kind["']?\s*:\s*["']?ApplicationSet["']?\s*$`)
	goTemplateLine = regexp.MustCompile(`(?m)^\s+["']?goTemplate["']?\s*:\s*true\s*$`)
)

var marker = []byte("argoproj.io")

func (f *finder) file(name string) {
	data, err := readFile(f.fsys, name, maxManifest)
	if err != nil {
		// What is too large is no manifest, and is no reason to say that one is missing.
		if limit := (*source.LimitError)(nil); !errors.As(err, &limit) && !errors.Is(err, errTooLarge) {
			f.fault("", name, 0, err)
		}
		return
	}
	if !bytes.Contains(data, marker) {
		return
	}
	for _, doc := range (yamldoc.Limits{Bytes: maxManifest}).Split(data) {
		if !bytes.Contains(doc.Text, marker) || !kindLine.Match(doc.Text) {
			continue
		}
		value, err := doc.Decode(name)
		switch {
		case err == nil:
			f.manifest(object.Mapping(value), &faults{file: name, line: doc.Line + leading(doc.Text), text: doc.Text, base: doc.Line})
		case !bytes.Contains(doc.Text, []byte("{{")):
			f.fault("", name, lineOf(err, doc.Line), err)
		case setLine.Match(doc.Text) && goTemplateLine.Match(doc.Text):
			f.fault("", name, lineOf(err, doc.Line), diag.WithHint(err, "put templates in quotes, or in templatePatch"))
		}
	}
}

// leading counts the lines before the first that says something.
func leading(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.HasPrefix(line, []byte("---")) {
			return n
		}
		n++
	}
	return 0
}

func lineOf(err error, line int) int {
	if at := (*diag.Error)(nil); errors.As(err, &at) && at.Line > 0 {
		return at.Line
	}
	return line
}

// manifest takes an Application, an ApplicationSet, or those of a List.
func (f *finder) manifest(value map[string]any, at *faults) {
	kind := object.Text(value["kind"])
	if items, is := value["items"].([]any); is && strings.HasSuffix(kind, "List") && len(at.root) == 0 {
		lines := itemLines(at)
		for i, item := range items {
			one := *at
			one.root = []any{"items", i}
			if i < len(lines) {
				one.line = lines[i]
			}
			f.manifest(object.Mapping(item), &one)
		}
		return
	}
	if !strings.HasPrefix(object.Text(value["apiVersion"]), argoGroup) {
		return
	}
	switch kind {
	case "Application":
		a, err := readApplication(value, at)
		if err == nil {
			f.found.Applications = append(f.found.Applications, *a)
		} else if !f.isPatch(at.file) {
			f.fault(nameOf(value), at.file, at.line, err)
		}
	case "ApplicationSet":
		made, faults := expand(value, at, f.opt)
		if len(faults) > 0 && f.isPatch(at.file) {
			return
		}
		f.found.Applications = append(f.found.Applications, made...)
		f.found.Faults = append(f.found.Faults, faults...)
	}
}

// itemLines returns the lines of the items of a List.
func itemLines(at *faults) (lines []int) {
	root := yamldoc.Node(at.text)
	if root == nil {
		return nil
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "items" {
			continue
		}
		lines = nil
		for _, item := range root.Content[i+1].Content {
			lines = append(lines, at.base+item.Line-1)
		}
	}
	return lines
}

func nameOf(value map[string]any) string {
	name := object.Text(object.Field(value, "metadata", "name"))
	if name == "" {
		return ""
	}
	return qualified(object.Text(object.Field(value, "metadata", "namespace")), name)
}

// isPatch reports whether a kustomization in the folder of a file, or in one of the two
// above it, names the file as a patch. A patch is a part of a manifest.
func (f *finder) isPatch(file string) bool {
	dir := path.Dir(file)
	for range 3 {
		for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
			data, err := readFile(f.fsys, path.Join(dir, name), maxOverride)
			if err != nil {
				continue
			}
			value, err := yamldoc.Decode(name, data)
			if err != nil {
				continue
			}
			for _, list := range []string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
				for _, item := range object.Items(object.Field(value, list)) {
					patch := object.Text(item)
					if patch == "" {
						patch = object.Text(object.Field(item, "path"))
					}
					if patch != "" && path.Join(dir, patch) == file {
						return true
					}
				}
			}
		}
		if dir == "." {
			return false
		}
		dir = path.Dir(dir)
	}
	return false
}
