package decrypt

import (
	"strings"
	"testing"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/keyservice"

	"hallmark.dev/hallmark/internal/sealtest"
	"hallmark.dev/hallmark/plugin/source"
)

// seal encrypts text for one group of keys, or for several of which two have to
// open.
func seal(t *testing.T, f format, text string, groups ...sops.KeyGroup) string {
	t.Helper()
	meta := sops.Metadata{KeyGroups: groups}
	if len(groups) > 1 {
		meta.ShamirThreshold = 2
	}
	return sealtest.With(t, string(f), text, meta, keyservice.NewLocalClient())
}

func group(t *testing.T, keys ...sealtest.Key) sops.KeyGroup {
	t.Helper()
	return sealtest.Group(t, keys...)
}

func open(files map[string]string, o Options) *FS { return New(source.Memory(files).View(), o) }

// wantError checks that err holds each text and none of the others.
func wantError(t *testing.T, err error, texts []string, never ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want %q in it", err, text)
		}
	}
	for _, text := range never {
		if strings.Contains(err.Error(), text) {
			t.Errorf("got %q, which holds %q", err, text)
		}
	}
}
