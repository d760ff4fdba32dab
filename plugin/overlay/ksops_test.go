package overlay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/source"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// sealedFS decrypts on read, without any cryptography: what is stored of an
// encrypted file has nothing to do with its content.
type sealedFS struct {
	*source.View
	plain  map[string]string
	broken map[string]error
	opened map[string]int
}

var _ interface {
	source.Unsealer
	fs.StatFS
	fs.ReadFileFS
	fs.ReadDirFS
	fs.ReadLinkFS
} = (*sealedFS)(nil)

// sealedArchive reads the shorthand of the tables, in which "-- name sealed --"
// is an encrypted file and "-- name broken --" one that no key opens.
func sealedArchive(text string) *sealedFS {
	s := &sealedFS{plain: map[string]string{}, broken: map[string]error{}, opened: map[string]int{}}
	files := map[string]string{}
	for _, part := range strings.Split("\n"+strings.TrimLeft(text, "\n"), "\n-- ")[1:] {
		name, content, _ := strings.Cut(part, " --\n")
		content += "\n"
		if sealed, ok := strings.CutSuffix(name, " sealed"); ok {
			name, s.plain[sealed], content = sealed, content, "stored:"+sealed
		}
		if broken, ok := strings.CutSuffix(name, " broken"); ok {
			s.broken[broken] = diag.WithHint(fmt.Errorf("%s: cannot be decrypted: no key opens the file", broken), "mount the key")
			name, content = broken, "stored:"+broken
		}
		files[name] = content
	}
	s.View = source.Memory(files).View()
	return s
}

func (s *sealedFS) ReadSealed(name string) ([]byte, func() ([]byte, error), error) {
	stored, err := s.View.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	if err, ok := s.broken[name]; ok {
		return stored, func() ([]byte, error) { return nil, err }, nil
	}
	plain, ok := s.plain[name]
	if !ok {
		return stored, nil, nil
	}
	return stored, func() ([]byte, error) { s.opened[name]++; return []byte(plain), nil }, nil
}

func (s *sealedFS) ReadFile(name string) ([]byte, error) {
	stored, open, err := s.ReadSealed(name)
	if open == nil {
		return stored, err
	}
	return open()
}

func (s *sealedFS) Open(name string) (fs.File, error) {
	if _, open, err := s.ReadSealed(name); err == nil && open != nil {
		plain, err := open()
		if err != nil {
			return nil, err
		}
		return fstest.MapFS{"x": {Data: plain}}.Open("x")
	}
	return s.View.Open(name)
}

// krmFunction is what ksops v4 wants in the metadata of a generator.
const krmFunction = `metadata:
  annotations:
    config.kubernetes.io/function: |
      exec:
        # wherever it is
        path: ../bin/ksops
  name: g
`

// TestKsopsLayouts builds the layouts that repositories with ksops have, in the
// legacy form and as KRM functions. What is wanted was printed by kustomize
// v5.8.2 with an exec plugin that prints for the plaintexts what ksops prints.
func TestKsopsLayouts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/ksops/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d layouts (%v), want the corpus", len(files), err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		legacy, want, _ := strings.Cut(string(content), "-- want.yaml --\n")
		_, legacy, _ = strings.Cut(strings.TrimSuffix(legacy, "\n"), "\n")
		krm := strings.ReplaceAll(legacy, "metadata:\n  name: g\n", krmFunction)
		for form, tree := range map[string]string{"legacy": legacy, "krm": krm} {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				fsys := sealedArchive(tree)
				objects, err := Build(t.Context(), fsys, "app", Options{})
				if err != nil {
					t.Fatal(err)
				}
				var got []any
				for _, o := range objects {
					got = append(got, o.Value)
				}
				if diff := cmp.Diff(printedObjects(t, []byte(want)), got); diff != "" {
					t.Errorf("objects differ from ksops's (-want +got):\n%s", diff)
				}
				for name := range fsys.plain {
					if fsys.opened[name] == 0 {
						t.Errorf("%s was not read", name)
					}
				}
			})
		}
	}
}

// ksopsTree is a tree with one generator; its file has the generator's fields
// from line 4.
func ksopsTree(fields, files string) string {
	return "-- app/kustomization.yaml --\ngenerators: [g.yaml]\n-- app/g.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\n" + fields + "\n" + files
}

// TestKsopsValues wants each value exactly as it was encrypted.
func TestKsopsValues(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, entry, plain, field, key, want string }{
		{"dollar", "envs: [f]", "k=a$b${c}$(d)\\$", "stringData", "k", "a$b${c}$(d)\\$"},
		{"comment sign", "envs: [f]", "k=a #b#c", "stringData", "k", "a #b#c"},
		{"quotes", "envs: [f]", `k="a" 'b'`, "stringData", "k", `"a" 'b'`},
		{"single quotes", "envs: [f]", `k='a'`, "stringData", "k", `'a'`},
		{"spaces", "envs: [f]", "k=  a  ", "stringData", "k", "  a  "},
		{"tab and carriage return", "envs: [f]", "k=\ta\r", "stringData", "k", "\ta\r"},
		{"line break", "envs: [f]", `k=a\nb\n`, "stringData", "k", "a\nb\n"},
		{"equals sign", "envs: [f]", "k==a=", "stringData", "k", "=a="},
		{"empty", "envs: [f]", "k=", "stringData", "k", ""},
		{"looks like a number", "envs: [f]", "k=0123", "stringData", "k", "0123"},
		{"looks like null", "envs: [f]", "k=null", "stringData", "k", "null"},
		{"looks like YAML", "envs: [f]", "k=a: [b", "stringData", "k", "a: [b"},
		{"unicode", "envs: [f]", "k=\ufeffä\u2028\u2029\u00a0", "stringData", "k", "\ufeffä\u2028\u2029\u00a0"},
		{"key that is no text to YAML", "envs: [f]", "true=x", "stringData", "true", "x"},
		{"export", "envs: [f]", "export k=x", "stringData", "k", "x"},
		{"spaces at the key", "envs: [f]", " k =x", "stringData", "k", "x"},
		{"file with trailing space", "files: [f]", " a \n\n", "stringData", "f", " a \n\n\n"},
		{"file of carriage returns", "files: ['k=f']", "a\r\nb\r", "stringData", "k", "a\r\nb\r\n"},
		{"binary", "binaryFiles: [f]", "\x00\xff", "data", "f", "AP8K"},
		{"binary with a key", "binaryFiles: [k=./f]", "\x00\xff", "data", "k", "AP8K"},
		{"dotenv file named yaml as binary", "binaryFiles: [f]", "a=b", "data", "f", "YT1iCg=="},
	}
	for _, test := range tests {
		for _, patch := range []string{"", "namePrefix: x-\ncommonAnnotations: {a: b}\npatches:\n- target: {kind: Secret}\n  patch: |-\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: any}\n    immutable: true\n"} {
			t.Run(fmt.Sprintf("%s/patched=%t", test.name, patch != ""), func(t *testing.T) {
				t.Parallel()
				tree := ksopsTree("secretFrom:\n- metadata: {name: s}\n  "+test.entry, "-- app/f sealed --\n"+test.plain)
				tree = strings.Replace(tree, "generators:", patch+"generators:", 1)
				objects, err := Build(t.Context(), sealedArchive(tree), "app", Options{})
				if err != nil {
					t.Fatal(err)
				}
				values, _ := objects[0].Value[test.field].(map[string]any)
				if got := values[test.key]; got != test.want || len(values) != 1 {
					t.Errorf("got %q, want %q under the one key %q", values, test.want, test.key)
				}
			})
		}
	}
}

// TestKsopsErrors has one row per fault. No message shows plaintext, which is
// marked in all rows.
func TestKsopsErrors(t *testing.T) {
	t.Parallel()
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: sup3r}\n"
	const from = "secretFrom:\n- metadata: {name: s}\n  "
	tests := []struct{ name, tree, want, hint string }{
		{"nothing", ksopsTree("", ""), `app/g.yaml:1:1: kind "ksops" has neither "files" nor "secretFrom": nothing to generate`, ""},
		{"empty lists", ksopsTree("files: []\nsecretFrom:", ""), `app/g.yaml:1:1: kind "ksops" has neither "files" nor "secretFrom": nothing to generate`, ""},
		{
			"secretFrom below metadata", "-- app/kustomization.yaml --\ngenerators: [g.yaml]\n-- app/g.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata:\n  name: g\n  secretFrom:\n  - metadata: {name: s}\n    envs: [a.env]\n",
			`app/g.yaml:1:1: kind "ksops" has neither "files" nor "secretFrom": nothing to generate` + "\n" +
				`app/g.yaml:5:3: unknown field "secretFrom" at "metadata", want "secretFrom" at the top level`, "`secretFrom` (a list",
		},
		{
			"secretFrom in lower case", ksopsTree("secretfrom:\n- metadata: {name: s}\n  envs: [a.env]", ""),
			`app/g.yaml:1:1: kind "ksops" has neither "files" nor "secretFrom": nothing to generate` + "\n" +
				`app/g.yaml:4:1: unknown field "secretfrom" at the top level, want "secretFrom"`, "",
		},
		{
			"entry that ends too early", ksopsTree("secretFrom:\n- metadata: {name: s}\ntype: Opaque\nenvs: [a.env]", ""),
			`app/g.yaml:6:1: unknown field "type" at the top level, want "type" in an entry of "secretFrom"` + "\n" +
				`app/g.yaml:7:1: unknown field "envs" at the top level, want "envs" in an entry of "secretFrom"` + "\n" +
				`app/g.yaml:5:3: secretFrom[0] has neither "files" nor "binaryFiles" nor "envs": nothing to generate`, "",
		},
		{
			"files below the metadata of an entry", ksopsTree("secretFrom:\n- metadata:\n    name: s\n    files: [a]", ""),
			`app/g.yaml:7:5: unknown field "files" at "secretFrom[0].metadata", want "files" in an entry of "secretFrom"` + "\n" +
				`app/g.yaml:5:3: secretFrom[0] has neither "files" nor "binaryFiles" nor "envs": nothing to generate`, "",
		},
		{
			"name beside metadata", ksopsTree("secretFrom:\n- metadata:\n  name: s\n  envs: [a.env]", "-- app/a.env sealed --\nk=sup3r"),
			`app/g.yaml:6:3: unknown field "name" at "secretFrom[0]", want "name" in "metadata"` + "\n" + `app/g.yaml:5:3: secretFrom[0] has no "metadata.name"`, "",
		},
		{"empty entry", ksopsTree("secretFrom:\n-", ""), "app/g.yaml:5:2: secretFrom[0] is empty: nothing to generate", ""},
		{"unknown field", ksopsTree("files: [a]\nfailSilently: true", "-- app/a sealed --\n"+secret), `app/g.yaml:5:1: unknown field "failSilently" at the top level`, ""},
		{"field of metadata that ksops drops", ksopsTree("secretFrom:\n- metadata: {name: s, finalizers: [a], creationTimestamp: null}\n  envs: [a]", "-- app/a sealed --\nk=sup3r"), `app/g.yaml:5:23: unknown field "finalizers" at "secretFrom[0].metadata"`, ""},
		{"field twice", ksopsTree("files: [a]\nfiles: [a]", "-- app/a sealed --\n"+secret), `app/g.yaml:5:1: field "files" is there twice`, ""},
		{"no name", "-- app/kustomization.yaml --\ngenerators: [g.yaml]\n-- app/g.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nfiles: [a]\n-- app/a sealed --\n" + secret, `app/g.yaml:1:1: kind "ksops" has no "metadata.name"`, ""},
		{
			"wrong types", ksopsTree("files: a\nsecretFrom:\n- x\n- metadata: {name: 1, labels: {a: true}, annotations: []}\n  type: {}\n  files: [1, {a: b}, '']\n  envs: {a: b}", ""),
			`app/g.yaml:4:8: files: got string, want list` + "\n" +
				`app/g.yaml:6:3: secretFrom[0]: got string, want map` + "\n" +
				`app/g.yaml:7:20: secretFrom[1].metadata.name: got integer, want string` + "\n" +
				`app/g.yaml:7:3: secretFrom[1] has no "metadata.name"` + "\n" +
				`app/g.yaml:7:35: secretFrom[1].metadata.labels.a: got boolean, want string` + "\n" +
				`app/g.yaml:7:55: secretFrom[1].metadata.annotations: got list, want map` + "\n" +
				`app/g.yaml:8:9: secretFrom[1].type: got map, want string` + "\n" +
				`app/g.yaml:9:11: secretFrom[1].files[0]: got integer, want string` + "\n" +
				`app/g.yaml:9:14: secretFrom[1].files[1]: got map, want string` + "\n" +
				`app/g.yaml:9:22: secretFrom[1].files[2] is empty, want a path` + "\n" +
				`app/kustomization.yaml: 1 more faults`, "",
		},
		{
			"paths", ksopsTree("files: [none, ../../x, /etc/passwd, 'https://u:sup3r@h.example/x', sub]", "-- app/sub/f --\nx"),
			`app/g.yaml:4:9: file "none" does not exist, looked for as "app/none"` + "\n" +
				`app/g.yaml:4:15: file "../../x" leaves the repository` + "\n" +
				`app/g.yaml:4:24: file "/etc/passwd" is an absolute path, want one relative to "app"` + "\n" +
				`app/g.yaml:4:37: file "https://h.example/x" is remote; a render reads the repository and nothing else` + "\n" +
				`app/g.yaml:4:68: file "sub" is a folder`, "",
		},
		{"key without path", ksopsTree(from+"files: [k=, =p, a=b=c]", ""), `app/g.yaml:6:11: secretFrom[0].files[0]: got "k=", want path or key=path` + "\n" + `app/g.yaml:6:15: secretFrom[0].files[1]: got "=p", want path or key=path` + "\n" + `app/g.yaml:6:19: secretFrom[0].files[2]: got "a=b=c", want path or key=path`, ""},
		{"key of two files", ksopsTree(from+"files: [a]\n  binaryFiles: [sub/a]", "-- app/a sealed --\nsup3r\n-- app/sub/a sealed --\nsup3r"), `app/g.yaml:7:17: secretFrom[0].binaryFiles[0]: key "a" is there twice`, ""},
		{"key of a file and of a variable", ksopsTree(from+"files: [k=a]\n  envs: [e]", "-- app/a sealed --\nsup3r\n-- app/e sealed --\nk=sup3r"), `app/g.yaml:7:10: file "e" sets key "k" of Secret "s" a second time`, ""},
		{"key of a binary file and of a variable", ksopsTree(from+"binaryFiles: [k=a]\n  envs: [e]", "-- app/a sealed --\nsup3r\n-- app/e sealed --\nk=sup3r"), `app/g.yaml:7:10: file "e" sets key "k" of Secret "s" a second time`, ""},
		{"variable twice", ksopsTree(from+"envs: [e]", "-- app/e sealed --\nk=sup3r\nk=sup3r"), `app/g.yaml:6:10: file "e" has key "k" twice`, ""},
		{"line that is no variable", ksopsTree(from+"envs: [e]", "-- app/e sealed --\n# sup3r\nk=v\nsup3r"), `app/g.yaml:6:10: file "e" is no dotenv file when it is decrypted: line 3 is not KEY=VALUE`, ""},
		{"variable without name", ksopsTree(from+"envs: [e]", "-- app/e sealed --\n=sup3r"), `app/g.yaml:6:10: file "e" is no dotenv file when it is decrypted: line 1 is not KEY=VALUE`, ""},
		{"JSON as variables", ksopsTree(from+"envs: [e]", "-- app/e sealed --\n{\"a\": \"sup3r\"}"), `app/g.yaml:6:10: file "e" is no dotenv file when it is decrypted: line 1 is not KEY=VALUE`, ""},
		{"YAML as variables", ksopsTree(from+"envs: [e.yaml, f.JSON]", ""), `app/g.yaml:6:10: secretFrom[0].envs[0]: "e.yaml" is not a dotenv file by its name; want lines KEY=VALUE` + "\n" + `app/g.yaml:6:18: secretFrom[0].envs[1]: "f.JSON" is not a dotenv file by its name; want lines KEY=VALUE`, ""},
		{"bytes as text", ksopsTree(from+"files: [f]", "-- app/f sealed --\nsup3r\xff"), `app/g.yaml:6:11: file "f" is no UTF-8 text when it is decrypted`, "`binaryFiles`"},
		{"bytes as variables", ksopsTree(from+"envs: [f]", "-- app/f sealed --\nk=sup3r\xff"), `app/g.yaml:6:10: file "f" is no UTF-8 text when it is decrypted`, ""},
		{"not encrypted", ksopsTree("files: [a]\n"+from+"envs: [a]", "-- app/a --\n"+secret), `app/g.yaml:4:9: file "a" is not encrypted with sops` + "\n" + `app/g.yaml:7:10: file "a" is not encrypted with sops`, "under `resources`"},
		{"no key", ksopsTree("files: [a, ../b]", "-- app/a broken --\nx\n-- b broken --\nx"), `app/g.yaml:4:9: file "a": app/a: cannot be decrypted: no key opens the file` + "\n" + `app/g.yaml:4:12: file "../b": b: cannot be decrypted: no key opens the file`, "mount the key"},
		{"manifest that is not YAML", ksopsTree("files: [a]", "-- app/a sealed --\na: b\n  sup3r: [\n"), `app/g.yaml:4:9: file "a" is no manifest when it is decrypted: line 2 is not valid YAML`, ""},
		{"manifest that is text", ksopsTree("files: [a]", "-- app/a sealed --\nsup3r"), `app/g.yaml:4:9: file "a" is no manifest when it is decrypted: the document at line 1 has no kind`, ""},
		{"manifest without kind", ksopsTree("files: [a]", "-- app/a sealed --\n"+secret+"---\nk: sup3r"), `app/g.yaml:4:9: file "a" is no manifest when it is decrypted: the document at line 6 has no kind`, ""},
		{"manifest without name", ksopsTree("files: [a]", "-- app/a sealed --\nkind: Secret\nmetadata: {labels: {a: sup3r}}"), `app/g.yaml:4:9: file "a" is no manifest when it is decrypted: kustomize takes no object without metadata.name`, ""},
		{"empty manifest", ksopsTree("files: [a]", "-- app/a sealed --\n# sup3r"), `app/g.yaml:4:9: file "a" is no manifest when it is decrypted: it is empty`, ""},
		{"object twice", ksopsTree("files: [a]\n"+from+"envs: [e]", "-- app/a sealed --\n"+secret+"-- app/e sealed --\nk=sup3r"), `app/g.yaml:6:3: Secret "s" is generated twice`, ""},
		{"needs-hash", ksopsTree("files: [a]", "-- app/a sealed --\n"+strings.Replace(secret, "name: s", "name: s, annotations: {kustomize.config.k8s.io/needs-hash: sup3r}", 1)), `app/g.yaml:4:9: Secret "s": annotation "kustomize.config.k8s.io/needs-hash" is not valid, want true or false`, ""},
		{"merge without base", ksopsTree("files: [a]", "-- app/a sealed --\n"+strings.Replace(secret, "name: s", "name: s, annotations: {kustomize.config.k8s.io/behavior: merge}", 1)), `app/kustomization.yaml: Secret "s" does not exist; cannot merge or replace`, ""},
		{"generator twice", "-- app/kustomization.yaml --\ngenerators: [g.yaml, h.yaml]\n-- app/g.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nfiles: [a]\n-- app/h.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nfiles: [a]\n-- app/a sealed --\n" + secret, `app/h.yaml:1: ksops "g" is defined in app/g.yaml:1 too`, ""},
		{"second document", "-- app/kustomization.yaml --\ngenerators: [g.yaml]\n-- app/g.yaml --\n# note\n---\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nfiles: [a]\n---\n# other\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: h}\nfiles: [b]\n-- app/a sealed --\n" + secret, `app/g.yaml:12:9: file "b" does not exist, looked for as "app/b"`, ""},
		{"inline", "-- app/kustomization.yaml --\ngenerators:\n- |\n  apiVersion: viaduct.ai/v1\n  kind: ksops\n  metadata: {name: g}\n  files:\n  - b\n", `app/kustomization.yaml:7:5: file "b" does not exist, looked for as "app/b"`, ""},
		{"inline in quotes", "-- app/kustomization.yaml --\nnamespace: x\ngenerators: ['{apiVersion: viaduct.ai/v1, kind: ksops, metadata: {name: g}, files: [b]}']\n", `app/kustomization.yaml:2:14: file "b" does not exist, looked for as "app/b"`, ""},
		{"inline beside another plugin", "-- app/kustomization.yaml --\ngenerators:\n- |\n  apiVersion: viaduct.ai/v1\n  kind: ksops\n  metadata: {name: g}\n  files: [a]\n  ---\n  apiVersion: example.com/v1\n  kind: Other\n  metadata: {name: o}\n-- app/a sealed --\n" + secret, `generator inline has apiVersion "example.com/v1", kind "Other", which is not built into kustomize`, "built-in generators"},
		{"inline beside what is none", "-- app/kustomization.yaml --\ngenerators:\n- |\n  apiVersion: viaduct.ai/v1\n  kind: ksops\n  metadata: {name: g}\n  files: [a]\n  ---\n  x: y\n-- app/a sealed --\n" + secret, `generator inline: a document beside the ksops generator is no plugin configuration`, ""},
		{"in a folder", "-- app/kustomization.yaml --\ngenerators: [../gen]\n-- gen/kustomization.yaml --\nresources: [g.yaml]\n-- gen/g.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nfiles: [b]\nenvs: [a]\n", `app/kustomization.yaml: generator "g": unknown field "envs" at the top level`, ""},
		{"missing from a folder", "-- app/kustomization.yaml --\ngenerators: [../gen]\n-- gen/kustomization.yaml --\nresources: [g.yaml]\n-- gen/g.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nfiles: [b]\n", `app/kustomization.yaml: generator "g": file "b" does not exist, looked for as "app/b"`, ""},
		{"transformer", strings.Replace(ksopsTree("files: [a]", "-- app/a sealed --\n"+secret), "generators", "transformers", 1), `app/g.yaml:1:1: transformer has apiVersion "viaduct.ai/v1", kind "ksops", which generates`, "list it under `generators`"},
		{"validator inline", "-- app/kustomization.yaml --\nvalidators:\n- |\n  apiVersion: viaduct.ai/v1\n  kind: ksops\n  metadata: {name: g}\n  files: [a]\n", `app/kustomization.yaml:3:3: validator has apiVersion "viaduct.ai/v1", kind "ksops", which generates`, "list it under `generators`"},
		{"resource", strings.Replace(ksopsTree("files: [a]", "-- app/a sealed --\n"+secret), "generators", "resources", 1), `app/g.yaml:1: apiVersion "viaduct.ai/v1", kind "ksops" is no Kubernetes resource`, "list it under `generators`, not under `resources`; it works there without a plugin binary"},
		{"resource and generator", strings.Replace(ksopsTree("files: [a]", "-- app/a sealed --\n"+secret), "generators", "resources: [g.yaml]\ngenerators", 1), `app/g.yaml:1: apiVersion "viaduct.ai/v1", kind "ksops" is no Kubernetes resource`, "list it under `generators`"},
		{"other kind of the group", strings.Replace(ksopsTree("files: [a]", ""), "kind: ksops", "kind: other", 1), `app/kustomization.yaml:1:14: generator in "app/g.yaml" has apiVersion "viaduct.ai/v1", kind "other", which is not built into kustomize`, "built-in generators"},
		{"built-in kind that does not exist", "-- app/kustomization.yaml --\ngenerators: [g.yaml]\n-- app/g.yaml --\napiVersion: builtin\nkind: ksops\nmetadata: {name: g}\nfiles: [a]\n", `app/kustomization.yaml: builtin plugin of kind "ksops" does not exist`, "built-in generators"},
		{"built-in transformer that does not exist", "-- app/kustomization.yaml --\nnamespace: x\ntransformers: [g.yaml]\n-- app/g.yaml --\napiVersion: builtin\nkind: Other\nmetadata: {name: g}\n", `app/kustomization.yaml: builtin plugin of kind "Other" does not exist`, "built-in generators"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := Build(t.Context(), sealedArchive(test.tree), "app", Options{})
			if err == nil {
				t.Fatal("want an error")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
			if strings.Contains(err.Error(), "sup3r") {
				t.Errorf("the message shows content: %s", err)
			}
			if hint := diag.Hint(err); !strings.Contains(hint, test.hint) {
				t.Errorf("hint is %q, want %q", hint, test.hint)
			}
		})
	}
}

// TestKsopsWithoutUnsealer: nothing is encrypted in a file system that cannot
// tell, and plaintext is not taken for decrypted.
func TestKsopsWithoutUnsealer(t *testing.T) {
	t.Parallel()
	_, err := Build(t.Context(), archiveFS(ksopsTree("files: [c.yaml]", "-- app/c.yaml --\n"+configMap)), "app", Options{})
	if want := `app/g.yaml:4:9: file "c.yaml" is not encrypted with sops`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestKsopsOrigins(t *testing.T) {
	t.Parallel()
	tree := "-- app/kustomization.yaml --\ngenerators:\n- g.yaml\n- |\n  apiVersion: viaduct.ai/v1\n  kind: ksops\n  metadata: {name: i}\n  secretFrom:\n  - metadata: {name: inline}\n    envs: [e]\nresources: [c.yaml]\n-- app/c.yaml --\n" + configMap +
		"-- app/g.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nfiles: [../shared/m.yaml]\nsecretFrom:\n- metadata: {name: from}\n  envs: [e]\n" +
		"-- shared/m.yaml sealed --\napiVersion: v1\nkind: Secret\nmetadata: {name: whole}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: {kustomize.config.k8s.io/behavior: merge}}\ndata: {a: b}\n-- app/e sealed --\nk=v"
	objects, err := Build(t.Context(), sealedArchive(tree), "app", Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range objects {
		got[o.ID().Name] = o.At()
	}
	want := map[string]string{"whole": "shared/m.yaml", "c": "app/c.yaml:1", "from": "app/g.yaml:6", "inline": "app/kustomization.yaml:8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestKsopsStopsWithItsContext cancels while the first of two files is opened.
func TestKsopsStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	fsys := &cancelling{sealedArchive(ksopsTree("files: [a, b]", "-- app/a sealed --\nx\n-- app/b sealed --\nx")), cancel}
	if _, err := Build(ctx, fsys, "app", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if fsys.opened["app/b"] != 0 {
		t.Error("the second file was opened")
	}
}

type cancelling struct {
	*sealedFS
	cancel func()
}

func (c *cancelling) ReadSealed(name string) ([]byte, func() ([]byte, error), error) {
	c.cancel()
	return c.sealedFS.ReadSealed(name)
}

// FuzzKsopsConfig: what the parser takes without a fault has all that the
// generator needs, and is replaced by what Kustomize can read.
func FuzzKsopsConfig(f *testing.F) {
	for _, seed := range []string{
		"files: [a]", "secretFrom:\n- metadata: {name: s}\n  envs: [a]\n  files: [k=b]\n  binaryFiles: [c]", "files: &a [*a]",
		"secretFrom: [{<<: {type: a}}]", "secretFrom: [null]", "metadata: []", "files: [a]\n---\nx: y", "? [a]\n: b", "secretFrom: [null, {metadata: null}]",
	} {
		f.Add("apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\n" + seed)
	}
	f.Add("{\"apiVersion\": \"viaduct.ai/v1\", \"kind\": \"ksops\"}")
	f.Fuzz(func(t *testing.T, text string) {
		if yamldoc.CheckAliases("", []byte(text)) != nil {
			return // such a file is not looked at
		}
		s := newSession(t.Context(), fstest.MapFS{}, ".", &Options{})
		for _, doc := range yamldoc.Split([]byte(text)) {
			parsed, ok := asKsops(doc.Text)
			if !ok {
				continue
			}
			config, faults := parsed.parse(func(node *kyaml.Node) (string, place) {
				return fmt.Sprintf("g:%d:%d", node.Line, node.Column), place{"g", node.Line}
			})
			if len(faults) > 0 {
				continue
			}
			if config.name == "" || len(config.files)+len(config.secrets) == 0 {
				t.Fatalf("taken without a fault: %+v", config)
			}
			for file := range config.entries() {
				if file.path == "" || file.at == "" {
					t.Fatalf("empty path in %+v", config)
				}
			}
			for _, secret := range config.secrets {
				if secret.name == "" || len(secret.files)+len(secret.binary)+len(secret.envs) == 0 {
					t.Fatalf("taken without a fault: %+v", secret)
				}
			}
			c := checker{session: s}
			nodes, err := s.resources.RNodesFromBytes(c.ksopsDocument("generator", parsed, func(*kyaml.Node) (string, place) { return "g", place{} }))
			if err != nil || len(nodes) != 1 || nodes[0].GetName() != config.name || nodes[0].GetApiVersion() != "builtin" {
				t.Fatalf("Kustomize reads %v, %v", nodes, err)
			}
		}
	})
}

// FuzzDotenv: what is written as sops writes it is read back exactly.
func FuzzDotenv(f *testing.F) {
	for _, value := range []string{"", "v", "a b", "a=b", "#", "$x", "\"q\"", "a\nb", "\t", "ä"} {
		f.Add("KEY", value, "text="+value)
	}
	f.Fuzz(func(t *testing.T, key, value, text string) {
		_, _ = dotenv([]byte(text))
		plain := key + "=" + strings.ReplaceAll(value, "\n", `\n`) + "\n"
		if key == "" || strings.TrimSpace(key) != key || strings.ContainsAny(key, "=\n#") || strings.HasPrefix(key, "export ") || strings.Contains(value, `\n`) {
			return
		}
		got, err := dotenv([]byte(plain))
		if !utf8.ValidString(plain) {
			if err == nil {
				t.Fatal("takes invalid UTF-8")
			}
			return
		}
		if err != nil || len(got) != 1 || got[0] != (variable{key, value}) {
			t.Fatalf("%q gives %q, %v", plain, got, err)
		}
	})
}
