package chart

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"

	releaseutil3 "helm.sh/helm/v3/pkg/releaseutil"
	releaseutil4 "helm.sh/helm/v4/pkg/release/v1/util"
)

// manifest is one document that a template produced.
type manifest struct {
	source string // the template's name
	body   string // its YAML text
	value  any    // decoded; nil for a document of comments only
	kind   string
	hooks  []string // hook types, nil for an ordinary manifest
}

// printed is a document in the order of `helm template`.
type printed struct{ source, body string }

const notesFile = "NOTES.txt"

// collect does what Helm does with the engine's output: NOTES.txt and partials
// are left out, files are split into documents, those are sorted by kind in
// install order, hooks last (pkg/action/action.go renderResources,
// pkg/releaseutil/manifest_sorter.go, cmd/helm/template.go). Each document is
// decoded once, on all processors.
func collect(engine Engine, rendered map[string]string, o Options) ([]manifest, error) {
	var all []manifest
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		content := rendered[name]
		if strings.HasSuffix(name, notesFile) || strings.HasPrefix(path.Base(name), "_") || strings.TrimSpace(content) == "" {
			continue
		}
		for _, body := range split(engine, content) {
			all = append(all, manifest{source: name, body: body})
		}
	}
	faults := make([]error, len(all))
	object.Spread(len(all), func() func(int) {
		return func(i int) { faults[i] = all[i].decode() }
	})
	for _, err := range faults {
		if err != nil {
			return nil, err
		}
	}
	var ordinary, hooks []manifest
	for _, m := range all {
		switch {
		case m.hooks == nil:
			ordinary = append(ordinary, m)
		case o.SkipHooks, !knownHooks(m.hooks):
			// Helm drops a manifest with a hook type that it does not know.
		case o.SkipTests && slices.ContainsFunc(m.hooks, isTest):
		default:
			hooks = append(hooks, m)
		}
	}
	rank := installOrder(engine)
	byKind := func(a, b manifest) int { return compareKinds(rank, a.kind, b.kind) }
	slices.SortStableFunc(ordinary, byKind)
	slices.SortStableFunc(hooks, byKind)
	if len(ordinary) > 0 {
		// Helm trims the text of all manifests together before it adds the hooks.
		last := &ordinary[len(ordinary)-1]
		if trimmed := strings.TrimRightFunc(last.body, unicode.IsSpace); trimmed != last.body {
			last.body = trimmed
			if err := last.decode(); err != nil {
				return nil, err
			}
		}
	}
	return append(ordinary, hooks...), nil
}

// split cuts a template's output into documents in their order. The two
// versions of Helm differ in what they take for a separator.
func split(engine Engine, content string) []string {
	var docs map[string]string
	if engine == Helm4 {
		docs = releaseutil4.SplitManifests(content)
	} else {
		docs = releaseutil3.SplitManifests(content)
	}
	out := make([]string, len(docs))
	for key, doc := range docs {
		i, err := strconv.Atoi(strings.TrimPrefix(key, "manifest-"))
		if err != nil || i >= len(out) {
			continue // the keys are manifest-0 to manifest-(n-1)
		}
		out[i] = doc
	}
	return out
}

// decode parses the document and reads the head that sorting needs. Helm reads
// it into strings (SimpleHead), so a value that is not a scalar is an error.
func (m *manifest) decode() error {
	// Helm prints a line end behind each document, which a block scalar at its
	// end takes for its own.
	value, err := yamldoc.Decode(m.source, []byte(m.body+"\n"))
	if err != nil {
		return err
	}
	m.value = value
	if value == nil {
		return nil
	}
	doc, ok := value.(map[string]any)
	if !ok {
		return m.fault("the document is %s, want a mapping", describe(value))
	}
	if m.kind, err = m.scalar(doc, "kind"); err != nil {
		return err
	}
	if _, err := m.scalar(doc, "apiVersion"); err != nil {
		return err
	}
	metadata, ok := doc["metadata"].(map[string]any)
	if !ok {
		if doc["metadata"] != nil {
			return m.fault("metadata is %s, want a mapping", describe(doc["metadata"]))
		}
		return nil
	}
	if _, err := m.scalar(metadata, "name"); err != nil {
		return err
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		if metadata["annotations"] != nil {
			return m.fault("metadata.annotations is %s, want a mapping", describe(metadata["annotations"]))
		}
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if _, err := m.scalar(annotations, key); err != nil {
			return err
		}
	}
	if _, isHook := annotations["helm.sh/hook"]; isHook {
		list, err := m.scalar(annotations, "helm.sh/hook")
		if err != nil {
			return err
		}
		m.hooks = []string{}
		for h := range strings.SplitSeq(list, ",") {
			m.hooks = append(m.hooks, strings.ToLower(strings.TrimSpace(h)))
		}
	}
	return nil
}

func (m *manifest) fault(format string, args ...any) error {
	return &diag.Error{File: m.source, Msg: fmt.Sprintf(format, args...)}
}

// scalar reads a field as Helm reads it into a string.
func (m *manifest) scalar(in map[string]any, key string) (string, error) {
	switch v := in[key].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool, int64, float64:
		return fmt.Sprint(v), nil
	default:
		return "", m.fault("%s is %s, want a string", key, describe(v))
	}
}

func describe(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	}
	return "a mapping"
}

// hookTypes are the values of helm.sh/hook that Helm knows.
var hookTypes = []string{
	"pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade",
	"pre-rollback", "post-rollback", "test", "test-success",
}

func knownHooks(hooks []string) bool {
	return !slices.ContainsFunc(hooks, func(h string) bool { return !slices.Contains(hookTypes, h) })
}

func isTest(hook string) bool { return hook == "test" || hook == "test-success" }

func installOrder(engine Engine) map[string]int {
	rank := map[string]int{}
	if engine == Helm4 {
		for i, kind := range releaseutil4.InstallOrder {
			rank[kind] = i
		}
		return rank
	}
	for i, kind := range releaseutil3.InstallOrder {
		rank[kind] = i
	}
	return rank
}

// compareKinds is Helm's lessByKind: known kinds in install order, unknown ones
// last and by name.
func compareKinds(rank map[string]int, a, b string) int {
	ra, knownA := rank[a]
	rb, knownB := rank[b]
	switch {
	case !knownA && !knownB:
		return strings.Compare(a, b)
	case !knownA:
		return 1
	case !knownB:
		return -1
	}
	return ra - rb
}

// addManifests appends the objects and their texts.
func (o *Output) addManifests(manifests []manifest) {
	for _, m := range manifests {
		o.texts = append(o.texts, printed{m.source, m.body})
		if doc, ok := m.value.(map[string]any); ok {
			o.Objects = append(o.Objects, object.Object{Value: doc, Origin: m.source})
		}
	}
}

// decodeCRDs starts to decode the files of the crds/ folders while the engine
// runs, and returns a function that waits for them.
func (c *Chart) decodeCRDs(crds []namedFile) func(*Output) error {
	decoded := make([]*decodedFile, len(crds))
	done := make(chan struct{})
	for i, f := range crds {
		decoded[i] = c.decoded(f)
	}
	go func() {
		defer close(done)
		object.Spread(len(crds), func() func(int) {
			// The result is kept; the caller asks again and gets the error.
			return func(i int) { _, _ = decoded[i].decode(crds[i]) }
		})
	}()
	return func(o *Output) error {
		<-done
		for i, f := range crds {
			objects, err := decoded[i].decode(f)
			if err != nil {
				return err
			}
			o.texts = append(o.texts, printed{f.name, string(f.data)})
			o.Objects = append(o.Objects, objects...)
		}
		return nil
	}
}
