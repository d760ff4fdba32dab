package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/stamp"
)

// dice makes random objects and edits them.
type dice struct{ *rand.Rand }

func (d dice) word() string { return "abcdef"[d.IntN(6):][:1] }

func (d dice) scalar() any {
	switch d.IntN(8) {
	case 0:
		return nil
	case 1:
		return d.IntN(2) == 0
	case 2:
		return int64(d.IntN(4))
	case 3:
		return float64(d.IntN(8)) / 2
	case 4:
		return "web-" + d.word() + "\nsecond line"
	}
	return d.word() + "-" + d.word()
}

func (d dice) value(depth int) any {
	kind := d.IntN(5)
	if depth == 0 {
		kind = 4
	}
	switch kind {
	case 0, 1:
		out := map[string]any{}
		for range d.IntN(4) {
			out[d.word()] = d.value(depth - 1)
		}
		return out
	case 2:
		out := []any{}
		for range d.IntN(6) {
			out = append(out, d.item(depth-1))
		}
		return out
	case 3:
		out := []any{}
		for range d.IntN(8) {
			out = append(out, d.scalar())
		}
		return out
	}
	return d.scalar()
}

// item is an item of a list: with a name mostly, which may not be the only one.
func (d dice) item(depth int) any {
	if d.IntN(8) == 0 {
		return d.value(depth)
	}
	out := map[string]any{"v": d.value(depth)}
	switch d.IntN(6) {
	case 0:
		out["containerPort"] = int64(d.IntN(5))
	case 1:
	default:
		out["name"] = d.word() + d.word()
	}
	return out
}

func (d dice) object(name string) map[string]any {
	meta := map[string]any{"name": name}
	for _, field := range []string{"labels", "annotations"} {
		if d.IntN(2) == 0 {
			meta[field] = map[string]any{d.word(): d.word(), "helm.sh/" + d.word(): d.word()}
		}
	}
	return map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, "spec": d.value(4), d.word(): d.value(2)}
}

// edited returns a changed copy of v.
func (d dice) edited(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch {
			case key == "apiVersion" || key == "kind":
				out[key] = v[key]
			case key == "metadata":
				out[key] = d.editedMetadata(v[key])
			case d.IntN(12) == 0:
			default:
				out[key] = d.edited(v[key])
			}
		}
		if _, isRoot := v["kind"]; !isRoot && d.IntN(8) == 0 {
			out[d.word()] = d.value(2)
		}
		return out
	case []any:
		var out []any
		for _, item := range v {
			switch d.IntN(10) {
			case 0:
			case 1:
				out = append(out, d.item(2), d.edited(item))
			case 2:
				out = append(out, d.edited(item))
			default:
				out = append(out, item)
			}
		}
		if d.IntN(6) == 0 {
			d.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	}
	if d.IntN(10) == 0 {
		return d.value(1)
	}
	return v
}

func (d dice) editedMetadata(v any) any {
	meta, _ := v.(map[string]any)
	out := maps.Clone(meta)
	for _, field := range []string{"labels", "annotations"} {
		switch d.IntN(4) {
		case 0:
			delete(out, field)
		case 1:
			out[field] = map[string]any{d.word(): d.word()}
		}
	}
	return out
}

func widgets(values ...map[string]any) Rendered {
	r := Rendered{Namespace: "shop"}
	for _, v := range values {
		r.Objects = append(r.Objects, object.Object{Value: v})
	}
	return r
}

const rounds = 2000

// The fields of an object are all of the difference: applied to From they give To.
func TestFieldsApplied(t *testing.T) {
	t.Parallel()
	differ, ordered := 0, 0
	for seed := range uint64(rounds) {
		d := dice{rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // the same cases each time
		from := d.object("a")
		to, _ := d.edited(from).(map[string]any)
		objects, counts := Objects(widgets(from), widgets(to))
		got := deepCopy(from)
		for _, o := range objects {
			differ++
			if o.Change != Changed {
				t.Fatalf("seed %d: %s", seed, told(objects))
			}
			for _, f := range o.Fields {
				if f.Order {
					ordered++
				}
			}
			got = apply(t, got, o.Fields)
		}
		if want := withoutEmpty(to); !same(withoutEmpty(got), want) {
			t.Fatalf("seed %d: from\n%sto\n%sapplied\n%s\n%s", seed, yamldoc.AppendYAML(nil, from), yamldoc.AppendYAML(nil, to), yamldoc.AppendYAML(nil, got), told(objects))
		}
		if counts.Changed+counts.Unchanged != 1 {
			t.Fatalf("seed %d: %+v", seed, counts)
		}
	}
	if differ < rounds/2 || ordered < rounds/100 {
		t.Errorf("only %d objects differ, %d lists in their order", differ, ordered)
	}
}

// withoutEmpty takes out empty labels and annotations, which are told key by key.
func withoutEmpty(v any) any {
	value := maps.Clone(object.Mapping(v))
	meta := maps.Clone(object.Mapping(value["metadata"]))
	for _, field := range []string{"labels", "annotations"} {
		if m, ok := meta[field].(map[string]any); ok && len(m) == 0 {
			delete(meta, field)
		}
	}
	value["metadata"] = meta
	return value
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = deepCopy(item)
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, deepCopy(item))
		}
		return out
	}
	return v
}

// apply makes To out of From: first what goes, from the end, by its pointer in From;
// then everything else, in its order, by its pointer in To.
func apply(t *testing.T, from any, fields []Field) any {
	t.Helper()
	parse := func(f Field) stamp.Path {
		path, err := stamp.ParsePath(f.Pointer)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	gone := slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return f.Change != Removed })
	slices.SortFunc(gone, func(a, b Field) int { return -comparePaths(parse(a), parse(b)) })
	for _, f := range gone {
		from = edit(from, parse(f), func(any, bool) (any, bool) { return nil, false })
	}
	for _, f := range fields {
		if f.Change == Removed {
			continue
		}
		from = edit(from, parse(f), func(v any, _ bool) (any, bool) {
			if f.Order {
				return reordered(v.([]any), f.From.([]any), f.To.([]any)), true
			}
			return deepCopy(f.To), true
		}, f.Change == Added)
	}
	return from
}

func comparePaths(a, b stamp.Path) int {
	return slices.CompareFunc(a, b, func(x, y any) int {
		i, errI := strconv.Atoi(x.(string))
		j, errJ := strconv.Atoi(y.(string))
		if errI == nil && errJ == nil {
			return cmp.Compare(i, j)
		}
		return strings.Compare(x.(string), y.(string))
	})
}

// reordered puts the items of list, those of From that are also in To, into the order
// of To.
func reordered(list, from, to []any) []any {
	take := func(names []any, v any) bool {
		i := slices.IndexFunc(names, func(name any) bool { return same(name, v) })
		if i >= 0 {
			names[i] = struct{}{}
		}
		return i >= 0
	}
	rest := slices.Clone(to)
	var kept []any
	for _, name := range from {
		if take(rest, name) {
			kept = append(kept, name)
		}
	}
	if len(kept) != len(list) {
		panic(fmt.Sprintf("%d names for %d items: %v to %v", len(kept), len(list), from, to))
	}
	var out []any
	for _, name := range to {
		if i := slices.IndexFunc(kept, func(k any) bool { return same(k, name) }); i >= 0 {
			out = append(out, list[i])
			kept[i] = struct{}{}
		}
	}
	return out
}

// edit replaces the field at a path by what change returns, and inserts it in a list.
func edit(v any, path stamp.Path, change func(v any, present bool) (any, bool), insert ...bool) any {
	key := path[0].(string)
	switch v := v.(type) {
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil {
			panic(err)
		}
		switch {
		case len(path) > 1:
			v[i] = edit(v[i], path[1:], change, insert...)
		case len(insert) > 0 && insert[0]:
			item, _ := change(nil, false)
			return slices.Insert(v, i, item)
		default:
			item, keep := change(v[i], true)
			if !keep {
				return slices.Delete(v, i, i+1)
			}
			v[i] = item
		}
		return v
	case map[string]any:
		if len(path) > 1 {
			if _, ok := v[key]; !ok {
				v[key] = map[string]any{}
			}
			v[key] = edit(v[key], path[1:], change, insert...)
			return v
		}
		old, present := v[key]
		item, keep := change(old, present)
		if v[key] = item; !keep {
			delete(v, key)
		}
		return v
	}
	panic(fmt.Sprintf("%v in a %T", path, v))
}

// A swap of the sides is the same difference the other way round.
func TestSwappedSides(t *testing.T) {
	t.Parallel()
	mirrored := map[Change]Change{Added: Removed, Removed: Added, Changed: Changed, Renamed: Renamed}
	pointer := func(f Field) string {
		if f.Change == Changed { // in To, which is another place there
			return ""
		}
		return f.Pointer
	}
	lines := func(objects []Object, swap bool) []string {
		var out []string
		for _, o := range objects {
			for _, f := range o.Fields {
				from, to, change := f.From, f.To, f.Change
				if swap {
					from, to, change = to, from, mirrored[change]
				}
				if f.Order {
					from, to = nil, nil
				}
				out = append(out, fmt.Sprintf("%s %t %q %x %x", change, f.Order, pointer(f), digestOf(from), digestOf(to)))
			}
		}
		slices.Sort(out)
		return out
	}
	for seed := range uint64(rounds) {
		d := dice{rand.New(rand.NewPCG(seed, 2))} //nolint:gosec // the same cases each time
		from := d.object("a")
		to, _ := d.edited(from).(map[string]any)
		there, _ := Objects(widgets(from), widgets(to))
		back, _ := Objects(widgets(to), widgets(from))
		if a, b := lines(there, false), lines(back, true); !slices.Equal(a, b) {
			t.Fatalf("seed %d: from\n%sto\n%s%s\nthe other way round\n%s", seed, yamldoc.AppendYAML(nil, from), yamldoc.AppendYAML(nil, to), told(there), told(back))
		}
	}
}

// set is an application of several objects of which some are renamed.
func (d dice) set() (from, to []map[string]any) {
	for i := range 3 + d.IntN(6) {
		name := fmt.Sprintf("web-%d", i)
		if d.IntN(2) == 0 {
			name = fmt.Sprintf("web-%08x", d.Uint32())
		}
		v := d.object(name)
		if d.IntN(6) > 0 {
			from = append(from, v)
		}
		if d.IntN(6) > 0 {
			other, _ := d.edited(v).(map[string]any)
			if d.IntN(2) == 0 && len(name) > 6 {
				other["metadata"].(map[string]any)["name"] = fmt.Sprintf("web-%08x", d.Uint32())
			}
			to = append(to, other)
		}
	}
	return from, to
}

// Nothing depends on the order of objects or of the keys of a mapping, and nothing
// differs from itself.
func TestOrderDoesNotCount(t *testing.T) {
	t.Parallel()
	seen := map[Change]int{}
	for seed := range uint64(rounds / 10) {
		d := dice{rand.New(rand.NewPCG(seed, 3))} //nolint:gosec // the same cases each time
		from, to := d.set()
		before := fmt.Sprint(from, to)
		objects, counts := Objects(widgets(from...), widgets(to...))
		if fmt.Sprint(from, to) != before {
			t.Fatalf("seed %d: the objects were changed", seed)
		}
		for range 3 {
			d.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
			d.Shuffle(len(to), func(i, j int) { to[i], to[j] = to[j], to[i] })
			for i, v := range from {
				from[i], _ = deepCopy(v).(map[string]any)
			}
			again, countsAgain := Objects(widgets(from...), widgets(to...))
			if counts != countsAgain || !reflect.DeepEqual(objects, again) {
				t.Fatalf("seed %d: got\n%s\nthen\n%s", seed, told(objects), told(again))
			}
		}
		for _, o := range objects {
			seen[o.Change]++
			if bytes.Equal(o.Before, o.After) && len(o.Fields) > 0 {
				t.Fatalf("seed %d: the texts of %s are equal", seed, o.ID)
			}
		}
		if n := counts.Removed + counts.Changed + counts.Unchanged; n != len(from) {
			t.Fatalf("seed %d: %d objects of %d: %+v", seed, n, len(from), counts)
		}
		if n := counts.Added + counts.Changed + counts.Unchanged; n != len(to) {
			t.Fatalf("seed %d: %d objects of %d: %+v", seed, n, len(to), counts)
		}
		back, reverse := Objects(widgets(to...), widgets(from...))
		if counts.Added != reverse.Removed || counts.Removed != reverse.Added || counts.Changed != reverse.Changed || len(back) != len(objects) {
			t.Fatalf("seed %d: %+v, the other way round %+v", seed, counts, reverse)
		}
		if own, counts := Objects(widgets(from...), widgets(from...)); len(own) > 0 || counts.Unchanged != len(from) {
			t.Fatalf("seed %d: it differs from itself: %s", seed, told(own))
		}
	}
	for _, c := range []Change{Added, Removed, Changed, Renamed} {
		if seen[c] < 20 {
			t.Errorf("only %d objects are %s", seen[c], c)
		}
	}
}

func FuzzObjects(f *testing.F) {
	for _, seed := range [][2]string{
		{web, settings}, {settings, strings.Replace(settings, "fast", "slow", 1)}, {secret("data: {a: eA==}"), secret("stringData: {a: [x]}\ndata: 1")},
		{fmt.Sprintf(mounting, "web-11111111"), fmt.Sprintf(mounting, "web-22222222")},
		{"{apiVersion: 1, kind: [], metadata: {name: {}, annotations: []}}", "{metadata: x}"},
		{"{kind: ConfigMap, metadata: {annotations: 1, generateName: a-}, data: [1, [2], {name: 3}]}", "{kind: ConfigMap, metadata: {annotations: null, generateName: a-}, data: [[2], {name: 3.5}]}"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		read := func(stream string) (r Rendered) {
			r.Namespace = "shop"
			docs, _ := yamldoc.Limits{Bytes: 64 << 10}.Stream("", []byte(stream))
			for _, d := range docs {
				if v, ok := d.Value.(map[string]any); ok {
					r.Objects = append(r.Objects, object.Object{Value: v})
				}
			}
			return r
		}
		from, to := read(a), read(b)
		objects, counts := Objects(from, to)
		if counts.Removed+counts.Changed+counts.Unchanged != len(from.Objects) || counts.Added+counts.Changed+counts.Unchanged != len(to.Objects) {
			t.Errorf("%d and %d objects: %+v", len(from.Objects), len(to.Objects), counts)
		}
		Causes([]Application{{Name: "a", Objects: objects}, {Name: "b", Objects: objects}})
		if own, _ := Objects(from, from); len(own) > 0 {
			t.Errorf("it differs from itself: %s", told(own))
		}
	})
}
