package directory

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// utf8Text returns data without a byte order mark, decoded from UTF-16 where
// the mark says so, as Argo CD's reader does. A half character at the end of
// UTF-16 becomes U+FFFD.
func utf8Text(data []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return data
	}
	units := make([]uint16, 0, len(data)/2)
	for rest := data[2:]; len(rest) > 0; rest = rest[2:] {
		if len(rest) == 1 {
			units = append(units, utf8.RuneError)
			break
		}
		units = append(units, order.Uint16(rest))
	}
	return []byte(string(utf16.Decode(units)))
}

// jsonObject reads a .json file, which holds exactly one object.
func jsonObject(file string, text []byte) (object.Object, *diag.Error) {
	line := func(offset int) int { return 1 + bytes.Count(text[:min(offset, len(text))], []byte("\n")) }
	decoder := json.NewDecoder(bytes.NewReader(text))
	var raw json.RawMessage
	err := decoder.Decode(&raw)
	end := int(decoder.InputOffset())
	syntax := (*json.SyntaxError)(nil)
	switch {
	case errors.Is(err, io.EOF):
		return object.Object{}, &diag.Error{File: file, Msg: "got an empty file, want one JSON object"}
	case errors.As(err, &syntax):
		// The text names one character of the input at most.
		return object.Object{}, &diag.Error{File: file, Line: line(int(syntax.Offset)), Msg: "not valid JSON: " + syntax.Error()}
	case err != nil:
		return object.Object{}, &diag.Error{File: file, Line: line(len(text)), Msg: "not valid JSON: the file ends too early"}
	case decoder.More():
		return object.Object{}, &diag.Error{File: file, Line: line(end), Msg: "more than one JSON object; a .json file holds one, a .yaml file may hold several"}
	}
	objs, fault := yamlObjects(file, text[:end])
	switch {
	case fault != nil:
		return object.Object{}, fault
	case len(objs) == 0:
		return object.Object{}, &diag.Error{File: file, Line: line(end), Msg: "got null, want an object"}
	}
	return objs[0], nil
}

// yamlObjects reads a YAML stream up to the first fault; like Argo CD it gives
// no more objects after it.
func yamlObjects(file string, text []byte) ([]object.Object, *diag.Error) {
	docs, err := yamldoc.Stream(file, text)
	var objs []object.Object
	for _, doc := range docs {
		if doc.Value == nil {
			continue
		}
		obj, fault := toObject(file, doc)
		if fault != nil {
			return objs, fault
		}
		objs = append(objs, obj)
	}
	var fault *diag.Error
	if err != nil && !errors.As(err, &fault) {
		fault = &diag.Error{File: file, Msg: err.Error()}
	}
	return objs, fault
}

// toObject holds what decoding into an Unstructured checks: a mapping with a
// kind. An apiVersion that does not parse hides the kind from Kubernetes too.
func toObject(file string, doc yamldoc.Document) (object.Object, *diag.Error) {
	fail := func(msg string) (object.Object, *diag.Error) {
		return object.Object{}, &diag.Error{File: file, Line: doc.Line, Msg: msg}
	}
	var obj object.Object
	switch value := doc.Value.(type) {
	case map[string]any:
		obj = object.Object{Value: value, Origin: file, Line: doc.Line}
	case []any:
		return fail("got an array, want an object")
	default:
		return fail("got a single value, want an object")
	}
	if obj.Kind() == "" {
		return fail("object without kind")
	}
	if strings.Count(obj.APIVersion(), "/") > 1 {
		return fail("apiVersion: got more than one slash, want version or group/version")
	}
	return obj, nil
}
