package chart

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	texttemplate "text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/bmatcuk/doublestar/v4"

	"hallmark.dev/hallmark/internal/diag"
)

// ResolveValueFiles finds the value files that patterns name, as Argo CD 3 does
// (reposerver/repository getResolvedValueFiles): a path is relative to the
// chart's folder dir, or to the root of fsys if it starts with a slash; a
// pattern with any of *, ? and [ is a glob, also with **, and gives its matches
// folder by folder, each in lexical order. A file that is named more than once counts where it stands
// first, and a file that is named as such counts there, not where a glob finds
// it. Missing files are an error unless ignoreMissing is set.
func ResolveValueFiles(fsys fs.FS, dir string, patterns []string, ignoreMissing bool) ([]string, error) {
	explicit := map[string]bool{}
	for _, p := range patterns {
		if name, err := ResolvePath(dir, p); err == nil && !isGlob(name) {
			explicit[name] = true
		}
	}
	var files []string
	add := func(name string) {
		if !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	for _, p := range patterns {
		name, err := ResolvePath(dir, p)
		if err != nil {
			return nil, fmt.Errorf("value file %q: %w", p, err)
		}
		if !isGlob(name) {
			_, err := fs.Stat(fsys, name)
			switch {
			case errors.Is(err, fs.ErrNotExist) && ignoreMissing:
				continue
			case errors.Is(err, fs.ErrNotExist):
				return nil, diag.WithHint(&diag.Error{File: name, Msg: fmt.Sprintf("value file %q does not exist", p)},
					"paths are relative to the chart's folder, or to the repository's root with a leading slash; ignore-missing-value-files skips absent ones")
			case err != nil:
				return nil, fmt.Errorf("value file %q: %w", p, err)
			}
			add(name)
			continue
		}
		matches, err := doublestar.Glob(fsys, name, doublestar.WithFilesOnly())
		if err != nil {
			return nil, fmt.Errorf("value file %q: %w", p, err)
		}
		if len(matches) == 0 && !ignoreMissing {
			return nil, fmt.Errorf("value file %q: no file matches", p)
		}
		for _, m := range matches {
			if !explicit[m] {
				add(m)
			}
		}
	}
	return files, nil
}

// ResolvePath turns a path that a user wrote for the app in dir into a path from
// the root of the tree, and refuses URLs and paths that leave the root.
func ResolvePath(dir, p string) (string, error) {
	if u, err := url.Parse(p); err == nil && u.Scheme != "" {
		return "", diag.WithHint(fmt.Errorf("the URL scheme %q is not allowed", u.Scheme),
			"hallmark reads files of the repository only; commit the file or use the values parameter")
	}
	name := path.Join("/", p)
	if !strings.HasPrefix(p, "/") {
		// path.Join("/", "..") would hide an escape, so it is looked for first.
		joined := path.Join(dir, p)
		if joined == ".." || strings.HasPrefix(joined, "../") {
			return "", errors.New("the path leaves the repository root")
		}
		name = path.Join("/", joined)
	} else if clean := path.Clean(strings.TrimLeft(p, "/")); clean == ".." || strings.HasPrefix(clean, "../") {
		return "", errors.New("the path leaves the repository root")
	}
	if name == "/" {
		return "", errors.New("the path is the repository root, not a file")
	}
	return strings.TrimPrefix(name, "/"), nil
}

func isGlob(name string) bool { return strings.ContainsAny(name, "*?[") }

// assign applies the --set, --set-string and --set-file assignments to base in
// the order in which Helm applies the three.
func assign(base map[string]any, o Options,
	set, setString func(string, map[string]any) error,
	setFile func(string, map[string]any, func([]rune) (any, error)) error,
) error {
	for _, a := range o.Set {
		if err := set(a.Name+"="+escapeCommas(a.Value), base); err != nil {
			return assignError("helm-parameters", a.Name)
		}
	}
	for _, a := range o.SetString {
		if err := setString(a.Name+"="+escapeCommas(a.Value), base); err != nil {
			return assignError("helm-string-parameters", a.Name)
		}
	}
	for _, a := range o.SetFile {
		var unread error
		read := func(name []rune) (any, error) {
			data, err := o.ReadFile(string(name))
			unread = err
			return string(data), err
		}
		if err := setFile(a.Name+"="+escapeCommas(a.Value), base, read); err != nil {
			if unread != nil {
				return fmt.Errorf("helm-file-parameters[%s]: %w", a.Name, unread)
			}
			return assignError("helm-file-parameters", a.Name)
		}
	}
	return nil
}

// assignError names the parameter; the message of Helm's parser may quote the
// value, which may be a secret.
func assignError(parameter, name string) error {
	return diag.WithHint(fmt.Errorf("%s[%s]: the assignment is not in the syntax of helm's --set, or conflicts with one before it", parameter, name),
		"assignments apply in the order of their names; name and value follow `helm template --set name=value`; give complex or literal values in the values parameter")
}

// escapeCommas is Argo CD's cleanSetParameters: a comma in a parameter's value
// is a character, not a separator, unless the value is a list in braces.
func escapeCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var b strings.Builder
	var previous rune
	for _, r := range value {
		if r == ',' && previous != '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		previous = r
	}
	return b.String()
}

// mergeMaps is what Helm 3 does with several values files; it is not exported
// there. The values of b win, maps are merged.
func mergeMaps(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for k, v := range b {
		if inner, ok := v.(map[string]any); ok {
			if outer, ok := out[k].(map[string]any); ok {
				out[k] = mergeMaps(outer, inner)
				continue
			}
		}
		out[k] = v
	}
	return out
}

// ReleaseName executes a --name-template: a Go template without data, with the
// functions that Helm gives it. A name that changes is an error, because all
// objects of the release would change with it.
func ReleaseName(nameTemplate string) (string, error) {
	execute := func() (string, error) {
		t, err := texttemplate.New("name-template").Funcs(sprig.TxtFuncMap()).Parse(nameTemplate)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		err = t.Execute(&b, nil)
		return b.String(), err
	}
	name, err := execute()
	if err != nil {
		return "", fmt.Errorf("name template %q: %w", nameTemplate, tidy(err))
	}
	again, err := execute()
	if err != nil || again != name {
		return "", fmt.Errorf("name template %q gives another name at each render", nameTemplate)
	}
	return name, nil
}
