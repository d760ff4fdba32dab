package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/internal/diag"
)

// Parameters say how an application is rendered. Each has one name, which is the
// same in an Application's plugin parameters, in hallmark.yaml and on the command
// line; the names follow the fields of Argo CD's own sources in kebab case.
type Parameters struct {
	Renderer        string
	RendererVersion string

	ValueFiles              []string
	Values                  string
	HelmParameters          map[string]string
	HelmStringParameters    map[string]string
	HelmFileParameters      map[string]string
	ReleaseName             string
	Namespace               string
	KubeVersion             string
	APIVersions             []string
	SkipCRDs                bool
	SkipTests               bool
	SkipSchemaValidation    bool
	IgnoreMissingValueFiles bool

	KustomizeNamePrefix              string
	KustomizeNameSuffix              string
	KustomizeImages                  []string
	KustomizeReplicas                map[string]string
	KustomizeCommonLabels            map[string]string
	KustomizeCommonAnnotations       map[string]string
	KustomizeLabelWithoutSelector    bool
	KustomizeLabelIncludeTemplates   bool
	KustomizeForceCommonLabels       bool
	KustomizeForceCommonAnnotations  bool
	KustomizeAnnotationsEnvsubst     bool
	KustomizeNamespace               string
	KustomizeComponents              []string
	KustomizeIgnoreMissingComponents bool
	KustomizePatches                 string
	KustomizeHelm                    string

	DirectoryRecurse bool
	DirectoryInclude string
	DirectoryExclude string

	Determinism       string
	RandomGeneration  string
	RandomGenerations map[string]string
	RandomSeed        string

	AllowEmpty bool
	ConfigHash bool

	// set remembers which parameters were given, by name.
	set map[string]bool
}

// announced is one entry of ARGOCD_APP_PARAMETERS.
type announced struct {
	Name   string            `json:"name"`
	String *string           `json:"string"`
	Array  []string          `json:"array"`
	Map    map[string]string `json:"map"`
}

// ParseParameters reads the JSON that Argo CD sends in ARGOCD_APP_PARAMETERS:
// a list of {"name", and one of "string", "array" and "map"}. Empty data means
// no parameters.
func ParseParameters(data []byte) (Parameters, error) {
	var p Parameters
	if len(strings.TrimSpace(string(data))) == 0 {
		return p, nil
	}
	var entries []announced
	if err := json.Unmarshal(data, &entries); err != nil {
		return p, fmt.Errorf("parameters: %w", jsonFault(err))
	}
	for _, e := range entries {
		if p.set[e.Name] {
			return p, fmt.Errorf("parameter %q is given twice", e.Name)
		}
		var value any
		switch {
		case e.String != nil:
			value = *e.String
		case e.Array != nil:
			value = e.Array
		case e.Map != nil:
			value = e.Map
		}
		if err := p.assign(e.Name, value); err != nil {
			return p, err
		}
	}
	return p, nil
}

// jsonFault keeps the position of a JSON error and leaves out its text, which
// may quote a value.
func jsonFault(err error) error {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("byte %d: not valid JSON", syntax.Offset)
	}
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		return fmt.Errorf("byte %d: got %s, want a list of {name, string|array|map}", kind.Offset, kind.Value)
	}
	return errors.New("not valid JSON")
}

// Set assigns one parameter in the form of the command line: `name=value`,
// `name[]=item` appends to an array, `name[key]=value` sets a key of a map.
func (p *Parameters) Set(assignment string) error {
	name, value, found := strings.Cut(assignment, "=")
	if !found {
		return fmt.Errorf("parameter %q: want name=value, name[]=item or name[key]=value", name)
	}
	// The key of a map may itself hold brackets and equal signs: a[list[0]]=v.
	if open := strings.IndexByte(assignment, '['); open >= 0 && open < len(name) {
		closing := strings.Index(assignment[open:], "]=")
		if closing < 0 {
			return fmt.Errorf("parameter %q: want name[]=item or name[key]=value", name)
		}
		key := assignment[open+1 : open+closing]
		return p.setElement(assignment[:open], key, assignment[open+closing+2:])
	}
	return p.assign(name, value)
}

func (p *Parameters) setElement(name, key, value string) error {
	spec, err := specOf(name)
	if err != nil {
		return err
	}
	switch field := spec.field(p).(type) {
	case *[]string:
		if key != "" {
			return fmt.Errorf("parameter %q is an array: want %s[]=item", name, name)
		}
		*field = append(*field, value)
	case *map[string]string:
		if key == "" {
			return fmt.Errorf("parameter %q is a map: want %s[key]=value", name, name)
		}
		if *field == nil {
			*field = map[string]string{}
		}
		(*field)[key] = value
	default:
		return fmt.Errorf("parameter %q is a string: want %s=value", name, name)
	}
	p.mark(name)
	return nil
}

// Clone returns a copy on which Set changes nothing of the original.
func (p Parameters) Clone() Parameters {
	out := p
	out.set = maps.Clone(p.set)
	for _, spec := range specs {
		switch field := spec.field(&out).(type) {
		case *[]string:
			*field = slices.Clone(*field)
		case *map[string]string:
			*field = maps.Clone(*field)
		}
	}
	return out
}

func (p *Parameters) mark(name string) {
	if p.set == nil {
		p.set = map[string]bool{}
	}
	p.set[name] = true
}

// assign sets a parameter from a decoded value. Values are never quoted in
// errors: they may be secrets.
func (p *Parameters) assign(name string, value any) error {
	spec, err := specOf(name)
	if err != nil {
		return err
	}
	switch field := spec.field(p).(type) {
	case *string:
		switch v := value.(type) {
		case string:
			*field = v
		case int64, float64:
			*field = fmt.Sprint(v)
		case map[string]any, []any:
			// YAML text such as values and kustomize-patches may be written as
			// what it means in hallmark.yaml.
			if name != "values" && name != "kustomize-patches" {
				return typeFault(spec, value)
			}
			data, err := yaml.Marshal(v)
			if err != nil {
				return fmt.Errorf("parameter %q: %w", name, err)
			}
			*field = string(data)
		default:
			return typeFault(spec, value)
		}
	case *bool:
		switch v := value.(type) {
		case bool:
			*field = v
		case string:
			b, err := strconv.ParseBool(v)
			if err != nil {
				return fmt.Errorf("parameter %q: got a string that is neither \"true\" nor \"false\"", name)
			}
			*field = b
		default:
			return typeFault(spec, value)
		}
	case *[]string:
		items, ok := stringsOf(value)
		if !ok {
			return typeFault(spec, value)
		}
		*field = items
	case *map[string]string:
		entries, ok := stringMapOf(value)
		if !ok {
			return typeFault(spec, value)
		}
		*field = entries
	}
	p.mark(name)
	return nil
}

func typeFault(spec ParameterSpec, value any) error {
	want := spec.Type
	if spec.Boolean {
		want = "boolean"
	}
	got := "null"
	switch value.(type) {
	case string:
		got = "string"
	case bool:
		got = "boolean"
	case int64, float64:
		got = "number"
	case []string, []any:
		got = "array"
	case map[string]string, map[string]any:
		got = "map"
	}
	err := fmt.Errorf("parameter %q: got %s, want %s", spec.Name, got, want)
	switch spec.Type {
	case "array":
		return diag.WithHint(err, fmt.Sprintf("give an array: %s[]=item on the command line, array: [...] in an Application", spec.Name))
	case "map":
		return diag.WithHint(err, fmt.Sprintf("give a map: %s[key]=value on the command line, map: {...} in an Application", spec.Name))
	}
	return err
}

func stringsOf(value any) ([]string, bool) {
	switch v := value.(type) {
	case []string:
		return slices.Clone(v), true
	case []any:
		out := make([]string, len(v))
		for i, e := range v {
			s, ok := scalar(e)
			if !ok {
				return nil, false
			}
			out[i] = s
		}
		return out, true
	}
	return nil, false
}

func stringMapOf(value any) (map[string]string, bool) {
	switch v := value.(type) {
	case map[string]string:
		return maps.Clone(v), true
	case map[string]any:
		out := make(map[string]string, len(v))
		for k, e := range v {
			s, ok := scalar(e)
			if !ok {
				return nil, false
			}
			out[k] = s
		}
		return out, true
	}
	return nil, false
}

func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, int64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// override returns p with every parameter that other gives taken from other.
func (p Parameters) override(other Parameters) Parameters {
	out := p
	out.set = maps.Clone(p.set)
	for _, spec := range specs {
		if !other.set[spec.Name] {
			continue
		}
		switch to := spec.field(&out).(type) {
		case *string:
			*to = *spec.field(&other).(*string)
		case *bool:
			*to = *spec.field(&other).(*bool)
		case *[]string:
			*to = *spec.field(&other).(*[]string)
		case *map[string]string:
			*to = *spec.field(&other).(*map[string]string)
		}
		out.mark(spec.Name)
	}
	return out
}

// given returns the parameters that were set, as plain data by name.
func (p Parameters) given() map[string]any {
	out := map[string]any{}
	for _, spec := range specs {
		if !p.set[spec.Name] {
			continue
		}
		switch v := spec.field(&p).(type) {
		case *string:
			out[spec.Name] = *v
		case *bool:
			out[spec.Name] = *v
		case *[]string:
			out[spec.Name] = anys(*v)
		case *map[string]string:
			m := map[string]any{}
			for k, e := range *v {
				m[k] = e
			}
			out[spec.Name] = m
		}
	}
	return out
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
