package compare

import (
	"fmt"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// decoded returns the objects of a YAML stream.
func decoded(t testing.TB, stream string) []object.Object {
	t.Helper()
	docs, err := yamldoc.Stream("test.yaml", []byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	var out []object.Object
	for _, d := range docs {
		if v, ok := d.Value.(map[string]any); ok {
			out = append(out, object.Object{Value: v})
		}
	}
	return out
}

func shop(t testing.TB, stream string) Rendered {
	t.Helper()
	return Rendered{Objects: decoded(t, stream), Namespace: "shop"}
}

// told is a comparison as text: a line for each object, and one for each field.
func told(objects []Object) string {
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&b, "%s %s", o.Change, o.ID)
		if o.Was != nil {
			fmt.Fprintf(&b, " was %s", o.Was)
		}
		b.WriteByte('\n')
		for i := range o.Fields {
			b.WriteString("  " + toldField(&o.Fields[i]) + "\n")
		}
	}
	return b.String()
}

func toldField(f *Field) string {
	text := map[Change]string{Added: "+ ", Removed: "- ", Changed: "~ "}[f.Change] + f.Path
	if f.Order {
		text += " order"
	}
	switch {
	case f.Hidden:
		return text + " hidden"
	case f.Change == Added:
		text += ": " + short(f.To)
	case f.Change == Removed:
		text += ": " + short(f.From)
	default:
		text += ": " + short(f.From) + " -> " + short(f.To)
	}
	if f.Follows != "" {
		text += " follows " + f.Follows
	}
	return text
}

// trimmed takes the indentation of a Go literal out of a text.
func trimmed(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		if line = strings.TrimPrefix(strings.TrimRight(line, "\n"), "\t\t\t"); strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, "\n") + "\n"
}
