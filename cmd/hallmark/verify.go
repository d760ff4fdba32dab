package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/gate"
	"hallmark.dev/hallmark/plugin/stamp"
)

// maxManifests bounds what verify reads, in bytes.
const maxManifests = 512 << 20

func verifyCommand(env *environment) *cobra.Command {
	var hashKey, record string
	cmd := &cobra.Command{
		Use: "verify [FILE|-]", Short: "Check stamped manifests against their stamps",
		Long: verifyHelp, Example: verifyExample, Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return env.verify(slices.Concat(args, []string{"-"})[0], hashKey, record)
		},
	}
	cmd.Flags().StringVar(&hashKey, "hash-key", "", "`file` with the key that the render used")
	cmd.Flags().StringVar(&record, "evidence", "", "`file` with the render's evidence: fields that it lists as not deterministic do not count")
	return cmd
}

func (env *environment) verify(file, hashKey, record string) error {
	key, err := readKey(hashKey)
	if err != nil {
		return err
	}
	opts := stamp.Options{Key: key}
	if record != "" {
		if opts.Ignore, err = ignoredFields(record); err != nil {
			return err
		}
	}
	name, data, err := env.readInput(file)
	if err != nil {
		return err
	}
	objects, err := parseManifests(name, data)
	if err != nil {
		return err
	}
	report, err := stamp.Verify(objects, opts)
	if err != nil {
		return err
	}
	if report.OK() {
		_, err = fmt.Fprintf(env.stdout, "ok: %d objects, render hash %s\n", report.Objects, report.RenderHash)
		return err
	}
	var faults []error
	for _, f := range report.Findings {
		faults = append(faults, errors.New(f.Message))
	}
	return errors.Join(faults...)
}

func (env *environment) readInput(file string) (name string, data []byte, err error) {
	in := env.stdin
	name = "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", nil, err
		}
		defer func() { _ = f.Close() }() // it was only read
		in, name = f, file
	}
	data, err = io.ReadAll(io.LimitReader(in, maxManifests+1))
	if err == nil && len(data) > maxManifests {
		err = fmt.Errorf("%s: more than %d bytes of manifests", name, maxManifests)
	}
	return name, data, err
}

func parseManifests(name string, data []byte) ([]object.Object, error) {
	docs, err := yamldoc.Stream(name, data)
	if err != nil {
		return nil, err
	}
	var objects []object.Object
	for _, d := range docs {
		switch v := d.Value.(type) {
		case nil:
		case map[string]any:
			objects = append(objects, object.Object{Value: v, Origin: name, Line: d.Line})
		default:
			return nil, &diag.Error{File: name, Line: d.Line, Msg: "the document is not a mapping"}
		}
	}
	if objects, err = gate.Expand(objects); err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s: no objects to verify", name)
	}
	return objects, nil
}

func ignoredFields(file string) (map[object.ID][]stamp.Path, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	record, err := evidence.Parse(file, data)
	if err != nil {
		return nil, err
	}
	return plugin.RecordedFields(record)
}
