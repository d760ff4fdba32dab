package compile_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/compile"
	"hallmark.dev/hallmark/health/eval"
	"hallmark.dev/hallmark/lua/vm"
)

var checks = flag.Int("checks", 150, "how many checks TestChecks makes")

// TestChecks generates whole checks of rules about conditions, which share searches, reports
// and locals with one another, and objects of every shape, and requires that Argo CD's
// VM says what cel-go says.
func TestChecks(t *testing.T) {
	t.Parallel()
	made := 0
	for seed := uint64(0); made < *checks; seed++ {
		r := checkMaker{rand.New(rand.NewPCG(seed, 3))} //nolint:gosec // the same numbers each time
		spec := r.spec()
		parsed, err := health.Parse("check.yaml", []byte(spec))
		if err != nil && (strings.Contains(err.Error(), "is never reached") || strings.Contains(err.Error(), "can never hold")) {
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, spec)
		}
		made++
		script, err := compile.Lua(parsed[0], "v0")
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, spec)
		}
		oracle, err := eval.New(parsed[0], func() int64 { return 0 })
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			object := r.object()
			want := oracle.Eval(object)
			got, err := patiently(func() (vm.Verdict, error) { return vm.RunTrusted(script, false, object) })
			if err != nil || got.Status != string(want.Status) || got.Message != want.Message {
				data, _ := json.Marshal(object)
				t.Fatalf("seed %d: the VM says %+v (%v), cel-go says %s %q\non %s\n%s", seed, got, err, want.Status, want.Message, data, script)
			}
		}
	}
}

type checkMaker struct{ *rand.Rand }

func one[T any](r checkMaker, items ...T) T { return items[r.IntN(len(items))] }

func (r checkMaker) spec() string {
	var b strings.Builder
	b.WriteString("apiVersion: hallmark.dev/v1\nkind: HealthCheck\nmetadata: {name: made}\nspec:\n  targets: [{group: example.com, kinds: [Widget]}]\n")
	b.WriteString(one(r, "", "", "  conditions: {current: true}\n"))
	b.WriteString(one(r, "", "  noStatus: {status: Progressing, message: nothing yet}\n"))
	b.WriteString(one(r, "", "", "  observedGeneration: status.observedGeneration\n",
		"  observedGeneration: status.conditions.first(c, c.type == 'A').observedGeneration\n"))
	b.WriteString("  rules:\n")
	for range 1 + r.IntN(8) {
		fmt.Fprintf(&b, "    - status: %s\n", one(r, "Healthy", "Progressing", "Degraded", "Suspended"))
		condition := r.IntN(4) > 0
		if condition {
			fmt.Fprintf(&b, "      condition: %s\n", one(r, r.condition(), r.condition(), "["+r.condition()+", "+r.condition()+"]"))
		}
		if !condition || r.IntN(4) == 0 {
			fmt.Fprintf(&b, "      when: %q\n", one(r, r.test(), r.test(), r.test()+" && "+r.test(), "("+r.test()+" || "+r.test()+")"))
		}
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "      message: %q\n", r.message())
		}
	}
	b.WriteString("    - {status: Healthy, when: status.ready == true, message: \"'ready'\"}\n")
	return b.String()
}

func (r checkMaker) condition() string {
	parts := []string{"type: " + one(r, "A", "B")}
	if r.IntN(3) > 0 {
		parts = append(parts, "status: "+one(r, `"True"`, `"False"`, `"False"`, `["False", Unknown]`))
	}
	if r.IntN(3) == 0 {
		parts = append(parts, one(r, "reason: R", "reason: R", "reason: [R, S]", "notReason: R", "notReason: [R, S]"))
	}
	if r.IntN(8) == 0 {
		parts = append(parts, one(r, "path: status.other.conditions", "current: true", "path: spec"))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (r checkMaker) entry() string {
	return fmt.Sprintf("%s.first(c, %s)", one(r, "status.conditions", "status.conditions", "status.other.conditions", "spec"),
		one(r, "c.type == 'A'", "c.type == 'A' && c.status == 'False'", "c.type == 'B' && c.status == 'True' && c.reason in ['R', 'S']", "c.message.startsWith('a')", "has(c.reason)"))
}

func (r checkMaker) test() string {
	path := func() string {
		return one(r, "status.phase", "spec.phase", "status.other.phase", "metadata.generation", "status.observedGeneration", r.entry()+".reason", r.entry()+".message")
	}
	switch r.IntN(14) {
	case 0:
		return "has(" + one(r, "status.phase", "spec.phase", "status.other.phase", "status.other", "metadata.generation") + ")"
	case 1:
		return "!has(" + one(r, "status.phase", "spec.phase", "status.other.phase", "status.conditions") + ")"
	case 2:
		return path() + one(r, " == 'R'", " != 'R'", " in ['R', 'S']", " < 3", " >= 'a'")
	case 3:
		return one(r, "", "!") + "(" + path() + one(r, " == ", " != ") + one(r, "string(", "(") + path() + "))"
	case 4:
		return path() + ".startsWith(" + one(r, "'a'", "'ab'", "string("+path()+")") + ")"
	case 5:
		return "int(string(" + path() + ")) < metadata.generation"
	case 6:
		return "status.conditions.all(c, " + one(r, "c.type != 'A' || c.status == 'True'", "c.status == 'True'", "has(c.reason)", "c.reason != 'R'") + ")"
	case 7:
		return one(r, "status.conditions", "status.other.conditions", "spec") + ".exists(c, " +
			one(r, "c.type in ['A', 'B'] && c.status != 'True'", "c.type == 'A' && c.message.startsWith('a')", "!has(c.reason) || c.reason == 'R'", "c == 'R'", "['a', 'R'].exists(p, c.message.startsWith(p))") + ")"
	case 8:
		return path() + " < " + path()
	case 9:
		return one(r, "status", "spec", "metadata.annotations") + "[?'phase'].hasValue()"
	case 10:
		return "status.?phase.orValue('R') == 'R'"
	case 11:
		return "status.conditions.exists(c, " + one(r, "c.type == 'A' && c.status == 'False'", "c.type == 'B'") + ")"
	case 12:
		return r.entry() + "." + one(r, "reason", "message", "status") + one(r, " == 'R'", " != 'False'")
	default:
		return one(r, "spec.paused", "!spec.paused", "status.conditions.exists_one(c, c.type == 'A')", "size(status.conditions) > 1")
	}
}

func (r checkMaker) message() string {
	return one(r, "'text'", "''", "status.phase", "'a ' + status.phase", "'a ' + string(metadata.generation) + ' b'", r.entry()+".reason",
		"string(status.phase) + ' of ' + string(spec.phase)", "has(status.phase) ? 'a ' + status.phase : 'none'", "'x ' + "+r.entry()+".reason",
		"has(status.phase) ? status.phase : spec.phase", "status.?phase.orValue('none')", r.entry()+".message + '!'")
}

// object has conditions as they are, and now and then what no controller would write.
func (r checkMaker) object() map[string]any {
	o := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}
	set := func(m map[string]any, key string, value func() any) {
		switch r.IntN(10) {
		case 0:
		case 1:
			m[key] = r.odd()
		default:
			m[key] = value()
		}
	}
	phase := func() any { return one[any](r, "R", "S", "a", "abc", "12", int64(2), int64(3), true, false) }
	generation := func() any { return one[any](r, int64(1), int64(2), int64(3), "2", 2.5) }
	list := func() any { return r.conditions() }
	status, spec, other, metadata := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{"name": "x"}
	set(o, "status", func() any { return status })
	set(o, "spec", func() any { return one[any](r, spec, spec, list()) })
	set(o, "metadata", func() any { return metadata })
	set(status, "phase", phase)
	set(spec, "phase", phase)
	set(spec, "paused", func() any { return r.IntN(2) == 0 })
	set(status, "conditions", list)
	set(status, "observedGeneration", generation)
	set(status, "other", func() any { return other })
	set(other, "conditions", list)
	set(other, "phase", phase)
	set(metadata, "generation", generation)
	set(metadata, "annotations", func() any { return map[string]any{"phase": "R"} })
	return o
}

func (r checkMaker) conditions() []any {
	var out []any
	for range r.IntN(4) {
		if r.IntN(10) == 0 {
			out = append(out, r.odd())
			continue
		}
		entry := map[string]any{"type": one(r, "A", "B", "C")}
		for _, field := range []struct {
			key    string
			values []any
		}{
			{"status", []any{"True", "False", "Unknown"}},
			{"reason", []any{"R", "S", "T"}},
			{"message", []any{"a", "ab c", "R", "", int64(7), true}},
			{"observedGeneration", []any{int64(1), int64(2), int64(3), "2", true}},
		} {
			if n := r.IntN(6); n > 0 {
				entry[field.key] = one(r, field.values...)
			} else if r.IntN(3) == 0 {
				entry[field.key] = r.odd()
			}
		}
		out = append(out, entry)
	}
	return out
}

func (r checkMaker) odd() any {
	return one[any](r, nil, "", "text", int64(0), int64(5), 1.5, true, false, []any{}, map[string]any{}, []any{"R", "a"}, []any{map[string]any{"type": "A", "status": "False", "reason": "R"}},
		map[string]any{"a": int64(1)}, map[string]any{"type": "A", "message": "a"}, int64(1<<53+1))
}
