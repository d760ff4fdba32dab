package vm_test

import (
	"testing"

	"hallmark.dev/hallmark/lua/vm"
)

func BenchmarkRun(b *testing.B) {
	script, _ := vm.Builtin("cert-manager.io", "Certificate")
	for b.Loop() {
		if _, err := vm.Run(script, false, sample()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInspect(b *testing.B) {
	script, _ := vm.Builtin("cert-manager.io", "Certificate")
	s, err := vm.Compile(script, false)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Inspect(sample()); err != nil {
			b.Fatal(err)
		}
	}
}

func sample() map[string]any {
	return map[string]any{"kind": "Certificate", "metadata": map[string]any{"name": "x", "generation": int64(2)}, "status": map[string]any{
		"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Ready", "message": "up to date"}},
	}}
}
