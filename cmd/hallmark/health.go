package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/compile"
	"hallmark.dev/hallmark/health/library"
	"hallmark.dev/hallmark/health/suite"
	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/lua/vm"
)

func healthCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use: "health", Short: "Health checks: build them from specs, test them, lint those written by hand",
		Long: healthHelp, Example: healthExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q", "health "+args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return usageError{errors.New("no command given")} },
		// A script may run for as long as it likes, and nothing has to be put in order
		// when it is stopped: a signal ends the process.
		PersistentPreRun: func(*cobra.Command, []string) { signal.Reset(os.Interrupt, syscall.SIGTERM) },
	}
	cmd.AddCommand(healthBuildCommand(env), healthTestCommand(env), healthEvalCommand(env), healthLintCommand(env), healthInferCommand(env))
	return cmd
}

// specs says which specs a command works on.
type specs struct{ library []string }

func (s *specs) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.library, "library", nil, "specs of hallmark's own library whose `name`, such as cert-manager.io/certificate, matches the glob; '*' for all of them (repeatable)")
}

// An origin is somewhere files are read from: the disk, or the library.
type origin struct {
	read func(name string) ([]byte, error)
	// shown is how a file is named in messages.
	shown func(name string) string
}

var (
	disk = origin{
		read: func(name string) ([]byte, error) {
			return readFile(filepath.FromSlash(name), "a file of health checks", suite.MaxFile)
		},
		shown: func(name string) string { return name },
	}
	shipped = origin{
		read:  func(name string) ([]byte, error) { return fs.ReadFile(library.Files, name) },
		shown: func(name string) string { return "library/" + name },
	}
)

// A loaded file of specs with the cases beside it.
type loaded struct {
	checks []*health.Check
	cases  map[string][]suite.Case // by the name of the check
}

// load reads the specs of the files and folders, and those of the library. The
// error lists the faults of all of them.
func (s *specs) load(args []string) ([]loaded, error) {
	if len(args) == 0 && len(s.library) == 0 {
		return nil, usageError{errors.New("no file or folder of specs given, and no --library")}
	}
	type file struct {
		origin
		name string
	}
	var files []file
	for _, arg := range args {
		names, err := specFiles(arg)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			files = append(files, file{disk, name})
		}
	}
	names, err := s.libraryFiles()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		files = append(files, file{shipped, name})
	}
	var all []loaded
	var faults faultList
	for _, f := range files {
		one, err := loadFile(f.origin, f.name)
		if faults.add(err) {
			all = append(all, one)
		}
	}
	return all, faults.err()
}

// faultList collects the faults of several files, with the first remedy.
type faultList struct {
	list  diag.List
	other []error
	hint  string
}

// add reports whether there was nothing to add.
func (l *faultList) add(err error) bool {
	if err == nil {
		return true
	}
	if l.hint == "" {
		l.hint = diag.Hint(err)
	}
	var many diag.List
	var one *diag.Error
	switch {
	case errors.As(err, &many):
		l.list = append(l.list, many...)
	case errors.As(err, &one):
		l.list = append(l.list, one)
	default:
		l.other = append(l.other, err)
	}
	return false
}

func (l *faultList) err() error {
	err := errors.Join(append([]error{l.list.Err()}, l.other...)...)
	if l.hint != "" {
		return diag.WithHint(err, l.hint)
	}
	return err
}

// specFiles is a file itself, or the files of specs in a folder and those below it.
func specFiles(arg string) ([]string, error) {
	info, err := os.Stat(arg)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", arg, reason(err))
	}
	if !info.IsDir() {
		return []string{filepath.ToSlash(specOf(arg))}, nil
	}
	var names []string
	err = filepath.WalkDir(arg, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !isSpecFile(name) {
			return err
		}
		data, err := disk.read(name)
		if err == nil && ourVersion.Match(data) && ourKind.Match(data) {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%q: no file with a HealthCheck in it", arg)
	}
	return names, err
}

// A file of specs among other YAML of a folder has these lines.
var (
	ourVersion = regexp.MustCompile(`(?m)^apiVersion: *["']?hallmark\.dev/`)
	ourKind    = regexp.MustCompile(`(?m)^kind: *["']?HealthCheck["']?[ \r]*(#.*)?$`)
)

const testSuffix = "_test.yaml"

func isSpecFile(name string) bool {
	ext := path.Ext(name)
	return (ext == ".yaml" || ext == ".yml") && !strings.HasSuffix(name, testSuffix)
}

// specOf is the file of specs that a file of cases stands beside.
func specOf(name string) string {
	if base, isTest := strings.CutSuffix(name, testSuffix); isTest {
		return base + ".yaml"
	}
	return name
}

func (s *specs) libraryFiles() (names []string, err error) {
	all, err := fs.Glob(library.Files, "*/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, glob := range s.library {
		found := false
		for _, name := range all {
			spec := strings.TrimSuffix(name, ".yaml")
			matches, err := path.Match(glob, spec)
			if err != nil {
				return nil, usageError{fmt.Errorf("--library: %q: %w", glob, err)}
			}
			if !isSpecFile(name) || !matches && glob != "*" && glob != path.Dir(spec) {
				continue
			}
			found = true
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if !found {
			return nil, fmt.Errorf("--library: nothing is named %q; `hallmark health build --list` shows what there is", glob)
		}
	}
	return names, nil
}

func loadFile(p origin, name string) (loaded, error) {
	data, err := p.read(name)
	if err != nil {
		return loaded{}, fmt.Errorf("%s: %w", p.shown(name), reason(err))
	}
	out := loaded{cases: map[string][]suite.Case{}}
	if out.checks, err = health.Parse(p.shown(name), data); err != nil {
		return out, err
	}
	beside := strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml") + testSuffix
	data, err = p.read(beside)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	} else if err != nil {
		return out, fmt.Errorf("%s: %w", p.shown(beside), reason(err))
	}
	tests, err := suite.Parse(p.shown(beside), data, func(file string) ([]byte, error) {
		data, err := p.read(strings.TrimPrefix(file, strings.TrimSuffix(p.shown(""), "/")+"/"))
		if err != nil {
			return nil, reason(err)
		}
		return data, nil
	})
	if err != nil {
		return out, err
	}
	for _, t := range tests {
		if t.Check != p.shown(name) {
			return out, &diag.Error{File: t.File, Msg: fmt.Sprintf("spec.check: got %q, want the file beside this one, %q", path.Base(t.Check), path.Base(name))}
		}
		if !slices.ContainsFunc(out.checks, func(c *health.Check) bool { return c.Name == t.Name }) {
			return out, &diag.Error{File: t.File, Msg: fmt.Sprintf("metadata.name: %s has no check %q", p.shown(name), t.Name)}
		}
		out.cases[t.Name] = append(out.cases[t.Name], t.Cases...)
	}
	return out, nil
}

// compiled turns what was loaded into scripts. Each is loaded into Argo CD's VM
// once, which has limits of its own.
func compiled(all []loaded) ([]suite.Subject, error) {
	var subjects []suite.Subject
	var faults faultList
	for _, one := range all {
		for _, check := range one.checks {
			script, err := compile.Lua(check, hallmarkVersion())
			if err == nil {
				if err = vm.Load(script); err != nil {
					err = &diag.Error{File: check.File, Line: check.Line, Msg: fmt.Sprintf("the generated script is more than Argo CD's VM takes: %v", err)}
				}
			}
			if faults.add(err) {
				subjects = append(subjects, suite.Subject{Check: check, Script: script, Cases: one.cases[check.Name]})
			}
		}
	}
	return subjects, faults.err()
}
