package compare

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin"
)

// Pair is an application with what is rendered of it on the two sides. A side that
// is nil does not have the application.
type Pair struct {
	Name, Origin string
	From, To     *Job
}

// Job is what is rendered of an application on one side.
type Job struct {
	// Parts are its sources, in their order.
	Parts []Part
	// Problems are sources that cannot be rendered here.
	Problems []Problem
	// Namespace is that of the destination.
	Namespace string
	// Notes are for Application.Notes.
	Notes []string
}

// Part is a source of an application.
type Part struct {
	// Source names it among the others, and is the same on both sides.
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
	out.FromChildren, out.ToChildren = children(from), children(to)
	out.problems(p, from, to)
	out.differences(p, from, to, same)
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

// problems collects what is not there to be compared: once where both sides say the
// same.
func (out *Outcome) problems(p Pair, from, to []rendered) {
	add := func(side string, problem Problem) {
		problem.Side = side
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
			add(side.name, problem)
		}
		for _, r := range side.parts {
			if r.err != nil {
				add(side.name, Problem{Source: several(r.Source, len(side.parts)), Message: r.err.Error(), Hint: diag.Hint(r.err)})
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

// differences compares what was rendered on both sides. Sources that were refused on
// one of them are left out on the other too: their objects are neither added nor
// removed.
func (out *Outcome) differences(p Pair, from, to []rendered, same bool) {
	refused := map[string]bool{}
	for _, job := range []*Job{p.From, p.To} {
		if job != nil {
			for _, problem := range job.Problems {
				refused[problem.Source] = true
			}
		}
	}
	for _, r := range slices.Concat(from, to) {
		if r.err != nil {
			refused[r.Source] = true
		}
	}
	whole := func(list []rendered) []rendered {
		return slices.DeleteFunc(slices.Clone(list), func(r rendered) bool { return refused[r.Source] })
	}
	from, to = whole(from), whole(to)
	before, notes := joined(from, p.From)
	after, more := joined(to, p.To)
	for _, note := range slices.Concat(notes, more) {
		if !slices.Contains(out.Notes, note) {
			out.Notes = append(out.Notes, note)
		}
	}
	if same && len(refused) == 0 {
		out.Counts.Unchanged = len(before.Objects)
		return
	}
	out.Objects, out.Counts = Objects(before, after)
}

// joined are the objects of all sources. Of an object that several bring along Argo
// CD takes the last.
func joined(parts []rendered, job *Job) (all Rendered, notes []string) {
	if job == nil {
		return Rendered{}, nil
	}
	all.Namespace, notes = job.Namespace, slices.Clone(job.Notes)
	last := map[object.ID]string{}
	for _, part := range parts {
		for _, o := range part.result.Objects {
			last[o.ID()] = part.Source
		}
	}
	for _, part := range parts {
		for _, o := range part.result.Objects {
			if winner := last[o.ID()]; winner != part.Source {
				notes = append(notes, fmt.Sprintf("%s is in %s too, and that of %s counts", o.ID(), part.Source, winner))
				continue
			}
			all.Objects = append(all.Objects, o)
		}
		fields, err := plugin.RecordedFields(part.result.Evidence)
		if err != nil {
			notes = append(notes, err.Error())
		}
		for id, paths := range fields {
			if all.Unstable == nil {
				all.Unstable = fields
				break
			}
			all.Unstable[id] = append(all.Unstable[id], paths...)
		}
		notes = append(notes, part.result.Warnings...)
	}
	all.Hide = func(text string) string {
		for _, part := range parts {
			text = part.result.Hide(text)
		}
		return text
	}
	return all, notes
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

// children are the Applications and ApplicationSets among the objects.
func children(parts []rendered) (found []object.Object) {
	for _, part := range parts {
		if part.err != nil {
			continue
		}
		for _, o := range part.result.Objects {
			if id := o.ID(); id.Group == "argoproj.io" && (id.Kind == "Application" || id.Kind == "ApplicationSet") {
				found = append(found, o)
			}
		}
	}
	return found
}
