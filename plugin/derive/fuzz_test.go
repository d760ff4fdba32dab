package derive

import (
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/yamldoc"
)

// What a template prints is not trusted: whatever the renders hold, Resolve returns.
func FuzzResolve(f *testing.F) {
	head := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	for _, s := range []string{
		"data: {a: FRAME}", "data: {a: " + b64(oneFrame) + "}", "data: [FRAME, [" + ComputedFrame("sha256", "x"+oneFrame) + "]]",
		"data: {a: " + ComputedFrame("sha256", "data: "+otherFrame) + ", b: " + ComputedFrame("bcrypt", oneFrame) + ", FRAME: x}",
		"data: {a: " + printedFrame("i5to5", oneNonce) + "}", "data: {a: 5}", "items: [{kind: Secret, data: {a: FRAME}}]\nkind: List",
		"data: {a: " + printedFrame("a9999999", oneNonce) + "}", "metadata: {name: FRAME, annotations: []}",
		"data: {a: \"-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\"}", "spec: [{name: a, v: FRAME}, {name: b}]",
	} {
		s = strings.ReplaceAll(s, "FRAME", oneFrame)
		f.Add(head+s, head+s, strings.ReplaceAll(head+s, oneNonce, otherNonce), s)
	}
	f.Fuzz(func(t *testing.T, plain, first, second, file string) {
		renders := Renders{}
		for i, r := range []*Render{&renders.Plain, &renders.First, &renders.Second} {
			v, err := yamldoc.Decode("a.yaml", []byte([]string{plain, first, second}[i]))
			doc, ok := v.(map[string]any)
			if err != nil || !ok {
				return
			}
			r.Documents = []Document{{Template: "a.yaml", Value: doc}}
			r.Texts = map[string]string{"a.yaml": file}
		}
		out, err := Resolve(t.Context(), testOptions(t), renders, []Field{{0, []any{"data"}}, {0, []any{"spec", 1, "v"}}})
		if err != nil {
			t.Fatal(err)
		}
		if out == nil || len(out.Derived)+len(out.Refused) == 0 {
			t.Error("an unstable field is neither derived nor refused")
		}
		for _, d := range out.Derived {
			for _, n := range d.Names {
				if n == "" || d.Reason == "" {
					t.Errorf("got %+v", d)
				}
			}
		}
	})
}
