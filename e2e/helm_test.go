package e2e

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestHelmValues keeps the values for Argo CD's chart the same as the Kustomize
// components: as they are, those of sidecar/, and with what stands in comments
// those of policy/ and keys/ too.
func TestHelmValues(t *testing.T) {
	t.Parallel()
	text := string(readFile(t, manifestsDir+"/helm-values.yaml"))
	for name, c := range map[string]struct {
		values     string
		components []string
	}{
		"as they are":          {text, []string{"sidecar"}},
		"with policy and keys": {uncommented(t, text), []string{"sidecar", "policy", "keys"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameAsComponents(t, c.values, c.components)
		})
	}
}

// uncommented turns the comments behind "policy:" and "keys:" into values.
func uncommented(t testing.TB, values string) string {
	t.Helper()
	var out []string
	inside, found := "", map[string]int{}
	for line := range strings.Lines(values) {
		if value, path, marked := strings.Cut(line, ` "" # policy: `); marked {
			line = value + " " + path
			found["value of policy"]++
		}
		text := strings.TrimSpace(line)
		switch {
		case text == "# policy:" || text == "# keys:":
			inside = text
			found[text]++
		case inside != "" && strings.HasPrefix(text, "# "):
			line = strings.Replace(line, "# ", "", 1)
		default:
			inside = ""
		}
		out = append(out, line)
	}
	if want := map[string]int{"value of policy": 1, "# policy:": 2, "# keys:": 2}; !maps.Equal(found, want) {
		t.Fatalf("helm-values.yaml has the comments %v, want %v", found, want)
	}
	return strings.Join(out, "")
}

func sameAsComponents(t *testing.T, text string, components []string) {
	type object = map[string]any
	var values struct {
		Hallmark   struct{ Image string }
		RepoServer struct {
			ExtraContainers, Volumes []object
		}
		Configs struct{ CM map[string]string }
	}
	decode(t, []byte(text), &values)
	want := object{}
	var volumes []object
	for _, component := range components {
		var patch struct {
			Spec struct {
				Template struct {
					Spec struct{ Containers, Volumes []object }
				}
			}
		}
		decodeFile(t, manifestsDir+"/"+component+"/repo-server.yaml", &patch)
		pod := patch.Spec.Template.Spec
		volumes = append(volumes, pod.Volumes...)
		for field, value := range pod.Containers[1] {
			list, isList := value.([]any)
			have, had := want[field].([]any)
			if isList && had {
				value = mergeByName(have, list)
			}
			want[field] = value
		}
	}

	if len(values.RepoServer.ExtraContainers) != 1 {
		t.Fatalf("got %d extra containers, want one", len(values.RepoServer.ExtraContainers))
	}
	c := values.RepoServer.ExtraContainers[0]
	if c["image"] != "{{ .Values.hallmark.image }}" {
		t.Errorf("the image is %v, want the value hallmark.image", c["image"])
	}
	c["image"] = values.Hallmark.Image
	if !reflect.DeepEqual(c, want) {
		t.Errorf("the container is\n%v\nand by the components\n%v", c, want)
	}
	if !reflect.DeepEqual(values.RepoServer.Volumes, volumes) {
		t.Errorf("the volumes are %v, and by the components %v", values.RepoServer.Volumes, volumes)
	}
	if want := map[string]string{ruleKey: shippedRule(t)}; !maps.Equal(values.Configs.CM, want) {
		t.Errorf("argocd-cm is %v, want %v", values.Configs.CM, want)
	}
	// The chart evaluates what is left in the container as a template.
	if text := fmt.Sprint(c); strings.Contains(text, "{{") {
		t.Errorf("the container has a template in it: %s", text)
	}
}

// mergeByName appends to a list, or replaces what has the same name.
func mergeByName(list, more []any) []any {
	list = slices.Clone(list)
	for _, item := range more {
		same := func(other any) bool { return field(other, "name") == field(item, "name") }
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i] = item
		} else {
			list = append(list, item)
		}
	}
	return list
}
