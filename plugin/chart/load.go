package chart

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/source"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"
)

// Chart is a chart's files as they were read. It can be rendered any number of
// times, also at once, with either engine.
type Chart struct {
	dir   string
	files []file
	// crds holds the decoded form of the files below crds/ folders by their
	// first byte: Helm hands out the bytes that it was given. It does not hold
	// those of archives, which each render unpacks anew.
	crds map[*byte]*decodedFile
	// secret says that a file among them was decrypted.
	secret bool
}

// file is one file of a chart, its name relative to the chart's folder.
type file struct {
	name string
	data []byte
	// sealed says that data is encrypted, see sealed.go.
	sealed bool
}

// Dir is the chart's folder in the tree.
func (c *Chart) Dir() string { return c.dir }

// Size is the sum of the bytes of the chart's files.
func (c *Chart) Size() int64 {
	var size int64
	for _, f := range c.files {
		size += int64(len(f.data))
	}
	return size
}

// Digest is the same for two charts whose folders and files are: either can be
// rendered in the place of the other.
func (c *Chart) Digest() [sha256.Size]byte {
	list := sha256.New()
	fmt.Fprintf(list, "%q\n", c.dir)
	for _, f := range c.files {
		fmt.Fprintf(list, "%q %x\n", f.name, sha256.Sum256(f.data))
	}
	return [sha256.Size]byte(list.Sum(nil))
}

var utf8BOM = []byte{0xEF, 0xBB, 0xBF}

// Load reads the chart in the folder dir of fsys, or the packaged chart if dir
// ends in .tgz. The files are not parsed yet.
func Load(fsys fs.FS, dir string) (*Chart, error) {
	c := &Chart{dir: dir, crds: map[*byte]*decodedFile{}}
	var err error
	if strings.HasSuffix(dir, ".tgz") {
		err = c.loadArchive(fsys)
	} else {
		err = c.loadDir(fsys)
	}
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(c.files, func(f file) bool { return f.name == "Chart.yaml" }) {
		return nil, &diag.Error{File: path.Join(dir, "Chart.yaml"), Msg: "the chart has no Chart.yaml"}
	}
	if err := checkArchives(dir, c.files, maxUnpacked); err != nil {
		return nil, err
	}
	for _, f := range c.files {
		if len(f.data) > 0 && strings.Contains("/"+f.name, "/crds/") {
			c.crds[&f.data[0]] = &decodedFile{}
		}
	}
	return c, nil
}

// loadDir lists the chart's folder as Helm's directory loader does: symbolic
// links are followed, .helmignore applies, byte order marks are dropped.
func (c *Chart) loadDir(fsys fs.FS) error {
	dir := c.dir
	rules, err := ignoreRules(fsys, dir)
	if err != nil {
		return err
	}
	return source.Walk(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := relative(dir, name)
		if rel == "." {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if rules.Ignore(rel, info) {
			if info.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if info.IsDir() {
			return nil
		}
		if !info.Mode().IsRegular() {
			return &diag.Error{File: name, Msg: "a chart may hold regular files only"}
		}
		if info.Size() > loader.MaxDecompressedFileSize {
			return &diag.Error{File: name, Msg: fmt.Sprintf("the file has %d bytes; Helm accepts %d in a chart", info.Size(), loader.MaxDecompressedFileSize)}
		}
		f, err := c.read(fsys, name, rel)
		if err != nil {
			return err
		}
		f.data = bytes.TrimPrefix(f.data, utf8BOM)
		c.files = append(c.files, f)
		return nil
	})
}

// ignoreRules reads .helmignore. Both Helm versions read it alike.
func ignoreRules(fsys fs.FS, dir string) (*ignore.Rules, error) {
	name := path.Join(dir, ignore.HelmIgnore)
	rules := ignore.Empty()
	data, err := fs.ReadFile(fsys, name)
	switch {
	case err == nil:
		if rules, err = ignore.Parse(bytes.NewReader(data)); err != nil {
			return nil, &diag.Error{File: name, Msg: err.Error()}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	rules.AddDefaults()
	return rules, nil
}

func (c *Chart) loadArchive(fsys fs.FS) error {
	archive, err := c.read(fsys, c.dir, "charts/"+path.Base(c.dir))
	if err != nil {
		return err
	}
	// The archive reader of Helm bounds what it unpacks and refuses paths that
	// leave the chart. Both versions read archives alike.
	buffered, err := loader.LoadArchiveFiles(bytes.NewReader(archive.data))
	if err != nil {
		return &diag.Error{File: c.dir, Msg: err.Error()}
	}
	for _, f := range buffered {
		c.files = append(c.files, file{name: f.Name, data: f.Data})
	}
	return nil
}

func relative(dir, name string) string {
	if dir == "." {
		return name
	}
	if name == dir {
		return "."
	}
	return strings.TrimPrefix(name, dir+"/")
}

// byNameAndVersion is the order in which dependencies are visited; 0.10.0 comes
// behind 0.9.0.
func byNameAndVersion(nameA, versionA, nameB, versionB string) int {
	return cmp.Or(strings.Compare(nameA, nameB), compareVersions(versionA, versionB), strings.Compare(versionA, versionB))
}

func compareVersions(a, b string) int {
	left, errA := semver.NewVersion(a)
	right, errB := semver.NewVersion(b)
	if errA != nil || errB != nil {
		return 0
	}
	return left.Compare(right)
}

// decodedFile is a file of the crds/ folder. Such files are not templates: they
// come out as they are, so they are decoded once for a chart.
type decodedFile struct {
	once    sync.Once
	objects []object.Object
	err     error
}

func (d *decodedFile) decode(f namedFile) ([]object.Object, error) {
	d.once.Do(func() {
		defer func() {
			if recover() != nil { // or the next render would find no documents
				d.err = ErrPanic
			}
		}()
		d.objects, d.err = decodeFile(f)
	})
	return d.objects, d.err
}

func decodeFile(f namedFile) ([]object.Object, error) {
	// As for manifests, a line end follows what the file holds.
	docs, err := yamldoc.Stream(f.name, append(slices.Clip(f.data), '\n'))
	if err != nil {
		return nil, err
	}
	var objects []object.Object
	for _, d := range docs {
		switch v := d.Value.(type) {
		case nil:
		case map[string]any:
			objects = append(objects, object.Object{Value: v, Origin: f.name, Line: d.Line, Memo: &object.Memo{}, Body: &object.Memo{}})
		default:
			return nil, &diag.Error{File: f.name, Line: d.Line, Msg: fmt.Sprintf("the document is %s, want a mapping", describe(v))}
		}
	}
	return objects, nil
}

// namedFile is a file with the name that Helm prints for it.
type namedFile struct {
	name string
	data []byte
}

// decoded returns the place where the decoded form of f is kept.
func (c *Chart) decoded(f namedFile) *decodedFile {
	if len(f.data) > 0 {
		if d := c.crds[&f.data[0]]; d != nil {
			return d
		}
	}
	return &decodedFile{}
}
