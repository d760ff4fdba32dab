package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/plugin"
)

func randomCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use: "random", Short: "List the values that are derived from a seed, and show one",
		Long: randomHelp, Example: randomExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q", "random "+args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return usageError{errors.New("no command given")} },
	}
	cmd.AddCommand(randomListCommand(env), randomShowCommand(env))
	return cmd
}

func randomListCommand(env *environment) *cobra.Command {
	var f renderFlags
	var output string
	cmd := &cobra.Command{
		Use: "list [DIR]", Short: "List the fields whose values are derived",
		Long: randomListHelp, Example: randomListExample, Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return usageError{fmt.Errorf("-o: got %q, want text or json", output)}
			}
			return env.randomList(cmd.Context(), &f, slices.Concat(args, []string{"."})[0], output)
		},
	}
	f.register(cmd, callerPolicy)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`format`: text or json")
	return cmd
}

func randomShowCommand(env *environment) *cobra.Command {
	var f renderFlags
	var field string
	var reveal bool
	cmd := &cobra.Command{
		Use: "show [DIR]", Short: "Print one derived value, for recovery",
		Long: randomShowHelp, Example: randomShowExample, Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case field == "":
				return usageError{errors.New("--field: name the field whose value is printed; `hallmark random list` prints the names")}
			case !reveal:
				return usageError{errors.New("the value is a secret, and is printed with --reveal alone")}
			case len(f.trust.seeds.files) == 0:
				return usageError{errors.New("--seed-file: the value is derived from the seed, and none is given")}
			}
			for _, flag := range []string{"project", "app", "namespace"} {
				if !cmd.Flags().Changed(flag) { // another one would give another value, and look right
					return usageError{fmt.Errorf("--%s: the value depends on it; give the Application's", flag)}
				}
			}
			return env.randomShow(cmd.Context(), &f, slices.Concat(args, []string{"."})[0], field)
		},
	}
	f.register(cmd, callerPolicy)
	cmd.Flags().StringVar(&field, "field", "", "`name` of the field, as hallmark random list prints it")
	cmd.Flags().BoolVar(&reveal, "reveal", false, "print the value, which is a secret, to standard output")
	return cmd
}

// derived renders what is asked about as determinism=derive does, also where the
// application has yet to ask for that.
func (env *environment) derived(ctx context.Context, request *plugin.Request) (*plugin.Result, error) {
	defer func() { _ = request.Tree.Close() }() // it was only read
	if err := request.Parameters.Set("determinism=" + plugin.DeterminismDerive); err != nil {
		return nil, err
	}
	return plugin.Render(ctx, request)
}

func (env *environment) randomList(ctx context.Context, f *renderFlags, dir, output string) error {
	request, err := env.renderRequest(ctx, f, dir)
	if err != nil {
		return err
	}
	seeded := len(request.Seeds) > 0
	if !seeded {
		// Names do not depend on it, and no value is printed.
		throwaway, err := plugin.ReadSeed("", []byte(rand.Text()+rand.Text()))
		if err != nil {
			return err
		}
		request.Seeds = []plugin.Seed{throwaway}
		if err := request.Parameters.Set("random-seed="); err != nil {
			return err
		}
	}
	result, err := env.derived(ctx, request)
	if err != nil {
		return err
	}
	printWarnings(env.stderr, result.Warnings)
	list := randomFields{App: request.App, Path: request.Path, Fields: []randomField{}}
	if seeded {
		list.Seed = result.Evidence.Seed
	}
	for _, d := range result.Derived {
		list.Fields = append(list.Fields, randomField{
			Object: d.Object.String(), Field: d.Path.Pointer(), Reason: d.Reason, Names: append([]string{}, d.Names...), Generation: d.Generation,
		})
	}
	text := list.text()
	if output == "json" {
		if text, err = indented(list); err != nil {
			return err
		}
	}
	if _, err := env.stdout.Write(text); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	return nil
}

// randomFields is the object of -o json; its fields are described in the help.
type randomFields struct {
	App    string        `json:"app"`
	Path   string        `json:"path"`
	Seed   string        `json:"seed,omitempty"`
	Fields []randomField `json:"fields"`
}

type randomField struct {
	Object     string   `json:"object"`
	Field      string   `json:"field"`
	Reason     string   `json:"reason"`
	Names      []string `json:"names"`
	Generation int      `json:"generation"`
}

// text is one line for each field and each name that its value comes from.
func (l randomFields) text() []byte {
	var out bytes.Buffer
	if len(l.Fields) == 0 {
		fmt.Fprintf(&out, "nothing is derived\n")
		return out.Bytes()
	}
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	row := func(cells ...string) {
		for i, cell := range cells {
			cells[i] = printable(strings.ReplaceAll(cell, "\t", " "))
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) // to memory
	}
	row("OBJECT", "FIELD", "REASON", "GENERATION", "SEED", "NAME")
	for _, f := range l.Fields {
		row(f.Object, f.Field, f.Reason, fmt.Sprint(f.Generation), cmp.Or(l.Seed, "none"), cmp.Or(strings.Join(f.Names, ", "), "none"))
	}
	_ = table.Flush() // to memory
	return out.Bytes()
}

func (env *environment) randomShow(ctx context.Context, f *renderFlags, dir, field string) error {
	request, err := env.renderRequest(ctx, f, dir)
	if err != nil {
		return err
	}
	result, err := env.derived(ctx, request)
	if err != nil {
		return err
	}
	value, err := result.Reveal(field)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(value, "\n") {
		value += "\n"
	}
	if _, err := env.stdout.Write([]byte(value)); err != nil {
		return fmt.Errorf("writing the value: %w", err)
	}
	return nil
}
