package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/yamldoc"
)

const maxObjects = 256 << 20

func healthEvalCommand(env *environment) *cobra.Command {
	var s specs
	var files, failOn []string
	var script, configMap, output string
	var openLibs bool
	cmd := &cobra.Command{
		Use: "eval [-f FILE]... [SPEC|DIR]...", Short: "Say what health checks say of objects",
		Long: healthEvalHelp, Example: healthEvalExample,
		RunE: func(_ *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return usageError{fmt.Errorf("-o: got %q, want text or json", output)}
			}
			fails, err := parseFailOn(failOn)
			if err != nil {
				return err
			}
			if openLibs && script == "" {
				return usageError{errors.New("--open-libs is for the script of --lua")}
			}
			if i := slices.Index(files, "-"); i >= 0 && slices.Contains(files[i+1:], "-") {
				return usageError{errors.New("standard input (-) can be read once")}
			}
			if len(args)+len(s.library) == 0 && script == "" && configMap == "" {
				return usageError{errors.New("no checks given: name specs, --library, --lua or --argocd-cm")}
			}
			var judges judges
			if len(args)+len(s.library) > 0 {
				all, err := s.load(args)
				if err != nil {
					return err
				}
				subjects, err := compiled(all)
				if err != nil {
					return err
				}
				if err := judges.addSpecs(subjects, env.now); err != nil {
					return err
				}
			}
			if configMap != "" {
				if err := judges.addConfigMap(configMap); err != nil {
					return err
				}
			}
			if script != "" {
				if err := judges.addLua(script, openLibs); err != nil {
					return err
				}
			}
			objects, err := env.readObjects(files)
			if err != nil {
				return err
			}
			var rows []evalRow
			for _, o := range objects {
				rows = append(rows, judges.judge(o))
			}
			text, err := printRows(rows, output)
			if err != nil {
				return err
			}
			if _, err := env.stdout.Write(text); err != nil {
				return err
			}
			return failing(rows, fails)
		},
	}
	s.flags(cmd)
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "`file` with objects, - for standard input (the default; repeatable)")
	cmd.Flags().StringVar(&script, "lua", "", "judge every object that no other check is for by the health.lua in this `file`")
	cmd.Flags().BoolVar(&openLibs, "open-libs", false, "give the script of --lua the libraries, as useOpenLibs does")
	cmd.Flags().StringVar(&configMap, "argocd-cm", "", "the health checks of the argocd-cm in this `file`, found as Argo CD finds them")
	cmd.Flags().StringSliceVar(&failOn, "fail-on", nil, "exit with 1 where an object has one of these `statuses`: Progressing, Degraded, Suspended, Missing, Unknown, error, empty, unchecked, or not-healthy for everything that a check does not call Healthy")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`format`: text or json")
	return cmd
}

// evalRow is what is said of an object.
type evalRow struct {
	Kind      string `json:"kind"`
	Group     string `json:"group"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Status    string `json:"status"` // of Argo CD; "error", or "unchecked" where no check is for the object
	Message   string `json:"message"`
	Rule      string `json:"rule"`  // the rule of a spec, "" for another script
	Check     string `json:"check"` // where the check is from
}

// The statuses that Argo CD does not have.
const (
	statusError     = "error"
	statusUnchecked = "unchecked"
	statusEmpty     = "empty" // no status at all, which blocks a wave and passes a hook
)

// An evalObject is an object to judge.
type evalObject struct {
	file  string
	value map[string]any
}

// readObjects reads the objects of YAML or JSON files: documents, and the items of
// lists as kubectl prints them.
func (env *environment) readObjects(files []string) ([]evalObject, error) {
	if len(files) == 0 {
		files = []string{"-"}
	}
	var out []evalObject
	for _, file := range files {
		var data []byte
		var err error
		shown := file
		if file == "-" {
			shown = "standard input"
			data, err = readAll(env.stdin, shown, "objects", maxObjects)
		} else {
			data, err = readFile(file, "objects", maxObjects)
		}
		if err != nil {
			return nil, err
		}
		docs, err := yamldoc.Limits{Bytes: maxObjects}.Stream(shown, data)
		if err != nil {
			return nil, err
		}
		before := len(out)
		for _, doc := range docs {
			if doc.Value == nil {
				continue
			}
			if out, err = appendObjects(out, shown, doc); err != nil {
				return nil, err
			}
		}
		if len(out) == before && !isEmptyList(docs) {
			return nil, &diag.Error{File: shown, Msg: "there is no object in it"}
		}
	}
	return out, nil
}

func isEmptyList(docs []yamldoc.Document) bool {
	return slices.ContainsFunc(docs, func(d yamldoc.Document) bool {
		m, ok := d.Value.(map[string]any)
		return ok && m["items"] != nil
	})
}

func appendObjects(out []evalObject, file string, doc yamldoc.Document) ([]evalObject, error) {
	object, ok := doc.Value.(map[string]any)
	if !ok {
		return nil, &diag.Error{File: file, Line: doc.Line, Msg: "got no mapping, want a Kubernetes object"}
	}
	kind, _ := object["kind"].(string)
	items, isList := object["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		items = []any{object}
	}
	for i, item := range items {
		value, ok := item.(map[string]any)
		text := func(key string) string { s, _ := value[key].(string); return s }
		if !ok || text("kind") == "" || text("apiVersion") == "" {
			where := ""
			if isList {
				where = fmt.Sprintf("items[%d]: ", i)
			}
			return nil, &diag.Error{File: file, Line: doc.Line, Msg: where + "want a Kubernetes object with apiVersion and kind"}
		}
		out = append(out, evalObject{file, value})
	}
	return out, nil
}

func printRows(rows []evalRow, format string) ([]byte, error) {
	if format == "json" {
		return indented(append([]evalRow{}, rows...))
	}
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "KIND\tNAME\tSTATUS\tRULE\tMESSAGE")
	for _, r := range rows {
		name := r.Name
		if r.Namespace != "" {
			name = r.Namespace + "/" + name
		}
		cells := []string{r.Kind, name, r.Status, r.Rule, r.Message}
		for i, cell := range cells {
			// One line for each object, and no cell ends early.
			cell = printable(strings.NewReplacer("\n", " ", "\t", " ").Replace(cell))
			if cell == "" && i < len(cells)-1 {
				cell = "-"
			}
			cells[i] = cell
		}
		fmt.Fprintln(table, strings.TrimRight(strings.Join(cells, "\t"), " "))
	}
	err := table.Flush()
	return trimLines(out.Bytes()), err
}

// trimLines removes the padding of an empty last column.
func trimLines(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		lines[i] = bytes.TrimRight(line, " ")
	}
	return bytes.Join(lines, []byte("\n"))
}

// parseFailOn returns the statuses that make the command fail.
func parseFailOn(names []string) (map[string]bool, error) {
	all := []string{"Progressing", "Degraded", "Suspended", "Missing", "Unknown", statusError, statusEmpty, statusUnchecked}
	fails := map[string]bool{}
	for _, name := range names {
		if strings.EqualFold(name, "not-healthy") {
			for _, s := range all {
				fails[s] = s != statusUnchecked
			}
			continue
		}
		i := slices.IndexFunc(all, func(s string) bool { return strings.EqualFold(s, name) })
		if i < 0 {
			return nil, usageError{fmt.Errorf("--fail-on: got %q, want %s or not-healthy", name, strings.Join(all, ", "))}
		}
		fails[all[i]] = true
	}
	return fails, nil
}

func failing(rows []evalRow, fails map[string]bool) error {
	if len(fails) > 0 && len(rows) == 0 {
		return errors.New("there is no object, so nothing is Healthy")
	}
	failed := 0
	first := ""
	for _, r := range rows {
		if fails[r.Status] {
			if failed == 0 {
				first = fmt.Sprintf("%s %q is %s", r.Kind, r.Name, r.Status)
			}
			failed++
		}
	}
	switch {
	case failed == 0:
		return nil
	case failed == 1:
		return errors.New(first)
	default:
		return fmt.Errorf("%s, and %s more", first, count(failed-1, "object"))
	}
}
