package decrypt

import (
	"bytes"
	encoding "encoding/json"
	"errors"
	"fmt"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/yamldoc"

	"github.com/getsops/sops/v3"
)

// What a stranger can make of a file.
//
// Whoever can write to a repository can put the metadata of sops under anything, and
// most of what stands in a file costs sops more than its length: keys of one mapping
// are compared each with each, values are printed with an indentation for each level,
// aliases are expanded, names of metadata are followed by recursion. None of it can be
// interrupted. So these bounds come before sops sees a file. Honest files are far from
// them: a thousand values are a large one.

const (
	maxSize  = 16 << 20 // bytes of a file
	maxMarks = 250_000  // signs that begin or separate values; a sealed value has five
	maxLines = 10_000   // lines of a format whose reader compares each with each
	// maxMetadataLine bounds a line of metadata in dotenv and ini. The longest that
	// sops writes is an encrypted data key.
	maxMetadataLine = 64 << 10
	maxNesting      = 64 // levels
	// maxPrinted bounds the sum of the levels of all values.
	maxPrinted = 2_000_000
)

const hintBounds = "split the file"

// errNotEncrypted says that the text is no file of the format.
var errNotEncrypted = errors.New("not encrypted")

// tooMuch returns why the text is not given to sops, or nil.
func tooMuch(f format, name string, data []byte) error {
	fault := func(format string, args ...any) error {
		return diag.WithHint(&diag.Error{File: name, Msg: "the encrypted file " + fmt.Sprintf(format, args...)}, hintBounds)
	}
	if len(data) > maxSize {
		return fault("has %d bytes, more than %d", len(data), maxSize)
	}
	marks := 0
	for _, sign := range []string{",", "[", "{", "\n"} {
		marks += bytes.Count(data, []byte(sign))
	}
	if marks > maxMarks {
		return fault("has more values than are decrypted in one file")
	}
	switch f {
	case formatJSON, formatBinary:
		// Valid bounds how deep values stand in each other; the reader of sops
		// does not. What is not valid its reader refuses.
		if !encoding.Valid(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
			return errNotEncrypted
		}
	case formatDotenv, formatINI:
		lines := 0
		for line := range bytes.Lines(data) {
			metadata := bytes.HasPrefix(line, []byte("sops_")) || bytes.Contains(line, []byte("__map_")) || bytes.Contains(line, []byte("__list_"))
			if metadata && len(line) > maxMetadataLine {
				return fault("has a line of metadata of more than %d bytes", maxMetadataLine)
			}
			if metadata || f == formatINI {
				lines++
			}
		}
		if lines > maxLines {
			return fault("has more than %d lines", maxLines)
		}
	case formatYAML:
		if err := yamldoc.CheckAliases(name, data); err != nil {
			return err
		}
		if yamldoc.SuspectMappings(data) {
			return yamldoc.CheckMappings(name, data)
		}
	}
	return nil
}

// tooDeep returns why a tree is not decrypted, or nil.
func tooDeep(name string, branches sops.TreeBranches) error {
	printed := 0
	var deep func(v any, level int) bool
	deep = func(v any, level int) bool {
		if printed += level; level > maxNesting || printed > maxPrinted {
			return true
		}
		switch v := v.(type) {
		case sops.TreeBranch:
			for _, item := range v {
				if deep(item.Value, level+1) {
					return true
				}
			}
		case []any:
			for _, e := range v {
				if deep(e, level+1) {
					return true
				}
			}
		}
		return false
	}
	for _, branch := range branches {
		if deep(branch, 0) {
			return diag.WithHint(&diag.Error{File: name, Msg: fmt.Sprintf("in the encrypted file values stand in each other more than %d deep, or too many do", maxNesting)}, hintBounds)
		}
	}
	return nil
}
