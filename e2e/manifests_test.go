package e2e

import (
	"bytes"
	"encoding/json"
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

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/cluster"

	"sigs.k8s.io/yaml"
)

const (
	manifestsDir = root + "/manifests"
	// tokenPath is where Kubernetes puts a pod's token.
	tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	ruleKey   = "resource.customizations.ignoreDifferences.all"
)

// provenance are the stamps that describe a render and not its object.
var provenance = []string{renderHash, inputsHash, sourceRevision, rendererOf}

// TestManifests builds the components on the install manifests of both Argo CDs
// and has an API server accept all of it.
func TestManifests(t *testing.T) {
	needPrograms(t, "etcd", "kube-apiserver", "kubectl", "kustomize")
	needCommands(t, "go")
	api := kubectl{cluster.StartServer(t, *bin)}
	// Who breaks the strictest of Kubernetes' pod security standards is refused.
	api.run(t, []byte(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`), "apply", "-f", "-")
	api.run(t, []byte(`{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "argocd-repo-server", "namespace": "argocd"}}`), "apply", "-f", "-")

	for _, release := range argocd.Releases {
		t.Run(release.Version, func(t *testing.T) {
			module, err := release.ModuleDir(root)
			if err != nil {
				t.Fatal(err)
			}
			for _, crd := range []string{"application", "applicationset", "appproject"} {
				api.run(t, nil, "apply", "--server-side", "-f", filepath.Join(module, "manifests/crds", crd+"-crd.yaml"))
			}
			for _, components := range [][]string{
				{"sidecar"}, {"sidecar", "policy"}, {"sidecar", "metrics", "hash-key", "keys", "policy", "seed"}, {"exec"}, {"exec", "policy", "keys", "seed"},
			} {
				t.Run(strings.Join(components, "+"), func(t *testing.T) {
					built := kustomize(t, filepath.Join(module, "manifests/install.yaml"), components)
					api.run(t, built, dryRun...)
					api.checkRepoServer(t, built, components)
					if rule := settings(t, built)[ruleKey]; rule != shippedRule(t) {
						t.Errorf("argocd-cm has the rule\n%s", rule)
					}
					if slices.Contains(components, "policy") {
						want := map[string]string{"policy.yaml": string(readFile(t, manifestsDir+"/policy/policy.yaml"))}
						if got := configMap(t, built, "hallmark-policy"); !maps.Equal(got, want) {
							t.Errorf("the ConfigMap of the policy holds %q, want %q", got, want)
						}
					}
				})
			}
			for _, file := range []string{"appproject.yaml", "application.yaml"} {
				t.Run(file, func(t *testing.T) {
					api.run(t, readFile(t, filepath.Join(manifestsDir, file)), dryRun...)
				})
			}
		})
	}
	t.Run("what is wrong is not accepted", func(t *testing.T) {
		wrong := bytes.Replace(readFile(t, manifestsDir+"/application.yaml"), []byte("plugin:"), []byte("plug:"), 1)
		if out, err := api.try(wrong, dryRun...); err == nil {
			t.Errorf("an Application with an unknown field was accepted:\n%s", out)
		}
	})
}

// kustomize builds the kustomization of ../manifests/README.md with other
// components, on a local copy of Argo CD's install manifest.
func kustomize(t testing.TB, install string, components []string) []byte {
	t.Helper()
	readme := string(readFile(t, manifestsDir+"/README.md"))
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(readme)
	if example == nil {
		t.Fatal("../manifests/README.md has no example of a kustomization")
	}
	dir := t.TempDir()
	// Without the CRDs, which are applied already and nine tenths of the file.
	objects := slices.DeleteFunc(documents(readFile(t, install)), func(d []byte) bool {
		return bytes.Contains(d, []byte("\nkind: CustomResourceDefinition\n"))
	})
	if err := os.WriteFile(filepath.Join(dir, "install.yaml"), bytes.Join(objects, []byte("\n---\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	text := example[1]
	lines := ""
	for _, c := range components {
		if err := os.CopyFS(filepath.Join(dir, "hallmark/manifests", c), os.DirFS(filepath.Join(manifestsDir, c))); err != nil {
			t.Fatal(err)
		}
		lines += "  - hallmark/manifests/" + c + "\n"
	}
	if err := os.CopyFS(filepath.Join(dir, "hallmark/manifests/argocd-cm"), os.DirFS(manifestsDir+"/argocd-cm")); err != nil {
		t.Fatal(err)
	}
	for old, replacement := range map[string]string{
		`https://raw\.githubusercontent\.com/argoproj/argo-cd/v[0-9.]+/manifests/install\.yaml`: "install.yaml",
		`(?m)^  - hallmark/manifests/sidecar .*\n`:                                              lines,
	} {
		pattern := regexp.MustCompile(old)
		if n := len(pattern.FindAllString(text, -1)); n != 1 {
			t.Fatalf("the example in ../manifests/README.md matches %s %d times, want once", old, n)
		}
		text = pattern.ReplaceAllString(text, replacement)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(filepath.Join(*bin, "kustomize"), "build", dir)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("kustomize build: %v\n%s", err, stderr.Bytes())
	}
	return out
}

// optionalMounts are the components that mount something, and where.
var optionalMounts = map[string]string{
	"hash-key": "/etc/hallmark/hash-key", "policy": "/etc/hallmark/policy", "keys": "/etc/hallmark/keys",
	"seed": "/etc/hallmark/seed",
}

// checkRepoServer checks what a pod of repo-server is, after the API server has
// made it whole.
func (k kubectl) checkRepoServer(t *testing.T, built []byte, components []string) {
	pod := repoServerPod(t, built)
	// The worst case: Argo CD's Helm chart gives the pod a token.
	pod["spec"].(map[string]any)["automountServiceAccountToken"] = true
	data, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	var whole struct{ Spec podSpec }
	decode(t, k.run(t, data, "create", "--dry-run=server", "-f", "-", "-o", "json"), &whole)

	if first := whole.Spec.Containers[0].Name; first != "argocd-repo-server" {
		t.Errorf("the first container is %s, want repo-server to stay first", first)
	}
	if !whole.Spec.container(t, "argocd-repo-server").mounts(tokenPath) {
		t.Error("repo-server has no token: this test proves nothing about the sidecar's")
	}
	c := whole.Spec.container(t, "hallmark")
	if c.Image != "registry.example.com/hallmark:v0.1.0" {
		t.Errorf("the image is %s, want that of the README's example", c.Image)
	}
	checkSecurity(t, c)

	want := map[string]string{"plugins": "/home/argocd/cmp-server/plugins", "hallmark-no-token": tokenPath}
	if c.Command[0] != "/hallmark" { // the exec mode
		maps.Copy(want, map[string]string{
			"var-files": "/var/run/argocd", "hallmark-tmp": "/tmp", "hallmark-plugin": "/home/argocd/cmp-server/config",
		})
	}
	for _, component := range components {
		if path, mounts := optionalMounts[component]; mounts {
			want["hallmark-"+component] = path
		}
	}
	writable := []string{"plugins", "hallmark-tmp"}
	got := map[string]string{}
	for _, m := range c.VolumeMounts {
		got[m.Name] = m.MountPath
		if m.SubPath != "" {
			t.Errorf("the mount of %s is a subPath, which a kubelet never renews", m.Name)
		}
		if m.ReadOnly == slices.Contains(writable, m.Name) {
			t.Errorf("the mount of %s: read-only is %v", m.Name, m.ReadOnly)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the sidecar mounts %v, want %v", got, want)
	}
	// The files of a Secret are root's, and the sidecar is not.
	for _, v := range whole.Spec.Volumes {
		if secret, ok := v["secret"].(map[string]any); ok && got[fmt.Sprint(v["name"])] != "" && secret["defaultMode"] != float64(0o644) {
			t.Errorf("the files of the volume %v have mode %v, want all to read them", v["name"], secret["defaultMode"])
		}
	}
	args, environment := c.expanded(t)
	if path := want["hallmark-seed"]; path != "" && !slices.Contains(environment, "HALLMARK_SEED_FILES="+path+"/seed-1") {
		t.Errorf("the environment is %q, want the seed that is mounted in it", environment)
	}
	if c.Command[0] == "/hallmark" {
		hashKey, policy := "--hash-key=", "--policy="
		if path := want["hallmark-hash-key"]; path != "" {
			hashKey += path + "/key"
		}
		if path := want["hallmark-policy"]; path != "" {
			policy += path + "/policy.yaml"
		}
		if !slices.Contains(args, hashKey) || !slices.Contains(args, policy) {
			t.Errorf("the arguments are %q, want %s and %s among them", args, hashKey, policy)
		}
		checkMemory(t, c, environment)
		checkProbes(t, c, args)
	}
}

// checkSecurity checks what the container may do.
func checkSecurity(t testing.TB, c container) {
	want := map[string]any{
		"runAsUser": float64(imageUser), "runAsGroup": float64(imageUser), "runAsNonRoot": true,
		"readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false,
		"capabilities":   map[string]any{"drop": []any{"ALL"}},
		"seccompProfile": map[string]any{"type": "RuntimeDefault"},
	}
	if !reflect.DeepEqual(c.SecurityContext, want) {
		t.Errorf("the security context is %v, want %v", c.SecurityContext, want)
	}
	for _, resource := range []string{"cpu", "memory"} {
		if c.Resources.Requests[resource] == "" || c.Resources.Limits[resource] == "" {
			t.Errorf("the container has no request or no limit of %s", resource)
		}
	}
}

// checkMemory checks that Go's soft limit leaves a little of the container's.
func checkMemory(t testing.TB, c container, environment []string) {
	limit := quantity(t, c.Resources.Limits["memory"])
	for _, v := range environment {
		if text, ok := strings.CutPrefix(v, "GOMEMLIMIT="); ok {
			var soft int64
			if _, err := fmt.Sscan(text, &soft); err != nil {
				t.Fatal(err)
			}
			if soft < limit*90/100 || soft > limit*97/100 {
				t.Errorf("%s is not 90 to 97 %% of the limit, %d", v, limit)
			}
			return
		}
	}
	t.Error("GOMEMLIMIT is not set")
}

// checkProbes checks that they ask for what hallmark answers, where it does.
func checkProbes(t testing.TB, c container, args []string) {
	if len(c.Ports) != 1 || !slices.Contains(args, fmt.Sprintf("--http-address=:%d", c.Ports[0].ContainerPort)) {
		t.Fatalf("the ports are %v, the arguments %q", c.Ports, args)
	}
	for name, want := range map[string]*httpProbe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		path := "/healthz"
		if name == "readiness" {
			path = "/readyz"
		}
		if want == nil || want.HTTPGet.Path != path || want.HTTPGet.Port != c.Ports[0].Name {
			t.Errorf("the %s probe is %v, want %s at the port %s", name, want, path, c.Ports[0].Name)
		}
	}
}

// mounts reports whether something is mounted at a path.
func (c container) mounts(path string) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m volumeMount) bool { return m.MountPath == path })
}

// repoServerPod is the pod that the Deployment makes.
func repoServerPod(t testing.TB, built []byte) map[string]any {
	t.Helper()
	for _, document := range documents(built) {
		var d struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct{ Template map[string]any }
		}
		decode(t, document, &d)
		if d.Kind == "Deployment" && d.Metadata.Name == "argocd-repo-server" {
			pod := d.Spec.Template
			pod["apiVersion"], pod["kind"] = "v1", "Pod"
			metadata := pod["metadata"].(map[string]any)
			metadata["name"], metadata["namespace"] = d.Metadata.Name, "argocd"
			return pod
		}
	}
	t.Fatal("no Deployment argocd-repo-server was built")
	return nil
}

// settings is the data of argocd-cm.
func settings(t testing.TB, built []byte) map[string]string {
	t.Helper()
	return configMap(t, built, "argocd-cm")
}

func configMap(t testing.TB, built []byte, name string) map[string]string {
	t.Helper()
	for _, document := range documents(built) {
		var d struct {
			Kind     string
			Metadata struct{ Name string }
			Data     map[string]string
		}
		// Other kinds have a data of other types.
		if err := yaml.Unmarshal(document, &d); err == nil && d.Kind == "ConfigMap" && d.Metadata.Name == name {
			return d.Data
		}
	}
	t.Fatalf("no ConfigMap %s was built", name)
	return nil
}

func shippedRule(t testing.TB) string {
	t.Helper()
	return settings(t, readFile(t, manifestsDir+"/argocd-cm/argocd-cm.yaml"))[ruleKey]
}

func TestIgnoreDifferences(t *testing.T) {
	t.Parallel()
	rule := shippedRule(t)
	var got map[string][]string
	decode(t, []byte(rule), &got)
	var pointers []string
	for _, annotation := range provenance {
		pointers = append(pointers, "/metadata/annotations/"+strings.ReplaceAll(annotation, "/", "~1"))
	}
	if want := map[string][]string{"jsonPointers": pointers}; !reflect.DeepEqual(got, want) {
		t.Errorf("the rule ignores %v, want %v", got, want)
	}
	for _, word := range []string{"# writer: ", "# path: ", "# reason: "} {
		if !strings.Contains(rule, word) {
			t.Errorf("the rule does not say its %s", strings.Trim(word, "# :"))
		}
	}
}

// TestFlags asks hallmark whether it knows the flags of the manifests.
func TestFlags(t *testing.T) {
	t.Parallel()
	needPrograms(t, "hallmark")
	var pod workload
	decodeFile(t, manifestsDir+"/sidecar/repo-server.yaml", &pod)
	args, _ := pod.Spec.Template.Spec.container(t, "hallmark").expanded(t)
	type command struct{ Command, Args []string }
	var exec struct {
		Spec struct {
			Generate   command
			Parameters struct{ Dynamic command }
		}
	}
	decodeFile(t, manifestsDir+"/exec/plugin.yaml", &exec)
	line := func(c command) []string { return slices.Concat(c.Command, c.Args) }
	generate, dynamic := exec.Spec.Generate, exec.Spec.Parameters.Dynamic
	for _, line := range [][]string{args, line(generate), line(dynamic)} {
		if len(line) < 2 || line[0] != "/hallmark" {
			t.Errorf("%q does not run a command of the image", line)
			continue
		}
		if err := hallmark(append(line[1:], "--help")...); err != nil {
			t.Error(err)
		}
		if hallmark(append(line[1:], "--no-such-flag", "--help")...) == nil {
			t.Error("hallmark knows every flag: this test proves nothing")
		}
	}
}

func hallmark(args ...string) error {
	if out, err := exec.Command(filepath.Join(*bin, "hallmark"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("hallmark %q: %w\n%s", args, err, out)
	}
	return nil
}
