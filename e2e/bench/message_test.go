package bench

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is an encoded protocol buffer. The few that are needed are put
// together by hand, with the numbers of the fields from Argo CD's .proto files
// (reposerver/repository, cmpserver/plugin, pkg/apis/application/v1alpha1): its
// generated code comes with the modules of half of Kubernetes.
type message []byte

func (m message) text(field protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m message) message(field protowire.Number, inner message) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), inner)
}

func (m message) flag(field protowire.Number) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), 1)
}

// texts returns the values of a repeated field of strings.
func (m message) texts(t testing.TB, field protowire.Number) []string {
	t.Helper()
	var out []string
	for len(m) > 0 {
		number, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		m = m[n:]
		if number == field && kind == protowire.BytesType {
			s, _ := protowire.ConsumeString(m)
			out = append(out, s)
		}
		if n = protowire.ConsumeFieldValue(number, kind, m); n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		m = m[n:]
	}
	return out
}

// codec hands messages to gRPC as they are.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) ([]byte, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("encoding a %T, want a message", v)
	}
	return *m, nil
}

func (codec) Unmarshal(data []byte, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("decoding into a %T, want a message", v)
	}
	*m = data
	return nil
}

// largest is the most bytes of a message, as by default in Argo CD.
const largest = 100 << 20
