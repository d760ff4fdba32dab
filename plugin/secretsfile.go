package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/chart"
)

// secretsFile takes the forms of the plugin helm-secrets off the path of a file
// (its scripts/commands/downloader.sh), because a file is decrypted here by what it
// holds:
//
//	secrets://secrets.yaml
//	secrets://?secrets.yaml                      it may be absent
//	secrets+age-import:///keys/key.txt?secrets.yaml
//	secrets+gpg-import:///keys/key.asc?secrets.yaml
//
// and the two forms that import a key from a Kubernetes Secret. The key that they
// name does not count: keys are the platform team's to mount. A backend other than
// sops, in front of the path and an exclamation mark, is refused, and so is text
// in place of a file.
func secretsFile(raw string) (name string, mayBeAbsent bool, err error) {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found || !strings.HasPrefix(scheme, "secret") && scheme != "sops" {
		return raw, false, nil
	}
	rest, mayBeAbsent = strings.CutPrefix(rest, "?")
	if backend, path, named := strings.Cut(rest, "!"); named {
		if backend != "sops" {
			return "", false, fmt.Errorf("%q: the backend %q of helm-secrets is not known here, only sops", raw, backend)
		}
		rest = path
	}
	switch scheme {
	case "secrets", "secret", "sops":
		return rest, mayBeAbsent, nil
	case "secrets+age-import", "secrets+gpg-import", "secrets+age-import-kubernetes", "secrets+gpg-import-kubernetes":
		_, name, named := strings.Cut(rest, "?")
		if !named || name == "" {
			return "", false, fmt.Errorf("%q: want %s://<key>?<file>", raw, scheme)
		}
		return name, mayBeAbsent, nil
	}
	return "", false, diag.WithHint(fmt.Errorf("%q: %s:// is not known here", raw, scheme),
		"name an encrypted file: secrets://<file>, or just its path")
}

// file expands one path of the parameter: variables, and the forms of helm-secrets.
func (in *Input) file(raw string) (name string, mayBeAbsent bool, err error) {
	name, mayBeAbsent, err = secretsFile(raw)
	if err != nil {
		return "", false, err
	}
	if other, is, err := in.otherSource(name); is || err != nil {
		return other, mayBeAbsent, err
	}
	if err := refuseOtherSource(name, in.Env); err != nil {
		return "", false, err
	}
	return expand(name, in.Env), mayBeAbsent, nil
}

// otherSource is the path in the tree of $name/path, where the request has the source
// of that name. It is settled before variables are, as in Argo CD.
func (in *Input) otherSource(raw string) (name string, is bool, err error) {
	ref, rest, found := strings.Cut(raw, "/")
	if !found || !strings.HasPrefix(ref, "$") || !slices.Contains(in.Refs, ref[1:]) {
		return "", false, nil
	}
	if rest = path.Clean(strings.TrimLeft(expand(rest, in.Env), "/")); !fs.ValidPath(rest) {
		return "", false, fmt.Errorf("%q leaves the repository of the source %q", raw, ref[1:])
	}
	return path.Join("/", ref, rest), true, nil
}

func (in *Input) absent(name string) bool {
	_, err := fs.Stat(in.FS, name)
	return errors.Is(err, fs.ErrNotExist)
}

// valueFiles are the paths of the value files.
func (in *Input) valueFiles() ([]string, error) {
	var patterns []string
	for _, raw := range in.Parameters.ValueFiles {
		pattern, mayBeAbsent, err := in.file(raw)
		if err != nil {
			return nil, err
		}
		if mayBeAbsent {
			if name, err := chart.ResolvePath(in.Dir, pattern); err == nil && in.absent(name) {
				continue
			}
		}
		patterns = append(patterns, pattern)
	}
	return chart.ResolveValueFiles(in.FS, in.Dir, patterns, in.Parameters.IgnoreMissingValueFiles)
}
