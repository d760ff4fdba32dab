package lint

import "testing"

func FuzzOverlap(f *testing.F) {
	f.Add("*.x.io/*", "a.{x,y}.io/[A-Z]?")
	f.Add(`{a*,b}c/\*`, "[!a]*")
	f.Add("{", "[")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 60 || len(b) > 60 {
			t.Skip()
		}
		key, ok := overlap(a, b, nil)
		if !ok {
			return
		}
		for _, pattern := range []string{a, b} {
			if g, err := newPattern(pattern); err != nil || !g.match(key) {
				t.Errorf("%q does not match %q, error %v", pattern, key, err)
			}
		}
		if back, _ := overlap(b, a, nil); back == "" {
			t.Errorf("%q and %q overlap, but not the other way round", a, b)
		}
	})
}

// FuzzConfigMap: whatever the file is, there is an answer, within the file.
func FuzzConfigMap(f *testing.F) {
	f.Add("kind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n  resource.customizations: |\n    '*.x/*':\n      health.lua: |\n        return nil\n")
	f.Add("resource.customizations.health.a_B: return {status = obj.status.phase}\nresource.customizations.useOpenLibs.a_B: 'true'")
	f.Add("x: {configs: {cm: {resource.customizations: \"*a: {}\"}}}\n---\nkind: ArgoCD\nspec: {resourceHealthChecks: [{check: return 1}, 3]}")
	f.Fuzz(func(t *testing.T, text string) {
		findings, err := ConfigMap("cm.yaml", []byte(text), Options{})
		if err != nil && len(findings) > 0 {
			t.Errorf("got %v and error %v", findings, err)
		}
		lines := 2
		for _, c := range text {
			if c == '\n' || c == '\r' || c == '\u0085' || c == '\u2028' || c == '\u2029' {
				lines++
			}
		}
		for _, finding := range findings {
			if finding.Line < 0 || finding.Line > lines || finding.Message == "" || order(finding.Rule) < 0 {
				t.Errorf("a finding is not in the file of %d lines: %+v", lines, finding)
			}
		}
	})
}
