package export

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"hallmark.dev/hallmark/health"
)

func TestOverlap(t *testing.T) {
	t.Parallel()
	texts := words("ab", 6)
	patterns := words("ab*", 4)
	matching := map[string][]bool{}
	for _, p := range patterns {
		re := regexp.MustCompile("^" + strings.ReplaceAll(p, "*", ".*") + "$")
		for _, text := range texts {
			matching[p] = append(matching[p], re.MatchString(text))
		}
	}
	for _, a := range patterns {
		for _, b := range patterns {
			want := false
			for i := range texts {
				want = want || matching[a][i] && matching[b][i]
			}
			if got := overlap(a, b); got != want {
				t.Errorf("overlap(%q, %q) is %v, want %v", a, b, got, want)
			}
		}
	}
}

// words are all texts of an alphabet up to a length.
func words(alphabet string, length int) []string {
	all := []string{""}
	for from := 0; length > 0; length-- {
		to := len(all)
		for _, w := range all[from:to] {
			for _, c := range alphabet {
				all = append(all, w+string(c))
			}
		}
		from = to
	}
	return all
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		targets [][]health.Target // of the first check, the second, ...
		want    string            // the error, "" for none
	}{
		{"one kind twice", [][]health.Target{{target("a.io", "Kind")}, {target("a.io", "Other", "Kind")}},
			`checks.yaml:2: check "check 2" and check "check 1" at checks.yaml:1 are both for a.io/Kind`},
		{"one core kind twice", [][]health.Target{{target("", "Kind")}, {target("", "Kind")}},
			`checks.yaml:2: check "check 2" and check "check 1" at checks.yaml:1 are both for Kind`},
		{"one kind twice in one check", [][]health.Target{{target("a.io", "Kind"), target("a.io", "Kind")}}, ""},
		{"one kind of two groups", [][]health.Target{{target("a.io", "Kind")}, {target("b.io", "Kind")}}, ""},
		{"an exact kind beside a wildcard", [][]health.Target{{target("a.io", "*")}, {target("a.io", "Kind")}}, ""},
		{"wildcards that meet", [][]health.Target{{target("*.a.io", "*")}, {target("x.*", "Kind*")}},
			`checks.yaml:2: x.*/Kind* of check "check 2" and *.a.io/* of check "check 1" at checks.yaml:1 can match the same kind, and Argo CD would pick one at random`},
		{"the same wildcard", [][]health.Target{{target("a.io", "**")}, {target("a.io", "*")}},
			`checks.yaml:2: a.io/* of check "check 2" and a.io/* of check "check 1" at checks.yaml:1 can match the same kind, and Argo CD would pick one at random`},
		{"wildcards that meet in one check", [][]health.Target{{target("*.a.io", "*"), target("x.*", "Kind*")}}, ""},
		{"wildcards apart by their group", [][]health.Target{{target("*.a.io", "*")}, {target("*.b.io", "*")}}, ""},
		{"wildcards apart by their kind", [][]health.Target{{target("*", "A*")}, {target("*", "B*")}}, ""},
		{"a wildcard and the core group", [][]health.Target{{target("*", "*")}, {target("", "Per*")}}, ""},
		{"three checks", [][]health.Target{{target("a.io", "Kind")}, {target("a.io", "Kind")}, {target("a.io", "Kind")}},
			"checks.yaml:2: check \"check 2\" and check \"check 1\" at checks.yaml:1 are both for a.io/Kind\n" +
				"checks.yaml:3: check \"check 3\" and check \"check 1\" at checks.yaml:1 are both for a.io/Kind\n" +
				"checks.yaml:3: check \"check 3\" and check \"check 2\" at checks.yaml:2 are both for a.io/Kind"},
		{"an underscore", [][]health.Target{{target("a_b.io", "Kind")}},
			`checks.yaml:1: target group "a_b.io", kind "Kind": letters, digits, "-", "." and "*" are what it may have`},
		{"a glob of another kind", [][]health.Target{{target("{a,b}.io", "Kind")}},
			`checks.yaml:1: target group "{a,b}.io", kind "Kind": letters, digits, "-", "." and "*" are what it may have`},
		{"no kind", [][]health.Target{{target("a.io", "")}},
			`checks.yaml:1: target group "a.io", kind "": letters, digits, "-", "." and "*" are what it may have`},
		{"any kind of the core group", [][]health.Target{{target("", "*")}},
			`checks.yaml:1: target "*" of the core group: in argocd-cm this pattern matches kinds of other groups too; name the kinds`},
		{"kinds of the core group that could be a group", [][]health.Target{{target("", "pod*")}},
			`checks.yaml:1: target "pod*" of the core group: in argocd-cm this pattern matches kinds of other groups too; name the kinds`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var scripts []Script
			for i, targets := range tc.targets {
				scripts = append(scripts, Script{check(fmt.Sprint("check ", i+1), i+1, targets...), "return {}"})
			}
			_, err := ArgoCM(scripts, false)
			if tc.want == "" && err != nil {
				t.Fatal(err)
			}
			if tc.want != "" && (err == nil || err.Error() != tc.want) {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestSelector(t *testing.T) {
	t.Parallel()
	exact, wild, core := check("exact", 1, target("a.example.org", "Kind")), check("wild", 2, target("*.example.org", "*")), check("core", 3, target("", "Pod*", "Node"))
	s, err := NewSelector([]Script{{Check: wild}, {Check: exact}, {Check: core}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		group, kind string
		want        *health.Check
	}{
		{"a.example.org", "Kind", exact},
		{"a.example.org", "Kinds", wild},
		{"b.example.org", "Kind", wild},
		{"example.org", "Kind", nil},
		{"", "Kind", nil},
		{"", "Pod", core},
		{"", "PodTemplate", core},
		{"", "Node", core},
		{"x", "Node", nil},
	} {
		if got := s.For(tc.group, tc.kind); got != tc.want {
			t.Errorf("%s/%s: got %v", tc.group, tc.kind, got)
		}
	}
	if _, err := NewSelector([]Script{{Check: wild}, {Check: check("other", 4, target("*", "*"))}}); err == nil {
		t.Error("two wildcards for one kind are no error")
	}
}
