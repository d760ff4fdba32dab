package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// source is one argocd-cm in a file, whatever form it has there.
type source struct {
	data map[string]text
	// convertsValues: what is no text is made one (by the Helm chart).
	convertsValues bool
	checks         []operatorCheck // instead of data
}

// operatorCheck is an entry of spec.resourceHealthChecks.
type operatorCheck struct {
	key, group, kind string
	text             text
}

// text is a value and where it stands.
type text struct {
	value   string
	got     string // what it is instead of a text, "" for a text
	keyLine int
	node    *yamlv3.Node
	before  int // lines of the file in front of the document
}

// line is the line of the file in which a line of the text stands, from 1. Only a
// literal block has its lines as they are; for all else it is the first.
func (t text) line(n int) int {
	if t.node == nil || n == 0 {
		return t.keyLine
	}
	if t.node.Style&yamlv3.LiteralStyle == 0 {
		return t.before + t.node.Line
	}
	return t.before + t.node.Line + n
}

const want = "want a ConfigMap, its data, values of the argo-cd Helm chart with configs.cm, or an ArgoCD resource with spec.resourceHealthChecks"

// sourcesOf finds the argocd-cm in a file.
func sourcesOf(file string, data []byte) ([]*source, error) {
	docs, err := yamldoc.Stream(file, data)
	if err != nil {
		return nil, err
	}
	var found []*source
	for _, doc := range docs {
		root, ok := doc.Value.(map[string]any)
		if !ok {
			continue
		}
		p := place{doc: doc, node: yamldoc.Node(doc.Text)}
		found = append(found, p.sources(root)...)
	}
	if len(found) == 0 {
		return nil, &diag.Error{File: file, Msg: "there is no argocd-cm in it: " + want}
	}
	return found, nil
}

// place reads one document.
type place struct {
	doc  yamldoc.Document
	node *yamlv3.Node
}

// sources is the argocd-cm of a document; several where it is the values of a chart
// with several subcharts.
func (p place) sources(root map[string]any) []*source {
	if s := p.source(root); s != nil {
		return []*source{s}
	}
	var found []*source
	if root["kind"] == nil {
		for _, key := range slices.Sorted(maps.Keys(root)) {
			if cm := nested(root, key, "configs", "cm"); customizes(cm) {
				found = append(found, &source{data: p.texts(cm, key, "configs", "cm"), convertsValues: true})
			}
		}
	}
	return found
}

func (p place) source(root map[string]any) *source {
	kind, _ := root["kind"].(string)
	switch kind {
	case "ConfigMap":
		metadata, _ := root["metadata"].(map[string]any)
		values, _ := root["data"].(map[string]any)
		if metadata["name"] != "argocd-cm" && !customizes(values) {
			return nil
		}
		return &source{data: p.texts(values, "data")}
	case "ArgoCD":
		return p.operator(root)
	case "":
	default:
		return nil
	}
	if customizes(root) {
		return &source{data: p.texts(root)}
	}
	if cm := nested(root, "configs", "cm"); cm != nil {
		return &source{data: p.texts(cm, "configs", "cm"), convertsValues: true}
	}
	return nil
}

func customizes(values map[string]any) bool {
	for key := range values {
		if strings.HasPrefix(key, customizationsKey) || key == compareKey {
			return true
		}
	}
	return false
}

func nested(v map[string]any, path ...string) map[string]any {
	for _, step := range path {
		v, _ = v[step].(map[string]any)
	}
	return v
}

func (p place) texts(values map[string]any, path ...string) map[string]text {
	mapping := child(p.node, path...)
	out := map[string]text{}
	for key, value := range values {
		t := text{before: p.doc.Line - 1}
		switch v := value.(type) {
		case string:
			t.value = v
		case nil:
			t.got = "null"
		case map[string]any:
			t.got = "a map"
		case []any:
			t.got = "a list"
		default:
			t.got, t.value = fmt.Sprint("the value ", v, " without quotes"), fmt.Sprint(v)
		}
		keyNode, valueNode := entry(mapping, key)
		if keyNode != nil {
			t.keyLine, t.node = t.before+keyNode.Line, valueNode
		}
		out[key] = t
	}
	return out
}

func (p place) operator(root map[string]any) *source {
	spec, _ := root["spec"].(map[string]any)
	list, _ := spec["resourceHealthChecks"].([]any)
	nodes := child(p.node, "spec", "resourceHealthChecks")
	s := &source{checks: []operatorCheck{}}
	for i, item := range list {
		check, _ := item.(map[string]any)
		script, ok := check["check"].(string)
		if !ok {
			continue
		}
		group, _ := check["group"].(string)
		kind, _ := check["kind"].(string)
		t := text{value: script, before: p.doc.Line - 1}
		if nodes != nil && i < len(nodes.Content) {
			if keyNode, valueNode := entry(nodes.Content[i], "check"); keyNode != nil {
				t.keyLine, t.node = t.before+keyNode.Line, valueNode
			}
		}
		s.checks = append(s.checks, operatorCheck{key: fmt.Sprintf("spec.resourceHealthChecks[%d]", i), group: group, kind: kind, text: t})
	}
	return s
}

// child follows keys from a node, nil where they lead nowhere.
func child(n *yamlv3.Node, path ...string) *yamlv3.Node {
	for _, step := range path {
		_, n = entry(n, step)
	}
	return follow(n)
}

func follow(n *yamlv3.Node) *yamlv3.Node {
	if n != nil && n.Kind == yamlv3.AliasNode {
		return n.Alias
	}
	return n
}

// entry returns the key and the value of a mapping under a name, the last of several.
func entry(n *yamlv3.Node, name string) (key, value *yamlv3.Node) {
	n = follow(n)
	if n == nil || n.Kind != yamlv3.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			key, value = n.Content[i], follow(n.Content[i+1])
		}
	}
	return key, value
}

// inner gives the lines of the file for a value in the YAML under
// resource.customizations: line 0 is that of its key.
func (c *configMap) inner(path ...string) func(int) int {
	outer := c.source.data[customizationsKey]
	n := yamldoc.Node([]byte(outer.value))
	var key *yamlv3.Node
	for _, step := range path {
		key, n = entry(n, step)
	}
	if key == nil || n == nil {
		return func(int) int { return outer.keyLine }
	}
	return func(line int) int {
		switch {
		case line == 0:
			return outer.line(key.Line)
		case n.Style&yamlv3.LiteralStyle == 0:
			return outer.line(n.Line)
		}
		return outer.line(n.Line + line)
	}
}

// syntaxError is where a text stops to be YAML, nil where it does not.
func syntaxError(text string) *diag.Error {
	_, err := yamldoc.Decode("", []byte(text))
	at, _ := errors.AsType[*diag.Error](err)
	return at
}
