package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/source"
)

// limitFlags are the values of --limit.
type limitFlags []string

func (f *limitFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar((*[]string)(f), "limit", nil, "limit as `name=N`: files, fileBytes, treeBytes, objects, outputBytes, memoryBytes, or renderTime with a duration such as 90s (repeatable)")
}

// set applies --limit to the limits of the render and returns those of the tree.
// As with --param, an unknown name is a wrong call and a wrong value a failure.
func (f limitFlags) set(l *plugin.Limits) (source.Limits, error) {
	var tree source.Limits
	counts := map[string]func(n int64){
		"files":       func(n int64) { tree.Files = int(n) },
		"fileBytes":   func(n int64) { tree.FileBytes = n },
		"treeBytes":   func(n int64) { tree.TreeBytes = n },
		"objects":     func(n int64) { l.Objects = int(n) },
		"outputBytes": func(n int64) { l.OutputBytes = int(n) },
		"memoryBytes": func(n int64) { l.MemoryBytes = n },
	}
	for _, assignment := range f {
		name, value, hasValue := strings.Cut(assignment, "=")
		set, isCount := counts[name]
		switch {
		case !isCount && name != "renderTime":
			return tree, usageError{fmt.Errorf("--limit: unknown limit %q", name)}
		case !hasValue:
			return tree, usageError{fmt.Errorf("--limit %s: want %s=N", name, name)}
		case isCount:
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n <= 0 {
				return tree, fmt.Errorf("--limit %s: got %q, want a whole number above 0", name, value)
			}
			set(n)
		default:
			d, err := time.ParseDuration(value)
			if err != nil || d <= 0 {
				return tree, fmt.Errorf("--limit %s: got %q, want a duration such as 90s", name, value)
			}
			l.RenderTime = d
		}
	}
	return tree, nil
}
