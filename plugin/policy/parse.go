package policy

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/fields"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// maxFile bounds a policy, also after its aliases are expanded.
const maxFile = 1 << 20

// Load reads a policy from a file of at most 1 MiB.
func Load(file string) (*Policy, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}

func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	// One byte more, so that Parse sees that there is more.
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// Parse reads a policy. The error lists all faults, with line and column in file.
func Parse(file string, data []byte) (*Policy, error) {
	if len(data) > maxFile {
		return nil, &diag.Error{File: file, Msg: fmt.Sprintf("larger than %d bytes, the most that is read of a policy", maxFile)}
	}
	docs, err := yamldoc.Limits{Bytes: maxFile, Depth: 64}.Stream(file, data)
	if err != nil {
		return nil, err
	}
	docs = slices.DeleteFunc(docs, func(d yamldoc.Document) bool { return d.Value == nil })
	if len(docs) == 0 {
		return nil, &diag.Error{File: file, Msg: `the file is empty, want kind "RenderPolicy"`}
	}
	// The values are those of package yamldoc; the nodes say where they stand and
	// which keys there are twice.
	faults, root := fields.Open(file, docs[0], false)
	r := reader{faults}
	p := r.policy(root)
	if len(docs) > 1 {
		r.Faults.Addf(file, docs[1].Line, 0, "a second document, want one policy in a file")
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// A reader collects the faults of a policy.
type reader struct{ *fields.Reader }

func (r reader) policy(root fields.Field) *Policy {
	top := root.Mapping("apiVersion", "kind", "metadata", "spec")
	if top == nil {
		return nil
	}
	for name, want := range map[string]string{"apiVersion": "hallmark.dev/v1", "kind": "RenderPolicy"} {
		f, found := top[name]
		if !found {
			root.Faultf("%s: missing, want %q", name, want)
		} else if got, ok := f.Text(); ok && got != want {
			f.Faultf("got %q, want %q", got, want)
		}
	}
	spec, found := top["spec"]
	if !found {
		root.Faultf("spec: missing, want a mapping with rules")
		return nil
	}
	p := &Policy{}
	rules := spec.Mapping("rules")["rules"]
	if rules.Value() == nil {
		return p // a list whose items are all commented out is an empty one
	}
	names := map[string]int{}
	for _, item := range rules.List() {
		next, whole := r.rule(item)
		if line, taken := names[next.Name]; taken {
			item.Faultf("the name %q is taken by the rule in line %d", next.Name, line)
		} else if next.Name != "" {
			names[next.Name] = next.Line
		}
		if i := slices.IndexFunc(p.rules, func(earlier rule) bool { return earlier.match.everything() }); i >= 0 {
			item.Faultf("the rule is never reached, because the rule in line %d matches everything", p.rules[i].Line)
		}
		if whole {
			p.rules = append(p.rules, next)
		}
	}
	return p
}

// rule reads one rule. It is not whole where it is not known what it matches.
func (r reader) rule(item fields.Field) (out rule, whole bool) {
	out = rule{Rule: Rule{File: r.File, Determinism: Enforce}}
	out.Line, _ = item.Position()
	fields := item.Mapping("name", "match", "renderers", "decryption", "fetchCharts", "determinism", "derivation", "allowEmpty", "limits", "lint")
	if fields == nil {
		return out, false
	}
	if name, found := fields["name"]; !found {
		item.Faultf("name: missing, want a name that no other rule has")
	} else if text, ok := name.Text(); ok && text == "" {
		name.Faultf("the name is empty")
	} else {
		out.Name = text
	}
	before := len(r.Faults)
	if match, found := fields["match"]; found {
		demands := match.Mapping("project", "repoURL", "namespace")
		out.match.project = patterns(demands["project"], compileName)
		out.match.repoURL = patterns(demands["repoURL"], repository.compile)
		out.match.namespace = patterns(demands["namespace"], compileName)
	}
	whole = len(r.Faults) == before
	if f, found := fields["renderers"]; found {
		out.Renderers = names(f, "renderer", Renderers())
	}
	if f, found := fields["decryption"]; found {
		out.Decryption = r.decryption(f)
	}
	if f, found := fields["fetchCharts"]; found && f.Flag() {
		f.Faultf("got true, but hallmark fetches nothing while it renders")
		f.Remedy("vendor what a chart depends on into its charts/ folder (helm dependency update) and commit it")
	}
	if f, found := fields["determinism"]; found {
		out.Determinism, out.Lenient = determinism(f)
		if slices.Contains(out.Lenient, Derive) {
			out.Derivation = &Derivation{OutsideSecrets: Warn}
		}
	}
	if f, found := fields["derivation"]; found {
		r.derivation(f, out.Derivation)
	}
	if f, found := fields["allowEmpty"]; found {
		out.AllowEmpty = f.Flag()
	}
	if f, found := fields["limits"]; found {
		out.Limits = readLimits(f)
	}
	if f, found := fields["lint"]; found {
		out.Lint = r.lint(f)
	}
	return out, whole
}

// determinism reads a mode, or a list of those that are allowed, of which the first
// holds where an application asks for none. Enforce is always allowed.
func determinism(f fields.Field) (mode string, lenient []string) {
	modes := []string{Enforce, Derive, Warn}
	var allowed []string
	if _, isList := f.Value().([]any); isList {
		if allowed = names(f, "determinism", modes); len(f.List()) == 0 {
			f.Faultf("the list is empty, want one of %s", strings.Join(modes, ", "))
		}
	} else if one := f.OneOf(modes...); one != "" {
		allowed = []string{one}
	}
	if len(allowed) == 0 {
		return Enforce, nil // a fault was found
	}
	mode = allowed[0]
	for _, m := range allowed {
		if m != Enforce {
			lenient = append(lenient, m)
		}
	}
	return mode, lenient
}

// derivation reads the section into d, which is nil where nothing may be derived.
func (r reader) derivation(f fields.Field, d *Derivation) {
	fields := f.Mapping("project", "outsideSecrets")
	if fields == nil {
		return
	}
	if d == nil {
		f.Faultf("nothing is derived by this rule: its determinism does not allow derive")
		return
	}
	if project, found := fields["project"]; found {
		d.Project, _ = project.Text()
	}
	if outside, found := fields["outsideSecrets"]; found {
		d.OutsideSecrets = outside.OneOf(Deny, Warn, Allow)
	}
}

func readLimits(f fields.Field) (l Limits) {
	fields := f.Mapping("files", "fileBytes", "treeBytes", "objects", "outputBytes", "memoryBytes", "renderTime")
	for name, set := range map[string]func(int64){
		"files":       func(n int64) { l.Files = int(n) },
		"fileBytes":   func(n int64) { l.FileBytes = n },
		"treeBytes":   func(n int64) { l.TreeBytes = n },
		"objects":     func(n int64) { l.Objects = int(n) },
		"outputBytes": func(n int64) { l.OutputBytes = int(n) },
		"memoryBytes": func(n int64) { l.MemoryBytes = n },
	} {
		if count, found := fields[name]; found {
			set(count.Count())
		}
	}
	if f, found := fields["renderTime"]; found {
		l.RenderTime = f.Duration()
	}
	return l
}
