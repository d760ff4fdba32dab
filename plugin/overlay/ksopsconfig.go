package overlay

import (
	"bytes"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// ksopsConfig is the configuration of one ksops generator.
type ksopsConfig struct {
	apiVersion, kind string
	name, namespace  string
	// files are encrypted manifests.
	files   []ksopsFile
	secrets []ksopsSecret
}

// ksopsSecret is an entry of secretFrom, which becomes one Secret.
type ksopsSecret struct {
	at                  string
	place               place
	name, namespace     string
	labels, annotations map[string]string
	secretType          string
	files, binary, envs []ksopsFile
}

// ksopsFile is one path in a configuration.
type ksopsFile struct {
	// at is where it is written, for messages.
	at string
	// key is the key in the Secret; a manifest and a dotenv file have none.
	key  string
	path string
}

// entries gives all files that the configuration names.
func (c *ksopsConfig) entries() iter.Seq[ksopsFile] {
	return func(yield func(ksopsFile) bool) {
		lists := [][]ksopsFile{c.files}
		for _, secret := range c.secrets {
			lists = append(lists, secret.files, secret.binary, secret.envs)
		}
		for _, list := range lists {
			for _, file := range list {
				if !yield(file) {
					return
				}
			}
		}
	}
}

// ksopsDocument is a document that configures a ksops generator.
type ksopsDocument struct {
	apiVersion, kind string
	root             *kyaml.Node
}

// isKsops reports whether a plugin configuration is for ksops. The versions that
// are in use mean the same, and ksops-exec is what ksops v2 called the variant
// that was no Go plugin.
func isKsops(apiVersion, kind string) bool {
	return strings.HasPrefix(apiVersion, "viaduct.ai/") && (kind == "ksops" || kind == "ksops-exec")
}

// asKsops parses a document if it configures ksops.
func asKsops(text []byte) (doc ksopsDocument, ok bool) {
	if !bytes.Contains(text, []byte("viaduct.ai")) {
		return doc, false
	}
	node, err := kyaml.Parse(string(text))
	if err != nil || node.DeAnchor() != nil {
		return doc, false
	}
	doc.root = node.YNode()
	if doc.root == nil || doc.root.Kind != kyaml.MappingNode {
		return doc, false
	}
	for key, value := range nodePairs(doc.root) {
		switch key.Value {
		case "apiVersion":
			doc.apiVersion = value.Value
		case "kind":
			doc.kind = value.Value
		}
	}
	return doc, isKsops(doc.apiVersion, doc.kind)
}

// nodePairs gives the keys and values of a mapping.
func nodePairs(mapping *kyaml.Node) iter.Seq2[*kyaml.Node, *kyaml.Node] {
	return func(yield func(key, value *kyaml.Node) bool) {
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			if !yield(mapping.Content[i], mapping.Content[i+1]) {
				return
			}
		}
	}
}

// locator says where a node is: for a message, and for the origin of an object.
type locator func(node *kyaml.Node) (at string, p place)

// ksopsParser reads a configuration more strictly than ksops, which passes over
// what it does not know: a field that is indented wrongly would be a Secret that
// is missing without a word.
type ksopsParser struct {
	locate locator
	faults []error
}

// parse gives the configuration, or its faults in the order of the document.
func (d ksopsDocument) parse(locate locator) (*ksopsConfig, []error) {
	p := &ksopsParser{locate: locate}
	config := &ksopsConfig{apiVersion: d.apiVersion, kind: d.kind}
	top := p.mapping(d.root, "")
	if empty(top["files"]) && empty(top["secretFrom"]) {
		p.fault(d.root, `kind %q has neither "files" nor "secretFrom": nothing to generate`, d.kind)
	}
	p.known(d.root, "", "apiVersion", "kind", "metadata", "files", "secretFrom")
	meta := p.mapping(top["metadata"], "metadata")
	if meta != nil {
		// The rest of the metadata is Kustomize's.
		for key := range nodePairs(top["metadata"]) {
			if canonical, home := ksopsHome(key.Value); home != "" && home != homeMetadata {
				p.unknown(key, "metadata", key.Value, canonical, home)
			}
		}
	}
	if config.name = p.text(meta["name"], "metadata.name"); config.name == "" {
		p.fault(d.root, `kind %q has no "metadata.name"`, d.kind)
	}
	config.namespace = p.text(meta["namespace"], "metadata.namespace")
	for i, node := range p.list(top["files"], "files") {
		if name := p.text(node, index("files", i)); name != "" {
			config.files = append(config.files, ksopsFile{at: p.at(node), path: name})
		}
	}
	for i, node := range p.list(top["secretFrom"], "secretFrom") {
		config.secrets = append(config.secrets, p.secret(node, index("secretFrom", i)))
	}
	return config, p.faults
}

func (p *ksopsParser) secret(node *kyaml.Node, field string) (s ksopsSecret) {
	s.at, s.place = p.locate(node)
	if null(node) {
		p.fault(node, "%s is empty: nothing to generate", field)
		return s
	}
	fields := p.mapping(node, field)
	if fields == nil {
		return s
	}
	p.known(node, field, "metadata", "type", "files", "binaryFiles", "envs")
	meta := p.mapping(fields["metadata"], field+".metadata")
	p.known(fields["metadata"], field+".metadata", "name", "namespace", "labels", "annotations")
	if s.name = p.text(meta["name"], field+".metadata.name"); s.name == "" {
		p.fault(node, "%s has no \"metadata.name\"", field)
	}
	s.namespace = p.text(meta["namespace"], field+".metadata.namespace")
	s.labels = p.texts(meta["labels"], field+".metadata.labels")
	s.annotations = p.texts(meta["annotations"], field+".metadata.annotations")
	s.secretType = p.text(fields["type"], field+".type")
	if empty(fields["files"]) && empty(fields["binaryFiles"]) && empty(fields["envs"]) {
		p.fault(node, `%s has neither "files" nor "binaryFiles" nor "envs": nothing to generate`, field)
	}
	seen := map[string]bool{}
	s.files = p.keyed(fields["files"], field+".files", seen)
	s.binary = p.keyed(fields["binaryFiles"], field+".binaryFiles", seen)
	for i, node := range p.list(fields["envs"], field+".envs") {
		name := p.text(node, index(field+".envs", i))
		switch strings.ToLower(path.Ext(name)) {
		case ".yaml", ".yml", ".json":
			p.fault(node, "%s: %q is not a dotenv file by its name; want lines KEY=VALUE", index(field+".envs", i), name)
		default:
			s.envs = append(s.envs, ksopsFile{at: p.at(node), path: name})
		}
	}
	return s
}

// keyed reads a list of path or key=path.
func (p *ksopsParser) keyed(list *kyaml.Node, field string, seen map[string]bool) []ksopsFile {
	var files []ksopsFile
	for i, node := range p.list(list, field) {
		text := p.text(node, index(field, i))
		if text == "" {
			continue
		}
		key, name, found := strings.Cut(text, "=")
		if !found {
			key, name = path.Base(text), text
		}
		switch {
		case key == "" || name == "" || strings.Contains(name, "="):
			p.fault(node, "%s: got %q, want path or key=path", index(field, i), text)
			continue
		case seen[key]:
			p.fault(node, "%s: key %q is there twice", index(field, i), key)
		}
		seen[key] = true
		files = append(files, ksopsFile{at: p.at(node), key: key, path: name})
	}
	return files
}

func (p *ksopsParser) at(node *kyaml.Node) string {
	at, _ := p.locate(node)
	return at
}

func (p *ksopsParser) fault(node *kyaml.Node, format string, args ...any) {
	p.faults = append(p.faults, &fault{message: p.at(node) + ": " + fmt.Sprintf(format, args...)})
}

// known refuses the fields of a mapping other than these, and a field that is
// there twice, of which ksops would take the last.
func (p *ksopsParser) known(mapping *kyaml.Node, field string, names ...string) {
	if mapping == nil || mapping.Kind != kyaml.MappingNode {
		return
	}
	seen := map[string]bool{}
	for key, value := range nodePairs(mapping) {
		canonical, home := ksopsHome(key.Value)
		switch {
		case seen[key.Value]:
			p.fault(key, "field %q is there twice", key.Value)
		case slices.Contains(names, key.Value):
		case canonical == "" && null(value): // creationTimestamp: null
		case slices.Contains(names, canonical):
			p.unknown(key, field, key.Value, canonical, "")
		case canonical == "files":
			p.unknown(key, field, key.Value, canonical, homeEntry)
		default:
			p.unknown(key, field, key.Value, canonical, home)
		}
		seen[key.Value] = true
	}
}

func (p *ksopsParser) unknown(node *kyaml.Node, field, got, canonical, home string) {
	if field == "" {
		field = "the top level"
	} else {
		field = fmt.Sprintf("%q", field)
	}
	want := ""
	switch {
	case home != "":
		want = fmt.Sprintf(", want %q %s", canonical, home)
	case canonical != "":
		want = fmt.Sprintf(", want %q", canonical)
	}
	p.faults = append(p.faults, diag.WithHint(
		&fault{message: fmt.Sprintf("%s: unknown field %q at %s%s", p.at(node), got, field, want)}, ksopsShapeHint))
}

const ksopsShapeHint = "a ksops generator has `files` (encrypted manifests) and `secretFrom` (a list of metadata, type, files, binaryFiles, envs) at the top level"

// Where a field of a configuration belongs.
const (
	homeTop      = "at the top level"
	homeEntry    = `in an entry of "secretFrom"`
	homeMetadata = `in "metadata"`
)

// ksopsHome gives the spelling of a field and where it belongs.
func ksopsHome(name string) (canonical, home string) {
	for _, known := range []struct{ canonical, home string }{
		{"files", homeTop}, {"secretFrom", homeTop}, {"metadata", homeTop},
		{"type", homeEntry}, {"binaryFiles", homeEntry}, {"envs", homeEntry},
		{"name", homeMetadata}, {"namespace", homeMetadata}, {"labels", homeMetadata}, {"annotations", homeMetadata},
	} {
		if strings.EqualFold(known.canonical, name) {
			return known.canonical, known.home
		}
	}
	return "", ""
}

// mapping gives the fields of a mapping, of one that is there twice the last.
func (p *ksopsParser) mapping(node *kyaml.Node, field string) map[string]*kyaml.Node {
	if null(node) || !p.is(node, kyaml.MappingNode, field, "map") {
		return nil
	}
	fields := make(map[string]*kyaml.Node, len(node.Content)/2)
	for key, value := range nodePairs(node) {
		fields[key.Value] = value
	}
	return fields
}

func (p *ksopsParser) list(node *kyaml.Node, field string) []*kyaml.Node {
	if null(node) || !p.is(node, kyaml.SequenceNode, field, "list") {
		return nil
	}
	return node.Content
}

// text gives a string; an element of a list must not be empty.
func (p *ksopsParser) text(node *kyaml.Node, field string) string {
	if null(node) && !strings.HasSuffix(field, "]") || !p.is(node, kyaml.ScalarNode, field, "string") {
		return ""
	}
	switch tag := node.ShortTag(); {
	case tag != kyaml.NodeTagString && tag != "!!timestamp": // to YAML 1.1 as ksops reads it a date is text
		p.fault(node, "%s: got %s, want string", field, nodeType(node))
		return ""
	case node.Value == "" && strings.HasSuffix(field, "]"):
		p.fault(node, "%s is empty, want a path", field)
	}
	return node.Value
}

// texts gives a map of strings.
func (p *ksopsParser) texts(node *kyaml.Node, field string) map[string]string {
	fields := p.mapping(node, field)
	if len(fields) == 0 {
		return nil
	}
	texts := make(map[string]string, len(fields))
	for key, value := range nodePairs(node) {
		texts[key.Value] = p.text(value, field+"."+key.Value)
	}
	return texts
}

func (p *ksopsParser) is(node *kyaml.Node, kind kyaml.Kind, field, want string) bool {
	if node.Kind == kind {
		return true
	}
	p.fault(node, "%s: got %s, want %s", field, nodeType(node), want)
	return false
}

func nodeType(node *kyaml.Node) string {
	switch node.Kind {
	case kyaml.MappingNode:
		return "map"
	case kyaml.SequenceNode:
		return "list"
	}
	switch node.ShortTag() {
	case kyaml.NodeTagInt:
		return "integer"
	case kyaml.NodeTagFloat:
		return "number"
	case kyaml.NodeTagBool:
		return "boolean"
	case kyaml.NodeTagNull:
		return "null"
	}
	return "string"
}

func null(node *kyaml.Node) bool {
	return node == nil || node.Kind == kyaml.ScalarNode && node.ShortTag() == kyaml.NodeTagNull
}

// empty reports whether a list is absent or has no elements. What is no list has
// a fault of its own.
func empty(node *kyaml.Node) bool {
	return null(node) || node.Kind == kyaml.SequenceNode && len(node.Content) == 0
}

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }
