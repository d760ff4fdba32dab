package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTokenChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to, old, by string
		ok                bool
	}{
		{"redis-1.4.0", "redis-1.5.0", "1.4.0", "1.5.0", true},
		{"v1.4.0", "v1.5.0", "", "", false},
		{"docker.io/library/redis:7", "registry.example.com/library/redis:7", "docker.io", "registry.example.com", true},
		{"docker.io/redis:7", "registry.example.com/mirror/redis:7", "docker.io", "registry.example.com/mirror", true},
		{"redis:7", "docker.io/redis:7", "", "docker.io/", true},
		{"docker.io/redis:7", "redis:7", "docker.io/", "", true},
		{"harbor/core:v2.13.4", "docker.io/harbor/core:v2.15.1", "…v2.13.4", "docker.io/…v2.15.1", true},
		{"a 1.4.0 and 1.4.0", "a 1.5.0 and 1.5.0", "1.4.0", "1.5.0", true},
		{"a-1.4.0/b-2.0.0", "a-1.5.0/b-2.1.0", "", "", false}, // the words in common are short
		{"app-1.4.0/web-2.0.0", "app-1.5.0/web-2.1.0", "…1.4.0…2.0.0", "…1.5.0…2.1.0", true},
		{"redis:7", "redis:8", "", "", false},
		{"a-b", "c-d", "", "", false},
		{"", "redis", "", "", false},
		{"web-ä.1", "web-ö.1", "", "", false},
		{"web-äöü", "web-üöä", "", "", false},
		{"web-\xff\xff\xff", "web-\xfe", "\xff\xff\xff", "\xfe", true},
	} {
		old, by, ok := tokenChange(tt.from, tt.to)
		if old != tt.old || by != tt.by || ok != tt.ok {
			t.Errorf("%q, %q: got %q, %q, %t", tt.from, tt.to, old, by, ok)
		}
	}
}

// changed is a field that differs.
func changed(path string, from, to any) Field {
	return Field{Path: path, Change: Changed, From: from, To: to}
}

func added(path string, to any) Field { return Field{Path: path, Change: Added, To: to} }

func removed(path string, from any) Field { return Field{Path: path, Change: Removed, From: from} }

// toldCause is a cause as one line.
func toldCause(c Cause) string {
	text := fmt.Sprintf("%d %s %s", c.Objects, c.Change, c.Path)
	if c.Whole || c.From != "" || c.To != "" {
		text += fmt.Sprintf(": %q -> %q", c.From, c.To)
	}
	if c.Whole {
		text += " whole"
	}
	return text + " in " + strings.Join(c.Applications, ", ")
}

func TestCauses(t *testing.T) {
	t.Parallel()
	sum := func(digit string) string { return strings.Repeat(digit, 64) }
	const image = "spec.template.spec.containers[%s].image"
	for _, tt := range []struct {
		name string
		// fields are those of objects, one row each, by application.
		fields [][][]Field
		want   string
		causes string // of all fields, in their order
	}{
		{name: "one object", fields: [][][]Field{{{changed("a", "x", "y"), changed("b[1]", "x", "y"), changed("b[2]", "x", "y")}}}, causes: "-1 -1 -1"},
		{name: "the same values in two objects",
			fields: [][][]Field{{{changed("a", "x", "y")}, {changed("a", "x", "y")}, {changed("a", "x", "z")}}},
			want:   `2 changed a: "x" -> "y" whole in app0`, causes: "0 0 -1"},
		{name: "in two applications",
			fields: [][][]Field{{{changed("a", int64(1), int64(2))}}, {{changed("a", int64(1), int64(2))}}},
			want:   `2 changed a: "1" -> "2" whole in app0, app1`, causes: "0 0"},
		{name: "a number and a string", fields: [][][]Field{{{changed("a", int64(1), int64(2))}, {changed("a", "1", "2")}}}, causes: "-1 -1"},
		{name: "names of items",
			fields: [][][]Field{{{changed(fmt.Sprintf(image, "a"), "r:1", "r:2")}, {changed(fmt.Sprintf(image, "b"), "r:1", "r:2")}}},
			want:   `2 changed spec.template.spec.containers[*].image: "r:1" -> "r:2" whole in app0`, causes: "0 0"},
		{name: "the same name of items",
			fields: [][][]Field{{{changed(fmt.Sprintf(image, "a"), "r:1", "r:2")}, {changed(fmt.Sprintf(image, "a"), "r:1", "r:2")}}},
			want:   `2 changed spec.template.spec.containers[a].image: "r:1" -> "r:2" whole in app0`, causes: "0 0"},
		{name: "pod templates and their containers",
			fields: [][][]Field{{
				{changed("spec.template.spec.containers[a].image", "r:1", "r:2"), changed("spec.template.spec.initContainers[b].image", "r:1", "r:2")},
				{changed("spec.jobTemplate.spec.template.spec.containers[a].image", "r:1", "r:2")},
			}},
			want: `2 changed *.template.spec.*[*].image: "r:1" -> "r:2" whole in app0`, causes: "0 0 0"},
		{name: "labels of objects and of pods",
			fields: [][][]Field{{
				{changed(`metadata.labels["helm.sh/chart"]`, "web-1.0", "web-2.0"), changed(`spec.template.metadata.labels["helm.sh/chart"]`, "web-1.0", "web-2.0")},
				{changed(`metadata.labels["helm.sh/chart"]`, "web-1.0", "web-2.0")},
			}},
			want: `2 changed metadata.labels["helm.sh/chart"]: "web-1.0" -> "web-2.0" whole in app0`, causes: "0 -1 0"},
		{name: "a token",
			fields: [][][]Field{
				{{changed("l", "redis-1.4.0", "redis-1.5.0")}, {changed("l", "redis-1.4.0", "redis-1.5.0")}},
				{{changed("l", "web-1.4.0", "web-1.5.0")}, {changed("l", "web-1.4.0", "web-1.6.0")}},
			},
			want: `3 changed l: "1.4.0" -> "1.5.0" in app0, app1`, causes: "0 0 0 -1"},
		{name: "a registry in front and another tag",
			fields: [][][]Field{{{changed("i", "harbor/core:v2.13.4", "docker.io/harbor/core:v2.15.1")}, {changed("i", "harbor/db:v2.13.4", "docker.io/harbor/db:v2.15.1")}}},
			want:   `2 changed i: "…v2.13.4" -> "docker.io/…v2.15.1" in app0`, causes: "0 0"},
		{name: "a token that says too little", fields: [][][]Field{{{changed("a", "web:1", "web:2")}, {changed("a", "api:1", "api:2")}}}, causes: "-1 -1"},
		{name: "checksums",
			fields: [][][]Field{{{changed("c", sum("a"), sum("b"))}, {changed("c", "sha256:"+sum("c"), "sha256:"+sum("d"))}, {changed("c", sum("a"), sum("b"))}, {changed("c", sum("a"), "none")}}},
			want:   `3 changed c in app0`, causes: "0 0 0 -1"},
		{name: "the same checksums",
			fields: [][][]Field{{{changed("c", sum("a"), sum("b"))}, {changed("c", sum("a"), sum("b"))}}},
			want:   fmt.Sprintf(`2 changed c: %q -> %q whole in app0`, sum("a"), sum("b")), causes: "0 0"},
		{name: "long and multi-line texts by their whole value",
			fields: [][][]Field{{{changed("t", "a\nred-1.4.0", "a\nred-1.5.0")}, {changed("t", "b\nred-1.4.0", "b\nred-1.5.0")}, {changed("t", "b\nred-1.4.0", "b\nred-1.5.0")}}},
			want:   `2 changed t: "b\nred-1.4.0" -> "b\nred-1.5.0" whole in app0`, causes: "-1 0 0"},
		{name: "added and removed",
			fields: [][][]Field{{{added("a", nil), removed("b", "x")}, {added("a", nil), removed("b", "x")}, {added("a", "z"), removed("b", "z")}}},
			want: `
			2 added a: "" -> "null" whole in app0
			2 removed b: "x" -> "" whole in app0`, causes: "0 1 0 1 -1 -1"},
		{name: "mappings",
			fields: [][][]Field{{{added("a", map[string]any{"x": int64(1), "y": nil})}, {added("a", map[string]any{"x": 1.0, "y": nil})}}},
			want:   `2 added a: "" -> "{\"x\":1,\"y\":null}" whole in app0`, causes: "0 0"},
		{name: "an added and a changed field", fields: [][][]Field{{{added("a", "x")}, {changed("a", nil, "x")}}}, causes: "-1 -1"},
		{name: "labels with values of their own",
			fields: [][][]Field{{{added("metadata.labels.a", "x")}, {added("metadata.labels.a", "y")}, {added("metadata.labels.a", "z")}, {added("metadata.labels.a", "z")}, {added("data.a", "x")}, {added("data.a", "y")}}},
			want: `
			2 added metadata.labels.a in app0
			2 added metadata.labels.a: "" -> "z" whole in app0`, causes: "0 0 1 1 -1 -1"},
		{name: "hidden values",
			fields: [][][]Field{{{Field{Path: "data.a", Change: Changed, Hidden: true}}, {Field{Path: "data.a", Change: Changed, Hidden: true}}, {changed("data.a", nil, nil)}}},
			want:   `2 changed data.a in app0`, causes: "0 0 -1"},
		{name: "another order",
			fields: [][][]Field{{{Field{Path: "l", Change: Changed, Order: true, From: []any{"a", "b"}, To: []any{"b", "a"}}}, {Field{Path: "l", Change: Changed, Order: true, From: []any{"a", "b"}, To: []any{"b", "a"}}}, {changed("l", []any{"a", "b"}, []any{"b", "a"})}}},
			want:   `2 changed l: "[\"a\",\"b\"]" -> "[\"b\",\"a\"]" whole in app0`, causes: "0 0 -1"},
		{name: "what follows a rename, by its whole value",
			fields: [][][]Field{{
				{Field{Path: "n", Change: Changed, From: "web-11111111", To: "web-22222222", Follows: "ConfigMap web-22222222"}},
				{Field{Path: "n", Change: Changed, From: "web-11111111", To: "web-22222222", Follows: "ConfigMap web-22222222"}},
				{Field{Path: "n", Change: Changed, From: "api-11111111", To: "api-22222222", Follows: "ConfigMap api-22222222"}},
			}},
			want: `2 changed n: "web-11111111" -> "web-22222222" whole in app0`, causes: "0 0 -1"},
		{name: "most objects first, then the path",
			fields: [][][]Field{{{added("b", "x"), added("a", "x"), added("c", "x")}, {added("b", "x"), added("a", "x"), added("c", "x")}, {added("c", "x")}}},
			want: `
			3 added c: "" -> "x" whole in app0
			2 added a: "" -> "x" whole in app0
			2 added b: "" -> "x" whole in app0`, causes: "2 1 0 2 1 0 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			applications := make([]Application, len(tt.fields))
			for i, objects := range tt.fields {
				applications[i] = Application{Name: fmt.Sprintf("app%d", i)}
				for _, fields := range objects {
					applications[i].Objects = append(applications[i].Objects, Object{Fields: fields})
				}
			}
			var lines, places []string
			for _, c := range Causes(applications) {
				lines = append(lines, toldCause(c))
			}
			for _, a := range applications {
				for _, o := range a.Objects {
					for _, f := range o.Fields {
						places = append(places, fmt.Sprint(f.Cause))
					}
				}
			}
			if diff := cmp.Diff(trimmed(tt.want), trimmed(strings.Join(lines, "\n"))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := strings.Join(places, " "); got != tt.causes {
				t.Errorf("got causes %s, want %s", got, tt.causes)
			}
		})
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v    any
		want string
	}{
		{"a", "a"}, {nil, "null"}, {true, "true"}, {[]any{int64(1)}, "[1]"},
		{strings.Repeat("ä", 600), strings.Repeat("ä", 512) + "…"},
		{"x" + strings.Repeat("ä", 600), "x" + strings.Repeat("ä", 511) + "…"},
		{strings.Repeat("\x80", 2000), "…"},
	} {
		if got := short(tt.v); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
