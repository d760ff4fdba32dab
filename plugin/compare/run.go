package compare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/stamp"
)

// Pair is an application with what is rendered of it on the two sides. A side that
// is nil does not have the application.
type Pair struct {
	Name, Origin string
	From, To     *Job

	silent bool // it is rendered for the applications that it may bring along
}

// Job is what is rendered of an application on one side.
type Job struct {
	// Parts are its sources, in their order.
	Parts []Part
	// Problems are sources that cannot be rendered here. Each has the name of its
	// source, also where that is the only one.
	Problems []Problem
	// Namespace is that of the destination.
	Namespace string
	// Notes are for Application.Notes.
	Notes []string
	// Manifest is that of the Application, where no other application renders it; its
	// own fields decide on what happens to the objects.
	Manifest map[string]any

	shared []string // what other applications have to say as well
}

// Part is a source of an application.
type Part struct {
	// Source names it among the others of its side, and is the same on both sides.
	Source  string
	Request *plugin.Request
}

// Bounds keep a run within what the machine has.
type Bounds struct {
	// Parallel is the largest number of applications that are rendered at once.
	Parallel int
	// MemoryBytes is the size of the heap from which on applications are rendered
	// one by one. 0 means no bound.
	MemoryBytes int64
}

// Outcome is a compared application with what the rendered objects hold for the next
// ones: the Applications and ApplicationSets among them.
type Outcome struct {
	Application
	FromChildren, ToChildren []object.Object

	secrets []string // the values of its Secrets, for [hideAll]
}

// Run renders and compares the pairs, and returns the outcomes in their order. What
// goes wrong with one of them is a problem of it, and the rest goes on; the error is
// that of ctx. done is called after each, by one goroutine at a time.
//
// Only what differs is kept of an application, so the memory is that of the
// applications under way. One that runs into its memory limit beside others is
// rendered once more by itself, since the limit counts what all of them take.
func Run(ctx context.Context, pairs []Pair, b Bounds, done func(*Outcome)) ([]Outcome, error) {
	outcomes := make([]Outcome, len(pairs))
	starved := make([]bool, len(pairs))
	var told sync.Mutex
	finish := func(i int) {
		told.Lock()
		defer told.Unlock()
		done(&outcomes[i])
	}
	gate := &admission{bounds: b}
	gate.turn.L = &gate.mu
	var running sync.WaitGroup
	for i, p := range pairs {
		if !gate.enter(ctx) {
			break
		}
		running.Go(func() {
			defer gate.leave()
			outcomes[i], starved[i] = compare(ctx, p)
			if !starved[i] {
				finish(i)
			}
		})
	}
	running.Wait()
	for i, p := range pairs {
		if starved[i] && ctx.Err() == nil {
			outcomes[i], _ = compare(ctx, p)
			finish(i)
		}
	}
	return outcomes, context.Cause(ctx)
}

// admission lets applications in: as many at once as allowed, and only one where the
// heap is large.
type admission struct {
	bounds  Bounds
	mu      sync.Mutex
	turn    sync.Cond
	running int
}

func (a *admission) enter(ctx context.Context) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.running >= max(a.bounds.Parallel, 1) || a.running > 0 && a.full() {
		a.turn.Wait()
	}
	if ctx.Err() != nil {
		return false
	}
	a.running++
	return true
}

func (a *admission) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
	a.turn.Signal()
}

func (a *admission) full() bool {
	if a.bounds.MemoryBytes <= 0 {
		return false
	}
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() > uint64(a.bounds.MemoryBytes)
}

// rendered is a part that was rendered, or why it was not.
type rendered struct {
	Part
	result *plugin.Result
	err    error
}

// compare renders an application on both sides. starved says that a render ran into
// the memory limit.
func compare(ctx context.Context, p Pair) (out Outcome, starved bool) {
	defer func() {
		if recover() != nil { // what a panic says may quote a secret
			out = Outcome{Application: Application{
				Name: p.Name, Origin: p.Origin, Status: StatusRefused, Problems: []Problem{{Message: "hallmark panicked while comparing"}},
			}}
		}
	}()
	out.Application = Application{Name: p.Name, Origin: p.Origin, Status: StatusUnchanged}
	var from, to []rendered
	if p.From != nil {
		for _, part := range p.From.Parts {
			from = append(from, render(ctx, part))
		}
	}
	same := p.From != nil && p.To != nil && len(p.From.Parts) == len(p.To.Parts)
	if p.To != nil {
		for i, part := range p.To.Parts {
			// Most commits do not concern most applications.
			if i < len(from) && from[i].err == nil && from[i].Source == part.Source {
				if again, err := from[i].result.Again(ctx, part.Request); err == nil && again {
					to = append(to, rendered{part, from[i].result, nil})
					continue
				}
			}
			same = false
			to = append(to, render(ctx, part))
		}
	}
	for _, side := range [][]rendered{from, to} {
		for _, r := range side {
			limit, isLimit := errors.AsType[*plugin.LimitError](r.err)
			starved = starved || isLimit && limit.Limit == "memoryBytes"
		}
	}
	out.From, out.To = renderers(from), renderers(to)
	// What a render says of itself can quote what the other one has in a Secret.
	h := newHider(joined(from, p.From), joined(to, p.To))
	out.problems(p, from, to, h.text)
	from, to, whole := onBothSides(p, from, to)
	before, after := joined(from, p.From), joined(to, p.To)
	if same && whole {
		out.Counts.Unchanged = len(before.Objects)
	} else {
		out.Objects, out.Counts = objects(before, after, h)
	}
	for _, note := range slices.Concat(notes(from, p.From), notes(to, p.To)) {
		out.note(h.text(note))
	}
	if !h.complete() {
		out.note(fmt.Sprintf("values of Secrets that stand outside of them are hidden up to %d bytes of values, and here are more", maxValues))
	}
	out.secrets = h.found.list
	out.ownManifest(p, h)
	out.FromChildren, out.ToChildren = out.children(from, h.text), out.children(to, h.text)
	switch {
	case len(out.Problems) > 0:
		out.Status = StatusRefused
	case p.From == nil:
		out.Status = StatusAdded
	case p.To == nil:
		out.Status = StatusRemoved
	case len(out.Objects) > 0:
		out.Status = StatusChanged
	}
	return out, starved
}

func render(ctx context.Context, part Part) rendered {
	result, err := plugin.Render(ctx, part.Request)
	return rendered{part, result, err}
}

// ownManifest compares the manifests of the Application: its destination, project and
// sync options are in no object that it renders. Equal ones are not counted.
func (out *Outcome) ownManifest(p Pair, h *hider) {
	if p.From == nil || p.To == nil || p.From.Manifest == nil || p.To.Manifest == nil {
		return
	}
	side := func(manifest map[string]any) Rendered {
		manifest = maps.Clone(manifest)
		delete(manifest, "status")
		return Rendered{Objects: []object.Object{{Value: manifest, Origin: p.Origin}}}
	}
	differing, counts := objects(side(p.From.Manifest), side(p.To.Manifest), h)
	out.Objects = slices.Concat(differing, out.Objects)
	out.Counts.Changed += counts.Changed
}

// problems collects what is not there to be compared: once where both sides say the
// same.
func (out *Outcome) problems(p Pair, from, to []rendered, hide func(string) string) {
	add := func(side string, job *Job, problem Problem) {
		problem.Side, problem.Source = side, several(problem.Source, len(job.Parts)+len(job.Problems))
		problem.Source, problem.Message, problem.Hint = hide(problem.Source), hide(problem.Message), hide(problem.Hint)
		for i, earlier := range out.Problems {
			if earlier.Source == problem.Source && earlier.Message == problem.Message && earlier.Side != side {
				out.Problems[i].Side = ""
				return
			}
		}
		out.Problems = append(out.Problems, problem)
	}
	for _, side := range []struct {
		name  string
		job   *Job
		parts []rendered
	}{{"from", p.From, from}, {"to", p.To, to}} {
		if side.job == nil {
			continue
		}
		for _, problem := range side.job.Problems {
			add(side.name, side.job, problem)
		}
		for _, r := range side.parts {
			if r.err != nil {
				add(side.name, side.job, Problem{Source: r.Source, Message: r.err.Error(), Hint: diag.Hint(r.err)})
			}
		}
	}
}

// several is the name of a source where there are others.
func several(source string, count int) string {
	if count < 2 {
		return ""
	}
	return source
}

// onBothSides leaves out the sources that are not there on both sides because one was
// refused: the objects of the other are neither added nor removed. Where a refused
// source has no namesake on the other side, none can be told to be new there, so
// sources without a namesake are left out. whole says that all are left.
func onBothSides(p Pair, from, to []rendered) (left, right []rendered, whole bool) {
	type side struct {
		names, refused []string
	}
	of := func(job *Job, parts []rendered) (s side) {
		if job != nil {
			for _, problem := range job.Problems {
				s.refused = append(s.refused, problem.Source)
			}
		}
		for _, r := range parts {
			if r.err != nil {
				s.refused = append(s.refused, r.Source)
			} else {
				s.names = append(s.names, r.Source)
			}
		}
		s.names = append(s.names, s.refused...)
		return s
	}
	a, b := of(p.From, from), of(p.To, to)
	without := func(parts []rendered, own, other side) []rendered {
		unmatched := slices.ContainsFunc(other.refused, func(name string) bool { return !slices.Contains(own.names, name) })
		return slices.DeleteFunc(slices.Clone(parts), func(r rendered) bool {
			return r.err != nil || slices.Contains(other.refused, r.Source) || unmatched && !slices.Contains(other.names, r.Source)
		})
	}
	return without(from, a, b), without(to, b, a), len(a.refused)+len(b.refused) == 0
}

// joined are the objects of all sources that were rendered. Of an object that several
// bring along Argo CD takes the last.
func joined(parts []rendered, job *Job) (all Rendered) {
	if job == nil {
		return Rendered{}
	}
	all.Namespace = job.Namespace
	winners := lastOf(parts)
	for i, part := range parts {
		if part.err != nil {
			continue
		}
		for _, o := range part.result.Objects {
			if last, named := winners[o.ID()]; !named || last == i {
				all.Objects = append(all.Objects, o)
			}
		}
		fields, _ := plugin.RecordedFields(part.result.Evidence) // notes has the error
		for id, paths := range fields {
			if all.Unstable == nil {
				all.Unstable = map[object.ID][]stamp.Path{}
			}
			all.Unstable[id] = append(all.Unstable[id], paths...)
		}
	}
	all.Hide = func(text string) string {
		for _, part := range parts {
			if part.err == nil {
				text = part.result.Hide(text)
			}
		}
		return text
	}
	return all
}

// lastOf says which part has an object last. One whose name the API server completes
// is a new one each time.
func lastOf(parts []rendered) map[object.ID]int {
	last := map[object.ID]int{}
	for i, part := range parts {
		if part.err != nil {
			continue
		}
		for _, o := range part.result.Objects {
			if id := o.ID(); id.Name != "" {
				last[id] = i
			}
		}
	}
	return last
}

// notes are what there is to say of the renders of a side.
func notes(parts []rendered, job *Job) (list []string) {
	if job == nil {
		return nil
	}
	list = slices.Clone(job.Notes)
	winners := lastOf(parts)
	for i, part := range parts {
		for _, o := range part.result.Objects {
			if last, named := winners[o.ID()]; named && last != i {
				list = append(list, fmt.Sprintf("%s is in %s too, and that of %s counts", o.ID(), part.Source, parts[last].Source))
			}
		}
		if _, err := plugin.RecordedFields(part.result.Evidence); err != nil {
			list = append(list, err.Error())
		}
		list = append(list, part.result.Warnings...)
	}
	return list
}

func (out *Outcome) note(text string) {
	if !slices.Contains(out.Notes, text) {
		out.Notes = append(out.Notes, text)
	}
}

// renderers are the renderers of the parts, once each.
func renderers(parts []rendered) string {
	var names []string
	for _, part := range parts {
		if part.err == nil && !slices.Contains(names, part.result.Provenance.Renderer) {
			names = append(names, part.result.Provenance.Renderer)
		}
	}
	return strings.Join(names, ", ")
}

// children are the Applications and ApplicationSets among the objects. One that has
// what is hidden in its name would be shown by it.
func (out *Outcome) children(parts []rendered, hide func(string) string) (found []object.Object) {
	for _, part := range parts {
		for _, o := range part.result.Objects {
			id := o.ID()
			if id.Group != "argoproj.io" || id.Kind != "Application" && id.Kind != "ApplicationSet" {
				continue
			}
			if hide(id.Namespace+"/"+id.Name) != id.Namespace+"/"+id.Name {
				out.note("an " + id.Kind + " with a secret value in its name is not followed")
				continue
			}
			found = append(found, o)
		}
	}
	return found
}
