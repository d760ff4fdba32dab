package overlay

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/source"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// A ksops generator is an exec plugin to Kustomize, which runs none here. Where
// its configuration is listed under `generators`, Kustomize therefore reads
//
//	apiVersion: builtin
//	kind: ksops
//	metadata: {name: ...}
//	hallmarkKsops: {apiVersion: viaduct.ai/v1, config: "0"}
//
// in its place, and the factory for plugin types that Kustomize does not know
// makes the generator below. So it runs where the exec plugin would: in its
// place among the generators, merged, transformed and annotated like any other.
//
// A file or an inline entry is parsed by the scan, which knows its lines, and
// config is its number in the session. A folder under `generators` is a build of
// its own, whose patches may change a configuration; a transformer at its end
// sets the fields, and the generator parses what it gets.

// unknownPlugin is Kustomize's type for a kind that it has no plugin for.
const unknownPlugin pluginType = 0

// ksopsField is the field that marks a configuration.
const ksopsField = "hallmarkKsops"

// converterName marks the configuration of the transformer at the end of a
// folder of generators.
const converterName = "hallmark-ksops-converter"

const converterConfig = "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata:\n  name: " + converterName + "\n"

const (
	ksopsResourceHint = "it is a generator: list it under `generators`, not under `resources`; it works there without a plugin binary"
	ksopsListHint     = "ksops generates: list it under `generators`"
	ksopsOpenHint     = "ksops would refuse it too: list a plain manifest under `resources`, or encrypt the file"
)

// ksopsReference is the value of ksopsField.
type ksopsReference struct {
	APIVersion string `json:"apiVersion"`
	Config     string `json:"config,omitempty"`
}

// ksops parses the ksops generators in a stream of configurations and gives the
// stream that Kustomize reads instead. found is false where there are none.
func (c *checker) ksops(what string, stream []byte, locate locator) (instead []byte, found bool) {
	if !bytes.Contains(stream, []byte("viaduct.ai")) {
		return nil, false
	}
	for i, doc := range yamldoc.Split(stream) {
		text := doc.Text
		if parsed, ok := asKsops(text); ok {
			found = true
			text = c.ksopsDocument(what, parsed, func(node *kyaml.Node) (string, place) {
				shifted := *node
				shifted.Line += doc.Line - 1
				return locate(&shifted)
			})
		}
		if i > 0 {
			instead = append(instead, "---\n"...)
		}
		instead = append(append(instead, text...), '\n')
	}
	return instead, found
}

// ksopsDocument registers one generator and gives what Kustomize reads for it.
func (c *checker) ksopsDocument(what string, doc ksopsDocument, locate locator) []byte {
	if what != "generator" {
		at, _ := locate(doc.root)
		c.faults = append(c.faults, diag.WithHint(&fault{
			message: fmt.Sprintf("%s: %s has apiVersion %q, kind %q, which generates", at, what, doc.apiVersion, doc.kind),
		}, ksopsListHint))
		return nil
	}
	config, faults := doc.parse(locate)
	c.faults = append(c.faults, faults...)
	for file := range config.entries() {
		if _, err := c.session.tree.file(c.dir, file.path); err != nil {
			c.faults = append(c.faults, file.fault(err))
		}
	}
	meta := map[string]any{"name": config.name}
	if config.namespace != "" {
		meta["namespace"] = config.namespace
	}
	c.session.ksops = append(c.session.ksops, config)
	return yamldoc.AppendYAML(nil, map[string]any{
		"apiVersion": konfig.BuiltinPluginApiVersion,
		"kind":       config.kind,
		"metadata":   meta,
		ksopsField: map[string]any{
			"apiVersion": config.apiVersion,
			"config":     strconv.Itoa(len(c.session.ksops) - 1),
		},
	})
}

// convert marks the ksops generators among the outcome of a folder of generators.
func convert(m resmap.ResMap) error {
	for _, res := range m.Resources() {
		apiVersion := res.GetApiVersion()
		if !isKsops(apiVersion, res.GetKind()) {
			continue
		}
		reference := map[string]string{"apiVersion": apiVersion}
		if err := res.PipeE(kyaml.SetField(ksopsField, kyaml.NewMapRNode(&reference))); err != nil {
			return err
		}
		res.SetApiVersion(konfig.BuiltinPluginApiVersion)
	}
	return nil
}

// ksopsVersion gives the apiVersion that a configuration of ksops is written with.
func ksopsVersion(res *resource.Resource) (apiVersion string, ok bool) {
	if isKsops(res.GetApiVersion(), res.GetKind()) {
		return res.GetApiVersion(), true
	}
	apiVersion, err := res.GetString(ksopsField + ".apiVersion")
	return apiVersion, err == nil
}

// ksopsGenerator gives what the exec plugin ksops prints.
type ksopsGenerator struct {
	session *session
	h       *resmap.PluginHelpers
	config  *ksopsConfig
	// dir is the folder of the kustomization, to which paths are relative.
	dir string
	// origin is set where the build wants origin annotations.
	origin *resource.Origin
	faults []error
}

// Config implements resmap.Configurable.
func (p *ksopsGenerator) Config(h *resmap.PluginHelpers, config []byte) error {
	p.h = h
	p.dir, _ = inside(h.Loader().Root())
	var head struct {
		Kind      string          `json:"kind"`
		Reference *ksopsReference `json:"hallmarkKsops"`
	}
	if err := yaml.Unmarshal(config, &head); err != nil {
		return err
	}
	if head.Reference == nil {
		return diag.WithHint(fmt.Errorf("builtin plugin of kind %q does not exist", head.Kind), noPluginHint)
	}
	res, err := h.ResmapFactory().RF().FromBytes(config)
	if err != nil {
		return err
	}
	if p.origin, err = resource.OriginFromCustomPlugin(res); err != nil {
		return err
	}
	if p.origin != nil {
		p.origin.ConfiguredBy.APIVersion = head.Reference.APIVersion
	}
	if number, err := strconv.Atoi(head.Reference.Config); err == nil && number >= 0 && number < len(p.session.ksops) {
		p.config = p.session.ksops[number]
		return nil
	}
	if err := res.PipeE(kyaml.Clear(ksopsField)); err != nil {
		return err
	}
	file := p.session.fileIn(h.Loader().Root())
	doc := ksopsDocument{apiVersion: head.Reference.APIVersion, kind: head.Kind, root: res.YNode()}
	var faults []error
	p.config, faults = doc.parse(func(*kyaml.Node) (string, place) {
		return fmt.Sprintf("%s: generator %q", file, res.GetName()), place{file: file}
	})
	return errors.Join(faults...)
}

// Generate implements resmap.Generator.
func (p *ksopsGenerator) Generate() (resmap.ResMap, error) {
	m := resmap.New()
	for _, file := range p.config.files {
		name, plain, ok := p.open(file)
		if !ok {
			continue
		}
		resources, err := p.manifests(plain)
		if err != nil {
			p.faults = append(p.faults, file.fault(err))
			continue
		}
		p.add(m, file.at, place{file: name}, resources)
	}
	for _, secret := range p.config.secrets {
		if res, ok := p.secret(secret); ok {
			p.add(m, secret.at, secret.place, []*resource.Resource{res})
		}
	}
	if err := p.session.ctx.Err(); err != nil {
		return nil, err
	}
	if len(p.faults) > maxFaults {
		more := &fault{message: fmt.Sprintf("%s: %d more faults", p.session.fileIn(p.h.Loader().Root()), len(p.faults)-maxFaults)}
		p.faults = append(p.faults[:maxFaults], more)
	}
	if len(p.faults) > 0 {
		return nil, errors.Join(p.faults...)
	}
	return m, nil
}

// add gives generated objects the options that their annotations ask for, as
// Kustomize does with what an exec plugin prints, and puts them into m.
func (p *ksopsGenerator) add(m resmap.ResMap, at string, from place, resources []*resource.Resource) {
	for _, res := range resources {
		if err := m.Append(res); err != nil {
			p.faults = append(p.faults, &fault{message: fmt.Sprintf("%s: %s is generated twice", at, describe(res)), cause: err})
			return
		}
		if err := generatorOptions(res); err != nil {
			p.faults = append(p.faults, &fault{message: fmt.Sprintf("%s: %s: %v", at, describe(res), err)})
			return
		}
		if known, err := res.GetOrigin(); p.origin != nil && known == nil && err == nil {
			if err := res.SetOrigin(p.origin); err != nil {
				p.faults = append(p.faults, &fault{message: fmt.Sprintf("%s: %s: its origin cannot be noted", at, describe(res)), cause: err})
				return
			}
		}
	}
	p.session.origins.generator(from, resources)
}

const (
	hashAnnotation     = "kustomize.config.k8s.io/needs-hash"
	behaviorAnnotation = "kustomize.config.k8s.io/behavior"
)

func generatorOptions(res *resource.Resource) error {
	annotations := res.GetAnnotations()
	behavior := types.NewGenerationBehavior(annotations[behaviorAnnotation])
	hash := false
	if text, ok := annotations[hashAnnotation]; ok {
		var err error
		if hash, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("annotation %q is not valid, want true or false", hashAnnotation)
		}
	}
	delete(annotations, hashAnnotation)
	delete(annotations, behaviorAnnotation)
	if err := res.SetAnnotations(annotations); err != nil {
		return errors.New("its annotations cannot be set")
	}
	if hash {
		res.EnableHashSuffix()
	}
	res.SetBehavior(behavior)
	return nil
}

// fault says what is wrong with a file: err is the rest of the sentence.
func (f ksopsFile) fault(err error) error {
	return &fault{message: fmt.Sprintf("%s: file %q %v", f.at, f.shown(), err), cause: err}
}

// shown is the path without the password that a URL may hold.
func (f ksopsFile) shown() string {
	if remoteFile(f.path) {
		return redact.URL(f.path)
	}
	return f.path
}

// open decrypts a file and gives its name in the tree. Where it cannot, the
// reason is among the faults.
func (p *ksopsGenerator) open(file ksopsFile) (name string, plain []byte, ok bool) {
	if p.session.ctx.Err() != nil {
		return "", nil, false
	}
	name, err := p.session.tree.file(p.dir, file.path)
	if err != nil {
		p.faults = append(p.faults, file.fault(err))
		return "", nil, false
	}
	_, open, err := source.ReadSealed(p.session.tree.fsys, name)
	switch {
	case err != nil:
		p.faults = append(p.faults, file.fault(fmt.Errorf("cannot be read: %w", err)))
		return "", nil, false
	case open == nil:
		p.faults = append(p.faults, diag.WithHint(file.fault(errors.New("is not encrypted with sops")), ksopsOpenHint))
		return "", nil, false
	}
	if plain, err = open(); err != nil {
		// The file system says all there is to say, the name included.
		p.faults = append(p.faults, &fault{message: fmt.Sprintf("%s: file %q: %v", file.at, file.path, err), cause: err})
		return "", nil, false
	}
	return name, plain, true
}

// manifests reads the plaintext of an encrypted manifest. What Kustomize says
// about one that it cannot read may quote it, so the errors are worded here.
func (p *ksopsGenerator) manifests(plain []byte) ([]*resource.Resource, error) {
	const noManifest = "is no manifest when it is decrypted: "
	docs, err := yamldoc.Stream("", plain)
	if fault := (*diag.Error)(nil); errors.As(err, &fault) {
		return nil, fmt.Errorf("%sline %d is not valid YAML", noManifest, max(fault.Line, 1))
	}
	if err != nil {
		return nil, errors.New(noManifest + "it is not valid YAML")
	}
	objects := 0
	for _, doc := range docs {
		if doc.Value == nil {
			continue
		}
		objects++
		value, _ := doc.Value.(map[string]any)
		if kind, _ := value["kind"].(string); kind == "" {
			return nil, fmt.Errorf("%sthe document at line %d has no kind", noManifest, doc.Line)
		}
	}
	if objects == 0 {
		return nil, errors.New(noManifest + "it is empty")
	}
	if yamldoc.CheckAliases("", plain) != nil {
		return nil, errors.New(noManifest + "an anchor contains itself")
	}
	resources, err := p.h.ResmapFactory().RF().SliceFromBytes(plain)
	if err != nil {
		return nil, errors.New(noManifest + "kustomize takes no object without metadata.name, or with labels or annotations that are no text")
	}
	return resources, nil
}

// secret makes the Secret of an entry of secretFrom: text as stringData, binary
// files as data.
func (p *ksopsGenerator) secret(s ksopsSecret) (*resource.Resource, bool) {
	known := len(p.faults)
	stringData, data := map[string]string{}, map[string]string{}
	for _, file := range s.files {
		if _, plain, ok := p.open(file); ok {
			if !utf8.Valid(plain) {
				p.faults = append(p.faults, diag.WithHint(file.fault(errors.New("is no UTF-8 text when it is decrypted")), "list it under `binaryFiles`"))
			}
			stringData[file.key] = string(plain)
		}
	}
	for _, file := range s.binary {
		if _, plain, ok := p.open(file); ok {
			data[file.key] = base64.StdEncoding.EncodeToString(plain)
		}
	}
	for _, file := range s.envs {
		if _, plain, ok := p.open(file); ok {
			variables, err := dotenv(plain)
			if err != nil {
				p.faults = append(p.faults, file.fault(err))
			}
			for _, v := range variables {
				_, text := stringData[v.key]
				_, binary := data[v.key]
				if text || binary {
					p.faults = append(p.faults, file.fault(fmt.Errorf("sets key %q of Secret %q a second time", v.key, s.name)))
				}
				stringData[v.key] = v.value
			}
		}
	}
	if len(p.faults) > known {
		return nil, false
	}
	meta := mappingNode(textNode("name"), textNode(s.name))
	if s.namespace != "" {
		meta.Content = append(meta.Content, textNode("namespace"), textNode(s.namespace))
	}
	object := mappingNode(textNode("apiVersion"), textNode("v1"), textNode("kind"), textNode("Secret"), textNode("metadata"), meta)
	if s.secretType != "" {
		object.Content = append(object.Content, textNode("type"), textNode(s.secretType))
	}
	appendTexts(meta, "labels", s.labels)
	appendTexts(meta, "annotations", s.annotations)
	appendTexts(object, "stringData", stringData)
	appendTexts(object, "data", data)
	return &resource.Resource{RNode: *kyaml.NewRNode(object)}, true
}

// textNode makes a string without printing and parsing YAML: what it holds stays
// what it is.
func textNode(text string) *kyaml.Node {
	return &kyaml.Node{Kind: kyaml.ScalarNode, Tag: kyaml.NodeTagString, Value: text}
}

func mappingNode(content ...*kyaml.Node) *kyaml.Node {
	return &kyaml.Node{Kind: kyaml.MappingNode, Tag: kyaml.NodeTagMap, Content: content}
}

func appendTexts(object *kyaml.Node, field string, texts map[string]string) {
	if len(texts) == 0 {
		return
	}
	node := mappingNode()
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		node.Content = append(node.Content, textNode(key), textNode(texts[key]))
	}
	object.Content = append(object.Content, textNode(field), node)
}

type variable struct{ key, value string }

// dotenv reads a decrypted dotenv file: lines KEY=VALUE, and comments. A value is
// what sops encrypted, to the character; a line break in it is written as "\n".
// ksops hands the text to a dotenv library, which drops quotes, expands "$NAME"
// and ends a value at " #": such a password never reached the cluster as it is.
// As with ksops "export" before a key does not count, nor do spaces around it.
func dotenv(plain []byte) ([]variable, error) {
	if !utf8.Valid(plain) {
		return nil, errors.New("is no UTF-8 text when it is decrypted")
	}
	var variables []variable
	seen := map[string]bool{}
	number := 0
	for line := range strings.SplitSeq(string(plain), "\n") {
		number++
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		key = strings.TrimSpace(strings.TrimPrefix(key, "export "))
		switch {
		case !found || key == "":
			return nil, fmt.Errorf("is no dotenv file when it is decrypted: line %d is not KEY=VALUE", number)
		case seen[key]:
			return nil, fmt.Errorf("has key %q twice", key)
		}
		seen[key] = true
		variables = append(variables, variable{key, strings.ReplaceAll(value, `\n`, "\n")})
	}
	return variables, nil
}

// file finds a file that a generator of the kustomization in dir names.
func (t *tree) file(dir, name string) (resolved string, err error) {
	if remoteFile(name) {
		return "", errors.New("is remote; a render reads the repository and nothing else")
	}
	if path.IsAbs(name) {
		return "", fmt.Errorf("is an absolute path, want one relative to %q", dir)
	}
	target := path.Join(dir, name)
	resolved, isDir, err := t.stat(target)
	switch {
	case !fs.ValidPath(target):
		return "", errors.New("leaves the repository")
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("does not exist, looked for as %q", target)
	case err != nil:
		return "", fmt.Errorf("cannot be read: %w", err)
	case isDir:
		return "", errors.New("is a folder")
	}
	return resolved, nil
}
