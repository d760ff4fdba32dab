package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/health/lint"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/lua/vm"
)

// maxLinted is the most that is read of a script or of an argocd-cm. etcd keeps no
// object of more than 1.5 MiB.
const maxLinted = 8 << 20

// lintCall is the flags of a call.
type lintCall struct {
	group, kind, output string
	objects             []string
	openLibs, builtin   bool
	strict, summary     bool
}

func healthLintCommand(env *environment) *cobra.Command {
	var call lintCall
	cmd := &cobra.Command{
		Use: "lint [FILE|-]...", Short: "Find the faults of hand-written health scripts and of an argocd-cm",
		Long: healthLintHelp + lintRulesHelp(), Example: healthLintExample,
		RunE: func(_ *cobra.Command, args []string) error {
			runtime.LockOSThread() // whose time is measured
			defer runtime.UnlockOSThread()
			return env.lintHealth(args, call)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&call.objects, "objects", nil, "`file` with objects of the kind, as a cluster holds them: documents, or the list of `kubectl get -o yaml` (repeatable)")
	flags.StringVar(&call.group, "group", "", "API `group` of the kind that a script is for")
	flags.StringVar(&call.kind, "kind", "", "`kind` that a script is for")
	flags.BoolVar(&call.openLibs, "open-libs", false, "the scripts run with useOpenLibs")
	flags.BoolVar(&call.builtin, "argocd-builtin", false, "lint the scripts that Argo CD brings along; with --group and --kind those alone")
	flags.BoolVar(&call.strict, "strict", false, "fail on warnings as well")
	flags.BoolVar(&call.summary, "summary", false, "print only how many findings there are of each rule")
	flags.StringVarP(&call.output, "output", "o", "text", "`format`: text or json")
	return cmd
}

func (env *environment) lintHealth(args []string, call lintCall) error {
	switch {
	case call.output != "text" && call.output != "json":
		return usageError{fmt.Errorf("-o: got %q, want text or json", call.output)}
	case call.builtin && (len(args) > 0 || len(call.objects) > 0 || call.openLibs):
		return usageError{errors.New("--argocd-builtin takes no files, --objects or --open-libs: the scripts, their objects and libraries are Argo CD's")}
	case !call.builtin && len(args) == 0:
		return usageError{errors.New("no script and no argocd-cm given, and no --argocd-builtin")}
	}
	var report lintReport
	if call.builtin {
		kinds := slices.DeleteFunc(vm.Builtins(), func(k vm.Kind) bool {
			return call.group != "" && k.Group != call.group || call.kind != "" && k.Kind != call.kind
		})
		if len(kinds) == 0 {
			return fmt.Errorf("no health script that Argo CD brings along is for group %q and kind %q", call.group, call.kind)
		}
		report.Linted = len(kinds)
		report.Findings = lint.Builtins(kinds)
	} else {
		objects, err := env.lintObjects(call.objects)
		if err != nil {
			return err
		}
		for _, arg := range args {
			findings, err := env.lintFile(arg, call, objects)
			if err != nil {
				return err
			}
			report.Findings = append(report.Findings, findings...)
		}
		report.Linted = len(args)
	}
	report.count()
	if err := report.write(env.stdout, call); err != nil {
		return err
	}
	return report.verdict(call)
}

// lintFile lints a script or an argocd-cm. Standard input is a script unless it is an
// argocd-cm.
func (env *environment) lintFile(file string, call lintCall, objects []lint.Object) ([]lint.Finding, error) {
	name, data := file, []byte(nil)
	var err error
	if file == "-" {
		name = "standard input"
		data, err = readAll(env.stdin, name, "a script or an argocd-cm", maxLinted)
	} else {
		data, err = readFile(file, "a script or an argocd-cm", maxLinted)
	}
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("%s: it is empty", name)
	}
	opts := lint.Options{Group: call.group, Kind: call.kind, OpenLibs: call.openLibs, Objects: objects, Now: threadClock}
	if lint.IsConfigMap(file) {
		return lint.ConfigMap(name, data, opts)
	}
	if file == "-" && looksLikeYAML.Match(data) {
		return lint.ConfigMap(name, data, opts)
	}
	if err := ofOneKind(&opts); err != nil {
		return nil, err
	}
	return lint.Script(name, string(data), opts), nil
}

// looksLikeYAML tells an argocd-cm on standard input from a script: no line of Lua
// begins with these keys.
var looksLikeYAML = regexp.MustCompile(`(?m)^["']?(apiVersion|kind|metadata|data|configs|resource\.customizations[^:]*)["']?:`)

// threadClock is a clock of the processor time of this thread, so that other work on
// the machine makes no script slow.
func threadClock() time.Time { return time.Unix(0, int64(threadTime())) }

// ofOneKind leaves the objects of the kind that a script is for. One object says which
// kind that is, where no flag does.
func ofOneKind(opts *lint.Options) error {
	if opts.Kind == "" && len(opts.Objects) > 0 {
		opts.Group, opts.Kind = lint.GroupKind(opts.Objects[0].Value)
		for _, o := range opts.Objects {
			if group, kind := lint.GroupKind(o.Value); group != opts.Group || kind != opts.Kind {
				return fmt.Errorf("the objects are of several kinds, %s and %s among them: name the kind of the script with --kind", opts.Kind, kind)
			}
		}
	}
	given := len(opts.Objects)
	opts.Objects = slices.DeleteFunc(slices.Clone(opts.Objects), func(o lint.Object) bool {
		group, kind := lint.GroupKind(o.Value)
		return kind != opts.Kind || opts.Group != "" && group != opts.Group
	})
	if given > 0 && len(opts.Objects) == 0 {
		return fmt.Errorf("no object is of the kind %s", opts.Kind)
	}
	opts.Kind = cmp.Or(opts.Kind, "Example")
	return nil
}

// lintObjects reads objects: documents and lists.
func (env *environment) lintObjects(files []string) ([]lint.Object, error) {
	var objects []lint.Object
	for _, file := range files {
		name, data, err := env.readManifests(file)
		if err != nil {
			return nil, err
		}
		docs, err := yamldoc.Limits{Bytes: maxManifests}.Stream(name, data)
		if err != nil {
			return nil, err
		}
		found := len(objects)
		for _, doc := range docs {
			object, ok := doc.Value.(map[string]any)
			if !ok {
				continue
			}
			items, isList := object["items"].([]any)
			if !isList {
				items = []any{object}
			}
			for _, item := range items {
				if o, ok := item.(map[string]any); ok {
					objects = append(objects, lint.Object{Name: objectName(o), Value: o})
				}
			}
		}
		if len(objects) == found {
			return nil, fmt.Errorf("%s: no objects in it", name)
		}
	}
	return objects, nil
}

func objectName(o map[string]any) string {
	id := object.Object{Value: o}.ID()
	return strings.TrimSpace(id.Kind + " " + path.Join(id.Namespace, id.Name))
}

// lintReport is the object of -o json; its fields are described in the help.
type lintReport struct {
	Linted   int            `json:"linted"`
	Errors   int            `json:"errors"`
	Warnings int            `json:"warnings"`
	Rules    []lintCount    `json:"rules"`
	Findings []lint.Finding `json:"findings"`
}

type lintCount struct {
	Rule     lint.Rule `json:"rule"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Files    int       `json:"files"` // in how many of them
}

func (r *lintReport) count() {
	r.Rules = []lintCount{}
	if r.Findings == nil {
		r.Findings = []lint.Finding{}
	}
	for _, rule := range lint.Rules() {
		c := lintCount{Rule: rule.Rule}
		files := map[string]bool{}
		for _, f := range r.Findings {
			if f.Rule != rule.Rule {
				continue
			}
			files[f.File] = true
			if f.Severity == lint.Error {
				c.Errors++
			} else {
				c.Warnings++
			}
		}
		if c.Files = len(files); c.Files > 0 {
			r.Rules = append(r.Rules, c)
		}
		r.Errors += c.Errors
		r.Warnings += c.Warnings
	}
}

func (r *lintReport) write(w io.Writer, call lintCall) error {
	if call.output == "json" {
		if call.summary {
			r.Findings = []lint.Finding{}
		}
		data, err := indented(r)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	var out bytes.Buffer
	r.text(&out, call.summary)
	_, err := w.Write(out.Bytes())
	return err
}

func (r *lintReport) text(out *bytes.Buffer, summary bool) {
	line := func(format string, args ...any) { out.WriteString(printable(fmt.Sprintf(format, args...)) + "\n") }
	for _, f := range r.Findings {
		if summary {
			break
		}
		where := f.File
		if f.Line > 0 {
			where += fmt.Sprint(":", f.Line)
		}
		message := f.Message
		if f.Key != "" {
			message = f.Key + ": " + message
		}
		line("%s: %s: %s (%s)", where, f.Severity, message, f.Rule)
		if f.Case != "" {
			more := ""
			if f.Cases > 1 {
				more = fmt.Sprintf(", and %d more", f.Cases-1)
			}
			line("    %s%s", f.Case, more)
		}
		if f.Hint != "" {
			line("    hint: %s", f.Hint)
		}
	}
	if summary {
		line("%8s %8s %8s  %s", "errors", "warnings", "files", "rule")
		for _, c := range r.Rules {
			line("%8d %8d %8d  %s", c.Errors, c.Warnings, c.Files, c.Rule)
		}
	}
	if len(r.Findings) == 0 {
		line("ok: %s", count(r.Linted, "file"))
		return
	}
	line("%s, %s in %s", count(r.Errors, "error"), count(r.Warnings, "warning"), count(r.Linted, "file"))
}

// verdict is the error of a run that found faults. They are the result and stand on
// standard output.
func (r *lintReport) verdict(call lintCall) error {
	switch {
	case r.Errors > 0:
		return fmt.Errorf("%s found", count(r.Errors, "error"))
	case r.Warnings > 0 && call.strict:
		return fmt.Errorf("%s found", count(r.Warnings, "warning"))
	}
	return nil
}
