package export

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/health"
)

// condition is a rule's expression, checked.
func condition(t *testing.T, when string) *health.Expr {
	t.Helper()
	c := parseText(t, fmt.Sprintf(`
apiVersion: hallmark.dev/v1
kind: HealthCheck
metadata: {name: one}
spec:
  targets: [{group: example.org, kinds: [Thing]}]
  rules: [{status: Healthy, when: %q}]
`, when))
	return c.Rules[0].When
}

func TestTotal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ when, want string }{
		{"status.phase == 'Ready'", "has(status.phase) && status.phase == 'Ready'"},
		{"'Ready' == status.phase", "has(status.phase) && status.phase == 'Ready'"},
		{"status.phase != 'Ready'", "has(status.phase) && status.phase != 'Ready'"},
		{"status.a.b.c == 1", "has(status.?a.?b.c) && status.a.b.c == 1"},
		{"status.a == status.b", "has(status.a) && has(status.b) && status.a == status.b"},
		{"status.ready", "has(status.ready) && status.ready == true"},
		{"!status.ready", "has(status.ready) && status.ready == false"},
		{"has(status.a)", "has(status.a)"},
		{"!has(status.a)", "!has(status.a)"},
		{"has(status.a.b)", "has(status.?a.b)"},
		{"!has(status.a.b)", "has(status.a) && !has(status.?a.b)"},
		{"kind == 'Thing'", "kind == 'Thing'"},
		{"status.a == 'x' || status.a == 'y'", "has(status.a) && status.a in ['x', 'y']"},
		{"!(status.a == 'x' || status.a == 'y')", "has(status.a) && !(status.a in ['x', 'y'])"},
		{"status.a in ['x', 'y'] && status.a == 'x'", "has(status.a) && status.a == 'x'"},
		{"status.a == 'x' && (status.a == 'y' || spec.b == 1)", "has(status.a) && status.a == 'x' && has(spec.b) && spec.b == 1"},
		{"has(status.a) || !has(status.a)", "true"},
		{"!(status.a < 3)", "has(status.a) && status.a >= 3"},
		{"status.a + 1 > spec.a", "has(status.a) && has(spec.a) && status.a + 1 > spec.a"},
		{"status.a / spec.b == 2", "has(status.a) && has(spec.b) && spec.b != 0 && status.a / spec.b == 2"},
		{"status.a % 2 == 0", "has(status.a) && status.a % 2 == 0"},
		{"status.a == 'it\\'s'", `has(status.a) && status.a == "it's"`},
		{"status.a == 1.5", "has(status.a) && status.a == 1.5"},
		{"status.a.startsWith('x')", "has(status.a) && status.a.startsWith('x')"},
		{"!status.a.startsWith('x')", "has(status.a) && !status.a.startsWith('x')"},
		{"metadata.labels['a/b'] == 'c'", "has(metadata.labels) && 'a/b' in metadata.labels && metadata.labels['a/b'] == 'c'"},
		{"status.l[1].x == 2", "has(status.l) && size(status.l) > 1 && has(status.l[1].x) && status.l[1].x == 2"},
		{"status.l[status.n] == 2", "has(status.l) && has(status.n) && status.l[?status.n].hasValue() && status.l[status.n] == 2"},
		{"status.?a.b.orValue(3) == 3", "status.?a.b.orValue(3) == 3"},
		{"status.?a.orValue(spec.a) == 3", "(has(status.a) || has(spec.a)) && status.?a.orValue(spec.a) == 3"},
		{"status.?a.value() == 3", "has(status.a) && status.?a.value() == 3"},
		{"status.l[?0].hasValue()", "has(status.l) && status.l[?0].hasValue()"},
		{"status.a == 1 ? status.b == 2 : status.c == 3",
			"has(status.a) && (status.a == 1 && has(status.b) && status.b == 2 || status.a != 1 && has(status.c) && status.c == 3)"},
		{"(has(status.a) ? status.a : spec.a) == 1",
			"(has(status.a) || has(spec.a)) && (has(status.a) ? status.a : spec.a) == 1"},
		{"(status.a == 1) == true", "has(status.a) && status.a == 1"},
		{"(status.a == 1) != (status.b == 1)", "has(status.a) && has(status.b) && (status.a == 1) != (status.b == 1)"},
		{"status.c.exists(c, c.type == 'A' && c.status == 'True')",
			"has(status.c) && status.c.exists(c, has(c.type) && c.type == 'A' && has(c.status) && c.status == 'True')"},
		{"!status.c.exists(c, c.type == 'A')", "has(status.c) && status.c.all(c, has(c.type) && c.type != 'A')"},
		{"status.c.all(c, c.ok)", "has(status.c) && status.c.all(c, has(c.ok) && c.ok == true)"},
		{"!status.c.all(c, c.ok)", "has(status.c) && status.c.exists(c, has(c.ok) && c.ok == false)"},
		{"status.c.exists(c, c.a == 1) || status.c.exists(c, c.a == 2)",
			"has(status.c) && status.c.exists(c, has(c.a) && c.a in [1, 2])"},
		{"status.c.exists(c, has(status.c) && c.a == status.d)",
			"has(status.c) && status.c.exists(c, has(c.a) && has(status.d) && c.a == status.d)"},
		{"status.c.exists(status, status.c == 1 && has(status.d))",
			"has(status.c) && status.c.exists(status, has(status.c) && status.c == 1 && has(status.d))"},
		{"size(status.c.filter(c, c.a == 1)) > 0",
			"has(status.c) && status.c.all(c, has(c.a)) && size(status.c.filter(c, c.a == 1)) > 0"},
		{"status.c.map(c, c.a) == [1]", "has(status.c) && status.c.all(c, has(c.a)) && status.c.map(c, c.a) == [1]"},
		{"status.c.map(c, c.ok == true, c.a) == [1]",
			"has(status.c) && status.c.all(c, has(c.ok) && (has(c.a) || c.ok != true)) && status.c.map(c, c.ok == true, c.a) == [1]"},
		{"status.c.exists_one(c, c.a == 1)", "has(status.c) && status.c.all(c, has(c.a)) && status.c.exists_one(c, c.a == 1)"},
		{"status.c.first(c, c.a == 1).b == 2",
			"has(status.c) && status.c.exists(c, has(c.a) && c.a == 1) && has(status.c.filter(c, has(c.a) && c.a == 1)[0].b) && " +
				"status.c.filter(c, has(c.a) && c.a == 1)[0].b == 2"},
		{"(status.a || status.b) == (status.c == 1)",
			"(has(status.a) && (status.a == true || status.a == false && has(status.b) && status.b == false) || has(status.b) && status.b == true)" +
				" && has(status.c) && (status.a || status.b) == (status.c == 1)"},
	} {
		t.Run(tc.when, func(t *testing.T) {
			t.Parallel()
			f, found := total(condition(t, tc.when))
			if got := printFormula(f); got != tc.want || len(found.missing) > 0 {
				t.Errorf("got  %s\nwant %s\nmissing %q", got, tc.want, found.missing)
			}
		})
	}
}

func TestLacking(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ when, want, missing string }{
		{"status.phase == 'Running' && status.until < now()", "has(status.phase) && status.phase == 'Running' && has(status.until)", "now()"},
		{"!(status.until >= now())", "has(status.until)", "now()"},
		{"status.l.exists(c, c.until < now())", "has(status.l) && status.l.exists(c, has(c.until))", "now()"},
		{"status.?a.optMap(a, a + 1).orValue(0) == 1", "true", otherMacros},
	} {
		f, found := total(condition(t, tc.when))
		if got := printFormula(f); got != tc.want || !slices.Equal(found.missing, []string{tc.missing}) {
			t.Errorf("%s: got %s and %q, want %s and %q", tc.when, got, found.missing, tc.want, tc.missing)
		}
	}
}

// TestLongTotal has a condition that would become a million.
func TestLongTotal(t *testing.T) {
	t.Parallel()
	when := "status.a"
	for i := range 16 {
		when = fmt.Sprintf("(%s ? status.b%d : status.c%d)", when, i, i)
	}
	f, found := total(condition(t, when))
	if f != formula(constant(true)) || len(found.missing) != 1 {
		t.Errorf("got a text of %d bytes, missing %q", len(printFormula(f)), found.missing)
	}
}

// TestSimplify compares random formulas, as they are put together, with what they
// stand for, on random facts.
func TestSimplify(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same formulas each time
	for range 20_000 {
		f, holds := randomFormula(r, 4)
		for range 6 {
			w := randomWorld(r)
			if got := w.holds(f); got != holds(w) {
				t.Fatalf("%s is %v in %+v", printFormula(f), got, w)
			}
		}
	}
}

// A world says which fields are there, what x is, and what is true.
type world struct {
	there map[string]bool
	x     string
	truth map[string]bool
}

var fields = []string{"status", "status.a", "status.a.b", "status.a.c", "spec", "spec.d"}

func randomWorld(r *rand.Rand) world {
	w := world{map[string]bool{"status": true, "spec": true}, []string{"'1'", "'2'", "'3'", "'4'"}[r.IntN(4)], map[string]bool{}}
	for _, f := range fields {
		parent := f[:max(0, strings.LastIndexByte(f, '.'))]
		w.there[f] = parent == "" || w.there[parent] && r.IntN(2) == 0
	}
	for _, p := range []string{"p", "q"} {
		w.truth[p] = r.IntN(2) == 0
	}
	return w
}

func (w world) holds(f formula) bool {
	switch f := f.(type) {
	case constant:
		return bool(f)
	case conjunction:
		return !slices.ContainsFunc(f, func(p formula) bool { return !w.holds(p) })
	case disjunction:
		return slices.ContainsFunc(f, w.holds)
	case *atom:
		switch f.kind {
		case presence:
			return w.there[strings.Join(f.path, ".")] != f.negated
		case membership:
			return slices.Contains(f.values, w.x) != f.negated
		case emptyStatus:
			return w.there["status.a"] == f.negated
		case loop: // over one element
			return w.holds(f.body) != f.negated
		}
		return w.truth[f.text] != f.negated
	}
	panic("unknown formula")
}

// randomFormula makes a formula, and what it means without any shortening.
func randomFormula(r *rand.Rand, depth int) (formula, func(world) bool) {
	if depth == 0 || r.IntN(6) == 0 {
		var a *atom
		switch r.IntN(6) {
		case 0, 1:
			a = newAtom(atom{kind: presence, path: strings.Split(fields[1+r.IntN(3)], ".")})
			if r.IntN(4) == 0 {
				a = newAtom(atom{kind: presence, path: []string{"spec", "d"}})
			}
		case 2, 3:
			values := [][]string{{"'1'"}, {"'2'"}, {"'1'", "'2'"}, {"'2'", "'3'"}}[r.IntN(4)]
			a = newAtom(atom{kind: membership, text: "x", values: values})
		case 4:
			a = newAtom(atom{kind: opaque, text: []string{"p", "q"}[r.IntN(2)]})
		default:
			a = newAtom(atom{kind: emptyStatus})
		}
		return a, func(w world) bool { return w.holds(a) }
	}
	f, x := randomFormula(r, depth-1)
	g, y := randomFormula(r, depth-1)
	switch r.IntN(7) {
	case 0, 1:
		return every(f, g), func(w world) bool { return x(w) && y(w) }
	case 2, 3:
		return some(f, g), func(w world) bool { return x(w) || y(w) }
	case 4:
		return not(f), func(w world) bool { return !x(w) }
	case 5:
		universal := r.IntN(2) == 0
		return newAtom(atom{kind: loop, text: "list", variable: "v", universal: universal, body: f}), x
	default:
		h, z := randomFormula(r, depth-1)
		return some(every(f, g), every(f, h)), func(w world) bool { return x(w) && (y(w) || z(w)) }
	}
}
