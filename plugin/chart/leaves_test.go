package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"helm.sh/helm/v3/pkg/strvals"
)

func byName(list []Assignment) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		out[a.Name] = a.Value
	}
	return out
}

func yamlMap(t testing.TB, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The first cases are those of Argo CD's flatVals (util/helm/helm_test.go).
func TestLeavesOf(t *testing.T) {
	t.Parallel()
	type leaves = map[string]string
	tests := map[string]struct {
		values, over   string
		assigned       []string
		set, setString leaves
		omitted        int
	}{
		"mapping":                    {values: "foo: {bar: baz}", set: leaves{"foo.bar": "baz"}},
		"list":                       {values: "foo: [bar, baz]", set: leaves{"foo[0]": "bar", "foo[1]": "baz"}},
		"number":                     {values: "foo: 1", set: leaves{"foo": "1"}},
		"mapping in a list":          {values: "a: [{b: x, c: 2}, {b: w}]", set: leaves{"a[0].b": "x", "a[0].c": "2", "a[1].b": "w"}},
		"list in a list":             {values: "a: [[x, w], [z]]", set: leaves{"a[0][0]": "x", "a[0][1]": "w", "a[1][0]": "z"}},
		"boolean":                    {values: "a: true\nb: false", set: leaves{"a": "true", "b": "false"}},
		"empty string":               {values: `a: ""`, set: leaves{"a": ""}},
		"negative number":            {values: "a: -7", set: leaves{"a": "-7"}},
		"no value":                   {values: "a: null\nb: {}\nc: []\nd: {e: {}}"},
		"special characters in keys": {values: `{"a.b": {"c,d": x, "e=f": w, "g[0]": z, "h\\i": w, "{j}": v}}`, set: leaves{`a\.b.c\,d`: "x", `a\.b.e\=f`: "w", `a\.b.g\[0]`: "z", `a\.b.h\\i`: "w", `a\.b.{j}`: "v"}},
		"special characters":         {values: `{a: "x,w", b: "{x}", c: "x\\w", d: "x\\,w", e: "a=b.c[0]", f: "x\ny", g: ",,"}`, set: leaves{"a": "x,w", "b": `\{x}`, "c": `x\\w`, "d": `x\\\,w`, "e": "a=b.c[0]", "f": "x\ny", "g": ",,"}},
		"strings of another look":    {values: `{a: "8080", b: "true", c: "null", d: "0123", e: "1.5"}`, set: leaves{"d": "0123", "e": "1.5"}, setString: leaves{"a": "8080", "b": "true", "c": "null"}},
		"list of such strings":       {values: `a: ["1", x]`, setString: leaves{"a[0]": "1", "a[1]": "x"}},
		"fraction":                   {values: "a: 0.5\nb: 1", set: leaves{"b": "1"}, omitted: 1},
		"number that prints as 1e6":  {values: "a: 1000000\nb: 999999", set: leaves{"b": "999999"}, omitted: 1},
		"list with a fraction":       {values: "a: [x, 0.5, w]", omitted: 3},
		"list of two forms":          {values: `a: ["1", 2]`, omitted: 2},
		"list with an empty mapping": {values: "a: [{}, x]", omitted: 2},
		"list with null":             {values: "a: [x, null]", omitted: 2},
		"list with an empty list":    {values: "a: [[]]", omitted: 1},
		"empty key":                  {values: `{"": x, a: w}`, set: leaves{"a": "w"}, omitted: 1},
		"nested too deep":            {values: strings.Repeat("{a: ", 32) + "x" + strings.Repeat("}", 32), omitted: 1},
		"long value":                 {values: "a: " + strings.Repeat("x", maxLeaf) + "\nb: w", set: leaves{"b": "w"}, omitted: 1},

		"assigned":                {values: "a: {b: x, c: w}", assigned: []string{"a.b"}, set: leaves{"a.c": "w"}},
		"assigned above":          {values: "a: {b: x}\nc: w", assigned: []string{"a"}, set: leaves{"c": "w"}},
		"assigned below":          {values: "a: x\nc: w", assigned: []string{"a.b.c"}, set: leaves{"c": "w"}},
		"assigned in a list":      {values: "a: [x, w]\nc: w", assigned: []string{"a[1]"}, set: leaves{"c": "w"}},
		"values over it":          {values: "a: {b: x, c: w}\nd: [x]\ne: x\nf: w", over: "a: {b: {}, g: x}\nd: [w]\ne: null", set: leaves{"a.c": "w", "f": "w"}},
		"assigned deep and above": {values: "a: {b: {c: x, d: w}, e: w}", assigned: []string{"a.b.c", "a.b", "a.b.d"}, set: leaves{"a.e": "w"}},
		"assigned beside":         {values: "a: {b: {c: x, d: w}, e: w}", assigned: []string{"a.b.c", "a.e"}, set: leaves{"a.b.d": "w"}},
		"assigned with escapes":   {values: `{"a.b": x, a: {b: w}}`, assigned: []string{`a\.b`}, set: leaves{"a.b": "w"}},
		"assignment of no value":  {values: "a: x", assigned: []string{"", "a[", "b."}, set: leaves{"a": "x"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := LeavesOf(yamlMap(t, tt.values), yamlMap(t, tt.over), tt.assigned)
			for _, c := range []struct {
				list []Assignment
				want leaves
			}{{got.Set, tt.set}, {got.SetString, tt.setString}} {
				if c.want == nil {
					c.want = leaves{}
				}
				if diff := cmp.Diff(c.want, byName(c.list)); diff != "" {
					t.Errorf("want (-), got (+):\n%s", diff)
				}
			}
			if got.Omitted != tt.omitted {
				t.Errorf("got %d omitted, want %d", got.Omitted, tt.omitted)
			}
		})
	}
}

func TestLeavesAreBounded(t *testing.T) {
	t.Parallel()
	values := map[string]any{"list": []any{}, "z": "last"}
	for i := range maxLeaves {
		values[fmt.Sprintf("a%04d", i)] = "x"
		values[fmt.Sprintf("b%04d", i)] = "1"
		values["list"] = append(values["list"].([]any), "x")
	}
	got := LeavesOf(values, nil, nil)
	if len(got.Set) != maxLeaves || len(got.SetString) != maxLeaves {
		t.Errorf("got %d and %d leaves, want %d of each", len(got.Set), len(got.SetString), maxLeaves)
	}
	if want := maxLeaves + 1; got.Omitted != want { // the list and z
		t.Errorf("got %d omitted, want %d", got.Omitted, want)
	}
}

// Value files go over values.yaml as in a render.
func TestDefaults(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine Engine) {
		ch, err := Load(chartFS(map[string]string{
			"values.yaml":                "a: {b: chart, c: chart}\nlist: [1, 2, 3]\ngone: x\n",
			"charts/sub/Chart.yaml":      "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
			"charts/sub/values.yaml":     "inner: x\n",
			"charts/sub/templates/a.txt": "",
		}), "web")
		if err != nil {
			t.Fatal(err)
		}
		got, err := ch.Defaults(engine, []Document{
			{Name: "first.yaml", Data: []byte("a: {b: first, d: first}\nlist: [9]\n")},
			{Name: "second.yaml", Data: []byte("a: {d: second}\ngone: null\n")},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"a.b": "first", "a.c": "chart", "a.d": "second", "list[0]": "9"}
		if diff := cmp.Diff(want, byName(LeavesOf(got, nil, nil).Set)); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}

		_, err = ch.Defaults(engine, []Document{{Name: "bad.yaml", Data: []byte("a: s3cr3t: b\n")}})
		wantError(t, err, "bad.yaml: ")
		if err != nil && strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("the error %q quotes a value", err)
		}
	})
}

func TestDefaultsOfNoValues(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine Engine) {
		ch, err := Load(chartFS(nil), "web")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ch.Defaults(engine, nil); err != nil || len(got) != 0 {
			t.Errorf("got %v, %v, want no values", got, err)
		}
	})
}

// FuzzLeavesOf assigns what is listed to nothing and puts the result over the
// values, as Helm does it: nothing may change.
func FuzzLeavesOf(f *testing.F) {
	for _, seed := range []string{
		"a: {b: [x, {c: 1, d: [y, '2']}], 'e.f': 'g,h'}\ni: 0.5\nj: 'true'\nk: '{l}'\nm: null\n",
		`{"a\\": "\\", "b,": ",\\,", "": {"": 1}, "c[0]": ["{", "}", ""], d: -0, e: 1e6, f: [[[]]], g: [{}, null]}`,
		"a: [0,1,2,3,4,5,6,7,8,9,10,11]\nb: '0'\nc: 00\nd: TRUE\ne: Null\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values := map[string]any{}
		if yaml.Unmarshal([]byte(text), &values) != nil {
			return
		}
		leaves := LeavesOf(values, nil, nil)
		// The order of a parameter's entries: that of their names.
		sorted := func(list []Assignment) []Assignment {
			m := byName(list)
			if len(m) != len(list) {
				t.Errorf("a name is listed twice: %q", list)
			}
			var out []Assignment
			for _, name := range slices.Sorted(maps.Keys(m)) {
				out = append(out, Assignment{name, m[name]})
			}
			return out
		}
		got := map[string]any{}
		err := assign(got, Options{Set: sorted(leaves.Set), SetString: sorted(leaves.SetString)}, strvals.ParseInto, strvals.ParseIntoString, nil)
		if err != nil {
			t.Fatal(err)
		}
		if merged := mergeMaps(values, got); !sameValue(values, merged) {
			t.Errorf("%+v gives %v, want %v", leaves, merged, values)
		}
	})
}
