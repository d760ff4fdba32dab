package export

import (
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// The keys of argocd-cm. A key of its own, such as
//
//	resource.customizations.health.cert-manager.io_Certificate
//
// says one target, and kustomize or Helm can merge it with what else the
// ConfigMap has. Argo CD reads group and kind from it by their one "_", so it has
// no place for wildcards; those go into the text under resource.customizations,
// in which the keys are patterns.
const (
	customizations = "resource.customizations"
	healthKey      = customizations + ".health."
	openLibsKey    = customizations + ".useOpenLibs."
)

// maxKey is the length of a key that Kubernetes takes.
const maxKey = 253

// ArgoCM is the ConfigMap argocd-cm with the scripts: a whole document, or with
// patch a strategic-merge patch of the ConfigMap that is there.
func ArgoCM(scripts []Script, patch bool) ([]byte, error) {
	data, err := argoData(scripts)
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{"name": "argocd-cm"}
	comment := "Health checks of Argo CD, written by hallmark health build."
	if patch {
		comment += " A strategic-merge patch for argocd-cm."
	} else {
		metadata["labels"] = map[string]any{"app.kubernetes.io/part-of": "argocd"}
	}
	comment += "\n" + textNote(data, "the ConfigMap")
	return commented(comment, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}), nil
}

// HelmValues is what ArgoCM says as values for the Helm chart argo-cd.
func HelmValues(scripts []Script) ([]byte, error) {
	data, err := argoData(scripts)
	if err != nil {
		return nil, err
	}
	comment := "Health checks of Argo CD, written by hallmark health build: values for the Helm chart argo-cd.\n" + textNote(data, "configs.cm")
	return commented(comment, map[string]any{"configs": map[string]any{"cm": data}}), nil
}

func textNote(data map[string]any, in string) string {
	if data[customizations] == nil {
		return ""
	}
	return fmt.Sprintf("The checks with wildcards are one text, under %[1]s. It replaces the text that\n"+
		"stands in %[2]s under this key, so add the entries of that one here.", customizations, in)
}

// commented is a document below a comment.
func commented(comment string, doc any) []byte {
	var out []byte
	for line := range strings.Lines(strings.TrimRight(comment, "\n")) {
		out = append(out, "# "+line...)
	}
	return yamldoc.AppendYAML(append(out, '\n'), doc)
}

// argoData is the data of argocd-cm.
func argoData(scripts []Script) (map[string]any, error) {
	all, err := entries(scripts)
	if err != nil {
		return nil, err
	}
	data := map[string]any{}
	var faults diag.List
	var patterns []entry
	for _, e := range all {
		name, ok := splitName(e)
		switch {
		case ok:
			data[healthKey+name] = e.lua
			if e.check.UseOpenLibs {
				data[openLibsKey+name] = "true"
			}
		case e.wildcard() && e.group == "" && (e.kind[0] < 'A' || e.kind[0] > 'Z'):
			// The pattern is matched with "<group>/<kind>", and its "*" with
			// "/" too. Behind a capital letter it cannot be a group.
			faults.Addf(e.check.File, e.check.Line, 0,
				"target %q of the core group: in argocd-cm this pattern matches kinds of other groups too; name the kinds", e.kind)
		default:
			patterns = append(patterns, e)
		}
	}
	if len(patterns) > 0 {
		data[customizations] = customizationsText(patterns)
	}
	return data, faults.Err()
}

// splitName is the end of an entry's own key, if it can have one.
func splitName(e entry) (name string, ok bool) {
	name = e.kind
	if e.group != "" {
		name = e.group + "_" + e.kind
	}
	// "all" is Argo CD's word for every kind.
	return name, !e.wildcard() && name != "all" && len(openLibsKey)+len(name) <= maxKey
}

// customizationsText is the text under resource.customizations. Its keys are
// quoted whether or not they must be, as in Argo CD's documentation: "*" at the
// beginning means something else in YAML.
func customizationsText(patterns []entry) string {
	var out strings.Builder
	for _, e := range patterns {
		fmt.Fprintf(&out, "%q:\n", e.target())
		value := map[string]any{"health.lua": e.lua}
		if e.check.UseOpenLibs {
			value["health.lua.useOpenLibs"] = true
		}
		out.WriteString(indented(yamldoc.AppendYAML(nil, value), "  "))
	}
	return out.String()
}

// indented moves YAML in block style to the right.
func indented(text []byte, by string) string {
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if line != "\n" {
			out.WriteString(by)
		}
		out.WriteString(line)
	}
	return out.String()
}

// Limits of a ConfigMap.
const (
	// MaxData is how many bytes all values may have together.
	MaxData = 1 << 20
	// MaxApplied is about how much kubectl apply takes without --server-side: it
	// keeps a copy of the object in an annotation.
	MaxApplied = 256 << 10
)

// Sizes says how much of argocd-cm the scripts take.
type Sizes struct {
	Keys  []KeySize // the largest first
	Total int       // bytes of all values, which is what Kubernetes counts
}

// KeySize is the size of the value under a key of argocd-cm.
type KeySize struct {
	Key   string
	Bytes int
}

// Share is the part of MaxData that is taken, 1 for all of it.
func (s Sizes) Share() float64 { return float64(s.Total) / MaxData }

// Size measures what ArgoCM writes. More than MaxData is an error; the sizes come with
// it.
func Size(scripts []Script) (Sizes, error) {
	data, err := argoData(scripts)
	if err != nil {
		return Sizes{}, err
	}
	var s Sizes
	for key, value := range data {
		n := len(value.(string))
		s.Keys = append(s.Keys, KeySize{key, n})
		s.Total += n
	}
	slices.SortFunc(s.Keys, func(a, b KeySize) int {
		if a.Bytes != b.Bytes {
			return b.Bytes - a.Bytes
		}
		return strings.Compare(a.Key, b.Key)
	})
	if s.Total > MaxData {
		return s, diag.WithHint(
			fmt.Errorf("the health checks have %d bytes, and the data of a ConfigMap may have %d", s.Total, MaxData),
			"argocd-cm holds everything else as well: leave out checks, or build the kinds of one group with one wildcard")
	}
	return s, nil
}
