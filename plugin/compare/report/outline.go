package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/compare"
)

// An outline is a report in the order in which every format tells it.
type outline struct {
	report *compare.Report
	totals totals
	apps   []application
	// samples are fields, one of each cause; nil where no field has it.
	samples []*compare.Field
}

type totals struct {
	Applications applicationTotals `json:"applications"`
	Objects      compare.Counts    `json:"objects"`
	// differ is the number of applications that differ, with those of which a part
	// could not be rendered but the rest differs.
	differ int
}

type applicationTotals struct {
	Total     int `json:"total"`
	Added     int `json:"added"`
	Removed   int `json:"removed"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Refused   int `json:"refused"`
}

// An application with its objects told apart: those to look at, and those that
// change by causes alone.
type application struct {
	*compare.Application
	listed  []entry
	covered int
	causes  []int // of the covered ones, by number, from 1
}

// An entry is an object to look at.
type entry struct {
	*compare.Object
	sign   byte
	title  string
	fields []compare.Field // those that no cause covers
	causes []int           // of the others, by number, from 1
}

func newOutline(r *compare.Report) outline {
	o := outline{report: r, apps: make([]application, len(r.Applications)), samples: make([]*compare.Field, len(r.Causes))}
	for i := range r.Applications {
		app := &r.Applications[i]
		o.totals.add(app)
		o.apps[i] = application{Application: app}
		for j := range app.Objects {
			o.place(&o.apps[i], &app.Objects[j])
		}
	}
	return o
}

func (t *totals) add(app *compare.Application) {
	t.Applications.Total++
	switch app.Status {
	case compare.StatusAdded:
		t.Applications.Added++
	case compare.StatusRemoved:
		t.Applications.Removed++
	case compare.StatusChanged:
		t.Applications.Changed++
	case compare.StatusRefused:
		t.Applications.Refused++
	case compare.StatusUnchanged:
		t.Applications.Unchanged++
	}
	switch app.Status {
	case compare.StatusAdded, compare.StatusRemoved, compare.StatusChanged:
		t.differ++
	case compare.StatusRefused:
		t.differ += min(1, len(app.Objects))
	case compare.StatusUnchanged:
	}
	t.Objects.Added += app.Counts.Added
	t.Objects.Removed += app.Counts.Removed
	t.Objects.Changed += app.Counts.Changed
	t.Objects.Unchanged += app.Counts.Unchanged
}

// place puts an object of an application where it belongs.
func (o *outline) place(app *application, obj *compare.Object) {
	e := entry{Object: obj, sign: sign(obj.Change), title: title(obj)}
	for i := range obj.Fields {
		field := &obj.Fields[i]
		if field.Cause < 0 || field.Cause >= len(o.samples) {
			e.fields = append(e.fields, *field)
			continue
		}
		e.causes = include(e.causes, field.Cause+1)
		if o.samples[field.Cause] == nil {
			o.samples[field.Cause] = field
		}
	}
	if obj.Change == compare.Changed && obj.Was == nil && len(e.fields) == 0 && len(e.causes) > 0 {
		app.covered++
		for _, cause := range e.causes {
			app.causes = include(app.causes, cause)
		}
		return
	}
	app.listed = append(app.listed, e)
}

// include adds a number to a sorted list that does not have it yet.
func include(list []int, n int) []int {
	at, found := slices.BinarySearch(list, n)
	if found {
		return list
	}
	return slices.Insert(list, at, n)
}

// sign is a change as one character.
func sign(change compare.Change) byte {
	switch change {
	case compare.Added:
		return added
	case compare.Removed:
		return deleted
	}
	return '~'
}

// title names an object, and what it was before where it was another one:
// "ConfigMap shop/web-abc -> web-def".
func title(obj *compare.Object) string {
	id := obj.ID
	if obj.Was == nil || *obj.Was == id {
		return kind(id) + " " + name(id)
	}
	was := *obj.Was
	switch {
	case was.Group != id.Group:
		return fmt.Sprintf("%s %s -> %s %s", fullKind(was), name(was), fullKind(id), name(id))
	case was.Kind != id.Kind:
		return fmt.Sprintf("%s %s -> %s %s", kind(was), name(was), kind(id), name(id))
	case was.Namespace != id.Namespace:
		return fmt.Sprintf("%s %s -> %s", kind(id), name(was), name(id))
	}
	return fmt.Sprintf("%s %s -> %s", kind(id), name(was), printable(id.Name))
}

func name(id object.ID) string {
	if id.Namespace == "" {
		return printable(id.Name)
	}
	return printable(id.Namespace + "/" + id.Name)
}

// kind is the kind as people say it: the group is left out where it is one of
// Kubernetes' own.
func kind(id object.ID) string {
	if !strings.Contains(id.Group, ".") || strings.HasSuffix(id.Group, ".k8s.io") {
		return printable(id.Kind)
	}
	return fullKind(id)
}

func fullKind(id object.ID) string {
	if id.Group == "" {
		return printable(id.Kind)
	}
	return printable(id.Kind + "." + id.Group)
}

// numbers lists causes: "cause 1" or "causes 1, 3".
func numbers(causes []int) string {
	texts := make([]string, len(causes))
	for i, n := range causes {
		texts[i] = fmt.Sprint(n)
	}
	if len(causes) == 1 {
		return "cause " + texts[0]
	}
	return "causes " + strings.Join(texts, ", ")
}

// byInterest orders applications for a format that cannot show all: first those that
// could not be rendered or came or went, then those with most to look at.
func byInterest(apps []application) []int {
	order := make([]int, len(apps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(-cmp.Compare(apps[a].interest(), apps[b].interest()), cmp.Compare(a, b))
	})
	return order
}

// interest weighs what a reader of an application would miss. Objects that come and
// go weigh more than fields, and what causes cover weighs next to nothing.
func (a application) interest() int {
	weight := min(a.covered, 1)
	if a.Status == compare.StatusRefused {
		weight += 2
	}
	for _, e := range a.listed {
		weight += 4
		if e.Change == compare.Changed {
			weight += min(len(e.fields), 8)
		} else {
			weight += 8
		}
	}
	return weight
}
