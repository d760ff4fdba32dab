package derive

import (
	"encoding/base64"
	"strings"
	"testing"
)

const (
	nonceA = "000000000000000000000000001"
	nonceB = "111111111111111111111111110"
	frameA = FrameStart + "t" + nonceA + "a16s1" + frameLetters + FrameEnd
	frameB = FrameStart + "t" + nonceB + "b32s20" + frameLetters + FrameEnd
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// describe writes a text for the tables below: <kind...> for each piece.
func describe(t text) string {
	var b strings.Builder
	for i := range t {
		p := &t[i]
		switch p.kind {
		case literal:
			b.WriteString(p.raw)
		case token:
			b.WriteString("<" + string(p.function) + p.size + " " + p.nonce[:1] + strings.Repeat("^", int(p.letters)) + ">")
		case computed:
			b.WriteString("<" + p.name + " " + describe(p.parts) + ">")
		case encoded:
			b.WriteString("<64 " + describe(p.parts) + ">")
		case block:
			b.WriteString("<pem>")
		case broken:
			b.WriteString("<broken>")
		}
	}
	return b.String()
}

func TestParse(t *testing.T) {
	t.Parallel()
	marked, err := base64.StdEncoding.DecodeString("ab" + FrameEnd + "cd")
	if err != nil {
		t.Fatal(err)
	}
	pemBlock := "-----BEGIN CERTIFICATE-----\nAAAA\nBBBB\n-----END CERTIFICATE-----"
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":           {"plain text, dGVzdCB0ZXN0IHRlc3QgdGVzdA== and more", "plain text, dGVzdCB0ZXN0IHRlc3QgdGVzdA== and more"},
		"token":             {frameA, "<a16 0>"},
		"in text":           {"x://u:" + frameA + "@h", "x://u:<a16 0>@h"},
		"beside":            {frameA + frameB, "<a16 0><b32 1>"},
		"letters around":    {"Zm9v" + frameA + "bar0", "Zm9v<a16 0>bar0"},
		"lower":             {strings.ToLower(frameA), "<a16 0^>"},
		"upper":             {strings.ToUpper(frameA), "<a16 0^^>"},
		"single letters":    {"h" + frameA[1:], "<broken>"},
		"cut":               {frameA[:30], "<broken>"},
		"cut in the kind":   {FrameStart + "t" + nonceA + "a1", "<broken>"},
		"cut in the site":   {FrameStart + "t" + nonceA + "i-5to7s1-x", "<broken>-x"},
		"cut, more behind":  {frameA[:12] + "-" + frameA, "<broken>-<a16 0>"},
		"only a start":      {"Hm0tQ and hm0tq-x", "Hm0tQ and hm0tq-x"},
		"start before":      {FrameStart + "-" + frameA, "Hm0tQ-<a16 0>"},
		"half before":       {"Hm0t" + frameA, "Hm0t<a16 0>"},
		"integer":           {FrameStart + "t" + nonceA + "i-5tom3s7" + frameLetters + FrameEnd, "<i-5to-3 0>"},
		"integer, literal":  {FrameStart + "t" + nonceA + "im5to30s7" + frameLetters + FrameEnd, "<i-5to30 0>"},
		"unknown kind":      {FrameStart + "t" + nonceA + "z16s1" + FrameEnd, "<broken>z16s1" + FrameEnd},
		"base64":            {b64(frameA), "<64 <a16 0>>"},
		"base64 of text":    {b64("user:" + frameA + ";"), "<64 user:<a16 0>;>"},
		"twice":             {b64("a=" + b64(frameA)), "<64 a=<64 <a16 0>>>"},
		"unpadded":          {strings.TrimRight(b64(frameB), "="), "<64 <b32 1>>"},
		"base64 in text":    {"x: " + b64(frameA) + "\ny: " + b64(frameB), "x: <64 <a16 0>>\ny: <64 <b32 1>>"},
		"letters before":    {"key" + b64(frameA), "key<64 <a16 0>>"},
		"behind dashes":     {"my-a-" + b64(frameA), "m<64 \xcb\xe6\xbe<a16 0>>"}, // the dash belongs to an alphabet
		"both alphabets":    {"a/b-" + b64(frameA), "a/b-<64 <a16 0>>"},
		"cut base64":        {b64(frameA)[:28], "<64 <broken>>"},
		"lower in base64":   {b64(strings.ToLower(frameA)), "<64 <a16 0^>>"},
		"computed":          {ComputedFrame("sha256", "x"), "<sha256 x>"},
		"computed of token": {"s=" + ComputedFrame("sha1", "a:"+frameA) + ".", "s=<sha1 a:<a16 0>>."},
		"nested":            {ComputedFrame("sha512", "k: "+b64(ComputedFrame("bcrypt", "u:"+frameB))), "<sha512 k: <64 <bcrypt u:<b32 1>>>>"},
		"mark in input":     {ComputedFrame("sha256", "abc"+FrameEnd+frameA), "<sha256 abc" + FrameEnd + "<a16 0>>"},
		"mark in base64":    {ComputedFrame("sha256", string(marked)), "<sha256 " + string(marked) + ">"},
		"computed, cut":     {ComputedFrame("sha256", frameA)[:40], "<broken><64 <broken>>"},
		"computed, lower":   {strings.ToLower(ComputedFrame("sha256", "x")), "<broken>" + strings.ToLower(b64("x")+FrameEnd)},
		"PEM":               {"a\n" + pemBlock + "\nb", "a\n<pem>\nb"},
		"PEM, indented":     {"  " + strings.ReplaceAll(pemBlock, "\n", "\n    "), "  <pem>"},
		"PEM in JSON":       {`{"a":"` + strings.ReplaceAll(pemBlock, "\n", `\n`) + `\n"}`, `{"a":"<pem>\n"}`},
		"PEM in base64":     {b64(pemBlock + "\n"), "<64 <pem>\n>"},
		"PEM without end":   {pemBlock[:40], pemBlock[:40]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parse(tt.text)
			if d := describe(got); d != tt.want {
				t.Errorf("got %s, want %s", d, tt.want)
			}
			if got.raw() != tt.text {
				t.Errorf("the pieces of %q are %q", tt.text, got.raw())
			}
		})
	}
}

func TestFrameParts(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{frameB, strings.ToLower(frameB), strings.ToUpper(frameB)} {
		p, n := frameAt(frame+"x", 0)
		if n != len(frame) || p.function != 'b' || p.size != "32" || p.nonce != nonceB || p.site != "20" {
			t.Errorf("got %d and %+v of %s", n, p, frame)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		frameA, b64("x" + frameA), ComputedFrame("sha256", b64(frameA)+frameB), strings.ToUpper(frameA), frameA[:20],
		FrameStart + "cshuffle", "-----BEGIN A-----\\nAA\\n-----END A-----", "a-b/" + b64(frameB),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parsed := parse(s)
		if got := parsed.raw(); got != s {
			t.Fatalf("the pieces of %q are %q", s, got)
		}
		// What is written of the parts again is what was read.
		parsed.visit(false, func(p *piece, _ bool) {
			if p.kind == block && p.write(p.text) != p.raw {
				t.Fatalf("%q is written as %q", p.raw, p.write(p.text))
			}
		})
		parsed.match(s)
		parsed.shape(blockType)
	})
}
