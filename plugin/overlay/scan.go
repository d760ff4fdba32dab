package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/internal/yamldoc"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

const (
	remoteHint   = "vendor it into the repository (`kustomize localize` writes a copy) and list the local path"
	noPluginHint = "only kustomize's built-in generators, transformers and validators run here; no exec plugin, container function or Go plugin does"
	resourceHint = "it configures a generator: list it under `generators`, not under `resources`"

	// maxFaults bounds how many faults of one kustomization are listed.
	maxFaults = 10
)

// Find returns the name of the kustomization file in dir: kustomization.yaml,
// kustomization.yml or Kustomization. ok is false where there is none; more than
// one is an error, as it is for Kustomize.
func Find(fsys fs.FS, dir string) (name string, ok bool, err error) {
	var found []string
	for _, candidate := range konfig.RecognizedKustomizationFileNames() {
		info, err := fs.Stat(fsys, path.Join(dir, candidate))
		switch {
		case err == nil && !info.IsDir():
			found = append(found, candidate)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", false, err
		}
	}
	switch len(found) {
	case 0:
		return "", false, nil
	case 1:
		return found[0], true, nil
	}
	return "", false, fmt.Errorf("%s: more than one kustomization file: %s", dir, strings.Join(found, ", "))
}

// onRead looks at each file before Kustomize gets it.
func (s *session) onRead(name string, content []byte) ([]byte, error) {
	if !slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)) {
		s.origins.file(name, content)
		return content, nil
	}
	if s.scanned[name] {
		return content, nil
	}
	s.kustomizations[path.Dir(name)] = name
	instead, faults := s.scan(name, content)
	if len(faults) > 0 {
		if len(faults) > maxFaults {
			faults = append(faults[:maxFaults], fmt.Errorf("%s: %d more faults", name, len(faults)-maxFaults))
		}
		err := errors.Join(faults...)
		s.noteFault(err)
		return nil, err
	}
	s.scanned[name] = true
	if instead != nil {
		s.tree.replaced[name], content = instead, instead
	}
	return content, nil
}

// scan checks one kustomization file: what Kustomize would fetch or execute is
// refused, and faults that it reports without a position get one. After it no
// path that the loader takes from the file itself can reach the network; the
// paths in plugin configurations go through guard. instead is what Kustomize
// reads where it is not content.
func (s *session) scan(name string, content []byte) (instead []byte, faults []error) {
	var k types.Kustomization
	if err := k.Unmarshal(content); err != nil {
		return nil, []error{s.unmarshalFault(name, err)}
	}
	if len(k.OpenAPI) > 0 && !s.freshSchema {
		return nil, []error{errFreshSchema}
	}
	k.FixKustomization()
	if err := k.CheckEmpty(); err != nil {
		return nil, []error{&fault{message: name + ": the kustomization is empty", cause: err}}
	}
	if faults := k.EnforceFields(); len(faults) > 0 {
		return nil, []error{&fault{message: name + ": " + strings.Join(faults, "; ")}}
	}
	for _, text := range inlineYAML(&k) {
		if err := yamldoc.CheckAliases(name+": inline YAML", []byte(text)); err != nil {
			return nil, []error{err}
		}
	}
	c := checker{session: s, file: name, dir: path.Dir(name)}
	for _, entry := range k.Resources {
		c.root("resource", entry)
	}
	for _, entry := range k.Components {
		c.root("component", entry)
	}
	for _, entry := range k.Crds {
		c.load("crds file", entry)
	}
	for _, entry := range k.Configurations {
		c.load("configuration", entry)
	}
	if entry, ok := k.OpenAPI["path"]; ok {
		c.load("openapi schema", entry)
	}
	rewritten := false
	for i, entry := range k.Generators {
		if inline, ok := c.plugin("generator", entry); ok {
			k.Generators[i], rewritten = inline, true
		}
	}
	for _, entry := range k.Transformers {
		c.plugin("transformer", entry)
	}
	for _, entry := range k.Validators {
		c.plugin("validator", entry)
	}
	if s.generatorDirs[c.dir] {
		k.Transformers, rewritten = append(k.Transformers, converterConfig), true
	}
	if rewritten && len(c.faults) == 0 {
		var err error
		if instead, err = yaml.Marshal(&k); err != nil {
			return nil, []error{fmt.Errorf("%s: %w", name, err)}
		}
	}
	return instead, c.faults
}

// inlineYAML gives the YAML that stands as text in a kustomization.
func inlineYAML(k *types.Kustomization) []string {
	texts := slices.Concat(k.Generators, k.Transformers, k.Validators)
	for _, p := range k.PatchesStrategicMerge { //nolint:staticcheck // deprecated, and read by Kustomize
		texts = append(texts, string(p))
	}
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) { //nolint:staticcheck // likewise
		texts = append(texts, p.Patch)
	}
	return texts
}

// checker collects the faults of one kustomization file.
type checker struct {
	session *session
	file    string
	dir     string
	faults  []error
}

func (c *checker) add(entry, format string, args ...any) {
	c.addHint("", entry, format, args...)
}

func (c *checker) addHint(hint, entry, format string, args ...any) {
	var err error = &fault{message: c.file + locate(c.session.tree.fsys, c.file, entry) + ": " + fmt.Sprintf(format, args...)}
	if hint != "" {
		err = diag.WithHint(err, hint)
	}
	c.faults = append(c.faults, err)
}

// root checks a path that may name a folder with a kustomization.
func (c *checker) root(what, entry string) {
	if remoteRoot(entry) {
		c.remote(what, entry)
		return
	}
	c.load(what, entry)
}

// load checks a path that names a file.
func (c *checker) load(what, entry string) {
	if remoteFile(entry) {
		c.remote(what, entry)
		return
	}
	if entry == "" || ambiguous(entry) {
		return // Kustomize words these well
	}
	if path.IsAbs(entry) {
		c.add(entry, "%s %q is an absolute path, want one relative to %q", what, entry, c.dir)
		return
	}
	target := path.Join(c.dir, entry)
	if _, _, err := c.session.tree.stat(target); err != nil {
		switch {
		case !fs.ValidPath(target):
			c.add(entry, "%s %q leaves the repository", what, entry)
		case errors.Is(err, fs.ErrNotExist):
			c.add(entry, "%s %q does not exist", what, entry)
		default:
			c.faults = append(c.faults, fmt.Errorf("%s%s: %s %q: %w", c.file, locate(c.session.tree.fsys, c.file, entry), what, entry, err))
		}
	}
}

// ambiguous is Kustomize's test for the remains of a list that YAML folded into
// one string.
func ambiguous(entry string) bool {
	for part := range strings.SplitSeq(entry, "/") {
		if part != "" && part != "." && part != ".." && strings.Contains(part, "..") {
			return true
		}
	}
	return false
}

func (c *checker) remote(what, entry string) {
	c.addHint(remoteHint, entry, "%s %q is remote; a render reads the repository and nothing else", what, redact.URL(entry))
}

// plugin checks an entry of generators, transformers or validators: an inline
// configuration, a file of them or a folder. changed says that Kustomize is to
// read inline instead of the entry; a file is replaced in the tree.
func (c *checker) plugin(what, entry string) (inline string, changed bool) {
	known := len(c.faults)
	stream, changed := c.ksops(what, []byte(entry), c.inline(entry))
	if !changed {
		stream = []byte(entry)
	}
	// Nodes, not resources: an id looks a kind up in the OpenAPI schema, which
	// Kustomize has not set yet.
	nodes, err := c.session.resources.RNodesFromBytes(stream)
	if err == nil {
		for _, node := range nodes {
			c.builtin(what, "", node)
		}
	}
	if changed && err != nil && len(c.faults) == known {
		c.add(entry, "%s inline: a document beside the ksops generator is no plugin configuration", what)
	}
	if changed || err == nil {
		return string(stream), changed
	}
	if c.root(what, entry); len(c.faults) == known {
		c.pluginPath(what, entry)
	}
	return "", false
}

// pluginPath checks a file of configurations; a folder is a build of its own.
func (c *checker) pluginPath(what, entry string) {
	target, dir, err := c.session.tree.stat(path.Join(c.dir, entry))
	if err != nil {
		return
	}
	if dir {
		c.session.generatorDirs[target] = c.session.generatorDirs[target] || what == "generator"
		return
	}
	content, err := fs.ReadFile(c.session.tree.fsys, target)
	if err != nil || yamldoc.CheckAliases(target, content) != nil {
		return // Kustomize reads it next and reports it
	}
	instead, changed := c.ksops(what, content, func(node *kyaml.Node) (string, place) {
		return fmt.Sprintf("%s:%d:%d", target, node.Line, node.Column), place{target, node.Line}
	})
	if changed {
		c.session.tree.replaced[target], content = instead, instead
	}
	listed, err := c.session.resources.RNodesFromBytes(content)
	if err != nil {
		return
	}
	for _, node := range listed {
		c.builtin(what, entry, node)
	}
}

// inline finds the nodes of an inline configuration in the kustomization: exactly
// in a literal block, which is how they are written, else at its start.
func (c *checker) inline(entry string) locator {
	return func(node *kyaml.Node) (string, place) {
		content, err := fs.ReadFile(c.session.tree.fsys, c.file)
		if err != nil {
			return c.file, place{file: c.file}
		}
		root, err := kyaml.Parse(string(content))
		if err != nil {
			return c.file, place{file: c.file}
		}
		block := scalarNode(root.YNode(), entry)
		if block == nil {
			return c.file, place{file: c.file}
		}
		line, column := block.Line, block.Column
		if lines := strings.Split(string(content), "\n"); block.Style&kyaml.LiteralStyle != 0 && line+node.Line <= len(lines) {
			line += node.Line
			raw := strings.TrimRight(lines[line-1], "\r")
			column = len(raw) - len(strings.Split(entry, "\n")[node.Line-1]) + node.Column
		}
		return fmt.Sprintf("%s:%d:%d", c.file, line, column), place{c.file, line}
	}
}

// builtin refuses a plugin that Kustomize would have to execute.
func (c *checker) builtin(what, entry string, node *kyaml.RNode) {
	if node.GetApiVersion() == konfig.BuiltinPluginApiVersion {
		return
	}
	in := "inline"
	if entry != "" {
		in = fmt.Sprintf("in %q", path.Join(c.dir, entry))
	}
	c.addHint(noPluginHint, entry, "%s %s has apiVersion %q, kind %q, which is not built into kustomize",
		what, in, node.GetApiVersion(), node.GetKind())
}

// remoteRoot reports whether Kustomize would clone entry with git or fetch it.
// Origin.Append is the exported way to its own parser of git addresses.
func remoteRoot(entry string) bool {
	return remoteFile(entry) || (&resource.Origin{}).Append(entry).Repo != ""
}

// localRoot refuses a remote path among the options.
func localRoot(entry string) error {
	if !remoteRoot(entry) {
		return nil
	}
	return diag.WithHint(fmt.Errorf("component %q is remote; a render reads the repository and nothing else", redact.URL(entry)), remoteHint)
}

// refuseRemote words the refusal of an address that a plugin wants to load.
func (s *session) refuseRemote(location string) error {
	return diag.WithHint(fmt.Errorf("%q is remote; a render reads the repository and nothing else", redact.URL(location)), remoteHint)
}

var (
	unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)
	wrongType    = regexp.MustCompile(`cannot unmarshal (\S+) into Go struct field ([A-Za-z0-9_.]+) of type (\S+)`)
)

// unmarshalFault gives the decoder's error a position and the words of YAML.
func (s *session) unmarshalFault(name string, err error) error {
	text := err.Error()
	if match := unknownField.FindStringSubmatch(text); match != nil {
		return &fault{
			message: fmt.Sprintf("%s%s: unknown field %q in a kustomization", name, locate(s.tree.fsys, name, match[1]), match[1]),
			cause:   err,
		}
	}
	if match := wrongType.FindStringSubmatch(text); match != nil {
		_, fields, _ := strings.Cut(match[2], ".") // behind the Go type
		field := fields[strings.LastIndexByte(fields, '.')+1:]
		return &fault{
			message: fmt.Sprintf("%s%s: field %q: got %s, want %s", name, locate(s.tree.fsys, name, field), fields, match[1], typeName(match[3])),
			cause:   err,
		}
	}
	if match := yamlLine.FindStringSubmatch(text); match != nil {
		return &fault{message: fmt.Sprintf("%s:%s: %s", name, match[1], withoutContentText(match[2])), cause: err}
	}
	return &fault{message: name + ": " + withoutContentText(text), cause: err}
}

// typeName says in YAML's words what a Go type stands for.
func typeName(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "list of " + typeName(goType[2:])
	case strings.HasPrefix(goType, "map["):
		return "map"
	case strings.HasPrefix(goType, "*"):
		return typeName(goType[1:])
	case strings.HasPrefix(goType, "types."):
		return "map"
	case strings.HasPrefix(goType, "int"):
		return "integer"
	}
	return goType
}

// misplaced refuses what only a generator could have meant: such an object is
// no resource of any cluster, and applied it would fail, or with a definition of
// that kind present leave ciphertext behind.
func misplaced(res *resource.Resource) bool {
	if gvk := res.GetGvk(); gvk.Group == "viaduct.ai" || (gvk.Group == "" && gvk.Version == konfig.BuiltinPluginApiVersion) {
		return true
	}
	annotations := res.GetAnnotations("config.kubernetes.io/function", "config.k8s.io/function")
	return len(annotations) > 0
}
