package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/stamp"
)

const (
	web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
`
	settings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {mode: fast, size: small}
`
)

type objectCase struct {
	name, from, to string
	want           string
	unchanged      int
}

func (tt objectCase) run(t *testing.T) {
	t.Parallel()
	objects, counts := Objects(shop(t, tt.from), shop(t, tt.to))
	if diff := cmp.Diff(trimmed(tt.want), told(objects)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want := Counts{Unchanged: tt.unchanged}
	for _, o := range objects {
		switch o.Change {
		case Added:
			want.Added++
		case Removed:
			want.Removed++
		default:
			want.Changed++
		}
		if (o.Before == nil) != (o.Change == Added) || (o.After == nil) != (o.Change == Removed) {
			t.Errorf("%s %s: before %q, after %q", o.Change, o.ID, o.Before, o.After)
		}
	}
	if counts != want {
		t.Errorf("got %+v, want %+v", counts, want)
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	for _, tt := range []objectCase{
		{name: "nothing", from: "", to: ""},
		{name: "equal", from: web + "---" + settings, to: settings + "---" + web, unchanged: 2},
		{name: "added and removed", from: web, to: settings, want: `
			added ConfigMap "settings"
			removed Deployment.apps "web"`},
		{name: "the destination's namespace", from: web, to: strings.Replace(web, "name: web", "name: web, namespace: shop", 1), unchanged: 1},
		{name: "another namespace", from: settings, to: strings.Replace(settings, "name: settings", "name: settings, namespace: prod", 1), want: `
			removed ConfigMap "settings"
			added ConfigMap "prod/settings"`},
		{name: "the destination's namespace and a change", from: settings, to: strings.Replace(strings.Replace(settings, "name: settings", "name: settings, namespace: shop", 1), "fast", "slow", 1), want: `
			changed ConfigMap "shop/settings"
			  ~ data.mode: fast -> slow`},
		{name: "another version", from: web, to: strings.Replace(web, "apps/v1", "apps/v2", 1), want: `
			changed Deployment.apps "web"
			  ~ apiVersion: apps/v1 -> apps/v2`},
		{name: "another group", from: strings.Replace(web, "apps/v1", "extensions/v1beta1", 1), to: web, want: `
			changed Deployment.apps "web" was Deployment.extensions "web"
			  ~ apiVersion: extensions/v1beta1 -> apps/v1`},
		{name: "two other groups", from: strings.Replace(web, "apps/v1", "a.example.com/v1", 1) + "---" + strings.Replace(web, "apps/v1", "b.example.com/v1", 1), to: web, want: `
			removed Deployment.a.example.com "web"
			added Deployment.apps "web"
			removed Deployment.b.example.com "web"`},
		{name: "names that the API server completes",
			from: "{apiVersion: batch/v1, kind: Job, metadata: {generateName: a-}, spec: {x: 1}}\n---\n{apiVersion: batch/v1, kind: Job, metadata: {generateName: b-}, spec: {x: 2}}",
			to:   "{apiVersion: batch/v1, kind: Job, metadata: {generateName: b-}, spec: {x: 2}}\n---\n{apiVersion: batch/v1, kind: Job, metadata: {generateName: a-}, spec: {x: 3}}", want: `
			changed Job.batch "a-"
			  ~ spec.x: 1 -> 3`, unchanged: 1},
		{name: "one name for several, of which one is new",
			from: "{apiVersion: batch/v1, kind: Job, metadata: {generateName: a-}, spec: {x: 1, y: 1}}",
			to:   "{apiVersion: batch/v1, kind: Job, metadata: {generateName: a-}, spec: {x: 2, z: 1}}\n---\n{apiVersion: batch/v1, kind: Job, metadata: {generateName: a-}, spec: {x: 1, y: 1}}", want: `
			added Job.batch "a-"`, unchanged: 1},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestStampsAreNoDifference(t *testing.T) {
	t.Parallel()
	stamped := func(stream, revision string) []object.Object {
		result, err := stamp.Apply(decoded(t, stream), stamp.Provenance{InputsHash: revision, SourceRevision: revision, Renderer: revision}, stamp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return result.Objects
	}
	annotated := strings.Replace(web, "name: web", "name: web, annotations: {argocd.argoproj.io/tracking-id: x, argocd.argoproj.io/installation-id: y}", 1)
	for _, tt := range []struct {
		name, from, to, want string
	}{
		{"equal", web, web, ""},
		{"tracking", web, annotated, ""},
		{"empty annotations", web, strings.Replace(web, "name: web", "name: web, annotations: {}", 1), ""},
		{"no annotations", strings.Replace(web, "name: web", "name: web, annotations: null", 1), web, ""},
		{"an annotation", web, strings.Replace(web, "name: web", "name: web, annotations: {team: a}", 1), `
			changed Deployment.apps "web"
			  + metadata.annotations.team: a`},
		{"the config hash", web + "  template: {metadata: {annotations: {hallmark.dev/config-hash: a}}}", web + "  template: {metadata: {annotations: {hallmark.dev/config-hash: b}}}", `
			changed Deployment.apps "web"
			  ~ spec.template.metadata.annotations["hallmark.dev/config-hash"]: a -> b`},
		{"a stamp in a pod template", web, web + "  template: {metadata: {annotations: {hallmark.dev/renderer: a}}}", `
			changed Deployment.apps "web"
			  + spec.template: {"metadata":{"annotations":{"hallmark.dev/renderer":"a"}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, pair := range [][2][]object.Object{{stamped(tt.from, "1"), stamped(tt.to, "2")}, {decoded(t, tt.from), stamped(tt.to, "2")}} {
				before := fmt.Sprint(pair)
				objects, _ := Objects(Rendered{Objects: pair[0]}, Rendered{Objects: pair[1]})
				if diff := cmp.Diff(trimmed(tt.want), told(objects)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				for _, o := range objects {
					if text := string(o.Before) + string(o.After); strings.Contains(text, "object-hash") {
						t.Errorf("the stamp is shown:\n%s", text)
					}
				}
				if fmt.Sprint(pair) != before {
					t.Error("the objects were changed")
				}
			}
		})
	}
}

func TestUnstable(t *testing.T) {
	t.Parallel()
	id := object.ID{Kind: "ConfigMap", Name: "settings"}
	paths := func(pointers ...string) map[object.ID][]stamp.Path {
		out := map[object.ID][]stamp.Path{}
		for _, p := range pointers {
			path, err := stamp.ParsePath(p)
			if err != nil {
				t.Fatal(err)
			}
			out[id] = append(out[id], path)
		}
		return out
	}
	slow := strings.Replace(settings, "fast", "slow", 1)
	listed := "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, list: %s}"
	for _, tt := range []struct {
		name, from, to         string
		unstable, unstableToo  map[object.ID][]stamp.Path
		want, before, mustHave string
	}{
		{name: "on both sides", from: settings, to: slow, unstable: paths("/data/mode"), unstableToo: paths("/data/mode")},
		{name: "in From", from: settings, to: slow, unstable: paths("/data/mode")},
		{name: "in To", from: settings, to: slow, unstableToo: paths("/data/mode")},
		{name: "beside a change", from: settings, to: strings.Replace(slow, "small", "large", 1), unstable: paths("/data/mode"), want: `
			changed ConfigMap "settings"
			  ~ data.size: small -> large`, mustHave: "mode: (differs from render to render)"},
		{name: "new", from: strings.Replace(settings, "mode: fast, ", "", 1), to: settings, unstableToo: paths("/data/mode"), want: `
			changed ConfigMap "settings"
			  + data.mode: (differs from render to render)`},
		{name: "not there", from: settings, to: slow, unstable: paths("/data/other", "/data/mode/deeper", "/list/0"), want: `
			changed ConfigMap "settings"
			  ~ data.mode: fast -> slow`},
		{name: "the whole object", from: settings, to: slow, unstable: map[object.ID][]stamp.Path{id: {{}}}},
		{name: "in a list that moved", from: fmt.Sprintf(listed, "[a, x1]"), to: fmt.Sprintf(listed, "[new, a, x2]"),
			unstable: paths("/list/1"), unstableToo: paths("/list/2"), want: `
			changed ConfigMap "settings"
			  + list[0]: new`},
		{name: "of another object", from: settings, to: slow, unstable: map[object.ID][]stamp.Path{{Kind: "Secret", Name: "settings"}: {{"data"}}}, want: `
			changed ConfigMap "settings"
			  ~ data.mode: fast -> slow`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from, to := shop(t, tt.from), shop(t, tt.to)
			from.Unstable, to.Unstable = tt.unstable, tt.unstableToo
			objects, _ := Objects(from, to)
			if diff := cmp.Diff(trimmed(tt.want), told(objects)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, o := range objects {
				if text := string(o.Before) + string(o.After); !strings.Contains(text, tt.mustHave) {
					t.Errorf("got %s, want %s in it", text, tt.mustHave)
				}
			}
		})
	}
}

func TestHide(t *testing.T) {
	t.Parallel()
	const login = `
apiVersion: example.com/v1
kind: Login
metadata: {name: s3cr3t-name}
spec: {s3cr3t-key: %q, items: [{name: s3cr3t-item, value: %q}], new: %s}
`
	hide := func(s string) string {
		return strings.NewReplacer("s3cr3t-old", "(secret)", "s3cr3t-new", "(secret)", "s3cr3t", "(secret)").Replace(s)
	}
	from := shop(t, fmt.Sprintf(login, "s3cr3t-old", "a", "{}"))
	to := shop(t, fmt.Sprintf(login, "s3cr3t-new", "a s3cr3t", "{s3cr3t: [s3cr3t]}"))
	from.Hide, to.Hide = hide, hide
	objects, _ := Objects(from, to)
	want := trimmed(`
			changed Login.example.com "(secret)-name"
			  ~ spec.items[(secret)-item].value: a -> a (secret)
			  + spec.new.(secret): ["(secret)"]
			  ~ spec.(secret)-key hidden`)
	if diff := cmp.Diff(want, told(objects)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// What one side decrypts is hidden on both.
	for _, side := range []*Rendered{&from, &to} {
		side.Hide = nil
		alone, _ := Objects(from, to)
		if diff := cmp.Diff(want, told(alone)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		objects = append(objects, alone...)
		side.Hide = hide
	}
	for _, o := range objects {
		if all := fmt.Sprintf("%s %s %+v", o.Before, o.After, o); strings.Contains(all, "s3cr3t") {
			t.Errorf("got %s", all)
		}
	}
}

func TestLargeTexts(t *testing.T) {
	t.Parallel()
	large := strings.Replace(settings, "small", strings.Repeat("x", MaxText), 1)
	objects, _ := Objects(shop(t, settings), shop(t, large))
	if len(objects) != 1 || len(objects[0].Fields) != 1 || objects[0].Before != nil || objects[0].After != nil {
		t.Errorf("got %.200v", objects)
	}
}
