package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An instruction is one of a Dockerfile, with its continuation lines joined.
type instruction struct{ name, text string }

// dockerfile reads ../Dockerfile as its stages.
func dockerfile(t testing.TB) (stages [][]instruction) {
	t.Helper()
	data, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var joined string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if head, more := strings.CutSuffix(line, `\`); more {
			joined += head
			continue
		}
		name, text, _ := strings.Cut(joined+line, " ")
		joined = ""
		if name == "FROM" {
			stages = append(stages, nil)
		}
		if len(stages) == 0 {
			t.Fatalf("../Dockerfile: %s stands before FROM", name)
		}
		last := len(stages) - 1
		stages[last] = append(stages[last], instruction{name, strings.TrimSpace(text)})
	}
	return stages
}

// texts returns the texts of the instructions called name.
func texts(stage []instruction, name string) (texts []string) {
	for _, i := range stage {
		if i.name == name {
			texts = append(texts, i.text)
		}
	}
	return texts
}

func TestDockerfile(t *testing.T) {
	t.Parallel()
	stages := dockerfile(t)
	if len(stages) != 2 {
		t.Fatalf("got %d stages, want one that builds and the image", len(stages))
	}
	build, image := stages[0], stages[1]

	base := regexp.MustCompile(`^--platform=\$BUILDPLATFORM golang:([0-9]+\.[0-9]+)\.[0-9]+-[a-z]+@sha256:[0-9a-f]{64} AS build$`)
	from := base.FindStringSubmatch(texts(build, "FROM")[0])
	if from == nil {
		t.Fatalf("the build stage is from %q, want a golang image with a tag that says its version, and its digest", texts(build, "FROM")[0])
	}
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^go ` + regexp.QuoteMeta(from[1]) + `(\.[0-9]+)?$`).Match(module) {
		t.Errorf("the build stage has Go %s, which go.mod does not name", from[1])
	}

	for name, want := range map[string][]string{
		"FROM": {"scratch"},
		"COPY": {
			"--from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt",
			"--from=build /out/hallmark /hallmark",
		},
		"USER":       {"999:999"},
		"ENTRYPOINT": {`["/hallmark"]`},
		"ARG":        {"VERSION=devel REVISION=unknown"},
		"RUN":        nil,
		"ADD":        nil,
	} {
		if got := texts(image, name); !slices.Equal(got, want) {
			t.Errorf("the image's %s: got %q, want %q", name, got, want)
		}
	}
	labels := strings.Join(texts(image, "LABEL"), " ")
	for name, value := range map[string]string{
		"title": "hallmark", "source": "https://hallmark.dev/hallmark", "licenses": "Apache-2.0",
		"version": "$VERSION", "revision": "$REVISION",
	} {
		if label := fmt.Sprintf(`org.opencontainers.image.%s="%s"`, name, value); !strings.Contains(labels, label) {
			t.Errorf("the image has no label %s", label)
		}
	}
}

// buildContext copies what .dockerignore lets into the build. It knows the
// forms of patterns that stand there, and no other.
func buildContext(t testing.TB, to string) {
	t.Helper()
	data, err := os.ReadFile("../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	type rule struct {
		pattern        string
		keep, anywhere bool
	}
	var rules []rule
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var r rule
		r.pattern, r.keep = strings.CutPrefix(line, "!")
		r.pattern, r.anywhere = strings.CutPrefix(r.pattern, "**/")
		if strings.Contains(r.pattern, "/") || strings.Contains(r.pattern, "**") {
			t.Fatalf("../.dockerignore: this test does not know the form of %q", line)
		}
		rules = append(rules, r)
	}
	matches := func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	ignored := func(file string) (out bool) {
		names := strings.Split(file, "/")
		for _, r := range rules {
			match := matches(r.pattern, names[0])
			if r.anywhere {
				match = slices.ContainsFunc(names, func(name string) bool { return matches(r.pattern, name) })
			}
			if match {
				out = !r.keep
			}
		}
		return out
	}
	err = fs.WalkDir(os.DirFS(".."), ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == ".":
			return nil
		case ignored(file) && entry.IsDir():
			return fs.SkipDir
		case ignored(file):
			return nil
		case entry.IsDir():
			return os.Mkdir(filepath.Join(to, file), 0o755)
		}
		return copyFile(filepath.Join(to, file), filepath.Join("..", file), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(to, from string, mode fs.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, mode)
}
