package main

import (
	"errors"
	"fmt"
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

func verifyCommand(env *environment) *cobra.Command {
	var hashKey, record string
	cmd := &cobra.Command{
		Use: "verify [FILE|-]", Short: "Check stamped manifests against their stamps",
		Long: verifyHelp, Example: verifyExample, Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return env.verify(slices.Concat(args, []string{"-"})[0], hashKey, record)
		},
	}
	cmd.Flags().StringVar(&hashKey, "hash-key", "", "`file` with the key that the render used (one newline at its end does not count)")
	cmd.Flags().StringVar(&record, "evidence", "", "`file` with the render's evidence: fields that it lists as not deterministic do not count")
	return cmd
}

func (env *environment) verify(file, hashKey, record string) error {
	key, err := readKey(hashKey)
	if err != nil {
		return err
	}
	opts := stamp.Options{Key: key}
	var evidenceHash string
	if record != "" {
		if evidenceHash, opts.Ignore, err = readEvidence(record); err != nil {
			return err
		}
	}
	name, data, err := env.readManifests(file)
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
	// The fields that evidence lists count for its own render only. Any other
	// file could list the very fields that somebody changed.
	if record != "" && report.Recorded != "" && report.Recorded != evidenceHash {
		return fmt.Errorf("%s: the evidence is about render %s, %s is stamped as render %s", record, evidenceHash, name, report.Recorded)
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

func (env *environment) readManifests(file string) (name string, data []byte, err error) {
	if file == "-" {
		name = "standard input"
		data, err = readAll(env.stdin, name, "manifests", maxManifests)
		return name, data, err
	}
	data, err = readFile(file, "manifests", maxManifests)
	return file, data, err
}

func parseManifests(name string, data []byte) ([]object.Object, error) {
	docs, err := yamldoc.Limits{Bytes: maxManifests}.Stream(name, data)
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

// readEvidence returns the render hash of a record and the fields that do not
// count in it.
func readEvidence(file string) (renderHash string, ignored map[object.ID][]stamp.Path, err error) {
	data, err := readFile(file, "evidence", maxEvidence)
	if err != nil {
		return "", nil, err
	}
	record, err := evidence.Parse(file, data)
	if err != nil {
		return "", nil, err
	}
	ignored, err = plugin.RecordedFields(record)
	return record.RenderHash, ignored, err
}
