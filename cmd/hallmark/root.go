package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// environment is what the process gives to a command.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	environ        func() []string
}

// Exit codes, the same for all commands.
const (
	exitDone   = 0
	exitFailed = 1 // the input or a check failed
	exitUsage  = 2
)

// usageError is a wrong call: an unknown flag, a missing argument.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func rootCommand(env *environment) *cobra.Command {
	root := &cobra.Command{
		Use:           "hallmark",
		Short:         "Render, gate and stamp Kubernetes manifests for Argo CD",
		Long:          rootHelp,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q", args[0])}
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return usageError{errors.New("no command given")} },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		renderCommand(env), generateCommand(env), parametersCommand(env), serveCommand(env), verifyCommand(env), compareCommand(env), lintCommand(env), randomCommand(env), policyCommand(env), healthCommand(env), ledgerCommand(env), versionCommand(env))
	for _, cmd := range root.Commands() {
		args := cmd.Args
		cmd.Args = func(cmd *cobra.Command, given []string) error {
			if err := args(cmd, given); err != nil {
				return usageError{err}
			}
			return nil
		}
	}
	return root
}

// exit reports err and returns the exit code.
func (env *environment) exit(err error) int {
	if err == nil {
		return exitDone
	}
	if c, ok := errors.AsType[coded](err); ok {
		if c.error != nil {
			printError(env.stderr, c.error)
		}
		return c.code
	}
	printError(env.stderr, err)
	if isUsage(err) {
		return exitUsage
	}
	return exitFailed
}

// coded is an exit code of a command that documents its own, with an error or without.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

func isUsage(err error) bool {
	usage := usageError{}
	return errors.As(err, &usage)
}
