package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "hallmark.dev/hallmark"

// A row is one folder of the house. Arrows go down only: may lists the folders
// of this module that the package may import, where "x/*" stands for
// everything below x, and tests what its tests may import beyond that. std
// forbids everything outside the standard library.
type row struct {
	folder     string
	may, tests []string
	std        bool
}

// The table that README repeats for newcomers. A new folder needs
// a row here and a line there.
var rows = []row{
	{folder: "cmd/hallmark", may: []string{"plugin", "plugin/*", "health", "health/*", "lua/*", "internal/*"}},

	{folder: "plugin", may: []string{"plugin/*", "internal/*"}},
	{folder: "plugin/source", may: []string{"internal/*"}},
	{folder: "plugin/chart", may: []string{"plugin/derive", "plugin/source", "internal/*"}},
	{folder: "plugin/derive", may: []string{"internal/*"}},
	{folder: "plugin/overlay", may: []string{"plugin/source", "internal/*"}},
	{folder: "plugin/directory", may: []string{"plugin/source", "internal/*"}},
	{folder: "plugin/decrypt", may: []string{"plugin/source", "internal/*"}},
	{folder: "plugin/gate", may: []string{"internal/*"}},
	{folder: "plugin/policy", may: []string{"plugin/rules", "plugin/rules/*", "internal/*"}},
	{folder: "plugin/rules", may: []string{"internal/*"}},
	{folder: "plugin/rules/admission", may: []string{"plugin/rules", "internal/*"}},
	{folder: "plugin/application", may: []string{"plugin", "plugin/source", "internal/*"}},
	{folder: "plugin/compare", may: []string{"plugin", "plugin/application", "plugin/source", "plugin/stamp", "internal/*"}},
	{folder: "plugin/compare/report", may: []string{"plugin/compare", "internal/*"}},
	{folder: "plugin/stamp", may: []string{"internal/*"}},
	{folder: "plugin/server", may: []string{"plugin"}},

	{folder: "health", may: []string{"internal/*"}},
	{folder: "health/compile", may: []string{"health", "internal/*", "lua/ast", "lua/print"}, tests: []string{"lua/vm"}},
	{folder: "health/corpus", std: true},
	{folder: "health/eval", may: []string{"health"}},
	{folder: "health/export", may: []string{"health", "internal/*"}, tests: []string{"lua/vm"}},
	{folder: "health/infer", may: []string{"health", "internal/*"}},
	{folder: "health/library", tests: []string{"lua/vm"}}, // the cases of argo-cd's own scripts
	{folder: "health/lint", may: []string{"health/corpus", "internal/*", "lua/vm"}},
	{folder: "health/suite", may: []string{"health", "health/*", "internal/*", "lua/vm"}},

	{folder: "lua/ast", std: true},
	{folder: "lua/print", may: []string{"lua/ast"}, std: true},
	{folder: "lua/vm"},

	{folder: "internal/bench", tests: []string{"plugin", "plugin/*"}}, // measures the whole pipeline
	{folder: "internal/collector", std: true},
	{folder: "internal/confine"},
	{folder: "internal/diag", std: true},
	{folder: "internal/evidence", may: []string{"internal/*"}},
	{folder: "internal/fields", may: []string{"internal/*"}},
	{folder: "internal/house", std: true},
	{folder: "internal/ledger", may: []string{"internal/diag"}},
	{folder: "internal/ledger/controller", may: []string{"internal/diag", "internal/ledger", "internal/ledger/history", "internal/ledger/projection"}},
	{folder: "internal/ledger/controller/apitest", may: []string{"internal/ledger/projection"}},
	{folder: "internal/ledger/executor", may: []string{"internal/ledger"}},
	{folder: "internal/ledger/history", may: []string{"internal/ledger", "internal/diag"}},
	{folder: "internal/ledger/projection", may: []string{"internal/ledger"}},
	{folder: "internal/object", std: true},
	{folder: "internal/pgtest"},
	{folder: "internal/redact", std: true},
	{folder: "internal/sealtest"},
	{folder: "internal/yamldoc", may: []string{"internal/*"}},
}

// Modules and packages with one importer, so that an upgrade of one is the
// work of one folder. An entry covers the path itself and everything below it.
var soleImporters = map[string]string{
	"helm.sh/helm":                             "plugin/chart",
	"sigs.k8s.io/kustomize":                    "plugin/overlay",
	"github.com/getsops/sops":                  "plugin/decrypt", // and internal/sealtest
	"github.com/landlock-lsm":                  "internal/confine",
	"github.com/argoproj/argo-cd/v2/cmpserver": "plugin/server",
	"github.com/argoproj/argo-cd/v2/util/lua":  "lua/vm",
	"github.com/yuin/gopher-lua":               "lua/vm",
	"github.com/jackc/pgx":                     "internal/ledger", // and internal/pgtest
}

// forTests are packages that only tests import. They may use what has a sole importer.
var forTests = map[string]bool{"internal/sealtest": true, "internal/pgtest": true}

// testsMay says how much wider tests may go. Beside what its package may import
// and what its row adds, a test may import every folder of its own part of the
// house (plugin, health or lua) and internal/*, and where the package is held to
// the standard library its tests are not. Forbidden for tests as well are cmd, the other parts, one
// renderer from another, and what has a sole importer.
func testsMay(r row) []string {
	may := slices.Concat(r.may, r.tests, []string{"internal/*"})
	if part, _, _ := strings.Cut(r.folder, "/"); part == "plugin" || part == "health" || part == "lua" {
		may = append(may, part, part+"/*")
	}
	return may
}

// Renderers do not know of each other, in tests either.
var renderers = []string{"plugin/chart", "plugin/overlay", "plugin/directory"}

// A pkg is what the files of one folder say.
type pkg struct {
	folder, name       string
	comment            string            // the package comment
	imports, fromTests map[string]string // import path to a file that has it
	hasCode            bool
}

// The test reads the sources itself instead of asking the go command: go test
// then knows which files the result depends on and does not answer from its
// cache after one of them has changed.
func load(t *testing.T) map[string]*pkg {
	t.Helper()
	root := filepath.Join("..", "..")
	pkgs := map[string]*pkg{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			name := d.Name()
			if rel == "." {
				return nil
			}
			if name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_' {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil {
				return fs.SkipDir // a module of its own
			}
			return nil
		}
		if path.Ext(rel) != ".go" {
			return nil
		}
		return add(pkgs, file, rel)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) == 0 {
		t.Fatal("no Go files found")
	}
	return pkgs
}

func add(pkgs map[string]*pkg, file, rel string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	p := pkgs[path.Dir(rel)]
	if p == nil {
		p = &pkg{folder: path.Dir(rel), imports: map[string]string{}, fromTests: map[string]string{}}
		pkgs[p.folder] = p
	}
	imports := p.imports
	if strings.HasSuffix(rel, "_test.go") {
		imports = p.fromTests
	} else {
		p.name, p.hasCode = parsed.Name.Name, true
		if comment := docText(parsed); comment != "" {
			p.comment = comment
		}
	}
	for _, spec := range parsed.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		imports[target] = rel
	}
	return nil
}

func docText(f *ast.File) string {
	if f.Doc == nil {
		return ""
	}
	return f.Doc.Text()
}

func TestImports(t *testing.T) {
	t.Parallel()
	byFolder := map[string]row{}
	for _, r := range rows {
		byFolder[r.folder] = r
	}
	for folder, p := range load(t) {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			r, found := byFolder[folder]
			if !found {
				t.Fatalf("%s has no row in the table of this test", folder)
			}
			for target, file := range p.imports {
				check(t, r, target, file, r.may, r.std)
			}
			for target, file := range p.fromTests {
				check(t, r, target, file, testsMay(r), false)
			}
		})
	}
}

func check(t *testing.T, r row, target, file string, may []string, std bool) {
	t.Helper()
	within, ours := strings.CutPrefix(target, module+"/")
	if !ours {
		first, _, _ := strings.Cut(target, "/")
		if std && strings.Contains(first, ".") {
			t.Errorf("%s imports %s; %s is to have the standard library only", file, target, r.folder)
		}
		for name, importer := range soleImporters {
			if (target == name || strings.HasPrefix(target, name+"/")) && importer != r.folder && !forTests[r.folder] {
				t.Errorf("%s imports %s, which is for %s alone", file, target, importer)
			}
		}
		return
	}
	switch {
	case within == r.folder: // an external test of its own package
	case slices.Contains(renderers, within) && slices.Contains(renderers, r.folder):
		t.Errorf("%s imports %s: a renderer may not know another", file, within)
	case !allowed(may, within):
		t.Errorf("%s imports %s; %s may import %q", file, within, r.folder, may)
	}
}

func allowed(may []string, folder string) bool {
	return slices.ContainsFunc(may, func(m string) bool {
		parent, below := strings.CutSuffix(m, "/*")
		return m == folder || below && strings.HasPrefix(folder, parent+"/")
	})
}

func TestPackageComments(t *testing.T) {
	t.Parallel()
	pkgs := load(t)
	for _, folder := range slices.Sorted(maps.Keys(pkgs)) {
		p := pkgs[folder]
		if !p.hasCode {
			continue
		}
		want := "Package " + p.name + " "
		if p.name == "main" {
			want = "Command " + path.Base(folder) + " "
		}
		if !strings.HasPrefix(p.comment, want) {
			t.Errorf("%s: the package comment starts with %.30q, want %q", folder, p.comment, want)
		}
	}
}

// TestRowsExist fails when a folder of the table has gone.
func TestRowsExist(t *testing.T) {
	t.Parallel()
	pkgs := load(t)
	for _, r := range rows {
		if pkgs[r.folder] == nil {
			t.Errorf("%s stands in the table but has no Go file", r.folder)
		}
	}
}

// TestReadmeMap keeps the map that newcomers get: a line of README's table for
// each folder, internal folders under one.
func TestReadmeMap(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := func(folder string) bool {
		return strings.Contains(string(readme), "`"+folder+"`") || strings.Contains(string(readme), "`"+folder+"/`")
	}
	for _, r := range rows {
		folder := r.folder
		if strings.HasPrefix(folder, "internal/") {
			folder = "internal"
		}
		if !names(folder) {
			t.Errorf("README.md has no `%s` in its map of the folders", folder)
		}
	}
}

// TestToolVersions keeps the reference programs at the versions that hallmark
// renders with: goldens of another version would test nothing.
func TestToolVersions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ tool, module string }{
		{"helm3", "helm.sh/helm/v3"},
		{"helm4", "helm.sh/helm/v4"},
		{"kustomize", "sigs.k8s.io/kustomize/api"},
		{"kustomize", "sigs.k8s.io/kustomize/kyaml"},
		{"sops", "github.com/getsops/sops/v3"},
	} {
		ours := required(t, "go.mod", tc.module)
		if got := required(t, path.Join("tools", tc.tool, "go.mod"), tc.module); got != ours {
			t.Errorf("tools/%s builds %s %s, go.mod requires %s", tc.tool, tc.module, got, ours)
		}
	}
}

// TestVersions keeps the versions that hallmark prints of itself at those of go.mod.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ file, constant, module string }{
		{"health/env.go", "CELVersion", "github.com/google/cel-go"},
		{"lua/vm/version.go", "Lua", "github.com/yuin/gopher-lua"},
		{"lua/vm/version.go", "ArgoCD", "github.com/argoproj/argo-cd/v2"},
	} {
		data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(tc.file)))
		if err != nil {
			t.Fatal(err)
		}
		if want := tc.constant + ` = "` + required(t, "go.mod", tc.module) + `"`; !strings.Contains(string(data), want) {
			t.Errorf("%s has no %s", tc.file, want)
		}
	}
}

// required reads the version of a module from a go.mod that has one line for it.
func required(t *testing.T, file, module string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module {
			return fields[1]
		}
	}
	t.Fatalf("%s does not require %s", file, module)
	return ""
}
