package yamldoc

import (
	"bytes"
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"

	"hallmark.dev/hallmark/internal/diag"
)

// maxKeys bounds the keys of one mapping. yaml.v3 compares each key of a mapping with
// each other one when it decodes into a value, and makes a message of each pair that
// is equal: tens of kilobytes of one key take gigabytes.
const maxKeys = 10_000

// CheckMappings refuses data with a mapping that has a key twice or too many keys: for
// data that goes to a decoder on yaml.v3. It stops, as that does, at what it cannot
// parse.
func CheckMappings(file string, data []byte) error {
	decoder := yamlv3.NewDecoder(bytes.NewReader(data))
	for doc := new(yamlv3.Node); decoder.Decode(doc) == nil; doc = new(yamlv3.Node) {
		if bad := badKey(doc); bad != nil {
			return &diag.Error{File: file, Line: bad.Line, Col: bad.Column, Msg: fmt.Sprintf("a key is in one mapping twice, or one of more than %d keys", maxKeys)}
		}
	}
	return nil
}

// badKey returns the first key that is there twice or one too many.
func badKey(node *yamlv3.Node) *yamlv3.Node {
	var seen map[string]bool
	if node.Kind == yamlv3.MappingNode {
		seen = make(map[string]bool, len(node.Content)/2)
	}
	for i, child := range node.Content {
		if seen != nil && i%2 == 0 && child.Kind == yamlv3.ScalarNode {
			if seen[child.Value] || len(seen) == maxKeys {
				return child
			}
			seen[child.Value] = true
		}
		if bad := badKey(child); bad != nil {
			return bad
		}
	}
	return nil
}

// What is not worth a second parse: a file with fewer lines, and fewer commas in a
// line, cannot have enough keys, or enough of one key, to matter.
const (
	fewLines  = 500
	fewCommas = 500
	fewTwice  = 100
)

// SuspectMappings reports whether data may have what CheckMappings refuses, by its
// lines alone, in much less time.
func SuspectMappings(data []byte) bool {
	few := bytes.Count(data, []byte("\n")) < fewLines
	levels := map[int]map[string]bool{}
	deepest, twice := 0, 0
	for line := range bytes.Lines(data) {
		if bytes.Count(line, []byte(",")) > fewCommas {
			return true
		}
		if few {
			continue
		}
		level := len(line) - len(bytes.TrimLeft(line, " "))
		text := line[level:]
		for bytes.HasPrefix(text, []byte("- ")) { // the mapping of a new item
			level, text = level+2, text[2:]
			delete(levels, level)
		}
		key, _, found := bytes.Cut(text, []byte(":"))
		if !found || len(text) == 0 || text[0] == '#' {
			continue
		}
		for deepest > level {
			delete(levels, deepest)
			deepest--
		}
		deepest = level
		if levels[level] == nil {
			levels[level] = map[string]bool{}
		}
		if levels[level][string(key)] {
			if twice++; twice > fewTwice {
				return true
			}
			continue
		}
		levels[level][string(key)] = true
		if len(levels[level]) > maxKeys {
			return true
		}
	}
	return false
}
