package rules

import (
	"reflect"
	"slices"
	"testing"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// FuzzCheck feeds whatever YAML can hold: nothing of it makes a rule panic, and a second
// look at the same objects finds the same, so that no rule changes what it reads.
func FuzzCheck(f *testing.F) {
	for _, rule := range All() {
		bad, good := rule.Examples()
		f.Add(bad)
		f.Add(good)
		f.Add(bad + "---\n" + good)
	}
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := yamldoc.Limits{}.Stream("fuzz.yaml", []byte(text))
		if err != nil {
			return
		}
		var list []object.Object
		for _, d := range docs {
			if m, ok := d.Value.(map[string]any); ok {
				list = append(list, object.Object{Value: m, Origin: "fuzz.yaml", Line: d.Line})
			}
		}
		before := slices.Clone(list)
		first := Check(list, bookOptions())
		if second := Check(list, bookOptions()); !reflect.DeepEqual(first, second) {
			t.Errorf("got\n%+v\nand then\n%+v", first, second)
		}
		if !reflect.DeepEqual(before, list) {
			t.Error("the list of objects is another")
		}
	})
}
