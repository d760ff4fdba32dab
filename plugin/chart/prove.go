package chart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/derive"
)

// Where scan found something, the chart is rendered again from its bytes with
// edited templates:
//
//   - Once with every suspicious call turned into an error. If that renders, no
//     such call is executed, and the output is proven with this one render.
//   - At other times: two renders fall into one second, so `now` is moved by
//     more than a year and by an odd number of hours, minutes and seconds, into
//     the future and into the past.
//   - Again and again, because short random values agree by chance.
//   - In two orders: a small map comes in the same order seven times out of
//     eight, so what `values` gives is sorted, then sorted backwards.
//   - With a date function's argument handed to one that takes nothing but a
//     time: given anything else, date functions format the current time.
//
// A result that differs, or a render that fails, is a finding. Texts that `tpl`
// may execute are edited like templates; where such a text is output as it is,
// the edit shows in the output and is undone before comparing.

// Finding is a field that differs from render to render.
type Finding struct {
	// Object is the object, as the first render named it. It is zero if the
	// templates do not even produce the same documents.
	Object object.ID
	// Template is the file that produced the object.
	Template string
	// Path leads to the field: map keys (string) and list indexes (int). It is
	// empty if the whole object differs.
	Path []any
	// Reason says why the chart is not stable where no field shows it: a render
	// fails at another time or with other random values, or the time in it cannot
	// be moved. Object and Path are empty then. With Options.Derive it also says why
	// a field has no derived value.
	Reason string
	// Calls are the calls that the template makes and that can be the reason.
	Calls []Call

	document int // the index among the manifests of the field's object
}

// Call is a call of a function whose result changes.
type Call struct {
	Function string
	// Template and Line are where the call stands; Line is 0 in a text that
	// `tpl` executes.
	Template string
	Line     int
}

// The edits that variants make. Raw strings keep them free of quotes, so that
// they can be found again in an output.
const (
	laterNow      = "(dateModify `9613h37m11s` now)"
	earlierNow    = "(dateModify `-9613h37m11s` now)"
	sortSuffix    = " | sortAlpha"
	reverseSuffix = " | sortAlpha | reverse"
)

var undo = strings.NewReplacer(laterNow, "now", earlierNow, "now", reverseSuffix, "", sortSuffix, "",
	strings.ReplaceAll(laterNow, "`", `"`), "now", strings.ReplaceAll(earlierNow, "`", `"`), "now")

func undone(rendered map[string]string) map[string]string {
	out := make(map[string]string, len(rendered))
	for name, text := range rendered {
		out[name] = undo.Replace(text)
	}
	return out
}

const (
	moreRandom = 4 // renders for values with many random bits, of which templates may use few
	moreFew    = 8 // renders for values such as one of two: 1 in 256 stays hidden
)

// proof is the state of one proof.
type proof struct {
	chart   *Chart
	ctx     context.Context //nolint:containedctx // a proof lives within one call of Render
	engine  Engine
	options Options
	*scanned
	calls    []*call // those that may be executed
	first    map[string]string
	findings []Finding
	timeless []*call // date functions that were given no time
	// With Options.Derive:
	manifests []manifest // of the first result
	resolved  *derive.Resolution
}

func (c *Chart) prove(ctx context.Context, engine Engine, o Options, s *scanned, first map[string]string, manifests []manifest) (*proof, error) {
	p := &proof{chart: c, ctx: ctx, engine: engine, options: o, scanned: s, calls: s.calls, first: first, manifests: manifests}
	if hasAddress(first) {
		p.compare(p.sortKeys)
	}
	switch {
	case len(s.calls) == 0:
	case o.Derive != nil:
		if err := p.derive(); err != nil {
			return nil, err
		}
	case p.executes():
		p.fixed()
		p.times()
		p.repeat()
		p.orders()
		p.dates()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.explain()
	return p, nil
}

// hasAddress reports whether an output may hold a memory address: printing a
// struct with pointers in it, such as .Chart, takes no function that scan knows.
func hasAddress(rendered map[string]string) bool {
	for _, text := range rendered {
		for {
			_, after, found := strings.Cut(text, "0x")
			if !found {
				break
			}
			const fewest = 8 // hexadecimal digits of an address
			if len(after) >= fewest && strings.Trim(after[:fewest], "0123456789abcdef") == "" {
				return true
			}
			text = after
		}
	}
	return false
}

// render renders from the chart's bytes with edited templates.
func (p *proof) render(changes edits) (map[string]string, error) {
	if err := p.ctx.Err(); err != nil {
		return nil, err
	}
	again, err := p.chart.prepare(p.engine, p.options)
	if err != nil {
		return nil, err
	}
	again.rewrite(changes)
	return again.execute(p.options.MaxOutput)
}

// with returns the edits that every render carries and one for each call that
// text gives something for: the name of another function, or a suffix if behind
// is set.
func (p *proof) with(behind bool, text func(*call) string) edits {
	out := maps.Clone(p.sortKeys)
	for _, c := range p.calls {
		t := text(c)
		switch {
		case t == "" || c.pos < 0 || behind && c.end < 0:
		case behind:
			out.add(c.suffix(t))
		default:
			out.add(c.edit(c.name(), t))
		}
	}
	return out
}

func (p *proof) any(classes ...class) bool {
	return slices.ContainsFunc(p.calls, func(c *call) bool { return slices.Contains(classes, c.class) })
}

// executes reports whether any suspicious call is executed, and forgets those
// that are not. `fail` takes one string, so it ends the render whatever it gets
// instead of what it stands for.
func (p *proof) executes() bool {
	if _, err := p.render(p.with(false, func(*call) string { return "fail" })); err != nil {
		return true
	}
	p.calls = slices.DeleteFunc(slices.Clone(p.calls), func(c *call) bool { return c.pos >= 0 })
	return len(p.calls) > 0 // those in texts that cannot be edited
}

// compare renders with edits and adds what differs from the first result. It
// reports whether anything did.
func (p *proof) compare(changes edits) bool {
	again, err := p.render(changes)
	if err != nil {
		p.fail(err)
		return true
	}
	return p.differ(p.first, again)
}

// differ adds what differs between two results.
func (p *proof) differ(left, right map[string]string) bool {
	if maps.Equal(left, right) {
		return false
	}
	left, right = undone(left), undone(right)
	if maps.Equal(left, right) {
		return false
	}
	var docs [2][]manifest
	for i, rendered := range []map[string]string{left, right} {
		var err error
		if docs[i], err = collect(p.engine, rendered, p.options); err != nil {
			p.fail(err)
			return true
		}
	}
	found := difference(docs[0], docs[1])
	p.findings = append(p.findings, found...)
	return len(found) > 0
}

// fail turns the error of a render that differs into a finding.
func (p *proof) fail(err error) {
	if p.ctx.Err() != nil {
		return
	}
	f := Finding{Reason: "rendering fails at another time or with other random values: " + oneLine(err.Error())}
	if at := (*diag.Error)(nil); errors.As(err, &at) {
		f.Template = at.File
	}
	p.findings = append(p.findings, f)
}

// fixed finds times in texts that cannot be edited, such as a key of a map or
// what Chart.yaml says: they cannot be moved, so nothing is shown about them.
func (p *proof) fixed() {
	for _, c := range p.calls {
		if c.fixed && (c.class == clock || c.class == date) {
			p.findings = append(p.findings, Finding{
				Template: c.template,
				Reason:   fmt.Sprintf("the output is not shown to be stable: tpl runs a text with %s that cannot be moved in time", c.function),
			})
		}
	}
}

// times renders at other times.
func (p *proof) times() {
	shifted := func(now string) edits {
		return p.with(false, func(c *call) string {
			switch c.function {
			case "now":
				return now
			case "ago":
				return "quote" // its result is another one each second
			}
			return ""
		})
	}
	if p.any(clock) {
		p.compare(shifted(laterNow))
		p.compare(shifted(earlierNow))
	} else if p.any(random, few, slow, order) {
		p.compare(p.sortKeys)
	}
}

// repeat renders until random values differ.
func (p *proof) repeat() {
	n := 0
	switch {
	case p.any(few):
		n = moreFew
	case p.any(random):
		n = moreRandom
	}
	for range n {
		if len(p.findings) > 0 || p.compare(p.sortKeys) {
			return
		}
	}
}

// orders renders with the values of maps in two orders. Where they are no
// strings, templates may fail on sorted ones; then the maps' own order is tried,
// and that backwards.
func (p *proof) orders() {
	if !p.any(order) {
		return
	}
	suffix := func(s string) edits {
		return p.with(true, func(c *call) string {
			if c.class == order {
				return s
			}
			return ""
		})
	}
	editable := !slices.ContainsFunc(p.calls, func(c *call) bool { return c.class == order && c.end < 0 })
	if editable && !p.any(random, few, slow, clock) {
		up, errUp := p.render(suffix(sortSuffix))
		down, errDown := p.render(suffix(reverseSuffix))
		if errUp == nil && errDown == nil {
			p.differ(up, down)
			return
		}
	}
	for range moreFew / 2 {
		if len(p.findings) > 0 || p.compare(p.sortKeys) || p.compare(suffix(" | reverse")) {
			return
		}
	}
}

// dates finds calls of date functions that were given no time, and of
// durationRound that were given one.
func (p *proof) dates() {
	for _, c := range p.calls {
		if c.class != date && c.class != since || c.end < 0 {
			continue
		}
		only := func(text string, end int) edits {
			out := maps.Clone(p.sortKeys)
			out.add(c.edit(end, text))
			return out
		}
		typed := "unixEpoch"
		if x := c.timeArgument(); x != "" {
			typed += " " + x
		}
		isTime := !noTime.MatchString(p.complaint(only(typed, c.end)))
		if isTime == (c.class == date) {
			continue
		}
		p.timeless = append(p.timeless, c)
		// Which field it is shows when the call's result is something else.
		p.compare(only("quote", c.name()))
	}
}

// complaint returns what text/template says of a render with edits, or "".
func (p *proof) complaint(changes edits) string {
	again, err := p.chart.prepare(p.engine, p.options)
	if err != nil || p.ctx.Err() != nil {
		return ""
	}
	again.rewrite(changes)
	if _, err = again.run(); err != nil {
		return err.Error()
	}
	return ""
}

// timeArgument returns the argument that has to be a time, as it is written, or
// "" if it comes through the pipeline.
func (c *call) timeArgument() string {
	if i := c.timeIndex(); i < len(c.args) {
		return c.args[i]
	}
	return ""
}

func (c *call) timeIndex() int {
	switch c.function {
	case "htmlDate", "htmlDateInZone", "durationRound":
		return 0
	}
	return 1 // behind a layout
}

// noTime is what text/template says if an argument is not a time. Integers are
// left out: the date functions take them as Unix time. Numbers of values.yaml
// are floats, which they do not take.
var noTime = regexp.MustCompile(`expected time\.Time; got (string|bool|float|map|\[\]|interface|time\.Duration)|` +
	`can't handle ["` + "`" + `].* for arg of type time\.Time|invalid value; expected time\.Time`)

// fewCalls is up to how many calls it is found out which of them are executed:
// each takes one more render.
const fewCalls = 4

// explain sorts the findings and gives each the calls that can be the reason:
// those that its template reaches and that are executed, or if there are none
// (a value that another template changed) all that are executed.
func (p *proof) explain() {
	slices.SortStableFunc(p.findings, compareFindings)
	p.findings = slices.CompactFunc(p.findings, func(a, b Finding) bool { return compareFindings(a, b) == 0 })
	if len(p.findings) == 0 {
		return
	}
	var reached []*call
	for _, c := range p.calls {
		if p.isExecuted(c) {
			reached = append(reached, c)
		}
	}
	for i := range p.findings {
		f := &p.findings[i]
		mine := slices.DeleteFunc(slices.Clone(reached), func(c *call) bool { return !slices.Contains(p.reach[f.Template], c) })
		if len(mine) == 0 {
			mine = reached
		}
		for _, c := range mine {
			f.Calls = append(f.Calls, Call{c.function, c.template, c.line})
		}
	}
}

func (p *proof) isExecuted(c *call) bool {
	if c.pos < 0 || len(p.calls) == 1 || len(p.calls) > fewCalls || p.any(slow) {
		return true
	}
	changes := maps.Clone(p.sortKeys)
	changes.add(c.edit(c.name(), "fail"))
	_, err := p.render(changes)
	return err != nil
}

func compareFindings(a, b Finding) int {
	return cmp.Or(
		strings.Compare(a.Template, b.Template),
		a.Object.Compare(b.Object),
		strings.Compare(fmt.Sprintf("%q", a.Path), fmt.Sprintf("%q", b.Path)),
		strings.Compare(a.Reason, b.Reason),
	)
}
