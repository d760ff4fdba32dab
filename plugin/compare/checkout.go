package compare

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/redact"
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
	// Pinned returns the tree and the commit of a revision that does not move, a tag
	// or the id of a commit; ok is false for a branch. Nil knows none.
	Pinned func(revision string) (tree *source.Tree, commit string, ok bool, err error)
	// Missing says why a folder is not in the tree although the repository has it,
	// such as one of a submodule. Nil and "" know nothing.
	Missing func(folder string) string
	// Others are further repositories, by their URL. In one with charts, a chart is
	// the folder of its name.
	Others map[string]*source.Tree
	// Renderer replaces what renders the applications, see [Fleet].
	Renderer string
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
}

// find returns where a source is, or a problem that says why it is not here.
func (c *Checkout) find(s *application.Source) (location, string, string) {
	url := redact.URL(s.RepoURL)
	if c.isHere(s.RepoURL) && s.Chart == "" {
		at := location{c.Tree, c.Commit, path.Clean(cmp.Or(s.Path, "."))}
		if c.Pinned != nil && s.TargetRevision != "" {
			tree, commit, ok, err := c.Pinned(s.TargetRevision)
			switch {
			case err != nil:
				return at, fmt.Sprintf("targetRevision %q: %v", s.TargetRevision, err), ""
			case ok:
				at.tree, at.commit = tree, commit
				return at, "", ""
			}
		}
		if c.Missing != nil {
			if why := c.Missing(at.path); why != "" {
				return at, why, ""
			}
		}
		return at, "", ""
	}
	if tree := c.other(s.RepoURL); tree != nil {
		return location{tree, s.TargetRevision, path.Clean(cmp.Or(s.Chart, s.Path, "."))}, "", ""
	}
	if s.Chart != "" {
		return location{}, fmt.Sprintf("the chart %q of %s is not here, and nothing is fetched", s.Chart, url),
			fmt.Sprintf("pull it (helm pull --untar) and give the folder around it: --repo %s=FOLDER", url)
	}
	return location{}, fmt.Sprintf("the repository %s is not here, and nothing is fetched", url),
		fmt.Sprintf("clone it and give the folder: --repo %s=FOLDER; or name this repository so: --repo-url", url)
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
	at, problem, _ := c.find(&application.Source{RepoURL: url, TargetRevision: revision})
	if problem != "" {
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
	refs := map[string]*source.Tree{}
	for i := range a.Sources {
		if s := &a.Sources[i]; s.Ref != "" {
			if at, problem, _ := c.find(s); problem == "" {
				refs[s.Ref] = at.tree
			}
		}
	}
	for i := range a.Sources {
		s := &a.Sources[i]
		if s.Ref != "" && s.Path == "" && s.Chart == "" {
			continue // it brings files for the others, and no objects
		}
		name := sourceName(s, i)
		problem := Problem{Source: several(name, len(a.Sources)), Absent: true}
		if problem.Message = s.Unsupported; problem.Message != "" {
			j.Problems = append(j.Problems, problem)
			continue
		}
		var at location
		if at, problem.Message, problem.Hint = c.find(s); problem.Message != "" {
			j.Problems = append(j.Problems, problem)
			continue
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
			for _, note := range overridden.Notes {
				j.Notes = append(j.Notes, several(name+": ", len(a.Sources))+note)
			}
			err = c.replaceRenderer(&r)
		}
		if err != nil {
			problem.Message, problem.Absent = err.Error(), false
			j.Problems = append(j.Problems, problem)
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
	return r.Parameters.Set("renderer=" + c.Renderer)
}

// sourceName is how a source is called among several.
func sourceName(s *application.Source, i int) string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Chart != "":
		return "chart " + s.Chart
	case s.Path != "":
		return s.Path
	}
	return fmt.Sprintf("source %d", i+1)
}
