package stamp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/internal/object"
)

const extraJSON = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra", "namespace": "shop"}, "data": {}}`

// TestVerify plays what can happen to a stamped set. The set is web, login
// (a Secret) and settings, in this order.
func TestVerify(t *testing.T) {
	t.Parallel()
	const (
		web      = `shop/all.yaml:1: Deployment.apps "shop/web": `
		login    = `shop/all.yaml:11: Secret "shop/login": `
		settings = `shop/all.yaml:21: ConfigMap "shop/settings": `
	)
	stampedWith := func(t *testing.T, texts ...string) []object.Object {
		return apply(t, objects(t, texts...), Options{}).Objects
	}
	annotate := func(o object.Object, name string, value any) { o.Annotations()[name] = value }
	for _, test := range []struct {
		name    string
		disturb func(t *testing.T, set []object.Object) []object.Object
		// want has "reason message-prefix...", with hashes left out.
		want []string
	}{
		{"untouched", func(_ *testing.T, set []object.Object) []object.Object { return set }, nil},
		{"another order", func(_ *testing.T, set []object.Object) []object.Object { return shuffled(set, 7) }, nil},
		{"tracking added", func(_ *testing.T, set []object.Object) []object.Object {
			annotate(set[2], annotationTracking, "x")
			return set
		}, nil},
		{"object changed", func(_ *testing.T, set []object.Object) []object.Object {
			replace(set[2].Value, Path{"data", "mode"}, "slow")
			return set
		}, []string{"changed " + settings + "the object changed: its hash is H, its hallmark.dev/object-hash is H"}},
		{"secret's type changed", func(_ *testing.T, set []object.Object) []object.Object {
			replace(set[1].Value, Path{"type"}, "hunter3")
			return set
		}, []string{"changed " + login + "the object changed: its hash is H, its hallmark.dev/object-hash is H; a Secret also differs when it was stamped with another key, or with none"}},
		{"object missing", func(_ *testing.T, set []object.Object) []object.Object { return set[:2] },
			[]string{"incomplete " + web + "the set is not complete: its hallmark.dev/render-hash is H, the 2 stamped objects add up to H, so an object is missing or was added"}},
		{"object missing and another changed", func(_ *testing.T, set []object.Object) []object.Object {
			replace(set[2].Value, Path{"data", "mode"}, "slow")
			return set[1:]
		}, []string{
			"changed " + settings + "the object changed: its hash is H, its hallmark.dev/object-hash is H",
			"incomplete " + login + "the set is not complete: its hallmark.dev/render-hash is H, the 2 stamped objects add up to H, so an object is missing or was added",
		}},
		{"object added without a stamp", func(t *testing.T, set []object.Object) []object.Object {
			return append(set, objects(t, extraJSON)...)
		}, []string{`unstamped shop/all.yaml:1: ConfigMap "shop/extra": the object has no stamp: the annotation hallmark.dev/object-hash is missing`}},
		{"object added with a stamp of its own", func(t *testing.T, set []object.Object) []object.Object {
			return append(set, stampedWith(t, extraJSON)...)
		}, []string{
			`foreign shop/all.yaml:1: ConfigMap "shop/extra": the object is from another render: its hallmark.dev/render-hash is H, the set's is H`,
			"incomplete " + web + "the set is not complete: its hallmark.dev/render-hash is H, the 4 stamped objects add up to H, so an object is missing or was added",
		}},
		{"object added with the set's stamp", func(t *testing.T, set []object.Object) []object.Object {
			extra := stampedWith(t, extraJSON)[0]
			annotate(extra, AnnotationRenderHash, set[0].Annotations()[AnnotationRenderHash])
			return append(set, extra)
		}, []string{"incomplete " + web + "the set is not complete: its hallmark.dev/render-hash is H, the 4 stamped objects add up to H, so an object is missing or was added"}},
		{"object twice", func(_ *testing.T, set []object.Object) []object.Object { return append(set, set[0]) },
			[]string{"incomplete " + web + "the set is not complete: its hallmark.dev/render-hash is H, the 4 stamped objects add up to H, so an object is missing or was added"}},
		{"one object from another render", func(t *testing.T, set []object.Object) []object.Object {
			set[2] = stampedWith(t, webJSON, configJSON)[1]
			set[2].Line = 21
			return set
		}, []string{"foreign " + settings + "the object is from another render: its hallmark.dev/render-hash is H, the set's is H"}},
		{"most objects still carry an older render hash", func(t *testing.T, set []object.Object) []object.Object {
			older := stampedWith(t, webJSON, loginJSON, extraJSON)
			return append(older[:2], set[2])
		}, []string{
			"foreign " + web + "the object is from another render: its hallmark.dev/render-hash is H, the set's is H",
			"foreign " + login + "the object is from another render: its hallmark.dev/render-hash is H, the set's is H",
		}},
		{"stamp removed", func(_ *testing.T, set []object.Object) []object.Object {
			set[0] = Strip(set[0])
			return set
		}, []string{"unstamped " + web + "the object has no stamp: the annotation hallmark.dev/object-hash is missing"}},
		{"stamp removed and object changed", func(_ *testing.T, set []object.Object) []object.Object {
			set[0] = Strip(set[0])
			set[0].Value["spec"] = nil
			return set
		}, []string{
			"unstamped " + web + "the object has no stamp: the annotation hallmark.dev/object-hash is missing",
			"incomplete " + login + "the set is not complete: its hallmark.dev/render-hash is H, the 2 stamped objects add up to H, so an object is missing or was added",
		}},
		{"no stamp at all", func(_ *testing.T, set []object.Object) []object.Object {
			return []object.Object{Strip(set[0]), Strip(set[2])}
		}, []string{
			"unstamped " + web + "the object has no stamp: the annotation hallmark.dev/object-hash is missing",
			"unstamped " + settings + "the object has no stamp: the annotation hallmark.dev/object-hash is missing",
		}},
		{"half a stamp", func(_ *testing.T, set []object.Object) []object.Object {
			delete(set[2].Annotations(), AnnotationRenderHash)
			return set[2:]
		}, []string{"unstamped " + settings + "the object has no stamp: the annotation hallmark.dev/render-hash is missing"}},
		{"not a hash", func(_ *testing.T, set []object.Object) []object.Object {
			annotate(set[2], AnnotationObjectHash, int64(3))
			return set[2:]
		}, []string{"unstamped " + settings + `the object has no valid stamp: the annotation hallmark.dev/object-hash is "3", want sha256: and 64 hex digits`}},
		{"no objects", func(_ *testing.T, set []object.Object) []object.Object { return set[:0] }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set := test.disturb(t, stampedWith(t, webJSON, loginJSON, configJSON))
			report, err := Verify(set, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range report.Findings {
				if f.Object == (object.ID{}) || strings.Contains(f.Message, "\n") {
					t.Errorf("a finding without an object, or of several lines: %+v", f)
				}
				got = append(got, string(f.Reason)+" "+withoutHashes(f.Message))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if report.Objects != len(set) || report.OK() != (len(test.want) == 0) {
				t.Errorf("%d objects, OK is %t", report.Objects, report.OK())
			}
			if report.OK() && len(set) > 0 && report.RenderHash != report.Recorded {
				t.Errorf("no finding, but the render hash is %s, recorded is %s", report.RenderHash, report.Recorded)
			}
		})
	}
}

func withoutHashes(message string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(message, "sha256:")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		rest := strings.TrimLeft(after, "0123456789abcdef")
		if len(after)-len(rest) == 64 {
			out.WriteString("H")
		} else {
			out.WriteString("sha256:")
		}
		message = rest
	}
}

func TestVerifyNeedsTheOptionsOfApply(t *testing.T) {
	t.Parallel()
	id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	with := Options{Key: testKey, Ignore: map[object.ID][]Path{id: {{"data", "mode"}}}}
	set := apply(t, objects(t, webJSON, loginJSON, configJSON), with).Objects
	replace(set[2].Value, Path{"data", "mode"}, "another random value")
	if report, err := Verify(set, with); err != nil || !report.OK() {
		t.Errorf("with the same options: %+v, %v", report, err)
	}
	report, err := Verify(set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) != 2 || report.Findings[0].Object.Kind != "Secret" || report.Findings[1].Object != id {
		t.Errorf("with none: %+v", report.Findings)
	}
	for _, f := range report.Findings {
		if strings.Contains(f.Message, "hunter2") || strings.Contains(f.Message, "aHVudGVyMg") {
			t.Errorf("a secret value in %q", f.Message)
		}
	}
	if _, err := Verify(set, Options{Key: Key("short")}); err == nil {
		t.Error("a short key was accepted")
	}
}

// Argo CD writes the destination's namespace into objects that name none before
// it applies them, Secrets with keyed values included, and sorting by namespace
// changes with it.
func TestVerifyFilledNamespace(t *testing.T) {
	t.Parallel()
	opts := Options{Key: Key("0123456789abcdef")}
	set := apply(t, objects(t,
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}}`,
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "m"}}`,
		`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}, "stringData": {"x": "y"}}`,
	), opts).Objects
	fill := func(i int) {
		meta := set[i].Value["metadata"].(map[string]any)
		meta["namespace"] = "shop"
	}
	fill(0)
	fill(2)
	report, err := Verify(set, opts)
	if err != nil || !report.OK() || report.RenderHash != report.Recorded {
		t.Errorf("got %+v, %v", report, err)
	}
	replace(set[0].Value, Path{"data", "x"}, "z")
	if report, err = Verify(set, opts); err != nil || report.OK() || report.Findings[0].Reason != Changed {
		t.Errorf("a changed object: got %+v, %v", report, err)
	}
	// A namespace that was rendered counts.
	set[0].Value["data"] = map[string]any{"x": "y"}
	fill(1)
	if report, err = Verify(set, opts); err != nil || report.OK() {
		t.Errorf("another namespace: got %+v, %v", report, err)
	}
}
