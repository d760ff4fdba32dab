package rules

import (
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
)

// A variation is an example with something replaced, and how many findings of its rule
// that has.
type variation struct {
	rule, name string
	bad        bool // of the example with the fault
	replace    []string
	more       string // further objects
	want       int
}

const customResource = "---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"

// What a reviewer would not raise is no finding, and what they would is one in its
// variations too.
func TestVariations(t *testing.T) {
	t.Parallel()
	for _, tt := range []variation{
		// Images.
		{"image-tag", "a digest beside no tag", true, []string{":latest", "@sha256:cbfd8bd8706497f44ba9a89dcdb3d738372aa886bec567cb0e81bf5f2d62b220"}, "", 0},
		{"image-tag", "a digest beside latest", true, []string{":latest", ":latest@sha256:cbfd8bd8706497f44ba9a89dcdb3d738372aa886bec567cb0e81bf5f2d62b220"}, "", 0},
		{"image-tag", "no tag", true, []string{":latest", ""}, "", 1},
		{"image-tag", "no tag behind the port of a registry", true, []string{"registry.example.com/shop/checkout:latest", "registry.example.com:5000/shop/checkout"}, "", 1},
		{"image-tag", "a tag behind the port of a registry", true, []string{"registry.example.com/shop/checkout:latest", "registry.example.com:5000/shop/checkout:1.0"}, "", 0},

		// Secrets.
		{"plaintext-secret", "an empty value", true, []string{"correct-horse-battery", `""`}, "", 0},
		{"plaintext-secret", "a name that says nothing", true, []string{"password", "colour"}, "", 0},
		{"plaintext-secret", "a URL with a password", true, []string{"password: correct-horse-battery", "dsn: postgres://shop:correct-horse@db/shop"}, "", 1},
		{"base64-secret", "an empty value", true, []string{"Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5", `""`}, "", 0},

		// Deletion.
		{"prune-decision", "Helm's own word", true, []string{"name: checkout-uploads", "name: checkout-uploads\n  annotations: {helm.sh/resource-policy: keep}"}, "", 0},
		{"prune-decision", "a decision for pruning", true, []string{"name: checkout-uploads", "name: checkout-uploads\n  annotations: {argocd.argoproj.io/sync-options: Prune=true}"}, "", 0},
		{"prune-decision", "another option", true, []string{"name: checkout-uploads", "name: checkout-uploads\n  annotations: {argocd.argoproj.io/sync-options: Validate=false}"}, "", 1},
		{"application-empty-prune", "without pruning", true, []string{"prune: true, ", ""}, "", 0},
		{"ignore-differences", "the image", true, []string{"[/spec]", "[/spec/template/spec/containers/0/image]"}, "", 1},
		{"ignore-differences", "a selector", true, []string{"[/spec]", "[/spec/selector]"}, "", 1},
		{"ignore-differences", "the number of replicas", true, []string{"[/spec]", "[/spec/replicas]"}, "", 0},
		{"ignore-owner", "the manager of the fields", true, []string{"jsonPointers: [/spec/replicas]", "managedFieldsManagers: [kube-controller-manager]"}, "", 0},

		// References.
		{"service-selector", "no selector", true, []string{"  selector: {app: checkuot, tier: web}\n", ""}, "", 0},
		{"service-selector", "a workload of another application", true, []string{"selector: {app: checkuot, tier: web}", "selector: {app: basket, component: api}"}, customResource, 0},
		{"port-reference", "another named port", false, []string{"targetPort: http", "targetPort: metrics"}, "", 1},
		{"port-reference", "the number of the port", false, []string{"targetPort: http", "targetPort: 8080"}, "", 0},
		{"backend-reference", "the number of the port", false, []string{"port: {name: http}", "port: {number: 80}"}, "", 0},
		{"backend-reference", "a name of a port that is not there", false, []string{"port: {name: http}", "port: {name: https}"}, "", 1},
		{"key-reference", "an optional one", true, []string{"key: LOG_LEVELS", "key: LOG_LEVELS, optional: true"}, "", 0},
		{"key-reference", "an object that is not here", true, []string{"configMapKeyRef: {name: checkout", "configMapKeyRef: {name: elsewhere"}, "", 0},
		{"disruption-target", "the workload of another application", true, []string{"matchLabels: {app: checkout, tier: worker}", "matchLabels: {team: payments}"}, customResource, 0},
		{"autoscaler-target", "the right kind", true, []string{"kind: StatefulSet", "kind: Deployment"}, "", 0},
		{"autoscaler-target", "another version", false, []string{"apiVersion: apps/v1, kind", "apiVersion: apps/v1beta9, kind"}, "", 0},
	} {
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			rule, found := Find(tt.rule)
			if !found {
				t.Fatal("there is no such rule")
			}
			bad, text := rule.Examples()
			if tt.bad {
				text = bad
			}
			for i := 0; i+1 < len(tt.replace); i += 2 {
				if !strings.Contains(text, tt.replace[i]) {
					t.Fatalf("the example does not hold %q", tt.replace[i])
				}
				text = strings.ReplaceAll(text, tt.replace[i], tt.replace[i+1])
			}
			if got := of(Check(objects(t, text+tt.more), bookOptions()), tt.rule); len(got) != tt.want {
				t.Errorf("got %+v, want %d findings", got, tt.want)
			}
		})
	}
}

// What was decrypted is no plaintext of the repository, and no message quotes a value.
func TestDecryptedIsNoPlaintext(t *testing.T) {
	t.Parallel()
	rule, _ := Find("plaintext-secret")
	bad, _ := rule.Examples()
	o := bookOptions()
	for _, f := range Check(objects(t, bad), o) {
		if strings.Contains(f.Message+f.Field, "correct-horse") {
			t.Errorf("%q quotes the value", f.Message)
		}
	}
	o.Decrypted = func(text string) bool { return strings.Contains(text, "correct-horse") }
	if got := of(Check(objects(t, bad), o), rule.ID); len(got) > 0 {
		t.Errorf("got %+v for a value that was decrypted", got)
	}
	o.Decrypted, o.Literal = nil, func(object.Object) bool { return false }
	if got := of(Check(objects(t, bad), o), rule.ID); len(got) > 1 {
		t.Errorf("got %+v", got)
	}
}
