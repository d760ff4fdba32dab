package derive

import (
	"maps"
	"slices"
	"strings"
)

// A checksum of a template is over a second execution of it: `include` makes new random
// values, which stand nowhere but in the input of the hash. Which ones of the objects
// they stand for is found in these ways.
//
// First by whole files: Render.Seconds has those of a file that another one includes, or else,
// where the input is the text of a file of the render but for nonces, its n-th value is the
// n-th of the file.
//
// Then one by one, for inputs that are a part of a file, have another form, or are made
// of several files. A value stands for one that the same call of the chart made, of the
// same kind and size, and that is printed behind the same text of its line ("password:").
// Where there are several of those, it is the one in the file or object in which they are
// as many as in the input, and by their order there; of several files or objects those
// count first that hold all of the input, and those of the chart with the checksum. What
// then can still be one or another is refused. A value whose call prints nothing into an
// object is just that: it lives in the field with the hash.

// A slot is what a value is told by: the call and the request, and the text in front.
type slot struct{ group, context string }

type slotted struct {
	slot
	key string
}

// A mention is one print of a value.
type mention struct {
	key, group string
	slots      []slot // one, or up to three in the first line of a text
	level      int    // how many checksums it stands in
	input      string // of the innermost of them
}

// A listing is what a document or a file prints.
type listing struct {
	chart     string // the folder of the chart
	file      bool
	mentions  []mention
	fragments map[string]bool   // of a file
	keys      map[slot][]string // the values that are offered
}

// An input is what a checksum is over.
type input struct {
	chart         string // the folder of the chart with the checksum
	fragments     map[string]bool
	needs         map[slot]int
	orphans       map[slot][]string
	found         map[slot]map[string]string
	covered, part map[*listing]bool
}

// align finds what the values stand for that stand in checksums alone.
func (x *index) align(r Render, kept map[string]bool) {
	shown := map[string]bool{}
	hashes := len(r.Hashed) > 0
	for _, l := range x.leaves {
		l.text.each(func(p *piece, inside bool) {
			shown[p.key()] = shown[p.key()] || !inside
			hashes = hashes || inside
		})
	}
	for _, second := range slices.Sorted(maps.Keys(r.Seconds)) {
		if key := parse(second)[0].key(); !shown[key] {
			x.alias[key] = parse(r.Seconds[second])[0].key()
		}
	}
	if !hashes {
		return
	}
	x.alignFiles(r, shown)
	a := &aligner{index: x, kept: kept, about: map[string]*input{}, level: map[string]int{}, offered: map[string]bool{}}
	a.collect(r)
	a.run()
}

// alignFiles finds the files whose second execution is the input of a hash.
func (x *index) alignFiles(r Render, shown map[string]bool) {
	values := map[string][]string{} // the keys of a file, by the shape of its text
	var texts []text
	for _, name := range slices.Sorted(maps.Keys(r.Texts)) {
		t := parse(strings.TrimSpace(r.Texts[name]))
		if !t.special() {
			continue
		}
		texts = append(texts, t)
		if shape := t.shape(blockType); values[shape] == nil {
			values[shape] = t.keys()
		}
	}
	seen := map[string]bool{}
	var inputs func(t text)
	inputs = func(t text) {
		for i := range t {
			p := &t[i]
			if p.kind == computed && !seen[p.text] {
				seen[p.text] = true
				input := parse(strings.TrimSpace(p.text))
				from := input.keys()
				for n, key := range input.counterparts(values) {
					if _, known := x.alias[from[n]]; !known && from[n] != key && !shown[from[n]] {
						x.alias[from[n]] = key
					}
				}
			}
			inputs(p.parts)
		}
	}
	for _, l := range x.leaves {
		inputs(l.text)
	}
	for _, t := range texts {
		inputs(t)
	}
	for _, h := range r.Hashed {
		inputs(parse(h.Frame))
	}
}

// blockType is what stands in the first line of a PEM block. That is enough to tell
// whether two texts are the same file.
func blockType(block string) string {
	line, _, _ := strings.Cut(block, "\n")
	return line
}

// counterparts returns the keys of the file that has the shape of t.
func (t text) counterparts(values map[string][]string) []string {
	if !t.special() {
		return nil
	}
	return values[t.shape(blockType)]
}

// aligner finds what single values stand for.
type aligner struct {
	*index
	kept     map[string]bool // PEM blocks that are no random ones
	listings []*listing
	about    map[string]*input
	level    map[string]int  // of each value the least
	offered  map[string]bool // the groups that have counterparts
}

func (a *aligner) collect(r Render) {
	at := 0
	for i, d := range r.Documents {
		list := &listing{chart: chartOf(d.Template)}
		for ; at < len(a.leaves) && a.leaves[at].index == i; at++ {
			l := a.leaves[at]
			w := &walker{aligner: a, list: list}
			if key, ok := l.path[len(l.path)-1].(string); ok {
				w.outer = fragment(key) + ":"
			}
			w.walk(l.text, false)
		}
		a.add(list)
	}
	for _, h := range r.Hashed {
		list := &listing{chart: chartOf(h.Template)}
		w := &walker{aligner: a, list: list}
		w.walk(parse(h.Frame), false)
		a.add(list)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Texts)) {
		if t := parse(r.Texts[name]); t.special() {
			list := &listing{chart: chartOf(name), file: true, fragments: map[string]bool{}}
			w := &walker{aligner: a, list: list, fragments: list.fragments}
			w.walk(t, false)
			w.end()
			a.listings = append(a.listings, list)
		}
	}
}

// add adds what one document prints.
func (a *aligner) add(list *listing) {
	for _, m := range list.mentions {
		least, known := a.level[m.key]
		if !known || m.level < least {
			a.level[m.key] = m.level
		}
	}
	a.listings = append(a.listings, list)
}

// chartOf returns the folder of the chart that a template belongs to.
func chartOf(template string) string {
	if at := strings.LastIndex(template, "/templates/"); at >= 0 {
		return template[:at]
	}
	return ""
}

// walker notes the mentions of a text.
type walker struct {
	*aligner
	list *listing
	// line is what stands in front in the line, less what fragment leaves out.
	line string
	// outer is what stands in front of the text, as long as it is in its first line: the
	// key of a field, or the line that has the input of a hash.
	outer     string
	inputs    []string
	fragments map[string]bool // nil if they do not matter
}

const (
	// mostContext bounds what counts of a line in front of a value.
	mostContext = 256
	// inBase64 stands for the begin of base64 in a line.
	inBase64 = "64("
)

func (w *walker) add(s string) {
	w.line += s
	if len(w.line) > mostContext {
		w.line = w.line[len(w.line)-mostContext:]
	}
}

// end ends a fragment.
func (w *walker) end() {
	if s := strings.TrimLeft(w.line, "-"); s != "" && w.fragments != nil {
		w.fragments[s] = true
	}
	w.line, w.outer = "", ""
}

var unquote = strings.NewReplacer(`\n`, "\n", `\r`, "\n", `\t`, "", `"`, "", "'", "", `\`, "", " ", "", "\t", "", "\r", "",
	"{", "\n", "}", "\n", "[", "\n", "]", "\n", ",", "\n")

// fragment returns a text without what depends on how it is quoted and indented, in
// lines that end where those of the text do, or parts of lists and mappings.
func fragment(s string) string { return unquote.Replace(s) }

// walk goes through a text. Whole says that it is all that a function is given.
func (w *walker) walk(t text, whole bool) {
	for i := range t {
		p := &t[i]
		switch p.kind {
		case literal:
			for n, line := range strings.Split(fragment(p.raw), "\n") {
				if n > 0 {
					w.end()
				}
				w.add(line)
			}
			continue
		case encoded:
			if whole && len(t) == 1 {
				w.walk(p.parts, true)
				continue
			}
			w.add(inBase64)
			w.walk(p.parts, false)
			w.add(")")
			continue
		case token:
			w.mention(p, "token "+p.site+" "+string(p.function)+" "+p.size)
		case block:
			if !w.kept[p.key()] {
				w.mention(p, blockType(p.text))
			}
		case computed:
			if salted(p.name) {
				w.mention(p, p.name+" "+p.parts.shape(blockType))
			}
			w.input(p)
		}
		w.add("\x00")
	}
}

// input goes through what a function is given.
func (w *walker) input(p *piece) {
	inner := &walker{aligner: w.aligner, list: w.list, outer: w.outer + w.line + p.name + "(", inputs: w.inputs}
	if !salted(p.name) {
		in := w.about[p.text]
		if in == nil {
			in = &input{
				fragments: map[string]bool{}, needs: map[slot]int{}, orphans: map[slot][]string{},
				found: map[slot]map[string]string{}, covered: map[*listing]bool{}, part: map[*listing]bool{},
			}
			w.about[p.text] = in
		}
		if !w.list.file {
			in.chart = w.list.chart
		}
		inner.inputs = append(slices.Clone(w.inputs), p.text)
		inner.fragments = in.fragments
	}
	inner.walk(p.parts, true)
	inner.end()
}

func (w *walker) mention(p *piece, group string) {
	m := mention{key: w.resolve(p.key()), level: len(w.inputs)}
	if m.level > 0 {
		m.input = w.inputs[m.level-1]
	}
	m.group = group
	line := strings.TrimLeft(w.line, "-")
	plain := strings.ReplaceAll(line, inBase64, "")
	// What fills a field is told by the name of the field alone.
	if w.outer == "" || m.level > 0 || plain != "" {
		m.slots = append(m.slots, slot{group, line})
	}
	// What is hashed is mostly the text, and not the base64 that a field has of it.
	if w.outer != "" && m.level == 0 && plain != line && plain != "" {
		m.slots = append(m.slots, slot{group, plain})
	}
	if w.outer != "" {
		m.slots = append(m.slots, slot{group, w.outer + line})
	}
	w.list.mentions = append(w.list.mentions, m)
}

// run goes from what stands in few checksums to what stands in many.
func (a *aligner) run() {
	deepest := 0
	for _, level := range a.level {
		deepest = max(deepest, level)
	}
	for level := 1; level <= deepest; level++ {
		a.offer(level)
		orphans := a.orphans(level)
		for _, m := range orphans {
			if !a.offered[m.group] {
				continue // its call prints nothing into objects
			}
			in := a.about[m.input]
			a.guessed[m.key] = true
			for _, s := range m.slots {
				if s.context == "" && parse(m.input).whole() != nil {
					continue // a hash of a value alone: nothing tells what it stands for
				}
				if key := a.counterparts(in, s)[m.key]; key != "" {
					a.alias[m.key] = key
					break
				}
			}
			if a.alias[m.key] == "" {
				a.unclear[m.key] = true
			}
		}
	}
}

// offer lists the values that those of a level can stand for.
func (a *aligner) offer(level int) {
	clear(a.offered)
	for _, list := range a.listings {
		list.keys = map[slot][]string{}
		seen := map[slotted]bool{}
		for _, m := range list.mentions {
			least, known := a.level[m.key]
			if !known || least >= level || a.alias[m.key] != "" || a.unclear[m.key] {
				continue
			}
			a.offered[m.group] = true
			for _, s := range m.slots {
				if !seen[slotted{s, m.key}] {
					seen[slotted{s, m.key}] = true
					list.keys[s] = append(list.keys[s], m.key)
				}
			}
		}
	}
}

// orphans returns the values that stand in so many checksums and not in fewer, and
// notes what their inputs hold.
func (a *aligner) orphans(level int) []mention {
	var out []mention
	seen := map[string]bool{}
	for _, list := range a.listings {
		for _, m := range list.mentions {
			if list.file || m.level != level || a.level[m.key] != level || seen[m.key] || a.alias[m.key] != "" {
				continue
			}
			seen[m.key] = true
			out = append(out, m)
			if !a.offered[m.group] {
				continue
			}
			in := a.about[m.input]
			in.needs[m.slots[0]]++
			for _, s := range m.slots {
				in.orphans[s] = append(in.orphans[s], m.key)
			}
		}
	}
	return out
}

// counterparts returns what the values of a slot of an input stand for.
func (a *aligner) counterparts(in *input, s slot) map[string]string {
	if found, ok := in.found[s]; ok {
		return found
	}
	in.found[s] = map[string]string{}
	orphans := in.orphans[s]
	inChart := func(l *listing) bool { return l.chart == in.chart }
	for _, right := range []func(*listing) bool{
		func(l *listing) bool { return inChart(l) && in.isPartOf(l) },
		in.isPartOf,
		func(l *listing) bool { return inChart(l) && in.isCovered(l) },
		in.isCovered,
		inChart,
		func(*listing) bool { return true },
	} {
		var list []string
		for _, l := range a.listings {
			keys := l.keys[s]
			if len(keys) != len(orphans) || !right(l) {
				continue
			}
			if list != nil && !slices.Equal(list, keys) {
				return nil // there are several
			}
			list = keys
		}
		if list != nil {
			if a.reordered(s, list) {
				return nil
			}
			for i, key := range orphans {
				in.found[s][key] = list[i]
			}
			break
		}
	}
	return in.found[s]
}

// reordered reports whether the same values stand in another order in another listing:
// documents are sorted by keys, files are not, and what a checksum is over is either.
func (a *aligner) reordered(s slot, list []string) bool {
	return slices.ContainsFunc(a.listings, func(l *listing) bool {
		keys := l.keys[s]
		return len(keys) == len(list) && !slices.Equal(keys, list) &&
			slices.Equal(slices.Sorted(slices.Values(keys)), slices.Sorted(slices.Values(list)))
	})
}

// isCovered reports whether a listing has as many values of each slot as the input.
func (in *input) isCovered(l *listing) bool {
	covered, known := in.covered[l]
	if !known {
		covered = true
		for s, count := range in.needs {
			covered = covered && len(l.keys[s]) == count
		}
		in.covered[l] = covered
	}
	return covered
}

// isPartOf reports whether a file has also all other text of the input.
func (in *input) isPartOf(l *listing) bool {
	part, known := in.part[l]
	if !known {
		part = in.isCovered(l)
		for s := range in.fragments {
			part = part && l.fragments[s]
		}
		in.part[l] = part
	}
	return part
}
