// Package directory reads a folder of plain manifests, as Argo CD's directory
// source does.
//
// [Load] walks the folder in lexical order and takes every file that ends in
// .yaml, .yml or .json. Globs are matched against the path relative to the
// folder, by the library that Argo CD uses and without separators, so that "*"
// crosses slashes; exclude wins over include. A file whose text holds
// "+argocd:skip-file-rendering" anywhere is passed over. A .json file holds one
// object; any other file is a stream of YAML documents or of JSON values.
//
// Argo CD passes over a YAML file that does not parse, or whose document has no
// kind, unless the text looks like a manifest or an object stands in front of
// the fault; so does Load, and it names the file in a warning.
//
// Where hallmark differs:
//   - A .jsonnet file is refused. Evaluating it needs libraries and variables
//     that a plugin is not given.
//   - A glob that does not compile is refused. Argo CD logs it and then matches
//     nothing, which with include is an empty render.
//   - A document of hallmark's own configuration (apiVersion hallmark.dev/v1,
//     kind Render, RenderPolicy or HealthCheck) is no manifest and is passed over.
//   - A file .sops.yaml configures sops and is passed over without a warning.
//   - Nothing bounds the sum of the file sizes here: that is for fsys to do.
//
// A kustomization or a chart in the folder is a file like any other. Lists are
// not expanded here, nor are objects checked beyond their kind; package gate
// does both.
//
// Sources: findManifests and what it calls in Argo CD's
// reposerver/repository/repository.go, at 2.14 and, for the marker, 3.3.
package directory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gobwas/glob"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/source"
)

// Options are the fields of Argo CD's directory source.
type Options struct {
	// Recurse takes the folders below as well.
	Recurse bool
	// Include and Exclude are globs; empty means every file and no file.
	Include, Exclude string
}

// sopsConfig is the file in which sops finds its rules for encrypting.
const sopsConfig = ".sops.yaml"

const (
	skipMarker = "+argocd:skip-file-rendering"

	hintNoManifest = "a file that is no manifest can be left out with the parameter \"directory-exclude\" or with the comment \"# " + skipMarker + "\" in it"
	hintJsonnet    = "leave jsonnet out with the parameter \"directory-exclude\", or let Argo CD render this application without the plugin"
)

// Load returns the objects below dir, a path in fsys, in the order of the
// files and of the documents in them. Origins are paths in fsys.
//
// The warnings name files that hold no manifest although their name says so;
// the render is what Argo CD's would be. An error lists all faults.
//
// A symlink is followed to a file and never to a folder. What lies outside is
// for fsys to decide: a link whose target does not exist is a warning, any other
// error of fsys is one of Load.
func Load(ctx context.Context, fsys fs.FS, dir string, o Options) (objs []object.Object, warnings diag.List, err error) {
	l := loader{fsys: fsys, dir: dir}
	if l.include, err = compile("directory-include", o.Include); err != nil {
		return nil, nil, err
	}
	if l.exclude, err = compile("directory-exclude", o.Exclude); err != nil {
		return nil, nil, err
	}
	err = fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !d.IsDir():
			return l.file(name, d)
		case name != dir && !o.Recurse:
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reading the directory %q: %w", dir, err)
	}
	if len(l.faults) > 0 {
		l.sealed = append(l.sealed, diag.WithHint(l.faults.Err(), l.hint))
	}
	if err := errors.Join(l.sealed...); err != nil {
		return nil, nil, err
	}
	return l.objs, l.warnings, nil
}

// maxAlternatives bounds the {a,b} groups of one glob. The matcher tries all
// their combinations, and a pattern of forty would take longer than anyone waits.
const maxAlternatives = 8

func compile(parameter, pattern string) (glob.Glob, error) {
	if pattern == "" {
		return nil, nil
	}
	if n := strings.Count(pattern, "{"); n > maxAlternatives {
		return nil, fmt.Errorf("parameter %q: the glob has %d groups of alternatives, more than %d", parameter, n, maxAlternatives)
	}
	g, err := glob.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("parameter %q: the glob %q does not compile: %w", parameter, pattern, err)
	}
	return g, nil
}

type loader struct {
	fsys             fs.FS
	dir              string
	include, exclude glob.Glob // nil where there is none

	objs             []object.Object
	warnings, faults diag.List
	hint             string // for the first of the faults
	// sealed are the errors of files that cannot be decrypted: the same key is
	// often missing for several, and all are told at once.
	sealed []error
}

// file takes what stands at name. The order of the questions is Argo CD's: a
// broken link is an error even where a glob would have left it out.
func (l *loader) file(name string, d fs.DirEntry) error {
	if path.Base(name) == sopsConfig {
		return nil
	}
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json", ".jsonnet":
	default:
		return nil
	}
	info, err := fs.Stat(l.fsys, name)
	link := d.Type()&fs.ModeSymlink != 0
	switch {
	case link && errors.Is(err, fs.ErrNotExist):
		l.warnings.Addf(name, 0, 0, "the target of the symlink is missing")
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		l.warnings.Addf(name, 0, 0, "passed over: it is no regular file")
		return nil
	}
	relative := strings.TrimPrefix(name, l.dir+"/")
	taken, err := l.takes(relative)
	if err != nil || !taken {
		return err
	}
	data, open, err := source.ReadSealed(l.fsys, name)
	if err != nil {
		return err
	}
	if open != nil {
		if data, err = open(); err != nil {
			l.sealed = append(l.sealed, err)
			return nil
		}
	}
	text := utf8Text(data)
	switch {
	case bytes.Contains(text, []byte(skipMarker)):
	case path.Ext(name) == ".jsonnet":
		l.fault(hintJsonnet, &diag.Error{File: name, Msg: "hallmark does not evaluate jsonnet"})
	case path.Ext(name) == ".json":
		obj, err := jsonObject(name, text)
		if err != nil {
			l.fault(hintNoManifest, err)
			return nil
		}
		l.add(obj)
	default:
		objs, err := yamlObjects(name, text)
		if err != nil && (len(objs) > 0 || looksLikeManifest(text)) {
			l.fault(hintNoManifest, err)
			return nil
		}
		if err != nil {
			l.warnings.Add(&diag.Error{File: err.File, Line: err.Line, Col: err.Col, Msg: "passed over: " + err.Msg})
			return nil
		}
		l.add(objs...)
	}
	return nil
}

// takes asks the globs. The matcher panics at some groups, such as {a.yaml*,a.yaml},
// with which Argo CD fails too.
func (l *loader) takes(relative string) (taken bool, err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%s: the glob library cannot match the parameters directory-include and directory-exclude", relative)
		}
	}()
	return (l.exclude == nil || !l.exclude.Match(relative)) && (l.include == nil || l.include.Match(relative)), nil
}

func (l *loader) fault(hint string, err *diag.Error) {
	if len(l.faults) == 0 {
		l.hint = hint
	}
	l.faults.Add(err)
}

func (l *loader) add(objs ...object.Object) {
	for _, obj := range objs {
		if !isConfiguration(obj) {
			l.objs = append(l.objs, obj)
		}
	}
}

func isConfiguration(obj object.Object) bool {
	if obj.APIVersion() != "hallmark.dev/v1" {
		return false
	}
	switch obj.Kind() {
	case "Render", "RenderPolicy", "HealthCheck":
		return true
	}
	return false
}

// looksLikeManifest is the test by which Argo CD tells a broken manifest from
// a file that is none of its business.
func looksLikeManifest(text []byte) bool {
	for _, field := range []string{"apiVersion:", "kind:", "metadata:"} {
		if !bytes.Contains(text, []byte(field)) {
			return false
		}
	}
	return true
}
