package compare

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/application"
	"hallmark.dev/hallmark/plugin/source"
)

// Checkout is a repository at one revision, with what else is at hand: where the
// sources of applications are found.
type Checkout struct {
	Tree   *source.Tree
	Commit string // for the stamps; may be ""
	// URLs are the addresses by which Applications call the repository.
	URLs []string
	// Pinned returns a revision that does not move, a tag or the id of a commit; nil for
	// a branch. The note is what is not certain about that, or "". The error names the
	// revision, which does not move and is not here. Nil knows none.
	Pinned func(revision string) (pinned *Revision, note string, err error)
	// Missing says why a folder is not in the tree although the repository has it,
	// such as one of a submodule. Nil and "" know nothing.
	Missing func(folder string) string
	// Foreign reports whether a folder holds files of another repository, such as
	// those of a submodule that is checked out: no Application is looked for there. It
	// may be nil.
	Foreign func(folder string) bool
	// Others are further repositories, by their URL. In one with charts, a chart is
	// the folder of its name, or of its name and version ("web-1.2.0").
	Others map[string]*source.Tree
	// Renderer replaces what renders the applications, see [Fleet].
	Renderer string
}

// Revision is a revision that does not move.
type Revision struct {
	Tree   *source.Tree
	Commit string
	// Missing is that of a [Checkout].
	Missing func(folder string) string
}

// With returns the checkout with another renderer.
func (c *Checkout) With(renderer string) *Checkout {
	other := *c
	other.Renderer = renderer
	return &other
}

// location is where a source was found.
type location struct {
	tree   *source.Tree
	commit string
	path   string
	note   string // what is to be said of it, or ""
}

// absent says why a source is not here, with the remedy or "".
type absent struct{ msg, hint string }

// find returns where a source is, or why it is not here.
func (c *Checkout) find(s *application.Source) (location, *absent) {
	url := redact.URL(s.RepoURL)
	if c.isHere(s.RepoURL) && s.Chart == "" {
		at, missing := location{tree: c.Tree, commit: c.Commit, path: path.Clean(cmp.Or(s.Path, "."))}, c.Missing
		if !fs.ValidPath(at.path) {
			return at, &absent{msg: fmt.Sprintf("path %q leaves the repository", s.Path)}
		}
		if c.Pinned != nil && s.TargetRevision != "" {
			pinned, note, err := c.Pinned(s.TargetRevision)
			at.note = note
			switch {
			case err != nil:
				return at, &absent{"targetRevision: " + err.Error(), diag.Hint(err)}
			case pinned != nil:
				at.tree, at.commit, missing = pinned.Tree, pinned.Commit, pinned.Missing
			}
		}
		if missing != nil {
			if why := missing(at.path); why != "" {
				return at, &absent{msg: why}
			}
		}
		return at, nil
	}
	tree := c.other(s.RepoURL)
	switch {
	case tree != nil && s.Chart != "":
		return chartIn(tree, s)
	case tree != nil:
		return folderIn(tree, s)
	case s.Chart != "":
		return location{}, &absent{fmt.Sprintf("the chart %q of %s is not here, and nothing is fetched", s.Chart, url),
			fmt.Sprintf("pull it (helm pull --untar) and give the folder around it: --repo %s=FOLDER", url)}
	}
	return location{}, &absent{fmt.Sprintf("the repository %s is not here, and nothing is fetched", url),
		fmt.Sprintf("clone it and give the folder: --repo %s=FOLDER; or name this repository so: --repo-url", url)}
}

// folderIn finds a source in another repository, which is a folder at whatever
// revision it has.
func folderIn(tree *source.Tree, s *application.Source) (location, *absent) {
	at := location{tree: tree, path: path.Clean(cmp.Or(s.Path, "."))}
	if !fs.ValidPath(at.path) {
		return at, &absent{msg: fmt.Sprintf("path %q leaves the repository", s.Path)}
	}
	at.note = fmt.Sprintf("the folder that --repo gives for %s is taken for its revision %q", redact.URL(s.RepoURL), cmp.Or(s.TargetRevision, "HEAD"))
	return at, nil
}

// chartIn finds a chart among those of a folder: in <chart>-<version>, or in <chart>
// where that has a version which the source accepts.
func chartIn(tree *source.Tree, s *application.Source) (location, *absent) {
	view := tree.View()
	want := strings.TrimPrefix(s.TargetRevision, "v")
	found := ""
	for _, dir := range []string{s.Chart + "-" + want, s.Chart + "-v" + want, s.Chart} {
		dir = path.Clean(dir)
		if !fs.ValidPath(dir) {
			continue
		}
		data, err := fs.ReadFile(view, path.Join(dir, "Chart.yaml"))
		if err != nil {
			continue
		}
		value, err := yamldoc.Decode("Chart.yaml", data)
		if err != nil {
			return location{tree: tree, path: dir}, nil // then the render says so
		}
		version := object.Text(object.Field(value, "version"))
		if accepts(s.TargetRevision, version) {
			return location{tree: tree, commit: version, path: dir}, nil
		}
		found = version
	}
	url := redact.URL(s.RepoURL)
	if found == "" {
		return location{}, &absent{fmt.Sprintf("the chart %q is not in the folder that --repo gives for %s", s.Chart, url),
			"helm pull --untar puts it there, as a folder of its name"}
	}
	return location{}, &absent{fmt.Sprintf("the chart %q of %s is here in version %s, and the application wants %s", s.Chart, url, found, s.TargetRevision),
		fmt.Sprintf("pull that version too, into a folder %s-%s", s.Chart, cmp.Or(want, "VERSION"))}
}

// accepts reports whether a version is what a targetRevision asks for: that version,
// or one of a range. None asks for any.
func accepts(revision, version string) bool {
	if revision == "" || revision == "*" || strings.TrimPrefix(revision, "v") == strings.TrimPrefix(version, "v") {
		return true
	}
	constraint, err := semver.NewConstraint(revision)
	if err != nil {
		return false
	}
	v, err := semver.NewVersion(version)
	return err == nil && constraint.Check(v)
}

func (c *Checkout) isHere(url string) bool {
	return slices.ContainsFunc(c.URLs, func(known string) bool { return sameRepository(known, url) })
}

// other is the tree of a further repository, or nil.
func (c *Checkout) other(url string) *source.Tree {
	for _, known := range slices.Sorted(maps.Keys(c.Others)) {
		if sameRepository(known, url) {
			return c.Others[known]
		}
	}
	return nil
}

// Here returns the files of a repository at a revision for the generators of
// ApplicationSets.
func (c *Checkout) Here(url, revision string) (fs.FS, bool) {
	at, missing := c.find(&application.Source{RepoURL: url, TargetRevision: revision})
	if missing != nil {
		return nil, false
	}
	return at.tree.View(), true
}

// sameRepository reports whether two addresses name one repository. That is looser
// than a policy is: nothing is granted by it, and an Application often has the
// address for https where a clone has that for ssh.
func sameRepository(a, b string) bool {
	return a == b || repositoryName(a) != "" && repositoryName(a) == repositoryName(b)
}

// repositoryName is host and path of an address, in lower case.
func repositoryName(url string) string {
	rest := strings.ToLower(strings.TrimSpace(url))
	if _, after, found := strings.Cut(rest, "://"); found {
		rest = after
	} else if host, folder, found := strings.Cut(rest, ":"); found && !strings.Contains(host, "/") {
		rest = host + "/" + folder // git@host:path
	}
	host, folder, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(host, "@"); i >= 0 {
		host = host[i+1:]
	}
	host, _, _ = strings.Cut(host, ":") // the port of ssh is not that of https
	folder = strings.TrimSuffix(strings.Trim(folder, "/"), ".git")
	if host == "" || folder == "" {
		return ""
	}
	return host + "/" + folder
}

// job is what an application renders on this side.
func (c *Checkout) job(a *application.Application, common *plugin.Request) *Job {
	j := &Job{Namespace: a.Destination.Namespace}
	if !strings.HasPrefix(a.From, "Application ") { // or that one shows it
		j.Manifest = a.Value
	}
	names := sourceNames(a.Sources)
	refs := map[string]*source.Tree{}
	for i := range a.Sources {
		if s := &a.Sources[i]; s.Ref != "" {
			at, missing := c.find(s)
			if missing == nil {
				refs[s.Ref] = at.tree
			} else if s.Path == "" && s.Chart == "" {
				j.Problems = append(j.Problems, Problem{Source: names[i], Absent: true, Message: missing.msg, Hint: missing.hint})
			}
		}
	}
	for i := range a.Sources {
		s := &a.Sources[i]
		if s.Ref != "" && s.Path == "" && s.Chart == "" {
			continue // it brings files for the others, and no objects
		}
		name := names[i]
		if s.Unsupported != "" {
			j.Problems = append(j.Problems, Problem{Source: name, Absent: true, Message: s.Unsupported})
			continue
		}
		at, missing := c.find(s)
		if missing != nil {
			j.Problems = append(j.Problems, Problem{Source: name, Absent: true, Message: missing.msg, Hint: missing.hint})
			continue
		}
		if at.note != "" {
			j.shared = append(j.shared, at.note)
		}
		r := *common
		r.Tree, r.Path, r.Revision, r.RepoURL, r.TargetRevision = at.tree, at.path, at.commit, s.RepoURL, s.TargetRevision
		r.App, r.Namespace, r.Project = a.Name, a.Destination.Namespace, a.Project
		r.Env = s.Env
		for ref, tree := range refs {
			r.Tree = r.Tree.With("$"+ref, tree)
			r.Refs = append(r.Refs, ref)
		}
		slices.Sort(r.Refs)
		overridden, err := s.Overridden(at.tree.View(), at.path, a.Name)
		if err == nil {
			r.Parameters = overridden.Parameters
			for _, text := range overridden.Notes {
				j.Notes = append(j.Notes, several(name+": ", len(a.Sources))+text)
			}
			err = c.replaceRenderer(&r)
		}
		if err != nil {
			j.Problems = append(j.Problems, Problem{Source: name, Message: err.Error(), Hint: diag.Hint(err)})
			continue
		}
		j.Parts = append(j.Parts, Part{name, &r})
	}
	return j
}

// folder is a folder that is rendered as it is, without an Application.
func (c *Checkout) folder(name, dir string, common *plugin.Request) *Job {
	r := *common
	r.Tree, r.Path, r.Revision, r.App = c.Tree, dir, c.Commit, name
	j := &Job{Namespace: r.Namespace}
	if c.Missing != nil {
		if why := c.Missing(dir); why != "" {
			j.Problems = []Problem{{Message: why, Absent: true}}
			return j
		}
	}
	if err := c.replaceRenderer(&r); err != nil {
		j.Problems = []Problem{{Message: err.Error()}}
		return j
	}
	j.Parts = []Part{{"", &r}}
	return j
}

// replaceRenderer applies the renderer of the side: a Helm in place of a Helm, and
// anything else in place of everything.
func (c *Checkout) replaceRenderer(r *plugin.Request) error {
	switch c.Renderer {
	case "":
		return nil
	case plugin.RendererHelm3, plugin.RendererHelm4:
		r.Helm = c.Renderer
		return nil
	}
	r.Parameters = r.Parameters.Clone() // other requests have them too
	return r.Parameters.Set("renderer=" + c.Renderer)
}

// sourceNames are how the sources of an application are called, each differently.
func sourceNames(sources []application.Source) []string {
	names := make([]string, len(sources))
	for i := range sources {
		s := &sources[i]
		name := fmt.Sprintf("source %d", i+1)
		switch {
		case s.Name != "":
			name = s.Name
		case s.Ref != "" && s.Path == "" && s.Chart == "":
			name = "$" + s.Ref
		case s.Chart != "":
			name = "chart " + s.Chart
		case s.Path != "":
			name = s.Path
		}
		if again := name; slices.Contains(names[:i], name) {
			for n := 2; slices.Contains(names[:i], name); n++ {
				name = fmt.Sprintf("%s (%d)", again, n)
			}
		}
		names[i] = name
	}
	return names
}
