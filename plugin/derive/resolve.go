package derive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// Renders are the renders of one chart that values are derived from.
type Renders struct {
	// Plain is a render in which nothing but the time and the order of maps is fixed, in the
	// way of First, and random functions print known values of the form of random ones. What
	// is stable stays as it is here. A field that has something else in First than here
	// beside its frames is one whose random value the template made something else of:
	// `randNumeric 4 | int` is 0 there.
	Plain Render
	// First and Second are renders with frames: two executions of the same edited
	// templates.
	First, Second Render
	// Ordered are fields that another order of maps changes.
	Ordered []Field
}

// Resolve gives the plain render with derived values in place of random ones. Unstable
// are the fields that differ between plain renders. A field in which First has a frame
// counts as one of them: whether two short random values differed is chance. An error
// is one of the caller or of ctx; what the chart does is said by Refused.
func Resolve(ctx context.Context, o Options, renders Renders, unstable []Field) (*Resolution, error) {
	if o.Seed == nil {
		return nil, errors.New("deriving values needs a seed")
	}
	r := &resolver{renders: renders, out: &Resolution{Values: map[int]map[string]any{}}, open: map[int]map[string]Field{}}
	if fault := r.disagreement(); fault != nil {
		r.refuseAll(unstable, *fault)
		return r.out, nil
	}
	for _, f := range unstable {
		if f.Document < 0 || f.Document >= len(renders.Plain.Documents) {
			return nil, fmt.Errorf("document %d of %d is unstable", f.Document, len(renders.Plain.Documents))
		}
		if r.open[f.Document] == nil {
			r.open[f.Document] = map[string]Field{}
		}
		r.open[f.Document][object.Pointer(f.Path...)] = f
	}
	certificates := newCertificates(ctx, o, o.stream)
	first, second := newIndex(ctx, o.Scope, renders.First), newIndex(ctx, o.Scope, renders.Second)
	kept := constant(first, second)
	first.settle(renders.First, second, kept)
	second.settle(renders.Second, first, kept)
	for _, b := range first.blocks {
		certificates.collect(b.block, b.at)
	}
	for _, b := range second.blocks {
		certificates.again(b.block)
	}
	r.second = second
	r.values = &values{
		ctx: ctx, lettersOf: r.lettersOf,
		options: o, index: first, certificates: certificates, made: map[string]string{}, secrets: map[string]bool{},
		pairs: &pairing{there: map[string]string{}, back: map[string]string{}, shape: certificates.shape},
	}
	for i, d := range renders.Plain.Documents {
		r.document = i
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if len(r.open[i]) == 0 && !r.holds(renders.First.Documents[i].Value) {
			continue
		}
		before := len(r.out.Derived)
		value := r.field(nil, d.Value, renders.First.Documents[i].Value, renders.Second.Documents[i].Value, false)
		if result, ok := value.(map[string]any); ok && len(r.out.Derived) > before {
			r.out.Values[i] = result
		}
		for _, pointer := range slices.Sorted(maps.Keys(r.open[i])) {
			r.refuse(r.open[i][pointer].Path, "it is there in one render and not in the next")
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.out.Secrets = slices.Sorted(maps.Keys(r.secrets))
	r.out.resolver = r
	return r.out, nil
}

// resolver walks through the renders side by side.
type resolver struct {
	*values
	renders  Renders
	second   *index
	document int
	// open are the unstable fields of each document that the walk has not come to, by
	// their pointers.
	open map[int]map[string]Field
	// housed are the homes of values that are printed nowhere.
	housed []housed
	out    *Resolution
}

// disagreement finds out whether the renders have the same documents.
func (r *resolver) disagreement() *Refused {
	plain := r.renders.Plain.Documents
	for _, other := range [][]Document{r.renders.First.Documents, r.renders.Second.Documents} {
		if at, template := differ(plain, other); at >= 0 {
			return &Refused{
				Field:  Field{Document: min(at, max(0, len(plain)-1))},
				Reason: fmt.Sprintf("which objects the template %q prints depends on a random value or on the time", template),
			}
		}
	}
	return nil
}

// differ returns the first document of another template or kind, or -1.
func differ(a, b []Document) (at int, template string) {
	kind := func(d Document) string { return fmt.Sprint(d.Value == nil, d.Value["kind"]) }
	for i := range min(len(a), len(b)) {
		if a[i].Template != b[i].Template || kind(a[i]) != kind(b[i]) {
			return i, a[i].Template
		}
	}
	switch {
	case len(a) > len(b):
		return len(b), a[len(b)].Template
	case len(b) > len(a):
		return len(a), b[len(a)].Template
	}
	return -1, ""
}

func (r *resolver) refuseAll(unstable []Field, fault Refused) {
	for _, f := range unstable {
		r.out.Refused = append(r.out.Refused, Refused{Field: f, Reason: fault.Reason})
	}
	if len(unstable) == 0 {
		r.out.Refused = append(r.out.Refused, fault)
	}
}

func (r *resolver) refuse(path []any, reason string) {
	r.out.Refused = append(r.out.Refused, Refused{Field: Field{r.document, slices.Clone(path)}, Reason: reason})
	prefix := object.Pointer(path...)
	maps.DeleteFunc(r.open[r.document], func(pointer string, _ Field) bool {
		return pointer == prefix || strings.HasPrefix(pointer, prefix+"/")
	})
}

// refuseForGood refuses a field that must not have a derived value.
func (r *resolver) refuseForGood(path []any, reason string) {
	r.refuse(path, reason)
	r.out.Refused[len(r.out.Refused)-1].Final = true
}

func (r *resolver) derived(path []any, reasons, names []string) {
	document := r.renders.Plain.Documents[r.document].Value
	path = slices.Clone(path)
	o, inner := owner(document, path)
	r.out.Derived = append(r.out.Derived, Derived{
		Field:  Field{r.document, path},
		Object: o.ID(), Inner: inner, Name: r.index.place(document, path, false).name(),
		Reason: strings.Join(reasons, ","), Names: names,
	})
}

// field returns the value of a field of the result, given that of the plain render and
// those of the two with frames. Active says that it is unstable, or a part of one.
func (r *resolver) field(path []any, plain, first, second any, active bool) any {
	if open := r.open[r.document]; open != nil {
		pointer := object.Pointer(path...)
		_, named := open[pointer]
		active = active || named
		delete(open, pointer)
	}
	switch first := first.(type) {
	case map[string]any:
		for key := range first {
			if holdsFrame(key) {
				r.refuseForGood(path, "a random value is the name of a field in it")
				return plain
			}
		}
		second, isMapping := second.(map[string]any)
		from, ok := plain.(map[string]any)
		if !isMapping || !ok || !sameKeys(first, second) || !sameKeys(first, from) {
			return r.restructured(path, plain, first, active)
		}
		out := make(map[string]any, len(first))
		for _, key := range slices.Sorted(maps.Keys(first)) {
			out[key] = r.field(append(path, key), from[key], first[key], second[key], active)
		}
		return out
	case []any:
		second, isList := second.([]any)
		from, ok := plain.([]any)
		if !isList || !ok || len(first) != len(second) || len(first) != len(from) {
			return r.restructured(path, plain, first, active)
		}
		out := make([]any, len(first))
		for i := range first {
			out[i] = r.field(append(path, i), from[i], first[i], second[i], active)
		}
		return out
	}
	return r.scalar(path, plain, first, second, active)
}

// restructured keeps what is stable and refuses a list or mapping that has other parts
// in each render.
func (r *resolver) restructured(path []any, plain, first any, active bool) any {
	if active || r.holds(first) || r.hasOpen(path) {
		r.refuse(path, "which fields it has depends on a random value or on the time")
	}
	return plain
}

// hasOpen reports whether there is an unstable field below a path.
func (r *resolver) hasOpen(path []any) bool {
	prefix := object.Pointer(path...) + "/"
	for pointer := range r.open[r.document] {
		if strings.HasPrefix(pointer, prefix) {
			return true
		}
	}
	return false
}

// holds reports whether there is a frame or a PEM block in a value.
func (r *resolver) holds(v any) bool {
	switch v := v.(type) {
	case string:
		return r.index.parse(v) != nil
	case []any:
		return slices.ContainsFunc(v, r.holds)
	case map[string]any:
		for key, item := range v {
			if holdsFrame(key) || r.holds(item) {
				return true
			}
		}
	}
	return false
}

func sameKeys(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for key := range a {
		if _, ok := b[key]; !ok {
			return false
		}
	}
	return true
}

// scalar is field for what has no parts.
func (r *resolver) scalar(path []any, plain, first, second any, active bool) any {
	s, isText := first.(string)
	var t text
	if isText {
		t = r.index.parse(s)
	}
	if !active && t == nil {
		return plain
	}
	t2, ok := second.(string)
	if t != nil {
		if !ok {
			r.refuse(path, "it is a text in one render and something else in the next")
			return plain
		}
		if fault := r.pairs.compare(t, r.second.parse(t2)); fault != "" {
			if cut := t.fault(); cut != "" {
				fault = cut
			}
			r.refuse(path, fault)
			return plain
		}
	}
	random := t.fault() != "" || r.pairs.random(t)
	if !active && !random {
		return plain // a hash of what is stable, or a certificate of values.yaml
	}
	if isIdentity(r.renders.Plain.Documents[r.document].Value, path) {
		r.refuseForGood(path, aName)
		return plain
	}
	if t == nil && first != second {
		r.refuse(path, Unexplained)
		return plain
	}
	if !random {
		return r.fixed(path, plain, first, t)
	}
	t, fault := fits(t, plain)
	if fault != "" {
		r.refuse(path, fault)
		return plain
	}
	e := &evaluation{values: r.values, inSecret: inData(r.renders.Plain.Documents[r.document].Value, path)}
	value, err := e.text(t, false)
	if err != nil {
		r.refuse(path, err.Error())
		return plain
	}
	var result any = value
	if isNumber(plain) && t.numeric() {
		if result, err = strconv.ParseInt(value, 10, 64); err != nil {
			r.refuse(path, "a number of that many digits is not derived")
			return plain
		}
	}
	if !e.until.IsZero() && (r.out.Until.IsZero() || e.until.Before(r.out.Until)) {
		r.out.Until = e.until
	}
	r.derived(path, e.reasons, e.names)
	return result
}

// fixed returns the value of a field without a random value in it: the time or an order
// decides on it.
func (r *resolver) fixed(path []any, plain, first any, t text) any {
	e := &evaluation{values: r.values}
	value := first
	if t != nil {
		made, err := e.text(t, false)
		if err != nil {
			r.refuse(path, err.Error())
			return plain
		}
		value = made
	}
	if isNumber(plain) && t != nil && t.numeric() { // adler32
		if n, err := strconv.ParseInt(fmt.Sprint(value), 10, 64); err == nil {
			value = n
		}
	}
	if plain != value {
		r.refuse(path, lost(first))
		return plain
	}
	reasons := e.reasons
	switch at := (Field{r.document, path}); {
	case t != nil: // a hash of what stays as it is
	case slices.ContainsFunc(r.renders.Ordered, func(f Field) bool { return f.holds(at) || at.holds(f) }):
		reasons = append(reasons, "order")
	default:
		reasons = append(reasons, "now")
	}
	r.derived(path, reasons, e.names)
	return value
}

// lost says why a field is refused whose value in a render with frames is not what
// stands in other renders.
func lost(first any) string {
	s, _ := first.(string)
	if holdsFrame(s) {
		return aCut
	}
	return aChange
}

// fits checks the value of the plain render against the text with frames.
func fits(t text, plain any) (text, string) {
	if fault := t.fault(); fault != "" {
		return t, fault
	}
	if settled, ok := t.can(plain); ok {
		return settled, ""
	}
	if s := t.raw(); strings.Count(s, FrameStart) != strings.Count(s, FrameEnd) {
		return t, aCut
	}
	return t, OtherForm
}

// lettersOf returns the letters of the base64 of a field that holds what p does.
func (r *resolver) lettersOf(p *piece) letters64 {
	want, shape := r.resolved(p.parts), p.parts.shape(blockType)
	for _, l := range r.index.leaves {
		value, _ := object.Lookup(r.renders.Plain.Documents[l.index].Value, l.path)
		settled, ok := l.text.can(value)
		if !ok {
			continue
		}
		found := eitherLetters
		settled.eachEncoded(func(other *piece) {
			if found == eitherLetters && other.parts.shape(blockType) == shape && slices.Equal(r.resolved(other.parts), want) {
				found = other.letters64
			}
		})
		if found != eitherLetters {
			return found
		}
	}
	return eitherLetters
}

// resolved returns what the values of a text are in the end.
func (r *resolver) resolved(t text) []string {
	keys := t.keys()
	for i, key := range keys {
		keys[i] = r.index.resolve(key)
	}
	return keys
}

// eachEncoded yields the base64 in a text that is not in the input of a function.
func (t text) eachEncoded(yield func(*piece)) {
	for i := range t {
		if t[i].kind == encoded {
			yield(&t[i])
			t[i].parts.eachEncoded(yield)
		}
	}
}

// can reports whether a value can be one of t, and settles t as match does.
func (t text) can(value any) (text, bool) {
	switch value := value.(type) {
	case string:
		return t.match(value)
	case int64, float64:
		// Digits that are not in quotes; or letters and digits that are not, which were
		// a number by chance.
		return t, t.numeric() || t.whole() != nil
	case bool:
		return t, t.whole() != nil
	}
	return t, false
}

// raw returns the text as it stands in the render.
func (t text) raw() string {
	var b strings.Builder
	for i := range t {
		b.WriteString(t[i].raw)
	}
	return b.String()
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

const aName = "a name is an identity: it must not be random, or depend on the time"

// These say that a template does something with a value, and not what.
const (
	aCut    = "the template cuts the random value"
	aChange = "the template makes something else of a random value than the text that it prints"
	// OtherForm is the reason where the frames are there as they should, and another render
	// does not have the form that they foretell.
	OtherForm = "its value does not have the form of what the random functions print"
)

// Vague reports whether the reason says no more than that a template does something with
// a random value.
func (f Refused) Vague() bool {
	return slices.Contains([]string{aCut, aChange, OtherForm, Unexplained}, f.Reason)
}

// Unexplained is the reason where nothing is known of what makes the difference.
const Unexplained = "it differs from render to render in a way that no random function of the templates explains"
