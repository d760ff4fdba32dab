package compare

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/internal/yamldoc"
)

// between compares two values that stand under x in an object of a custom kind.
func between(t *testing.T, from, to string) []Field {
	t.Helper()
	const custom = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nx: %s\n"
	objects, _ := Objects(shop(t, fmt.Sprintf(custom, from)), shop(t, fmt.Sprintf(custom, to)))
	if len(objects) == 0 {
		return nil
	}
	return objects[0].Fields
}

type fieldCase struct{ name, from, to, want string }

func (tt fieldCase) run(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, f := range between(t, tt.from, tt.to) {
		b.WriteString(toldField(&f) + "\n")
	}
	if diff := cmp.Diff(trimmed(tt.want), b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []fieldCase{
		{"a number in two forms", "1", "1.0", ""},
		{"two numbers", "1", "1.5", "~ x: 1 -> 1.5"},
		{"large numbers", "9007199254740993", "9007199254740992", "~ x: 9007199254740993 -> 9007199254740992"},
		{"a number and a string", "1", `"1"`, "~ x: 1 -> 1"},
		{"a bool and a string", "true", `"true"`, "~ x: true -> true"},
		{"null and nothing", "{}", "{a: null}", "+ x.a: null"},
		{"nothing and null", "{a: null}", "{}", "- x.a: null"},
		{"null and nulls", "{a: null}", "{a: null}", ""},
		{"null and empty", "{a: null}", "{a: {}}", "~ x.a: null -> {}"},
		{"an empty mapping and nothing", "{}", "{a: {}}", "+ x.a: {}"},
		{"a mapping that is new", "{}", "{a: {b: 1}}", `+ x.a: {"b":1}`},
		{"a mapping for a list", "{a: 1}", "[a]", `~ x: {"a":1} -> ["a"]`},
		{"keys in order", "{b: 1, c: 1, a: 1}", "{b: 2, d: 1, a: 2}", `
			~ x.a: 1 -> 2
			~ x.b: 1 -> 2
			- x.c: 1
			+ x.d: 1`},
		{"odd keys", "{}", `{helm.sh/chart: 1, "": 2, "a\"b": 3, 1a: 4, a-b: 5, "ä": 6, "x[0]": 7}`, `
			+ x[""]: 2
			+ x["1a"]: 4
			+ x["a\"b"]: 3
			+ x.a-b: 5
			+ x["helm.sh/chart"]: 1
			+ x["x[0]"]: 7
			+ x["ä"]: 6`},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	for _, tt := range []fieldCase{
		{"put in front", "[{name: a, v: 1}, {name: b, v: 1}]", "[{name: c, v: 1}, {name: a, v: 1}, {name: b, v: 1}]", `+ x[c]: {"name":"c","v":1}`},
		{"taken out", "[{name: c, v: 1}, {name: a, v: 1}]", "[{name: a, v: 1}]", `- x[c]: {"name":"c","v":1}`},
		{"changed and added", "[{name: a, v: 1}, {name: b, v: 1}]", "[{name: b, v: 2}, {name: c, v: 1}]", `
			- x[a]: {"name":"a","v":1}
			~ x[b].v: 1 -> 2
			+ x[c]: {"name":"c","v":1}`},
		{"another order", "[{name: a}, {name: b}, {name: c}]", "[{name: c}, {name: a}, {name: b}]", `~ x order: ["a","b","c"] -> ["c","a","b"]`},
		{"another order and a change", "[{name: a, v: 1}, {name: b}]", "[{name: b}, {name: a, v: 2}]", `
			~ x order: ["a","b"] -> ["b","a"]
			~ x[a].v: 1 -> 2`},
		{"the same name twice", "[{name: a, v: 1}, {name: a, v: 2}]", "[{name: a, v: 0}, {name: a, v: 1}, {name: a, v: 2}]", `+ x[0]: {"name":"a","v":0}`},
		{"an item without a name", "[{name: a}, {v: 1}]", "[{v: 1}]", `- x[0]: {"name":"a"}`},
		{"first items", "[]", "[{name: a}, {name: b}]", `
			+ x[a]: {"name":"a"}
			+ x[b]: {"name":"b"}`},
		{"ports by number", "[{containerPort: 80}, {containerPort: 53, protocol: UDP}, {containerPort: 53}]",
			"[{containerPort: 80, protocol: TCP}, {containerPort: 53, hostPort: 1}, {containerPort: 53, protocol: UDP, hostPort: 2}]", `
			~ x order: ["80","53/UDP","53"] -> ["80","53","53/UDP"]
			+ x[80].protocol: TCP
			+ x[53].hostPort: 1
			+ x[53/UDP].hostPort: 2`},
		{"a port that keeps its name", "[{name: http, port: 80}]", "[{name: http, port: 8080}]", "~ x[http].port: 80 -> 8080"},
		{"a port that keeps its number", "[{name: http, port: 80}]", "[{name: web, port: 80}]", "~ x[80].name: http -> web"},
		{"mounts by path", "[{name: a, mountPath: /a}, {name: a, mountPath: /b}]", "[{name: a, mountPath: /a}, {name: b, mountPath: /b}]", "~ x[/b].name: a -> b"},
		{"a mount that moves", "[{name: a, mountPath: /a}]", "[{name: a, mountPath: /b}]", "~ x[a].mountPath: /a -> /b"},
		{"by key", "[{key: a, v: 1}]", "[{key: b, v: 1}, {key: a, v: 1}]", `+ x[b]: {"key":"b","v":1}`},
		{"by ip", "[{ip: 10.0.0.1, v: 1}]", "[{ip: 10.0.0.1, v: 2}]", "~ x[10.0.0.1].v: 1 -> 2"},
		{"conditions", "[{type: Ready, status: a}]", "[{type: Ready, status: b}, {type: Old, status: c}]", `
			~ x[Ready].status: a -> b
			+ x[Old]: {"status":"c","type":"Old"}`},
		{"spread constraints", "[{topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, maxSkew: 1}, {topologyKey: zone, maxSkew: 1}]",
			"[{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 2}, {topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, maxSkew: 1}]", `
			~ x order: ["zone/ScheduleAnyway","zone"] -> ["zone","zone/ScheduleAnyway"]
			~ x[zone].maxSkew: 1 -> 2
			+ x[zone].whenUnsatisfiable: DoNotSchedule`},
		{"subjects of one name", "[{kind: User, name: a}, {kind: Group, name: a}]", "[{kind: User, name: a}, {kind: Group, name: a, v: 1}]", "+ x[Group/a].v: 1"},
		{"names by metadata", "[{metadata: {name: data}, v: 1}]", "[{metadata: {name: data}, v: 2}]", "~ x[data].v: 1 -> 2"},
		{"odd names", "[]", `[{name: "a]b"}, {name: "a b"}, {name: "a\nb"}]`, `
			+ x["a]b"]: {"name":"a]b"}
			+ x[a b]: {"name":"a b"}
			+ x["a\nb"]: {"name":"a\nb"}`},
		{"a scalar put in", "[a, b, c]", "[a, x, b, c]", "+ x[1]: x"},
		{"a scalar taken out", "[a, b, c]", "[b, c]", "- x[0]: a"},
		{"an argument with another value", "[--v=1, --level=info, --x]", "[--new, --v=1, --level=debug, --x]", `
			+ x[0]: --new
			~ x[2]: --level=info -> --level=debug`},
		{"scalars in another order", "[a, b, c]", "[c, a, b]", `~ x order: ["a","b","c"] -> ["c","a","b"]`},
		{"a scalar that moved beside another change", "[a, b, c, d]", "[b, c, a, e]", `
			- x[0]: a
			- x[3]: d
			+ x[2]: a
			+ x[3]: e`},
		{"numbers in two forms", "[1, 2]", "[1.0, 2, 3]", "+ x[2]: 3"},
		{"a rule with one more verb", `[{groups: [""], resources: [pods], verbs: [get]}, {groups: [apps], resources: [deployments], verbs: [get]}]`,
			`[{groups: [batch], resources: [jobs], verbs: [list, watch]}, {groups: [""], resources: [pods], verbs: [get, list]}, {groups: [apps], resources: [deployments], verbs: [get]}]`, `
			+ x[0]: {"groups":["batch"],"resources":["jobs"],"verbs":["list","watch"]}
			+ x[1].verbs[1]: list`},
		{"mappings in another order", "[{a: 1}, {b: 2}, {b: 2}]", "[{b: 2}, {a: 1}, {b: 2}]", "~ x order: [0,1,2] -> [1,0,2]"},
		{"one unlike item for another", "[{a: 1, b: 2}]", "[{c: 1, d: 2}]", `
			- x[0]: {"a":1,"b":2}
			+ x[0]: {"c":1,"d":2}`},
		{"lists in lists", "[[a, b], [c, d]]", "[[a, b], [c, d, e]]", "+ x[1][2]: e"},
		{"mixed", "[a, {name: b}]", "[a, {name: b, v: 1}]", "+ x[1].v: 1"},
	} {
		t.Run(tt.name, tt.run)
	}
}

// The cost of long lists is bounded, and one item more is one addition.
func TestLongLists(t *testing.T) {
	t.Parallel()
	const n = 20_000
	list := func(item func(i int) any, leave int) []any {
		var out []any
		for i := range n {
			if i != leave {
				out = append(out, item(i))
			}
		}
		return out
	}
	for name, item := range map[string]func(i int) any{
		"scalars":  func(i int) any { return fmt.Sprint(i) },
		"named":    func(i int) any { return map[string]any{"name": fmt.Sprint(i), "v": int64(i)} },
		"nameless": func(i int) any { return map[string]any{"v": int64(i), "w": []any{int64(i)}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := walker{hide: newHider(Rendered{}, Rendered{}).text}
			w.value(list(item, n/2), list(item, -1))
			if len(w.fields) != 1 || w.fields[0].Change != Added || w.fields[0].Pointer != fmt.Sprintf("/%d", n/2) {
				t.Errorf("got %.300v", w.fields)
			}
			// Nothing in common, and everything at another place.
			w.fields = nil
			w.value(list(item, -1), list(func(i int) any { return item(i + n) }, -1))
			if len(w.fields) != 2*n {
				t.Errorf("got %d fields, want %d", len(w.fields), 2*n)
			}
			w.fields = nil
			w.value(list(item, -1), list(func(i int) any { return item((i*7919 + 1) % (n + 1)) }, -1))
			if len(w.fields) == 0 {
				t.Error("no difference")
			}
		})
	}
}

func TestEntriesAreToldOneByOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []objectCase{
		{name: "the first label and annotation", from: web, to: strings.Replace(web, "name: web", "name: web, labels: {a: b}, annotations: {c: d, e: f}", 1), want: `
			changed Deployment.apps "web"
			  + metadata.annotations.c: d
			  + metadata.annotations.e: f
			  + metadata.labels.a: b`},
		{name: "the last of a pod template", from: web + "  template: {metadata: {labels: {a: b}}}", to: web + "  template: {metadata: {}}", want: `
			changed Deployment.apps "web"
			  - spec.template.metadata.labels.a: b`},
		{name: "data", from: settings, to: "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, binaryData: {a: aGVsbG8=}}", want: `
			changed ConfigMap "settings"
			  + binaryData.a: aGVsbG8=
			  - data.mode: fast
			  - data.size: small`},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestPointers(t *testing.T) {
	t.Parallel()
	fields := between(t, "{a/b: [{name: x, v: 1}, {name: y, v: 1}], gone~: [1, 2]}", "{a/b: [{name: z}, {name: y, v: 2}], gone~: [2]}")
	var got []string
	for _, f := range fields {
		got = append(got, string(f.Change)+" "+f.Pointer)
	}
	want := []string{"removed /x/a~1b/0", "added /x/a~1b/0", "changed /x/a~1b/1/v", "removed /x/gone~0/0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// In JSON a null is there and what is not there is not.
func TestFieldJSON(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]Field{
		`{"path":"a","pointer":"/a","change":"added","to":null,"cause":-1}`:                                     {Path: "a", Pointer: "/a", Change: Added, Cause: -1},
		`{"path":"a","pointer":"/a","change":"removed","from":null,"cause":-1}`:                                 {Path: "a", Pointer: "/a", Change: Removed, Cause: -1},
		`{"path":"a","pointer":"/a","change":"changed","from":"<","to":null,"cause":2}`:                         {Path: "a", Pointer: "/a", Change: Changed, From: "<", Cause: 2},
		`{"path":"a","pointer":"/a","change":"changed","hidden":true,"cause":-1}`:                               {Path: "a", Pointer: "/a", Change: Changed, Hidden: true, Cause: -1},
		`{"path":"a","pointer":"/a","change":"changed","from":[],"to":[],"order":true,"follows":"x","cause":0}`: {Path: "a", Pointer: "/a", Change: Changed, From: []any{}, To: []any{}, Order: true, Follows: "x"},
	} {
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(f); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(b.String()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestPathSegments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path string
		want []string
	}{
		{"spec", []string{"spec"}},
		{`spec.containers[web].image`, []string{"spec", "containers", "[web]", "image"}},
		{`metadata.labels["helm.sh/chart"]`, []string{"metadata", "labels", `["helm.sh/chart"]`}},
		{`x["a\"]b"].c[0][1.5/UDP]`, []string{"x", `["a\"]b"]`, "c", "[0]", "[1.5/UDP]"}},
		{`x[""].a`, []string{"x", `[""]`, "a"}},
		{`["a.b"].c`, []string{`["a.b"]`, "c"}},
	} {
		got := pathSegments(tt.path)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.path, diff)
		}
		if joined := joinSegments(got); joined != tt.path {
			t.Errorf("got %s, want %s", joined, tt.path)
		}
	}
	for _, odd := range []string{"", "[", `["`, `["a\`, "a..b", "a[b", "]"} {
		pathSegments(odd) // must end
	}
}

func TestSameAndForm(t *testing.T) {
	t.Parallel()
	var values []any
	for _, text := range []string{"null", "true", "false", "1", "1.0", "1.5", "-0.0", "0", `""`, `"1"`, "[]", "{}", "[1]", "[[1]]", `{a: 1}`, `{a: "1"}`, "9007199254740993", "9007199254740992.0", "1e300", `["a", "b"]`, `["ab"]`, `{"a": {"b": 1}}`} {
		v, err := yamldoc.Decode("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	for _, a := range values {
		for _, b := range values {
			if same(a, b) != same(b, a) || same(a, b) != (digestOf(a) == digestOf(b)) {
				t.Errorf("%#v, %#v: same %t and %t, equal forms %t", a, b, same(a, b), same(b, a), digestOf(a) == digestOf(b))
			}
		}
	}
}
