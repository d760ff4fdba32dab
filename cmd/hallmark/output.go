package main

import (
	"bytes"
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

// stage writes data beside file. The function that it returns moves it into
// place, or removes it: no file is left behind by a run that failed.
func stage(file string, data []byte) (commit func(bool) error, err error) {
	if file == "" {
		return func(bool) error { return nil }, nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return nil, fmt.Errorf("writing %q: %w", file, err)
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("writing %q: %w", file, err), os.Remove(tmp.Name()))
	}
	return func(keep bool) error {
		if !keep {
			return os.Remove(tmp.Name())
		}
		return os.Rename(tmp.Name(), file)
	}, nil
}
