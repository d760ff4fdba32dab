package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/health/infer"
)

// The most that is read of a file of definitions or objects, in bytes. The manifests
// that install whole families of operators have some megabytes.
const maxInferred = 64 << 20

func healthInferCommand(env *environment) *cobra.Command {
	var crd string
	var objects []string
	cmd := &cobra.Command{
		Use: "infer --crd FILE [-f FILE]...", Short: "Draft specs from a CustomResourceDefinition and from objects",
		Long: healthInferHelp, Example: healthInferExample, Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return env.inferHealth(crd, objects) },
	}
	cmd.Flags().StringVar(&crd, "crd", "", "`file` of the definition, - for standard input; YAML or JSON, also several of them, a list, or other objects beside them")
	cmd.Flags().StringArrayVarP(&objects, "filename", "f", nil, "`file` with objects of the kind, as kubectl get -o yaml prints them, - for standard input (repeatable)")
	return cmd
}

func (env *environment) inferHealth(crd string, objects []string) error {
	inputs := slices.DeleteFunc(append([]string{crd}, objects...), func(name string) bool { return name != "-" })
	switch {
	case crd == "":
		return usageError{errors.New("no definition given: name its file with --crd")}
	case len(inputs) > 1:
		return usageError{errors.New("standard input (-) can be read once only")}
	}
	definition, err := env.inferFile(crd, "custom resource definitions")
	if err != nil {
		return err
	}
	var samples []infer.File
	for _, name := range objects {
		file, err := env.inferFile(name, "objects")
		if err != nil {
			return err
		}
		samples = append(samples, file)
	}
	draft, err := infer.Draft(definition, samples)
	if err != nil {
		return err
	}
	_, err = env.stdout.Write(draft)
	return err
}

func (env *environment) inferFile(name, what string) (infer.File, error) {
	if name == "-" {
		const stdin = "standard input"
		data, err := readAll(env.stdin, stdin, what, maxInferred)
		return infer.File{Name: stdin, Data: data}, err
	}
	data, err := readFile(name, what, maxInferred)
	return infer.File{Name: name, Data: data}, err
}
