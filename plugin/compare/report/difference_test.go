package report

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"github.com/google/go-cmp/cmp"
)

// TestUnified compares the lines of a difference with those of go-udiff's printer. The
// heads of hunks are held against the texts: go-udiff miscounts the lines of the second
// text behind a hunk with two differences.
func TestUnified(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // the same texts each time
	head := regexp.MustCompile(`(?m)^@@.*@@$`)
	hunks := 0
	for range 500 {
		from, to := randomTexts(random)
		var got strings.Builder
		var a, b []string // what is left of the texts
		for _, l := range unified(from, to) {
			if l.op == hunk {
				got.WriteString("@@@@\n")
				if len(a)+len(b) > 0 {
					t.Fatalf("%q to %q: %q and %q are missing", from, to, a, b)
				}
				a, b = at(t, l.text, from, to)
				hunks++
				continue
			}
			got.WriteString(string(l.op) + l.text + "\n")
			for _, side := range []struct {
				lines *[]string
				not   byte
			}{{&a, added}, {&b, deleted}} {
				if l.op == side.not {
					continue
				}
				if len(*side.lines) == 0 || (*side.lines)[0] != l.text {
					t.Fatalf("%q to %q: %q is not where the hunk says", from, to, l.text)
				}
				*side.lines = (*side.lines)[1:]
			}
		}
		want := strings.TrimPrefix(udiff.Unified("a", "b", from, to), "--- a\n+++ b\n")
		if diff := cmp.Diff(head.ReplaceAllString(want, "@@@@"), got.String()); diff != "" {
			t.Fatalf("%q to %q (-want +got):\n%s", from, to, diff)
		}
	}
	if hunks < 500 {
		t.Errorf("only %d hunks", hunks)
	}
}

// at returns the lines that a hunk has by its head, of both texts.
func at(t *testing.T, head, from, to string) (a, b []string) {
	t.Helper()
	match := regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$`).FindStringSubmatch(head)
	if match == nil {
		t.Fatalf("got the head %q", head)
	}
	part := func(text, line, count string) []string {
		start, n := number(t, line)-1, 1
		if count != "" {
			if n = number(t, count); n == 0 {
				start++
			}
		}
		return splitLines(text)[start:][:n]
	}
	return part(from, match[1], match[2]), part(to, match[3], match[4])
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// randomTexts are two texts of some lines that have much in common.
func randomTexts(random *rand.Rand) (from, to string) {
	var a, b strings.Builder
	for i := range 1 + random.IntN(40) {
		text := fmt.Sprintf("key%d: %d\n", i%7, random.IntN(3))
		switch random.IntN(12) {
		case 0:
			a.WriteString(text)
		case 1:
			b.WriteString(text)
		case 2:
			a.WriteString(text)
			b.WriteString(strings.Replace(text, ": ", ": x", 1))
		default:
			a.WriteString(text)
			b.WriteString(text)
		}
	}
	return a.String() + "end\n", b.String() + "end\n"
}

func TestUnifiedLineBreak(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to, want string }{
		{"a\nb\n", "a\nb", "@@ -1,2 +1,3 @@| a| b|+" + noBreak},
		{"a", "a\n", "@@ -1,2 +1 @@| a|-" + noBreak},
		{"a", "b\n", "@@ -1 +1 @@|-a|+b"}, // the text differs: who looks at the break
		{"", "a\nb", "+a|+b"},
		{"a\n", "", "-a"},
		{"a\t\x1b\n", "", `-a	\x1b`},
	} {
		var lines []string
		for _, l := range unified(tt.from, tt.to) {
			if l.op == hunk {
				lines = append(lines, l.text)
			} else {
				lines = append(lines, string(l.op)+l.text)
			}
		}
		if got := strings.Join(lines, "|"); got != tt.want {
			t.Errorf("%q to %q: got %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
}

// TestSideBySide puts both texts together again from what is shown side by side.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // the same texts each time
	for range 500 {
		from, to := randomTexts(random)
		if random.IntN(10) == 0 {
			from = ""
		}
		var a, b strings.Builder
		for _, s := range sideBySide([]byte(from), []byte(to)) {
			for _, text := range s.Same {
				a.WriteString(text + "\n")
				b.WriteString(text + "\n")
			}
			for _, row := range s.Rows {
				if row[0] == nil && row[1] == nil {
					t.Fatal("a row of nothing")
				}
				if row[0] != nil {
					a.WriteString(*row[0] + "\n")
				}
				if row[1] != nil {
					b.WriteString(*row[1] + "\n")
				}
			}
		}
		if a.String() != from || b.String() != to {
			t.Fatalf("%q and %q became %q and %q", from, to, a.String(), b.String())
		}
	}
}

func TestSideBySideAlignsKeys(t *testing.T) {
	t.Parallel()
	got := sideBySide([]byte("a: 1\nb: 1\nc: 1\n"), []byte("new: 1\nb: 2\nalso: 1\nmore: 1\nc: 2\n"))
	var rows []string
	for _, s := range got {
		for _, row := range s.Rows {
			rows = append(rows, deref(row[0])+"|"+deref(row[1]))
		}
	}
	want := []string{"a: 1|new: 1", "b: 1|b: 2", "(none)|also: 1", "(none)|more: 1", "c: 1|c: 2"}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func deref(s *string) string {
	if s == nil {
		return "(none)"
	}
	return *s
}

// TestSideBySideLeavesOut keeps the page small where a large definition changes in one
// line.
func TestSideBySideLeavesOut(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("same\n", 5000)
	got := sideBySide([]byte("a: 1\n"+many), []byte("a: 2\n"+many))
	if len(got) != 4 || got[1].Same == nil || got[2].Left != 5000-maxSame || len(got[1].Same)+len(got[3].Same) != maxSame {
		t.Errorf("got %d segments", len(got))
	}
}
