package plugin

import (
	"fmt"
	"io"
	"io/fs"
	"path"

	"hallmark.dev/hallmark/plugin/source"
)

// TreeLimits bound the tree of a repository.
type TreeLimits = source.Limits

// Receive takes the tree of the request from a gzipped tar archive, as Argo CD
// sends it to a plugin. sent is the application's folder in the archive; Path
// becomes its folder in the repository. Nothing is written to disk.
func (r *Request) Receive(archive io.Reader, sent string, limits TreeLimits) error {
	app := path.Clean(sent)
	if !fs.ValidPath(app) {
		return fmt.Errorf("application path %q leaves the repository root", sent)
	}
	part := PartOfRepository(r.Path, app)
	tree, err := source.Archive{Limits: limits, App: app, Prefix: part}.Read(archive)
	if err != nil {
		return err
	}
	r.Tree, r.Path = tree, path.Join(part, app)
	return nil
}
