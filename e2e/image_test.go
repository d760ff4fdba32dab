package e2e

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/jail"
	"hallmark.dev/hallmark/e2e/wait"
)

const (
	imageVersion  = "v0.0.0-image"
	imageRevision = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	imageUser     = 999 // of the Dockerfile and of Argo CD's images
)

// TestImage makes what the Dockerfile describes, without a container engine,
// and runs it as Kubernetes would.
func TestImage(t *testing.T) {
	jail.Require(t)
	stages := dockerfile(t)
	first, second := buildStage(t, stages[0]), buildStage(t, stages[0])

	t.Run("the build is reproducible", func(t *testing.T) {
		// Go's build cache serves both, so what is compared is what the folder
		// and the linker put into the binary.
		a, b := readFile(t, filepath.Join(first, "out/hallmark")), readFile(t, filepath.Join(second, "out/hallmark"))
		if !bytes.Equal(a, b) {
			t.Error("two builds of the same files in two folders differ")
		}
		if bytes.Contains(a, []byte(first)) {
			t.Errorf("the binary holds the folder that it was built in, %s", first)
		}
	})
	t.Run("the binary is static", func(t *testing.T) {
		if !static(t, filepath.Join(first, "out/hallmark")) {
			t.Error("the binary asks for a dynamic linker")
		}
	})

	image := t.TempDir()
	for _, copied := range texts(stages[1], "COPY") {
		fields := strings.Fields(copied) // --from=build SOURCE TARGET
		if err := copyFile(filepath.Join(image, fields[2]), filepath.Join(first, fields[1]), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := listFiles(t, image)
	if got := slices.Sorted(maps.Keys(want)); !slices.Equal(got, []string{"etc/ssl/certs/ca-certificates.crt", "hallmark"}) {
		t.Errorf("the image holds %q", got)
	}

	t.Run("it has its version", func(t *testing.T) {
		out := runImage(t, jail.Program{Root: image, Args: []string{"/hallmark", "version"}})
		if !regexp.MustCompile(`(?m)^hallmark +` + imageVersion + `$`).MatchString(out) {
			t.Errorf("hallmark version says\n%s", out)
		}
	})
	source, err := filepath.Abs("../examples/checkout")
	if err != nil {
		t.Fatal(err)
	}
	checkout := jail.Mount{Source: source, Target: "/checkout", ReadOnly: true}
	t.Run("it renders", func(t *testing.T) {
		render := func(folder string) []string {
			return []string{"render", folder, "--root", folder, "--revision", imageRevision}
		}
		got := runImage(t, jail.Program{Root: image, Mounts: []jail.Mount{checkout}, Args: append([]string{"/hallmark"}, render("/checkout")...)})
		want, err := exec.Command(filepath.Join(first, "out/hallmark"), render(source)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 || got != string(want) {
			t.Errorf("the render of the image, of %d bytes, is not that of the same binary outside, of %d bytes", len(got), len(want))
		}
	})
	t.Run("it knows time zones", func(t *testing.T) {
		zoned := t.TempDir()
		for name, text := range map[string]string{
			"Chart.yaml":           "apiVersion: v2\nname: zoned\nversion: 1.0.0\n",
			"templates/start.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: start\ndata:\n  at: {{ dateInZone \"2006-01-02 15:04 MST\" (toDate \"2006-01-02\" \"2026-07-01\") \"Asia/Tokyo\" | quote }}\n",
		} {
			file := filepath.Join(zoned, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		out := runImage(t, jail.Program{
			Root: image, Mounts: []jail.Mount{{Source: zoned, Target: "/zoned", ReadOnly: true}}, Args: []string{"/hallmark", "render", "/zoned", "--root", "/zoned"},
		})
		if !strings.Contains(out, "at: 2026-07-01 09:00 JST") {
			t.Errorf("an engine without the zones takes UTC: got\n%s", out)
		}
	})
	t.Run("it cannot write", func(t *testing.T) {
		p := jail.Start(t, jail.Program{
			Root: image, Mounts: []jail.Mount{checkout}, UID: imageUser, GID: imageUser, Stdout: new(bytes.Buffer),
			Args: []string{"/hallmark", "render", "/checkout", "--evidence", "/evidence.json"},
		})
		if err := p.Wait(); err == nil || !strings.Contains(p.Log(), "read-only file system") {
			t.Errorf("writing into the root file system: %v\n%s", err, p.Log())
		}
	})
	for _, release := range argocd.Releases {
		t.Run("in Argo CD "+release.Version, func(t *testing.T) { imageInArgoCD(t, release, image) })
	}
	if got := listFiles(t, image); !maps.Equal(got, want) {
		t.Errorf("the image's files changed: got %v, want %v", got, want)
	}
}

// imageInArgoCD runs the containers of ../manifests in a jail, beside a real
// repo-server, for which they render Applications, with a policy and keys in
// mounts. What the manifests make of the container is what the jail is made from.
func imageInArgoCD(t *testing.T, release argocd.Release, image string) {
	needPrograms(t, "etcd", "kube-apiserver", "kube-controller-manager", release.Program(), "helm3", "kustomize", "sops")
	needCommands(t, "redis-server", "git", "go")
	e := &env{ArgoCD: argocd.Start(t, cluster.Start(t, *bin), release, *bin, root)}
	own(t, e.Plugins)
	for _, mode := range []string{"sidecar", "exec"} {
		t.Run(mode, func(t *testing.T) {
			key := newKey(t)
			repo := argocd.NewRepository(t)
			repo.Copy(t, root+"/examples/checkout", "checkout")
			forms := sealedForms("qN7vzkXw2HtRm9")
			for _, form := range forms {
				form.write(t, repo, key)
			}
			repo.Publish(t, "/payments/shop.git")
			revision := repo.Commit(t, "the applications")

			keys := newMount(t, keyFile(newKey(t)))
			rules := newMount(t, map[string]string{"policy.yaml": imagePolicy(repo.URL, mode)})
			volumes := map[string]string{
				"plugins": e.Plugins, "hallmark-no-token": t.TempDir(), "hallmark-policy": rules.dir, "hallmark-keys": keys.dir,
			}
			if mode == "exec" {
				maps.Copy(volumes, execVolumes(t, release))
			}
			process := startContainer(t, release, image, mode, volumes)
			wait.Until(t, "the plugin listens", func() error {
				if err := process.Ended(); err != nil {
					return err
				}
				connection, err := net.Dial("unix", filepath.Join(e.Plugins, plugin+".sock"))
				if err != nil {
					return err
				}
				return connection.Close()
			}, process.Log)
			confined(t, process)

			e.Create(t, mode, mode, use(repo, "checkout", plugin, renderer("helm4")), argocd.AutoSync())
			applied := e.Applied(t, e.WaitSynced(t, mode, revision))
			if len(applied) == 0 {
				t.Error("the Application has no objects")
			}
			for _, o := range applied {
				if got := field(o.Manifest, "metadata", "annotations", sourceRevision); got != revision {
					t.Errorf("%s: %s is %v, want %s", o.Resource, sourceRevision, got, revision)
				}
			}

			e.sealedInImage(t, mode, repo, forms, revision, key, keys)
			e.Create(t, mode+"-wish", mode, use(repo, "checkout", plugin, argocd.Parameter{Name: "determinism", String: "warn"}), argocd.AutoSync())
			e.comparisonError(t, mode+"-wish", `"warn" is weaker than "enforce", which holds by rule "image" (/etc/hallmark/policy/policy.yaml:`)

			if got := slices.Sorted(maps.Keys(listFiles(t, e.Plugins))); !slices.Equal(got, []string{plugin + ".sock"}) {
				t.Errorf("the folder of the sockets holds %q", got)
			}
			for _, form := range forms {
				holdsNone(t, "the log", process.Log(), form.word, strings.TrimSpace(key.private))
			}
			if mode == "exec" {
				if got := listFiles(t, volumes["hallmark-tmp"]); len(got) > 0 {
					t.Errorf("what was unpacked is still there: %v", got)
				}
				process.Kill() // argocd-cmp-server goes on after SIGTERM
				return
			}
			if i := strings.Index(process.Log(), `"msg":"confined to reading its mounts"`); i < 0 {
				missing(t, "the kernel does not confine the server: %s", process.Log())
			} else {
				line, _, _ := strings.Cut(process.Log()[i:], "\n")
				t.Log(line)
			}
			if err := process.Stop(); err != nil {
				t.Errorf("stopping: %v", err)
			}
		})
	}
}

func imagePolicy(url, namespace string) string {
	return `apiVersion: hallmark.dev/v1
kind: RenderPolicy
spec:
  rules:
    - name: image
      match: {repoURL: ` + url + `, namespace: "` + namespace + `*"}
      decryption: {keys: [age], outsideSecrets: deny}
`
}

// sealedInImage deploys encrypted files once their key is in the mount, which it
// is not when the container starts.
func (e *env) sealedInImage(t *testing.T, mode string, repo *argocd.Repository, forms []sealedForm, revision string, key ageKey, keys *mount) {
	t.Helper()
	for _, form := range forms {
		app := mode + "-" + form.name
		e.Create(t, app, app, use(repo, form.name, plugin, form.parameters...), argocd.AutoSync())
		message := e.comparisonError(t, app, form.refusedAt+": cannot be decrypted: it is encrypted for "+key.public+"; tried age1", " (/etc/hallmark/keys/age.txt)")
		holdsNone(t, "the ComparisonError", message, form.word)
		e.sameSecrets(t, app, nil)
	}
	keys.change(t, keyFile(key))
	for _, form := range forms {
		app := mode + "-" + form.name
		e.Refresh(t, app, true)
		e.WaitSynced(t, app, revision)
		e.sameSecrets(t, app, form.want)
	}
}

// execVolumes are the volumes that argocd-cmp-server needs.
func execVolumes(t *testing.T, release argocd.Release) map[string]string {
	t.Helper()
	volumes := map[string]string{"hallmark-tmp": t.TempDir(), "hallmark-plugin": t.TempDir(), "var-files": t.TempDir()}
	own(t, volumes["hallmark-tmp"])
	if err := os.WriteFile(filepath.Join(volumes["hallmark-plugin"], "plugin.yaml"), readFile(t, filepath.Join(manifestsDir, "exec", "plugin.yaml")), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(*bin, release.Program())
	if !static(t, program) {
		missing(t, "%s is not static, as in Argo CD's own image: build it with CGO_ENABLED=0", program)
	}
	if err := copyFile(filepath.Join(volumes["var-files"], "argocd-cmp-server"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	return volumes
}

// startContainer starts what the components give for the container of hallmark.
func startContainer(t *testing.T, release argocd.Release, image, mode string, volumes map[string]string) *jail.Process {
	t.Helper()
	module, err := release.ModuleDir(root)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(repoServerPod(t, kustomize(t, filepath.Join(module, "manifests/install.yaml"), []string{mode, "policy", "keys"})))
	if err != nil {
		t.Fatal(err)
	}
	var pod struct{ Spec podSpec }
	decode(t, data, &pod)
	c := pod.Spec.container(t, "hallmark")
	p := jail.Program{Root: image, UID: imageUser, GID: imageUser}
	p.Args, p.Env = c.expanded(t)
	for _, m := range c.VolumeMounts {
		source, known := volumes[m.Name]
		if !known {
			t.Fatalf("the container mounts the volume %s", m.Name)
		}
		p.Mounts = append(p.Mounts, jail.Mount{Source: source, Target: m.MountPath, ReadOnly: m.ReadOnly})
	}
	return jail.Start(t, p)
}

// own gives a folder to the user of the image, as Kubernetes does by making
// volumes that everybody can write to.
func own(t testing.TB, folder string) {
	t.Helper()
	if err := os.Chown(folder, imageUser, imageUser); err != nil {
		t.Fatal(err)
	}
}

// static reports whether a program needs no dynamic linker.
func static(t testing.TB, program string) bool {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_DYNAMIC || p.Type == elf.PT_INTERP })
}

// buildStage runs the build stage on the files that .dockerignore lets in, and
// returns the folder that stands for the stage's root.
func buildStage(t testing.TB, stage []instruction) string {
	t.Helper()
	root := t.TempDir()
	source := filepath.Join(root, strings.Join(texts(stage, "WORKDIR"), ""))
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	buildContext(t, source)
	built := false
	for _, command := range texts(stage, "RUN") {
		if !strings.Contains(command, "go build") {
			continue // go mod download: the module cache has them
		}
		c := exec.Command("sh", "-c", strings.ReplaceAll(command, "/out/", root+"/out/"))
		c.Dir = source
		c.Env = append(append(os.Environ(), texts(stage, "ENV")...), "VERSION="+imageVersion)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		built = true
	}
	if !built {
		t.Fatal("the build stage has no go build")
	}
	// The certificates are those of the base image; here, of the machine.
	certificates := "/etc/ssl/certs/ca-certificates.crt"
	if err := copyFile(filepath.Join(root, certificates), certificates, 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

// runImage runs a program of the image to its end and returns what it printed on
// standard output.
func runImage(t *testing.T, p jail.Program) string {
	t.Helper()
	p.UID, p.GID, p.Stdout = imageUser, imageUser, new(bytes.Buffer)
	process := jail.Start(t, p)
	if err := process.Wait(); err != nil {
		t.Fatalf("%q: %v\n%s", p.Args, err, process.Log())
	}
	return p.Stdout.String()
}

// listFiles lists the files under root, each with its size and time. Folders are
// left out: some are mount points.
func listFiles(t testing.TB, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			found[file] = fmt.Sprint(info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func readFile(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// confined fails unless a running process can do nothing but read its files,
// compute and answer.
func confined(t testing.TB, p *jail.Process) {
	t.Helper()
	status := map[string]string{}
	for line := range strings.Lines(p.Proc(t, "status")) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.Join(strings.Fields(value), " ")
	}
	user := strings.TrimSpace(strings.Repeat(fmt.Sprint(imageUser, " "), 4))
	for name, want := range map[string]string{
		"Uid": user, "Gid": user, "Groups": "", "NoNewPrivs": "1",
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000",
		"CapBnd": "0000000000000000", "CapAmb": "0000000000000000",
	} {
		if status[name] != want {
			t.Errorf("%s of the process: got %q, want %q", name, status[name], want)
		}
	}
	// A network with one interface that is down: no address and no route.
	var interfaces []string
	for line := range strings.Lines(p.Proc(t, "net/dev")) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			interfaces = append(interfaces, strings.TrimSpace(name))
		}
	}
	routes := strings.Count(p.Proc(t, "net/route"), "\n") > 1 // the first line is a heading
	if addresses := p.Proc(t, "net/if_inet6"); !slices.Equal(interfaces, []string{"lo"}) || routes || addresses != "" {
		t.Errorf("the process has a network: interfaces %q, routes %v, addresses %q", interfaces, routes, addresses)
	}
}
