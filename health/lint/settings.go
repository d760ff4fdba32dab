package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/yaml"
)

// What Argo CD reads of argocd-cm, in the order of its own code: the YAML under
// resource.customizations; the keys resource.customizations.<type>.<group>_<kind>,
// which win; resource.compareoptions. One fault in any of them and Argo CD has no
// customizations at all, so all are looked for.

const (
	customizationsKey = "resource.customizations"
	compareKey        = "resource.compareoptions"
	allKinds          = "*/*"
)

// A refusal is a fault for which Argo CD refuses the ConfigMap.
type refusal struct {
	key string // of the ConfigMap
	err error
}

// override is the health check of one kind or wildcard, and where it was written.
type override struct {
	health, openLibs   string // the keys of the ConfigMap that set them, "" for none
	script             string
	useOpenLibs        bool
	inYAML, inSplitKey bool // a health script is there
}

// settings are the health checks of an argocd-cm by the key that Argo CD looks them
// up by.
type settings map[string]*override

// readSettings reads the data of an argocd-cm as Argo CD does.
func readSettings(data map[string]string) (settings, []refusal) {
	s := settings{}
	var refused []refusal
	refuse := func(key string, err error) {
		if err != nil {
			refused = append(refused, refusal{key, err})
		}
	}
	if text := data[customizationsKey]; text != "" {
		var overrides map[string]v1alpha1.ResourceOverride
		if err := nullKind(text); err != nil {
			refuse(customizationsKey, err)
		} else {
			refuse(customizationsKey, decode(text, &overrides))
		}
		for key, o := range overrides {
			s[key] = &override{
				health: customizationsKey, openLibs: customizationsKey,
				script: o.HealthLua, useOpenLibs: o.UseOpenLibs, inYAML: o.HealthLua != "",
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if strings.HasPrefix(key, customizationsKey) {
			refuse(key, s.split(key, data[key]))
		}
	}
	if text, ok := data[compareKey]; ok {
		var options struct {
			IgnoreAggregatedRoles              bool   `json:"ignoreAggregatedRoles"`
			IgnoreResourceStatusField          string `json:"ignoreResourceStatusField"`
			IgnoreDifferencesOnResourceUpdates bool   `json:"ignoreDifferencesOnResourceUpdates"`
		}
		refuse(compareKey, decode(text, &options))
	}
	return s, refused
}

// nullKind finds a kind without a value, on which Argo CD's own decoder panics.
func nullKind(text string) error {
	var kinds map[string]any
	if decode(text, &kinds) != nil {
		return nil // the decoder proper says why
	}
	for _, key := range slices.Sorted(maps.Keys(kinds)) {
		if kinds[key] == nil {
			return fmt.Errorf("%s is null, on which Argo CD crashes", key)
		}
	}
	return nil
}

// split reads a key of its own. One with too few parts says nothing to Argo CD.
func (s settings) split(key, value string) error {
	parts := strings.SplitN(key, ".", 4)
	if len(parts) < 4 {
		return nil
	}
	target, err := splitTarget(parts[3])
	if err != nil {
		return err
	}
	o := s[target]
	if o == nil {
		o = &override{}
	}
	switch parts[2] {
	case "health":
		o.health, o.script, o.inSplitKey = key, value, value != ""
	case "useOpenLibs":
		o.useOpenLibs, err = strconv.ParseBool(value)
		o.openLibs = key
		if err != nil {
			return fmt.Errorf("got %q, want true or false", value)
		}
	case "actions":
	case "ignoreDifferences", "ignoreResourceUpdates":
		err = decode(value, new(v1alpha1.OverrideIgnoreDiff))
	case "knownTypeFields":
		err = decode(value, new([]v1alpha1.KnownTypeField))
	default:
		return fmt.Errorf("%q is no type of customization: the types are health, useOpenLibs, actions, ignoreDifferences, ignoreResourceUpdates and knownTypeFields", parts[2])
	}
	if err == nil {
		s[target] = o
	}
	return err
}

// splitTarget is the key that <group>_<kind> stands for.
func splitTarget(text string) (string, error) {
	switch parts := strings.Split(text, "_"); {
	case text == "":
		return "", errors.New("there is no kind behind the last dot")
	case text == "all":
		return allKinds, nil
	case len(parts) == 1:
		return text, nil
	case len(parts) == 2:
		return parts[0] + "/" + parts[1], nil
	default:
		return "", fmt.Errorf("more than one _ in %q, want <group>_<kind> or <kind>", text)
	}
}

// decode guards the library, which is given what somebody wrote.
func decode(text string, into any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML reader gave up: %v", r)
		}
	}()
	return yaml.Unmarshal([]byte(text), into)
}
