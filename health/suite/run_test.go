package suite_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/suite"
)

const spec = `apiVersion: hallmark.dev/v1
kind: HealthCheck
metadata: {name: widget}
spec:
  targets: [{group: example.com, kinds: [Widget]}]
  rules:
    - {status: Degraded, phase: Failed}
    - {status: Healthy, when: "now() >= status.from"}
`

// The suite finds what a compiler could do wrong. The scripts are written by hand,
// because ours do none of it.
func TestScriptsThatAreWrong(t *testing.T) {
	t.Parallel()
	const right = `local os = require("os")
local s = type(obj.status) == "table" and obj.status or {}
if s.phase == "Failed" then return { status = "Degraded", message = "" } end
if type(s.from) == "number" and os.time() >= s.from then return { status = "Healthy", message = "" } end
`
	const otherwise = `return { status = "Progressing", message = "no rule of the health check matches" }`
	for _, tc := range []struct{ name, script, want string }{
		{"right", right + otherwise, ""},
		{"raises", `return { status = obj.status.phase }`, "the script raises"},
		{"another status", strings.Replace(right, "Degraded", "Progressing", 1) + otherwise, `cel-go says Degraded by rule 1`},
		{"another message", strings.Replace(right, `message = ""`, `message = "x"`, 1) + otherwise, `Argo CD's VM says Degraded "x"`},
		{"message of another type", strings.Replace(right, `message = ""`, `message = 1`, 1) + otherwise, "cel-go says Degraded by rule 1"},
		{"nil", right, "cel-go says Progressing"},
		{"not guarded", `if obj.status ~= nil and obj.status.phase == "Failed" then return { status = "Degraded", message = "" } end ` + right + otherwise, "the script raises"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			report := run(t, tc.script, suite.Options{CPU: func() time.Duration { return 0 }})
			if got := text(t, report); tc.want == "" && report.Failed() > 0 || !strings.Contains(got, tc.want) {
				t.Errorf("got\n%s\nwant %q", got, tc.want)
			}
		})
	}
}

// A script that takes long is told, with how long it took.
func TestSlow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute of processor time with the race detector")
	}
	start := time.Now()
	report := run(t, `for i = 1, 200000 do end return { status = "Progressing", message = "no rule of the health check matches" }`,
		suite.Options{MaxTime: time.Microsecond, CPU: func() time.Duration { return time.Since(start) }})
	if got := text(t, report); !strings.Contains(got, "of processor time, want at most 1µs") {
		t.Errorf("got\n%s", got)
	}
}

func run(t *testing.T, script string, o suite.Options) *suite.Report {
	t.Helper()
	o.Now = func() time.Time { return time.Unix(2_000_000_000, 0) }
	tests, err := suite.Parse("widget_test.yaml", []byte(`apiVersion: hallmark.dev/v1
kind: HealthTest
metadata: {name: widget}
spec:
  check: widget.yaml
  cases:
    - {name: failed, want: {status: Degraded}, object: {kind: Widget, status: {phase: Failed}}}
    - {name: since 1970, want: {status: Healthy}, rule: rule 2, object: {kind: Widget, status: {from: 1}}}
    - {name: none, want: {status: Progressing}, object: {kind: Widget}}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	report, err := suite.Run(suite.Subject{Check: parse(t), Script: script, Cases: tests[0].Cases}, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Cases) != 3 || report.Objects < 100 {
		t.Errorf("%d cases and %d objects", len(report.Cases), report.Objects)
	}
	return report
}

func parse(t *testing.T) *health.Check {
	t.Helper()
	checks, err := health.Parse("widget.yaml", []byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	return checks[0]
}

func text(t *testing.T, r *suite.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := suite.WriteText(&out, []*suite.Report{r}, suite.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
