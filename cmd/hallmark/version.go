package main

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/lua/vm"
	"hallmark.dev/hallmark/plugin"
)

// version is set by the release build: -ldflags "-X main.version=v0.1.0".
var version = ""

// hallmarkVersion is the release, or what the Go tool recorded, or "devel".
func hallmarkVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// components is hallmark and what is compiled in.
func components() []plugin.Component {
	return slices.Concat(
		[]plugin.Component{{Name: "hallmark", Version: hallmarkVersion()}}, plugin.Components(),
		[]plugin.Component{{Name: "cel", Version: health.CELVersion}, {Name: "lua", Version: vm.Lua}, {Name: "argo-cd", Version: vm.ArgoCD}})
}

func versionCommand(env *environment) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "version", Short: "Print hallmark's version and those of its renderers",
		Long: versionHelp, Example: versionExample, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			versions := components()
			switch output {
			case "text":
				for _, v := range versions {
					if _, err := fmt.Fprintf(env.stdout, "%-10s %s\n", v.Name, v.Version); err != nil {
						return err
					}
				}
			case "json":
				byName := map[string]string{}
				for _, v := range versions {
					byName[v.Name] = v.Version
				}
				data, err := json.MarshalIndent(byName, "", "  ")
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(env.stdout, "%s\n", data)
				return err
			default:
				return usageError{fmt.Errorf("-o: got %q, want text or json", output)}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`format`: text or json")
	return cmd
}
