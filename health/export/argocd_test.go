package export

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v2/util/settings"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"
)

// A form is one of the outputs that end in argocd-cm.
type form struct {
	name string
	file string
	text func([]Script) ([]byte, error)
	data func(*testing.T, []byte) map[string]string // what of it stands in argocd-cm
}

var forms = []form{
	{"argocd-cm", "argocd-cm.yaml", func(s []Script) ([]byte, error) { return ArgoCM(s, false) }, configMapData},
	{"patch", "argocd-cm-patch.yaml", func(s []Script) ([]byte, error) { return ArgoCM(s, true) }, configMapData},
	{"Helm", "helm-values.yaml", HelmValues, helmData},
	{"operator", "operator.yaml", func(s []Script) ([]byte, error) { text, _, err := Operator(s); return text, err }, operatorData},
}

func TestForms(t *testing.T) {
	t.Parallel()
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			text, err := f.text(someScripts())
			if err != nil {
				t.Fatal(err)
			}
			golden(t, f.file, text)
		})
	}
}

// TestSettings loads each form with Argo CD's own code.
func TestSettings(t *testing.T) {
	t.Parallel()
	scripts := someScripts()
	libs := func(lua string) v1alpha1.ResourceOverride {
		return v1alpha1.ResourceOverride{HealthLua: lua, UseOpenLibs: true}
	}
	want := map[string]v1alpha1.ResourceOverride{
		"example.org/Widget":       {HealthLua: scripts[0].Lua},
		"example.org/Gadget":       {HealthLua: scripts[0].Lua},
		"Endpoints":                {HealthLua: scripts[0].Lua},
		"*.wild.example.org/*":     {HealthLua: scripts[1].Lua},
		"wild.example.org/*":       {HealthLua: scripts[1].Lua},
		"Per*":                     {HealthLua: scripts[1].Lua},
		"libs.example.org/Text":    libs(scripts[2].Lua),
		"*.libs.example.org/Text*": libs(scripts[2].Lua),
		"last.example.org/Thing":   {HealthLua: scripts[3].Lua},
	}
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			text, err := f.text(scripts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, overrides(t, f.data(t, text))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestOddNames has targets that no key of their own can hold, and that argocd-cm takes
// all the same.
func TestOddNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long.", 45) + "example.org"
	scripts := []Script{
		{check("odd", 1, target("", "all"), target(long, "Kind")), "return {status = \"Healthy\", message = \"\"}\n"},
	}
	want := map[string]v1alpha1.ResourceOverride{"all": {HealthLua: scripts[0].Lua}, long + "/Kind": {HealthLua: scripts[0].Lua}}
	for _, f := range forms {
		text, err := f.text(scripts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, overrides(t, f.data(t, text))); diff != "" {
			t.Errorf("%s: -want +got\n%s", f.name, diff)
		}
	}
}

// overrides is what Argo CD reads from the data of argocd-cm, without what it adds
// itself.
func overrides(t *testing.T, data map[string]string) map[string]v1alpha1.ResourceOverride {
	t.Helper()
	for key := range data {
		if faults := validation.IsConfigMapKey(key); len(faults) > 0 {
			t.Errorf("key %s: %v", key, faults)
		}
	}
	labels := map[string]string{"app.kubernetes.io/part-of": "argocd"}
	client := fake.NewClientset(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm", Namespace: "argocd", Labels: labels}, Data: data},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "argocd-secret", Namespace: "argocd", Labels: labels}})
	all, err := settings.NewSettingsManager(t.Context(), client, "argocd").GetResourceOverrides()
	if err != nil {
		t.Fatal(err)
	}
	for key, o := range all {
		if o.HealthLua == "" {
			delete(all, key)
		}
	}
	return all
}

func configMapData(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var cm corev1.ConfigMap
	if err := yaml.UnmarshalStrict(text, &cm); err != nil {
		t.Fatal(err)
	}
	if cm.Name != "argocd-cm" || cm.Kind != "ConfigMap" || cm.APIVersion != "v1" {
		t.Errorf("it is %s %s %s", cm.APIVersion, cm.Kind, cm.Name)
	}
	return cm.Data
}

// helmData does what the chart's template does: the text of each value of
// configs.cm, unless it is empty.
func helmData(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var values struct {
		Configs struct {
			CM map[string]any `json:"cm"`
		} `json:"configs"`
	}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	data := map[string]string{}
	for key, value := range values.Configs.CM {
		data[key] = fmt.Sprint(value)
	}
	return data
}

// operatorData does what the operator does with the two fields: a key for each check
// and, over those, a copy of extraConfig.
func operatorData(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var argocd struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       struct {
			ResourceHealthChecks []struct{ Group, Kind, Check string } `json:"resourceHealthChecks"`
			ExtraConfig          map[string]string                     `json:"extraConfig"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(text, &argocd); err != nil {
		t.Fatal(err)
	}
	data := map[string]string{}
	for _, c := range argocd.Spec.ResourceHealthChecks {
		group := c.Group
		if group != "" {
			group += "_"
		}
		data["resource.customizations.health."+group+c.Kind] = c.Check
	}
	for key, value := range argocd.Spec.ExtraConfig {
		data[key] = value
	}
	return data
}

func TestOperatorNotes(t *testing.T) {
	t.Parallel()
	_, notes, err := Operator(someScripts())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range notes {
		got = append(got, n.String())
	}
	want := []string{
		"checks.yaml:10: wild: target Per*: resourceHealthChecks cannot say it; it is in spec.extraConfig, under resource.customizations",
		"checks.yaml:20: libs: target *.libs.example.org/Text*: resourceHealthChecks cannot say it; it is in spec.extraConfig, under resource.customizations",
		"checks.yaml:10: wild: target *.wild.example.org/*: resourceHealthChecks cannot say it; it is in spec.extraConfig, under resource.customizations",
		"checks.yaml:20: libs: resourceHealthChecks cannot say useOpenLibs; it is in spec.extraConfig, under resource.customizations.useOpenLibs.<group>_<kind>",
		"checks.yaml:10: wild: target wild.example.org/*: resourceHealthChecks cannot say it; it is in spec.extraConfig, under resource.customizations",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	scripts := someScripts()
	sizes, err := Size(scripts)
	if err != nil {
		t.Fatal(err)
	}
	text, err := ArgoCM(scripts, false)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, value := range configMapData(t, text) {
		total += len(value)
	}
	if sizes.Total != total || sizes.Share() != float64(total)/1048576 {
		t.Errorf("total %d, share %f, want %d", sizes.Total, sizes.Share(), total)
	}
	for i, k := range sizes.Keys[1:] {
		if k.Bytes > sizes.Keys[i].Bytes {
			t.Errorf("%s is larger than the key before it", k.Key)
		}
	}
	if sizes.Keys[0].Key != customizations || len(sizes.Keys) != 7 {
		t.Errorf("got %v", sizes.Keys)
	}

	lua := strings.Repeat("-", 1<<20)
	at := []Script{{check("large", 1, target("example.org", "Kind")), lua}}
	if sizes, err := Size(at); err != nil || sizes.Share() != 1 {
		t.Errorf("of exactly 1 MiB: %f, %v", sizes.Share(), err)
	}
	at[0].Lua += "-"
	sizes, err = Size(at)
	if want := "the health checks have 1048577 bytes, and the data of a ConfigMap may have 1048576"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if sizes.Total != 1<<20+1 {
		t.Errorf("total %d", sizes.Total)
	}
}
