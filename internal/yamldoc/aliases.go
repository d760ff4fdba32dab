package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"hallmark.dev/hallmark/internal/diag"
)

// What can be an anchor and what can be an alias. Nearly all files have none, and
// those need no parser.
var (
	anchor = regexp.MustCompile(`(?m)(?:^|[\s\[{,:])&\S`)
	alias  = regexp.MustCompile(`(?m)(?:^|[\s\[{,:])\*\S`)
)

// separator ends a document, for a reader that goes on behind one that it cannot
// parse.
var separator = regexp.MustCompile(`(?m)^---(?:\s|$)`)

// CheckAliases refuses data whose aliases expand to very much, in the words of
// [Stream], or to themselves: for data that goes to another parser, which replaces
// each alias by what it stands for. Memory has an end, and a stack that overflows
// ends the process.
func CheckAliases(file string, data []byte) error {
	// Most files have neither character, which is found much faster.
	if bytes.IndexByte(data, '&') < 0 || bytes.IndexByte(data, '*') < 0 || !anchor.Match(data) || !alias.Match(data) {
		return nil
	}
	fault := (*diag.Error)(nil)
	if _, err := Stream(file, data); errors.As(err, &fault) &&
		(strings.HasPrefix(fault.Msg, expands) || strings.HasPrefix(fault.Msg, aliasesExpand)) {
		return fault
	}
	start := 0
	for _, part := range append(separator.FindAllIndex(data, -1), []int{len(data), len(data)}) {
		decoder := yamlv3.NewDecoder(bytes.NewReader(data[start:part[0]]))
		for doc := new(yamlv3.Node); decoder.Decode(doc) == nil; doc = new(yamlv3.Node) {
			if a := endless(doc, nil); a != nil {
				line := bytes.Count(data[:start], []byte("\n")) + a.Line
				return &diag.Error{File: file, Line: line, Msg: fmt.Sprintf("anchor %q contains itself", a.Value)}
			}
		}
		start = part[1]
	}
	return nil
}

// endless finds an alias that stands inside of its anchor.
func endless(node *yamlv3.Node, above []*yamlv3.Node) *yamlv3.Node {
	if node.Kind == yamlv3.AliasNode {
		if slices.Contains(above, node.Alias) {
			return node
		}
		return nil
	}
	if node.Anchor != "" {
		above = append(slices.Clip(above), node)
	}
	for _, child := range node.Content {
		if found := endless(child, above); found != nil {
			return found
		}
	}
	return nil
}
