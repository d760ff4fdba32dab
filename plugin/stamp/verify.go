package stamp

import (
	"fmt"
	"maps"
	"slices"

	"hallmark.dev/hallmark/internal/object"
)

// Reason says what kind of fault a [Finding] is.
type Reason string

// The faults that [Verify] tells apart.
const (
	// Changed is an object that differs from what was stamped.
	Changed Reason = "changed"
	// Unstamped is an object with no stamp, or one that lacks a hash.
	Unstamped Reason = "unstamped"
	// Foreign is an object that carries the stamp of another render than the
	// rest of the set.
	Foreign Reason = "foreign"
	// Incomplete is a set that is not the one that was rendered: an object is
	// missing, or one was added together with a stamp.
	Incomplete Reason = "incomplete"
)

// Finding is one fault.
type Finding struct {
	Reason Reason
	// Object is the object that the fault is about; for Incomplete, the first
	// that carries the render hash in question.
	Object object.ID
	// Message is one line without a newline at its end, and starts with the
	// object's file.
	Message string
}

// Report is the outcome of a verification.
type Report struct {
	// RenderHash is recomputed from the objects as they are.
	RenderHash string
	// Recorded is the render hash that the stamps name: the one that most
	// objects carry. It is "" where no object has a stamp.
	Recorded string
	// Objects is how many objects were looked at.
	Objects int
	// Findings are in the order of the objects; one about the set as a whole
	// comes last. With no finding, RenderHash equals Recorded.
	Findings []Finding
}

// OK reports whether the set is the one that was stamped.
func (r Report) OK() bool { return len(r.Findings) == 0 }

// Verify recomputes the hashes of stamped objects and compares them with the
// stamps. opts must be what [Apply] had: the same key, the same ignored fields.
//
// A render hash is taken over object hashes, so the recorded object hashes alone
// tell whether the set is whole, whatever happened to the objects since. A
// changed field is therefore never reported as a missing object, nor the other
// way round. An object whose name or namespace changed is a changed object, and
// may count as one missing and one added besides, because the render hash
// depends on the order of names.
//
// An object that was rendered without a namespace matches with one as well: Argo
// CD writes the destination's into it when it applies it.
//
// An error means that the objects cannot be hashed; see [Apply].
func Verify(objs []object.Object, opts Options) (Report, error) {
	hashes, err := objectHashes(objs, opts)
	if err != nil {
		return Report{}, err
	}
	if objs, hashes, err = asRendered(objs, hashes, opts); err != nil {
		return Report{}, err
	}
	report := Report{RenderHash: setHash(objs, hashes), Objects: len(objs)}
	add := func(reason Reason, o object.Object, format string, args ...any) {
		report.Findings = append(report.Findings, Finding{
			Reason:  reason,
			Object:  o.ID(),
			Message: fmt.Sprintf("%s: %s: ", o.At(), o.ID()) + fmt.Sprintf(format, args...),
		})
	}

	set := readStamps(objs, hashes)
	report.Recorded = set.render
	for i, o := range objs {
		s := set.stamps[i]
		if s.fault != "" {
			add(Unstamped, o, "%s", s.fault)
			continue
		}
		if s.object != hashes[i] {
			note := ""
			if o.IsSecret() {
				note = "; a Secret also differs when it was stamped with another key, or with none"
			}
			add(Changed, o, "the object changed: its hash is %s, its %s is %s%s", hashes[i], AnnotationObjectHash, s.object, note)
		}
		if s.render != set.render {
			add(Foreign, o, "the object is from another render: its %s is %s, the set's is %s", AnnotationRenderHash, s.render, set.render)
		}
	}
	if !set.whole && set.render != "" {
		add(Incomplete, objs[set.first], "the set is not complete: its %s is %s, the %d stamped objects add up to %s, so an object is missing or was added",
			AnnotationRenderHash, set.render, set.stamped, set.sum)
	}
	return report, nil
}

// asRendered takes the namespace out of objects that match their stamp without
// it: Argo CD has filled it in.
func asRendered(objs []object.Object, hashes []string, opts Options) ([]object.Object, []string, error) {
	var at []int
	var bare []object.Object
	for i, o := range objs {
		if s := readStamp(o); s.fault == "" && s.object != hashes[i] && o.ID().Namespace != "" {
			at, bare = append(at, i), append(bare, withoutNamespace(o))
		}
	}
	if len(at) == 0 {
		return objs, hashes, nil
	}
	again, err := objectHashes(bare, opts)
	if err != nil {
		return nil, nil, err
	}
	objs, hashes = slices.Clone(objs), slices.Clone(hashes)
	for n, i := range at {
		if again[n] == readStamp(objs[i]).object {
			objs[i], hashes[i] = bare[n], again[n]
		}
	}
	return objs, hashes, nil
}

func withoutNamespace(o object.Object) object.Object {
	meta, _ := o.Value["metadata"].(map[string]any)
	o.Value, o.Memo = maps.Clone(o.Value), nil
	o.Value["metadata"] = without(meta, func(name string) bool { return name == "namespace" })
	return o
}

// A stampRead is what one object's annotations say.
type stampRead struct {
	object, render string
	fault          string // why they are not a stamp, or ""
}

// A stampSet is what the annotations of a set say.
type stampSet struct {
	stamps  []stampRead // per object
	stamped int         // how many have no fault
	sum     string      // the set hash over the recorded object hashes
	render  string      // the render hash that the set goes by
	first   int         // the first object that carries render
	whole   bool        // sum is render
}

func readStamps(objs []object.Object, hashes []string) stampSet {
	set := stampSet{stamps: make([]stampRead, len(objs))}
	var (
		stamped  []object.Object
		recorded []string
		all      = slices.Clone(hashes)
		count    = make(map[string]int)
		first    = make(map[string]int)
	)
	for i, o := range objs {
		s := readStamp(o)
		set.stamps[i] = s
		if s.fault != "" {
			continue
		}
		stamped, recorded = append(stamped, o), append(recorded, s.object)
		all[i] = s.object
		if count[s.render] == 0 {
			first[s.render] = i
		}
		count[s.render]++
	}
	set.stamped = len(stamped)
	set.sum = setHash(stamped, recorded)
	// A set that adds up to a render hash that some object carries is that
	// render, even where most objects still carry an older one: Argo CD does
	// not write a new render hash to objects that it has no reason to apply.
	// The second sum is for objects that lost their stamp and nothing else.
	for _, sum := range []string{set.sum, setHash(objs, all)} {
		if count[sum] > 0 {
			set.render, set.first, set.whole = sum, first[sum], true
			return set
		}
	}
	for i, s := range set.stamps {
		if s.fault == "" && first[s.render] == i && count[s.render] > count[set.render] {
			set.render, set.first = s.render, i
		}
	}
	return set
}

func readStamp(o object.Object) stampRead {
	annotations := o.Annotations()
	var s stampRead
	for _, field := range []struct {
		name  string
		value *string
	}{{AnnotationObjectHash, &s.object}, {AnnotationRenderHash, &s.render}} {
		raw, ok := annotations[field.name]
		text, _ := raw.(string)
		switch {
		case !ok:
			s.fault = "the object has no stamp: the annotation " + field.name + " is missing"
			return s
		case !isDigest(text):
			s.fault = fmt.Sprintf("the object has no valid stamp: the annotation %s is %q, want sha256: and 64 hex digits", field.name, fmt.Sprint(raw))
			return s
		}
		*field.value = text
	}
	return s
}
