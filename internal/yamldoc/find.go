package yamldoc

import (
	yamlv3 "go.yaml.in/yaml/v3"

	"hallmark.dev/hallmark/internal/diag"
)

// Find returns the 1-based line and column, within data, of the value at path,
// whose elements are string keys and int indexes, in the first document of data.
// When there is no such value, ok is false and the position is that of the
// deepest value on the path that exists; it is 0, 0 when data is not YAML or
// empty. Find parses data anew at every call and is meant for messages only.
func Find(data []byte, path ...any) (line, col int, ok bool) {
	data, fault := stripBOM(data)
	if fault != nil {
		return 0, 0, false
	}
	n := Node(data)
	if n == nil {
		return 0, 0, false
	}
	for _, step := range path {
		next := child(n, step, 0)
		if next == nil {
			return n.Line, n.Column, false
		}
		n = next
	}
	return n.Line, n.Column, true
}

// child returns the value under a key or index, or nil. Equal keys: the last
// one, which is the one that counts. An anchor may hold an alias of itself, so
// the merges that were followed are counted.
func child(n *yamlv3.Node, step any, merges int) *yamlv3.Node {
	if n.Kind == yamlv3.AliasNode {
		n = n.Alias
	}
	switch step := step.(type) {
	case string:
		if n.Kind != yamlv3.MappingNode {
			return nil
		}
		for i := len(n.Content) - 2; i >= 0; i -= 2 {
			if key := n.Content[i]; key.Kind == yamlv3.ScalarNode && key.Value == step {
				return n.Content[i+1]
			}
		}
		return merged(n, step, merges)
	case int:
		if n.Kind == yamlv3.SequenceNode && step >= 0 && step < len(n.Content) {
			return n.Content[step]
		}
	}
	return nil
}

// merged looks for a key in what "<<" brings in.
func merged(n *yamlv3.Node, key string, merges int) *yamlv3.Node {
	const most = 16
	if merges == most {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" {
			continue
		}
		from := n.Content[i+1]
		candidates := []*yamlv3.Node{from}
		if from.Kind == yamlv3.SequenceNode {
			candidates = from.Content
		}
		for _, c := range candidates {
			if found := child(c, key, merges+1); found != nil {
				return found
			}
		}
	}
	return nil
}

// Node returns the root of the first document with its positions, nil where yaml.v3
// cannot read it.
func Node(text []byte) (root *yamlv3.Node) {
	defer func() {
		if recover() != nil {
			root = nil
		}
	}()
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// search makes an error at the first node that matches, or else at the first
// line. Collections at the root have depth 1.
func (s source) search(msg string, match func(n *yamlv3.Node, depth int, key bool) bool) *diag.Error {
	if root := Node(s.text); root != nil {
		if n := walk(root, 1, false, match); n != nil {
			return s.line(n.Line, n.Column, msg)
		}
	}
	return s.line(1, 0, msg)
}

func walk(n *yamlv3.Node, depth int, key bool, match func(n *yamlv3.Node, depth int, key bool) bool) *yamlv3.Node {
	if match(n, depth, key) {
		return n
	}
	for i, c := range n.Content {
		if found := walk(c, depth+1, n.Kind == yamlv3.MappingNode && i%2 == 0, match); found != nil {
			return found
		}
	}
	return nil
}
