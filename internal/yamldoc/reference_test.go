package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	goyaml "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// reference decodes a document as Argo CD does. It turns panics of the library
// into errors, as this package does.
func reference(data []byte) (v any, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	text, err := sigsyaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	err = utiljson.Unmarshal(text, &v)
	return v, err
}

// referenceSplit reads a stream as Argo CD does and stops at the first error.
// Argo CD opens files through a reader that decodes them by their byte order
// mark; stripBOM, which has a test of its own, stands for it.
func referenceSplit(data []byte) (values []any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	data, fault := stripBOM(data)
	if fault != nil {
		return nil, fault
	}
	dec := kubeyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var ext runtime.RawExtension
		err := dec.Decode(&ext)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return values, err
		}
		var v any
		if len(ext.Raw) > 0 {
			if err := utiljson.Unmarshal(ext.Raw, &v); err != nil {
				return values, err
			}
		}
		values = append(values, v)
	}
}

// ambiguous reports whether a document has keys that only JSON holds for equal;
// then the reference is not deterministic.
func ambiguous(data []byte) bool {
	v, err := unmarshal(data)
	return err == nil && collides(v)
}

func collides(v any) bool {
	switch v := v.(type) {
	case map[any]any:
		seen := map[string]bool{}
		for k, item := range v {
			key, _ := keyString(k)
			if seen[key] || collides(item) {
				return true
			}
			seen[key] = true
		}
	case []any:
		for _, item := range v {
			if collides(item) {
				return true
			}
		}
	}
	return false
}

// checkDecode compares Decode and the fast path alone with the reference, and
// reports whether the fast path took the document.
func checkDecode(t testing.TB, data []byte) (fastTaken bool) {
	t.Helper()
	if ambiguous(data) {
		return false
	}
	want, wantErr := reference(data)
	got, err := Decode("f.yaml", data)
	switch {
	case (err == nil) != (wantErr == nil):
		t.Fatalf("error %v, reference %v, for\n%s", err, wantErr, quoteText(data))
	case err == nil:
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("Decode differs (-reference +got) for\n%s\n%s", quoteText(data), diff)
		}
	}
	p := &fast{maxDepth: 512}
	v, ok := p.parse(string(data))
	if !ok {
		return false
	}
	if wantErr != nil {
		t.Fatalf("the fast path took what the reference refuses (%v):\n%s", wantErr, quoteText(data))
	}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Fatalf("the fast path differs (-reference +got) for\n%s\n%s", quoteText(data), diff)
	}
	return true
}

// checkSplit compares Stream with the reference.
func checkSplit(t testing.TB, data []byte) {
	t.Helper()
	docs := Split(data)
	for _, d := range docs {
		if !d.json && ambiguous(d.Text) {
			return
		}
	}
	// The difference that the package comment owns up to.
	if i := bytes.LastIndexByte(data, '\n') + 1; i < len(data) && (len(data)-i)%4096 == 0 {
		return
	}
	want, wantErr := referenceSplit(data)
	docs, err := Stream("f.yaml", data)
	var got []any
	for _, d := range docs {
		got = append(got, d.Value)
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("error %v, reference %v, for\n%s", err, wantErr, quoteText(data))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Stream differs (-reference +got) for\n%s\n%s", quoteText(data), diff)
	}
}

// checkRoundTrip prints v and reads it back with both libraries and with Decode.
func checkRoundTrip(t testing.TB, v any) {
	t.Helper()
	text := AppendYAML(nil, v)
	nan := cmpopts.EquateNaNs()
	var v2 any
	if err := goyaml.Unmarshal(text, &v2); err != nil {
		t.Fatalf("yaml v2: %v, for\n%s", err, quoteText(text))
	}
	if diff := cmp.Diff(v, plainTypes(v2), nan); diff != "" {
		t.Fatalf("yaml v2 reads another value (-printed +read) from\n%s\n%s", quoteText(text), diff)
	}
	var v3 any
	if err := yamlv3.Unmarshal(text, &v3); err != nil {
		t.Fatalf("yaml v3: %v, for\n%s", err, quoteText(text))
	}
	if diff := cmp.Diff(v, plainTypes(v3), nan); diff != "" {
		t.Fatalf("yaml v3 reads another value (-printed +read) from\n%s\n%s", quoteText(text), diff)
	}
	if got := AppendYAML(nil, v); !bytes.Equal(got, text) {
		t.Fatalf("two printings differ:\n%s\n%s", text, got)
	}
	checkDecode(t, text)
}

// plainTypes gives a value of a YAML library the types of this package, and
// changes nothing else.
func plainTypes(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			key, ok := k.(string)
			if !ok {
				key = fmt.Sprintf("%T %[1]v", k)
			}
			out[key] = plainTypes(item)
		}
		return out
	case map[string]any:
		for k, item := range v {
			v[k] = plainTypes(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plainTypes(item)
		}
	}
	return v
}

func quoteText(data []byte) string {
	if len(data) > 2000 {
		data = data[:2000]
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(string(data), "?"))
}
