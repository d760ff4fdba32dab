package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

const compareHelp = `Render applications twice and show what differs, object by object and field by field:
with two renderers (--from helm3 --to helm4), at two git revisions (--from-ref main
--to-ref HEAD), or both. Revisions are read from git's object store; the work tree is
not touched, and it is the side that names no revision.

Without arguments the Argo CD Applications and ApplicationSets whose manifests are
below the current folder are compared, and those that they render in turn. Sources with
helm, kustomize or directory, of the plugin, and several sources are rendered where their
repository is here (--repo gives others); generators of ApplicationSets that need no
cluster and no server are expanded. What cannot be rendered is listed with the reason.
Where there is no Application, every chart and kustomization below is compared. FOLDER
or GLOB names folders to render as they are.

The order of objects and the files that they are in are no difference. Objects with a
generated suffix in their names count as renamed. Values of Secrets are compared and
not shown, wherever else they stand; fields that differ on each render are left out. So
are those that an application derives (determinism=derive), unless --seed-file gives the
seed.
An Application's own manifest counts as one of its objects where it differs.

What is not wanted by --include and --exclude is rendered all the same where it may bring
along applications that are. A chart of another repository is compared where the folder
that --repo gives has the version that the Application asks for, as CHART-VERSION or
CHART.

Exit codes: 0 nothing changes, 1 something does, 2 wrong usage, 3 something could not
be rendered (what could be is in the report), or there is no report, and standard
output is empty.`

const compareExample = `  hallmark compare --from helm3 --to helm4
  hallmark compare --from-ref main --to-ref HEAD -o markdown
  hallmark compare --from-ref origin/main 'apps/*'
  hallmark compare --from helm3 --to helm4 --applications clusters/production -o html > upgrade.html
  hallmark compare --from-ref v1.4.0 --repo https://charts.example.com=vendor/charts`

// progress says on a terminal how far a comparison is, in one line.
type progress struct {
	w     io.Writer // nil where nobody looks
	shown bool
}

func newProgress(w io.Writer) *progress {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &progress{w: w}
	}
	return &progress{}
}

func (p *progress) show(done, found int, name string) {
	if p.w != nil {
		const width = 60 // of a name: a line that wraps cannot be replaced
		name = printable(name)
		if len(name) > width {
			name = name[:width]
		}
		fmt.Fprintf(p.w, "\r\x1b[K%d of %d %s", done, found, name)
		p.shown = true
	}
}

// end takes the line away.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
