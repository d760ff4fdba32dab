package infer_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/infer"
)

// FuzzDraft: whatever a definition and objects say, a draft is a spec without faults,
// and the same each time.
func FuzzDraft(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "crd.*"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no definitions in testdata, error %v", err)
	}
	for _, file := range files {
		objects, err := filepath.Glob(filepath.Join(filepath.Dir(file), "[ov]*s.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		more := []byte{}
		for _, name := range objects {
			more = readSeed(f, name)
		}
		f.Add(readSeed(f, file), more)
	}
	f.Fuzz(func(t *testing.T, crd, objects []byte) {
		var given []infer.File
		if len(objects) > 0 {
			given = append(given, infer.File{Name: "objects.yaml", Data: objects})
		}
		draft, err := infer.Draft(infer.File{Name: "crd.yaml", Data: crd}, given)
		if err != nil {
			if len(draft) > 0 {
				t.Fatalf("a draft beside the error %v", err)
			}
			return
		}
		again, err := infer.Draft(infer.File{Name: "crd.yaml", Data: crd}, given)
		if err != nil || !bytes.Equal(draft, again) {
			t.Fatalf("another draft from the same input, error %v", err)
		}
		if len(draft) > health.MaxFile {
			t.Skip("more definitions than fit one file of specs")
		}
		for _, check := range parse(t, draft) {
			checkUnknown(t, check)
		}
	})
}

func readSeed(f *testing.F, file string) []byte {
	f.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	return data
}

// FuzzTexts is FuzzDraft with any text in each place where a definition has one.
func FuzzTexts(f *testing.F) {
	f.Add("phase", "Failed", "Ready", "one of Pending, Running, Failed", ".status.phase", "Ready", "Waiting")
	f.Add("x-y", "it's", "a\"b", "can be: `A` or 'B'", `.status.conditions[?(@.type=="Synced")].status`, "Known condition types are: \"Ready\"", "Paused")
	f.Add("in", "\u2028", "\\", "(A|B)", ".status.in", "--- x", "on")
	f.Fuzz(func(t *testing.T, name, value, other, description, path, types, reason string) {
		entry := map[string]any{"type": "object", "properties": map[string]any{"type": map[string]any{"type": "string", "enum": []any{"Ready", value}}, "status": text("")}}
		status := map[string]any{
			name: text(description), name + "State": map[string]any{"type": "string", "enum": []any{value, other}},
			"sub":        map[string]any{"type": "object", "properties": map[string]any{name: text(description, value), "status": text(types, other)}},
			"conditions": map[string]any{"type": "array", "description": types, "items": entry},
			"each":       map[string]any{"type": "array", "items": map[string]any{"properties": map[string]any{"conditions": map[string]any{"type": "array", "items": entry}}}},
		}
		for _, without := range []string{"", "conditions"} {
			delete(status, without)
			crd := encode(t, map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": map[string]any{
				"group": "example.test", "names": map[string]any{"kind": "Thing"},
				"versions": []any{map[string]any{
					"name": name, "storage": true, "additionalPrinterColumns": []any{map[string]any{"name": other, "jsonPath": path}},
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"properties": map[string]any{"status": map[string]any{"properties": status}}}},
				}},
			}})
			object := encode(t, map[string]any{"apiVersion": "example.test/v1", "kind": "Thing", "status": map[string]any{
				name: value, "phase": other, name + "x": map[string]any{"state": value},
				"conditions": []any{map[string]any{"type": other, "status": "False", "reason": reason}, map[string]any{"type": "Ready", "status": value}},
			}})
			draft, err := infer.Draft(infer.File{Name: "crd.json", Data: crd}, []infer.File{{Name: value, Data: object}})
			if err != nil {
				t.Skip(err)
			}
			checkComments(t, string(draft))
			for _, check := range parse(t, draft) {
				if got := verdict(t, check, map[string]any{"metadata": map[string]any{}, "status": map[string]any{"unrelated": "x"}}); got == health.Healthy {
					t.Errorf("Healthy with an unrelated status:\n%s", draft)
				}
			}
		}
	})
}

// text is the schema of a text.
func text(description string, enum ...any) map[string]any {
	s := map[string]any{"type": "string", "description": description}
	if len(enum) > 0 {
		s["enum"] = enum
	}
	return s
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
