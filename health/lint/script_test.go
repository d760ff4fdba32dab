package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// sound has no fault, even on objects that no schema allows.
const sound = `
local function field(value, name)
  if type(value) == "table" then return value[name] end
end
local status = field(obj, "status")
if type(status) ~= "table" or next(status) == nil then
  return {status = "Progressing", message = "no status yet"}
end
local generation, observed = field(field(obj, "metadata"), "generation"), status.observedGeneration
if type(generation) == "number" and type(observed) == "number" and observed < generation then
  return {status = "Progressing", message = "an older generation"}
end
local function find(name)
  if type(status.conditions) ~= "table" then return nil end
  for _, c in pairs(status.conditions) do
    if field(c, "type") == name then return c end
  end
end
local function message(c) return tostring(field(c, "message")) end
local failed, ready = find("Failed"), find("Ready")
if field(failed, "status") == "True" then return {status = "Degraded", message = message(failed)} end
if field(ready, "status") == "True" then return {status = "Healthy", message = message(ready)} end
return {status = "Progressing", message = "not ready"}`

// told is a finding without its words.
func told(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, fmt.Sprintf("%d %s %s", f.Line, f.Severity, f.Rule))
	}
	return out
}

// TestRules gives for each rule a script that breaks it, and what else it breaks.
func TestRules(t *testing.T) {
	t.Parallel()
	const guard = "if obj.status == nil or next(obj.status) == nil then return {status = 'Progressing'} end\n"
	for _, test := range []struct {
		name, script string
		openLibs     bool
		want         []string
		message      string // of the first of them
	}{
		{"sound", sound, false, nil, ""},
		{"syntax", "local x =\n=", false, []string{"2 error syntax"}, `syntax error near "="`},
		{"too many locals", strings.Repeat("local x\n", 201), false, []string{"0 error syntax"}, "too many local variables"},
		{"no global os", "local n = os.time()\nreturn {status = 'Progressing'}", false, []string{"1 error missing-library"}, "os.time is nil: there is no global os"},
		{"os of require", "local n = require('os').time()\nreturn {status = 'Progressing'}", false, nil, ""},
		{"another module", "if false then require('string') end\nreturn {status = 'Progressing'}", false, []string{"1 error missing-library"}, `require("string") finds no such module`},
		{"string library", "if false then return string.upper('x') end\nreturn {status = 'Progressing'}", false, []string{"1 error missing-library"}, "string.upper is nil: its library is off"},
		{"string library that is on", "if false then return string.upper('x') end\nreturn {status = 'Progressing'}", true, nil, ""},
		{"method of texts", "local s = 'x'\nif false then return s:upper() end\nreturn {status = 'Progressing'}", false, []string{"2 error missing-library"}, "texts have no method upper"},
		{"method of its own", "local t = {}\nfunction t:find() return 'Progressing' end\nreturn {status = t:find()}", false, nil, ""},
		{"a name that nothing defines", "if false then return statsu end\nreturn {status = 'Progressing'}", true, []string{"1 error missing-library"}, "statsu is nil: neither the script nor Argo CD defines it"},
		{"a function that nothing has", "if false then return table.unpack({}) end\nreturn {status = 'Progressing'}", true, []string{"1 error missing-library"}, "table.unpack is nil"},
		{"the machine", "if false then os.execute('x') io.open('x') dofile('x') end\nreturn {status = 'Progressing'}", true,
			[]string{"1 warning machine-access", "1 warning machine-access", "1 warning machine-access"}, "dofile reaches the machine"},
		{"raises", "return {status = obj.status.phase == 'Ready' and 'Healthy' or 'Progressing'}", false,
			[]string{"0 warning stale-generation", "1 error raises"}, ""},
		{"raises on odd objects only", guard + "return {status = obj.status.phase == 'Ready' and 'Degraded' or 'Progressing'}", false, []string{"1 warning raises"}, "bad argument #1 to next"},
		{"timeout", "while true do end", false, []string{"1 error timeout"}, "does not end within a second"},
		{"nil", guard + "if obj.status.phase == 'Failed' then return {status = 'Degraded'} end", false, []string{"0 error returns-nil", "1 warning raises"}, "returns nil"},
		{"empty", guard + "local hs = {}\nif obj.status.phase == 'Failed' then hs.status = 'Degraded' end\nreturn hs", false, []string{"0 error returns-empty", "1 warning raises"}, "returns an empty table"},
		{"a text", "return 'Healthy'", false, []string{"0 error no-verdict"}, "expect table output from Lua script, not string"},
		{"a list", "return {'Healthy'}", false, []string{"0 error no-verdict"}, "returns a list"},
		{"two values", "return {status = 'Healthy'}, 'fine'", false, []string{"0 error no-verdict"}, "not string"},
		{"mixed keys", "return {status = 'Healthy', 'fine'}", false, []string{"0 error no-verdict"}, "mixed or invalid key types"},
		{"a number as message", guard + "return {status = 'Degraded', message = obj.status.replicas}", false, []string{"0 error erased-verdict", "1 warning raises"},
			"the message is a number, which erases the status Degraded"},
		{"a list as message", guard + "for _, m in ipairs(obj.status.messages or {}) do end\nreturn {status = 'Degraded', message = obj.status.messages}", false,
			[]string{"0 error erased-verdict", "1 warning raises"}, "the message is a table"},
		{"a boolean as status", "return {status = true}", false, []string{"0 error erased-verdict"}, "the status is a boolean"},
		{"no status", "return {message = 'x'}", false, []string{"0 error invalid-status"}, "without a status"},
		{"wrong case", "return {status = 'degraded'}", false, []string{"0 error invalid-status"}, `the status "degraded"`},
		{"the phase as status", guard + "return {status = obj.status.phase or 'Progressing'}", false,
			[]string{"0 warning erased-verdict", "0 error invalid-status", "0 error invalid-status", "0 error invalid-status", "1 warning raises"}, ""},
		{"missing", "return {status = 'Missing'}", false, []string{"0 warning returns-missing"}, "returns the status Missing"},
		{"unknown", "return {status = 'Unknown'}", false, []string{"0 warning returns-unknown"}, "returns the status Unknown"},
		{"healthy without status", "if obj.status and obj.status.phase == 'Failed' then return {status = 'Degraded'} end\nreturn {status = 'Healthy'}", false,
			[]string{"0 error healthy-without-status", "0 error healthy-without-status", "0 warning stale-generation", "1 warning raises"}, ""},
		{"no status is needed", "if obj.spec and obj.spec.paused then return {status = 'Suspended'} end\nreturn {status = 'Healthy'}", false,
			[]string{"1 warning raises"}, ""},
		{"healthy on an empty list", guard + "for _, n in ipairs(obj.status.nodes or {}) do\n  if not n.ready then return {status = 'Progressing'} end\nend\n" +
			"if obj.status.nodes then return {status = 'Healthy'} end\nreturn {status = 'Progressing'}", false,
			[]string{"0 warning healthy-on-empty-list", "0 warning stale-generation", "1 warning raises"}, "Healthy with an empty status.nodes"},
		{"the first condition wins", guard + `for _, c in ipairs(obj.status.conditions or {}) do
  if c.type == "Ready" and c.status == "True" then return {status = "Healthy"} end
  if c.type == "Failed" and c.status == "True" then return {status = "Degraded"} end
end
return {status = "Progressing"}`, false,
			[]string{"0 warning stale-generation", "0 warning condition-order", "1 warning raises"}, ""},
		{"the order of keys", `local nodes = type(obj.status) == "table" and obj.status.nodes
if type(nodes) ~= "table" then return {status = "Progressing"} end
local first, ready, failed = nil, nodes.Ready, nodes.Failed
for name in pairs(nodes) do first = name break end
return {status = first == "Failed" and "Degraded" or "Progressing"}`, false, []string{"0 error key-order"}, "Degraded or Progressing, as pairs happens"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			findings := Script("health.lua", test.script, Options{Group: "example.com", Kind: "Widget", OpenLibs: test.openLibs})
			if got := told(findings); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q\n%+v", got, test.want, findings)
			}
			if test.message != "" && (len(findings) == 0 || !strings.Contains(findings[0].Message, test.message)) {
				t.Errorf("got %+v, want a message with %q", findings, test.message)
			}
		})
	}
}

// TestEveryRule keeps TestRules and the tests of argocd-cm complete: each rule has a
// text, and no other name is used.
func TestEveryRule(t *testing.T) {
	t.Parallel()
	seen := map[Rule]bool{}
	for _, e := range Rules() {
		if e.Text == "" || seen[e.Rule] {
			t.Errorf("%s has no text or is there twice", e.Rule)
		}
		seen[e.Rule] = true
	}
	if order(Slow) < 0 || order("unknown") >= 0 {
		t.Error("order does not find rules")
	}
}

// TestGiven: what a made-up object makes a question, a real one makes a fault.
func TestGiven(t *testing.T) {
	t.Parallel()
	const script = `if obj.status == nil then return {status = "Progressing"} end
for _, c in ipairs(obj.status.conditions) do
  if c.type == "Ready" and c.status == "True" then return {status = "Healthy"} end
  if c.type == "Failed" and c.status == "True" then return {status = "Degraded"} end
end
return {status = "Progressing"}`
	condition := func(kind string) any { return map[string]any{"type": kind, "status": "True"} }
	object := func(status map[string]any) Object {
		return Object{Name: "Widget web", Value: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "web", "generation": int64(2)}, "status": status,
		}}
	}
	severity := func(findings []Finding, rule Rule) (Severity, string) {
		i := slices.IndexFunc(findings, func(f Finding) bool { return f.Rule == rule })
		if i < 0 {
			return "", ""
		}
		return findings[i].Severity, findings[i].Case
	}
	both := []any{condition("Ready"), condition("Failed")}
	for _, test := range []struct {
		name         string
		objects      []Object
		order, stale Severity
		orderedCase  string
	}{
		{"none", nil, Warning, Warning, "made-up object with all that the script looks at: status.conditions reversed"},
		{"in another order", []Object{object(map[string]any{"conditions": both})}, Error, "", "Widget web: status.conditions reversed"},
		{"with a generation", []Object{object(map[string]any{"conditions": []any{condition("Ready")}, "observedGeneration": int64(2)})}, Warning, Error,
			"made-up object with all that the script looks at: status.conditions reversed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			findings := Script("health.lua", script, Options{Group: "example.com", Kind: "Widget", Objects: test.objects})
			order, shown := severity(findings, ConditionOrder)
			if order != test.order || shown != test.orderedCase {
				t.Errorf("the order is %q by %q, want %q by %q", order, shown, test.order, test.orderedCase)
			}
			if stale, _ := severity(findings, StaleGeneration); stale != test.stale {
				t.Errorf("the stale generation is %q, want %q", stale, test.stale)
			}
		})
	}
}

func TestGenerationOfEntries(t *testing.T) {
	t.Parallel()
	object := Object{Name: "HTTPRoute a", Value: map[string]any{
		"metadata": map[string]any{"generation": int64(3)},
		"status":   map[string]any{"parents": []any{map[string]any{"accepted": "True", "observedGeneration": int64(3)}}},
	}}
	script := func(gate string) string {
		return `local parents = obj.status and obj.status.parents or {}
for _, p in ipairs(parents) do
  if p.accepted == "True"` + gate + ` then return {status = "Healthy"} end
end
return {status = "Progressing"}`
	}
	stale := func(f Finding) bool { return f.Rule == StaleGeneration }
	opts := Options{Kind: "HTTPRoute", Objects: []Object{object}}
	if got := Script("x", script(""), opts); !slices.ContainsFunc(got, stale) {
		t.Errorf("a script that ignores the generation of entries: got %v", told(got))
	}
	if got := Script("x", script(" and p.observedGeneration == obj.metadata.generation"), opts); slices.ContainsFunc(got, stale) {
		t.Errorf("a script that goes by the generation of entries: got %v", told(got))
	}
}

// TestSlow measures with the real clock: three million additions take longer than
// 50 ms on any machine, and nothing else in this test does.
func TestSlow(t *testing.T) {
	t.Parallel()
	slow := func(f Finding) bool { return f.Rule == Slow }
	const heavy = `if obj.status == nil then
  local n = 0
  for i = 1, 3000000 do n = n + i end
end
return {status = "Progressing"}`
	findings := Script("x", heavy, Options{Kind: "Widget", Now: time.Now})
	if !slices.ContainsFunc(findings, slow) && !slices.ContainsFunc(findings, func(f Finding) bool { return f.Rule == Timeout }) {
		t.Errorf("got %v, want %s", told(findings), Slow)
	}
	if findings := Script("x", heavy, Options{Kind: "Widget"}); slices.ContainsFunc(findings, slow) {
		t.Errorf("got %v without a clock", told(findings))
	}
	// A clock that jumps at each look makes every run of anything take as long.
	now := time.Unix(0, 0)
	jumping := func() time.Time { now = now.Add(time.Second); return now }
	if findings := Script("x", sound, Options{Kind: "Widget", Now: jumping}); slices.ContainsFunc(findings, slow) {
		t.Errorf("got %v: what it takes to do nothing is not the script's", told(findings))
	}
}

func TestDeterministic(t *testing.T) {
	t.Parallel()
	const script = "return {status = obj.status.phase, message = obj.status.conditions[1].message .. obj.spec.x}"
	first := fmt.Sprintf("%+v", Script("x", script, Options{Kind: "Widget"}))
	for range 5 {
		if again := fmt.Sprintf("%+v", Script("x", script, Options{Kind: "Widget"})); again != first {
			t.Fatalf("got %s and then %s", first, again)
		}
	}
}
