package plugin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repository is a small repository, by path.
type repository map[string]string

// with is the repository with changes; an empty content takes a file away.
func (r repository) with(changes repository) repository {
	out := maps.Clone(r)
	for name, content := range changes {
		if content == "" {
			delete(out, name)
		} else {
			out[name] = content
		}
	}
	return out
}

// application says what Argo CD would of an application.
type application struct {
	repository
	entries []string // beyond those of every application; the last of a name counts
	change  func(*Request)
}

// request is the application as it arrives, at a revision.
func (a application) request(tb testing.TB, revision string) *Request {
	tb.Helper()
	r, err := FromEnviron(append([]string{
		"ARGOCD_APP_NAME=web", "ARGOCD_APP_NAMESPACE=shop", "ARGOCD_APP_REVISION=" + revision, "ARGOCD_APP_SOURCE_PATH=app",
		"ARGOCD_APP_REVISION_SHORT=" + revision[:min(7, len(revision))], "KUBE_VERSION=1.33", "KUBE_API_VERSIONS=apps/v1",
	}, a.entries...))
	if err != nil {
		tb.Fatal(err)
	}
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	tw := tar.NewWriter(gz)
	for _, name := range slices.Sorted(maps.Keys(a.repository)) {
		content := a.repository[name]
		header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))}
		if target, isLink := strings.CutPrefix(content, "-> "); isLink {
			header, content = &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}, ""
		}
		if err := tw.WriteHeader(header); err != nil {
			tb.Fatal(err)
		}
		if _, err := tw.Write([]byte(content)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		tb.Fatal(err)
	}
	if err := r.Receive(&packed, "app", TreeLimits{}); err != nil {
		tb.Fatal(err)
	}
	if a.change != nil {
		a.change(r)
	}
	return r
}

// both renders with the cache and without, and returns the first after it
// compared them.
func both(tb testing.TB, c *Cache, a application, revision string) (*Answer, error) {
	tb.Helper()
	got, err := c.Render(tb.Context(), a.request(tb, revision))
	want, wrong := (*Cache)(nil).Render(tb.Context(), a.request(tb, revision))
	if fmt.Sprint(err) != fmt.Sprint(wrong) {
		tb.Fatalf("got error %v, without the cache %v", err, wrong)
	}
	if err != nil {
		return nil, err
	}
	compared := *got
	compared.Cached = false
	if diff := cmp.Diff(want, &compared); diff != "" {
		tb.Fatalf("-without the cache +got, cached: %t\n%s", got.Cached, diff)
	}
	return got, nil
}

func parameters(list string) string { return "ARGOCD_APP_PARAMETERS=" + list }

// The forms of an application whose render depends on more than the contents of
// files that exist.
var applications = map[string]application{
	"chart": {repository: repository{
		"app/Chart.yaml": chartYAML, "app/values.yaml": "a: b\n", "app/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\ndata: {a: {{ .Values | toJson | quote }}, k: {{ .Capabilities.KubeVersion.Version | quote }}, v: {{ .Capabilities.APIVersions.Has \"example.com/v1\" | quote }}}\n",
		"app/crds/c.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n", "other/README.md": "one\n",
	}},
	"chart with values elsewhere": {repository: repository{
		"app/Chart.yaml": chartYAML, "app/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ .Values | toJson | quote }}}\n",
		"values/a.yaml": "a: 1\n", "other/README.md": "one\n",
	}, entries: []string{parameters(`[{"name":"value-files","array":["/values/*.yaml","more.yaml"]},{"name":"ignore-missing-value-files","string":"true"}]`)}},
	"kustomization": {repository: repository{
		"app/kustomization.yaml": "resources: [../base]\nnamePrefix: x-\n", "base/kustomization.yaml": "resources: [a.yaml]\n",
		"base/a.yaml": configMap, "other/README.md": "one\n",
	}},
	"kustomization with a chart": {repository: repository{
		"app/kustomization.yaml":    "helmCharts: [{name: web, releaseName: web}]\n",
		"app/charts/web/Chart.yaml": chartYAML, "app/charts/web/templates/a.yaml": configMap, "app/charts/web/values.yaml": "a: b\n", "other/README.md": "one\n",
	}},
	"plain": {repository: repository{"app/a.yaml": configMap, "app/sub/b.yaml": configMap, "other/README.md": "one\n"}},
}

// A commit elsewhere is answered from memory, with its revision in every object
// and everything else as it was.
func TestCacheHit(t *testing.T) {
	t.Parallel()
	for name, app := range applications {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewCache(1 << 20)
			first, err := both(t, c, app, "1111111111")
			if err != nil {
				t.Fatal(err)
			}
			if first.Cached {
				t.Fatal("the first answer is from memory")
			}
			app.repository = app.with(repository{"other/README.md": "two\n", "other/new.yaml": "x", "NEW": "x"})
			second, err := both(t, c, app, "2222222222")
			if err != nil {
				t.Fatal(err)
			}
			if !second.Cached || second.RenderHash != first.RenderHash || second.Provenance.InputsHash != first.Provenance.InputsHash {
				t.Errorf("got %+v after %+v, want a hit with the same hashes", second, first)
			}
			for i, m := range second.Manifests {
				if !strings.Contains(m, `"hallmark.dev/source-revision":"2222222222"`) || strings.ReplaceAll(m, "2222222222", "1111111111") != first.Manifests[i] {
					t.Errorf("got  %s\nwas %s", m, first.Manifests[i])
				}
			}
			if first.Provenance.SourceRevision != "1111111111" || !strings.Contains(first.Manifests[0], "1111111111") {
				t.Error("the answer that was given before has changed")
			}
			// No revision is another form of object.
			if none, err := both(t, c, app, ""); err != nil || none.Cached || strings.Contains(none.Manifests[0], "source-revision") {
				t.Errorf("got %v, error %v, want a render without a revision", none, err)
			}
		})
	}
}

// Whatever a render depends on is noticed when it changes.
func TestCacheMiss(t *testing.T) {
	t.Parallel()
	withParameters := func(list string) func(*application) {
		return func(a *application) { a.entries = append(slices.Clone(a.entries), parameters(list)) }
	}
	entry := func(e string) func(*application) {
		return func(a *application) { a.entries = append(slices.Clone(a.entries), e) }
	}
	files := func(changes repository) func(*application) {
		return func(a *application) { a.repository = a.with(changes) }
	}
	request := func(change func(*Request)) func(*application) { return func(a *application) { a.change = change } }
	const another = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: another}\n"
	for _, tt := range []struct {
		app, name string
		change    func(*application)
		same      bool // a render that must be asked for, with the same objects
	}{
		{app: "chart", name: "a template", change: files(repository{"app/templates/c.yaml": another})},
		{app: "chart", name: "values", change: files(repository{"app/values.yaml": "a: c\n"})},
		{app: "chart", name: "a new template", change: files(repository{"app/templates/d.yaml": another})},
		{app: "chart", name: "a new CRD", change: files(repository{"app/crds/d.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: c.d}\n"})},
		{app: "chart", name: "a template less", change: files(repository{"app/crds/c.yaml": ""})},
		{app: "chart", name: "a file to ignore", change: files(repository{"app/.helmignore": "crds\n"})},
		{app: "chart", name: "a schema", change: files(repository{"app/values.schema.json": `{"type": "object"}`}), same: true},
		{app: "chart", name: "parameters in a file", change: files(repository{"app/hallmark.yaml": "apiVersion: hallmark.dev/v1\nkind: Render\nspec: {skip-crds: true}\n"})},
		{app: "chart", name: "a kustomization beside it", change: files(repository{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": configMap})},
		{app: "chart", name: "a link in place of a file", change: files(repository{"app/values.yaml": "-> ../other/v.yaml", "other/v.yaml": "a: linked\n"})},
		{app: "chart", name: "a dependency", change: files(repository{"app/charts/d/Chart.yaml": "apiVersion: v2\nname: d\nversion: 1.0.0\n", "app/charts/d/templates/a.yaml": another})},
		{app: "chart", name: "a parameter", change: withParameters(`[{"name":"helm-parameters","map":{"a":"x"}}]`)},
		{app: "chart", name: "another engine", change: withParameters(`[{"name":"renderer","string":"helm4"}]`), same: true},
		{app: "chart", name: "the project, which a parameter asks for", change: func(a *application) {
			withParameters(`[{"name":"helm-parameters","map":{"a":"$ARGOCD_APP_PROJECT_NAME"}}]`)(a)
			entry("ARGOCD_APP_PROJECT_NAME=team-a")(a)
		}},
		{app: "chart", name: "version of the cluster", change: entry("KUBE_VERSION=1.34")},
		{app: "chart", name: "APIs of the cluster", change: entry("KUBE_API_VERSIONS=apps/v1,example.com/v1")},
		{app: "chart", name: "namespace", change: entry("ARGOCD_APP_NAMESPACE=other")},
		{app: "chart", name: "name", change: entry("ARGOCD_APP_NAME=other")},
		{app: "chart", name: "name with a namespace", change: entry("ARGOCD_APP_NAME=team-a_web"), same: true},
		{app: "chart", name: "key of the hashes", change: request(func(r *Request) { r.HashKey = []byte("0123456789abcdef") }), same: true},
		{app: "chart", name: "limits", change: request(func(r *Request) { r.Limits.Objects = 100 }), same: true},
		{app: "chart", name: "version of hallmark", change: request(func(r *Request) { r.Version = "next" }), same: true},
		{app: "chart with values elsewhere", name: "a match of the glob", change: files(repository{"values/b.yaml": "b: 2\n"})},
		{app: "chart with values elsewhere", name: "a match that is gone", change: files(repository{"values/a.yaml": ""})},
		{app: "chart with values elsewhere", name: "a file that was missing", change: files(repository{"app/more.yaml": "m: 1\n"})},
		{app: "kustomization", name: "a file of the base", change: files(repository{"base/a.yaml": another})},
		{app: "kustomization", name: "the base", change: files(repository{"base/kustomization.yaml": "resources: [a.yaml]\nnameSuffix: -y\n"})},
		{app: "kustomization", name: "a base under another name", change: files(repository{"base/kustomization.yaml": "", "base/Kustomization": "resources: [a.yaml]\nnameSuffix: -y\n"})},
		{app: "kustomization with a chart", name: "a template", change: files(repository{"app/charts/web/templates/b.yaml": another})},
		{app: "kustomization with a chart", name: "values", change: files(repository{"app/charts/web/values.yaml": "a: c\n"}), same: true},
		{app: "kustomization with a chart", name: "another engine", change: withParameters(`[{"name":"kustomize-helm","string":"helm4"}]`), same: true},
		{app: "plain", name: "a file", change: files(repository{"app/a.yaml": another})},
		{app: "plain", name: "a new file", change: files(repository{"app/b.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"another"}}`})},
		{app: "plain", name: "a chart beside it", change: files(repository{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": another})},
	} {
		t.Run(tt.app+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			c, app := NewCache(1<<20), applications[tt.app]
			first, err := both(t, c, app, "1111111111")
			if err != nil {
				t.Fatal(err)
			}
			changed := app
			tt.change(&changed)
			second, err := both(t, c, changed, "1111111111")
			if err != nil {
				t.Fatal(err)
			}
			if second.Cached || (second.RenderHash == first.RenderHash) != tt.same {
				t.Errorf("got cached %t and %s after %s, want a render with the same objects: %t", second.Cached, second.RenderHash, first.RenderHash, tt.same)
			}
			// Both are known now, as for two branches in turn.
			for _, a := range []application{app, changed} {
				if again, err := both(t, c, a, "3333333333"); err != nil || !again.Cached {
					t.Errorf("got error %v, or a render of what is known", err)
				}
			}
		})
	}
}

// The revision shows in an object where a parameter asks for it: none is stale.
func TestCacheAndVariables(t *testing.T) {
	t.Parallel()
	chart := applications["chart"]
	kustomization := applications["kustomization"]
	for name, app := range map[string]application{
		"helm-parameters":        {repository: chart.repository, entries: []string{parameters(`[{"name":"helm-parameters","map":{"a":"$ARGOCD_APP_REVISION"}}]`)}},
		"helm-string-parameters": {repository: chart.repository, entries: []string{parameters(`[{"name":"helm-string-parameters","map":{"a":"${ARGOCD_APP_REVISION_SHORT}"}}]`)}},
		"value-files": {repository: chart.with(repository{"values/1111111.yaml": "a: one\n", "values/2222222.yaml": "a: two\n"}), entries: []string{
			parameters(`[{"name":"value-files","array":["/values/$ARGOCD_APP_REVISION_SHORT.yaml"]}]`)}},
		"helm-file-parameters": {repository: chart.with(repository{"app/1111111": "one", "app/2222222": "two"}), entries: []string{
			parameters(`[{"name":"helm-file-parameters","map":{"a":"$ARGOCD_APP_REVISION_SHORT"}}]`)}},
		"kustomize-common-labels":      {repository: kustomization.repository, entries: []string{parameters(`[{"name":"kustomize-common-labels","map":{"a":"r$ARGOCD_APP_REVISION"}}]`)}},
		"kustomize-common-annotations": {repository: kustomization.repository, entries: []string{parameters(`[{"name":"kustomize-common-annotations","map":{"a":"r$ARGOCD_APP_REVISION"}},{"name":"kustomize-common-annotations-envsubst","string":"true"}]`)}},
		"kustomize-images": {repository: kustomization.with(repository{"base/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: web}]}\n"}), entries: []string{
			parameters(`[{"name":"kustomize-images","array":["web:$ARGOCD_APP_REVISION"]}]`)}},
		"hallmark.yaml": {repository: chart.with(repository{"app/hallmark.yaml": "apiVersion: hallmark.dev/v1\nkind: Render\nspec: {helm-parameters: {a: $ARGOCD_APP_REVISION}}\n"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewCache(1 << 20)
			first, err := both(t, c, app, "1111111111")
			if err != nil {
				t.Fatal(err)
			}
			second, err := both(t, c, app, "2222222222")
			if err != nil {
				t.Fatal(err)
			}
			if second.Cached || first.RenderHash == second.RenderHash {
				t.Errorf("got %v, after %v", second, first)
			}
			if again, err := both(t, c, app, "1111111111"); err != nil || !again.Cached {
				t.Errorf("got error %v, or a render of what is known", err)
			}
		})
	}
	// A variable of the application itself.
	app := application{repository: chart.repository, entries: []string{parameters(`[{"name":"helm-parameters","map":{"a":"$ARGOCD_ENV_TIER"}}]`), "ARGOCD_ENV_TIER=gold"}}
	c := NewCache(1 << 20)
	if _, err := both(t, c, app, "1"); err != nil {
		t.Fatal(err)
	}
	app.entries = append(app.entries, "ARGOCD_ENV_OTHER=x", "ARGOCD_ENV_TIER=silver")
	if answer, err := both(t, c, app, "1"); err != nil || answer.Cached || !strings.Contains(answer.Manifests[0]+answer.Manifests[1], "silver") {
		t.Errorf("got %v, error %v, want a render with the new value", answer, err)
	}
}

// The hashes of one key are not those of another.
func TestCacheAndKeys(t *testing.T) {
	t.Parallel()
	c := NewCache(1 << 20)
	seen := map[string]bool{}
	for _, key := range []string{"", "0123456789abcdef", "fedcba9876543210"} {
		app := application{repository: repository{"app/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n"}}
		if key != "" {
			app.change = func(r *Request) { r.HashKey = []byte(key) }
		}
		answer, err := both(t, c, app, "1111111111")
		if err != nil {
			t.Fatal(err)
		}
		if answer.Cached || seen[answer.RenderHash] {
			t.Errorf("key %q: got cached %t, %s", key, answer.Cached, answer.RenderHash)
		}
		seen[answer.RenderHash] = true
	}
}

// A render that is refused is refused again, with what is wrong then.
func TestCacheKeepsNoErrors(t *testing.T) {
	t.Parallel()
	c, app := NewCache(1<<20), applications["plain"]
	broken := app
	broken.repository = app.with(repository{"app/a.yaml": "apiVersion: v1\n"})
	for range 2 {
		if _, err := both(t, c, broken, "1111111111"); err == nil {
			t.Fatal("got an answer, want an error")
		}
	}
	if got := c.Bytes(); got != 0 {
		t.Errorf("got %d bytes after errors, want none", got)
	}
	if answer, err := both(t, c, app, "1111111111"); err != nil || answer.Cached {
		t.Errorf("got %v, error %v", answer, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewCache(1<<20).Render(ctx, app.request(t, "1")); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}

// Random edits of a repository and of what Argo CD says: an answer never differs
// from that of a server that keeps nothing.
func TestCacheIsInvisible(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(applications))
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // not a secret
			pick := func(list ...string) string { return list[random.IntN(len(list))] }
			// A small one forgets, and remembers again.
			const most = 64 << 10
			c := NewCache(most)
			app := application{repository: applications[names[int(seed)%len(names)]].repository} //nolint:gosec // small
			hits, renders := 0, 0
			for range 80 {
				switch random.IntN(4) {
				case 0, 1: // of a file that may be read, or may be looked for
					path := pick("app/values.yaml", "app/more.yaml", "values/a.yaml", "values/b.yaml", "app/hallmark.yaml", "app/templates/x.yaml",
						"app/kustomization.yaml", "app/Chart.yaml", "app/a.yaml", "base/a.yaml", "base/kustomization.yaml", "app/.helmignore", "app/sub/b.yaml", "other/README.md", "other/link")
					app.repository = app.with(repository{path: pick("", "", "a: 1\n", "a: 2\n", configMap, strings.ReplaceAll(configMap, "name: a", "name: other"),
						chartYAML, "resources: [../base]\n", "resources: [a.yaml]\n", "apiVersion: hallmark.dev/v1\nkind: Render\nspec: {directory-recurse: true}\n", "-> ../other/README.md", "-> ../values/a.yaml")})
				case 2:
					app.entries = []string{pick("KUBE_VERSION=1.34", "KUBE_VERSION=1.33"), pick("ARGOCD_APP_NAME=web", "ARGOCD_APP_NAME=api"), pick("ARGOCD_ENV_A=1", "ARGOCD_ENV_A=2"),
						parameters(pick(`[]`, `[{"name":"value-files","array":["/values/*.yaml"]},{"name":"ignore-missing-value-files","string":"true"}]`,
							`[{"name":"helm-parameters","map":{"a":"$ARGOCD_ENV_A-$ARGOCD_APP_REVISION"}}]`, `[{"name":"allow-empty","string":"true"}]`, `[{"name":"renderer","string":"plain"}]`))}
				case 3: // a commit elsewhere
				}
				answer, err := both(t, c, app, pick("1111111", "2222222", "3333333"))
				if err == nil {
					if renders++; answer.Cached {
						hits++
					}
				}
				if got := c.Bytes(); got > most {
					t.Fatalf("the cache holds %d bytes, want at most %d", got, most)
				}
			}
			if hits == 0 || hits == renders {
				t.Errorf("%d of %d answers came from memory: the test shows nothing", hits, renders)
			}
		})
	}
}

// A cache of nothing answers, and so does none.
func TestNoCache(t *testing.T) {
	t.Parallel()
	for _, c := range []*Cache{nil, NewCache(0), NewCache(-1), NewCache(1)} {
		for range 2 {
			if answer, err := both(t, c, applications["chart"], "1111111111"); err != nil || answer.Cached {
				t.Errorf("got %v, error %v, want a render", answer, err)
			}
		}
		if got := c.Bytes(); got != 0 {
			t.Errorf("got %d bytes, want none", got)
		}
	}
}

// One chart in a repository for many applications: it is parsed once, rendered
// at once, and each gets what it would get alone.
func TestChartsAreShared(t *testing.T) {
	t.Parallel()
	c := NewCache(8 << 20)
	app := applications["chart"]
	app.repository = app.with(repository{
		"app/crds/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: in-a-list}\n",
	})
	var all sync.WaitGroup
	for i := range 12 {
		mine := app
		mine.entries = []string{fmt.Sprintf("ARGOCD_APP_NAME=web-%d", i), fmt.Sprintf("ARGOCD_APP_NAMESPACE=ns-%d", i%3),
			parameters(fmt.Sprintf(`[{"name":"renderer","string":%q},{"name":"helm-parameters","map":{"a":"%d"}}]`, []string{"helm3", "helm4"}[i%2], i))}
		if i%4 == 0 {
			mine.change = func(r *Request) { r.HashKey = []byte("0123456789abcdef") }
		}
		all.Go(func() {
			want, err := (*Cache)(nil).Render(t.Context(), mine.request(t, "1"))
			if err != nil {
				t.Error(err)
				return
			}
			got, err := c.Render(t.Context(), mine.request(t, "1"))
			if err != nil {
				t.Error(err)
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("application %d: -alone +got\n%s", i, diff)
			}
		})
	}
	all.Wait()
	if got := c.charts.recent.Len(); got != 1 {
		t.Errorf("got %d charts, want the one", got)
	}
}

// An answer that fills most of the cache takes the place of older ones, and is
// there for the next commit.
func TestCacheOfLargeAnswers(t *testing.T) {
	t.Parallel()
	c := NewCache(2 * 50_000)
	for i := range 6 {
		files := map[string]string{
			"app/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: " + strings.Repeat("x", 20_000) + "}\n",
			"app/b.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b%d}\n", i),
		}
		for _, want := range []bool{false, true} {
			answer, err := c.Render(t.Context(), memory(files))
			if err != nil {
				t.Fatal(err)
			}
			if answer.Cached != want {
				t.Errorf("commit %d: answered from memory: %t, want %t", i, answer.Cached, want)
			}
		}
		if c.Bytes() > 2*50_000 {
			t.Errorf("commit %d: the cache holds %d bytes", i, c.Bytes())
		}
	}
}
