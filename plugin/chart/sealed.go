package chart

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"hallmark.dev/hallmark/plugin/source"
)

// Encrypted files in a chart.
//
// Helm takes in every file of the chart's folder, and a chart often holds the
// secrets of all environments while a renderer has the key of one. So what makes
// the chart (its metadata, values, templates, CRDs and dependencies) is decrypted
// when it is loaded, and other files, which only a template can reach, through
// .Files, stay sealed until a render that can reach them.
//
// Helm hands all of them to the templates at once, so nothing tells which one a
// template reads. One that cannot be decrypted is therefore rendered with twice, as
// it is stored and empty: if the outcome is the same, nothing depends on it.

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
	for {
		dependency, found := strings.CutPrefix(rel, "charts/")
		if !found {
			break
		}
		if _, rel, found = strings.Cut(dependency, "/"); !found {
			return false // an archive
		}
	}
	switch first, _, below := strings.Cut(rel, "/"); {
	case below:
		return first != "templates" && first != "crds"
	default:
		return !slices.Contains([]string{"Chart.yaml", "Chart.lock", "values.yaml", "values.schema.json", "requirements.yaml", "requirements.lock"}, rel)
	}
}

// renderSealed is render for a chart that may hold sealed files.
func (c *Chart) renderSealed(ctx context.Context, engine Engine, o Options) (*Output, error) {
	if !slices.ContainsFunc(c.files, func(f file) bool { return f.sealed }) || !c.reachesFiles(o) {
		return c.render(ctx, engine, o)
	}
	opened, emptied := *c, *c
	opened.files, emptied.files = slices.Clone(c.files), slices.Clone(c.files)
	var failures []error
	for i, f := range c.files {
		if !f.sealed {
			continue
		}
		plain, err := o.Unseal(path.Join(c.dir, f.name))
		if err != nil {
			failures = append(failures, err)
			emptied.files[i].data = nil
			continue
		}
		opened.files[i].data, emptied.files[i].data = plain, plain
	}
	out, err := opened.render(ctx, engine, o)
	if len(failures) == 0 {
		return out, err
	}
	other, otherErr := emptied.render(ctx, engine, o)
	if sameOutcome(out, err, other, otherErr) {
		return out, err
	}
	return nil, errors.Join(failures...)
}

func sameOutcome(a *Output, errA error, b *Output, errB error) bool {
	if errA != nil || errB != nil {
		return errA != nil && errB != nil && errA.Error() == errB.Error()
	}
	return bytes.Equal(a.Stream(), b.Stream())
}

// reachesFiles reports whether anything that can be executed may speak of .Files.
// An archive is not looked into: it may.
func (c *Chart) reachesFiles(o Options) bool {
	word := []byte("Files")
	return slices.ContainsFunc(c.files, func(f file) bool {
		return isArchive(f.name) || !isExtra(f.name) && bytes.Contains(f.data, word)
	}) || slices.ContainsFunc(o.Values, func(d Document) bool {
		return bytes.Contains(d.Data, word)
	}) || slices.ContainsFunc(slices.Concat(o.Set, o.SetString, o.SetFile), func(a Assignment) bool {
		return strings.Contains(a.Value, "Files") || slices.Contains(o.SetFile, a)
	})
}
