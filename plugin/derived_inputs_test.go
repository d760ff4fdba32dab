package plugin

import (
	"bytes"
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/policy"
)

// What does not belong to the identity of a field changes no value, what does changes
// those whose identity it is part of, and no others.
func TestDerivedInputs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("renders each chart some thirty times")
	}
	for _, c := range derivedCases(t) {
		if c.want.Slow || c.want.Refused != nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			base := mustDerive(t, c.request(t, RendererHelm3, nil))
			before := c.fields(base)
			for _, name := range slices.Sorted(maps.Keys(unrelated)) {
				r := c.request(t, RendererHelm3, nil)
				unrelated[name](t, c, r)
				after := c.fields(mustDerive(t, r))
				for field, value := range before {
					if after[field] != value {
						t.Errorf("%s changes %s", name, field)
					}
				}
			}
			for _, name := range slices.Sorted(maps.Keys(related)) {
				r := c.request(t, RendererHelm3, nil)
				related[name](t, r)
				c.changed(t, name, before, c.fields(mustDerive(t, r)), func(string) bool { return true })
			}
			var names []string
			for _, d := range base.Derived {
				names = append(names, d.Names...)
			}
			slices.Sort(names)
			for _, name := range slices.Compact(names) {
				r := c.request(t, RendererHelm3, nil).with(t, "random-generations["+name+"]=1")
				c.changed(t, name+" anew", before, c.fields(mustDerive(t, r)), func(field string) bool {
					i := slices.IndexFunc(base.Derived, func(d Derived) bool { return printedAt(d) == field })
					return slices.Contains(base.Derived[i].Names, name)
				})
			}
		})
	}
}

// changed checks that all derived fields changed which should, and nothing else. Those of
// few letters can be the same by chance.
func (c derivedCase) changed(t *testing.T, what string, before, after fieldsOf, should func(field string) bool) {
	t.Helper()
	const few = 4
	built := c.builtFields()
	for field, value := range before {
		name, derived := built[field]
		made, _, _ := strings.Cut(c.want.Derived[name], ", of ")
		fixed := made == "now" || made == "order"
		switch wanted, same := derived && !fixed && should(name), after[field] == value; {
		case wanted && same:
			if text, isText := value.(string); isText && len(text) > few {
				t.Errorf("%s does not change %s", what, field)
			}
		case !wanted && !same:
			t.Errorf("%s changes %s", what, field)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%s changes which fields there are: %d to %d", what, len(before), len(after))
	}
}

// related are changes that change all values.
var related = map[string]func(*testing.T, *Request){
	"the seed": func(t *testing.T, r *Request) {
		seed, err := ReadSeed("one", []byte("not a secret: another seed of the archives, 0123456789"))
		if err != nil {
			t.Fatal(err)
		}
		r.Seeds = []Seed{seed}
	},
	"the second seed": func(t *testing.T, r *Request) {
		seed, err := ReadSeed("two", []byte("not a secret: the second seed of the archives, 0123456789"))
		if err != nil {
			t.Fatal(err)
		}
		r.Seeds = append(r.Seeds, seed)
		r.with(t, "random-seed=two")
	},
	"the project":     func(_ *testing.T, r *Request) { r.Project = "shipping" },
	"the application": func(_ *testing.T, r *Request) { r.App = "web-2" },
	"its namespace":   func(_ *testing.T, r *Request) { r.App = "teams_web" },
	"the generation":  func(t *testing.T, r *Request) { r.with(t, "random-generation=1") },
}

// unrelated are changes that change no value.
var unrelated = map[string]func(*testing.T, derivedCase, *Request){
	"nothing":          func(*testing.T, derivedCase, *Request) {},
	"the revision":     func(_ *testing.T, _ derivedCase, r *Request) { r.Revision = "fedcba9876543210" },
	"the branch":       func(_ *testing.T, _ derivedCase, r *Request) { r.TargetRevision = "next" },
	"the repository":   func(_ *testing.T, _ derivedCase, r *Request) { r.RepoURL = "https://git.example.com/shop.git" },
	"the Kubernetes":   func(_ *testing.T, _ derivedCase, r *Request) { r.KubeVersion = "1.34.0" },
	"the API versions": func(_ *testing.T, _ derivedCase, r *Request) { r.APIVersions = []string{"example.com/v1"} },
	"the day":          func(_ *testing.T, _ derivedCase, r *Request) { r.Today = r.Today.Add(62 * time.Hour) },
	"another seed": func(t *testing.T, _ derivedCase, r *Request) {
		related["the second seed"](t, r)
		r.with(t, "random-seed=one")
	},
	"the engine": func(t *testing.T, c derivedCase, r *Request) {
		other := c.request(t, RendererHelm4, nil)
		r.Parameters = other.Parameters
	},
	"the chart's version": edited(func(name, text string) (string, string) {
		if path.Base(name) == "Chart.yaml" {
			text = strings.ReplaceAll(text, "version: 1.0.0", "version: 1.7.3")
		}
		return name, text
	}),
	"the names of templates": edited(func(name, text string) (string, string) {
		dir, base := path.Split(name)
		if strings.HasSuffix(dir, "templates/") && strings.HasSuffix(base, ".yaml") {
			// The order turns round.
			name = dir + string('a'+'z'-base[0]) + "-" + base
		}
		return name, regexp.MustCompile(`BasePath "/([a-z])`).ReplaceAllStringFunc(text, func(s string) string {
			first := s[len(s)-1]
			return s[:len(s)-1] + string('a'+'z'-first) + "-" + s[len(s)-1:]
		})
	}),
	"objects in front in the files": edited(func(name, text string) (string, string) {
		if strings.Contains(name, "templates/") && strings.HasSuffix(name, ".yaml") {
			text = other("in-"+strings.TrimSuffix(path.Base(name), ".yaml")+"-{{ .Chart.Name }}") + "---\n" + text
		}
		return name, text
	}),
	"templates in front": added("aaa"),
	"templates behind":   added("zzz"),
	"the order of values": edited(func(name, text string) (string, string) {
		if path.Base(name) == "values.yaml" {
			text = reversed(text)
		}
		return name, text
	}),
	"a value": edited(func(name, text string) (string, string) {
		if path.Base(name) == "values.yaml" {
			text += "unrelated: {a: 1}\n"
		}
		return name, text
	}),
}

// other is an object with random values of its own.
func other(name string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: 0-" + name + "}\nstringData:\n  password: {{ randAlphaNum 16 }}\n  key: {{ genPrivateKey \"ed25519\" | quote }}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: 0-" + name + "}\ndata: {id: {{ uuidv4 }}, sum: {{ randAlpha 9 | sha256sum }}}\n"
}

func edited(edit func(name, text string) (string, string)) func(*testing.T, derivedCase, *Request) {
	return func(t *testing.T, c derivedCase, r *Request) {
		files := map[string]string{}
		for name, text := range c.files {
			// A checksum of a file is over all that stands in it.
			if base := path.Base(name); text != "" && slices.ContainsFunc(slices.Collect(maps.Values(c.files)), func(s string) bool { return strings.Contains(s, `BasePath "/`+base+`"`) }) {
				renamed, same := edit(name, text)
				if same != text {
					renamed, same = name, text
				}
				files[renamed] = same
				continue
			}
			name, text = edit(name, text)
			files[name] = text
		}
		r.Tree = c.request(t, RendererHelm3, files).Tree
	}
}

func added(name string) func(*testing.T, derivedCase, *Request) {
	return func(t *testing.T, c derivedCase, r *Request) {
		files := maps.Clone(c.files)
		for file := range c.files {
			if dir := path.Dir(file); path.Base(dir) == "templates" {
				files[dir+"/"+name+".yaml"] = other(name + "-{{ .Chart.Name }}")
			}
		}
		r.Tree = c.request(t, RendererHelm3, files).Tree
	}
}

// reversed turns the order of all mappings round.
func reversed(text string) string {
	var root yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &root); err != nil {
		panic(err)
	}
	var turn func(n *yamlv3.Node)
	turn = func(n *yamlv3.Node) {
		if n.Kind == yamlv3.MappingNode {
			slices.Reverse(n.Content)
			for i := 0; i+1 < len(n.Content); i += 2 {
				n.Content[i], n.Content[i+1] = n.Content[i+1], n.Content[i]
			}
		}
		for _, child := range n.Content {
			turn(child)
		}
	}
	turn(&root)
	var out bytes.Buffer
	encoder := yamlv3.NewEncoder(&out)
	if err := encoder.Encode(&root); err != nil {
		panic(err)
	}
	return out.String()
}

const twoPasswords = `{{- $one := randAlphaNum 16 }}
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData:
  one: {{ $one }}
  two: {{ randAlphaNum 16 }}
  url: http://{{ $one }}@web
---
apiVersion: v1
kind: Secret
metadata: {name: other}
stringData:
  one: {{ randAlphaNum 16 }}
  sum: {{ $one | sha256sum }}
`

// The destination, the name of an object and the length of a value belong to identities.
func TestDerivedIdentities(t *testing.T) {
	t.Parallel()
	c := derivedCase{}
	render := func(template string, change func(*Request)) fieldsOf {
		r := c.request(t, RendererHelm3, map[string]string{"chart/Chart.yaml": chartYAML, "chart/templates/a.yaml": template})
		if change != nil {
			change(r)
		}
		return c.fields(mustDerive(t, r))
	}
	before := render(twoPasswords, nil)
	all := []string{"Secret/other/data/one", "Secret/other/data/sum", "Secret/web/data/one", "Secret/web/data/two", "Secret/web/data/url"}
	shared := []string{"Secret/other/data/sum", "Secret/web/data/one", "Secret/web/data/url"}
	changes := func(after fieldsOf) (out []string) {
		for _, field := range all {
			if before[field] != after[field] {
				out = append(out, field)
			}
		}
		return out
	}
	longer := render(strings.Replace(twoPasswords, "randAlphaNum 16", "randAlphaNum 24", 1), nil)
	if one, old := longer["Secret/web/data/one"].(string), before["Secret/web/data/one"].(string); len(one) != 24 || strings.Contains(one, old[:6]) {
		t.Error("a longer password has a part of the shorter one")
	}
	renamed := strings.Replace(twoPasswords, "metadata: {name: web}", "metadata: {name: web2}", 1)
	under := fieldsOf{}
	for field, value := range render(renamed, nil) {
		under[strings.Replace(field, "/web2/", "/web/", 1)] = value
	}
	namespaced := func(namespace string) fieldsOf {
		return render(strings.Replace(twoPasswords, "metadata: {name: web}", "metadata: {name: web, namespace: "+namespace+"}", 1), nil)
	}
	for name, tt := range map[string]struct {
		after fieldsOf
		want  []string
	}{
		"the destination":       {render(twoPasswords, func(r *Request) { r.Namespace = "shop-2" }), all},
		"the length":            {longer, shared},
		"another function":      {render(strings.Replace(twoPasswords, "randAlphaNum 16", "randAlpha 16", 1), nil), shared},
		"the name of an object": {under, append(slices.Clone(shared), "Secret/web/data/two")},
		"a better home":         {render(strings.Replace(twoPasswords, "kind: Secret\nmetadata: {name: web}", "kind: Secret\nmetadata: {name: web}\ndata: {first: {{ $one | b64enc }}}", 1), nil), shared},
		"one more copy":         {render(strings.Replace(twoPasswords, "  url:", "  zwei: {{ $one }}\n  url:", 1), nil), nil},
		"the destination's namespace in the object": {namespaced("shop"), nil},
	} {
		want := slices.Sorted(slices.Values(tt.want))
		if diff := cmp.Diff(want, changes(tt.after)); diff != "" {
			t.Errorf("%s changes (-want +got):\n%s", name, diff)
		}
	}
	if namespaced("elsewhere")["Secret/elsewhere/web/data/two"] == before["Secret/web/data/two"] {
		t.Error("objects in two namespaces have one password")
	}
}

// No error shows a derived value: neither of what else is refused, nor of the gates and
// rules behind the renderer.
func TestDerivedErrorsAreClean(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("renders a hundred times")
	}
	const good = `{{- $one := randAlphaNum 24 }}{{ $key := genPrivateKey "ed25519" }}
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData:
  one: {{ $one }}
  two: {{ randAscii 30 | quote }}
  key: {{ $key | quote }}
  hash: {{ $one | bcrypt }}
`
	tests := map[string]string{
		"another field is refused":      "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {cut: {{ substr 0 5 $one }}}\n",
		"a name is refused":             "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ $one | lower }}}\n",
		"a key is refused":              "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {{ dict $one \"a\" | toJson }}\n",
		"the kind":                      "---\napiVersion: v1\nkind: {{ $one }}\nmetadata: {name: web}\n",
		"the API version":               "---\napiVersion: {{ $one }}/a/b\nkind: ConfigMap\nmetadata: {name: web}\n",
		"an annotation that is no text": "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, annotations: {a: [{{ $one }}]}}\n",
		"a label that is no text":       "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, labels: {a: {b: {{ $one }}}}}\n",
		"one object twice":              "---\napiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData: {one: {{ $one }}}\n",
		"the template fails":            "{{ if gt (len $one) 30 }}{{ fail $one }}{{ end }}\n",
		"no YAML":                       "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: {{ $one }}: b}\n",
		"outside":                       "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: {{ $one }}, {{ printf \"x%s\" \"y\" }}: {{ $key | quote }}}\n",
		"an image":                      "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: web}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: web, image: \"web:{{ $one }}\", env: [{name: A, value: {{ $one }}}]}]}}}\n",
		"a webhook":                     "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: {{ $one }}}, ports: [{port: 80, targetPort: {{ $one }}}]}\n",
	}
	c := derivedCase{want: derivedWant{Derived: map[string]string{
		"Secret/web/data/one": "randAlphaNum", "Secret/web/data/two": "randAscii", "Secret/web/data/key": "private key", "Secret/web/data/hash": "bcrypt",
	}}}
	files := func(template string) map[string]string {
		return map[string]string{"chart/Chart.yaml": chartYAML, "chart/templates/a.yaml": template}
	}
	parts := c.secretParts(c.fields(mustDerive(t, c.request(t, RendererHelm3, files(good)))))
	const least = 4
	if len(parts) < least {
		t.Fatalf("got %d parts of values", len(parts))
	}
	deny, err := policy.Parse("policy.yaml", []byte("apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec: {rules: [{name: all, determinism: [enforce, derive], derivation: {outsideSecrets: deny}, lint: {default: deny}}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, more := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, engine := range derivedEngines {
				for _, change := range []func(*Request){
					func(*Request) {},
					func(r *Request) { r.Policy = deny },
					func(r *Request) { r.Review = true },
					func(r *Request) { r.with(t, "random-generations[Secret/web/data/three]=1") },
				} {
					r := c.request(t, engine, files(good+more))
					change(r)
					var findings []Finding
					r.Found = func(f []Finding) { findings = f }
					result, err := Render(context.Background(), r)
					texts := map[string]string{}
					for _, f := range findings {
						texts["findings"] += cmp.Diff(f, Finding{})
					}
					if err != nil {
						texts["error"], texts["hint"] = err.Error(), diag.Hint(err)
					} else {
						c.notIn(t, parts, map[string]string{"warnings": strings.Join(result.Warnings, "\n")})
						c.checkHidden(t, result)
					}
					c.notIn(t, parts, texts)
				}
			}
		})
	}
}
