package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/grpc/status"

	"hallmark.dev/hallmark/internal/sealtest"
)

// leakyApps are applications that decrypt a marker, in folders of their own. A file
// "yaml:a/s.yaml" is encrypted in that format. QUOTED stands for the text of the
// marker in quotes, RAW for it as it is. Those whose name begins with "fine"
// render, and have the marker as value of the entry "a" of the Secret "s".
const leakyApps = `
-- fine-helm/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- yaml:fine-helm/values.yaml --
v: QUOTED
-- fine-helm/templates/s.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {a: {{ .Values.v | quote }}}
-- fine-helm4/hallmark.yaml --
apiVersion: hallmark.dev/v1
kind: Render
spec: {renderer: helm4, helm-file-parameters: {v: "secrets://v.txt"}}
-- fine-helm4/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- binary:fine-helm4/v.txt --
RAW
-- fine-helm4/templates/s.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: {{ .Values.v | b64enc }}}
-- fine-helm4/templates/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {a: {{ .Values.v | quote }}}
-- fine-kustomize/kustomization.yaml --
secretGenerator: [{name: s, files: [a=s.txt], options: {disableNameSuffixHash: true}}]
-- binary:fine-kustomize/s.txt --
RAW
-- fine-plain/notes.yaml --
a: b
-- yaml:fine-plain/s.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {a: QUOTED}
-- template/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- yaml:template/values.yaml --
v: QUOTED
-- template/templates/a.yaml --
{{ fail (printf "%v %q %s" .Values.v .Values.v (b64enc (toString .Values.v))) }}
-- text/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- yaml:text/values.yaml --
v: QUOTED
-- text/templates/a.yaml --
{{ tpl (print "{{ " .Values.v) . }}
-- schema/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- yaml:schema/values.yaml --
v: QUOTED
-- schema/values.schema.json --
{"properties": {"v": {"type": "boolean", "enum": [1], "pattern": "^$"}}}
-- output/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- yaml:output/values.yaml --
v: QUOTED
-- output/templates/a.yaml --
apiVersion: v1
kind: Secret
metadata: {name: {{ .Values.v | quote }}, labels: {a: [{{ .Values.v | quote }}]}}
-- unstable/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- yaml:unstable/values.yaml --
v: QUOTED
-- unstable/templates/a.yaml --
apiVersion: v1
kind: Secret
metadata: {name: a}
stringData: {{ dict (toString .Values.v) (randAlpha 9) | toJson }}
-- patch/kustomization.yaml --
resources: [c.yaml]
patches: [{path: p.yaml}]
-- patch/c.yaml --
apiVersion: v1
kind: Secret
metadata: {name: a}
-- yaml:patch/p.yaml --
apiVersion: v1
kind: Secret
metadata: {name: QUOTED}
stringData: [QUOTED]
-- panic/kustomization.yaml --
resources: [c.yaml]
openapi: {path: s.json}
patches: [{path: c.yaml}]
-- panic/c.yaml --
apiVersion: v1
kind: Secret
metadata: {name: a}
-- json:panic/s.json --
{"definitions": QUOTED}
-- resource/kustomization.yaml --
resources: [s.enc]
-- binary:resource/s.enc --
apiVersion: v1
kind: Secret
stringData: {a: QUOTED
b: *QUOTED
-- environment/kustomization.yaml --
configMapGenerator: [{name: s, envs: [s.enc]}]
-- binary:environment/s.enc --
A=QUOTED
A=QUOTED
-- broken/a.txt --
-- dotenv:broken/s.yaml --
apiVersion: kind: metadata: a=QUOTED
-- twice/a.txt --
-- yaml:twice/s.yaml --
apiVersion: v1
kind: Secret
metadata: {name: QUOTED}
stringData: {a: QUOTED}
---
apiVersion: v1
kind: Secret
metadata: {name: QUOTED}
-- ciphertext/a.txt --
-- yaml:ciphertext/s.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {a: QUOTED, b: "ENC[AES256_GCM,data:x]"}
-- changed/a.txt --
-- yaml:changed/s.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {a: QUOTED}
b_unencrypted: 12
-- settings/a.txt --
-- yaml:settings/hallmark.yaml --
apiVersion: hallmark.dev/v1
kind: Render
spec: {values: QUOTED}
`

const leakyPolicy = `apiVersion: hallmark.dev/v1
kind: RenderPolicy
metadata: {name: test}
spec: {rules: [{name: all, match: {}, decryption: {keys: [age], outsideSecrets: warn}}]}
`

// box is a process's whole world that it could write to.
type box struct {
	dir  string // with the folders home, tmp, work and mounts
	apps []string
	environ,
	flags []string
	finder *sealtest.Finder
}

// newBox writes the applications for one marker into the folder work.
func newBox(t *testing.T, key sealtest.Key, m sealtest.Marker) *box {
	t.Helper()
	b := &box{dir: t.TempDir(), finder: sealtest.NewFinder(sealtest.Markers(), strings.TrimPrefix(key.Identity, "AGE-SECRET-KEY-1"))}
	for _, folder := range []string{"home", "tmp", "mounts"} {
		if err := os.MkdirAll(filepath.Join(b.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(m.Text)
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("QUOTED", string(text), "RAW", m.Text)
	for _, f := range txtar.Parse([]byte(leakyApps)).Files {
		content := string(f.Data)
		format, name, sealed := strings.Cut(f.Name, ":")
		if sealed {
			content = sealtest.Seal(t, format, fill.Replace(strings.TrimSuffix(content, "\n")), key)
		} else {
			name = f.Name
		}
		if name == "changed/s.yaml" {
			content = strings.Replace(content, "b_unencrypted: 12", "b_unencrypted: 13", 1)
		}
		b.write(t, "work/"+name, content)
		if app, _, _ := strings.Cut(name, "/"); !slices.Contains(b.apps, app) {
			b.apps = append(b.apps, app)
		}
	}
	b.write(t, "mounts/policy.yaml", leakyPolicy)
	b.flags = []string{"--policy", filepath.Join(b.dir, "mounts", "policy.yaml"), "--keys", key.File}
	b.environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(b.dir, "home"), "TMPDIR=" + filepath.Join(b.dir, "tmp"), "ARGOCD_APP_NAME=web", "ARGOCD_APP_NAMESPACE=shop"}
	return b
}

func (b *box) write(t *testing.T, name, content string) {
	t.Helper()
	file := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files returns all that is in the box, with its content.
func (b *box) files(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			found[name] = ""
			return err
		}
		data, err := root.ReadFile(name)
		found[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// unchanged compares the box with what was in it.
func (b *box) unchanged(t *testing.T, what string, before map[string]string) {
	t.Helper()
	now := b.files(t)
	for name, content := range now {
		if was, known := before[name]; !known || was != content {
			t.Errorf("%s: it wrote %s", what, name)
		}
		b.clean(t, what+" in "+name, content)
	}
	for name := range before {
		if _, still := now[name]; !still {
			t.Errorf("%s: it removed %s", what, name)
		}
	}
}

func (b *box) clean(t *testing.T, what, text string) {
	t.Helper()
	if found := b.finder.Find(text); found != "" {
		t.Errorf("%s: it shows %s", what, found)
	}
}

// run runs a command in the folder of an application.
func (b *box) run(t *testing.T, app string, args ...string) (stdout, stderr string, failed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "hallmark", args...)
	cmd.Dir, cmd.Env = filepath.Join(b.dir, "work", app), slices.Concat(b.environ, []string{"ARGOCD_APP_SOURCE_PATH=" + app})
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return out.String(), messages.String(), err != nil
}

// decrypted looks for the marker where it belongs, and nowhere else: manifests are
// objects as JSON.
func (b *box) decrypted(t *testing.T, what string, m sealtest.Marker, manifests []string) {
	t.Helper()
	found := 0
	for _, text := range manifests {
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatalf("%s: %v in %s", what, err, text)
		}
		if object["kind"] == "ConfigMap" {
			delete(object, "data") // it was put there, and warned of
		}
		if object["kind"] == "Secret" {
			plain, _ := object["stringData"].(map[string]any)
			data, _ := object["data"].(map[string]any)
			encoded, _ := data["a"].(string)
			decoded, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if got, _ := plain["a"].(string); got == m.Text || string(decoded) == m.Text {
				found++
			}
			delete(object, "stringData")
			delete(object, "data")
		}
		rest, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		b.clean(t, what, string(rest))
	}
	if found != 1 {
		t.Errorf("%s: the value stands in %d Secrets, want 1:\n%s", what, found, manifests)
	}
}

// some is of how many markers an application meets one.
const some = 5

// suits reports whether the application can hold the marker: text is no place for
// one that is not UTF-8.
func suits(app string, m sealtest.Marker) bool {
	return m.Key != "binary" || app != "fine-helm" && app != "fine-helm4" && app != "fine-plain"
}

// The commands leave a decrypted value in the Secret that it is for, and nowhere
// else: not in messages, the evidence or a file.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	key := sealtest.NewKey(t)
	for i, m := range sealtest.Markers() {
		t.Run(m.Key, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, key, m)
			before := b.files(t)
			for n, app := range b.apps {
				// A process takes long to start: each application meets some of the markers,
				// and all of them in package plugin.
				if n%some != i%some || !suits(app, m) {
					continue
				}
				fine := strings.HasPrefix(app, "fine")
				record := filepath.Join(b.dir, "evidence.json")
				for _, args := range [][]string{
					append([]string{"render", ".", "--app", "web", "-o", "json", "--root", "..", "--evidence", record}, b.flags...),
					append([]string{"generate", "-o", "json"}, b.flags...),
					append([]string{"parameters"}, b.flags[:2]...),
				} {
					what := app + ", " + args[0]
					stdout, stderr, failed := b.run(t, app, args...)
					b.clean(t, what+", stderr", stderr)
					switch {
					case args[0] == "parameters":
						if failed {
							t.Errorf("%s: got %s", what, stderr)
						}
						b.clean(t, what, stdout)
					case failed == fine:
						t.Errorf("%s: failed is %t, with %s", what, failed, stderr)
					case failed && stdout != "":
						t.Errorf("%s: got output %q", what, stdout)
					case failed && !strings.HasPrefix(stderr, "hallmark: error: "):
						t.Errorf("%s: got no reason in %q", what, stderr)
					case args[0] == "render" && fine:
						var list struct{ Items []json.RawMessage }
						if err := json.Unmarshal([]byte(stdout), &list); err != nil {
							t.Fatal(err)
						}
						var manifests []string
						for _, item := range list.Items {
							manifests = append(manifests, string(item))
						}
						b.decrypted(t, what, m, manifests)
						written, err := os.ReadFile(record)
						if err != nil || !bytes.Contains(written, []byte("https://in-toto.io/Statement/v1")) {
							t.Errorf("%s: got evidence %s, error %v", what, written, err)
						}
						b.clean(t, what+", evidence", string(written))
						if err := os.Remove(record); err != nil {
							t.Error(err)
						}
					case fine:
						b.decrypted(t, what, m, strings.Split(strings.TrimSpace(stdout), "\n"))
					}
					b.unchanged(t, what, before)
				}
			}
		})
	}
}

// The same for the server, with its log and its metrics.
func TestServeLeaksNothing(t *testing.T) {
	t.Parallel()
	key := sealtest.NewKey(t)
	var s *served
	var first *box
	var before map[string]string
	for i, m := range sealtest.Markers() {
		b := newBox(t, key, m)
		if first == nil {
			first = b
			s = serveWith(t, b.environ, sockets(t), append([]string{"--log-level", "debug", "--discover", "all"}, b.flags...)...)
			before = b.files(t)
		}
		for n, app := range b.apps {
			if n%some != i%some || !suits(app, m) {
				continue
			}
			root := filepath.Join(b.dir, "work")
			entries := []string{"ARGOCD_APP_NAME=web", "ARGOCD_APP_NAMESPACE=shop", "ARGOCD_APP_SOURCE_PATH=" + app, "ARGOCD_APP_SOURCE_REPO_URL=https://git.example.com/shop"}
			what := m.Key + ", " + app
			for _, method := range []string{"MatchRepository", "GetParametersAnnouncement"} {
				answer, err := s.call(t.Context(), method, root, app, entries)
				if err != nil {
					t.Errorf("%s: %s: %v", what, method, err)
				}
				b.clean(t, what+", "+method, string(answer))
			}
			manifests, err := s.generate(t.Context(), root, app, entries)
			switch fine := strings.HasPrefix(app, "fine"); {
			case fine && err == nil:
				b.decrypted(t, what, m, manifests)
			case fine, err == nil:
				t.Errorf("%s: got error %v", what, err)
			case !strings.HasPrefix(status.Convert(err).Message(), "hallmark: error: "):
				t.Errorf("%s: got no reason in %v", what, err)
			default:
				b.clean(t, what, err.Error())
			}
		}
	}
	code, metrics := s.get(t, "/metrics")
	if code != 200 || !strings.Contains(metrics, `outcome="panic"`) || !strings.Contains(metrics, `outcome="refused"`) {
		t.Errorf("got %d from /metrics:\n%s", code, metrics)
	}
	if s.stop(t) != 0 {
		t.Error("the server did not end well")
	}
	log := s.logged()
	if !strings.Contains(log, `"msg":"refused"`) || !strings.Contains(log, `"warnings"`) || strings.Contains(log, "\npanic:") {
		t.Errorf("got log %s", log)
	}
	for name, text := range map[string]string{"metrics": metrics, "log": log} {
		first.clean(t, name, text)
	}
	first.unchanged(t, "serve", before)
}

// What finds nothing proves nothing.
func TestBoxFindsWhatIsWritten(t *testing.T) {
	t.Parallel()
	m := sealtest.Markers()[0]
	b := newBox(t, sealtest.NewKey(t), m)
	b.write(t, "tmp/hm123/values.yaml", "a: "+base64.StdEncoding.EncodeToString([]byte("x"+m.Text)))
	found := false
	for _, content := range b.files(t) {
		found = found || b.finder.Find(content) != ""
	}
	if !found {
		t.Error("a marker in a temporary file is not found")
	}
}
