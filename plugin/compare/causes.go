package compare

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"hallmark.dev/hallmark/internal/yamldoc"
)

// # How differences become causes
//
// Two differences can have one cause only if they are of the same place: the same
// path, up to the names of list items. A pod template is one place wherever it stands
// in an object, and so are the lists of containers in it; an object's own metadata and
// that of its pods are two, because a change in the second one rolls the workload.
//
// Within a place, differences of one kind (added, removed, changed, hidden, another
// order) are told apart by what changes, each by the first rule that fits:
//
//   - values that are hidden are one group;
//   - values that are checksums on both sides are one group;
//   - one-line strings that change in one token are a group for each old and new
//     token: redis-1.4.0 to redis-1.5.0 and web-1.4.0 to web-1.5.0;
//   - everything else is a group for each pair of values.
//
// So every difference is in one group, whatever the order, and a group with at least
// two objects is a cause. If all of its values turn out to be the same two, the cause
// shows them whole.
//
// Labels and annotations that were added or removed with values of their own are one
// group as well, where they are in no cause by the last rule: the name is what a chart
// decided to write, and the values are each object's.

// Causes groups what repeats over at least two objects. It sets Field.Cause in the
// applications and returns the list for Report.Causes: most objects first, then by
// path.
func Causes(applications []Application) []Cause {
	c := causes{applications: applications, byKey: map[string]int{}}
	for i := range applications {
		for j := range applications[i].Objects {
			for k := range applications[i].Objects[j].Fields { //nolint:gosec // i and j are those of the loops
				c.add(ref{i, j, k})
			}
		}
	}
	for _, p := range c.places {
		c.divide(p)
	}
	slices.SortStableFunc(c.found, func(a, b group) int {
		return cmp.Or(
			cmp.Compare(b.cause.Objects, a.cause.Objects), strings.Compare(a.cause.Path, b.cause.Path),
			strings.Compare(string(a.cause.Change), string(b.cause.Change)),
			strings.Compare(a.cause.From, b.cause.From), strings.Compare(a.cause.To, b.cause.To),
		)
	})
	out := make([]Cause, len(c.found))
	for i, g := range c.found {
		out[i] = g.cause
		for _, r := range g.refs {
			c.field(r).Cause = i
		}
	}
	return out
}

// A ref is a field of a report.
type ref struct{ application, object, field int }

// A place is the differences of one kind at one place.
type place struct {
	segments int // of the path, from its end
	change   Change
	refs     []ref
}

type group struct {
	cause Cause
	refs  []ref
}

type causes struct {
	applications []Application
	places       []place
	byKey        map[string]int // of places
	found        []group
}

func (c *causes) field(r ref) *Field {
	return &c.applications[r.application].Objects[r.object].Fields[r.field]
}

func (c *causes) add(r ref) {
	f := c.field(r)
	f.Cause = -1
	segments := placeOf(f.Path)
	kind := ""
	switch {
	case f.Hidden:
		kind = "hidden"
	case f.Order:
		kind = "order"
	}
	key := strings.Join(append(segments, string(f.Change), kind), "\n")
	at, ok := c.byKey[key]
	if !ok {
		at = len(c.places)
		c.byKey[key] = at
		c.places = append(c.places, place{segments: len(segments), change: f.Change})
	}
	c.places[at].refs = append(c.places[at].refs, r)
}

// placeOf returns the segments of a path that tell places apart.
func placeOf(path string) []string {
	segments := pathSegments(path)
	for _, prefix := range [][]string{{"spec", "jobTemplate", "spec", "template"}, {"spec", "template"}} {
		if n := len(prefix); len(segments) > n && slices.Equal(segments[:n], prefix) {
			segments = segments[n-1:]
			if len(segments) > 2 && segments[1] == "spec" && (segments[2] == "initContainers" || segments[2] == "ephemeralContainers") {
				segments[2] = "containers"
			}
			break
		}
	}
	for i, s := range segments {
		if isItem(s) {
			segments[i] = "[*]"
		}
	}
	return segments
}

// divide turns the differences of one place into causes.
func (c *causes) divide(p place) {
	sums := c.sums(p)
	var own []ref
	for _, refs := range partition(p.refs, func(r ref) string { return c.divider(c.field(r), sums) }) {
		if c.objects(refs) < 2 {
			own = append(own, refs...)
			continue
		}
		c.found = append(c.found, group{cause: c.cause(p, refs), refs: refs})
	}
	if p.change != Changed && c.objects(own) >= 2 && namedByChart(c.field(own[0]).Path) {
		c.found = append(c.found, group{cause: c.cause(p, own), refs: own})
	}
}

// divider is a text that two differences of one place share if they are of one group.
func (c *causes) divider(f *Field, sums bool) string {
	if f.Hidden {
		return "hidden"
	}
	if f.Change == Changed && !f.Order {
		switch from, to, ok := oneLine(f); {
		case !ok:
		case sums && checksum(from) && checksum(to):
			return "checksum"
		case f.Follows == "":
			if old, by, ok := tokenChange(from, to); ok {
				return "token\n" + old + "\n" + by
			}
		}
	}
	form := hash(appendForm(appendForm(nil, f.From, nil), f.To, nil))
	return "values\n" + string(form[:])
}

// sums reports whether checksums of one place are more than two values.
func (c *causes) sums(p place) bool {
	first := ""
	for _, r := range p.refs {
		f := c.field(r)
		from, to, ok := oneLine(f)
		if !ok || p.change != Changed || !checksum(from) || !checksum(to) {
			continue
		}
		if first == "" {
			first = from + "\n" + to
		}
		if first != from+"\n"+to {
			return true
		}
	}
	return false
}

// partition divides refs by their keys, in the order in which the keys come up.
func partition(refs []ref, key func(ref) string) [][]ref {
	var out [][]ref
	places := map[string]int{}
	for _, r := range refs {
		k := key(r)
		at, ok := places[k]
		if !ok {
			at = len(out)
			places[k] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], r)
	}
	return out
}

// objects counts the objects of fields that are ordered by object.
func (c *causes) objects(refs []ref) (n int) {
	seen := map[[2]int]bool{}
	for _, r := range refs {
		seen[[2]int{r.application, r.object}] = true
	}
	return len(seen)
}

func (c *causes) cause(p place, refs []ref) Cause {
	first := c.field(refs[0])
	out := Cause{Path: c.path(p, refs), Change: p.change, Objects: c.objects(refs), Applications: []string{}, Whole: !first.Hidden}
	for _, r := range refs {
		f := c.field(r)
		out.Whole = out.Whole && same(f.From, first.From) && same(f.To, first.To)
		out.Applications = append(out.Applications, c.applications[r.application].Name)
	}
	slices.Sort(out.Applications)
	out.Applications = slices.Compact(out.Applications)
	from, to, ok := oneLine(first)
	switch {
	case out.Whole:
		if p.change != Added {
			out.From = short(first.From)
		}
		if p.change != Removed {
			out.To = short(first.To)
		}
	case ok && p.change == Changed && !(checksum(from) && checksum(to)):
		out.From, out.To, _ = tokenChange(from, to)
	}
	return out
}

// path is the path of all refs, with * for what differs.
func (c *causes) path(p place, refs []ref) string {
	all := pathSegments(c.field(refs[0]).Path)
	for _, r := range refs[1:] {
		segments := pathSegments(c.field(r).Path)
		head, tail := len(all)-p.segments, len(segments)-p.segments
		for i := range p.segments {
			switch a, b := all[head+i], segments[tail+i]; {
			case a == b:
			case isItem(a):
				all[head+i] = "[*]"
			default:
				all[head+i] = "*"
			}
		}
		if !slices.Equal(all[:head], segments[:tail]) {
			all = append([]string{"*"}, all[head:]...)
		}
	}
	return joinSegments(all)
}

// namedByChart reports whether a path leads to a label or an annotation.
func namedByChart(path string) bool {
	segments := pathSegments(path)
	if len(segments) < 3 || segments[len(segments)-3] != "metadata" {
		return false
	}
	holder := segments[len(segments)-2]
	return holder == "labels" || holder == "annotations"
}

// short is a value as a cause shows it.
func short(v any) string {
	text, ok := v.(string)
	if !ok {
		text = string(yamldoc.AppendJSON(nil, v, ""))
	}
	const most = 1 << 10
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
