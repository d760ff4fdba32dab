package derive

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// files are the templates of a chart by name, in sprig's language. Those whose names
// begin with "_" print nothing.
type files map[string]string

type mode int

const (
	plainMode mode = iota
	frameMode      // random functions print frames, the time and orders are fixed
	againMode      // the same, another time
	stillMode      // the time and orders are fixed
)

// frames are what the edits of plugin/chart make of the functions. Those that make random
// values exist once for each call of the templates, see numbered.
func frames(plain template.FuncMap, second bool, calls int) template.FuncMap {
	bytesOf := plain["randBytes"].(func(int) (string, error))
	executed := 0
	nonce := func() int {
		executed++
		return Nonce(executed, second)
	}
	over := func(name string) func(string) string {
		return func(s string) string {
			return ComputedFrame(name, s)
		}
	}
	salt := func(name string) func(string) string {
		return func(s string) string {
			return SaltedFrame(name, s, nonce())
		}
	}
	out := template.FuncMap{
		"sha1sum": over("sha1"), "sha256sum": over("sha256"), "sha512sum": over("sha512"), "adler32sum": over("adler32"),
		"bcrypt": salt("bcrypt"), "shuffle": salt("shuffle"),
		"htpasswd": func(user, password string) string { return user + ":" + salt("bcrypt")(password) },
	}
	for site := range calls {
		mark := func(kind string, size any) string {
			return TokenFrame(fmt.Sprint(kind, size), nonce(), site)
		}
		sized := func(kind string) func(int) string { return func(n int) string { return mark(kind, n) } }
		functions := template.FuncMap{
			"randAlphaNum": sized("a"), "randAlpha": sized("l"), "randNumeric": sized("d"), "randAscii": sized("p"),
			"randBytes": func(n int) (string, error) { _, err := bytesOf(n); return mark("b", n), err },
			"uuidv4":    func() string { return mark("u", 0) },
			"randInt":   func(low, high int) string { return mark("i", fmt.Sprintf("%dto%d", low, high)) },
		}
		for name, function := range functions {
			out[fmt.Sprintf("%s_%d", name, site)] = function
		}
	}
	return out
}

var randomCall = regexp.MustCompile(`\b(?:randAlphaNum|randAlpha|randNumeric|randAscii|randBytes|uuidv4|randInt)\b`)

const oneNonce, otherNonce = "012345670123456701234567012", "765432107654321076543210765"

// printedFrame is the frame of a call that was asked for what is "a16", say.
func printedFrame(kind, nonce string) string {
	return FrameStart + "t" + nonce + kind + "s7" + frameLetters + FrameEnd
}

var oneFrame, otherFrame = printedFrame("a16", oneNonce), printedFrame("b32", otherNonce)

// numbered returns the templates with the calls of random functions numbered.
func (f files) numbered() (files, int) {
	out, calls := files{}, 0
	for _, name := range slices.Sorted(maps.Keys(f)) {
		out[name] = randomCall.ReplaceAllStringFunc(f[name], func(call string) string {
			calls++
			return fmt.Sprintf("%s_%d", call, calls-1)
		})
	}
	return out, calls
}

// clock moves the time from render to render, as the proof of plugin/chart does.
var clock atomic.Int64

func (f files) render(t testing.TB, m mode) Render {
	t.Helper()
	root := template.New("")
	funcs := sprig.TxtFuncMap()
	// What a hash looks like is enough here, and making one takes long.
	hash := func(string) string { return "$2a$10$" + funcs["randAlphaNum"].(func(int) string)(53) }
	funcs["bcrypt"] = hash
	funcs["htpasswd"] = func(user, password string) string { return user + ":" + hash(password) }
	if m == plainMode {
		at := time.Now().Add(time.Duration(clock.Add(1)) * 9613 * time.Hour)
		funcs["now"] = func() time.Time { return at }
	} else {
		fixed := time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
		funcs["now"] = func() time.Time { return fixed }
		values := funcs["values"].(func(map[string]any) []any)
		sorted := funcs["sortAlpha"].(func(any) []string)
		funcs["values"] = func(m map[string]any) []string { return sorted(values(m)) }
	}
	if m == stillMode {
		funcs["randAscii"] = func(n int) string { return strings.Repeat("~", n) } // "+" in base64
	}
	if m == frameMode || m == againMode {
		numbered, calls := f.numbered()
		f = numbered
		maps.Copy(funcs, frames(sprig.TxtFuncMap(), m == againMode, calls))
	}
	funcs["fromYaml"] = func(s string) (map[string]any, error) {
		v, err := yamldoc.Decode("input", []byte(s))
		return object.Mapping(v), err
	}
	funcs["toYaml"] = func(v any) string { return strings.TrimSuffix(string(yamldoc.AppendYAML(nil, v)), "\n") }
	funcs["tpl"] = func(s string, data any) (string, error) {
		t, err := template.Must(root.Clone()).New("tpl").Parse(s)
		if err != nil {
			return "", err
		}
		var b bytes.Buffer
		err = t.Execute(&b, data)
		return b.String(), err
	}
	funcs["include"] = func(name string, data any) (string, error) {
		var b bytes.Buffer
		err := root.ExecuteTemplate(&b, name, data)
		return b.String(), err
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		template.Must(root.New(name).Funcs(funcs).Parse(f[name]))
	}
	out := Render{Texts: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		var b bytes.Buffer
		if err := root.ExecuteTemplate(&b, name, map[string]any{}); err != nil {
			t.Fatal(err)
		}
		out.Texts[name] = b.String()
		for part := range strings.SplitSeq("\n"+b.String(), "\n---\n") {
			v, err := yamldoc.Decode(name, []byte(part))
			if err != nil {
				t.Fatalf("%v in\n%s", err, part)
			}
			if v != nil {
				out.Documents = append(out.Documents, Document{name, v.(map[string]any)})
			}
		}
	}
	return out
}

// renders gives all that Resolve wants of a chart.
func (f files) renders(t testing.TB) Renders {
	t.Helper()
	return Renders{
		Plain: f.render(t, stillMode), First: f.render(t, frameMode), Second: f.render(t, againMode),
	}
}

func testOptions(t testing.TB) Options {
	t.Helper()
	seed, err := ReadSeed("test", []byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Seed: seed, Scope: Scope{Project: "payments", Namespace: "shop", App: "checkout"},
		Now: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC),
	}
}

// unstable are the fields in which two renders differ.
func unstable(a, b Render) []Field {
	var out []Field
	var walk func(doc int, at []any, x, y any)
	walk = func(doc int, at []any, x, y any) {
		switch x := x.(type) {
		case map[string]any:
			y, ok := y.(map[string]any)
			if ok {
				keys := maps.Clone(x)
				maps.Copy(keys, y)
				for _, k := range slices.Sorted(maps.Keys(keys)) {
					walk(doc, append(slices.Clone(at), k), x[k], y[k])
				}
				return
			}
		case []any:
			if y, ok := y.([]any); ok && len(x) == len(y) {
				for i := range x {
					walk(doc, append(slices.Clone(at), i), x[i], y[i])
				}
				return
			}
		default:
			if fmt.Sprint(x) == fmt.Sprint(y) {
				return
			}
		}
		out = append(out, Field{doc, at})
	}
	for i := range min(len(a.Documents), len(b.Documents)) {
		walk(i, nil, a.Documents[i].Value, b.Documents[i].Value)
	}
	return out
}

// resolved is what Resolve makes of a chart.
type resolved struct {
	*Resolution
	renders Renders
}

func resolve(t testing.TB, o Options, f files, ordered ...Field) resolved {
	t.Helper()
	r := f.renders(t)
	r.Ordered = ordered
	var found []Field
	for range 4 {
		found = append(found, unstable(r.Plain, f.render(t, plainMode))...)
	}
	out, err := Resolve(t.Context(), o, r, found)
	if err != nil {
		t.Fatal(err)
	}
	return resolved{out, r}
}

// mustResolve is resolve for a chart in which nothing is refused.
func mustResolve(t testing.TB, o Options, f files, ordered ...Field) resolved {
	t.Helper()
	r := resolve(t, o, f, ordered...)
	for _, refused := range r.Refused {
		t.Errorf("document %d %s is refused: %s", refused.Document, object.Pointer(refused.Path...), refused.Reason)
	}
	return r
}

// value returns a field of the result: "<kind>/<name>/<path>".
func (r resolved) value(t testing.TB, name string) any {
	t.Helper()
	parts := strings.Split(name, "/")
	for i, d := range r.renders.Plain.Documents {
		v := d.Value
		if changed, ok := r.Values[i]; ok {
			v = changed
		}
		if id := (object.Object{Value: v}).ID(); id.Kind == parts[0] && id.Name == parts[1] {
			return dig(v, parts[2:])
		}
	}
	t.Fatalf("no object of %s", name)
	return nil
}

func dig(v any, steps []string) any {
	for _, step := range steps {
		switch at := v.(type) {
		case map[string]any:
			v = at[strings.ReplaceAll(step, "~1", "/")]
		case []any:
			var i int
			_, _ = fmt.Sscan(step, &i)
			v = at[i]
		}
	}
	return v
}

// text is value for texts.
func (r resolved) text(t testing.TB, name string) string {
	t.Helper()
	s, ok := r.value(t, name).(string)
	if !ok {
		t.Fatalf("%s is %v, want a text", name, r.value(t, name))
	}
	return s
}

// decoded is text for base64.
func (r resolved) decoded(t testing.TB, name string) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(r.text(t, name))
	if err != nil {
		t.Fatalf("%s: %v in %s", name, err, r.text(t, name))
	}
	return string(b)
}

// reasons gives the reasons of the derived fields by pointer.
func (r resolved) reasons() map[string]string {
	out := map[string]string{}
	for _, d := range r.Derived {
		out[d.Object.Kind+"/"+d.Object.Name+object.Pointer(d.Path...)] = d.Reason
	}
	return out
}
