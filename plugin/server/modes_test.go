package server

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/argoproj/argo-cd/v2/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v2/util/app/discovery"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/emptypb"

	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/source"
)

// With no discovery nothing is matched, and repo-server is told not to ask.
func TestMatchRepository(t *testing.T) {
	t.Parallel()
	const marker = "apiVersion: hallmark.dev/v1\nkind: Render\nspec: {}\n"
	folders := map[string][]byte{
		"marked":        tgz(t, regular("app/hallmark.yaml", marker), regular("app/a.yaml", configMap("a", "b"))),
		"chart":         tgz(t, regular("app/Chart.yaml", chartYAML)),
		"kustomization": tgz(t, regular("app/kustomization.yaml", "resources: []\n")),
		"plain":         tgz(t, regular("app/a.yaml", configMap("a", "b"))),
		"elsewhere":     tgz(t, regular("app/a.yaml", configMap("a", "b")), regular("hallmark.yaml", marker), regular("Chart.yaml", chartYAML)),
		"none":          tgz(t, regular("other/Chart.yaml", chartYAML)),
	}
	for mode, supported := range map[Discovery]map[string]bool{
		DiscoverNone:   {},
		"":             {},
		DiscoverMarked: {"marked": true},
		DiscoverAll:    {"marked": true, "chart": true, "kustomization": true},
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := start(t, func(o *Options) { o.Discover = mode })
			enabled := mode == DiscoverMarked || mode == DiscoverAll
			check, err := r.client.CheckPluginConfiguration(t.Context(), &emptypb.Empty{})
			if err != nil {
				t.Fatal(err)
			}
			if check.IsDiscoveryConfigured != enabled {
				t.Errorf("got configured %t, want %t", check.IsDiscoveryConfigured, enabled)
			}
			for name, archive := range folders {
				answer, err := r.exchange(t.Context(), methodMatch, whole(archive)...)
				if err != nil {
					t.Fatal(err)
				}
				got := answer.(*apiclient.RepositoryResponse)
				if got.IsSupported != supported[name] || got.IsDiscoveryEnabled != supported[name] {
					t.Errorf("%s: got supported %t, enabled %t, want both %t", name, got.IsSupported, got.IsDiscoveryEnabled, supported[name])
				}
			}
		})
	}
}

// Argo CD's own code decides: an application that names the plugin gets it whatever
// the mode is, one that does not only where its folder is declared.
func TestDiscoveryByArgoCD(t *testing.T) {
	for _, mode := range []Discovery{DiscoverNone, DiscoverMarked, DiscoverAll} {
		for folder, files := range map[string]map[string]string{
			"plain":  {"app/a.yaml": configMap("a", "b")},
			"chart":  {"app/Chart.yaml": chartYAML},
			"marked": {"app/a.yaml": configMap("a", "b"), "app/hallmark.yaml": "apiVersion: hallmark.dev/v1\nkind: Render\n"},
		} {
			t.Run(string(mode)+"/"+folder, func(t *testing.T) {
				r := start(t, func(o *Options) { o.Discover = mode })
				t.Setenv("ARGOCD_PLUGINSOCKFILEPATH", filepath.Dir(r.socket))
				root := checkout(t, files)
				for _, name := range []string{"hallmark", ""} {
					closer, _, err := discovery.DetectConfigManagementPlugin(t.Context(), filepath.Join(root, "app"), root, name, env(), nil)
					if err == nil {
						err = closer.Close()
						if err != nil {
							t.Fatal(err)
						}
					}
					declared := mode == DiscoverMarked && folder == "marked" || mode == DiscoverAll && folder != "plain"
					if found, want := err == nil, name != "" || declared; found != want {
						t.Errorf("plugin name %q: found %t, want %t (%v)", name, found, want, err)
					}
				}
			})
		}
	}
}

// What goes over the wire is the list that `hallmark parameters` prints, which
// has the JSON form of Argo CD's message.
func TestGetParametersAnnouncement(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for name, files := range map[string]map[string]string{
		"chart": {
			"app/Chart.yaml": chartYAML, "app/values.yaml": "image: {tag: v1}\nports: [80]\n",
			"app/hallmark.yaml": "apiVersion: hallmark.dev/v1\nkind: Render\nspec: {value-files: [more.yaml], skip-tests: true}\n", "app/more.yaml": "replicas: 2\n",
		},
		"kustomization": {"app/kustomization.yaml": "resources: [a.yaml]\nimages: [{name: web, newTag: v2}]\n", "app/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: web}]}\n"},
		"plain":         {"app/a.yaml": configMap("a", "b")},
		"broken":        {"app/Chart.yaml": chartYAML, "app/values.yaml": "a: ["},
	} {
		request, err := plugin.FromEnviron(env())
		if err != nil {
			t.Fatal(err)
		}
		request.Tree = source.Memory(files)
		announced, wrong := plugin.Announce(t.Context(), request)
		if (wrong != nil) != (name == "broken") {
			t.Fatalf("%s: got error %v", name, wrong)
		}
		want, err := json.Marshal(announced)
		if err != nil {
			t.Fatal(err)
		}
		var entries []entry
		for file, content := range files {
			entries = append(entries, regular(file, content))
		}
		answer, err := r.exchange(t.Context(), methodAnnounce, whole(tgz(t, entries...))...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(answer.(*apiclient.ParametersAnnouncementResponse).ParameterAnnouncements)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(t, want), plain(t, got)); diff != "" {
			t.Errorf("%s: -announced +received:\n%s", name, diff)
		}
	}
}

func plain(t *testing.T, data []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
