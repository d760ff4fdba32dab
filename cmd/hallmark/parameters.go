package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin"
)

func parametersCommand(env *environment) *cobra.Command {
	var f workingFlags
	cmd := &cobra.Command{
		Use: "parameters", Short: "List the parameters of the working folder for argocd-cmp-server",
		Long: parametersHelp, Example: parametersExample, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.parameters(cmd.Context(), &f) },
	}
	f.register(cmd)
	return cmd
}

func (env *environment) parameters(ctx context.Context, f *workingFlags) error {
	request, err := plugin.FromEnviron(env.environ())
	if err != nil {
		// A parameter that is wrong must not take away the form in which it is put
		// right: then the list is that of an application without parameters.
		printWarnings(env.stderr, asWarnings(err))
	}
	if err := env.working(f, request); err != nil {
		return err
	}
	list, err := plugin.Announce(ctx, request)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		printWarnings(env.stderr, asWarnings(err))
	}
	out := json.NewEncoder(env.stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(list); err != nil {
		return fmt.Errorf("writing the parameters: %w", err)
	}
	return nil
}

// asWarnings words an error that does not end the command.
func asWarnings(err error) []string {
	lines := strings.Split(err.Error(), "\n")
	if hint := diag.Hint(err); hint != "" {
		lines = append(lines, hint)
	}
	return lines
}
