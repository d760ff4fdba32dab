// Package corpus makes the objects that a health check must not stumble over: what
// an API server can hand out although nobody who writes a check thinks of it. An
// object has no status before its controller has seen it, a list is empty or in
// another order, a message is missing, a generation is stale.
//
// # What is made
//
// Of a bare object of the kind, which has only metadata and an empty spec:
//
//   - a status that is absent, {}, null, true, a text, a number, a list;
//   - status.conditions that is [], null, a map, a text, a number, with entries that
//     are no maps, with entries that lack type, status, reason or message or have a
//     boolean, a number or a list there, with a null among them, with two entries of
//     one type;
//   - observedGeneration in all the ways named below;
//   - no spec, no generation, annotations and labels, a deletionTimestamp.
//
// Of each seed, an object that somebody gave:
//
//   - the seed itself, and with the same changes of status and metadata;
//   - status.observedGeneration absent, older, newer, a text, -1, a float; and the
//     observedGeneration of the entries of its lists, where they have one, older;
//   - each list in its status: in every rotation and reversed, with a null in it, with
//     a second entry of one type that says the opposite, and alone and empty in a
//     status that has nothing else;
//   - each message: with quotes, line breaks, "]]", NUL and other alphabets;
//   - each list: grown to 10,000 entries, once for each path;
//   - each field: removed, null, emptied, with another value of its type (for a
//     number one above 2^53), and with a value of each other type.
//
// # Bounds
//
// A seed gives at most 900 cases: 64 rotations, 10 changes of each of 64 fields, 8 of
// each of 16 lists, and some 40 others. Fields of the status come first, and of a
// list the first three entries. The first 64 seeds are changed, further ones are
// only taken as they are. Objects that are equal are made once, unless they have more
// than 2000 values. At most 16 lists are grown.
//
// The same seeds give the same cases in the same order. The seeds are never changed;
// the objects share memory with them and with each other, so they are to be read
// only.
package corpus

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// Variation is what was done to an object.
type Variation int

// The variations. All but Refused can be in a cluster: a schema seldom requires a
// field of the status.
const (
	AsGiven   Variation = iota // nothing was done
	NoStatus                   // the status is absent, null or {}
	EmptyList                  // the status has one list without entries and nothing else
	Absent                     // a field was removed or emptied
	Another                    // a field has another value of its type
	Order                      // the entries of a list are in another order
	Double                     // two entries of a list have one type
	Hole                       // a list has a null in it
	Stale                      // observedGeneration is older than generation
	Observed                   // observedGeneration is newer, or not the number it should be
	Deleted                    // metadata.deletionTimestamp is set
	Large                      // a list has 10,000 entries
	Message                    // a message is of unusual characters
	Refused                    // a schema would most likely refuse it: a field of another type, one of the spec missing
)

// Case is one object.
type Case struct {
	// Name is unique: "object 2: status.conditions[0].reason removed", where the
	// number is that of the seed, from 1, or "bare object: ...".
	Name      string
	Variation Variation
	// Base is the name of the case that this one was made from, "" for one that is
	// as it was given.
	Base string
	// Path is what was changed, such as status.conditions[0].reason; "" for nothing
	// and for the changes of a bare object's conditions.
	Path   string
	Object map[string]any
}

const (
	maxSeeds     = 64
	maxRotations = 64
	maxFields    = 64
	maxLists     = 16
	maxGrown     = 16
	maxCompared  = 2000
	maxItems     = 3 // entries of a list whose fields are changed
	grown        = 10_000
)

// Objects makes the cases for a kind. Neither apiVersion nor kind of a seed is
// changed; they are set where a seed has none.
func Objects(apiVersion, kind string, seeds []map[string]any) []Case {
	m := &maker{seen: map[[sha256.Size]byte]bool{}, grown: map[string]bool{}}
	bare := map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": "example", "namespace": "default", "generation": int64(2)},
		"spec":     map[string]any{},
	}
	m.seed("bare object", bare)
	m.whole(bare)
	m.observed(with(bare, map[string]any{}, "status"))
	m.conditions(bare)
	m.add(Refused, "spec", " removed", without(bare, "spec"))
	for i, seed := range seeds {
		if seed["apiVersion"] == nil {
			seed = with(seed, apiVersion, "apiVersion")
		}
		if seed["kind"] == nil {
			seed = with(seed, kind, "kind")
		}
		m.seed(fmt.Sprintf("object %d", i+1), seed)
		if i >= maxSeeds {
			continue
		}
		m.whole(seed)
		m.observed(seed)
		m.lists(seed)
		m.fields(seed)
	}
	return m.cases
}

// maker collects cases.
type maker struct {
	cases []Case
	base  string // the case that is being varied
	huge  bool   // it is too large to be compared with all others
	seen  map[[sha256.Size]byte]bool
	grown map[string]bool // paths
}

// seed adds an object as it is and makes it the base of what follows.
func (m *maker) seed(name string, object map[string]any) {
	m.base = name
	if m.huge = size(object) > maxCompared; !m.huge {
		m.seen[fingerprint(object)] = true
	}
	m.cases = append(m.cases, Case{Name: name, Variation: AsGiven, Object: object})
}

// add adds an object unless an equal one is there. One in another order is always
// added, because it is compared with its base; so is a large one, which nothing equals.
func (m *maker) add(variation Variation, path, what string, object map[string]any) {
	if path != "" {
		what = path + what
	}
	if variation != Order && variation != Large && !m.huge {
		same := fingerprint(object)
		if m.seen[same] {
			return
		}
		m.seen[same] = true
	}
	m.cases = append(m.cases, Case{Name: m.base + ": " + what, Variation: variation, Base: m.base, Path: path, Object: object})
}

func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			n += size(value)
		}
	case []any:
		for _, item := range v {
			n += size(item)
		}
	}
	return n
}

// fingerprint is the same for equal values.
func fingerprint(v any) [sha256.Size]byte {
	data, err := json.Marshal(v)
	if err != nil {
		data = fmt.Appendf(nil, "%#v", v) // a value that no decoder makes
	}
	return sha256.Sum256(data)
}

// whole changes the status as a whole, and metadata.
func (m *maker) whole(object map[string]any) {
	m.add(NoStatus, "status", " removed", without(object, "status"))
	m.add(NoStatus, "status", ": null", with(object, nil, "status"))
	m.add(NoStatus, "status", ": {}", with(object, map[string]any{}, "status"))
	for _, v := range others(nil) {
		if _, ok := v.value.(map[string]any); !ok {
			m.add(Refused, "status", ": "+v.name, with(object, v.value, "status"))
		}
	}
	for _, field := range []string{"annotations", "labels", "generation", "namespace"} {
		m.add(Absent, "metadata."+field, " removed", without(object, "metadata", field))
	}
	m.add(Deleted, "metadata.deletionTimestamp", " set", with(object, "2024-05-01T10:00:00Z", "metadata", "deletionTimestamp"))
}

// observed changes the generation that the controller has seen.
func (m *maker) observed(object map[string]any) {
	status, ok := object["status"].(map[string]any)
	if !ok {
		return
	}
	generation := wholeNumber(at(object, "metadata", "generation"))
	if generation < 2 { // there is none older
		generation = 2
		object = with(object, entriesAt(status, generation), "status")
	}
	object = with(object, generation, "metadata", "generation")
	const path = "status.observedGeneration"
	set := func(v Variation, what string, value any) {
		m.add(v, path, " "+what, with(object, value, "status", "observedGeneration"))
	}
	// The older one is of the type that the controller writes.
	number, text := Stale, Observed
	if _, ok := status["observedGeneration"].(string); ok {
		number, text = Observed, Stale
	}
	set(Observed, "equal to the generation", generation)
	set(number, "older", generation-1)
	set(text, "older, a text", fmt.Sprint(generation-1))
	set(Observed, "newer", generation+1)
	set(Observed, "equal, a text", fmt.Sprint(generation))
	set(Observed, "a text that is no number", "unknown")
	set(Observed, "-1", int64(-1))
	set(Observed, "a float", float64(generation)-0.5)
	set(Refused, "true", true)
	m.add(Absent, path, " removed", without(object, "status", "observedGeneration"))
	m.add(Absent, path, " set, metadata.generation removed",
		without(with(object, generation, "status", "observedGeneration"), "metadata", "generation"))

	old := with(object, entriesAt(at(object, "status"), generation-1), "status")
	switch status["observedGeneration"].(type) {
	case nil:
	case string:
		old = with(old, fmt.Sprint(generation), "status", "observedGeneration")
	default:
		old = with(old, generation, "status", "observedGeneration")
	}
	m.add(Stale, "", "observedGeneration of all entries older", old)
}

// entriesAt sets observedGeneration wherever an entry of a list has it, at any depth.
func entriesAt(v any, generation int64) any {
	switch v := v.(type) {
	case map[string]any:
		changed := map[string]any{}
		for key, value := range v {
			changed[key] = entriesAt(value, generation)
		}
		return changed
	case []any:
		changed := make([]any, len(v))
		for i, item := range v {
			changed[i] = entriesAt(item, generation)
			if entry, ok := changed[i].(map[string]any); ok && entry["observedGeneration"] != nil {
				entry["observedGeneration"] = generation
			}
		}
		return changed
	}
	return v
}

func wholeNumber(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	case int:
		return int64(v)
	}
	return 0
}
