package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
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
			line := bytes.Count(data[:start], []byte("\n"))
			if a := endless(doc, nil); a != nil {
				return &diag.Error{File: file, Line: line + a.Line, Msg: fmt.Sprintf("anchor %q contains itself", a.Value)}
			}
			// Stream may have ended at a fault that the other parser passes over.
			if (expansion{}).of(doc) > maxExpanded {
				return &diag.Error{File: file, Line: line + doc.Line, Msg: fmt.Sprintf("%s more than %d bytes", expands, maxExpanded)}
			}
		}
		start = part[1]
	}
	return nil
}

// maxExpanded bounds what the aliases of a document may expand to, in bytes, of
// which each node counts as some.
const (
	maxExpanded = 64 << 20
	nodeBytes   = 32
)

// expansion is what nodes expand to.
type expansion map[*yamlv3.Node]int

// of does not go round in a node that contains itself: endless comes first.
func (e expansion) of(node *yamlv3.Node) int {
	if size, known := e[node]; known {
		return size
	}
	size := nodeBytes + len(node.Value)
	if node.Kind == yamlv3.AliasNode {
		size = e.of(node.Alias)
	}
	for _, child := range node.Content {
		if size += e.of(child); size > math.MaxInt32 {
			size = math.MaxInt32 // enough for any bound
		}
	}
	e[node] = size
	return size
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
