package compare

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/application"
)

// Fleet is the applications of a repository on both sides of a comparison.
//
// A renderer of a side is helm3 or helm4 where charts are to be rendered with that
// Helm, whatever the applications say; any other renderer is used for everything.
type Fleet struct {
	From, To *Checkout
	// Common is what all requests share: limits, policy, keys, cluster versions and
	// hallmark's version. Namespace is that of folders.
	Common plugin.Request
	Bounds Bounds
	// Wanted reports whether an application is to be compared, by the names that it
	// goes by: with and without its namespace. Nil wants all. One that is not wanted
	// may still render some that are.
	Wanted func(names ...string) bool
	// Guess says that the address of the repository is not known for sure: where no
	// Application names it, the one whose paths are all here is taken for it.
	Guess bool
	// Progress is called when applications are found and when one is compared. It
	// may be nil.
	Progress func(done, found int, name string)

	outcomes map[string]*Outcome
	problems map[string]*Application // of applications that could not even be read
	parents  map[string][]string     // by child
	notes    map[string]bool
	secrets  [][]string                  // values of all applications
	faults   map[string]map[string]error // what is unreadable, by side, then by name and by file
	done     int
	found    int
	guessed  string
}

// maxDepth bounds how deep applications may bring along applications, and
// maxApplications how many there may be: an Application can render one with another
// name, and that the next.
const (
	maxDepth        = 20
	maxApplications = 20_000
)

// Applications compares the Argo CD Applications, and those that ApplicationSets make,
// whose manifests are below dir, and the ones that they render in turn. found is the
// number of manifests.
func (f *Fleet) Applications(ctx context.Context, dir string) (r *Report, found int, err error) {
	from, to, err := f.readBoth(dir)
	if err == nil && f.Guess && f.guess(from, to) {
		from, to, err = f.readBoth(dir) // generators may need the repository
	}
	if err != nil {
		return nil, 0, err
	}
	if found = len(from) + len(to) + len(f.problems); found == 0 {
		return nil, 0, nil
	}
	if err := f.all(ctx, from, to); err != nil {
		return nil, 0, err
	}
	return f.report(), found, nil
}

// Folders compares folders that are rendered as they are, each under the name that
// name makes of it.
func (f *Fleet) Folders(ctx context.Context, dirs []string, name func(dir string) string) (*Report, error) {
	f.start()
	var pairs []Pair
	for _, dir := range dirs {
		if f.Wanted != nil && !f.Wanted(dir) {
			continue
		}
		p := Pair{Name: dir, Origin: dir}
		if exists(f.From, dir) {
			p.From = f.From.folder(name(dir), dir, &f.Common)
		}
		if exists(f.To, dir) {
			p.To = f.To.folder(name(dir), dir, &f.Common)
		}
		if p.From == nil && p.To == nil { // then the render says so
			p.From, p.To = f.From.folder(name(dir), dir, &f.Common), f.To.folder(name(dir), dir, &f.Common)
		}
		pairs = append(pairs, p)
	}
	from, to, err := f.run(ctx, pairs)
	if err != nil {
		return nil, err
	}
	if err := f.all(ctx, from, to); err != nil {
		return nil, err
	}
	return f.report(), nil
}

func exists(c *Checkout, dir string) bool {
	_, err := fs.Stat(c.Tree.View(), dir)
	return err == nil || c.Missing != nil && c.Missing(dir) != ""
}

func (f *Fleet) start() {
	f.outcomes, f.problems, f.parents = map[string]*Outcome{}, map[string]*Application{}, map[string][]string{}
	f.done, f.found, f.notes, f.secrets = 0, 0, map[string]bool{}, nil
	f.faults = map[string]map[string]error{"from": {}, "to": {}}
}

func (f *Fleet) readBoth(dir string) (from, to []application.Application, err error) {
	f.start()
	if from, err = f.read(f.From, dir, "from"); err != nil && !(errors.Is(err, fs.ErrNotExist) && exists(f.To, dir)) {
		return nil, nil, err
	}
	if f.From.Tree == f.To.Tree {
		for _, a := range f.problems { // what is wrong on one side is on both
			for i := range a.Problems {
				a.Problems[i].Side = ""
			}
		}
		return from, slices.Clone(from), nil
	}
	to, err = f.read(f.To, dir, "to")
	if errors.Is(err, fs.ErrNotExist) && exists(f.From, dir) { // it is on one side only
		return from, nil, nil
	}
	return from, to, err
}

// read returns the applications whose manifests are below dir on one side.
func (f *Fleet) read(c *Checkout, dir, side string) ([]application.Application, error) {
	found, err := application.Find(c.Tree.View(), dir, application.Options{Here: c.Here})
	if err != nil {
		return nil, err
	}
	foreign := func(file string) bool { return c.Foreign != nil && c.Foreign(path.Dir(file)) }
	for _, fault := range found.Faults {
		if !foreign(fault.File) {
			f.unreadable(side, fault.Name, origin(fault.File, fault.Line), "", fault.Err)
			f.faulty(side, fault.File, fmt.Errorf("a manifest in %s cannot be read on this side", fault.File))
		}
	}
	return slices.DeleteFunc(found.Applications, func(a application.Application) bool { return foreign(a.File) }), nil
}

func origin(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// unreadable keeps that a manifest is no application that could be compared. What is
// found in a file is not said again of the application that renders the file.
func (f *Fleet) unreadable(side, name, origin, parent string, err error) {
	if name == "" {
		name = origin
	} else {
		f.faulty(side, name, err)
	}
	if !f.wants(name) {
		return
	}
	a := f.problems[name]
	if a == nil {
		a = &Application{Name: name, Origin: origin, Status: StatusRefused}
		f.problems[name] = a
	}
	msg := err.Error()
	if parent != "" {
		if slices.ContainsFunc(a.Problems, func(p Problem) bool { return p.Side == side || p.Side == "" }) {
			return
		}
		msg = fmt.Sprintf("rendered by %s: %s", parent, msg)
	}
	for i, p := range a.Problems {
		if p.Message == msg && p.Side != side {
			a.Problems[i].Side = ""
			return
		}
	}
	a.Problems = append(a.Problems, Problem{Side: side, Message: msg, Hint: diag.Hint(err)})
}

// faulty keeps why a manifest is no application.
func (f *Fleet) faulty(side, key string, err error) {
	if f.faults[side] != nil && f.faults[side][key] == nil {
		f.faults[side][key] = err
	}
}

// unread gives a pair that has one side only the fault of the manifest on the other
// one: the application is neither new nor gone.
func (f *Fleet) unread(p *Pair, a *application.Application) {
	for _, side := range []struct {
		name string
		job  **Job
	}{{"from", &p.From}, {"to", &p.To}} {
		if *side.job != nil {
			continue
		}
		for _, key := range []string{fullName(a), a.File} {
			if err := f.faults[side.name][key]; err != nil {
				*side.job = &Job{Problems: []Problem{{Message: err.Error(), Hint: diag.Hint(err)}}}
				delete(f.problems, fullName(a)) // one line for both sides
				break
			}
		}
	}
}

// wants reports whether an application is to be compared.
func (f *Fleet) wants(name string) bool {
	return f.Wanted == nil || f.Wanted(name, name[strings.LastIndexByte(name, '/')+1:])
}

// all compares applications, and then those that they brought along, until there are
// no more. One that is rendered as it stands in a file that was found is no other.
func (f *Fleet) all(ctx context.Context, from, to []application.Application) error {
	var knownFrom, knownTo manifests
	for depth := 0; ; depth++ {
		f.adopt(from)
		f.adopt(to)
		pairs := f.pair(knownFrom.fresh(from), knownTo.fresh(to))
		if len(pairs) == 0 {
			return nil
		}
		if depth == maxDepth || len(f.outcomes)+len(pairs) > maxApplications {
			for _, p := range pairs {
				f.unreadable("", p.Name, p.Origin, "", fmt.Errorf("applications that bring along applications: more than %d deep, or more than %d of them", maxDepth, maxApplications))
			}
			return nil
		}
		var err error
		if from, to, err = f.run(ctx, pairs); err != nil {
			return err
		}
	}
}

// manifests are what was found of the applications of one side, by name.
type manifests struct{ specs map[string][]any }

// fresh returns those of the applications that no earlier step found. Several of one
// step can be equal: one for each of several Argo CDs.
func (m *manifests) fresh(list []application.Application) []application.Application {
	known := func(a application.Application) bool {
		spec := a.Value["spec"]
		return slices.ContainsFunc(m.specs[fullName(&a)], func(other any) bool { return reflect.DeepEqual(other, spec) })
	}
	list = slices.DeleteFunc(slices.Clone(list), known)
	if m.specs == nil {
		m.specs = map[string][]any{}
	}
	for i := range list {
		m.specs[fullName(&list[i])] = append(m.specs[fullName(&list[i])], list[i].Value["spec"])
	}
	return list
}

// adopt remembers which application rendered which.
func (f *Fleet) adopt(children []application.Application) {
	for i := range children {
		name := fullName(&children[i])
		if parent, is := strings.CutPrefix(children[i].From, "Application "); is && parent != name && !slices.Contains(f.parents[name], parent) {
			f.parents[name] = append(f.parents[name], parent)
		}
	}
}

// pair puts the applications of both sides together: by name, and where there are
// several of one name, as for several Argo CDs, by file as well, and by their order in
// one file.
func (f *Fleet) pair(from, to []application.Application) []Pair {
	several := map[string]bool{}
	for _, list := range [][]application.Application{from, to} {
		here := map[string]bool{}
		for i := range list {
			name := fullName(&list[i])
			several[name] = several[name] || here[name] || f.outcomes[name] != nil
			here[name] = true
		}
	}
	pairs, manifests := map[string]*Pair{}, map[string]*application.Application{}
	add := func(list []application.Application, set func(*Pair, *application.Application)) {
		count := map[string]int{}
		for i := range list {
			a := &list[i]
			name, wanted := fullName(a), f.wants(fullName(a))
			if several[name] {
				name = fmt.Sprintf("%s (%s)", name, a.File)
				if count[name]++; count[name] > 1 {
					name = fmt.Sprintf("%s (%s, %d)", fullName(a), a.File, count[name])
				}
			}
			if pairs[name] == nil {
				pairs[name] = &Pair{Name: name, silent: !wanted}
			}
			manifests[name] = a
			pairs[name].Origin = origin(a.File, a.Line)
			set(pairs[name], a)
		}
	}
	job := func(c *Checkout, a *application.Application) *Job {
		j := c.job(a, &f.Common)
		for _, note := range j.shared {
			f.notes[note] = true
		}
		return j
	}
	add(from, func(p *Pair, a *application.Application) { p.From = job(f.From, a) })
	add(to, func(p *Pair, a *application.Application) { p.To = job(f.To, a) })
	var out []Pair
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		p := pairs[name]
		f.unread(p, manifests[name])
		if !p.silent || p.From.mayBringApplications() || p.To.mayBringApplications() {
			out = append(out, *p)
		}
	}
	return out
}

func fullName(a *application.Application) string {
	if a.Namespace == "" {
		return a.Name
	}
	return a.Namespace + "/" + a.Name
}

// run compares pairs and returns the applications that they rendered.
func (f *Fleet) run(ctx context.Context, pairs []Pair) (from, to []application.Application, err error) {
	f.found += len(pairs)
	f.progress("")
	outcomes, err := Run(ctx, pairs, f.Bounds, func(o *Outcome) {
		f.done++
		f.progress(o.Name)
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range outcomes {
		o := &outcomes[i]
		f.secrets = append(f.secrets, o.secrets)
		if !pairs[i].silent {
			f.outcomes[o.Name] = o
		}
		from = append(from, f.children(f.From, "from", o.Name, o.FromChildren)...)
		to = append(to, f.children(f.To, "to", o.Name, o.ToChildren)...)
		o.FromChildren, o.ToChildren = nil, nil
	}
	return from, to, nil
}

func (f *Fleet) progress(name string) {
	if f.Progress != nil {
		f.Progress(f.done, f.found, name)
	}
}

// children reads the Applications and ApplicationSets that an application rendered.
func (f *Fleet) children(c *Checkout, side, parent string, objects []object.Object) []application.Application {
	var all []application.Application
	for _, o := range objects {
		var list []application.Application
		var err error
		if o.Kind() == "ApplicationSet" {
			list, err = application.Expand(o, application.Options{Here: c.Here})
		} else {
			var a *application.Application
			if a, err = application.Parse(o); err == nil {
				list = []application.Application{*a}
			}
		}
		if err != nil {
			name := strings.TrimPrefix(o.ID().Namespace+"/"+o.ID().Name, "/")
			if o.Kind() == "ApplicationSet" {
				name = "ApplicationSet " + name
			}
			f.unreadable(side, name, o.At(), parent, err)
		}
		for i := range list {
			list[i].From = "Application " + parent
			if list[i].File == "" {
				list[i].File = "rendered by " + parent
			}
		}
		all = append(all, list...)
	}
	return all
}

// report puts everything together.
func (f *Fleet) report() *Report {
	r := &Report{Applications: []Application{}}
	r.From = Side{Renderer: f.From.Renderer, Commit: f.From.Commit}
	r.To = Side{Renderer: f.To.Renderer, Commit: f.To.Commit}
	if f.guessed != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("no Application names this repository as git does; %s is taken for it, since its paths are here", f.guessed))
	}
	r.Notes = append(r.Notes, slices.Sorted(maps.Keys(f.notes))...)
	for _, cycle := range cycles(f.parents) {
		// It is a fault of the first by name that is listed: one line for the whole.
		line := Problem{Message: "these applications render each other: " + strings.Join(append(slices.Clone(cycle), cycle[0]), " -> ")}
		i := slices.IndexFunc(cycle, func(name string) bool { return f.outcomes[name] != nil })
		if i < 0 {
			r.Notes = append(r.Notes, line.Message)
			continue
		}
		o := f.outcomes[cycle[i]]
		o.Problems, o.Status = append(o.Problems, line), StatusRefused
	}
	for _, name := range slices.Sorted(maps.Keys(f.outcomes)) {
		r.Applications = append(r.Applications, f.outcomes[name].Application)
	}
	for _, name := range slices.Sorted(maps.Keys(f.problems)) {
		r.Applications = append(r.Applications, *f.problems[name])
	}
	slices.SortStableFunc(r.Applications, func(a, b Application) int { return strings.Compare(a.Name, b.Name) })
	hideAll(r.Applications, f.secrets)
	r.Causes = Causes(r.Applications)
	return r
}

// cycles returns the circles of applications that render each other, each once and
// from its first by name on. One that renders itself is none: it is how an
// application manages its own manifest.
func cycles(parents map[string][]string) (found [][]string) {
	seen := map[string]bool{}
	for _, start := range slices.Sorted(maps.Keys(parents)) {
		if seen[start] {
			continue
		}
		if way := wayBack(parents, start); way != nil {
			for _, name := range way {
				seen[name] = true
			}
			found = append(found, way)
		}
	}
	return found
}

// wayBack is the shortest way from an application through what it renders back to
// itself, or nil.
func wayBack(parents map[string][]string, start string) []string {
	next := map[string]string{} // the one that it renders on the way
	queue := []string{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, parent := range slices.Sorted(slices.Values(parents[at])) {
			if parent == start {
				way := []string{start}
				for at != start {
					way = append(way, at)
					at = next[at]
				}
				return way
			}
			if _, known := next[parent]; !known {
				next[parent] = at
				queue = append(queue, parent)
			}
		}
	}
	return nil
}
