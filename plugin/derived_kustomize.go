package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/chart"
	"hallmark.dev/hallmark/plugin/overlay"
)

// A kustomization can overwrite or drop what a chart in it derived. Where a field is not
// found as the chart printed it, the application is built once more, from charts in which
// such fields have marks: those whose marks come out are used.

// reaching returns the derived fields of the charts that have to do with the objects.
func (i *inflator) reaching(ctx context.Context, objects []object.Object, opts overlay.Options) ([]Derived, error) {
	derived := i.derived.Derived
	var missing []int
	for n, d := range derived {
		if !d.isIn(objects) {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return derived, nil
	}
	marked, err := i.marked(ctx, missing, opts)
	if err != nil {
		return nil, err
	}
	if marked == nil {
		return derived, nil
	}
	var text []byte
	for _, o := range marked {
		text = yamldoc.AppendYAML(text, o.Value)
	}
	dropped := map[int]bool{}
	for _, n := range missing {
		if strings.Contains(string(text), mark(n)) {
			continue
		}
		// What is no text has no mark, and a mark can be cut.
		alone, err := i.marked(ctx, []int{n}, opts)
		if err != nil {
			return nil, err
		}
		dropped[n] = alone != nil && len(differences(objects, alone)) == 0
	}
	var out []Derived
	for n, d := range derived {
		if !dropped[n] {
			out = append(out, d)
		}
	}
	return out, nil
}

func mark(n int) string { return fmt.Sprintf("hm0derived%dz", n) }

// marked builds the application from charts in which some derived fields have marks. It is
// nil where that fails: a patch that looks at a field has to do with it.
func (i *inflator) marked(ctx context.Context, fields []int, opts overlay.Options) ([]object.Object, error) {
	next, first := 0, 0
	opts.Inflate = func(context.Context, overlay.Chart) ([]byte, error) {
		if next == len(i.rendered) {
			return nil, errors.New("the kustomization has another number of charts than before")
		}
		out := i.rendered[next]
		next++
		offset := first
		first += len(out.Derived)
		var own []int
		for _, n := range fields {
			if n >= offset && n < first {
				own = append(own, n-offset)
			}
		}
		return out.Altered(own, func(n int) string { return mark(n + offset) }), nil
	}
	marked, err := overlay.Build(ctx, i.in.FS, i.in.Dir, opts)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, nil
	}
	return marked, nil
}

// isIn reports whether an object has the field as the chart printed it.
func (d *Derived) isIn(objects []object.Object) bool {
	return slices.ContainsFunc(objects, func(o object.Object) bool {
		if o.ID() != d.Object {
			return false
		}
		same := false
		if value, found := object.Lookup(o.Value, d.Path); found {
			same = true
			chart.Diff(value, d.printed, func([]any) { same = false })
		}
		return same
	})
}
