package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/plugin"
)

// generateFlags are the flags of `hallmark generate`.
type generateFlags struct {
	workingFlags
	hashKey, output string
}

func generateCommand(env *environment) *cobra.Command {
	var f generateFlags
	cmd := &cobra.Command{
		Use: "generate", Short: "Render the working folder for argocd-cmp-server",
		Long: generateHelp, Example: generateExample, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.generate(cmd.Context(), &f) },
	}
	f.register(cmd)
	f.trust.registerKeys(cmd, pluginKeys)
	f.trust.seeds.register(cmd, pluginSeeds)
	cmd.Flags().StringVar(&f.hashKey, "hash-key", "", hashKeyUsage)
	cmd.Flags().StringVarP(&f.output, "output", "o", "yaml", "`format` of the manifests: yaml, or json for one compact object a line, which Argo CD reads faster")
	return cmd
}

func (env *environment) generate(ctx context.Context, f *generateFlags) error {
	if f.output != "yaml" && f.output != "json" {
		return usageError{fmt.Errorf("-o: got %q, want yaml or json", f.output)}
	}
	request, err := plugin.FromEnviron(env.environ())
	if err != nil {
		return err
	}
	seeds, err := f.trust.seeds.pluginFiles(env)
	if err != nil {
		return err
	}
	if err := env.working(&f.workingFlags, request); err != nil {
		return err
	}
	env.judge(request)
	if request.Seeds, err = readSeeds(seeds); err != nil {
		return err
	}
	if request.HashKey, err = readKey(f.hashKey); err != nil {
		return err
	}
	result, err := plugin.Render(ctx, request)
	if err != nil {
		return err
	}
	printWarnings(env.stderr, result.Warnings)
	if f.output == "yaml" {
		err = writeManifests(env.stdout, result.Objects, f.output)
	} else {
		var lines bytes.Buffer
		for _, m := range result.Manifests() {
			lines.WriteString(m)
			lines.WriteByte('\n')
		}
		_, err = env.stdout.Write(lines.Bytes())
	}
	if err != nil {
		return fmt.Errorf("writing the manifests: %w", err)
	}
	return nil
}
