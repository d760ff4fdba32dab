package vm_test

import (
	"strings"
	"testing"

	"hallmark.dev/hallmark/lua/vm"
)

// FuzzInspect runs any text as a script, through Argo CD's code and through Inspect.
// No map of the object has more than one key, because Argo CD's pairs visits keys in a
// random order.
func FuzzInspect(f *testing.F) {
	for _, k := range vm.Builtins() {
		if script, _ := vm.Builtin(k.Group, k.Kind); len(script) < 1500 {
			f.Add(script)
		}
	}
	f.Add("return {status = 'Healthy', message = obj.status.conditions[1].type}")
	f.Add("return {status = obj.status, [1] = 1}, {}")
	object := map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready"}, nil, map[string]any{"status": "True"}, "text", 3.5, int64(1) << 60, true, []any{},
	}}}
	f.Fuzz(func(t *testing.T, script string) {
		if _, err := vm.Read(script); (err == nil) != parses(vm.Load(script)) {
			t.Errorf("Read gives error %v, Load %v", err, vm.Load(script))
		}
		want, wantErr := vm.Run(script, false, object)
		r, err := vm.Inspect(script, false, object)
		var got vm.Verdict
		if err == nil {
			got, err = r.Verdict()
		}
		if describe(err) == describe(wantErr) && got == want {
			return
		}
		// The clock and the addresses of tables and functions differ from run to run.
		if both := describe(err) + describe(wantErr) + got.Message + want.Message; strings.Contains(both, "0x") ||
			strings.Contains(both, "deadline") || strings.Contains(script, "os") {
			t.Skip()
		}
		t.Errorf("Inspect gives %q and error %v, Run gives %q and error %v", got, err, want, wantErr)
	})
}

// parses tells whether a script has no fault of the syntax. The limits of the compiler
// are no matter of the syntax.
func parses(err error) bool {
	if err == nil {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "compile error") || strings.Contains(text, "interpreter gave up")
}
