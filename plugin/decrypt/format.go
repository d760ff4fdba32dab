package decrypt

import (
	"bytes"
	encoding "encoding/json"
	"errors"
	"path"
	"slices"

	"hallmark.dev/hallmark/internal/yamldoc"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/stores/dotenv"
	"github.com/getsops/sops/v3/stores/ini"
	"github.com/getsops/sops/v3/stores/json"
	"github.com/getsops/sops/v3/stores/yaml"
)

// Version is that of sops. A test holds it against go.mod.
const Version = "v3.13.3"

// format is one of the formats of sops.
type format string

const (
	formatYAML   format = "yaml"
	formatJSON   format = "json"
	formatBinary format = "binary"
	formatDotenv format = "dotenv"
	formatINI    format = "ini"
)

func (f format) store() sops.Store {
	c := config.NewStoresConfig()
	switch f {
	case formatJSON:
		return json.NewStore(&c.JSON)
	case formatBinary:
		return json.NewBinaryStore(&c.JSONBinary)
	case formatDotenv:
		return dotenv.NewStore(&c.Dotenv)
	case formatINI:
		return ini.NewStore(&c.INI)
	}
	return yaml.NewStore(&c.YAML)
}

// mayBeEncrypted is a look at the text that hardly any other file passes: two
// words that every version of sops writes.
func mayBeEncrypted(data []byte) bool {
	return bytes.Contains(data, []byte("sops")) && bytes.Contains(data, []byte("lastmodified"))
}

// recognise returns the encrypted file that data is, or nil.
func recognise(name string, data []byte) *file {
	f, found := formatOf(name, data)
	if !found {
		return nil
	}
	file := &file{name: name, format: f}
	err := guarded(func() (err error) {
		file.tree, err = f.store().LoadEncryptedFile(data)
		return err
	})
	switch {
	case err == nil:
		for _, branch := range file.tree.Branches {
			file.deep = file.deep || deeper(branch, maxNesting)
		}
		return file
	case errors.Is(err, sops.MetadataNotFound):
		return nil
	}
	// The file cannot be read, which its reader words better; or its metadata
	// cannot; or it has settings of its own under that name.
	var branches sops.TreeBranches
	if guarded(func() (err error) {
		branches, err = f.store().LoadPlainFile(data)
		return err
	}) != nil || !hasMetadata(branches) {
		return nil
	}
	file.damaged = true
	return file
}

// maxNesting is how deep values may stand in each other. What sops prints grows with
// the square of it.
const maxNesting = 64

func deeper(v any, than int) bool {
	switch v := v.(type) {
	case sops.TreeBranch:
		return than == 0 || slices.ContainsFunc(v, func(item sops.TreeItem) bool { return deeper(item.Value, than-1) })
	case []any:
		return than == 0 || slices.ContainsFunc(v, func(e any) bool { return deeper(e, than-1) })
	}
	return false
}

// hasMetadata looks for what sops always writes.
func hasMetadata(branches sops.TreeBranches) bool {
	for _, branch := range branches[:min(len(branches), 1)] {
		keys := map[any]bool{}
		for _, item := range branch {
			keys[item.Key] = true // dotenv
			if inner, nested := item.Value.(sops.TreeBranch); nested && item.Key == "sops" {
				for _, item := range inner {
					if key, text := item.Key.(string); text {
						keys["sops_"+key] = true
					}
				}
			}
		}
		if keys["sops_lastmodified"] && (keys["sops_mac"] || keys["sops_version"]) {
			return true
		}
	}
	return false
}

// formatOf tells the format by the metadata, and by the name where the text is
// valid in two. The third result is false where there is none.
func formatOf(name string, data []byte) (format, bool) {
	ext := path.Ext(name) // for sops a.YAML is no YAML
	isYAML := ext == ".yaml" || ext == ".yml"
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case len(text) == 0:
		return "", false
	case text[0] == '{' && !isYAML:
		// Valid bounds how deep values stand in each other; the reader of sops
		// does not.
		if !encoding.Valid(text) {
			return "", false
		}
		if ext != ".json" && isEnvelope(text) {
			return formatBinary, true
		}
		return formatJSON, true
	case text[0] == '{', hasLine(text, "sops:"), hasLine(text, `"sops":`), hasLine(text, "'sops':"):
		// What aliases expand to is bounded here; in the reader of sops it is not.
		return formatYAML, yamldoc.CheckAliases(name, data) == nil
	case hasLine(text, "sops_lastmodified="):
		return formatDotenv, !hasLongLine(text)
	case hasLine(text, "[sops]"):
		return formatINI, !hasLongLine(text)
	}
	return "", false
}

// isEnvelope reports whether text is what sops makes of a binary file.
func isEnvelope(text []byte) bool {
	var top map[string]encoding.RawMessage
	if encoding.Unmarshal(text, &top) != nil {
		return false
	}
	_, data := top["data"]
	return data && len(top) == 2 && top["data"][0] == '"'
}

func hasLine(text []byte, start string) bool {
	return bytes.HasPrefix(text, []byte(start)) || bytes.Contains(text, []byte("\n"+start))
}

// maxMetadataLine bounds a line of metadata in dotenv and ini, where the name of
// a key is a path that sops follows by recursion. The longest line that sops
// writes is an encrypted data key.
const maxMetadataLine = 64 << 10

func hasLongLine(text []byte) bool {
	for line := range bytes.Lines(text) {
		if len(line) > maxMetadataLine && (bytes.HasPrefix(line, []byte("sops_")) || bytes.Contains(line, []byte("__map_")) || bytes.Contains(line, []byte("__list_"))) {
			return true
		}
	}
	return false
}
