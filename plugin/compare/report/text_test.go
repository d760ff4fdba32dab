package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/compare"
)

func text(t *testing.T, r *compare.Report, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTextColour takes the colours out again: nothing else depends on them.
func TestTextColour(t *testing.T) {
	t.Parallel()
	for name, r := range cases() {
		plain, coloured := text(t, r, Options{}), text(t, r, Options{Colour: true})
		if strings.Contains(plain, "\x1b") {
			t.Errorf("%s: an escape without Colour", name)
		}
		bare := coloured
		for _, code := range []string{red, green, yellow, cyan, bold, faint, "0"} {
			bare = strings.ReplaceAll(bare, "\x1b["+code+"m", "")
		}
		// A blank line of a difference keeps its blank inside the colour.
		trim := func(s string) []string {
			lines := strings.Split(s, "\n")
			for i, line := range lines {
				lines[i] = strings.TrimRight(line, " ")
			}
			return lines
		}
		if diff := cmp.Diff(trim(plain), trim(bare)); diff != "" {
			t.Errorf("%s (-plain +coloured):\n%.2000s", name, diff)
		}
	}
	if !strings.Contains(text(t, one(), Options{Colour: true}), "\x1b["+yellow+"m~ Deployment shop/checkout\x1b[0m") {
		t.Error("a changed object is not yellow")
	}
}

// TestTextWidth shortens values to the terminal, and shows that they differ.
func TestTextWidth(t *testing.T) {
	t.Parallel()
	got := text(t, one(), Options{Width: 120})
	want := "      ~ spec.template.spec.containers[web].image: "
	for line := range strings.Lines(got) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, want); ok {
			if from, to, _ := strings.Cut(rest, " -> "); utf8.RuneCountInString(line) > 120 || from == to || !strings.Contains(rest, ellipsis) {
				t.Errorf("got %q", line)
			}
			return
		}
	}
	t.Errorf("no image in\n%s", got)
}

func TestTextUnchanged(t *testing.T) {
	t.Parallel()
	if got := text(t, one(), Options{}); strings.Contains(got, "payments") {
		t.Errorf("an unchanged application is listed:\n%s", got)
	}
	if got := text(t, one(), Options{Unchanged: true}); !strings.Contains(got, "\npayments     unchanged      0        0        0          7\n") {
		t.Errorf("no unchanged application is listed:\n%s", got)
	}
}

// TestTextHostile has lines that begin as the printer begins them and nothing that a
// terminal acts on.
func TestTextHostile(t *testing.T) {
	t.Parallel()
	got := text(t, hostile(), Options{})
	for _, r := range got {
		if r != '\n' && unseen(r) {
			t.Fatalf("%q is in the text", r)
		}
	}
	if strings.Contains(got, "\nlines") {
		t.Error("a line break of a name begins a line")
	}
}

// TestCovered tells objects that change by causes alone from those to look at.
func TestCovered(t *testing.T) {
	t.Parallel()
	was := object.ID{Group: "extensions", Kind: "Deployment", Namespace: "shop", Name: "web"}
	covered, other := caused(0, changed("a", "1", "2")), changed("b", "1", "2")
	for name, tt := range map[string]struct {
		object compare.Object
		listed int // fields, or -1
	}{
		"all fields":   {compare.Object{Change: compare.Changed, Fields: []compare.Field{covered, covered}}, -1},
		"some fields":  {compare.Object{Change: compare.Changed, Fields: []compare.Field{covered, other}}, 1},
		"no such":      {compare.Object{Change: compare.Changed, Fields: []compare.Field{caused(1, other)}}, 1},
		"no fields":    {compare.Object{Change: compare.Changed}, 0},
		"renamed":      {compare.Object{Change: compare.Renamed, Fields: []compare.Field{covered}}, 0},
		"in new group": {compare.Object{Change: compare.Changed, Was: &was, Fields: []compare.Field{covered}}, 0},
		"added":        {compare.Object{Change: compare.Added}, 0},
	} {
		o := newOutline(&compare.Report{Causes: []compare.Cause{{}}, Applications: []compare.Application{{Objects: []compare.Object{tt.object}}}})
		got := -1
		if listed := o.apps[0].listed; len(listed) > 0 {
			got = len(listed[0].fields)
		}
		if got != tt.listed || (got < 0) != (o.apps[0].covered == 1) {
			t.Errorf("%s: got %d fields, %d covered, want %d", name, got, o.apps[0].covered, tt.listed)
		}
	}
}

func TestSubject(t *testing.T) {
	t.Parallel()
	side := func(renderer, ref, commit string) compare.Side {
		return compare.Side{Renderer: renderer, Ref: ref, Commit: commit}
	}
	for want, sides := range map[string][2]compare.Side{
		"helm3 -> helm4": {side("helm3", "", ""), side("helm4", "", "")},
		"helm3 -> helm4, both at the work tree (0123456789ab-dirty)":                                   {side("helm3", "", oldCommit+"-dirty"), side("helm4", "", oldCommit+"-dirty")},
		"each application's renderer -> helm4, both at main (0123456789ab)":                            {side("", "main", oldCommit), side("helm4", "main", oldCommit)},
		"main (0123456789ab) -> HEAD (89abcdef0123)":                                                   {side("", "main", oldCommit), side("", "HEAD", newCommit)},
		"main (0123456789ab) -> the work tree (89abcdef0123), both with helm4":                         {side("helm4", "main", oldCommit), side("helm4", "", newCommit)},
		"helm3 at main (0123456789ab) -> helm4 at the work tree (89abcdef0123)":                        {side("helm3", "main", oldCommit), side("helm4", "", newCommit)},
		"0123456789abcdef0123456789abcdef01234567 -> HEAD (89abcdef0123)":                              {side("", oldCommit, oldCommit), side("", "HEAD", newCommit)},
		"each application's renderer at the work tree -> each application's renderer at the work tree": {},
	} {
		r := &compare.Report{From: sides[0], To: sides[1]}
		if got := subject(r, " -> ", printable); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
