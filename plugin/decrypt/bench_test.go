package decrypt

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	reference "github.com/getsops/sops/v3/decrypt"

	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/internal/sealtest"
	"hallmark.dev/hallmark/plugin/source"
)

// BenchmarkFiles reads 50 encrypted manifests of 4 KiB through an FS, and decrypts
// them with the library of sops by itself, in turn: x is the median quotient. The
// time of the FS has all that decryption adds to a render, finding keys and
// remembering the values included.
func BenchmarkFiles(b *testing.B) {
	const count, pairs = 50, 15
	key := sealtest.NewKey(b)
	b.Setenv("SOPS_AGE_KEY_FILE", key.File)
	files := map[string]string{}
	for n := range count {
		var text strings.Builder
		fmt.Fprintf(&text, "apiVersion: v1\nkind: Secret\nmetadata:\n    name: s%d\nstringData:\n", n)
		for i := 0; text.Len() < 4<<10; i++ {
			fmt.Fprintf(&text, "    url%d: postgres://app:secret-%d-%d@db.shop.svc:5432/shop?sslmode=require\n", i, n, i)
		}
		files[fmt.Sprintf("s%02d.yaml", n)] = sealtest.Seal(b, "yaml", text.String(), key)
	}
	tree := source.Memory(files)
	ours := func() {
		fsys := New(tree.View(), Options{Keys: Keys{Paths: []string{key.File}}, Secrets: &redact.Values{}})
		for name := range files {
			if _, err := fs.ReadFile(fsys, name); err != nil {
				b.Fatal(err)
			}
		}
	}
	theirs := func() {
		for _, text := range files {
			if _, err := reference.Data([]byte(text), "yaml"); err != nil {
				b.Fatal(err)
			}
		}
	}
	timed := func(work func()) float64 {
		start := time.Now()
		work()
		return time.Since(start).Seconds()
	}
	ours()
	theirs()
	for b.Loop() {
		var ratios, seconds []float64
		for range pairs {
			other := timed(theirs)
			ratios, seconds = append(ratios, timed(ours)/other), append(seconds, other)
		}
		slices.Sort(ratios)
		slices.Sort(seconds)
		b.ReportMetric(ratios[pairs/2], "x")
		b.ReportMetric(seconds[pairs/2], "sops-s")
	}
	b.ReportMetric(0, "ns/op")
}
