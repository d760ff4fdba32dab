// Command main writes down what Argo CD's own packages make of the ApplicationSets in
// ../sets, as the last section of each file. It is built with the modules that the
// end-to-end tests pin, from the root of the repository:
//
//	(cd tools/argocd3 && go run ../../plugin/application/testdata/reference/main.go ../../plugin/application/testdata/sets/*.txtar)
//
// It needs git, which lists the files of a repository in Argo CD too.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"
)

const section = "-- argocd-3.2.json --\n"

func main() {
	logrus.SetOutput(bytes.NewBuffer(nil))
	for _, file := range os.Args[1:] {
		data, err := os.ReadFile(file)
		check(err)
		before, _, _ := strings.Cut(string(data), section)
		parts := split(before)
		root, err := os.MkdirTemp("", "sets")
		check(err)
		for name, body := range parts {
			if inside, found := strings.CutPrefix(name, "repo/"); found {
				check(os.MkdirAll(filepath.Dir(filepath.Join(root, inside)), 0o700))
				check(os.WriteFile(filepath.Join(root, inside), []byte(body), 0o600))
			}
		}
		git(root, "init", "-q")
		git(root, "add", "-A")
		out := map[string]any{}
		for _, doc := range strings.Split(parts["sets.yaml"], "---\n") {
			var set v1alpha1.ApplicationSet
			check(yaml.Unmarshal([]byte(doc), &set))
			out[set.Name] = expand(set, repos(root), strings.Contains(doc, "merge:"))
		}
		text, err := json.MarshalIndent(out, "", "  ")
		check(err)
		check(os.WriteFile(file, []byte(before+section+string(text)+"\n"), 0o644))
		check(os.RemoveAll(root))
	}
}

func expand(set v1alpha1.ApplicationSet, from repos, unordered bool) map[string]any {
	scheme := runtime.NewScheme()
	check(v1alpha1.AddToScheme(scheme))
	project := &v1alpha1.AppProject{}
	project.Name, project.Namespace = "default", "argocd"
	var c client.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(project).Build()
	terminal := map[string]generators.Generator{
		"List": generators.NewListGenerator(),
		"Git":  generators.NewGitGenerator(from, "argocd"),
	}
	nested := map[string]generators.Generator{
		"List": terminal["List"], "Git": terminal["Git"],
		"Matrix": generators.NewMatrixGenerator(terminal), "Merge": generators.NewMergeGenerator(terminal),
	}
	top := map[string]generators.Generator{
		"List": terminal["List"], "Git": terminal["Git"],
		"Matrix": generators.NewMatrixGenerator(nested), "Merge": generators.NewMergeGenerator(nested),
	}
	apps, _, err := template.GenerateApplications(logrus.NewEntry(logrus.StandardLogger()), set, top, &utils.Render{}, c)
	if unordered {
		sort.Slice(apps, func(i, j int) bool { return apps[i].Name < apps[j].Name })
	}
	list := []any{}
	for _, app := range apps {
		data, err := json.Marshal(app)
		check(err)
		var value map[string]any
		check(json.Unmarshal(data, &value))
		delete(value, "status")
		delete(value["metadata"].(map[string]any), "creationTimestamp")
		list = append(list, value)
	}
	out := map[string]any{"applications": list}
	if err != nil {
		out["error"] = err.Error()
	}
	return out
}

// repos is the folder of a repository, which every address and revision means.
type repos string

func (r repos) GetFiles(_ context.Context, _, _, _, pattern string, _, _ bool) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range strings.Split(strings.TrimSuffix(git(string(r), "ls-files", "--full-name", "-z", "--", pattern), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(string(r), name))
		if err != nil {
			return nil, err
		}
		files[name] = data
	}
	return files, nil
}

// GetDirectories walks as GetGitDirectories of the repo-server does.
func (r repos) GetDirectories(_ context.Context, _, _, _ string, _, _ bool) ([]string, error) {
	var out []string
	err := filepath.WalkDir(string(r), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if rel, _ := filepath.Rel(string(r), name); rel != "." {
			out = append(out, rel)
		}
		return nil
	})
	return out, err
}

func git(dir string, args ...string) string {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	check(err)
	return string(out)
}

// split returns the sections of a txtar archive.
func split(text string) map[string]string {
	parts := map[string]string{}
	marks := regexp.MustCompile(`(?m)^-- (.+) --\n`).FindAllStringSubmatchIndex(text, -1)
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		parts[text[m[2]:m[3]]] = text[m[1]:end]
	}
	return parts
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
