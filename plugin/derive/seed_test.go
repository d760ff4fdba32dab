package derive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
)

func TestReadSeed(t *testing.T) {
	t.Parallel()
	const key = "N2Uu4hFf0mXo9kzqWbC1tYpLrS8vGdJe"
	for name, tt := range map[string]struct {
		data, fault string
	}{
		"32 bytes":   {key, ""},
		"line end":   {key + "\n", ""},
		"CRLF":       {key + "\r\n", ""},
		"hex":        {strings.Repeat("0123456789abcdef", 4), ""},
		"binary":     {string([]byte{0, 255}) + key, ""},
		"short":      {key[1:], `seed "main": got 31 bytes, want at least 32`},
		"line ends":  {key[1:] + "\n\n", `seed "main": got 31 bytes, want at least 32`},
		"empty":      {"", `seed "main": got 0 bytes, want at least 32`},
		"long":       {strings.Repeat(key, 129), `seed "main": got 4128 bytes, want at most 4096`},
		"one letter": {strings.Repeat("x", 64), `seed "main": the bytes repeat, want a random key`},
		"few":        {strings.Repeat("passwords", 8), `seed "main": the bytes repeat, want a random key`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed, err := ReadSeed("main", []byte(tt.data))
			if tt.fault == "" {
				if err != nil || seed.ID() != "main" {
					t.Fatalf("got %v, %v", seed, err)
				}
				return
			}
			if err == nil || err.Error() != tt.fault || !strings.Contains(diag.Hint(err), "/dev/urandom") {
				t.Errorf("got %v, %q, want %s", err, diag.Hint(err), tt.fault)
			}
		})
	}
	with, _ := ReadSeed("a", []byte(key+"\n"))
	without, _ := ReadSeed("b", []byte(key))
	if !bytes.Equal(read(with.stream("x"), 40), read(without.stream("x"), 40)) {
		t.Error("a line end or the id makes another seed")
	}
}

// However a seed is printed, alone or in what holds it, the key does not show.
func TestSeedIsNotPrinted(t *testing.T) {
	t.Parallel()
	const key = "N2Uu4hFf0mXo9kzqWbC1tYpLrS8vGdJe"
	data := []byte(key)
	seed, err := ReadSeed("main", data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data)
	if again, _ := ReadSeed("main", []byte(key)); !bytes.Equal(read(seed.stream(), 8), read(again.stream(), 8)) {
		t.Error("the seed shares memory with what it was read from")
	}
	var out bytes.Buffer
	for _, v := range []any{seed, *seed, Options{Seed: seed}, &Options{Seed: seed}, []*Seed{seed}, map[string]Seed{"a": *seed}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
			fmt.Fprintf(&out, verb, v)
		}
		if text, err := json.Marshal(v); err == nil {
			t.Errorf("%T is written as %s", v, text)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", v)
	}
	if text, err := seed.MarshalText(); err == nil {
		t.Errorf("written as %s", text)
	}
	for _, form := range []string{key, key[:8], fmt.Sprintf("%x", key[:8]), fmt.Sprint([]byte(key[:6]))[1:20]} {
		if strings.Contains(out.String(), form) {
			t.Errorf("%s shows in\n%s", form, out.String())
		}
	}
	if !strings.Contains(out.String(), `seed "main"`) {
		t.Error("the id does not show")
	}
}
