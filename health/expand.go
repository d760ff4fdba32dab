package health

import (
	"bytes"

	"github.com/google/cel-go/common/types"
	yamlv3 "go.yaml.in/yaml/v3"
)

// Expand prints a check with every shorthand written out as the rules that it
// stands for, each with a comment that says where it is from, but for rules of a
// shorthand that nothing reaches behind the rules in front of it. What it prints is a
// check that means the same.
func (c *Check) Expand() (string, error) {
	spec := mapping()
	targets := &yamlv3.Node{Kind: yamlv3.SequenceNode}
	for _, t := range c.Targets {
		kinds := &yamlv3.Node{Kind: yamlv3.SequenceNode, Style: yamlv3.FlowStyle}
		for _, k := range t.Kinds {
			kinds.Content = append(kinds.Content, scalar(k))
		}
		targets.Content = append(targets.Content, mapping("group", scalar(t.Group), "kinds", kinds))
	}
	put(spec, "targets", targets)
	if len(c.Variables) > 0 {
		variables := &yamlv3.Node{Kind: yamlv3.SequenceNode, Style: yamlv3.FlowStyle}
		for _, v := range c.Variables {
			variables.Content = append(variables.Content, scalar(v))
		}
		put(spec, "variables", variables)
	}
	if c.UseOpenLibs {
		put(spec, "useOpenLibs", &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!bool", Value: "true"})
	}
	rules := &yamlv3.Node{Kind: yamlv3.SequenceNode}
	var otherwise *yamlv3.Node
	for i, r := range c.Rules {
		if r.When != nil && c.before(i) != nil {
			continue
		}
		n := mapping("status", scalar(string(r.Status)))
		if r.When == nil {
			if r.Message != nil {
				put(n, "message", scalar(plainText(r.Message)))
			}
			if r.NoStatus {
				put(spec, "noStatus", n)
			} else {
				otherwise = n
			}
			continue
		}
		n.HeadComment = r.Label
		put(n, "when", scalar(r.When.Text))
		if r.Message != nil {
			put(n, "message", scalar(r.Message.Text))
		}
		rules.Content = append(rules.Content, n)
	}
	put(spec, "rules", rules)
	put(spec, "otherwise", otherwise)
	root := mapping("apiVersion", scalar(apiVersion), "kind", scalar(kind), "metadata", mapping("name", scalar(c.Name)), "spec", spec)
	var out bytes.Buffer
	enc := yamlv3.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return "", err
	}
	return out.String(), enc.Close()
}

// plainText is the text of a message that was written as one.
func plainText(e *Expr) string {
	text, _ := e.AST.NativeRep().Expr().AsLiteral().(types.String)
	return string(text)
}

func scalar(text string) *yamlv3.Node {
	var n yamlv3.Node
	n.SetString(text)
	return &n
}

func mapping(pairs ...any) *yamlv3.Node {
	n := &yamlv3.Node{Kind: yamlv3.MappingNode}
	for i := 0; i+1 < len(pairs); i += 2 {
		put(n, pairs[i].(string), pairs[i+1].(*yamlv3.Node))
	}
	return n
}

func put(n *yamlv3.Node, key string, value *yamlv3.Node) {
	n.Content = append(n.Content, scalar(key), value)
}
