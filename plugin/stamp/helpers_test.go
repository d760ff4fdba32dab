package stamp

import (
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
)

const webJSON = `{
  "apiVersion": "apps/v1", "kind": "Deployment",
  "metadata": {
    "name": "web", "namespace": "shop",
    "labels": {"app": "web", "app.kubernetes.io/instance": "shop-web"},
    "annotations": {"team": "a", "argocd.argoproj.io/tracking-id": "shop-web:apps/Deployment:shop/web", "argocd.argoproj.io/installation-id": "prod"}
  },
  "spec": {
    "replicas": 3, "paused": false, "strategy": null, "weight": 0.25,
    "template": {
      "metadata": {"annotations": {"argocd.argoproj.io/tracking-id": "kept", "hallmark.dev/renderer": "kept"},
                   "labels": {"app.kubernetes.io/instance": "kept"}},
      "spec": {"containers": [
        {"name": "web", "image": "web:1", "args": ["-a", "<&>é\u2028"], "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"name": "side", "image": "side:1", "args": []}]}
    }
  }
}`

const loginJSON = `{
  "apiVersion": "v1", "kind": "Secret",
  "metadata": {"name": "login", "namespace": "shop"},
  "type": "Opaque",
  "data": {"password": "aHVudGVyMg==", "same": "aHVudGVyMg=="},
  "stringData": {"password": "hunter2"}
}`

const configJSON = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}, "data": {"mode": "fast"}}`

var testKey = Key("0123456789abcdef")

// decode reads an object as the renderers do: whole numbers are int64.
func decode(tb testing.TB, text string) map[string]any {
	tb.Helper()
	value, err := decodeObject(text)
	if err != nil {
		tb.Fatalf("decoding %s: %v", text, err)
	}
	return value
}

func decodeObject(text string) (map[string]any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value map[string]any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	if value == nil {
		return nil, errors.New("null is not an object")
	}
	number := error(nil)
	convert(value, func(leaf any) any {
		n, ok := leaf.(json.Number)
		if !ok {
			return leaf
		}
		if i, err := n.Int64(); err == nil {
			return i
		}
		f, err := n.Float64()
		number = errors.Join(number, err)
		return f
	})
	return value, number
}

// convert replaces each leaf of v, in place.
func convert(v any, leaf func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			v[key] = convert(field, leaf)
		}
		return v
	case []any:
		for i, item := range v {
			v[i] = convert(item, leaf)
		}
		return v
	}
	return leaf(v)
}

// leaves lists the paths of all leaves of v; an empty map or list is a leaf.
func leaves(v any, at Path) []Path {
	var out []Path
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			out = append(out, leaves(field, append(at[:len(at):len(at)], key))...)
		}
	case []any:
		for i, item := range v {
			out = append(out, leaves(item, append(at[:len(at):len(at)], i))...)
		}
	}
	if out == nil {
		return []Path{at}
	}
	return out
}

func lookup(v any, path Path) any {
	for _, element := range path {
		switch element := element.(type) {
		case string:
			v = v.(map[string]any)[element]
		case int:
			v = v.([]any)[element]
		}
	}
	return v
}

// replace sets the field at path, in place.
func replace(root map[string]any, path Path, value any) {
	parent := lookup(root, path[:len(path)-1])
	switch last := path[len(path)-1].(type) {
	case string:
		parent.(map[string]any)[last] = value
	case int:
		parent.([]any)[last] = value
	}
}

// other returns a value that differs from v after canonicalization as well.
func other(v any) any {
	switch v := v.(type) {
	case string:
		return v + "x"
	case bool:
		return !v
	case int64:
		if v == 1 {
			return int64(2)
		}
		return int64(1)
	case float64:
		if v == 1 {
			return int64(2)
		}
		return int64(1)
	}
	return "other"
}

func objects(tb testing.TB, texts ...string) []object.Object {
	tb.Helper()
	out := make([]object.Object, len(texts))
	for i, text := range texts {
		out[i] = object.Object{Value: decode(tb, text), Origin: "shop/all.yaml", Line: 10*i + 1}
	}
	return out
}

func hashOf(tb testing.TB, value map[string]any, opts Options) string {
	tb.Helper()
	hashes, err := objectHashes([]object.Object{{Value: value, Origin: "test.yaml"}}, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return hashes[0]
}

func apply(tb testing.TB, objs []object.Object, opts Options) Result {
	tb.Helper()
	result, err := Apply(objs, Provenance{InputsHash: "sha256:1", SourceRevision: "abc", Renderer: "plain/v1"}, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return result
}

func shuffled(objs []object.Object, seed uint64) []object.Object {
	out := append([]object.Object(nil), objs...)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] }) //nolint:gosec // a repeatable order is the point
	return out
}
