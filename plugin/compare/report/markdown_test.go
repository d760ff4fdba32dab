package report

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"hallmark.dev/hallmark/plugin/compare"
)

// TestMarkdownFits writes reports of any content in any room: what comes out is never
// too long, and always Markdown whose fences and details are closed.
func TestMarkdownFits(t *testing.T) {
	t.Parallel()
	reports := cases()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same texts each time
	for i := range 5 {
		reports[fmt.Sprintf("random %d", i)] = randomReport(random)
	}
	for name, r := range reports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same texts each time
			rooms := []int{0, 1, 2, 3, 30, 31, 32, 33, 255, 256, 300, 600, 1000, 2100, 2500, 4000, 10_000, 65_536}
			for range 8 {
				rooms = append(rooms, 1+random.IntN(30_000))
			}
			for _, room := range rooms {
				var b bytes.Buffer
				if err := Markdown(&b, r, room); err != nil {
					t.Fatal(err)
				}
				if room > 0 && b.Len() > room {
					t.Errorf("%d bytes for %d", b.Len(), room)
				}
				if !utf8.Valid(b.Bytes()) {
					t.Errorf("not UTF-8 in %d bytes", room)
				}
				if err := closed(b.String()); err != nil {
					t.Errorf("in %d bytes: %v", room, err)
				}
			}
		})
	}
}

// randomReport puts the marks everywhere, some of them long and many times.
func randomReport(random *rand.Rand) *compare.Report {
	text := func() string {
		mark := marks[random.IntN(len(marks))]
		switch random.IntN(6) {
		case 0:
			return strings.Repeat(mark, 1+random.IntN(400))
		case 1:
			return strings.Repeat("`", random.IntN(600)) + mark
		case 2:
			return strings.Repeat("é", random.IntN(300)) + "\n" + mark + "\n" + mark
		}
		return mark
	}
	r := &compare.Report{From: compare.Side{Renderer: text(), Ref: text(), Commit: text()}, To: compare.Side{Ref: text()}}
	for range random.IntN(60) {
		r.Causes = append(r.Causes, compare.Cause{Path: text(), Change: compare.Changed, From: text(), To: text(), Applications: []string{text(), text(), text(), text(), text()}})
	}
	for range random.IntN(5) {
		r.Notes = append(r.Notes, text())
	}
	for range random.IntN(60) {
		var objects []compare.Object
		for range random.IntN(20) {
			o := compare.Object{ID: deployment(text()), Change: []compare.Change{compare.Added, compare.Removed, compare.Changed}[random.IntN(3)]}
			for range random.IntN(10) {
				o.Fields = append(o.Fields, caused(random.IntN(80)-20, changed(text(), text(), text())))
			}
			objects = append(objects, o)
		}
		a := app(text(), compare.StatusChanged, 1, objects...)
		for range random.IntN(3) {
			a.Problems = append(a.Problems, compare.Problem{Message: text(), Hint: text(), Source: text()})
			a.Notes = append(a.Notes, text())
		}
		r.Applications = append(r.Applications, a)
	}
	return r
}

var fence = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})(diff|text)?$")

// closed reports what is left open at the end of a comment.
func closed(text string) error {
	open, depth := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		found := fence.FindStringSubmatch(line)
		switch {
		case open != "" && found != nil && found[2] == "" && found[1][0] == open[0] && len(found[1]) >= len(open):
			open = ""
		case open != "" && longestRun(line) >= len(open):
			return fmt.Errorf("a fence of %d around %q", len(open), line)
		case open != "":
		case found != nil:
			open = found[1]
		case strings.HasPrefix(line, "<details"):
			depth++
		case line == "</details>":
			depth--
		}
		if depth < 0 || depth > 1 {
			return fmt.Errorf("details at depth %d", depth)
		}
	}
	if open != "" || depth != 0 {
		return fmt.Errorf("fence %q and %d details are open at the end", open, depth)
	}
	return nil
}

// TestMarkdownIsInert takes the code out of a comment: nothing of what strangers wrote
// is left, so it cannot be a link, a mention, an image or HTML.
func TestMarkdownIsInert(t *testing.T) {
	t.Parallel()
	r := hostile()
	for i := range r.Causes {
		// Something that is known when it is seen, beside what is dangerous.
		r.Applications[i].Name += "stranger"
		r.Causes[i].Path += "stranger"
	}
	text, err := render(r, "md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text, "stranger"); n < 2*len(marks) {
		t.Fatalf("only %d of the names are shown", n)
	}
	rest := withoutCode(text)
	for _, danger := range append([]string{"stranger", "@", "#1", "http", "evil", "script", "img", "](", "/close", "&lt;"}, "\x1b", "\u202e", "\u009b") {
		if strings.Contains(rest, danger) {
			t.Errorf("%q stands outside of code:\n%s", danger, rest)
		}
	}
	for line := range strings.Lines(text) {
		if cells := regexp.MustCompile(`[^\\]\|`).FindAllString(line, -1); strings.HasPrefix(line, "| `") && len(cells) != 6 {
			t.Errorf("%d cells in %s", len(cells), line)
		}
	}
}

// withoutCode is Markdown without its blocks and spans of code.
func withoutCode(text string) string {
	var rest strings.Builder
	open := ""
	for line := range strings.Lines(text) {
		found := fence.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case open != "" && found != nil && found[1] == open:
			open = ""
		case open != "":
		case found != nil:
			open = found[1]
		default:
			rest.WriteString(line)
		}
	}
	text = regexp.MustCompile(`<code>[^<]*</code>`).ReplaceAllString(rest.String(), "")
	var plain strings.Builder
	for line := range strings.Lines(text) {
		plain.WriteString(withoutSpans(line))
	}
	return plain.String()
}

// withoutSpans is a line without its spans of code, each of which ends at the next run
// of as many backticks as it begins with.
func withoutSpans(line string) string {
	runs := regexp.MustCompile("`+").FindAllStringIndex(line, -1)
	plain, at := "", 0
	for i, run := range runs {
		if run[0] < at {
			continue
		}
		for _, other := range runs[i+1:] {
			if other[1]-other[0] == run[1]-run[0] {
				plain += line[at:run[0]]
				at = other[1]
				break
			}
		}
	}
	return plain + line[at:]
}
