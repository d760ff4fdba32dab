package main

import (
	"bytes"
	"strings"
	"testing"
)

// On a terminal there is one line, which is replaced and at last taken away; nobody
// else sees any.
func TestProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &progress{w: &out}
	p.show(0, 2, "")
	p.show(1, 2, "argocd/web\x1b[2J\n"+strings.Repeat("x", 200))
	p.end()
	lines := strings.Split(out.String(), "\r\x1b[K")
	if len(lines) != 4 || lines[1] != "0 of 2 " || !strings.HasPrefix(lines[2], "1 of 2 argocd/web") || lines[3] != "" {
		t.Errorf("got %q", lines)
	}
	if text := strings.Join(lines, ""); strings.ContainsAny(text, "\x1b\n") || len(lines[2]) > 80 {
		t.Errorf("got %q", text)
	}
	quiet := newProgress(&out)
	out.Reset()
	quiet.show(1, 2, "web")
	quiet.end()
	if out.Len() > 0 {
		t.Errorf("got %q where nobody looks", out.String())
	}
}
