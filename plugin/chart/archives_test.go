package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"testing/fstest"

	"hallmark.dev/hallmark/internal/diag"
)

type packed struct {
	name string
	data []byte
}

func pack(t *testing.T, entries ...packed) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		if err := w.WriteHeader(&tar.Header{Name: e.name, Mode: 0o600, Size: int64(len(e.data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What the archives of a chart unpack to is bounded together, before any of
// them is unpacked.
func TestArchivesAreBoundedTogether(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	zeros := func(n int) packed { return packed{"db/files/zeros", make([]byte, n)} }
	one := pack(t, zeros(40*kib))
	nested := pack(t, packed{"db/charts/inner.tgz", one})
	windows := pack(t, packed{`db\charts\inner.tgz`, one})
	many := make([]packed, 300)
	for i := range many {
		many[i] = packed{"db/files/x" + strings.Repeat("x", i), nil}
	}
	deep := one
	for range maxArchiveDepth {
		deep = pack(t, packed{"db/charts/a.tgz", deep})
	}
	const tooMuch = "web/charts/b.tgz: with this archive, those in charts/ unpack to more than 102400 bytes"
	tests := map[string]struct {
		files map[string][]byte
		want  string
	}{
		"two fit":                    {map[string][]byte{"charts/a.tgz": one, "charts/b.tgz": one}, ""},
		"three do not":               {map[string][]byte{"charts/a.tgz": one, "charts/a2.tgz": one, "charts/b.tgz": one}, tooMuch},
		"nested":                     {map[string][]byte{"charts/a.tgz": nested, "charts/a2.tgz": nested, "charts/b.tgz": nested}, tooMuch},
		"nested, backslashes":        {map[string][]byte{"charts/a.tgz": windows, "charts/a2.tgz": windows, "charts/b.tgz": windows}, tooMuch},
		"in a folder's charts":       {map[string][]byte{"charts/a.tgz": one, "charts/a2.tgz": one, "charts/db/charts/b.tgz": one}, "web/charts/db/charts/b.tgz: with this archive"},
		"headers":                    {map[string][]byte{"charts/b.tgz": pack(t, many...)}, tooMuch},
		"not unpacked by Helm":       {map[string][]byte{"files/a.tgz": pack(t, zeros(200*kib))}, ""},
		"an archive for its files":   {map[string][]byte{"charts/b.tgz": pack(t, packed{"db/files/x.tgz", pack(t, zeros(200*kib))})}, ""},
		"as deep as allowed":         {map[string][]byte{"charts/a.tgz": nested}, ""},
		"too deep":                   {map[string][]byte{"charts/a.tgz": deep}, "web/charts/a.tgz: more than 8 archives stand in each other"},
		"no archive":                 {map[string][]byte{"charts/a.tgz": []byte("text")}, ""},
		"cut off":                    {map[string][]byte{"charts/a.tgz": one[:20]}, ""},
		"an inner one is no archive": {map[string][]byte{"charts/a.tgz": pack(t, packed{"db/charts/x.tgz", []byte("text")}, zeros(200*kib))}, "web/charts/a.tgz: with this archive"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := chartFS(nil)
			for name, data := range tt.files {
				fsys["web/"+name] = &fstest.MapFile{Data: data}
			}
			c := &Chart{dir: "web"}
			if err := c.loadDir(fsys); err != nil {
				t.Fatal(err)
			}
			err := checkArchives("web", c.files, 100*kib)
			if tt.want == "" {
				if err != nil {
					t.Errorf("got error %v", err)
				}
				return
			}
			wantError(t, err, tt.want)
		})
	}
}

// Load refuses them: twelve such archives took more than two gigabytes.
func TestLoadBoundsArchives(t *testing.T) {
	t.Parallel()
	var large []packed
	for range 8 {
		large = append(large, packed{"db/files/x" + strings.Repeat("x", len(large)), make([]byte, 5<<20)})
	}
	data := pack(t, large...)
	fsys := chartFS(nil)
	for _, name := range []string{"a", "b", "c", "d"} {
		fsys["web/charts/"+name+".tgz"] = &fstest.MapFile{Data: data}
	}
	_, err := Load(fsys, "web")
	wantError(t, err, "web/charts/d.tgz: with this archive, those in charts/ unpack to more than 134217728 bytes")
	if diag.Hint(err) == "" {
		t.Error("got no hint")
	}
}

// Definitions are kept once for a chart, also after many renders, and those of
// an archive are not kept at all: each render unpacks it to other bytes.
func TestDefinitionsAreKeptOnce(t *testing.T) {
	t.Parallel()
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: NAME}\n"
	fsys := chartFS(map[string]string{"crds/a.yaml": strings.Replace(crd, "NAME", "a", 1)})
	fsys["web/charts/db.tgz"] = &fstest.MapFile{Data: pack(t,
		packed{"db/Chart.yaml", []byte("apiVersion: v2\nname: db\nversion: 1.0.0\n")},
		packed{"db/crds/b.yaml", []byte(strings.Replace(crd, "NAME", "b", 1))})}
	ch, err := Load(fsys, "web")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		for _, engine := range engines {
			out, err := ch.Render(t.Context(), engine, Options{ReleaseName: "web"})
			if err != nil || len(out.Objects) != 2 {
				t.Fatalf("%s: got %v, %v", engine, out, err)
			}
		}
	}
	if len(ch.crds) != 1 {
		t.Errorf("got %d files kept, want 1", len(ch.crds))
	}
	for _, d := range ch.crds {
		if len(d.objects) != 1 {
			t.Errorf("got %d documents kept, want 1", len(d.objects))
		}
	}
}
