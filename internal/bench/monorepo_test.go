package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	monorepoURL  = "https://git.example.com/shop/deployments"
	applications = 300
)

// monorepo writes a repository as platform teams have them and commits it: 300 Argo CD
// Applications, of which 180 are of charts with value files, 70 of kustomizations, 40 of
// plain manifests and 10 of a chart with values from a second source. Of the charts 32
// have a null among their values, which Helm 4 renders otherwise. A second commit changes
// the image of one application. It returns the folder and, line by line, the commands
// that render the same with the real programs.
func monorepo(tb testing.TB, dir string) (helm, kustomize []string) {
	tb.Helper()
	for n := range applications {
		name := fmt.Sprintf("app%03d", n)
		folder := "apps/" + name
		source := "    path: " + folder + "\n"
		switch {
		case n < 190:
			write(tb, dir, folder+"/Chart.yaml", "apiVersion: v2\nname: "+name+"\nversion: 1.0.0\nappVersion: v1.0.0\n")
			write(tb, dir, folder+"/templates/_helpers.tpl", helpers)
			write(tb, dir, folder+"/templates/part0.yaml", workload(0))
			values := "registry: registry.example.com\n" + partValues(0)
			if n%6 == 0 {
				values = strings.Replace(values, "  resources:\n", "  resources:\n    claims: null\n", 1)
			}
			write(tb, dir, folder+"/values.yaml", values)
			overrides := "part0:\n  replicas: 3\n"
			write(tb, dir, folder+"/values-production.yaml", overrides)
			source += "    helm: {valueFiles: [values-production.yaml]}\n"
			if n >= 180 {
				write(tb, dir, "values/"+name+".yaml", overrides)
				source = "    path: " + folder + "\n    helm: {valueFiles: [$values/values/" + name + ".yaml]}\n"
			}
			helm = append(helm, folder)
		case n < 260:
			write(tb, dir, folder+"/base/deployment.yaml", plainWorkload(name))
			write(tb, dir, folder+"/base/kustomization.yaml", "resources: [deployment.yaml]\nconfigMapGenerator: [{name: config, literals: [level=info]}]\n")
			write(tb, dir, folder+"/production/kustomization.yaml", "resources: [../base]\nnamespace: shop\nimages: [{name: registry.example.com/"+name+", newTag: v2}]\n")
			source = "    path: " + folder + "/production\n"
			kustomize = append(kustomize, folder+"/production")
		default:
			write(tb, dir, folder+"/deployment.yaml", plainWorkload(name))
		}
		manifest := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\nspec:\n  project: shop\n  destination: {name: in-cluster, namespace: shop}\n"
		if n >= 180 && n < 190 {
			manifest += "  sources:\n  - repoURL: " + monorepoURL + "\n" + source + "  - {repoURL: " + monorepoURL + ", ref: values}\n"
		} else {
			manifest += "  source:\n    repoURL: " + monorepoURL + "\n" + source
		}
		write(tb, dir, "clusters/production/"+name+".yaml", manifest)
	}
	git(tb, dir, "init", "-q", "-b", "main")
	git(tb, dir, "remote", "add", "origin", monorepoURL+".git")
	commit(tb, dir)
	write(tb, dir, "apps/app000/values-production.yaml", "part0:\n  image: {tag: v9}\n")
	commit(tb, dir)
	return helm, kustomize
}

func plainWorkload(name string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: main
        image: registry.example.com/%[1]s:v1
        envFrom: [{configMapRef: {name: config}}]
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec:
  selector: {app: %[1]s}
  ports: [{name: http, port: 80, targetPort: 8080}]
`, name)
}

func git(tb testing.TB, dir string, args ...string) {
	tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func commit(tb testing.TB, dir string) {
	tb.Helper()
	git(tb, dir, "add", ".")
	git(tb, dir, "-c", "user.name=shop", "-c", "user.email=shop@example.com", "commit", "-q", "-m", "deployments")
}

// BenchmarkCompare compares the 300 applications of a monorepo, once with both Helms
// and once at two revisions, with what one does without hallmark: the same renders by
// helm and kustomize, two at a time, before anything is compared.
func BenchmarkCompare(b *testing.B) {
	dir := b.TempDir()
	helm, kustomize := monorepo(b, dir)
	var lines []string
	for _, folder := range helm {
		for _, engine := range []string{"helm3", "helm4"} {
			lines = append(lines, fmt.Sprintf("%s template x %s -f %s/values-production.yaml", program(b, engine), folder, folder))
		}
	}
	for _, folder := range kustomize {
		lines = append(lines, program(b, "kustomize")+" build "+folder, program(b, "kustomize")+" build "+folder)
	}
	write(b, dir, ".git/renders", strings.Join(lines, "\n")+"\n")
	other := []string{"sh", "-c", "cd " + dir + ` && xargs -P 2 -I{} sh -c '{} > /dev/null' < ` + filepath.Join(dir, ".git/renders")}
	for name, flags := range map[string]string{
		"helm3-to-helm4": "--from helm3 --to helm4", "two-revisions": "--from-ref HEAD~1 --to-ref HEAD",
	} {
		b.Run(name, func(b *testing.B) {
			// Exit code 1 says that something changes.
			versusTimes(b, 3, []string{"sh", "-c", "cd " + dir + " && " + program(b, "hallmark") + " compare " + flags + " -o markdown > /dev/null; test $? -eq 1"}, other)
		})
	}
}
