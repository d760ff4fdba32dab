package stamp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
)

// workload returns the JSON of a Deployment with this pod.
func workload(name, pod string) string {
	return fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": %q, "namespace": "shop"}, "spec": {"template": {"spec": %s}}}`, name, pod)
}

// config returns the JSON of a ConfigMap or Secret in namespace shop.
func config(kind, name, fields string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": %q, "metadata": {"name": %q, "namespace": "shop"}, %s}`, kind, name, fields)
}

func roll(t *testing.T, opts Options, texts ...string) []object.Object {
	t.Helper()
	out, err := RollOnConfig(objects(t, texts...), "shop", opts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// configHashOf returns the annotation, or "" where there is none.
func configHashOf(o object.Object) string {
	hash, _ := object.Field(o.Value, "spec", "template", "metadata", "annotations", AnnotationConfigHash).(string)
	return hash
}

const (
	readsConfig = `{"containers": [{"envFrom": [{"configMapRef": {"name": "settings"}}]}]}`
	readsSecret = `{"containers": [{"envFrom": [{"secretRef": {"name": "login"}}]}]}`
)

// TestReferences has each way to read a ConfigMap or a Secret. The pod reads the
// entry "a", and "b" where reads is "all"; no other object and no other field.
func TestReferences(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, kind, reads, pod string }{
		{"env", "ConfigMap", "a", `{"containers": [{"env": [{"name": "A", "value": "1"}, {"valueFrom": {"configMapKeyRef": {"name": "it", "key": "a"}}}]}]}`},
		{"env", "Secret", "a", `{"containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "it", "key": "a", "optional": true}}}]}]}`},
		{"envFrom", "ConfigMap", "all", `{"containers": [{}, {"envFrom": [{"prefix": "P_", "configMapRef": {"name": "it"}}]}]}`},
		{"envFrom", "Secret", "all", `{"containers": [{"envFrom": [{"secretRef": {"name": "it"}}]}]}`},
		{"volume", "ConfigMap", "all", `{"containers": [], "volumes": [{"emptyDir": {}}, {"configMap": {"name": "it"}}]}`},
		{"volume", "Secret", "all", `{"containers": [], "volumes": [{"secret": {"secretName": "it", "items": []}}]}`},
		{"items", "ConfigMap", "a", `{"containers": [], "volumes": [{"configMap": {"name": "it", "items": [{"key": "a", "path": "p"}]}}]}`},
		{"items", "Secret", "a", `{"containers": [], "volumes": [{"secret": {"secretName": "it", "items": [{"key": "a", "path": "p"}]}}]}`},
		{"projected", "ConfigMap", "all", `{"containers": [], "volumes": [{"projected": {"sources": [{"downwardAPI": {}}, {"configMap": {"name": "it"}}]}}]}`},
		{"projected", "Secret", "all", `{"containers": [], "volumes": [{"projected": {"sources": [{"secret": {"name": "it"}}]}}]}`},
		{"projected items", "Secret", "a", `{"containers": [], "volumes": [{"projected": {"sources": [{"secret": {"name": "it", "items": [{"key": "a"}]}}]}}]}`},
		{"init container", "Secret", "a", `{"containers": [], "initContainers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "it", "key": "a"}}}]}]}`},
		{"ephemeral container", "ConfigMap", "all", `{"containers": [], "ephemeralContainers": [{"envFrom": [{"configMapRef": {"name": "it"}}]}]}`},
		{"one entry, then all", "ConfigMap", "all", `{"containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "it", "key": "a"}}}]}], "volumes": [{"configMap": {"name": "it"}}]}`},
		{"all, then one entry", "ConfigMap", "all", `{"containers": [{"envFrom": [{"configMapRef": {"name": "it"}}]}, {"env": [{"valueFrom": {"configMapKeyRef": {"name": "it", "key": "a"}}}]}]}`},
	} {
		t.Run(test.kind+" "+test.name, func(t *testing.T) {
			t.Parallel()
			other := map[string]string{"ConfigMap": "Secret", "Secret": "ConfigMap"}[test.kind]
			hash := func(fields, others string) string {
				return configHashOf(roll(t, Options{Key: testKey}, workload("web", test.pod),
					config(test.kind, "it", fields), config(other, "it", others), config(test.kind, "that", others))[0])
			}
			base := hash(`"data": {"a": "1", "b": "2"}`, `"data": {"a": "1"}`)
			if !isDigest(base) {
				t.Fatalf("got %q, want a hash", base)
			}
			for _, change := range []struct {
				what, fields, others string
				moves                bool
			}{
				{"nothing", `"data": {"b": "2", "a": "1"}`, `"data": {"a": "1"}`, false},
				{"other objects", `"data": {"a": "1", "b": "2"}`, `"data": {"a": "2"}`, false},
				{"other fields", `"data": {"a": "1", "b": "2"}, "type": "x", "immutable": true, "metadata": {"name": "it", "namespace": "shop", "labels": {"l": "1"}, "annotations": {"hallmark.dev/renderer": "x"}}`, `"data": {"a": "1"}`, false},
				{"the entry a", `"data": {"a": "2", "b": "2"}`, `"data": {"a": "1"}`, true},
				{"the entry b", `"data": {"a": "1", "b": "1"}`, `"data": {"a": "1"}`, test.reads == "all"},
				{"one more entry", `"data": {"a": "1", "b": "2", "c": ""}`, `"data": {"a": "1"}`, test.reads == "all"},
				{"no entry a", `"data": {"b": "2"}`, `"data": {"a": "1"}`, true},
				{"binaryData", `"data": {"a": "1", "b": "2"}, "binaryData": {"a": "MQ=="}`, `"data": {"a": "1"}`, test.kind == "ConfigMap"},
				{"stringData", `"data": {"a": "1", "b": "2"}, "stringData": {"a": "1"}`, `"data": {"a": "1"}`, test.kind == "Secret"},
			} {
				if moved := hash(change.fields, change.others) != base; moved != change.moves {
					t.Errorf("after a change of %s the hash moved is %t, want %t", change.what, moved, change.moves)
				}
			}
		})
	}
}

// TestNoReference has what looks like a reference and is none, or leads nowhere.
func TestNoReference(t *testing.T) {
	t.Parallel()
	config := config("ConfigMap", "settings", `"data": {"a": "1"}`)
	secret := `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "data": {"a": "MQ=="}}`
	kind := func(apiVersion, kind string) string {
		return fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": "w"}, "spec": {"template": {"spec": %s}}}`, apiVersion, kind, readsConfig)
	}
	for name, text := range map[string]string{
		"nothing":                  workload("w", `{"containers": [{"image": "web:1"}]}`),
		"no such object":           workload("w", `{"containers": [{"envFrom": [{"configMapRef": {"name": "none"}}, {"secretRef": {"name": "settings"}}]}]}`),
		"pull secret":              workload("w", `{"containers": [], "imagePullSecrets": [{"name": "login"}]}`),
		"CSI driver":               workload("w", `{"containers": [], "volumes": [{"csi": {"nodePublishSecretRef": {"name": "login"}}}]}`),
		"other namespace":          strings.Replace(workload("w", readsConfig), "shop", "stage", 1),
		"job":                      kind("batch/v1", "Job"),
		"job of another maker":     kind("apps.kruise.io/v1alpha1", "BroadcastJob"),
		"replica set":              kind("apps/v1", "ReplicaSet"),
		"replication controller":   kind("v1", "ReplicationController"),
		"pod template":             `{"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "w"}, "template": {"spec": ` + readsConfig + `}}`,
		"cron job":                 `{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "w"}, "spec": {"jobTemplate": {"spec": {"template": {"spec": ` + readsConfig + `}}}}}`,
		"pod":                      `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w"}, "spec": ` + readsConfig + `}`,
		"containers of wrong type": workload("w", `{"containers": {"envFrom": 1}, "volumes": [{"configMap": {"name": "settings"}}]}`),
		"no containers":            workload("w", `{"volumes": [{"configMap": {"name": "settings"}}]}`),
		"odd types": workload("w", `{"containers": [1, null, [], {"env": 3, "envFrom": [null, {"configMapRef": "settings"}, {"configMapRef": {"name": ["settings"]}}]},
			{"env": [{"valueFrom": {"configMapKeyRef": {"name": "settings", "key": 7}}}, {"valueFrom": []}]}], "volumes": [7, {"projected": {"sources": {"a": 1}}}, {"secret": {"name": "login"}}]}`),
		"odd annotations": `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"}, "spec": {"template": {"metadata": {"annotations": []}, "spec": ` + readsConfig + `}}}`,
		"odd metadata":    `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"}, "spec": {"template": {"metadata": "m", "spec": ` + readsConfig + `}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := objects(t, text, config, secret)
			in[0].Memo, in[0].Body = &object.Memo{}, &object.Memo{}
			out, err := RollOnConfig(in, "shop", Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, text), out[0].Value); diff != "" {
				t.Errorf("the object changed (-want +got):\n%s", diff)
			}
			if out[0].Memo != in[0].Memo || out[0].Body != in[0].Body {
				t.Error("an object that did not change lost what was kept for it")
			}
		})
	}
}

func TestRollingKinds(t *testing.T) {
	t.Parallel()
	for apiVersion, kind := range map[string]string{
		"apps/v1": "StatefulSet", "extensions/v1beta1": "DaemonSet", "argoproj.io/v1alpha1": "Rollout",
		"serving.knative.dev/v1": "Service", "apps.kruise.io/v1alpha1": "CloneSet", "apps.openshift.io/v1": "DeploymentConfig",
	} {
		// Neither of the two names a namespace.
		out := roll(t, Options{},
			fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": "w"}, "spec": {"template": {"metadata": null, "spec": %s}}}`, apiVersion, kind, readsConfig),
			`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {}}`)
		if !isDigest(configHashOf(out[0])) {
			t.Errorf("%s has config hash %q", kind, configHashOf(out[0]))
		}
	}
}

func TestConfigNamespaces(t *testing.T) {
	t.Parallel()
	hash := func(namespace, own, other string) string {
		out, err := RollOnConfig(objects(t,
			strings.Replace(workload("web", readsSecret), `, "namespace": "shop"`, "", 1),
			strings.Replace(config("Secret", "login", `"data": {"a": "`+own+`"}`), `"shop"`, `"`+namespace+`"`, 1),
			strings.Replace(config("Secret", "login", `"data": {"a": "`+other+`"}`), `"shop"`, `"stage"`, 1),
		), namespace, Options{Key: testKey})
		if err != nil {
			t.Fatal(err)
		}
		return configHashOf(out[0])
	}
	base := hash("shop", "MQ==", "MQ==")
	if hash("shop", "MQ==", "Mg==") != base {
		t.Error("a Secret of the same name in another namespace counts")
	}
	if hash("shop", "Mg==", "MQ==") == base {
		t.Error("the Secret of the destination namespace does not count")
	}
	if hash("test", "MQ==", "MQ==") == base {
		t.Error("equal values in two namespaces show as equal")
	}
}

// TestConfigHash fixes the definition: a change here is a new format version.
func TestConfigHash(t *testing.T) {
	t.Parallel()
	mac := func(message string) string {
		h := hmac.New(sha256.New, testKey)
		h.Write([]byte(message))
		return "hmac-sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	out := roll(t, Options{Key: testKey},
		config("Secret", "login", `"data": {"a": "MQ=="}, "stringData": {"a": "é", "b": "2"}`),
		config("Secret", "odd", `"data": "text"`),
		workload("web", `{"containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "b-empty", "key": "gone"}}}]}],
			"volumes": [{"secret": {"secretName": "odd"}}, {"secret": {"secretName": "login", "items": [{"key": "a"}]}}, {"configMap": {"name": "a-full"}}]}`),
		config("ConfigMap", "b-empty", `"data": {"mode": "fast"}`),
		config("ConfigMap", "a-full", `"data": {"mode": "fast", "<": 1.0}, "binaryData": {"x": "MQ=="}, "stringData": {"y": ""}`))
	text := `[["ConfigMap","a-full",{"binaryData":{"x":"MQ=="},"data":{"<":1,"mode":"fast"}}],["ConfigMap","b-empty",{}],` +
		`["Secret","login",{"data":{"a":"` + mac(`["hallmark.dev/stamp/v1/config","shop","login","data","a","MQ=="]`) + `"},` +
		`"stringData":{"a":"` + mac(`["hallmark.dev/stamp/v1/config","shop","login","stringData","a","é"]`) + `"}}],` +
		`["Secret","odd",{"data":"` + mac(`["hallmark.dev/stamp/v1/config","shop","odd","data",null,"text"]`) + `"}]]`
	if got, want := configHashOf(out[2]), digest([]byte(text)); got != want {
		t.Errorf("got %s, want %s, the hash of %s", got, want, text)
	}
}

// TestConfigHashIsNoOracle guesses a short value in every way that the
// definition leaves to someone without the key.
func TestConfigHashIsNoOracle(t *testing.T) {
	t.Parallel()
	secret := config("Secret", "login", `"stringData": {"pin": "0042"}`)
	texts := []string{workload("web", readsSecret), secret, workload("other", readsSecret),
		workload("third", `{"containers": [{"envFrom": [{"secretRef": {"name": "twin"}}]}]}`), config("Secret", "twin", `"stringData": {"pin": "0042"}`)}
	out := roll(t, Options{Key: testKey}, texts...)
	got := configHashOf(out[0])
	if got != configHashOf(out[2]) {
		t.Error("two workloads that read the same have different hashes")
	}
	if got == configHashOf(out[3]) {
		t.Error("two Secrets with the same value have the same hash")
	}
	if another := configHashOf(roll(t, Options{Key: Key("another key of 16+")}, texts...)[0]); another == got {
		t.Error("the key does not count")
	}
	for guess := range 100 {
		pin := fmt.Sprintf("%04d", guess)
		message := `["hallmark.dev/stamp/v1/config","shop","login","stringData","pin","` + pin + `"]`
		empty := hmac.New(sha256.New, nil)
		empty.Write([]byte(message))
		for _, value := range []string{`"` + pin + `"`, `"` + digest([]byte(pin)) + `"`, `"` + digest([]byte(message)) + `"`, message,
			`"hmac-sha256:` + hex.EncodeToString(empty.Sum(nil)) + `"`} {
			if digest([]byte(`[["Secret","login",{"stringData":{"pin":`+value+`}}]]`)) == got {
				t.Fatalf("the hash gives the value away: %s", value)
			}
		}
	}
}

func TestConfigHashWithoutKey(t *testing.T) {
	t.Parallel()
	both := `{"containers": [{"envFrom": [{"secretRef": {"name": "login"}}, {"secretRef": {"name": "api"}}]}]}`
	in := objects(t, workload("web", both), workload("worker", readsSecret), workload("calm", readsConfig),
		config("Secret", "login", `"stringData": {"pin": "hunter2"}`), config("Secret", "api", `"data": {"pin": "aHVudGVyMg=="}`),
		config("ConfigMap", "settings", `"data": {}`))
	out, err := RollOnConfig(in, "shop", Options{})
	if out != nil || err == nil {
		t.Fatalf("got %d objects and error %v", len(out), err)
	}
	want := `shop/all.yaml:1: Deployment.apps "shop/web": hallmark.dev/config-hash: the values of Secret "shop/api", "shop/login" count under a key only, and there is none
shop/all.yaml:11: Deployment.apps "shop/worker": hallmark.dev/config-hash: the values of Secret "shop/login" count under a key only, and there is none`
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if hint := diag.Hint(err); hint != configKeyHint {
		t.Errorf("got hint %q", hint)
	}
	// There is nothing to conceal in a Secret that a controller will fill.
	calm := roll(t, Options{}, workload("web", readsSecret), config("Secret", "login", `"data": {}`))
	if !isDigest(configHashOf(calm[0])) {
		t.Error("a workload with an empty Secret has no config hash")
	}
	if _, err := RollOnConfig(in, "shop", Options{Key: Key("short")}); err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("got %v for a short key", err)
	}
}

func TestConfigHashLeavesIgnoredFieldsOut(t *testing.T) {
	t.Parallel()
	hash := func(random, pin string) string {
		opts := Options{Key: testKey, Ignore: map[object.ID][]Path{
			{Kind: "Secret", Namespace: "shop", Name: "login"}: {{"data", "random"}},
		}}
		return configHashOf(roll(t, opts, workload("web", readsSecret), config("Secret", "login", `"data": {"random": "`+random+`", "pin": "`+pin+`"}`))[0])
	}
	if hash("r1", "1") != hash("r2", "1") {
		t.Error("an ignored field counts")
	}
	if hash("r1", "1") == hash("r1", "2") {
		t.Error("a field beside an ignored one does not count")
	}
}

func TestConfigHashOfAValueWithoutJSON(t *testing.T) {
	t.Parallel()
	in := objects(t, workload("web", readsConfig), workload("worker", readsSecret), config("ConfigMap", "settings", `"data": {}`), config("Secret", "login", `"data": {}`))
	replace(in[2].Value, Path{"data"}, map[string]any{"a": "hunter2\xff"})
	replace(in[3].Value, Path{"data"}, map[string]any{"a": "hunter2\xff"})
	_, err := RollOnConfig(in, "shop", Options{Key: testKey})
	if err == nil || strings.Count(err.Error(), "\n") != 1 || strings.Contains(err.Error(), "hunter2") || diag.Hint(err) != "" {
		t.Errorf("got error %v and hint %q", err, diag.Hint(err))
	}
}

// TestOldConfigHash has sources that bring the annotation along.
func TestOldConfigHash(t *testing.T) {
	t.Parallel()
	text := func(annotations, pod string) string {
		return strings.Replace(workload("web", pod), `"template": {`, `"template": {"metadata": {"labels": {"l": "1"}, "annotations": `+annotations+`}, `, 1)
	}
	config := config("ConfigMap", "settings", `"data": {"a": "1"}`)
	hash := configHashOf(roll(t, Options{}, workload("web", readsConfig), config)[0])
	for _, test := range []struct {
		name, annotations, pod string
		want                   any
	}{
		{"others stay", `{"other": "o"}`, readsConfig, map[string]any{"other": "o", AnnotationConfigHash: hash}},
		{"replaced", `{"other": "o", "hallmark.dev/config-hash": "old"}`, readsConfig, map[string]any{"other": "o", AnnotationConfigHash: hash}},
		{"of another type", `{"hallmark.dev/config-hash": [1]}`, readsConfig, map[string]any{AnnotationConfigHash: hash}},
		{"removed", `{"other": "o", "hallmark.dev/config-hash": "old"}`, `{"containers": []}`, map[string]any{"other": "o"}},
		{"removed, the only one", `{"hallmark.dev/config-hash": "old"}`, `{"containers": []}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := objects(t, text(test.annotations, test.pod), config)
			in[0].Memo, in[0].Body, in[1].Memo = &object.Memo{}, &object.Memo{}, &object.Memo{}
			before := fmt.Sprint(in)
			out, err := RollOnConfig(in, "shop", Options{})
			if err != nil {
				t.Fatal(err)
			}
			if after := fmt.Sprint(in); after != before {
				t.Errorf("what was given changed: %s\nwas %s", after, before)
			}
			if diff := cmp.Diff(test.want, object.Field(out[0].Value, "spec", "template", "metadata", "annotations")); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if labels := object.Field(out[0].Value, "spec", "template", "metadata", "labels", "l"); labels != "1" {
				t.Error("the labels are lost")
			}
			if out[0].Memo != nil || out[0].Body != nil || out[1].Memo != in[1].Memo || out[0].At() != in[0].At() {
				t.Error("the changed object keeps its memos, or another lost its own")
			}
			again, err := RollOnConfig(out, "shop", Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(out[0].Value, again[0].Value); diff != "" {
				t.Errorf("a second pass changed it (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigHashOrder(t *testing.T) {
	t.Parallel()
	in := objects(t, workload("web", `{"containers": [{"envFrom": [{"configMapRef": {"name": "b"}}, {"configMapRef": {"name": "a"}}, {"secretRef": {"name": "c"}}]}]}`),
		config("ConfigMap", "a", `"data": {"k": "1"}`), config("ConfigMap", "b", `"data": {"k": "2"}`), config("Secret", "c", `"data": {"k": "3"}`))
	hashes := make(map[string]bool)
	for seed := range uint64(10) {
		out, err := RollOnConfig(shuffled(in, seed), "shop", Options{Key: testKey})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out {
			if hash := configHashOf(o); hash != "" {
				hashes[hash] = true
			}
		}
	}
	if len(hashes) != 1 {
		t.Errorf("the order of objects counts: %v", hashes)
	}
}

// The object hash covers the config hash, and a verification needs to know
// nothing about it.
func TestConfigHashIsStamped(t *testing.T) {
	t.Parallel()
	opts := Options{Key: testKey}
	stamped := func(pin string) Result {
		return apply(t, roll(t, opts, workload("web", readsSecret), config("Secret", "login", `"data": {"pin": "`+pin+`"}`)), opts)
	}
	first, second := stamped("1"), stamped("2")
	if first.ObjectHashes[0] == second.ObjectHashes[0] {
		t.Error("the object hash of the workload does not cover the config hash")
	}
	report, err := Verify(first.Objects, opts)
	if err != nil || !report.OK() {
		t.Errorf("got %+v and error %v", report, err)
	}
	replace(first.Objects[0].Value, Path{"spec", "template", "metadata", "annotations", AnnotationConfigHash}, "sha256:0")
	if report, err = Verify(first.Objects, opts); err != nil || report.OK() {
		t.Errorf("after a change of the config hash: %+v and error %v", report, err)
	}
}

// FuzzRollOnConfig gives it any two objects: it does not panic, reads only,
// changes nothing but the annotation, and a second pass changes nothing.
func FuzzRollOnConfig(f *testing.F) {
	settings, login := config("ConfigMap", "settings", `"data": {"a": "1"}`), config("Secret", "login", `"data": [1]`)
	for _, pod := range []string{readsConfig, readsSecret, `{"containers": [7], "volumes": [{"configMap": {"name": "settings", "items": {"key": 1}}}, null]}`} {
		f.Add(workload("web", pod), settings)
		f.Add(workload("web", pod), login)
	}
	f.Add(strings.Replace(workload("web", readsConfig), `"template": {`, `"template": {"metadata": {"annotations": {"hallmark.dev/config-hash": null}}, `, 1), settings)
	f.Add(`{"kind": "A", "spec": {"template": {"spec": {"containers": []}, "metadata": []}}}`, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": 7}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		one, err := decodeObject(first)
		if err != nil {
			t.Skip("not an object")
		}
		two, err := decodeObject(second)
		if err != nil {
			t.Skip("not an object")
		}
		in := []object.Object{{Value: one}, {Value: two}}
		before := fmt.Sprint(in)
		out, err := RollOnConfig(in, "shop", Options{Key: testKey})
		if after := fmt.Sprint(in); after != before {
			t.Errorf("what was given changed: %s\nwas %s", after, before)
		}
		if err != nil {
			return
		}
		again, err := RollOnConfig(out, "shop", Options{Key: testKey})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(out, again, cmp.AllowUnexported(object.Memo{})); diff != "" {
			t.Errorf("a second pass changed it (-want +got):\n%s", diff)
		}
		// Put there and taken out, the annotation leaves no empty maps.
		bare := func(o object.Object) map[string]any { return withConfigHash(withConfigHash(o, "x"), "").Value }
		for i, o := range out {
			if diff := cmp.Diff(bare(in[i]), bare(o)); diff != "" {
				t.Errorf("more than the annotation changed (-want +got):\n%s", diff)
			}
		}
	})
}
