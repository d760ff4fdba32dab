package decrypt

import (
	"bytes"
	encoding "encoding/json"
	"errors"
	"path"

	"hallmark.dev/hallmark/internal/diag"

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

// lookAt returns the encrypted file that data looks like, or nil, without parsing
// it.
func lookAt(name string, data []byte) *file {
	f, found := formatOf(name, data)
	if !found {
		return nil
	}
	return &file{name: name, format: f}
}

// recognise returns the encrypted file that data is, or nil.
func recognise(name string, data []byte) *file {
	file := lookAt(name, data)
	if file == nil {
		return nil
	}
	switch file.refused = tooMuch(file.format, name, data); {
	case errors.Is(file.refused, errNotEncrypted):
		return nil
	case file.refused != nil:
		return file
	}
	err := guarded(func() (err error) {
		file.tree, err = file.format.store().LoadEncryptedFile(data)
		return err
	})
	switch {
	case err == nil:
		file.refused = tooDeep(name, file.tree.Branches)
		return file
	case errors.Is(err, sops.MetadataNotFound):
		return nil
	}
	// The file cannot be read, which its reader words better; or its metadata
	// cannot; or it has settings of its own under that name.
	var branches sops.TreeBranches
	if guarded(func() (err error) {
		branches, err = file.format.store().LoadPlainFile(data)
		return err
	}) != nil || !hasMetadata(branches) {
		return nil
	}
	file.refused = diag.WithHint(&diag.Error{File: name, Msg: "the sops metadata cannot be read"}, hintDamaged)
	return file
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
// valid in two. The second result is false where there is none.
func formatOf(name string, data []byte) (format, bool) {
	ext := path.Ext(name) // for sops a.YAML is no YAML
	isYAML := ext == ".yaml" || ext == ".yml"
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case len(text) == 0:
		return "", false
	case text[0] == '{' && !isYAML:
		if !hasMetadataField(text) {
			return "", false
		}
		if ext != ".json" && isEnvelope(text) {
			return formatBinary, true
		}
		return formatJSON, true
	case text[0] == '{', hasLine(text, "sops:"), hasLine(text, `"sops":`), hasLine(text, "'sops':"):
		return formatYAML, hasMetadataField(text)
	case hasLine(text, "sops_lastmodified="):
		return formatDotenv, hasLine(text, "sops_mac=") || hasLine(text, "sops_version=")
	case hasLine(text, "[sops]"):
		return formatINI, true
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

// hasMetadataField looks for a field that sops always writes in its metadata.
func hasMetadataField(text []byte) bool {
	const field = "lastmodified"
	for {
		i := bytes.Index(text, []byte(field))
		if i < 0 {
			return false
		}
		text = text[i+len(field):]
		if bytes.HasPrefix(bytes.TrimLeft(text[:min(len(text), 8)], "\"' \t"), []byte(":")) {
			return true
		}
	}
}
