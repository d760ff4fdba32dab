package server

import (
	"encoding/json"
	"testing"

	"github.com/argoproj/argo-cd/v2/cmpserver/apiclient"
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
	for discovery, supported := range map[Discovery]map[string]bool{
		DiscoverNone:   {},
		"":             {},
		DiscoverMarked: {"marked": true},
		DiscoverAll:    {"marked": true, "chart": true, "kustomization": true},
	} {
		t.Run(string(discovery), func(t *testing.T) {
			t.Parallel()
			r := start(t, func(o *Options) { o.Discover = discovery })
			enabled := discovery == DiscoverMarked || discovery == DiscoverAll
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
				if got.IsSupported != supported[name] || got.IsDiscoveryEnabled != enabled {
					t.Errorf("%s: got supported %t, enabled %t, want %t, %t", name, got.IsSupported, got.IsDiscoveryEnabled, supported[name], enabled)
				}
			}
		})
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
