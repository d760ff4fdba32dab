package vm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/lua/vm"
)

// described is a field on one line: path, what it is compared with, and its marks.
func described(f vm.Field) string {
	s := strings.ReplaceAll(strings.Join(f.Path, "."), ".[]", "[]")
	if len(f.Texts) > 0 {
		s += fmt.Sprintf(" %q", f.Texts)
	}
	if len(f.Numbers) > 0 {
		s += fmt.Sprint(" ", f.Numbers)
	}
	for _, mark := range []struct {
		is   bool
		name string
	}{{f.Bool, "bool"}, {f.Number, "number"}, {f.List, "list"}, {f.Pairs, "pairs"}} {
		if mark.is {
			s += " " + mark.name
		}
	}
	return s
}

func TestFields(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		want         []string // without the fields on the way
	}{
		{"equal", `if obj.status.phase == "Ready" or "Failed" ~= obj.status.phase then end`, []string{`status.phase ["Failed" "Ready"]`}},
		{"quoted keys", `local a = obj.metadata.labels["x.io/y"] == "z"`, []string{`metadata.labels.x.io/y ["z"]`}},
		{"alias", "local s = obj.status\nlocal p = s.phase\nif p == 'A' then end", []string{`status.phase ["A"]`}},
		{"default", "local s = obj.status or {}\nif (s.phase or '') == 'A' then end", []string{`status.phase ["A"]`}},
		{"numbers", "if obj.spec.replicas > 2 and obj.status.ready + 1 < 5 then end", []string{"spec.replicas [2] number", "status.ready [1] number"}},
		{"booleans", "if obj.spec.paused == true then end", []string{"spec.paused bool"}},
		{"two fields", "if obj.status.a < obj.status.b then end", []string{"status.a number", "status.b number"}},
		{"tonumber", "if tonumber(obj.status.n) == 3 then end", []string{"status.n [3] number"}},
		{"ipairs", "for i, c in ipairs(obj.status.conditions) do if c.type == 'Ready' and c.status == 'True' then end end",
			[]string{`status.conditions[].status ["True"]`, `status.conditions[].type ["Ready"]`}},
		{"pairs with keys", "for k, v in pairs(obj.status.byName) do if v.state == 'x' then end end", []string{`status.byName[].state ["x"]`}},
		{"index", "if obj.status.list[1].name == 'a' and obj.status.list[#obj.status.list].name == 'b' then end", []string{`status.list[].name ["a" "b"]`}},
		{"length", "if #obj.status.list > 0 then end", []string{"status.list list"}},
		{"a helper", "local function is(c, t) return c.type == t end\nfor _, c in ipairs(obj.status.conditions) do if is(c, 'A') or is(c, 'B') then end end",
			[]string{`status.conditions[].type ["A" "B"]`}},
		{"a global helper that is defined later", "local c = get('A')\nif c.status == 'False' then end\nfunction get(t) for _, c in ipairs(obj.status.conditions) do if c.type == t then return c end end end",
			[]string{`status.conditions[].status ["False"]`, `status.conditions[].type ["A"]`}},
		{"a helper for fields", "local function field(v, n) if type(v) == 'table' then return v[n] end end\nlocal s = field(obj, 'status')\nif field(s, 'phase') == 'A' then end",
			[]string{`status.phase ["A"]`}},
		{"a set of texts", "local bad = {Failed = true, Error = true}\nif bad[obj.status.phase] then end", []string{`status.phase ["Error" "Failed"]`}},
		{"a list of texts", "local bad = {'Failed', 'Error'}\nfor _, b in ipairs(bad) do if obj.status.phase == b then end end", []string{`status.phase ["Error" "Failed"]`}},
		{"a table by type", "local by = {}\nfor _, c in ipairs(obj.status.conditions) do by[c.type] = c end\nif by.Ready.status == 'True' and by['Synced'] then end",
			[]string{`status.conditions[].status ["True"]`, `status.conditions[].type ["Ready" "Synced"]`}},
		{"a method", "if obj.status.message:find('^ERROR') or string.find(obj.status.message, 'bad$') then end", []string{`status.message ["ERROR" "bad"]`}},
		{"lower case", "if obj.status.state:lower() == 'up' then end", []string{`status.state ["up"]`}},
		{"table.insert and concat", "local m = {}\nfor _, e in ipairs(obj.status.errors) do table.insert(m, e.text) end\nfor _, x in ipairs(m) do if x == 'a' then end end\nlocal s = table.concat(obj.status.lines)",
			[]string{`status.errors[].text ["a"]`, "status.lines list"}},
		{"recursion", "local function f(v) return f(v.next) end\nf(obj.status)", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, err := vm.Read(test.script)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, f := range s.Fields {
				all = append(all, described(f))
			}
			for _, want := range test.want {
				if !slices.Contains(all, want) {
					t.Errorf("%q is missing in %q", want, all)
				}
			}
		})
	}
}

// TestFieldsBounded: no script makes the reading long or its result large.
func TestFieldsBounded(t *testing.T) {
	t.Parallel()
	names := ""
	for i := range 40 {
		names += fmt.Sprintf("x = x.n%d or x\n", i)
	}
	calls := "local function f(v, n) local r = v[n]; return f(r, 'a') or f(r, 'b') or f(v, n) or r[n] end\n"
	for _, script := range []string{"x = obj\n" + names, calls + "return f(obj, 'status')", strings.Repeat("if obj.a then ", 150) + strings.Repeat("end ", 150)} {
		s, err := vm.Read(script)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Fields) > 300 {
			t.Errorf("got %d fields, want at most 300", len(s.Fields))
		}
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, script, restricted, open, fenced string }{
		{"nothing", "local t = {} table.insert(t, tostring(1)) return t", "", "", ""},
		{"os", "\nlocal n = os.time()", "os.time 2", "", ""},
		{"os of require", "local os = require('os') return os.time()", "", "", ""},
		{"os of require, elsewhere", "local function f() local os = require('os') return os.time() end\nreturn os.date()", "os.date 2", "", ""},
		{"libraries", "return string.format('%d', math.floor(1.5))", "math.floor 1; string.format 1", "", ""},
		{"an alias", "local s = string\nreturn s.format('x')", "string 1", "", ""},
		{"methods", "local s = ''\nreturn s:upper(), s:nothing(), ('x'):rep(2)", ":rep 2; :upper 2", "", ""},
		{"a method of a table", "local t = {find = function() end}\nreturn t:find()", "", "", ""},
		// Argo CD opens the module library a second time, which forgets the others.
		{"modules", "require('string')\nrequire('table')\nrequire('os')\nrequire(x)", `x 4; require("string") 1`, `x 4; require("string") 1`, ""},
		{"own globals", "function f() return g end\ng = 1\nreturn f()", "", "", ""},
		{"parameters", "local function f(a, ...) return a, ... end\nfor i = 1, 2 do f(i) end\nfor k, v in pairs({}) do f(k, v) end", "", "", ""},
		{"out of scope", "do local a = 1 end\nreturn a", "a 2", "a 2", ""},
		{"in its own initializer", "local a = a", "a 1", "a 1", ""},
		{"until sees the body", "repeat local a = 1 until a", "", "", ""},
		{"shadowed", "local string = {find = 1}\nreturn string.find", "", "", ""},
		{"members", "return table.unpack({}), string.split('x')", "string.split 1; table.unpack 1", "string.split 1; table.unpack 1", ""},
		{"the machine", "dofile('x') io.open('x') os.exit(1) os.time() channel.make()", "channel.make 1; io.open 1; os.exit 1; os.time 1", "", "channel.make 1; dofile 1; io.open 1; os.exit 1"},
		{"goto", "goto done\n::done::", "", "", ""},
		{"method definitions", "local m = {}\nfunction m:lower() return self.x end\nfunction m.y() end\nreturn m:lower()", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, err := vm.Read(test.script)
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range []struct {
				what, want string
				got        []vm.Use
			}{{"restricted", test.restricted, s.Lacking(false)}, {"open", test.open, s.Lacking(true)}, {"fenced", test.fenced, s.Fenced()}} {
				var got []string
				for _, u := range list.got {
					got = append(got, fmt.Sprint(u.Name, " ", u.Line))
				}
				if strings.Join(got, "; ") != list.want {
					t.Errorf("%s: got %q, want %q", list.what, strings.Join(got, "; "), list.want)
				}
			}
		})
	}
}

func TestReadFails(t *testing.T) {
	t.Parallel()
	_, err := vm.Read("x =\n=")
	checkError(t, err, 2, "syntax error")
}

// TestReadBuiltins: what no script of Argo CD uses is not said to be used.
func TestReadBuiltins(t *testing.T) {
	t.Parallel()
	fields := 0
	for _, k := range vm.Builtins() {
		script, _ := vm.Builtin(k.Group, k.Kind)
		s, err := vm.Read(script)
		if err != nil {
			t.Errorf("%v: %v", k, err)
			continue
		}
		if lacking := s.Lacking(true); len(lacking) > 0 {
			t.Errorf("%v uses %v", k, lacking)
		}
		if len(s.Fields) > 0 {
			fields++
		}
	}
	if fields != 182 {
		t.Errorf("%d scripts look at a field, want 182", fields)
	}
}
