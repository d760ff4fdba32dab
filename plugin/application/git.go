package application

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/fields"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// maxParams bounds a file of parameters, and maxEntries the files and folders of a
// repository.
const (
	maxParams  = 4 << 20
	maxEntries = 1_000_000
)

// A tree is what a repository holds, in the order of a walk.
type tree struct {
	fsys           fs.FS
	folders, files []string
}

// repository returns the tree of a repository at a revision.
func (s *set) repository(url, revision string) (*tree, error) {
	key := [2]string{url, revision}
	if t, known := s.trees[key]; known {
		return t, nil
	}
	var fsys fs.FS
	here := false
	if s.opt.Here != nil {
		fsys, here = s.opt.Here(url, revision)
	}
	if !here {
		return nil, diag.WithHint(fmt.Errorf("the repository %s at revision %q is not at hand", redact.URL(url), revision),
			"say where a checkout of it is")
	}
	t := &tree{fsys: fsys}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir():
			t.files = append(t.files, name)
		case name != ".":
			t.folders = append(t.folders, name)
		}
		if len(t.files)+len(t.folders) > maxEntries {
			return fmt.Errorf("more than %d files and folders", maxEntries)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.trees[key] = t
	return t, nil
}

// git returns a set for each folder, or for each object in the files, that matches.
func (s *set) git(generator map[string]any) (sets []map[string]any, err error) {
	directories, files := object.Items(generator["directories"]), object.Items(generator["files"])
	if len(directories)+len(files) == 0 {
		return nil, errors.New("neither directories nor files")
	}
	t, err := s.repository(object.Text(generator["repoURL"]), object.Text(generator["revision"]))
	if err != nil {
		return nil, err
	}
	prefix, values := object.Text(generator["pathParamPrefix"]), textTable(generator["values"])
	if len(directories) > 0 {
		for _, folder := range t.matchFolders(directories) {
			params := map[string]any{}
			s.pathParams(params, prefix, folder, "")
			if err := s.values(params, values); err != nil {
				return nil, err
			}
			sets = append(sets, params)
		}
		return sets, nil
	}
	names, err := t.matchFiles(files, s.opt.NewGitFileGlobbing)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		objects, err := readParams(t.fsys, name)
		if err != nil {
			return nil, err
		}
		for _, params := range objects {
			if !s.engine.goTemplate {
				flat := map[string]any{}
				for key, value := range flatten(params) {
					flat[key] = value
				}
				params = flat
			} else if params == nil {
				params = map[string]any{}
			}
			s.pathParams(params, prefix, path.Dir(name), path.Base(name))
			if err := s.values(params, values); err != nil {
				return nil, err
			}
			sets = append(sets, params)
		}
		if len(sets) > maxSets {
			return nil, limitError("the files give more than %d sets of parameters", maxSets)
		}
	}
	return sets, nil
}

// readParams returns the objects of a file: one, or those of a list.
func readParams(fsys fs.FS, name string) ([]map[string]any, error) {
	data, err := readFile(fsys, name, maxParams)
	if err != nil {
		return nil, err
	}
	value, err := yamldoc.Limits{Bytes: maxParams, Depth: 64}.Decode(name, data)
	if err != nil {
		return nil, err
	}
	if one, is := jsonValue(value).(map[string]any); is || value == nil {
		return []map[string]any{one}, nil
	}
	objects, ok := mappings(value)
	if !ok {
		return nil, &diag.Error{File: name, Line: 1, Msg: fmt.Sprintf("got %s, want a mapping or a list of mappings", fields.KindOf(value))}
	}
	return objects, nil
}

// pathParams adds what a set says of its folder, and of its file where it is of one.
func (s *set) pathParams(params map[string]any, prefix, folder, file string) {
	segments := strings.Split(folder, "/")
	if s.engine.goTemplate {
		about := map[string]any{
			"path": folder, "basename": path.Base(folder), "basenameNormalized": normalize(path.Base(folder)),
			"segments": segments,
		}
		if file != "" {
			about["filename"], about["filenameNormalized"] = file, normalize(file)
		}
		if prefix != "" {
			params[prefix] = map[string]any{"path": about}
		} else {
			params["path"] = about
		}
		return
	}
	name := "path"
	if prefix != "" {
		name = prefix + ".path"
	}
	params[name], params[name+".basename"] = folder, path.Base(folder)
	params[name+".basenameNormalized"] = normalize(path.Base(folder))
	if file != "" {
		params[name+".filename"], params[name+".filenameNormalized"] = file, normalize(file)
	}
	for i, segment := range segments {
		if segment != "" {
			params[name+"["+strconv.Itoa(i)+"]"] = segment
		}
	}
}

// values adds the generator's own values, which may refer to the other parameters.
func (s *set) values(params map[string]any, values map[string]string) error {
	filled := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value, err := s.engine.replace(values[key], params)
		if err != nil {
			return fmt.Errorf("values.%s: %w", key, err)
		}
		filled[key] = value
	}
	if s.engine.goTemplate && len(filled) > 0 {
		params["values"] = filled
		return nil
	}
	for key, value := range filled {
		params["values."+key] = value
	}
	return nil
}

// matchFolders returns the folders that a pattern takes and none excludes, without
// hidden ones and what is below them. A pattern is one of path.Match; one that is
// malformed matches nothing.
func (t *tree) matchFolders(items []any) (out []string) {
	for _, folder := range t.folders {
		if strings.HasPrefix(folder, ".") || strings.Contains(folder, "/.") {
			continue
		}
		included, excluded := false, false
		for _, item := range items {
			if match, err := path.Match(object.Text(object.Field(item, "path")), folder); err != nil || !match {
				continue
			}
			if object.Field(item, "exclude") == true {
				excluded = true
			} else {
				included = true
			}
		}
		if included && !excluded {
			out = append(out, folder)
		}
	}
	return out
}

// matchFiles returns the files that a pattern takes and none excludes, sorted.
func (t *tree) matchFiles(items []any, globs bool) ([]string, error) {
	taken := map[string]bool{}
	for _, excludes := range []bool{false, true} {
		for _, item := range items {
			if (object.Field(item, "exclude") == true) != excludes {
				continue
			}
			match, err := pathspec(object.Text(object.Field(item, "path")))
			if globs {
				match, err = glob(object.Text(object.Field(item, "path")))
			}
			if err != nil {
				return nil, err
			}
			for _, name := range t.files {
				if !match(name) {
					continue
				}
				if taken[name] = true; excludes {
					delete(taken, name)
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(taken)), nil
}

// glob is a pattern of Argo CD's new globbing.
func glob(pattern string) (func(string) bool, error) {
	pattern = strings.TrimPrefix(path.Clean("/"+pattern), "/")
	if !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("files: %q is no glob", pattern)
	}
	return func(name string) bool { return doublestar.MatchUnvalidated(pattern, name) }, nil
}

// pathspec is a pattern of git ls-files, see "pathspec" in gitglossary: the name of a
// file, a folder with all below it, or a glob whose * and ? match slashes too.
func pathspec(pattern string) (func(string) bool, error) {
	if strings.HasPrefix(pattern, ":") {
		return nil, fmt.Errorf("files: the pathspec %q has magic, which hallmark does not read", pattern)
	}
	clean := path.Clean(pattern)
	if clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(clean, "/") {
		return nil, fmt.Errorf("files: %q is outside of the repository", pattern)
	}
	if clean == "." {
		return func(string) bool { return true }, nil
	}
	onlyBelow := strings.HasSuffix(pattern, "/") || strings.HasSuffix(pattern, "/.")
	matcher := wildcard(clean)
	return func(name string) bool {
		if name == clean {
			return !onlyBelow
		}
		return strings.HasPrefix(name, clean+"/") || !onlyBelow && matcher != nil && matcher.MatchString(name)
	}, nil
}

// wildcard compiles a glob of git's wildmatch without WM_PATHNAME; nil for a text
// without wildcards and for a glob that is malformed, which matches nothing.
func wildcard(glob string) *regexp.Regexp {
	if !strings.ContainsAny(glob, `*?[\`) {
		return nil
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	runes := []rune(glob)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteByte('.')
		case '\\':
			if i++; i == len(runes) {
				return nil
			}
			b.WriteString(regexp.QuoteMeta(string(runes[i])))
		case '[':
			class, end := bracket(runes, i)
			if end < 0 {
				return nil
			}
			b.WriteString(class)
			i = end
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil
	}
	return re
}

// bracket translates the class that begins at i and returns the index of its end, or
// -1. A ] at the start is one of its characters, and a range whose end comes before its
// start has none but its start.
func bracket(runes []rune, i int) (class string, end int) {
	var b strings.Builder
	b.WriteByte('[')
	if i++; i < len(runes) && (runes[i] == '!' || runes[i] == '^') {
		b.WriteByte('^')
		i++
	}
	var previous rune // where a range may begin
	for first := true; i < len(runes); i, first = i+1, false {
		next := func() bool { i++; return i < len(runes) }
		switch c := runes[i]; {
		case c == ']' && !first:
			return b.String() + "]", i
		case c == '-' && previous != 0 && i+1 < len(runes) && runes[i+1] != ']':
			next()
			if runes[i] == '\\' && !next() {
				return "", -1
			}
			if previous <= runes[i] {
				fmt.Fprintf(&b, `\x{%x}-\x{%x}`, previous, runes[i])
			}
			previous = 0
		case c == '[' && i+1 < len(runes) && runes[i+1] == ':':
			name, _, closed := strings.Cut(string(runes[i:]), ":]")
			if !closed {
				return "", -1
			}
			b.WriteString(name + ":]")
			i += len([]rune(name)) + 1
			previous = 0
		default:
			if c == '\\' && !next() {
				return "", -1
			}
			previous = runes[i]
			fmt.Fprintf(&b, `\x{%x}`, previous)
		}
	}
	return "", -1
}
