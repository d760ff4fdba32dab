package compare

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/source"
)

// Folders returns the folders at and below dir that can be rendered without being
// told how: kustomizations but components, and charts but libraries and those inside
// of other charts. Folders of plain manifests are not among them, since any folder
// with YAML in it would be one.
func Folders(tree *source.Tree, dir string) ([]string, error) {
	view := tree.View()
	var found []string
	err := fs.WalkDir(view, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		is, err := plugin.Recognise(&plugin.Request{Tree: tree, Path: name})
		switch {
		case err != nil: // the render says what is wrong
			found = append(found, name)
		case is.Renderer == plugin.RendererPlain:
		case is.Renderer != plugin.RendererKustomize:
			if !says(view, path.Join(name, "Chart.yaml"), "type", "library") {
				found = append(found, name)
			}
			return fs.SkipDir
		case !isComponent(view, name):
			found = append(found, name)
		}
		return nil
	})
	return found, err
}

func isComponent(view fs.FS, dir string) bool {
	for _, file := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if says(view, path.Join(dir, file), "kind", "Component") {
			return true
		}
	}
	return false
}

// says reports whether a field of a YAML file has that text.
func says(view fs.FS, file, field, want string) bool {
	data, err := fs.ReadFile(view, file)
	if err != nil {
		return false
	}
	value, err := yamldoc.Decode(file, data)
	return err == nil && object.Text(object.Field(value, field)) == want
}

// mayBringApplications reports whether a render of the job can hold Applications: its
// files say the group of their kind, or lead to files elsewhere.
func (j *Job) mayBringApplications() bool {
	return j != nil && slices.ContainsFunc(j.Parts, func(p Part) bool {
		found := errors.New("found")
		view := p.Request.Tree.View()
		err := fs.WalkDir(view, p.Request.Path, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil //nolint:nilerr // the render says what is wrong with a file
			}
			data, err := fs.ReadFile(view, name)
			outside := strings.HasPrefix(strings.ToLower(path.Base(name)), "kustomization") && bytes.Contains(data, []byte("../"))
			if err == nil && (outside || bytes.Contains(data, []byte("argoproj.io"))) {
				return found
			}
			return nil
		})
		return errors.Is(err, found)
	})
}
