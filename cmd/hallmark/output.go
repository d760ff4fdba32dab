package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// writeManifests prints the objects: as YAML documents, or as one JSON object of
// kind List, which kubectl reads as well. Printing is spread over the
// processors, because for large charts it is a good part of the work.
func writeManifests(w io.Writer, objects []object.Object, format string) error {
	printed := make([][]byte, len(objects))
	object.Spread(len(objects), func() func(int) {
		var buf []byte // grows to the largest object once, not for each
		return func(i int) {
			if format == "json" {
				buf = yamldoc.AppendJSON(buf[:0], objects[i].Value, "  ")
			} else {
				buf = yamldoc.AppendYAML(append(buf[:0], "---\n"...), objects[i].Value)
			}
			printed[i] = bytes.Clone(buf)
		}
	})
	if format == "json" {
		printed = asList(printed)
	}
	for _, p := range printed {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

func asList(items [][]byte) [][]byte {
	out := [][]byte{[]byte("{\n  \"apiVersion\": \"v1\",\n  \"items\": [")}
	for i, item := range items {
		if i > 0 {
			out = append(out, []byte(","))
		}
		out = append(out, []byte("\n    "), bytes.ReplaceAll(bytes.TrimSpace(item), []byte("\n"), []byte("\n    ")))
	}
	return append(out, []byte("\n  ],\n  \"kind\": \"List\"\n}\n"))
}

// indented is a value as JSON for people and programs.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	err := out.Encode(v)
	return b.Bytes(), err
}

// checkTarget says why no file can be put at file, before any work is done for it.
func checkTarget(file string) error {
	if file == "" {
		return nil
	}
	if err := checkReplaced(file); err != nil {
		return err
	}
	if _, err := folder(filepath.Dir(file)); err != nil {
		return fmt.Errorf("writing %q: %w", file, err)
	}
	return nil
}

// checkReplaced refuses what a rename is not to replace: a device or a pipe.
func checkReplaced(file string) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("writing %q: it exists and is not a regular file", file)
	}
	return nil
}

// stage writes data beside file. The function that it returns moves it into
// place, or removes it: no file is left behind by a run that failed.
//
// The order is check, stage, print the manifests, commit. What can go wrong with
// the file (no such folder, no right to write, a full disk) does so before a
// byte is on standard output. What can go wrong with standard output (a closed
// pipe, a full disk) leaves an older file as it is, because the rename comes
// last. A rename in a folder that has just been written to hardly fails; where
// it does, the exit code says that the manifests do not count.
func stage(file string, data []byte) (commit func(bool) error, err error) {
	if file == "" {
		return func(bool) error { return nil }, nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return nil, fmt.Errorf("writing %q: %w", file, reason(err))
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("writing %q: %w", file, reason(err)), os.Remove(tmp.Name()))
	}
	return func(keep bool) error {
		if !keep {
			return os.Remove(tmp.Name())
		}
		if err := os.Rename(tmp.Name(), file); err != nil {
			return errors.Join(fmt.Errorf("writing %q: %w", file, reason(err)), os.Remove(tmp.Name()))
		}
		return nil
	}, nil
}
