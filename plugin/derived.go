package plugin

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/plugin/derive"
	"hallmark.dev/hallmark/plugin/stamp"
)

// Seed is a secret of the platform team from which values are derived. It prints as
// its id.
type Seed struct {
	// ID is the name by which the parameter random-seed chooses it.
	ID   string
	seed *derive.Seed
	// digest tells seeds of one name apart, in memory alone.
	digest [sha256.Size]byte
}

// ReadSeed reads the content of a file with a seed. The error says nothing of it.
func ReadSeed(id string, data []byte) (Seed, error) {
	seed, err := derive.ReadSeed(id, data)
	if err != nil {
		return Seed{}, err
	}
	return Seed{ID: id, seed: seed, digest: sha256.Sum256(data)}, nil
}

// String returns the id.
func (s Seed) String() string { return s.ID }

// GoString returns the id.
func (s Seed) GoString() string { return s.ID }

// Derived is a field whose value was derived from the seed.
type Derived struct {
	// Object and Path are the object and the field as the chart printed them; a
	// kustomization around the chart can have renamed both.
	Object object.ID
	Path   stamp.Path
	// Names are those of the fields in which its random values live, which the
	// parameter random-generations takes, see [derive.Name].
	Names []string
	// Reason says of what the value was made, "randAlphaNum" or "certificate".
	Reason string
	// Generation is how often it was rotated: the highest of its Names.
	Generation int

	// For Reveal: the name of the field itself, and its value.
	name, value string
	printed     any    // by the chart
	namespace   string // the destination's, which the value depends on
}

const (
	hintSeed     = "mount the platform team's seed (--seed-file, in a plugin also $HALLMARK_SEED_FILES), or set determinism to enforce"
	hintProject  = "give --project; Argo CD before 3.0 sends plugins none: there the policy says it (derivation.project of the rule), which keeps values through the upgrade"
	hintDerivers = "`hallmark random list` prints the names of the fields that are derived"
)

// seeded settles the seed that values are derived from, or that none are. asked says
// that the application asks for it, and not only its rule.
func (s *session) seeded(asked bool) error {
	p := &s.in.Parameters
	if p.Determinism != DeterminismDerive {
		return nil
	}
	if len(s.Seeds) == 0 {
		switch {
		case s.Tolerant:
			// Who looks at a change need not have the seed.
			p.Determinism, s.underived = DeterminismWarn, aSeed
			return nil
		case asked || p.RandomSeed != "":
			return diag.WithHint(errors.New("parameter \"determinism\": \"derive\" needs a seed, and none is given"), hintSeed)
		}
		s.underived = aSeed // which matters where there is something to derive
		return nil
	}
	seed := s.Seeds[0]
	if p.RandomSeed != "" {
		i := slices.IndexFunc(s.Seeds, func(other Seed) bool { return other.ID == p.RandomSeed })
		if i < 0 {
			ids := make([]string, len(s.Seeds))
			for i, other := range s.Seeds {
				ids[i] = other.ID
			}
			return diag.WithHint(fmt.Errorf("parameter %q: there is no seed %q", "random-seed", p.RandomSeed),
				"the seeds are "+strings.Join(ids, ", "))
		}
		seed = s.Seeds[i]
	}
	project := s.Project
	if d := s.rule.Derivation; d != nil {
		project = cmp.Or(project, d.Project)
	}
	if project == "" {
		if s.Tolerant || !asked {
			s.underived = aProject
			if s.Tolerant {
				p.Determinism = DeterminismWarn
			}
			return nil
		}
		return diag.WithHint(errors.New("parameter \"determinism\": \"derive\" wants the project, on which values depend, and none is given"), hintProject)
	}
	generation, fields, err := p.generations()
	if err != nil {
		return err
	}
	s.seed = seed
	s.in.Derive = &derive.Options{
		Seed:       seed.seed,
		Scope:      derive.Scope{Project: project, Namespace: s.Namespace, App: s.App},
		Generation: generation, Fields: fields, Now: s.Today,
	}
	// The one that counts is an input of the render, also where it is the default.
	p.RandomSeed = seed.ID
	p.mark("random-seed")
	return nil
}

// A need is what values cannot be derived without.
type need string

const (
	aSeed    need = "seed"
	aProject need = "project"
)

func (n need) hint() string {
	if n == aProject {
		return hintProject
	}
	return hintSeed
}

// generations reads the parameters that rotate values.
func (p *Parameters) generations() (all int, fields map[string]int, err error) {
	var faults []error
	count := func(name, text string) int {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			faults = append(faults, fmt.Errorf("parameter %q: got %q, want a whole number that is not below 0", name, text))
		}
		return int(n)
	}
	if p.RandomGeneration != "" {
		all = count("random-generation", p.RandomGeneration)
	}
	fields = make(map[string]int, len(p.RandomGenerations))
	for _, name := range sortedKeys(p.RandomGenerations) {
		fields[name] = count("random-generations["+name+"]", p.RandomGenerations[name])
	}
	return all, fields, errors.Join(faults...)
}

// addDerived adds what was derived in a chart to the output. objects are the chart's
// own, and o what it was derived with.
func (out *Output) addDerived(objects []object.Object, derived []derive.Derived, o *derive.Options) {
	for _, d := range derived {
		value, _ := object.Lookup(objects[d.Document].Value, d.Path)
		next := Derived{
			Object: d.Object, Path: d.Inner, Names: d.Names, Reason: d.Reason,
			name: d.Name, value: plaintext(value, d), printed: value, namespace: o.Scope.Namespace,
		}
		for _, name := range d.Names {
			next.Generation = max(next.Generation, o.Generation+o.Fields[name])
		}
		out.Derived = append(out.Derived, next)
	}
}

// plaintext returns the value of a field as a person needs it: the data of a Secret
// decoded.
func plaintext(value any, d derive.Derived) string {
	if value == nil {
		return ""
	}
	text := fmt.Sprint(value)
	if inner := d.Inner; len(inner) == 2 && inner[0] == "data" && d.Object.Group == "" && d.Object.Kind == "Secret" {
		if data, err := base64.StdEncoding.DecodeString(text); err == nil {
			return string(data)
		}
	}
	return text
}

// Reveal returns the derived value that lives in the field of that name, one of
// [Derived].Names, as a person needs it: the data of a Secret decoded.
func (r *Result) Reveal(name string) (string, error) {
	var names []string
	var home *Derived
	for i, d := range r.Derived {
		names = append(names, d.Names...)
		if d.name == name && slices.Contains(d.Names, name) {
			home = &r.Derived[i]
		}
	}
	if !slices.Contains(names, name) {
		return "", unknownField(fmt.Errorf("no derived field is named %q", name), name, names)
	}
	// What lives in a hash alone is not told by it, unless the hash is itself the secret.
	if home == nil || home.value == "" || !slices.ContainsFunc(strings.Split(home.Reason, ","), home.tells) {
		return "", fmt.Errorf("the value of %q is printed nowhere by itself", name)
	}
	return home.value, nil
}

// tells reports whether what is made for a reason is what a person looks for in the field.
func (d *Derived) tells(reason string) bool {
	switch reason {
	case "bcrypt":
		return false
	case "checksum":
		return d.Object.Group == "" && d.Object.Kind == "Secret" && (d.Path[0] == "data" || d.Path[0] == "stringData")
	}
	return true
}

// rotated refuses generations of fields that are not derived: a slip there would look
// like a rotation that was done.
func (s *session) rotated(out *Output) error {
	if s.in.Derive == nil {
		return nil
	}
	var names []string
	for _, d := range out.Derived {
		names = append(names, d.Names...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.in.Derive.Fields)) {
		if !slices.Contains(names, name) {
			return unknownField(fmt.Errorf("parameter %q: no derived field is named %q", "random-generations", name), name, names)
		}
	}
	return nil
}

// unknownField adds to err the names that may have been meant.
func unknownField(err error, name string, names []string) error {
	const most = 3
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	near := slices.DeleteFunc(slices.Clone(names), func(other string) bool {
		return diag.Distance(other, name) > max(len(name)/3, most)
	})
	if len(near) == 0 {
		return diag.WithHint(err, hintDerivers)
	}
	slices.SortStableFunc(near, func(a, b string) int {
		return cmp.Compare(diag.Distance(a, name), diag.Distance(b, name))
	})
	for i, other := range near {
		near[i] = strconv.Quote(other)
	}
	return diag.WithHint(err, "did you mean "+strings.Join(near[:min(len(near), most)], " or ")+"? "+hintDerivers)
}

// noEffect warns of parameters that count with derive alone.
func (s *session) noEffect() (warnings []string) {
	if s.in.Derive != nil || s.underived != "" {
		return nil
	}
	for _, name := range []string{"random-generation", "random-generations", "random-seed"} {
		if s.in.Parameters.set[name] {
			mode := cmp.Or(s.in.Parameters.Determinism, DeterminismEnforce)
			warnings = append(warnings, fmt.Sprintf("parameter %q has no effect, since determinism is %q", name, mode))
		}
	}
	return warnings
}

// recordedDerived are the derived fields as the evidence has them.
func recordedDerived(derived []Derived) (out []evidence.Derived) {
	for _, d := range derived {
		out = append(out, evidence.Derived{
			Object: d.Object, Field: d.Path.Pointer(), Reason: d.Reason, Names: d.Names, Generation: d.Generation,
		})
	}
	return out
}

// secrets are the values that nothing which leaves a render may show, but for its
// objects. A nil *secrets knows none.
type secrets struct {
	decrypted redact.Values
	derived   redact.Values
}

// Text takes them out of a text.
func (s *secrets) Text(text string) string {
	if s == nil {
		return text
	}
	return s.derived.Text(s.decrypted.Text(text))
}

// Error takes them out of an error, as [redact.Values.Error] does.
func (s *secrets) Error(err error) error {
	if s == nil {
		return err
	}
	return s.derived.Error(s.decrypted.Error(err))
}

// In reports whether a text holds one.
func (s *secrets) In(text string) bool {
	return s != nil && (s.decrypted.In(text) || s.derived.In(text))
}
