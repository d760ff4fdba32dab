package application

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestOverridden(t *testing.T) {
	t.Parallel()
	const base = "targetRevision: main\nhelm: {releaseName: web, valueFiles: [a.yaml, b.yaml], parameters: [{name: tag, value: v1}]}"
	tests := map[string]struct {
		files map[string]string
		check func(s Source) bool
	}{
		"none": {nil, func(s Source) bool { return s.Parameters.ReleaseName == "web" }},
		"one": {map[string]string{".argocd-source.yaml": "helm: {parameters: [{name: tag, value: v2}]}"},
			func(s Source) bool {
				return s.Parameters.HelmParameters["tag"] == "v2" && s.Parameters.ReleaseName == "web" && len(s.Parameters.ValueFiles) == 2
			}},
		"both, the application's last": {map[string]string{
			".argocd-source.yaml":            "helm: {releaseName: all, valueFiles: [c.yaml]}",
			".argocd-source-argocd_web.yaml": "helm: {releaseName: own}",
			".argocd-source-web.yaml":        "helm: {releaseName: another}",
		}, func(s Source) bool { return s.Parameters.ReleaseName == "own" && len(s.Parameters.ValueFiles) == 1 }},
		"null removes": {map[string]string{".argocd-source.yaml": "helm: {releaseName: null}"},
			func(s Source) bool { return s.Parameters.ReleaseName == "" && len(s.Parameters.ValueFiles) == 2 }},
		"another tool": {map[string]string{".argocd-source.yaml": "helm: null\nkustomize: {namePrefix: a-}"},
			func(s Source) bool {
				return s.Native == NativeKustomize && s.Parameters.Renderer == "kustomize" && s.Parameters.KustomizeNamePrefix == "a-"
			}},
		"not the place": {map[string]string{".argocd-source.yaml": "repoURL: other\npath: other\nchart: other\ntargetRevision: other"},
			func(s Source) bool {
				return s.RepoURL == "https://git.example.com/shop/deploy.git" && s.Path == "apps/web" && s.Chart == "" && s.TargetRevision == "main"
			}},
		"empty": {map[string]string{".argocd-source.yaml": "# nothing\n"}, func(s Source) bool { return s.Parameters.ReleaseName == "web" }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := fstest.MapFS{"apps/web/.argocd-source-folder.yaml/x": {}}
			for file, text := range tt.files {
				repo["apps/web/"+file] = &fstest.MapFile{Data: []byte(text)}
			}
			s := only(t, manifest(base)).Sources[0]
			got, err := s.Overridden(repo, s.Path, "argocd_web")
			if err != nil || !tt.check(got) {
				t.Errorf("got %+v, %v", got, err)
			}
			if s.Parameters.ReleaseName != "web" || s.Parameters.HelmParameters["tag"] != "v1" {
				t.Errorf("the source itself changed: %+v", s.Parameters)
			}
			if _, err := s.Overridden(repo, s.Path, "folder"); err != nil {
				t.Errorf("a folder of that name: %v", err)
			}
		})
	}
}

func TestOverriddenFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"helm:\n  valuefiles: [a]\n":       `apps/web/.argocd-source.yaml:2:3: helm: unknown field "valuefiles", did you mean "valueFiles"?`,
		"helm: [a]":                        "apps/web/.argocd-source.yaml:1:7: helm: got list, want a mapping",
		"- a":                              "apps/web/.argocd-source.yaml:1:1: got list, want a mapping",
		"helm: [":                          "apps/web/.argocd-source.yaml:",
		"kustomize: {}":                    "with this, the source of the application: it has kustomize and helm",
		strings.Repeat("#", maxOverride+1): "too large",
	} {
		s := only(t, manifest("helm: {}")).Sources[0]
		repo := fstest.MapFS{"apps/web/.argocd-source.yaml": {Data: []byte(text)}}
		if _, err := s.Overridden(repo, "apps/web", "web"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
