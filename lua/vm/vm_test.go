package vm_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/resource_customizations"
	argolua "github.com/argoproj/argo-cd/v2/util/lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/lua/vm"
)

func TestRun(t *testing.T) {
	t.Parallel()
	const inspectable = "return {status = 'Healthy', message = "
	for _, test := range []struct {
		name, script  string
		openLibs      bool
		status, msg   string
		line          int
		errorContains string
	}{
		{name: "a verdict", script: inspectable + "'ok'}", status: "Healthy", msg: "ok"},
		{name: "no message", script: "return {status = 'Missing'}", status: "Missing"},
		{name: "nil", script: "return nil"},
		{name: "nothing", script: "local x = 1"},
		{name: "empty", script: "return {}"},
		{name: "a list", script: "return {'Healthy'}"},
		{name: "the last value counts", script: "return {status = 'Healthy'}, {status = 'Degraded'}", status: "Degraded"},
		{name: "the first of two would be a verdict", script: "return {status = 'Healthy'}, nil"},
		{name: "no status", script: "return {message = 'x'}", status: "Unknown", msg: "Lua returned an invalid health status"},
		{name: "wrong case", script: "return {status = 'healthy'}", status: "Unknown", msg: "Lua returned an invalid health status"},
		{name: "key in another case", script: "return {Status = 'Healthy', MESSAGE = 'm'}", status: "Healthy", msg: "m"},
		{name: "two keys of one name", script: "return {Status = 'Healthy', status = 'Degraded'}", status: "Degraded"},
		{name: "a number erases", script: inspectable + "3}"},
		{name: "a table erases", script: inspectable + "{}}"},
		{name: "a boolean erases", script: inspectable + "true}"},
		{name: "a function", script: inspectable + "print}", errorContains: "cannot encode function to JSON"},
		{name: "infinity", script: inspectable + "1/0}", errorContains: "unsupported value"},
		{name: "mixed keys", script: "return {status = 'Healthy', 'x'}", errorContains: "mixed or invalid key types"},
		{name: "a cycle", script: "local t = {status = 'Healthy'} t.t = t return t", errorContains: "recursively nested"},
		{name: "one table twice", script: "local t = {} return {status = 'Healthy', a = t, b = t}", errorContains: "recursively nested"},
		{name: "a text", script: "return 'Healthy'", errorContains: "expect table output from Lua script, not string"},
		{name: "a boolean", script: "return true", errorContains: "not boolean"},
		{name: "raises", script: "\n\nreturn obj.status.phase", line: 3, errorContains: "attempt to index a non-table object(nil) with key 'phase'"},
		{name: "raises a text", script: "error('no')", line: 1, errorContains: "no"},
		{name: "raises a table", script: "error({})", errorContains: "no text but a table"},
		{name: "syntax", script: "local x =\nreturn", line: 2, errorContains: "syntax error"},
		{name: "syntax at the end", script: "if x then", errorContains: "syntax error"},
		{name: "token", script: "x = 'a", errorContains: "unterminated string"},
		{name: "comment", script: "# no comment", line: 1, errorContains: "syntax error near"},
		{name: "locals", script: locals(201), errorContains: "too many local variables"},
		{name: "as many locals as there may be", script: locals(195) + inspectable + "'ok'}", status: "Healthy", msg: "ok"},
		{name: "no global os", script: "return os.time()", line: 1, errorContains: "non-table object(nil)"},
		{name: "os", script: "return {status = 'Healthy', message = type(require('os').time())}", status: "Healthy", msg: "number"},
		{name: "no string library", script: inspectable + "type(string) .. type(math) .. type(io)}", status: "Healthy", msg: "nilnilnil"},
		{name: "no methods of strings", script: "local s = 'a' return {status = s:upper()}", line: 1, errorContains: "non-table object(string)"},
		{name: "with libraries", script: inspectable + "('a'):upper() .. type(os.clock) .. type(require('os').clock)}", openLibs: true, status: "Healthy", msg: "Afunctionnil"},
		{name: "modules without libraries", script: "require('table') require('string')", line: 1, errorContains: "module string not found"},
		{name: "modules with libraries", script: "require('table') require('string')", openLibs: true, line: 1, errorContains: "module string not found"},
		{name: "for ever", script: "while true do end", line: 1, errorContains: "context deadline exceeded"},
		{name: "too deep", script: "local function f() return 1 + f() end return f()", line: 1, errorContains: "stack overflow"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			obj := map[string]any{"kind": "Widget"}
			v, err := vm.Run(test.script, test.openLibs, obj)
			if want := (vm.Verdict{Status: test.status, Message: test.msg}); v != want {
				t.Errorf("got %q, want %q", v, want)
			}
			checkError(t, err, test.line, test.errorContains)
			agrees(t, test.script, test.openLibs, obj)
		})
	}
}

func checkError(t *testing.T, err error, line int, contains string) {
	t.Helper()
	if contains == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	script, ok := errors.AsType[*vm.Error](err)
	if !ok {
		t.Fatalf("got %v, want an *Error with %q", err, contains)
	}
	if script.Line != line || !strings.Contains(script.Msg, contains) || strings.Contains(script.Msg, "\n") {
		t.Errorf("got line %d and %q, want line %d and a line with %q", script.Line, script.Msg, line, contains)
	}
}

func locals(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "local v%d\n", i)
	}
	return b.String()
}

// agrees fails where Inspect and Argo CD's rules give another answer than Argo CD.
func agrees(t *testing.T, script string, openLibs bool, obj map[string]any) {
	t.Helper()
	want, wantErr := vm.Run(script, openLibs, obj)
	reference := argolua.VM{UseOpenLibs: openLibs}
	direct, directErr := reference.ExecuteHealthLua(&unstructured.Unstructured{Object: obj}, script)
	if directErr == nil && (vm.Verdict{Status: string(direct.Status), Message: direct.Message}) != want {
		t.Errorf("Run gives %q, Argo CD gives %q", want, direct)
	}
	if (directErr == nil) != (wantErr == nil) {
		t.Errorf("Run gives error %v, Argo CD gives %v", wantErr, directErr)
	}
	r, err := vm.Inspect(script, openLibs, obj)
	var got vm.Verdict
	if err == nil {
		got, err = r.Verdict()
	}
	if got != want || describe(err) != describe(wantErr) {
		t.Errorf("Inspect gives %q and error %q, Run gives %q and error %q", got, describe(err), want, describe(wantErr))
	}
	if load := vm.Load(script); load != nil && describe(load) != describe(wantErr) {
		t.Errorf("Load gives error %q, Run gives %q", describe(load), describe(wantErr))
	}
}

func describe(err error) string {
	if script, ok := errors.AsType[*vm.Error](err); ok {
		return fmt.Sprintf("line %d: %s", script.Line, script.Msg)
	}
	return fmt.Sprint(err)
}

func TestInspect(t *testing.T) {
	t.Parallel()
	text := func(s string) vm.Entry { return vm.Entry{Type: "string", Text: s} }
	none := vm.Entry{Type: "nil"}
	for _, test := range []struct {
		name, script string
		want         vm.Return
	}{
		{"a verdict", "return {status = 'Healthy', message = 'ok'}", vm.Return{Type: "table", Values: 1, Status: text("Healthy"), Message: text("ok")}},
		{"nothing", "", vm.Return{Type: "nil", Status: none, Message: none}},
		{"nil", "return nil", vm.Return{Type: "nil", Values: 1, Status: none, Message: none}},
		{"empty", "return {}", vm.Return{Type: "table", Empty: true, Values: 1, Status: none, Message: none}},
		{"two", "return 1, 'x'", vm.Return{Type: "string", Values: 2, Status: none, Message: none}},
		{"a number", "return {status = 'Degraded', message = 3.0}", vm.Return{Type: "table", Values: 1, Status: text("Degraded"), Message: vm.Entry{Type: "number", Text: "3"}}},
		{"a table", "return {status = true, message = {}}", vm.Return{Type: "table", Values: 1, Status: vm.Entry{Type: "boolean", Text: "true"}, Message: vm.Entry{Type: "table"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := vm.Inspect(test.script, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Type != test.want.Type || got.Empty != test.want.Empty || got.Values != test.want.Values ||
				got.Status != test.want.Status || got.Message != test.want.Message {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestValues keeps the conversion of values at Argo CD's.
func TestValues(t *testing.T) {
	t.Parallel()
	obj := map[string]any{
		"i": int64(3), "f": 3.0, "half": 0.5, "large": int64(9007199254740993), "huge": 1e21, "t": true, "s": "x", "null": nil,
		"holes": []any{"a", nil, "b"}, "empty": []any{}, "map": map[string]any{"end": "e", "1": "one"},
	}
	for expr, want := range map[string]string{
		"obj.i": "3", "obj.f": "3", "obj.half": "0.5", "obj.huge": "1e+21", "obj.large == 9007199254740992": "true", "obj.t": "true",
		"obj.null": "nil", "#obj.holes": "2", "obj.holes[2]": "b", "next(obj.empty)": "nil", "obj.map['end']": "e", "obj.map[1]": "nil", "obj.absent": "nil",
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()
			script := "return {status = 'Healthy', message = tostring(" + expr + ")}"
			v, err := vm.Run(script, false, obj)
			if err != nil || v.Message != want {
				t.Errorf("got %q and error %v, want %q", v.Message, err, want)
			}
			agrees(t, script, false, obj)
		})
	}
}

func TestKeyOrder(t *testing.T) {
	t.Parallel()
	const script = "local m = '' for k in pairs(obj) do m = m .. k end return {status = 'Healthy', message = m}"
	s, err := vm.Compile(script, false)
	if err != nil {
		t.Fatal(err)
	}
	obj := map[string]any{"c": "", "a": "", "b": ""}
	for range 20 {
		forward, err := s.Inspect(obj)
		if err != nil {
			t.Fatal(err)
		}
		backward, err := s.InspectReversed(obj)
		if err != nil {
			t.Fatal(err)
		}
		if forward.Message.Text != "abc" || backward.Message.Text != "cba" {
			t.Fatalf("got %q and %q, want abc and cba", forward.Message.Text, backward.Message.Text)
		}
	}
}

func TestCompileFails(t *testing.T) {
	t.Parallel()
	_, err := vm.Compile("if", false)
	checkError(t, err, 0, "syntax error")
}

// TestBuiltins runs every fixture that Argo CD has for its scripts, in both modes,
// through Argo CD's code and through Inspect.
func TestBuiltins(t *testing.T) {
	t.Parallel()
	fixtures := 0
	for _, k := range vm.Builtins() {
		script, ok := vm.Builtin(k.Group, k.Kind)
		if !ok {
			t.Fatalf("%v is listed and has no script", k)
		}
		if err := vm.Load(script); err != nil {
			t.Errorf("%v: %v", k, err)
		}
		folder := path.Join(k.Group, k.Kind, "testdata")
		entries, err := resource_customizations.Embedded.ReadDir(folder)
		if err != nil {
			t.Logf("%v has no fixtures", k)
		}
		for _, entry := range entries {
			data, err := resource_customizations.Embedded.ReadFile(path.Join(folder, entry.Name()))
			if err != nil {
				continue // a folder of files for the actions
			}
			var obj map[string]any
			if err := yaml.Unmarshal(data, &obj); err != nil {
				t.Fatal(err)
			}
			fixtures++
			t.Run(path.Join(k.Group, k.Kind, entry.Name()), func(t *testing.T) {
				t.Parallel()
				agrees(t, script, true, obj)
				agrees(t, script, false, obj)
				agrees(t, script, true, map[string]any{"metadata": obj["metadata"], "status": map[string]any{}})
			})
		}
	}
	if n := len(vm.Builtins()); n != 182 || fixtures < 700 {
		t.Errorf("got %d scripts and %d fixtures, want the 182 scripts of argo-cd v2.14.21 and their fixtures", n, fixtures)
	}
}

func TestNoBuiltin(t *testing.T) {
	t.Parallel()
	if script, ok := vm.Builtin("example.com", "Widget"); ok || script != "" {
		t.Errorf("got %q", script)
	}
}

// TestFence keeps what a script could reach of the machine out of its reach.
func TestFence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "reached.lua")
	if err := os.WriteFile(file, []byte("return {status = 'Healthy'}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		"return dofile('" + file + "')",
		"return loadfile('" + file + "')()",
		"package.path = '" + dir + "/?.lua' return require('reached')",
		"package.path = '" + dir + "/?.lua' return package.loaders[2]('reached')()",
		"for l in io.lines('" + file + "') do return {status = 'Healthy'} end",
		"return require('io').open('" + file + "')",
		"return package.loaded.io.open('" + file + "')",
		"os.remove('" + file + "') return {status = 'Healthy'}",
		"os.exit(0)",
		"os.execute('true')",
		"package.loaded.os.execute('true')",
		"return {status = os.getenv('PATH')}",
		"channel.make():receive()",
	} {
		for _, openLibs := range []bool{false, true} {
			t.Run(fmt.Sprint(openLibs, script), func(t *testing.T) {
				t.Parallel()
				if v, err := vm.Run(script, openLibs, nil); err == nil {
					t.Errorf("Run gives %q and no error", v)
				}
				if r, err := vm.Inspect(script, openLibs, nil); err == nil {
					t.Errorf("Inspect gives %+v and no error", r)
				}
			})
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// TestPrint is not parallel: it looks at what comes out of the process.
func TestPrint(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = stdout }()
	const script = "print('x') _printregs() return {status = 'Healthy'}"
	_, runErr := vm.Run(script, true, nil)
	_, inspectErr := vm.Inspect(script, false, nil)
	if err := errors.Join(runErr, inspectErr, w.Close()); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(r); err != nil || len(data) > 0 {
		t.Errorf("a script printed %q, error %v", data, err)
	}
}
