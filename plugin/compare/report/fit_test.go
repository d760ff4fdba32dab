package report

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"hallmark.dev/hallmark/plugin/compare"
)

// tight are reports that a comment has to cut.
func tight() map[string]*compare.Report {
	few := causes()
	few.Applications = append(few.Applications, refused().Applications...)
	changed := many(45, 2)
	changed.Applications = append(changed.Applications, big("zz-big", 60), refused().Applications[0])
	return map[string]*compare.Report{"few": few, "many changed": changed, "many refused": manyRefused()}
}

// big is an application with n changed objects.
func big(name string, n int) compare.Application {
	objects := make([]compare.Object, n)
	for i := range objects {
		objects[i] = compare.Object{ID: deployment(fmt.Sprintf("big-%d", i)), Change: compare.Changed,
			Fields: []compare.Field{changed("spec.replicas", int64(1), int64(i)), changed("spec.paused", false, true)}}
	}
	return app(name, compare.StatusChanged, 1, objects...)
}

// manyRefused is a fleet that mostly needs a repository that is not here, with reasons
// of many lengths.
func manyRefused() *compare.Report {
	r := many(30, 2)
	r.Notes = []string{"no Application names this repository; https://git.example.com/shop.git is taken for it", "é"}
	for i := range 40 {
		a := app(fmt.Sprintf("shop-%02d", i), compare.StatusRefused, 0)
		a.Problems = []compare.Problem{{Side: "to", Message: "values.yaml:3:1: " + strings.Repeat("größer ", 1+i*7%40)}}
		if i%3 == 0 {
			a.Problems[0].Message += "\nvalues.yaml:4:1: got a string, want a number"
			a.Problems[0].Hint = "set the port"
		}
		r.Applications = append(r.Applications, a)
	}
	r.Applications = append(r.Applications, app("search", compare.StatusAdded, 0, compare.Object{ID: deployment("search"), Change: compare.Added}),
		app("wishlist", compare.StatusRemoved, 0, compare.Object{ID: deployment("wishlist"), Change: compare.Removed}))
	return r
}

// TestMarkdownEverySize holds a comment of every size to what Markdown promises: it
// fits and is closed, its heading stands, what is shown and what is said to be cut is
// all there is, and what matters less is not shown in place of what matters more.
func TestMarkdownEverySize(t *testing.T) {
	t.Parallel()
	for name, r := range tight() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := newComment(r).within(1 << 30)
			all := read(t, whole)
			if all.cut != "" || all.left != 0 || all.rows == 0 || all.refusals == 0 || all.causes == 0 || all.details == 0 {
				t.Fatalf("without a bound: %+v", all)
			}
			for n := 1; n <= len(whole); n += 1 + n/1000*6 {
				var b bytes.Buffer
				if err := Markdown(&b, r, n); err != nil {
					t.Fatal(err)
				}
				if err := promised(t, r, all, b.String(), n); err != nil {
					t.Fatalf("in %d bytes: %v\n%s", n, err, b.String())
				}
			}
			if got := newComment(r).within(len(whole)); got != whole {
				t.Error("something is cut where all fits")
			}
		})
	}
}

// shown is what a reader finds in a comment.
type shown struct {
	heading, cut                         string
	about, rows, refusals, causes, notes int
	further, details, objects, left      int
}

// read counts what a comment shows, by its lines.
func read(t *testing.T, text string) shown {
	t.Helper()
	var s shown
	open, hint := "", false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case i == 0:
			s.heading = line
		case open != "" && strings.HasPrefix(line, "```"):
			open, hint = "", false
		case open == "text" && strings.HasPrefix(line, "    "):
			if !hint {
				s.further++
			}
			hint = true
		case open == "text":
			s.refusals++
			hint = false
		case open == "diff" && strings.HasPrefix(line, "# left out: "):
			for _, match := range regexp.MustCompile(`(\d+) of \d+ object`).FindAllStringSubmatch(line, -1) {
				s.left += integer(t, match[1])
			}
		case open == "diff" && regexp.MustCompile(`^(@@|\+|-) (Deployment|ConfigMap|Service|Secret) `).MatchString(line):
			s.objects++
		case open != "":
		case strings.HasPrefix(line, "```"):
			open = strings.TrimLeft(line, "`")
		case strings.HasPrefix(line, "Cut to fit: "):
			s.cut = line
		case strings.HasPrefix(line, "Objects: "):
			s.about = 1
		case strings.HasPrefix(line, "Note: "):
			s.notes++
		case strings.HasPrefix(line, "| `"):
			s.rows++
		case regexp.MustCompile(`^\d+\. `).MatchString(line):
			s.causes++
		case strings.HasPrefix(line, "<details"):
			s.details++
		}
	}
	return s
}

func integer(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// promised says what is wrong with a comment in n bytes.
func promised(t *testing.T, r *compare.Report, all shown, text string, n int) error {
	t.Helper()
	statuses := map[compare.Status]int{}
	for _, a := range r.Applications {
		statuses[a.Status]++
	}
	if len(text) > n || !utf8.ValidString(text) {
		return fmt.Errorf("%d bytes, UTF-8: %t", len(text), utf8.ValidString(text))
	}
	if err := closed(text); err != nil {
		return err
	}
	if err := tables(text); err != nil {
		return err
	}
	got := read(t, text)
	if n < Least && got.cut == "" {
		few := 5 * 20 // for all of the statuses
		for status, count := range statuses {
			if said := strings.Contains(text, fmt.Sprintf("%d %s", count, status)); !said && (n > few || n > 20 && status == compare.StatusRefused) {
				return fmt.Errorf("%d %s are not mentioned", count, status)
			}
		}
		if n >= 4 && !strings.Contains(text, "cut") {
			return fmt.Errorf("it is not said that the rest is cut")
		}
		return nil
	}
	for status, count := range statuses {
		if !strings.Contains(got.heading, fmt.Sprintf("%d %s", count, status)) {
			return fmt.Errorf("the heading has no %d %s", count, status)
		}
	}
	for _, part := range []struct {
		shown, all  int
		before, one string
	}{
		{got.rows, all.rows, ": ", "application"}, {got.refusals, all.refusals, "[:,] ", "refusal"}, {got.causes, all.causes, "[:,] ", "cause"},
		{got.details, all.details, "[:,] details of ", "application"}, {got.notes, all.notes, "[:,] ", "note"},
	} {
		said := 0
		if match := regexp.MustCompile(part.before + `(?:all )?(\d+)(?: of (\d+))? ` + part.one).FindStringSubmatch(got.cut); match != nil {
			said = integer(t, match[1])
			if match[2] != "" && integer(t, match[2]) != part.all {
				return fmt.Errorf("%s of %d: %s", part.one, part.all, got.cut)
			}
		}
		if part.shown+said != part.all {
			return fmt.Errorf("%d and %d of %d: %s%s", part.shown, said, part.all, part.before, part.one)
		}
	}
	if (got.about == 0) != strings.Contains(got.cut, "both sides and the object counts") {
		return fmt.Errorf("what was compared is shown or cut: %+v", got)
	}
	further := 0
	if match := regexp.MustCompile(`further lines of (\d+) refusal`).FindStringSubmatch(got.cut); match != nil {
		further = integer(t, match[1])
	}
	if got.refusals == all.refusals && got.further+further != all.further {
		return fmt.Errorf("further lines: %d and %d of %d", got.further, further, all.further)
	}
	if got.details == all.details && got.objects+got.left != all.objects {
		return fmt.Errorf("objects: %d and %d of %d", got.objects, got.left, all.objects)
	}
	switch {
	case got.refusals == 0 && got.rows+got.notes+got.causes+got.details > 0:
		return fmt.Errorf("no refusal, but %+v", got)
	case got.rows < all.rows && got.notes+got.causes+got.details+got.further > 0:
		return fmt.Errorf("rows are cut for %+v", got)
	case got.causes == 0 && got.details > 0:
		return fmt.Errorf("no cause, but %+v", got)
	}
	return nil
}

// tables finds rows without a head, heads without rows and headings of nothing.
func tables(text string) error {
	lines := strings.Split(text, "\n")
	open := false
	for i, line := range lines {
		if strings.HasPrefix(line, "```") {
			open = !open
		}
		after := func(n int) string { return strings.Join(lines[min(i+n, len(lines)):min(i+n+1, len(lines))], "") }
		switch {
		case open:
		case strings.HasPrefix(line, "| application |"):
			if lines[i-1] != "" || !strings.HasPrefix(after(1), "|---|") || !strings.HasPrefix(after(2), "| `") {
				return fmt.Errorf("line %d is the head of no table", i+1)
			}
		case strings.HasPrefix(line, "|") && (i == 0 || !strings.HasPrefix(lines[i-1], "|")):
			return fmt.Errorf("line %d is a row without a head", i+1)
		case line == "#### Causes" && !strings.HasPrefix(after(2), "1. "), line == "#### Not rendered" && after(2) != "```text":
			return fmt.Errorf("nothing follows the heading of line %d", i+1)
		}
	}
	return nil
}

// TestMarkdownSmall shows comments with little room.
func TestMarkdownSmall(t *testing.T) {
	t.Parallel()
	for _, n := range []int{300, 2000} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			golden(t, filepath.Join("testdata", fmt.Sprintf("small-%d.md", n)), newComment(manyRefused()).within(n))
		})
	}
}

// TestMarkdownLeast: a large fleet of which everything is cut still has that said.
func TestMarkdownLeast(t *testing.T) {
	t.Parallel()
	r := &compare.Report{From: compare.Side{Renderer: "helm3"}, To: compare.Side{Renderer: "helm4"}, Notes: slices.Repeat([]string{"note"}, 99), Causes: make([]compare.Cause, 999)}
	for _, status := range []compare.Status{compare.StatusAdded, compare.StatusRemoved, compare.StatusChanged, compare.StatusRefused, compare.StatusUnchanged} {
		for i := range 999 {
			a := app(fmt.Sprintf("%s-%d", status, i), status, 1, compare.Object{ID: deployment("web"), Change: compare.Changed})
			if status == compare.StatusRefused {
				a.Problems = []compare.Problem{{Message: "no"}}
			}
			r.Applications = append(r.Applications, a)
		}
	}
	want := `### hallmark: 999 added, 999 removed, 999 changed, 999 refused, 999 unchanged of 4995 applications

Cut to fit: all 3996 applications, all 999 refusals, all 999 causes, details of all 4995 applications, all 99 notes, both sides and the object counts.
`
	if got := newComment(r).within(Least); got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestMarkdownRefusedFirst: the reason of a refusal is shortened before it is cut, and
// many refusals leave room for what changes.
func TestMarkdownRefusedFirst(t *testing.T) {
	t.Parallel()
	r := refused()
	r.Applications[0].Problems[0].Message = strings.Repeat("a long reason ", 100)
	if got := newComment(r).within(500); !strings.Contains(got, "\npayments (argocd/payments.yaml:3), with helm4: a") || !strings.Contains(got, ellipsis) {
		t.Errorf("no refusal in\n%s", got)
	}
	if got := newComment(manyRefused()).within(2500); !strings.Contains(got, "| `app-000` |") || strings.Count(got, "\nshop-") < 2 {
		t.Errorf("no changed application beside the refusals in\n%s", got)
	}
}

// TestMarkdownInterest: what most can be seen in goes last, and does not take all.
func TestMarkdownInterest(t *testing.T) {
	t.Parallel()
	c := newComment(tight()["many changed"])
	if got := c.within(600); !strings.Contains(got, "| `zz-big` |") || strings.Contains(got, "| `app-039` |") {
		t.Errorf("not the row of most interest in\n%s", got)
	}
	got := c.within(5000)
	for _, want := range []string{"<code>zz-big</code>", " of 60 objects", "<code>app-000</code>"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestCutsAreSaid: the other formats have no bound, and say where they leave out names
// or lines.
func TestCutsAreSaid(t *testing.T) {
	t.Parallel()
	r := many(60, 1)
	r.Applications = append(r.Applications, app("search", compare.StatusAdded, 0, compare.Object{ID: deployment("search"), Change: compare.Added}))
	lines := bytes.Repeat([]byte("a: 1\n"), maxSame+100)
	r.Applications[0].Objects[0].Before, r.Applications[0].Objects[0].After = append(slices.Clone(lines), "b: 1\n"...), append(slices.Clone(lines), "b: 2\n"...)
	for _, format := range []string{"txt", "html"} {
		got, err := render(r, format)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got, "app-018 and 13 more") {
			t.Errorf("%s does not say how many names are left out", format)
		}
		if format == "html" && !strings.Contains(got, `"left":100}`) {
			t.Error("html does not say how many equal lines are left out")
		}
	}
}

// TestDetailsCut cuts details behind every line: that an object is shown in part is
// said, also where a value has blank lines.
func TestDetailsCut(t *testing.T) {
	t.Parallel()
	blank := multiline()
	blank.Applications[0].Objects = append(blank.Applications[0].Objects, big("shop", 1).Objects...)
	two := detailsOf(newOutline(blank).apps[0])
	if !slices.Contains(two.lines[:two.starts[1]-1], "") {
		t.Fatal("no blank line in the first object")
	}
	for n := 1; n < len(two.lines); n++ {
		want := "the rest of this object, 1 of 2 objects"
		switch {
		case n > two.starts[1]:
			want = "the rest of this object"
		case n >= two.starts[1]-1:
			want = "1 of 2 objects"
		}
		if got := two.cut(n); !strings.Contains(got, "\n# left out: "+want+"\n") {
			t.Errorf("behind line %d, want %s:\n%s", n, want, got)
		}
	}
	r := causes()
	r.Applications[1].Notes = []string{"one", "two"}
	several := detailsOf(newOutline(r).apps[1])
	for n, want := range map[int]string{
		1: "the rest of the notes, 1 of 1 object, 2 objects change only by causes 1, 4, 5",
		2: "1 of 1 object, 2 objects change only by causes 1, 4, 5",
		5: "the rest of this object, 2 objects change only by causes 1, 4, 5",
		7: "2 objects change only by causes 1, 4, 5",
	} {
		if got := several.cut(n); !strings.Contains(got, "\n# left out: "+want+"\n") {
			t.Errorf("behind line %d, want %s:\n%s", n, want, got)
		}
	}
}
