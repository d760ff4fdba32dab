package chart

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gobwas/glob"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/source"
)

// Encrypted files in a chart.
//
// Helm takes in every file of the chart's folder, and a chart often holds the
// secrets of all environments while a renderer has the key of one. So what makes
// the chart (its metadata, values, templates, CRDs and dependencies) is decrypted
// when it is loaded, and other files, which only a template can reach, through
// .Files, stay sealed until a render that may read them.
// A render does not have those that stay sealed, as if .helmignore named them.
//
// Helm hands all of them to the templates at once, and what becomes of one cannot
// be seen in the output: a hash, a comparison or a default hides it. So it is seen
// in the templates. Where each use of .Files names its file or its glob, just those
// files are decrypted; where one is computed, all are. A file that cannot be
// decrypted and may be read fails the render.

// HoldsSecrets reports whether the chart holds decrypted text. It must not be kept
// beyond its render then.
func (c *Chart) HoldsSecrets() bool { return c.secret }

// read reads the file at name, which is rel in the chart.
func (c *Chart) read(fsys fs.FS, name, rel string) (file, error) {
	data, open, err := source.ReadSealed(fsys, name)
	if err != nil || open == nil {
		return file{name: rel, data: data}, err
	}
	if isExtra(rel) {
		return file{name: rel, data: data, sealed: true}, nil
	}
	c.secret = true
	data, err = open()
	return file{name: rel, data: data}, err
}

// isExtra reports whether Helm does nothing with the file but hand it to
// templates.
func isExtra(rel string) bool {
	rel = inItsChart(rel)
	switch first, _, below := strings.Cut(rel, "/"); {
	case below:
		return first != "templates" && first != "crds" && first != "charts"
	default:
		return !slices.Contains([]string{"Chart.yaml", "Chart.lock", "values.yaml", "values.schema.json", "requirements.yaml", "requirements.lock"}, rel)
	}
}

// renderSealed is render for a chart that may hold sealed files.
func (c *Chart) renderSealed(ctx context.Context, engine Engine, o Options) (*Output, error) {
	if !slices.ContainsFunc(c.files, func(f file) bool { return f.sealed }) {
		return c.render(ctx, engine, o)
	}
	opened := *c
	opened.files = slices.Clone(c.files)
	if err := opened.unseal(o); err != nil {
		return nil, err
	}
	opened.files = slices.DeleteFunc(opened.files, func(f file) bool { return f.sealed })
	return opened.render(ctx, engine, o)
}

const hintSealed = "; a file that no template is to read is left out with .helmignore, or by templates that name each file they read"

// unseal decrypts the files that templates may read. A decrypted file may be
// executed with tpl, and so lead to others.
func (c *Chart) unseal(o Options) error {
	var reads fileReads
	for _, f := range c.files {
		switch {
		case isArchive(f.name):
			reads.computed = true // it is not looked into
		case !isExtra(f.name):
			reads.add(f.data)
		}
	}
	if reads.tpl { // then anything may be a template
		for _, f := range c.files {
			if isExtra(f.name) && !f.sealed {
				reads.add(f.data)
			}
		}
	}
	for _, d := range o.Values {
		reads.add(d.Data)
	}
	for _, a := range slices.Concat(o.Set, o.SetString) {
		reads.add([]byte(a.Value))
	}
	for _, a := range o.SetFile {
		if data, err := o.ReadFile(a.Value); err == nil { // else the assignment fails
			reads.add(data)
		}
	}
	var failures []error
	failed := map[string]bool{}
	for again := true; again; {
		again = false
		for i, f := range c.files {
			if !f.sealed || failed[f.name] || !reads.may(f.name) {
				continue
			}
			plain, err := o.Unseal(path.Join(c.dir, f.name))
			if err != nil {
				failures, failed[f.name] = append(failures, err), true
				continue
			}
			c.files[i].data, c.files[i].sealed = bytes.TrimPrefix(plain, utf8BOM), false
			reads.add(plain)
			again = true
		}
	}
	if len(failures) == 0 {
		return nil
	}
	err := errors.Join(failures...)
	return diag.WithHint(err, diag.Hint(err)+hintSealed)
}

// fileReads is what texts that may be executed do with .Files.
type fileReads struct {
	names    map[string]bool
	globs    []glob.Glob
	computed bool // which file is read cannot be told
	tpl      bool // text is executed
}

var (
	// action is a piece of a template that is executed, and not a comment.
	action = regexp.MustCompile(`(?s)\{\{-?\s*(?:/\*.*?\*/\s*-?\}\}|.*?\}\})`)
	// filesUse is any use of .Files, also by its name in quotes.
	filesUse = regexp.MustCompile("[.\"`]Files\\b")
	// namedUse is one that names what it reads.
	namedUse = regexp.MustCompile("\\.Files\\.(Get|GetBytes|Lines|Glob)\\s+(\"(?:[^\"\\\\\n]|\\\\.)*\"|`[^`]*`)")
)

func (r *fileReads) add(text []byte) {
	for _, a := range action.FindAll(text, -1) {
		if !bytes.HasPrefix(bytes.TrimLeft(a, "{- \t\r\n"), []byte("/*")) {
			r.addAction(a)
		}
	}
}

func (r *fileReads) addAction(text []byte) {
	r.tpl = r.tpl || bytes.Contains(text, []byte("tpl"))
	if !bytes.Contains(text, []byte("Files")) {
		return
	}
	named := namedUse.FindAllSubmatch(text, -1)
	if len(named) < len(filesUse.FindAll(text, -1)) {
		r.computed = true
	}
	for _, use := range named {
		name, err := strconv.Unquote(string(use[2]))
		if err != nil {
			r.computed = true
			continue
		}
		if string(use[1]) != "Glob" {
			if r.names == nil {
				r.names = map[string]bool{}
			}
			r.names[name] = true
			continue
		}
		// As Helm compiles it. One that does not compile matches every file there.
		g, err := glob.Compile(name, '/')
		if err != nil {
			r.computed = true
			continue
		}
		r.globs = append(r.globs, g)
	}
}

// may reports whether the file, relative to the chart, may be read. Files of a
// dependency have their names in it, and a template may run in the place of any
// chart.
func (r *fileReads) may(rel string) bool {
	rel = inItsChart(rel)
	return r.computed || r.names[rel] || slices.ContainsFunc(r.globs, func(g glob.Glob) bool { return matches(g, rel) })
}

// matches is g.Match, which panics at some groups: then the file may be meant.
func matches(g glob.Glob, name string) (match bool) {
	defer func() {
		if recover() != nil {
			match = true
		}
	}()
	return g.Match(name)
}

// inItsChart is the name of a file in the dependency that it belongs to.
func inItsChart(rel string) string {
	for {
		dependency, found := strings.CutPrefix(rel, "charts/")
		if !found {
			return rel
		}
		_, below, found := strings.Cut(dependency, "/")
		if !found {
			return rel // an archive
		}
		rel = below
	}
}
