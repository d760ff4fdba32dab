package application

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"strings"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// maxOverride bounds a file that overrides a source.
const maxOverride = 1 << 20

// Overridden returns the source with what the repository says in place of the manifest:
// `.argocd-source.yaml` in the application's folder dir of fsys is merged into it as a
// JSON merge patch (RFC 7396: mappings are merged, null removes, lists are replaced),
// and then `.argocd-source-<app>.yaml`, where app is the name by which Argo CD knows the
// application: "<namespace>_<name>" outside its own namespace. Repository, path, chart
// and revision stay as they are. Argo CD does the same before it decides what renders
// the source. Files that are not there say nothing.
//
// The error lists the faults of the files, or of the source that results.
func (s Source) Overridden(fsys fs.FS, dir, app string) (Source, error) {
	names := []string{".argocd-source.yaml"}
	if app != "" && !strings.ContainsAny(app, `/\`) {
		names = append(names, ".argocd-source-"+app+".yaml")
	}
	merged, last := s.value, ""
	for _, name := range names {
		file := path.Join(".", dir, name)
		patch, err := readOverride(fsys, file)
		if err != nil {
			return s, err
		}
		if patch != nil {
			merged, last = mergePatch(merged, patch), file
		}
	}
	if last == "" {
		return s, nil
	}
	for _, kept := range []string{"chart", "path", "repoURL", "targetRevision"} {
		delete(merged, kept)
		if v, found := s.value[kept]; found {
			merged[kept] = v
		}
	}
	out := Source{value: merged}
	f := &faults{file: last, about: "with this, the source of the application: "}
	out.read(f, nil, true)
	if err := f.err(); err != nil {
		return s, err
	}
	return out, nil
}

// readOverride returns the patch in a file, nil where there is none.
func readOverride(fsys fs.FS, file string) (map[string]any, error) {
	info, err := fs.Stat(fsys, file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := readFile(fsys, file, maxOverride)
	if err != nil {
		return nil, err
	}
	value, err := yamldoc.Limits{Bytes: maxOverride, Depth: 64}.Decode(file, data)
	if err != nil {
		return nil, err
	}
	f := &faults{file: file, line: 1, text: data, base: 1}
	sourceShape.check(f, nil, value)
	return object.Mapping(value), f.err()
}

// mergePatch applies a JSON merge patch. It changes neither.
func mergePatch(target, patch map[string]any) map[string]any {
	out := maps.Clone(target)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			out[key] = mergePatch(object.Mapping(out[key]), value)
		default:
			out[key] = value
		}
	}
	return out
}

var errTooLarge = errors.New("the file is too large")

// readFile reads a file of at most so many bytes.
func readFile(fsys fs.FS, name string, most int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s: %w: %d bytes at most", name, errTooLarge, most)
	}
	return data, err
}
