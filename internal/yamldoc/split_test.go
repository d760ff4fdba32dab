package yamldoc

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

var streams = []string{
	"", "\n", "---", "---\n", "---\n---\n", "a: b", "a: b\n---", "a: b\n---\n", "a: b\n---\n---\nc: d\n", "---\na: b\n---\nc: d\n---\n",
	"a: b\n--- \nc: d\n", "a: b\n---\t\nc: d\n", "a: b\n--- # comment\nc: d\n", "a: b\n---# c\nc: d\n", "a: b\n---\u00a0\nc: d\n", "\n\n---\na: b\n", "# c\n---\na: b\n", "a: b\n---\n# only\n---\nc: d\n", "a: b\n\n---\n\nc: d\n",
	"a: b\n---c\n", "a: b\n----\nc: d\n", "--- a\n", "a: b\n---\nc: d\n--- x\ne: f\n", "a: b\n --- \nc: d\n", "a: |\n  ---\n  b\n---\nc: d\n", "a: 'b\n---\nc'\n", "a\n---\nb\n",
	"a: b\n...\n---\nc: d\n", "a: b\n...\nc: d\n", "a: b\r\n---\r\nc: d\r\n", "a: |\r\n  b\r\n  c\r\n---\r\nd: e", "a: b\r\r\n---\nc: d\n", "a: b\r---\rc: d", "a: |\n  b", "a: |+\n  b\n\n---\nc: d\n",
	"{}", "{}\n", "{} {}", "{\"a\": 1}\n{\"b\": 2}\n{\"c\": 3}", "{\"a\": 1.0}", "{\"a\": 1e2, \"b\": 12345678901234567890, \"c\": \"\\/\\ud83d\\ude00\"}", " \n\t{\"a\": 1}", "{\"a\": 1}\n---\n{\"b\": 2}\n---\n{\"c\": 3.0}\n", "{\"a\": 1}{\"b\": 2}\n---\n{\"c\": 3}\n", "{\"a\": 1}\n---\nb: c\n", "{\"a\": 1} x", "{\"a\": 1}\nab", "{\"a\": 1}\n--", "{\"a\": 1}   \n\n  b: c\n", "{\"a\": 1}  b: c\n",
	"{a: b}\n", "{a: b}\n---\n{c: d}\n", "{\"a\": \n", "{\"a\": 1}\n{\"b\"", "{} [] 1 \"x\" null true", "{}{}x", "{}\n{a: b}\n", "{\"a\": 1e999}", "{\"a\": 1, \"a\": 2}", "---\n{\"a\": 1.0}\n", "[1]\n", "{}\ufffdabcd", "{}\xffabcd", "{\"a\":\"\\u0000\"}", "null\n---\na: b\n", "{}\n\n\n---\na: b\nc\n",
}

func TestStreamIsTheKubernetesDecoder(t *testing.T) {
	t.Parallel()
	for _, text := range streams {
		t.Run(fmt.Sprintf("%.40q", text), func(t *testing.T) {
			t.Parallel()
			checkSplit(t, []byte(text))
			checkSplit(t, []byte(strings.ReplaceAll(text, "\n", "\r\n")))
			checkSplit(t, []byte("\ufeff"+text))
			checkSplit(t, []byte(strings.Repeat(" ", 4095)+text))
			checkSplit(t, []byte(strings.Repeat(" ", 4096)+text))
			checkSplit(t, []byte(text+"\n---\n"+text))
		})
	}
}

// One line below, at and above the buffer of the Kubernetes line reader.
func TestStreamOfLongLines(t *testing.T) {
	t.Parallel()
	for _, n := range []int{4090, 4095, 4096, 4097, 8192, 70000} {
		line := "a: " + strings.Repeat("x", n-3)
		checkSplit(t, []byte(line+"\n---\nb: c\n"))
		checkSplit(t, []byte(line+"\r\n---\r\nb: c\r\n"))
		docs, err := Stream("f", []byte("b: c\n---\n"+line))
		if err != nil || len(docs) != 2 {
			t.Errorf("last line of %d bytes: got %d documents and error %v, want 2", n, len(docs), err)
		}
	}
}

func TestSplitLines(t *testing.T) {
	t.Parallel()
	type doc struct {
		Line int
		Text string
	}
	for _, tc := range []struct {
		name, data string
		want       []doc
	}{
		{"leading separator", "---\na: b\n---\nc: d", []doc{{1, "---\na: b\n"}, {4, "c: d\n"}}},
		{"comment document", "# c\n--- # x\na: b\n", []doc{{1, "# c\n"}, {3, "a: b\n"}}},
		{"blank lines", "\n\na: b\n---\n\n---\nc: d\n", []doc{{1, "\n\na: b\n"}, {5, "\n"}, {7, "c: d\n"}}},
		{"carriage returns", "a: b\r\n---\r\nc: d\r\n", []doc{{1, "a: b\n"}, {3, "c: d\n"}}},
		{"json", "\n {\"a\": 1}\n\n{\"b\":\n2} {}\n", []doc{{2, "{\"a\": 1}"}, {4, "{\"b\":\n2}"}, {5, "{}"}}},
		{"json, then yaml", "{\"a\": 1}\n---\nb: c\n---\nd: e\n", []doc{{1, "{\"a\": 1}"}, {2, "---\nb: c\n"}, {5, "d: e\n"}}},
		{"empty", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []doc
			for _, d := range Split([]byte(tc.data)) {
				got = append(got, doc{d.Line, string(d.Text)})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestUTF16(t *testing.T) {
	t.Parallel()
	const text = "a: b\n---\nc: \U0001F600é\n"
	for _, order := range []string{"\xff\xfe", "\xfe\xff"} {
		data := []byte(order)
		for _, unit := range utf16.Encode([]rune(text)) {
			if order[0] == 0xff {
				data = binary.LittleEndian.AppendUint16(data, unit)
			} else {
				data = binary.BigEndian.AppendUint16(data, unit)
			}
		}
		docs, err := Stream("f", data)
		if err != nil || len(docs) != 2 {
			t.Fatalf("got %d documents, error %v", len(docs), err)
		}
		if diff := cmp.Diff(map[string]any{"c": "\U0001F600é"}, docs[1].Value); diff != "" {
			t.Error(diff)
		}
		if _, err := Decode("f", data[:len(data)-1]); err == nil || !strings.Contains(err.Error(), "f:3: invalid UTF-16") {
			t.Errorf("half a code unit: got %v", err)
		}
		if _, err := Stream("f", append([]byte(order), 0xd8, 0xd8)); err == nil || !strings.Contains(err.Error(), "half a surrogate pair") {
			t.Errorf("half a pair: got %v", err)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, text := range streams {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkSplit(t, data)
	})
}
