package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/export"
	"hallmark.dev/hallmark/health/suite"
)

// The outputs of `hallmark health build`.
var buildFormats = []string{"argocd-cm", "argocd-cm-patch", "helm-values", "operator", "flux", "lua", "layout"}

func healthBuildCommand(env *environment) *cobra.Command {
	var s specs
	var output, dir string
	var expand, list, size, schema bool
	cmd := &cobra.Command{
		Use: "build [FILE|DIR]...", Short: "Build what Argo CD, its operator and Helm chart, and Flux take",
		Long: healthBuildHelp, Example: healthBuildExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			instead := []string{}
			for _, name := range []string{"expand", "size", "list", "schema", "output"} {
				if cmd.Flags().Changed(name) {
					instead = append(instead, "--"+name)
				}
			}
			switch {
			case len(instead) > 1:
				return usageError{fmt.Errorf("%s cannot be used together", strings.Join(instead, " and "))}
			case (schema || list) && len(args)+len(s.library) > 0:
				return usageError{errors.New("--list and --schema take no specs")}
			case schema:
				_, err := env.stdout.Write(health.Schema)
				return err
			case list:
				return listLibrary(env)
			case !slices.Contains(buildFormats, output):
				return usageError{fmt.Errorf("-o: got %q, want one of %s", output, strings.Join(buildFormats, ", "))}
			case (output == "layout") != (dir != ""):
				return usageError{errors.New("-o layout writes into the folder --out DIR, and nothing else does")}
			}
			all, err := s.load(args)
			if err != nil {
				return err
			}
			subjects, err := compiled(all)
			if err != nil {
				return err
			}
			switch {
			case expand:
				return printExpanded(env, subjects)
			case size:
				return printSizes(env, subjects)
			case output == "layout":
				return writeLayout(dir, subjects)
			}
			out, notes, err := build(output, subjects)
			if err != nil {
				return err
			}
			for _, note := range notes {
				printWarnings(env.stderr, []string{note.String()})
			}
			_, err = env.stdout.Write(out)
			return err
		},
	}
	s.flags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "argocd-cm", "`format`: "+strings.Join(buildFormats, ", "))
	cmd.Flags().StringVar(&dir, "out", "", "`folder` that -o layout writes into")
	cmd.Flags().BoolVar(&expand, "expand", false, "print the specs instead, with every shorthand written out")
	cmd.Flags().BoolVar(&size, "size", false, "print instead how much of argocd-cm the scripts take")
	cmd.Flags().BoolVar(&list, "list", false, "print instead the names of hallmark's own library")
	cmd.Flags().BoolVar(&schema, "schema", false, "print instead the JSON Schema of a spec, for editors")
	return cmd
}

func build(format string, subjects []suite.Subject) ([]byte, []export.Note, error) {
	scripts := scriptsOf(subjects)
	switch format {
	case "argocd-cm", "argocd-cm-patch", "helm-values":
		sizes, err := export.Size(scripts)
		if err != nil {
			return nil, nil, err
		}
		var notes []export.Note
		if sizes.Total > export.MaxApplied {
			notes = append(notes, export.Note{Text: fmt.Sprintf("the health checks have %d bytes; kubectl apply takes about %d without --server-side", sizes.Total, export.MaxApplied)})
		}
		write := func() ([]byte, error) { return export.ArgoCM(scripts, format == "argocd-cm-patch") }
		if format == "helm-values" {
			write = func() ([]byte, error) { return export.HelmValues(scripts) }
		}
		out, err := write()
		return out, notes, err
	case "operator":
		return export.Operator(scripts)
	case "flux":
		var checks []*health.Check
		for _, s := range subjects {
			checks = append(checks, s.Check)
		}
		return export.Flux(checks)
	default:
		if len(subjects) != 1 {
			return nil, nil, usageError{fmt.Errorf("-o lua prints one script, and there are %d checks", len(subjects))}
		}
		return []byte(subjects[0].Script), nil, nil
	}
}

func scriptsOf(subjects []suite.Subject) []export.Script {
	var scripts []export.Script
	for _, s := range subjects {
		scripts = append(scripts, export.Script{Check: s.Check, Lua: s.Script})
	}
	return scripts
}

func listLibrary(env *environment) error {
	names, err := (&specs{library: []string{"*"}}).libraryFiles()
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintln(env.stdout, strings.TrimSuffix(name, ".yaml"))
	}
	return nil
}

func printExpanded(env *environment, subjects []suite.Subject) error {
	var out bytes.Buffer
	for i, s := range subjects {
		text, err := s.Check.Expand()
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.WriteString(text)
	}
	_, err := env.stdout.Write(out.Bytes())
	return err
}

func printSizes(env *environment, subjects []suite.Subject) error {
	sizes, tooLarge := export.Size(scriptsOf(subjects))
	for _, key := range sizes.Keys {
		fmt.Fprintf(env.stdout, "%7d  %s\n", key.Bytes, key.Key)
	}
	fmt.Fprintf(env.stdout, "%7d  in all, %.1f %% of the %d that a ConfigMap holds\n", sizes.Total, 100*float64(sizes.Total)/export.MaxData, export.MaxData)
	return tooLarge
}

// writeLayout writes the files of Argo CD's source tree below dir. A file is moved
// into place when all of them have been written.
func writeLayout(dir string, subjects []suite.Subject) error {
	cases := map[*health.Check][]export.Case{}
	for _, s := range subjects {
		report, err := suite.Verdicts(s)
		if err != nil {
			return err
		}
		for i, v := range report {
			cases[s.Check] = append(cases[s.Check], export.Case{
				Name: s.Cases[i].Name, Object: s.Cases[i].Object, Status: string(v.Status), Message: v.Message,
			})
		}
	}
	files, err := export.Layout(scriptsOf(subjects), cases)
	if err != nil {
		return err
	}
	for name := range files {
		if err := checkReplaced(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	var commits []func(bool) error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err = os.MkdirAll(filepath.Dir(target), 0o755); err != nil { //nolint:gosec // a source tree, for everybody to read
			break
		}
		var commit func(bool) error
		if commit, err = stage(target, files[name]); err != nil {
			break
		}
		commits = append(commits, commit)
	}
	failed := err != nil
	for _, commit := range commits {
		err = errors.Join(err, commit(!failed))
	}
	return err
}
