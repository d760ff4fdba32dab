// Package reposerver speaks to Argo CD's repo-server as its other programs do,
// with messages that are put together by hand: Argo CD's generated code comes
// with the modules of half of Kubernetes.
package reposerver

import (
	"fmt"
	"iter"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message is an encoded protocol buffer. The numbers of the fields are those of
// Argo CD's .proto files (reposerver/repository, cmpserver/plugin,
// pkg/apis/application/v1alpha1).
type Message []byte

// Text adds a string.
func (m Message) Text(field protowire.Number, s string) Message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

// Message adds a message.
func (m Message) Message(field protowire.Number, inner Message) Message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), inner)
}

// Flag adds a bool that is true.
func (m Message) Flag(field protowire.Number) Message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), 1)
}

// Texts returns the values of a repeated field of strings.
func (m Message) Texts(t testing.TB, field protowire.Number) []string {
	t.Helper()
	var out []string
	for number, value := range m.fields(t) {
		if number == field {
			out = append(out, string(value))
		}
	}
	return out
}

// fields goes through the strings and messages of m, and the bools that are
// true, whose value is nil.
func (m Message) fields(t testing.TB) iter.Seq2[protowire.Number, Message] {
	t.Helper()
	return func(yield func(protowire.Number, Message) bool) {
		for rest := m; len(rest) > 0; {
			number, kind, n := protowire.ConsumeTag(rest)
			if n < 0 {
				t.Fatal(protowire.ParseError(n))
			}
			rest = rest[n:]
			if n = protowire.ConsumeFieldValue(number, kind, rest); n < 0 {
				t.Fatal(protowire.ParseError(n))
			}
			more := true
			switch kind {
			case protowire.BytesType:
				value, _ := protowire.ConsumeBytes(rest)
				more = yield(number, value)
			case protowire.VarintType:
				if value, _ := protowire.ConsumeVarint(rest); protowire.DecodeBool(value) {
					more = yield(number, nil)
				}
			}
			if !more {
				return
			}
			rest = rest[n:]
		}
	}
}

// Codec hands messages to gRPC as they are.
type Codec struct{}

// Name is that of the codec in whose place it is.
func (Codec) Name() string { return "proto" }

// Marshal takes a *Message.
func (Codec) Marshal(v any) ([]byte, error) {
	m, ok := v.(*Message)
	if !ok {
		return nil, fmt.Errorf("encoding a %T, want a message", v)
	}
	return *m, nil
}

// Unmarshal fills a *Message.
func (Codec) Unmarshal(data []byte, v any) error {
	m, ok := v.(*Message)
	if !ok {
		return fmt.Errorf("decoding into a %T, want a message", v)
	}
	*m = data
	return nil
}

// Largest is the most bytes of a message, as by default in Argo CD.
const Largest = 100 << 20
