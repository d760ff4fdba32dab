package suite

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/corpus"
	"hallmark.dev/hallmark/health/eval"
	"hallmark.dev/hallmark/lua/vm"
)

// MaxTime is how much processor time a check should take at most for one object of
// the robustness corpus.
const MaxTime = 50 * time.Millisecond

// Subject is a check, the script that was compiled from it, and its cases.
type Subject struct {
	Check  *health.Check
	Script string
	Cases  []Case
}

// Options are what a run takes from outside.
type Options struct {
	// Now is the time that now() gives.
	Now func() time.Time
	// CPU is the processor time that the calling thread has used; other work on the
	// machine does not count. MaxTime bounds what the script takes of it for an
	// object of the robustness corpus; nothing is bounded where it is 0.
	CPU     func() time.Duration
	MaxTime time.Duration
	// NoCorpus leaves the robustness corpus out.
	NoCorpus bool
}

// Result is what came of a case, or of one object of the robustness corpus.
type Result struct {
	Name   string
	File   string // of the case, "" in the corpus
	Line   int
	Got    health.Verdict // of the VM
	Rule   string         // the label of the rule that gave it
	Took   time.Duration  // processor time of the VM
	Faults []string       // none where it passed
}

// Report is what came of all of them.
type Report struct {
	Check      *health.Check
	Cases      []Result
	Robustness []Result // those that failed
	Objects    int      // of the robustness corpus
	Reached    map[string]int
}

// Failed counts the cases and objects that failed.
func (r *Report) Failed() int {
	n := len(r.Robustness)
	for _, c := range r.Cases {
		if len(c.Faults) > 0 {
			n++
		}
	}
	return n
}

// Unreached is the rules that no case reaches.
func (r *Report) Unreached() []health.Rule {
	return slices.DeleteFunc(slices.Clone(r.Check.Rules), func(rule health.Rule) bool { return r.Reached[rule.Label] > 0 })
}

// Coverage is the share of the rules that a case reaches, in percent, rounded down.
func (r *Report) Coverage() int {
	return 100 * (len(r.Check.Rules) - len(r.Unreached())) / len(r.Check.Rules)
}

// Run runs the cases of a subject and the robustness corpus.
func Run(s Subject, o Options) (*Report, error) {
	oracle, err := eval.New(s.Check, func() int64 { return o.Now().Unix() })
	if err != nil {
		return nil, err
	}
	r := &runner{Subject: s, oracle: oracle, Options: o}
	report := &Report{Check: s.Check, Reached: map[string]int{}}
	report.Cases = parallel(len(s.Cases), func(i int) Result { return r.testCase(s.Cases[i]) })
	for _, result := range report.Cases {
		report.Reached[result.Rule]++
	}
	var objects []corpus.Case
	if !o.NoCorpus {
		objects = s.corpus()
	}
	report.Objects = len(objects)
	for _, result := range parallel(len(objects), func(i int) Result { return r.robust(objects[i]) }) {
		if len(result.Faults) > 0 {
			report.Robustness = append(report.Robustness, result)
		}
	}
	return report, nil
}

// corpus is the robustness corpus on a bare object of each kind that the check is for,
// on one with a condition, and on those of the cases.
func (s Subject) corpus() []corpus.Case {
	var all []corpus.Case
	for _, target := range s.Check.Targets {
		apiVersion := "v1"
		if target.Group != "" {
			apiVersion = concrete(target.Group) + "/v1"
		}
		for _, kind := range target.Kinds {
			seeds := []map[string]any{{
				"metadata": map[string]any{"name": "example", "generation": int64(2)},
				"spec":     map[string]any{},
				"status": map[string]any{
					"observedGeneration": int64(2),
					"conditions":         []any{map[string]any{"type": "Ready", "status": "True", "reason": "Ready", "message": "ready"}},
				},
			}}
			if len(all) == 0 {
				for _, c := range s.Cases {
					seeds = append(seeds, c.Object)
				}
			}
			all = append(all, corpus.Objects(apiVersion, concrete(kind), seeds)...)
		}
	}
	return all
}

// concrete is a text that a glob matches.
func concrete(glob string) string { return strings.ReplaceAll(glob, "*", "Example") }

type runner struct {
	Subject
	Options
	oracle *eval.Evaluator
}

func (r *runner) testCase(c Case) Result {
	out := r.judge(c.Name, c.Object)
	out.File, out.Line = c.File, c.Line
	if len(out.Faults) > 0 {
		return out
	}
	want, got := c.Want, out.Got
	if c.AnyMessage {
		want.Message = got.Message
	}
	if got != want {
		out.Faults = append(out.Faults, fmt.Sprintf("got %s by %s, want %s", describe(got), out.Rule, describe(c.Want)))
	}
	if c.Rule != "" && c.Rule != out.Rule {
		out.Faults = append(out.Faults, fmt.Sprintf("got it by %s, want %s", out.Rule, c.Rule))
	}
	return out
}

func describe(v health.Verdict) string {
	if v.Message == "" {
		return string(v.Status)
	}
	return fmt.Sprintf("%s %q", v.Status, v.Message)
}

// judge asks the VM and the oracle. They are asked again where they differ and the
// check has now(), because the second may have changed between the two; and where
// Argo CD's deadline of one second of real time has passed on a busy machine.
func (r *runner) judge(name string, object map[string]any) Result {
	const tries = 5
	out := Result{Name: name}
	for range tries {
		oracle := r.oracle.Eval(object)
		out.Rule = r.Check.Rules[oracle.Rule].Label
		start := r.CPU()
		got, err := vm.RunTrusted(r.Script, r.Check.UseOpenLibs, object)
		out.Took = r.CPU() - start
		out.Got = health.Verdict{Status: health.Status(got.Status), Message: got.Message}
		switch {
		case err != nil:
			out.Faults = []string{fmt.Sprintf("the script raises: %v", err)}
		case out.Got != oracle.Verdict:
			out.Faults = []string{fmt.Sprintf("Argo CD's VM says %s, cel-go says %s by %s", describe(out.Got), describe(oracle.Verdict), out.Rule)}
		default:
			out.Faults = nil
			return out
		}
		if overdue := err != nil && strings.Contains(err.Error(), "deadline exceeded") && out.Took < time.Second/2; !overdue && !r.hasClock() {
			return out
		}
	}
	return out
}

// hasClock reports whether the check asks for the time.
func (r *runner) hasClock() bool { return strings.Contains(r.Script, "os.time()") }

// robust is judge for an object of the corpus, which must not take long: beside what it
// takes to make a Lua value of the object, which a script without any work shows.
func (r *runner) robust(c corpus.Case) Result {
	out := r.judge(c.Name, c.Object)
	if r.MaxTime == 0 || len(out.Faults) > 0 || out.Took <= r.MaxTime {
		return out
	}
	// Tries, the best of which counts: what the machine or a collection adds is none of the script's.
	const tries = 8
	least := func(script string, enough time.Duration) time.Duration {
		fastest := time.Duration(math.MaxInt64)
		for i := 0; i < tries && fastest > enough; i++ {
			runtime.GC()
			start := r.CPU()
			if _, err := vm.RunTrusted(script, r.Check.UseOpenLibs, c.Object); err == nil {
				fastest = min(fastest, r.CPU()-start)
			}
		}
		return fastest
	}
	idle := least(`return { status = "Healthy" }`, 0)
	if out.Took = least(r.Script, r.MaxTime+idle) - idle; out.Took > r.MaxTime {
		out.Faults = append(out.Faults, fmt.Sprintf("took %s of processor time, want at most %s", out.Took.Round(time.Millisecond), r.MaxTime))
	}
	return out
}

// parallel calls f for 0 to n-1, on all processors, and returns the results in
// order. Each call stays on its thread, whose time is measured.
func parallel(n int, f func(i int) Result) []Result {
	out := make([]Result, n)
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(max(n, 1), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for i := range next {
				out[i] = f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

// Sort orders reports by the place of their checks.
func Sort(reports []*Report) {
	slices.SortFunc(reports, func(a, b *Report) int {
		return cmp.Or(cmp.Compare(a.Check.File, b.Check.File), cmp.Compare(a.Check.Line, b.Check.Line))
	})
}

// Verdicts is what the VM says of each case of a subject.
func Verdicts(s Subject) ([]health.Verdict, error) {
	var out []health.Verdict
	for _, c := range s.Cases {
		v, err := vm.RunTrusted(s.Script, s.Check.UseOpenLibs, c.Object)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", c.File, c.Line, c.Name, err)
		}
		out = append(out, health.Verdict{Status: health.Status(v.Status), Message: v.Message})
	}
	return out, nil
}
