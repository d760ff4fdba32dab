package diag_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
)

func TestErrorLeavesOutUnknownParts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  diag.Error
		want string
	}{
		{"all", diag.Error{File: "a.yaml", Line: 3, Col: 5, Msg: "got string, want bool"}, "a.yaml:3:5: got string, want bool"},
		{"no column", diag.Error{File: "a.yaml", Line: 3, Msg: "m"}, "a.yaml:3: m"},
		{"file only", diag.Error{File: "a.yaml", Msg: "m"}, "a.yaml: m"},
		{"line only", diag.Error{Line: 3, Msg: "m"}, "3: m"},
		{"message only", diag.Error{Msg: "m"}, "m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.err.Error(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestListSortsAndDropsRepetitions(t *testing.T) {
	t.Parallel()
	var l diag.List
	l.Addf("b.yaml", 1, 1, "last")
	l.Addf("a.yaml", 10, 1, "third")
	l.Addf("a.yaml", 2, 9, "second")
	l.Addf("a.yaml", 2, 1, "first %d", 1)
	l.Addf("a.yaml", 2, 9, "second")
	want := "a.yaml:2:1: first 1\na.yaml:2:9: second\na.yaml:10:1: third\nb.yaml:1:1: last"
	err := l.Err()
	if err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
	var one *diag.Error
	if !errors.As(fmt.Errorf("checking: %w", err), &one) || one.Msg != "first 1" {
		t.Errorf("errors.As found %v, want the first fault", one)
	}
}

func TestListIsCapped(t *testing.T) {
	t.Parallel()
	var l diag.List
	for i := range 25 {
		l.Addf("a.yaml", i+1, 0, "m")
	}
	lines := strings.Split(l.Error(), "\n")
	if len(lines) != 21 || lines[19] != "a.yaml:20: m" || lines[20] != "and 5 more" {
		t.Errorf("got %d lines ending in %q, want 20 and then %q", len(lines), lines[len(lines)-1], "and 5 more")
	}
}

func TestEmptyListIsNoError(t *testing.T) {
	t.Parallel()
	var l diag.List
	if err := l.Err(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	base := errors.New("base")
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"none", base, ""},
		{"nil", nil, ""},
		{"nil stays nil", diag.WithHint(nil, "h"), ""},
		{"direct", diag.WithHint(base, "h"), "h"},
		{"wrapped", fmt.Errorf("outer: %w", diag.WithHint(base, "h")), "h"},
		{"joined", errors.Join(base, diag.WithHint(base, "h")), "h"},
		{"outermost wins", diag.WithHint(diag.WithHint(base, "inner"), "outer"), "outer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := diag.Hint(tc.err); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if err := diag.WithHint(base, "h"); err.Error() != "base" || !errors.Is(err, base) {
		t.Errorf("a hint changed the error: %v", err)
	}
	if err := diag.WithHint(nil, "h"); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestCaret(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  diag.Error
		want string
	}{
		{"in a line", diag.Error{Col: 3, Excerpt: "abcd"}, "abcd\n  ^"},
		{"at its start", diag.Error{Col: 1, Excerpt: "abcd"}, "abcd\n^"},
		{"behind its end", diag.Error{Col: 9, Excerpt: "ab"}, "ab\n  ^"},
		{"after tabs", diag.Error{Col: 3, Excerpt: "\t\tx"}, "\t\tx\n\t\t^"},
		{"after wide characters", diag.Error{Col: 3, Excerpt: "日本x"}, "日本x\n  ^"},
		{"no column", diag.Error{Excerpt: "ab"}, ""},
		{"no line", diag.Error{Col: 1}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(tc.err.Caret(), "\n"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
