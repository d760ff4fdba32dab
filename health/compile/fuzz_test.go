package compile

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/eval"
	"hallmark.dev/hallmark/lua/ast"
	"hallmark.dev/hallmark/lua/print"
	"hallmark.dev/hallmark/lua/vm"
)

// A comparison is one expression on one object: its value, whether it is true and
// whether it is false, in Argo CD's VM and in cel-go.
var comparisons = flag.Int("comparisons", 60_000, "how many comparisons of expressions TestExpressions makes")

var firstSeed = flag.Uint64("seed", 1, "the first seed of TestExpressions")

const (
	expressionsPerScript = 40
	objectsPerScript     = 25
)

// TestExpressions generates expressions and objects and requires that Argo CD's VM says
// what cel-go says. The seeds are fixed, so that it is the same test each time; a
// longer run is
//
//	go test ./health/compile -run TestExpressions -comparisons 10000000 -timeout 0 -v
func TestExpressions(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	made, skipped, errs := 0, 0, 0
	seed := *firstSeed
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !t.Failed() {
				mu.Lock()
				mine := seed
				seed++
				done := made >= *comparisons
				mu.Unlock()
				if done {
					return
				}
				n := compareSeed(t, mine)
				mu.Lock()
				made, skipped, errs = made+n.made, skipped+n.skipped, errs+n.errors
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d comparisons, of which %d are errors in both; %d expressions were refused", made, errs, skipped)
	if made == 0 || errs == made || errs == 0 {
		t.Errorf("%d comparisons with %d errors prove nothing", made, errs)
	}
}

// FuzzExpressions is TestExpressions from any seed.
func FuzzExpressions(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { compareSeed(t, seed) })
}

type tally struct{ made, skipped, errors int }

func compareSeed(t *testing.T, seed uint64) (n tally) {
	t.Helper()
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), openLibs: seed%2 == 1} //nolint:gosec // the same numbers each time
	env, err := health.NewEnv(nil)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	var asts []*cel.Ast
	c := newCompiler(g.openLibs)
	var lines []ast.Stmt
	for tries := 0; len(asts) < expressionsPerScript && tries < 20*expressionsPerScript; tries++ {
		text := pick(g, g.boolean, g.dyn, g.text, g.integer, g.list)(1 + g.IntN(4))
		checked, issues := env.Compile(text)
		if issues.Err() != nil {
			continue // not well-typed, or too long
		}
		before := len(c.faults)
		c.types, c.source, c.work = checked.NativeRep().TypeMap(), checked.NativeRep().SourceInfo(), 0
		c.report = func(int64, int, string) { c.faults.Addf("", 0, 0, "refused") }
		e := checked.NativeRep().Expr()
		value, yes, no := c.value(e), c.when(e, true), c.when(e, false)
		if len(c.faults) > before {
			n.skipped++
			continue
		}
		if size := len(print.Expr(value)) + len(print.Expr(yes)) + len(print.Expr(no)); size > 20_000 {
			continue
		}
		shorter := shortener{prefixes: seed%3 > 0}
		value, yes, no = shorter.value(value), shorter.cond(yes), shorter.cond(no)
		texts, asts = append(texts, text), append(asts, checked)
		lines = append(lines, ast.Verbatim(fmt.Sprintf("out[#out + 1] = dump(%s) .. (%s and \"+\" or \"\") .. (%s and \"-\" or \"\")",
			print.Expr(value), paren(yes), paren(no))), ast.Return{Value: ast.Table{Items: []ast.Expr{value, yes, no}}})
	}
	script := script(c, lines)
	evaluate, err := eval.Expressions(asts, g.openLibs)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := vm.Compile(script, g.openLibs)
	if err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, script)
		return n
	}
	for i := range objectsPerScript {
		object := g.object()
		want := evaluate(object)
		// The first by Argo CD's own function, the others in the same VM without
		// compiling the script again; lua/vm proves the two equal.
		message, err := "", error(nil)
		for tries := 0; ; tries++ {
			if i == 0 {
				var got vm.Verdict
				got, err = vm.Run(script, g.openLibs, object)
				message = got.Message
			} else {
				var got vm.Return
				got, err = compiled.Inspect(object)
				message = got.Message.Text
			}
			// A second of real time is soon over on a machine with other work.
			if tries == 20 || err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
				break
			}
		}
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, script)
			return n
		}
		values := strings.Split(message, "\x00")
		for i, w := range want {
			expected := dumpTruth(w)
			n.made++
			if expected == "E" {
				n.errors++
			}
			if values[i] != expected {
				data, _ := json.Marshal(object)
				t.Errorf("seed %d: %s\non %s\nVM says %q, cel-go says %q (%v)\n%s", seed, texts[i], data, values[i], expected, w, lines[2*i].(ast.Verbatim))
				return n
			}
		}
	}
	return n
}

func paren(e ast.Expr) string { return "(" + print.Expr(e) + ")" }

// script is what prints the values of all expressions.
func script(c *compiler, lines []ast.Stmt) string {
	var body []ast.Stmt
	for i := 0; i < len(lines); i += 2 {
		body = append(body, lines[i])
	}
	uses := append(slices.Clone(c.locals), lines...)
	out := withHelpers(called(uses))
	out = append(out, ast.Verbatim(dumper))
	out = append(out, c.locals...)
	out = append(out, c.declared...)
	out = append(out, ast.Verbatim("local out = {}"))
	out = append(out, body...)
	out = append(out, ast.Verbatim(`return { status = "Healthy", message = table.concat(out, "\000") }`))
	return print.Block(out)
}

// dumper prints a value so that different values have different texts.
const dumper = `
local function dump(v)
  if v == nil then return "E" end
  if type(v) == "boolean" then return v and "T" or "F" end
  if type(v) == "number" then return "n" .. tostring(v) end
  if type(v) == "string" then return "s" .. #v .. ":" .. v end
  if next(v) == nil then return "_" end
  local parts = {}
  if v[1] ~= nil then
    for _, x in ipairs(v) do parts[#parts + 1] = dump(x) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for k, x in pairs(v) do parts[#parts + 1] = k .. "=" .. dump(x) end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end`

func dumpTruth(v ref.Val) string {
	switch v {
	case types.True:
		return "T+"
	case types.False:
		return "F-"
	}
	return dump(v)
}

func dump(v ref.Val) string {
	switch v := v.(type) {
	case types.Bool:
		if v {
			return "T"
		}
		return "F"
	case types.Int:
		return "n" + strconv.FormatInt(int64(v), 10)
	case types.Double:
		if f := float64(v); f == math.Trunc(f) && math.Abs(f) < 1<<63 {
			return "n" + strconv.FormatInt(int64(f), 10)
		}
		return "n" + fmt.Sprint(float64(v))
	case types.String:
		return fmt.Sprintf("s%d:%s", len(v), string(v))
	case *types.Optional:
		return "optional"
	case traits.Mapper:
		if v.Size() == types.IntZero {
			return "_"
		}
		parts := map[string]bool{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			parts[fmt.Sprint(key.Value())+"="+dump(v.Get(key))] = true
		}
		return "{" + strings.Join(slices.Sorted(maps.Keys(parts)), ",") + "}"
	case traits.Lister:
		if v.Size() == types.IntZero {
			return "_"
		}
		var parts []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			parts = append(parts, dump(it.Next()))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return "E"
}
