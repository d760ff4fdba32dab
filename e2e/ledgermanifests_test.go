package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/e2e/cluster"

	"sigs.k8s.io/yaml"
)

const (
	ledgerDir   = manifestsDir + "/ledger"
	ledgerChart = root + "/examples/ledger/chart"
	ledgerUser  = "--as=system:serviceaccount:shop:hallmark-ledger"
)

// notObserved is the status of a new object.
var notObserved = map[string]any{"observedGeneration": float64(-1)}

// TestLedgerManifests has an API server accept ../manifests/ledger, in a namespace that
// enforces the strictest of Kubernetes' pod security standards, and looks at what comes
// of it.
func TestLedgerManifests(t *testing.T) {
	needPrograms(t, "etcd", "kube-apiserver", "kubectl", "kustomize")
	api := kubectl{cluster.StartServer(t, *bin)}
	for _, namespace := range []string{"shop", "other"} {
		api.run(t, fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": %q, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`, namespace), "apply", "-f", "-")
	}
	api.run(t, nil, "create", "serviceaccount", "default", "--namespace=shop")
	api.run(t, kustomizeBuild(t, ledgerDir), "apply", "--server-side", "--validate=strict", "-f", "-")
	api.run(t, nil, "wait", "--for=condition=Established", "--timeout=2m", "crd/migrationledgers.ledger.hallmark.dev")
	// For real, so that the rights below are those that it has.
	project := ledgerKustomization(t, "")
	api.run(t, project, "apply", "--server-side", "--validate=strict", "-f", "-")

	t.Run("definition", api.checkDefinition)
	t.Run("validation", api.checkValidation)
	t.Run("status", api.checkStatus)
	t.Run("rights", api.checkRights)
	t.Run("projector", func(t *testing.T) { api.checkProjector(t, project) })
	t.Run("job", api.checkMigration)
	t.Run("recipes", api.checkRecipes)
	t.Run("all-namespaces", func(t *testing.T) {
		built := ledgerKustomization(t, "all-namespaces")
		if bytes.Contains(built, []byte("kind: Role\n")) || !bytes.Contains(built, []byte("- --all-namespaces\n")) || bytes.Contains(built, []byte("- --namespace=")) {
			t.Errorf("it is not for all namespaces:\n%s", built)
		}
		api.run(t, built, "apply", "--server-side", "--validate=strict", "-f", "-")
		if !api.can(t, "other", "patch", "migrationledgers", "--subresource=status") || api.can(t, "other", "update", "migrationledgers") {
			t.Error("it does not have the same rights in another namespace")
		}
	})
}

func kustomizeBuild(t testing.TB, dir string) []byte {
	t.Helper()
	c := exec.Command(filepath.Join(*bin, "kustomize"), "build", dir)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("kustomize build %s: %v\n%s", dir, err, stderr.Bytes())
	}
	return out
}

// ledgerKustomization builds the kustomization in the comment of project/, with a
// component beside it, on a copy.
func ledgerKustomization(t testing.TB, component string) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "hallmark/manifests/ledger"), os.DirFS(ledgerDir)); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, line := range regexp.MustCompile(`(?m)^#   (\S.*)$`).FindAllStringSubmatch(string(readFile(t, ledgerDir+"/project/kustomization.yaml")), -1) {
		text.WriteString(line[1] + "\n")
	}
	if component != "" {
		text.WriteString("components: [hallmark/manifests/ledger/" + component + "]\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return kustomizeBuild(t, dir)
}

func (k kubectl) checkDefinition(t *testing.T) {
	var crd struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	decode(t, k.run(t, nil, "get", "crd", "migrationledgers.ledger.hallmark.dev", "-o", "json"), &crd)
	for _, c := range crd.Status.Conditions {
		if c.Type == "NonStructuralSchema" && c.Status == "True" {
			t.Errorf("the schema is not structural: %s", c.Message)
		}
	}
	k.run(t, ledgerObject("columns", "changes: [{key: a}]"), "apply", "--server-side", "-f", "-", "--namespace=shop")
	for _, name := range []string{"mledger", "migrationledger"} {
		header, _, _ := strings.Cut(string(k.run(t, nil, "get", name, "columns", "--namespace=shop")), "\n")
		if got := strings.Fields(header); !slices.Equal(got, []string{"NAME", "READY", "SUMMARY", "REASON", "AGE"}) {
			t.Errorf("kubectl get %s shows %q", name, got)
		}
	}
	// Without a status kstatus would call it current.
	var object struct{ Spec, Status map[string]any }
	decode(t, k.run(t, nil, "get", "mledger", "columns", "--namespace=shop", "-o", "json"), &object)
	if object.Spec["tool"] != "hallmark" || object.Spec["database"] != "default" || !reflect.DeepEqual(object.Status, notObserved) {
		t.Errorf("the defaults are %v and %v", object.Spec, object.Status)
	}
}

func ledgerObject(name, spec string) []byte {
	return []byte("apiVersion: ledger.hallmark.dev/v1alpha1\nkind: MigrationLedger\nmetadata: {name: " + name + "}\nspec:\n  " + strings.ReplaceAll(spec, "\n", "\n  ") + "\n")
}

// checkValidation has objects refused that could never become Ready, or not be read.
func (k kubectl) checkValidation(t *testing.T) {
	many := func(n int, entry string) string {
		var entries []string
		for i := range n {
			entries = append(entries, fmt.Sprintf(entry, i))
		}
		return "changes: [" + strings.Join(entries, ", ") + "]"
	}
	invariants := func(n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("i%d", i))
		}
		return "invariants: [" + strings.Join(names, ", ") + "]"
	}
	for _, c := range []struct {
		name, spec, refused string // with which words; "" where it is accepted
	}{
		{"a change", "changes: [{key: 'checkout:add-order-index:v3'}]", ""},
		{"all fields", "database: shop-eu.1\ntool: hallmark\ntable: releases\ntarget: eu\nchanges: [{key: a, sourceRevision: 4f1c2ad, requireRenderedRevision: false, invariants: [x, z]}, {key: b, requireRenderedRevision: true}]", ""},
		{"a table of another tool", "tool: flyway\ntable: shop.flyway_schema_history\nchanges: [{key: '1.2'}]", ""},
		{"a key with spaces of another tool", "tool: liquibase\nchanges: [{key: 'db/a changelog.xml::1::ann'}]", ""},
		{"what is not asked for may be said", "tool: flyway\nchanges: [{key: a, requireRenderedRevision: false, invariants: []}]", ""},
		{"as many changes as there may be", many(100, "{key: k%d, sourceRevision: 4f1c2ad, "+invariants(50)+"}"), ""},

		{"no spec", "", "spec"},
		{"no changes", "changes: []", "should have at least 1 items"},
		{"changes left out", "tool: goose", "spec.changes: Required value"},
		{"too many changes", many(101, "{key: k%d}"), "must have at most 100 items"},
		{"too many invariants", "changes: [{key: a, " + invariants(51) + "}]", "must have at most 50 items"},
		{"a key twice", "changes: [{key: a}, {key: a}]", "Duplicate value"},
		{"an invariant twice", "changes: [{key: a, invariants: [x, x]}]", "Duplicate value"},
		{"no key", "changes: [{sourceRevision: a}]", "changes[0].key: Required value"},
		{"an empty key", "changes: [{key: ''}]", "changes[0].key"},
		{"a key that ends in a space", "tool: flyway\nchanges: [{key: 'a '}]", "changes[0].key"},
		{"a key of two lines", "tool: flyway\nchanges: [{key: \"a\\nb\"}]", "changes[0].key"},
		{"a key that hallmark cannot record", "changes: [{key: 'a b'}]", "a key of tool hallmark has no spaces"},
		{"a key that is too long for hallmark", "changes: [{key: " + strings.Repeat("a", 254) + "}]", "at most 253 characters"},
		{"an empty revision", "changes: [{key: a, sourceRevision: ''}]", "sourceRevision"},
		{"two revisions", "changes: [{key: a, sourceRevision: b, requireRenderedRevision: true}]", "sourceRevision names one revision"},
		{"a revision of a tool that records none", "tool: goose\nchanges: [{key: a}, {key: b, sourceRevision: c}]", "records the revision"},
		{"the rendered revision of a tool that records none", "tool: atlas\nchanges: [{key: a, requireRenderedRevision: true}]", "records the revision"},
		{"invariants of a tool that records none", "tool: prisma\nchanges: [{key: a, invariants: [x]}]", "records invariants"},
		{"a target of a tool that records none", "tool: liquibase\ntarget: eu\nchanges: [{key: a}]", "records the target"},
		{"another tool", "tool: alembic\nchanges: [{key: a}]", "Unsupported value"},
		{"a table where the schema belongs", "table: hallmark.ledger_changes\nchanges: [{key: a}]", "the name of the schema"},
		{"as long a schema as there can be", "table: " + strings.Repeat("s", 63) + "\nchanges: [{key: a}]", ""},
		{"a schema that is too long", "table: " + strings.Repeat("s", 64) + "\nchanges: [{key: a}]", "at most 63 characters"},
		{"as long a table as there can be", "tool: flyway\ntable: " + strings.Repeat("s", 63) + "." + strings.Repeat("t", 63) + "\nchanges: [{key: a}]", ""},
		{"a table that is too long", "tool: flyway\ntable: " + strings.Repeat("s", 64) + "." + strings.Repeat("t", 63) + "\nchanges: [{key: a}]", "spec.table"},
		{"a quoted table", "tool: flyway\ntable: 'shop.\"history\"'\nchanges: [{key: a}]", "spec.table"},
		{"three parts of a table", "tool: flyway\ntable: a.b.c\nchanges: [{key: a}]", "spec.table"},
		{"an address of a database", "database: 'postgres://u:p@h/d'\nchanges: [{key: a}]", "spec.database"},
		{"a database that a folder of files hides", "database: .shop\nchanges: [{key: a}]", "spec.database"},
		{"a field that there is not", "changes: [{key: a, sourceRevison: b}]", `unknown field "spec.changes[0].sourceRevison"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := k.try(ledgerObject("validation", c.spec), "create", "--dry-run=server", "--validate=strict", "--namespace=shop", "-f", "-")
			switch {
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused != "" && err == nil:
				t.Error("it was accepted")
			case c.refused != "" && !strings.Contains(err.Error(), c.refused):
				t.Errorf("got %v, want %q in it", err, c.refused)
			}
		})
	}
}

// checkStatus writes each status that hallmark ledger project can write, as its service
// account: nothing of it is refused or dropped. The objects are those of its own tests.
func (k kubectl) checkStatus(t *testing.T) {
	files, err := filepath.Glob(root + "/internal/ledger/projection/testdata/verdicts/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			type object struct {
				APIVersion string         `json:"apiVersion"`
				Kind       string         `json:"kind"`
				Metadata   map[string]any `json:"metadata"`
				Spec       map[string]any `json:"spec,omitempty"`
				Status     map[string]any `json:"status,omitempty"`
			}
			var given object
			decodeFile(t, file, &given)
			name := strings.TrimSuffix(filepath.Base(file), ".yaml")
			metadata := map[string]any{"name": name, "namespace": "shop"}
			apply := func(o object, args ...string) error {
				data, err := yaml.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				_, err = k.try(data, append([]string{"apply", "--server-side", "--validate=strict", "-f", "-"}, args...)...)
				return err
			}
			if err := apply(object{given.APIVersion, given.Kind, metadata, given.Spec, nil}); err != nil {
				t.Fatal(err)
			}
			status := object{given.APIVersion, given.Kind, metadata, nil, given.Status}
			if err := apply(status, ledgerUser, "--subresource=status", "--field-manager=hallmark-ledger"); err != nil {
				t.Fatal(err)
			}
			var got object
			decode(t, k.run(t, nil, "get", "mledger", name, "--namespace=shop", "-o", "json"), &got)
			want := maps.Clone(notObserved)
			maps.Copy(want, given.Status)
			if !reflect.DeepEqual(got.Status, want) {
				t.Errorf("of the status\n%v\nthe API server keeps\n%v", want, got.Status)
			}
			// What the release asks for is not its to change.
			status.Spec = map[string]any{"changes": []any{map[string]any{"key": "other"}}}
			if err := apply(status, ledgerUser, "--field-manager=hallmark-ledger", "--force-conflicts"); err == nil || !strings.Contains(err.Error(), "forbidden") {
				t.Errorf("applying a spec as the service account: %v", err)
			}
		})
	}
}

// can asks the API server what the service account may do.
func (k kubectl) can(t testing.TB, namespace, verb, resource string, more ...string) bool {
	t.Helper()
	out, err := k.try(nil, append([]string{"auth", "can-i", verb, resource, "--namespace=" + namespace, ledgerUser, "--quiet"}, more...)...)
	if err != nil && !strings.Contains(err.Error(), "exit status 1") {
		t.Fatalf("%v\n%s", err, out)
	}
	return err == nil
}

func (k kubectl) checkRights(t *testing.T) {
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	for _, c := range []struct {
		namespace, resource, subresource string
		may                              []string
	}{
		{"shop", "migrationledgers.ledger.hallmark.dev", "", []string{"get", "list", "watch"}},
		{"shop", "migrationledgers.ledger.hallmark.dev", "status", []string{"patch"}},
		{"shop", "secrets", "", nil},
		{"shop", "pods", "exec", nil},
		{"other", "migrationledgers.ledger.hallmark.dev", "", nil},
		{"other", "migrationledgers.ledger.hallmark.dev", "status", nil},
	} {
		for _, verb := range verbs {
			if got, want := k.can(t, c.namespace, verb, c.resource, "--subresource="+c.subresource), slices.Contains(c.may, verb); got != want {
				t.Errorf("%s %s %s in %s: %v, want %v", verb, c.resource, c.subresource, c.namespace, got, want)
			}
		}
	}
}

// A ledgerPod is what the tests read of a Job, a Deployment and the pod of either.
type ledgerPod struct {
	Metadata struct{ Name string }
	Spec     ledgerPodSpec
}

type ledgerPodSpec struct {
	ServiceAccountName            string
	AutomountServiceAccountToken  *bool
	RestartPolicy                 string
	TerminationGracePeriodSeconds int
	Containers                    []container
	Volumes                       []map[string]any
}

// pod is the one that a workload makes, as the API server completes it: a pod that the
// namespace's pod security standard refuses fails the test.
func (k kubectl) pod(t *testing.T, template map[string]any) ledgerPodSpec {
	t.Helper()
	template = maps.Clone(template)
	template["apiVersion"], template["kind"] = "v1", "Pod"
	metadata := maps.Clone(template["metadata"].(map[string]any))
	metadata["name"], metadata["namespace"] = "pod", "shop"
	template["metadata"] = metadata
	data, err := yaml.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	var whole ledgerPod
	decode(t, k.run(t, data, "create", "--dry-run=server", "--validate=strict", "-f", "-", "-o", "json"), &whole)
	return whole.Spec
}

// workloadOf is the object of a kind and name among those that kustomize prints.
func workloadOf(t *testing.T, built []byte, kind, name string) map[string]any {
	t.Helper()
	for _, document := range documents(built) {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     map[string]any
		}
		decode(t, document, &o)
		if o.Kind == kind && o.Metadata.Name == name {
			return o.Spec
		}
	}
	t.Fatalf("no %s %s was built", kind, name)
	return nil
}

func (k kubectl) checkProjector(t *testing.T, built []byte) {
	spec := workloadOf(t, built, "Deployment", "hallmark-ledger")
	pod := k.pod(t, spec["template"].(map[string]any))
	if len(pod.Containers) != 1 || pod.ServiceAccountName != "hallmark-ledger" || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Fatalf("the pod is %+v", pod)
	}
	c := pod.Containers[0]
	if c.Image != "registry.example.com/hallmark:v0.1.0" {
		t.Errorf("the image is %s, want that of the example", c.Image)
	}
	checkSecurity(t, c)
	checkProbes(t, c, c.Args)
	if len(c.Env) != 1 || c.Env[0].Name != "NAMESPACE" {
		t.Errorf("the environment is %+v, and GOGC or GOMEMLIMIT would switch off hallmark's own limit", c.Env)
	}
	want := map[string]string{"databases": "/etc/hallmark/databases", "token": tokenPath}
	got := map[string]string{}
	for _, m := range c.VolumeMounts {
		got[m.Name] = m.MountPath
		if !m.ReadOnly || m.SubPath != "" {
			t.Errorf("the mount %s is writable, or a subPath, which a kubelet never renews", m.Name)
		}
	}
	if !maps.Equal(got, want) || len(pod.Volumes) != len(want) {
		t.Errorf("it mounts %v of %d volumes, want %v", got, len(pod.Volumes), want)
	}
}

// checkMigration checks the objects of job/, in the form in which a release has them.
func (k kubectl) checkMigration(t *testing.T) {
	built := kustomizeBuild(t, ledgerDir+"/job")
	k.run(t, built, "apply", "--server-side", "--dry-run=server", "--validate=strict", "--namespace=shop", "-f", "-")
	k.pod(t, workloadOf(t, built, "Deployment", "checkout")["template"].(map[string]any))
	spec := workloadOf(t, built, "Job", "checkout-migrate")
	pod := k.pod(t, spec["template"].(map[string]any))
	c := pod.Containers[0]
	if len(pod.Containers) != 1 || len(pod.Volumes) != 0 || len(c.VolumeMounts) != 0 {
		t.Errorf("the pod has %d containers and mounts %v, want one without any: no token either", len(pod.Containers), c.VolumeMounts)
	}
	if !strings.Contains(c.Image, "@sha256:") || pod.RestartPolicy != "Never" {
		t.Errorf("the image %s is not named by digest, or pods start again: %s", c.Image, pod.RestartPolicy)
	}
	seconds := func(flag string) float64 {
		for _, arg := range c.Args {
			if value, ok := strings.CutPrefix(arg, flag+"="); ok {
				d, err := time.ParseDuration(value)
				if err != nil {
					t.Fatal(err)
				}
				return d.Seconds()
			}
		}
		t.Fatalf("the Job has no %s", flag)
		return 0
	}
	lease, grace := seconds("--lease"), seconds("--grace-period")
	var job struct {
		ActiveDeadlineSeconds, BackoffLimit, TTLSecondsAfterFinished float64
		PodFailurePolicy                                             struct {
			Rules []struct {
				Action      string
				OnExitCodes *struct {
					ContainerName, Operator string
					Values                  []int
				}
			}
		}
	}
	data, err := yaml.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, data, &job)
	if !bytes.Contains(data, []byte("terminationMessagePolicy: FallbackToLogsOnError\n")) {
		t.Error("the termination message of a run that was refused does not say why")
	}
	retries := 0.0 // seconds between them: the Job controller doubles 10 s up to 6 min
	for i := range int(job.BackoffLimit) {
		retries += min(10*float64(int(1)<<i), 360)
	}
	// An executor that is alive renews its lease: who waits for it does so until the deadline.
	if deadline := job.ActiveDeadlineSeconds; retries < 0.9*deadline || retries > deadline || retries < lease || job.TTLSecondsAfterFinished == 0 {
		t.Errorf("the lease has %v s, all retries %v s, and %+v", lease, retries, job)
	}
	if float64(pod.TerminationGracePeriodSeconds) < grace+10 {
		t.Errorf("the grace periods are %v s of the command and %d s of the pod", grace, pod.TerminationGracePeriodSeconds)
	}
	rule := job.PodFailurePolicy.Rules[0]
	if rule.Action != "FailJob" || rule.OnExitCodes.ContainerName != c.Name || rule.OnExitCodes.Operator != "In" {
		t.Fatalf("the first rule for pods that fail is %+v", rule)
	}
	needPrograms(t, "hallmark")
	help, err := exec.Command(filepath.Join(*bin, "hallmark"), "ledger", "run", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	final := []int{}
	again := map[string]string{"3": "held by another", "7": "cannot be reached", "8": "could not be checked"} // which time alone can change
	for _, code := range regexp.MustCompile(`(?m)^ +([1-9])  (.*)$`).FindAllStringSubmatch(string(help), -1) {
		words, tries := again[code[1]]
		delete(again, code[1])
		if !tries {
			final = append(final, int(code[1][0]-'0'))
		} else if !strings.Contains(code[2], words) {
			t.Errorf("exit code %s is %q, and the Job tries again", code[1], code[2])
		}
	}
	if !slices.Equal(rule.OnExitCodes.Values, final) || len(again) > 0 {
		t.Errorf("the Job ends for good at exit codes %v, want %v; unknown to --help: %v", rule.OnExitCodes.Values, final, again)
	}
}

// checkRecipes runs the two commands of the README that bring facts to those who have no
// CRD, with a ledger that is a file, and judges what comes of them by the checks of
// ../examples/ledger/health.
func (k kubectl) checkRecipes(t *testing.T) {
	needPrograms(t, "hallmark")
	needCommands(t, "sh", "cat")
	k.run(t, nil, "create", "configmap", "order-index", "--namespace=shop")
	k.run(t, kustomizeBuild(t, ledgerDir+"/job"), "apply", "--server-side", "--namespace=shop", "--selector=app.kubernetes.io/component=migration", "-f", "-")

	dir := t.TempDir()
	stub := "#!/bin/sh\n[ \"$*\" = \"ledger status -o env $KEY\" ] && cat facts\n"
	if err := os.WriteFile(filepath.Join(dir, "hallmark"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	judge := func(object string) string {
		t.Helper()
		c := exec.Command(filepath.Join(*bin, "hallmark"), "health", "eval", "-o", "json", root+"/examples/ledger/health")
		c.Stdin = bytes.NewReader(k.run(t, nil, "get", object, "--namespace=shop", "-o", "yaml"))
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		var verdicts []struct{ Status, Message string }
		decode(t, out, &verdicts)
		return verdicts[0].Status + ": " + verdicts[0].Message
	}
	for _, c := range []struct{ object, words, created string }{
		{"configmap/order-index", "create configmap order-index", "Progressing: nothing is recorded yet"},
		{"job/checkout-migrate", "job/checkout-migrate", "Progressing: waiting for the job to begin"},
	} {
		const key = "checkout:add-order-index:v3"
		block := regexp.MustCompile("```sh\nkey=" + key + "\n([^`]*" + c.words + "[^`]*)```").FindSubmatch(readFile(t, ledgerDir+"/README.md"))
		if block == nil {
			t.Fatalf("the README has no command for the %s", c.object)
		}
		for i, key := range []string{key, `checkout:it's  "a" $(key) \ *:v1`} {
			t.Run(c.object+" "+key, func(t *testing.T) {
				k.run(t, nil, "annotate", "--overwrite", c.object, "ledger.hallmark.dev/change-key="+key, "--namespace=shop")
				if got := judge(c.object); i == 0 && got != c.created {
					t.Errorf("got %s, want %s", got, c.created)
				}
				for _, step := range []struct{ state, until, expired, want string }{
					{"RUNNING", "2026-01-01T00:10:00Z", "true", "Degraded: investigate, do not re-run: " + key + ": the lease ended at 2026-01-01T00:10:00Z"},
					{"FAILED", "", "false", "Degraded: failed: " + key},
					{"SUCCEEDED", "", "false", "Healthy: recorded as done: " + key},
				} {
					text := fmt.Sprintf("changeKey=%s\nstate=%s\nsourceRevision=4b825dc\nleaseUntil=%s\nleaseExpired=%s\ninvariants=none\nattempt=1\n", key, step.state, step.until, step.expired)
					if err := os.WriteFile(filepath.Join(dir, "facts"), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
					sh := exec.Command("sh", "-e", "-c", "key=$KEY\n"+string(block[1]))
					sh.Dir = dir
					programs, err := filepath.Abs(*bin)
					if err != nil {
						t.Fatal(err)
					}
					sh.Env = []string{"KEY=" + key, "PATH=" + dir + ":" + programs + ":" + os.Getenv("PATH"), "KUBECONFIG=" + k.cluster.Kubeconfig, "HOME=" + k.cluster.Dir}
					if out, err := sh.CombinedOutput(); err != nil {
						t.Fatalf("%s\n%v\n%s", block[1], err, out)
					}
					if got := judge(c.object); got != step.want {
						t.Errorf("got %s, want %s", got, step.want)
					}
				}
			})
		}
	}
}

// TestLedgerFlags asks hallmark whether it knows the flags of the manifests.
func TestLedgerFlags(t *testing.T) {
	t.Parallel()
	needPrograms(t, "hallmark", "kustomize")
	for dir, kind := range map[string]string{"project": "Deployment", "job": "Job"} {
		name := map[string]string{"project": "hallmark-ledger", "job": "checkout-migrate"}[dir]
		data, err := yaml.Marshal(workloadOf(t, kustomizeBuild(t, filepath.Join(ledgerDir, dir)), kind, name))
		if err != nil {
			t.Fatal(err)
		}
		var spec struct{ Template struct{ Spec podSpec } }
		decode(t, data, &spec)
		c := spec.Template.Spec.Containers[0]
		line := slices.Concat(c.Command, c.Args)
		if end := slices.Index(line, "--"); end > 0 {
			line = line[:end]
		}
		if len(line) < 5 || line[0] != "/hallmark" {
			t.Fatalf("%s: %q does not run a command of the image", dir, line)
		}
		for _, r := range reference.FindAllStringSubmatch(strings.Join(line, " "), -1) {
			if !slices.ContainsFunc(c.Env, func(v variable) bool { return v.Name == r[1] }) {
				t.Errorf("%s: %s is no variable of the container", dir, r[0])
			}
		}
		if err := hallmark(append(line[1:], "--help")...); err != nil {
			t.Error(err)
		}
		if hallmark(append(line[1:], "--no-such-flag", "--help")...) == nil {
			t.Error("hallmark knows every flag: this test proves nothing")
		}
	}
}

// TestLedgerChart holds the chart against the plain objects, and the revision of a render
// against what the Job would record and what the ledger would ask for.
func TestLedgerChart(t *testing.T) {
	t.Parallel()
	needPrograms(t, "hallmark", "kustomize")
	objects := func(data []byte) map[string]any {
		out := map[string]any{}
		for _, document := range documents(bytes.TrimPrefix(data, []byte("---\n"))) {
			var o map[string]any
			decode(t, document, &o)
			metadata := o["metadata"].(map[string]any)
			annotations, _ := metadata["annotations"].(map[string]any)
			maps.DeleteFunc(annotations, func(key string, _ any) bool { return strings.HasPrefix(key, "hallmark.dev/") })
			out[fmt.Sprint(o["kind"], "/", metadata["name"])] = o
		}
		return out
	}
	render := func(revision string, more ...string) []byte {
		out, err := exec.Command(filepath.Join(*bin, "hallmark"), append([]string{"render", ledgerChart, "--app", "checkout", "--revision", revision,
			"--param", "helm-parameters[sourceRevision]=$ARGOCD_APP_REVISION"}, more...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	got, want := objects(render("set-me")), objects(kustomizeBuild(t, ledgerDir+"/job"))
	if len(got) != 4 || !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Fatalf("the chart makes %v", slices.Sorted(maps.Keys(got)))
	}
	for id := range want {
		if !reflect.DeepEqual(got[id], want[id]) {
			t.Errorf("%s: the chart makes\n%v\nthe plain file\n%v", id, got[id], want[id])
		}
	}
	inSync := render("a", "--param", "helm-parameters[change.hook]=Sync")
	if n := bytes.Count(inSync, []byte("argocd.argoproj.io/hook: Sync\n")); n != 2 || bytes.Contains(inSync, []byte("PreSync")) {
		t.Errorf("%d hooks are in the phase Sync, want 2 and none before", n)
	}
	// A revision of digits alone stays a text.
	const revision = "1234567890123456789012345678901234567890"
	if n := strings.Count(string(render(revision)), "\n          value: \""+revision+"\"\n"); n != 1 {
		t.Errorf("the Job gets the revision %d times", n)
	}
	if err := hallmark("render", ledgerChart); err == nil || !strings.Contains(err.Error(), "sourceRevision is missing") {
		t.Errorf("without a revision: %v", err)
	}
}
