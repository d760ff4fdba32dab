package stamp

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/internal/object"
)

func TestApplyWritesTheFiveAnnotations(t *testing.T) {
	t.Parallel()
	in := objects(t, webJSON, `{"apiVersion": "v1", "kind": "Namespace"}`, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "annotations": null}}`)
	before := fmt.Sprint(in)
	result, err := Apply(in, Provenance{InputsHash: "sha256:in", SourceRevision: "c0ffee", Renderer: "helm3/v3.22.0"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if after := fmt.Sprint(in); after != before {
		t.Errorf("Apply changed what it was given: %s\nwas %s", after, before)
	}
	if len(result.Objects) != len(in) || len(result.ObjectHashes) != len(in) {
		t.Fatalf("%d objects, %d hashes, want %d", len(result.Objects), len(result.ObjectHashes), len(in))
	}
	for i, o := range result.Objects {
		want := map[string]any{
			AnnotationObjectHash:     result.ObjectHashes[i],
			AnnotationRenderHash:     result.RenderHash,
			AnnotationInputsHash:     "sha256:in",
			AnnotationSourceRevision: "c0ffee",
			AnnotationRenderer:       "helm3/v3.22.0",
		}
		maps.Copy(want, in[i].Annotations())
		if diff := cmp.Diff(want, o.Annotations()); diff != "" {
			t.Errorf("annotations of object %d (-want +got):\n%s", i, diff)
		}
		if o.At() != in[i].At() {
			t.Errorf("object %d is from %s, want %s", i, o.At(), in[i].At())
		}
		for _, hash := range []string{result.ObjectHashes[i], result.RenderHash} {
			if !isDigest(hash) {
				t.Errorf("%q is not a digest", hash)
			}
		}
	}
	if diff := cmp.Diff(in[0].Value["spec"], result.Objects[0].Value["spec"]); diff != "" {
		t.Errorf("the stamp reached the spec (-want +got):\n%s", diff)
	}
}

func TestApplyWithoutRevision(t *testing.T) {
	t.Parallel()
	first := apply(t, objects(t, webJSON), Options{})
	second, err := Apply(first.Objects, Provenance{InputsHash: "sha256:2", Renderer: "plain/v1"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	annotations := second.Objects[0].Annotations()
	if revision, ok := annotations[AnnotationSourceRevision]; ok {
		t.Errorf("the revision of the earlier stamp stayed: %v", revision)
	}
	if got := annotations[AnnotationInputsHash]; got != "sha256:2" {
		t.Errorf("the inputs hash of the earlier stamp stayed: %v", got)
	}
	if second.RenderHash != first.RenderHash {
		t.Errorf("a second stamp has render hash %s, the first %s", second.RenderHash, first.RenderHash)
	}
}

func TestApplyListsEveryFault(t *testing.T) {
	t.Parallel()
	var in []object.Object
	for i := range 30 {
		in = append(in, object.Object{
			Origin: "a.yaml", Line: i + 1,
			Value: map[string]any{"kind": "A", "metadata": map[string]any{"name": "n", "annotations": "hunter2"}},
		})
	}
	result, err := Apply(in, Provenance{}, Options{})
	if err == nil || result.Objects != nil {
		t.Fatalf("got %d objects and error %v", len(result.Objects), err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 21 || lines[20] != "and 10 more" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	if want := `a.yaml:1: A "n": metadata.annotations is a string, want a map`; lines[0] != want {
		t.Errorf("got  %s\nwant %s", lines[0], want)
	}
}

// TestRenderHash fixes the definition: a change here is a new format version.
func TestRenderHash(t *testing.T) {
	t.Parallel()
	result := apply(t, objects(t, webJSON, loginJSON, configJSON), Options{})
	if want := "sha256:47989145dd126db3652ac2b08fb9b1996d0b6aaf2ff091433bed40ea66c6d370"; result.RenderHash != want {
		t.Errorf("got %s, want %s", result.RenderHash, want)
	}
	if empty := apply(t, nil, Options{}).RenderHash; empty != digest(nil) {
		t.Errorf("the hash of no objects is %s, want that of no text", empty)
	}
}

func TestOrderDoesNotCount(t *testing.T) {
	t.Parallel()
	hook := `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "hook-"}, "spec": {"n": %d}}`
	in := objects(t, webJSON, loginJSON, configJSON, fmt.Sprintf(hook, 1), fmt.Sprintf(hook, 2), fmt.Sprintf(hook, 3))
	want := apply(t, in, Options{}).RenderHash
	for seed := range uint64(20) {
		if got := apply(t, shuffled(in, seed), Options{}).RenderHash; got != want {
			t.Fatalf("shuffled with seed %d: %s, want %s", seed, got, want)
		}
	}
}

func TestOneChangeMovesOneObject(t *testing.T) {
	t.Parallel()
	before := apply(t, objects(t, webJSON, loginJSON, configJSON), Options{})
	after := apply(t, objects(t, webJSON, loginJSON, strings.Replace(configJSON, "fast", "slow", 1)), Options{})
	for i, moved := range []bool{false, false, true} {
		if got := before.ObjectHashes[i] != after.ObjectHashes[i]; got != moved {
			t.Errorf("hash of object %d moved is %t, want %t", i, got, moved)
		}
	}
	if before.RenderHash == after.RenderHash {
		t.Error("the render hash did not move")
	}
}

func TestEveryLeafCounts(t *testing.T) {
	t.Parallel()
	base := decode(t, webJSON)
	want := hashOf(t, base, Options{})
	exempt := map[string]bool{
		"/metadata/labels/app.kubernetes.io~1instance":          true,
		"/metadata/annotations/argocd.argoproj.io~1tracking-id": true, "/metadata/annotations/argocd.argoproj.io~1installation-id": true,
	}
	for _, path := range leaves(base, nil) {
		changed := decode(t, webJSON)
		replace(changed, path, other(lookup(changed, path)))
		if same := hashOf(t, changed, Options{}) == want; same != exempt[path.Pointer()] {
			t.Errorf("after a change of %s the hash is unchanged: %t", path.Pointer(), same)
		}
	}
}

// TestTracking plays what Argo CD does to an object after it was rendered:
// either way of tracking, with or without maps to put it in.
func TestTracking(t *testing.T) {
	t.Parallel()
	for _, meta := range []string{
		`{"name": "n"}`,
		`{"name": "n", "labels": {}, "annotations": {}}`,
		`{"name": "n", "labels": null, "annotations": null}`,
		`{"name": "n", "labels": {"a": "b"}, "annotations": {"c": "d"}}`,
	} {
		text := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": ` + meta + `}`
		want := hashOf(t, decode(t, text), Options{})
		for field, key := range map[string]string{"labels": labelInstance, "annotations": annotationTracking} {
			value := decode(t, text)
			m := value["metadata"].(map[string]any)
			tracked, _ := m[field].(map[string]any)
			if tracked == nil {
				tracked = make(map[string]any)
				m[field] = tracked
			}
			tracked[key] = "app"
			if got := hashOf(t, value, Options{}); got != want {
				t.Errorf("%s with %s %s: %s, want %s", meta, field, key, got, want)
			}
		}
	}
}

// TestHookFinalizer plays what Argo CD 3 does to a hook.
func TestHookFinalizer(t *testing.T) {
	t.Parallel()
	hash := func(finalizers string) string {
		return hashOf(t, decode(t, `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "n"`+finalizers+`}}`), Options{})
	}
	const own, argo = `"example.com/own"`, `"argocd.argoproj.io/hook-finalizer"`
	for _, pair := range [][2]string{
		{``, `, "finalizers": [` + argo + `]`},
		{`, "finalizers": []`, `, "finalizers": [` + argo + `]`},
		{`, "finalizers": null`, ``},
		{`, "finalizers": [` + own + `]`, `, "finalizers": [` + own + `, ` + argo + `]`},
	} {
		if hash(pair[0]) != hash(pair[1]) {
			t.Errorf("%q and %q have different hashes", pair[0], pair[1])
		}
	}
	if hash(``) == hash(`, "finalizers": [`+own+`]`) {
		t.Error("a finalizer of another writer does not count")
	}
}

func TestIgnore(t *testing.T) {
	t.Parallel()
	id := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	pointer := func(s string) Path {
		p, err := ParsePath(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	env := []any{"spec", "template", "spec", "containers", 0, "env"}
	opts := Options{Ignore: map[object.ID][]Path{id: {
		append(env[:6:6], 0),
		append(env[:6:6], 1, "value"),
		pointer("/spec/template/spec/containers/1"),
		pointer("/metadata/annotations/team"),
		{"spec", "absent", 3, "x"},
		{"spec", "replicas", "deeper"},
	}}}
	value := decode(t, webJSON)
	before := fmt.Sprint(value)
	text, err := Canonical(object.Object{Value: value}, opts)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"app":"web"},"name":"web","namespace":"shop"},` +
		`"spec":{"paused":false,"replicas":3,"strategy":null,"template":{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"kept","hallmark.dev/renderer":"kept"},"labels":{"app.kubernetes.io/instance":"kept"}},` +
		"\"spec\":{\"containers\":[{\"args\":[\"-a\",\"<&>é\u2028\"],\"env\":[{\"name\":\"B\"}],\"image\":\"web:1\",\"name\":\"web\"}]}},\"weight\":0.25}}"
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if after := fmt.Sprint(value); after != before {
		t.Errorf("the object changed: %s\nwas %s", after, before)
	}
	if hashOf(t, decode(t, configJSON), opts) != hashOf(t, decode(t, configJSON), Options{}) {
		t.Error("the paths of one object count for another")
	}
	for range 3 {
		random := decode(t, webJSON)
		replace(random, append(env[:6:6], 1, "value"), strings.Repeat("r", 8))
		if got := hashOf(t, random, opts); got != hashOf(t, value, opts) {
			t.Errorf("an ignored field counts: %s", got)
		}
	}
}

// FuzzStamp checks the promises of the package on any object: stamping reads
// only, is idempotent, comes off again, and every change of a leaf shows.
func FuzzStamp(f *testing.F) {
	for _, seed := range []string{webJSON, loginJSON, configJSON, `{}`, `{"metadata": {}}`,
		`{"metadata": {"annotations": {"hallmark.dev/render-hash": 3}, "labels": []}, "a": [[], {}, null, 1e300]}`} {
		f.Add(seed, uint(3))
	}
	f.Fuzz(func(t *testing.T, text string, pick uint) {
		value, err := decodeObject(text)
		if err != nil {
			t.Skip("not an object")
		}
		in := []object.Object{{Value: value, Origin: "f.yaml"}}
		before := fmt.Sprint(value)
		opts := Options{Key: testKey}
		result, err := Apply(in, Provenance{SourceRevision: "r", Renderer: "plain/v1"}, opts)
		if err != nil {
			if !strings.Contains(err.Error(), "metadata") {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		if after := fmt.Sprint(value); after != before {
			t.Errorf("Apply changed what it was given: %s\nwas %s", after, before)
		}
		again := apply(t, result.Objects, opts)
		if again.RenderHash != result.RenderHash {
			t.Errorf("stamped twice: %s, once: %s", again.RenderHash, result.RenderHash)
		}
		stripped := Strip(result.Objects[0])
		if got := apply(t, []object.Object{stripped}, opts).RenderHash; got != result.RenderHash {
			t.Errorf("stamped and stripped: %s, before: %s", got, result.RenderHash)
		}
		if report, err := Verify(result.Objects, opts); err != nil || !report.OK() || report.RenderHash != result.RenderHash {
			t.Errorf("Verify: %+v, %v", report, err)
		}

		all := leaves(value, nil)
		path := all[pick%uint(len(all))]
		if len(path) == 0 || path[0] == "metadata" {
			return
		}
		replace(result.Objects[0].Value, path, other(lookup(value, path)))
		changed, err := Verify(result.Objects, opts)
		if err != nil {
			t.Fatal(err)
		}
		if changed.OK() || changed.Findings[0].Reason != Changed {
			t.Errorf("after a change of %s: %+v", path.Pointer(), changed)
		}
	})
}

// A kept hash is used for the object alone: not under another key or with
// fields to ignore, and not for a value that was stamped.
func TestMemo(t *testing.T) {
	t.Parallel()
	value := func(data string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": data}}
	}
	memo := &object.Memo{}
	kept := object.Object{Value: value("v"), Memo: memo}
	first, err := Apply([]object.Object{kept}, Provenance{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if first.Objects[0].Memo != nil {
		t.Error("the stamped object carries the memo of the other value")
	}
	// The memo answers: it is not looked at what the value is.
	again, err := Apply([]object.Object{{Value: value("w"), Memo: memo}}, Provenance{}, Options{})
	if err != nil || again.ObjectHashes[0] != first.ObjectHashes[0] {
		t.Errorf("got hash %v and error %v, want the kept %v", again.ObjectHashes, err, first.ObjectHashes)
	}
	ignore := Options{Ignore: map[object.ID][]Path{kept.ID(): {{"data", "k"}}}}
	without, err := Apply([]object.Object{kept}, Provenance{}, ignore)
	if err != nil || without.ObjectHashes[0] == first.ObjectHashes[0] {
		t.Errorf("got hash %v and error %v with a field ignored, want another one", without.ObjectHashes, err)
	}
}
