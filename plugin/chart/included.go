package chart

import (
	"fmt"
	"strconv"
)

// A template that includes a file, for a checksum mostly, executes it once more, and its
// random calls with it. Where a file begins and ends is marked, so it is known which calls of
// the second execution are which of the first: the nth of a sort is the nth of that sort.

const fileAPI = "hallmark.dev/file" // what begin and end of files are told by

// bracket marks the begin and the end of the files that reach random calls, by their numbers
// in the list of templates. It prints nothing.
func (m *marker) bracket(p *prepared, changes edits) {
	if !m.any(random, few, slow) {
		return
	}
	for i, t := range p.templates {
		if m.found.reach[t.name] == nil {
			continue
		}
		tell := func(at int, what string) {
			changes.add(edit{t.name, at, at, fmt.Sprintf(`{{ with lookup %q "%d" "" %q }}{{ end }}`, fileAPI, i, what)})
		}
		tell(0, fileBegins)
		tell(len(t.text), fileEnds)
	}
}

const (
	fileBegins = "begins"
	fileEnds   = "ends"
)

// inclusion is one execution of a file.
type inclusion struct {
	file  int
	inner bool  // another one includes it
	calls []int // by their places in the log, less those of files in it
}

// inclusions are those of a render.
type inclusions struct {
	all  []*inclusion
	open []*inclusion
}

// tell notes that a file begins or ends.
func (in *inclusions) tell(file, what string) {
	if what == fileEnds {
		in.open = in.open[:max(0, len(in.open)-1)]
		return
	}
	n, _ := strconv.Atoi(file)
	next := &inclusion{file: n, inner: len(in.open) > 0}
	in.all, in.open = append(in.all, next), append(in.open, next)
}

// called notes that the nth call was executed.
func (in *inclusions) called(nth int) {
	if len(in.open) > 0 {
		within := in.open[len(in.open)-1]
		within.calls = append(within.calls, nth)
	}
}

// seconds returns the frames of calls in files that another one includes, with those of the
// same calls in the file itself. Where it has more calls there, or fewer, it is not known
// which are which.
func (o *oracle) seconds() map[string]string {
	sorts := func(of *inclusion) map[string][]string {
		out := map[string][]string{}
		for _, nth := range of.calls {
			a := o.log[nth]
			sort := fmt.Sprint(a.site, a.request)
			out[sort] = append(out[sort], a.frame)
		}
		return out
	}
	files := map[int]map[string][]string{}
	for _, in := range o.files.all {
		if !in.inner {
			files[in.file] = sorts(in)
		}
	}
	out := map[string]string{}
	for _, in := range o.files.all {
		if !in.inner {
			continue
		}
		for sort, frames := range sorts(in) {
			first := files[in.file][sort]
			if len(frames) != len(first) {
				continue
			}
			for i, frame := range frames {
				out[frame] = first[i]
			}
		}
	}
	return out
}
