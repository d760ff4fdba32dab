package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hallmark.dev/hallmark/internal/sealtest"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/policy"
)

// ours is a scrape without what is the same for every server.
func ours(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "hallmark_") && !strings.Contains(line, "_bucket{") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// metric returns the value of a metric without labels.
func metric(tb testing.TB, text, name string) float64 {
	tb.Helper()
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+" "); found {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return number
		}
	}
	tb.Fatalf("no metric %s in\n%s", name, ours(text))
	return 0
}

// Every value that a label of ours can have. What a request says is not among
// them, or a stranger's repository could fill Prometheus.
var labels = map[string][]string{
	"method": {methodGenerate, methodMatch, methodAnnounce},
	"outcome": {
		outcomeOK, outcomeRefused, outcomeLimit, outcomeBusy, outcomeDeadline, outcomeCanceled, outcomeKey, outcomeForbidden, outcomeProtocol, outcomePanic,
	},
	"stage":    {"receive", "load", "render", "gate", "stamp"},
	"renderer": {"", "helm3", "helm4", "kustomize", "plain"},
	"result":   {"hit", "miss"},
}

var (
	sample = regexp.MustCompile(`^(hallmark_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$`)
	label  = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// seen are the values of the labels in a scrape.
func seen(tb testing.TB, text string) map[string][]string {
	tb.Helper()
	values := map[string][]string{}
	for line := range strings.Lines(text) {
		m := sample.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || m[1] == "hallmark_build_info" {
			continue
		}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			if name := l[1]; name != "le" && !slices.Contains(values[name], l[2]) {
				values[name] = append(values[name], l[2])
			}
		}
	}
	return values
}

// A request of each renderer and of each outcome.
func TestMetrics(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *Options) {
		o.InFlight, o.Discover, o.TreeLimits = 1, DiscoverAll, plugin.TreeLimits{FileBytes: 1 << 20}
		p, err := policy.Parse("policy.yaml", rules("{name: a, match: {namespace: marker-ns}, decryption: {keys: [age]}}"))
		if err != nil {
			t.Fatal(err)
		}
		o.Policy = fixed{p}
	})
	const app = "marker-app"
	entries := func(more ...string) []string {
		return append([]string{
			"ARGOCD_APP_NAME=" + app, "ARGOCD_APP_NAMESPACE=marker-ns", "ARGOCD_APP_PROJECT_NAME=marker-project", "ARGOCD_APP_REVISION=marker-revision",
			"ARGOCD_APP_SOURCE_PATH=app", "ARGOCD_APP_SOURCE_REPO_URL=https://git.example.com/marker-repo",
		}, more...)
	}
	send := func(ctx context.Context, method string, archive []byte, more ...string) error {
		_, err := r.exchange(ctx, method, append(messages{aboutApp(archive, entries(more...))}, inChunks(archive, 1000)...)...)
		return err
	}
	chart := tgz(t, regular("app/Chart.yaml", chartYAML), regular("app/templates/marker-file.yaml", configMap("marker-object", "b")))
	plain := tgz(t, regular("app/a.yaml", configMap("marker-object", "b")))
	kustomization := tgz(t, regular("app/kustomization.yaml", "resources: [a.yaml]\n"), regular("app/a.yaml", configMap("marker-object", "b")))
	for _, archive := range [][]byte{chart, chart, plain, kustomization} {
		for method := range methods {
			if err := send(t.Context(), method, archive); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := send(t.Context(), methodGenerate, chart, `ARGOCD_APP_PARAMETERS=[{"name":"renderer","string":"helm4"}]`); err != nil {
		t.Fatal(err)
	}
	fails := func(err error) {
		t.Helper()
		if err == nil {
			t.Fatal("got an answer, want an error")
		}
	}
	fails(send(t.Context(), methodGenerate, chart, `ARGOCD_APP_PARAMETERS=[{"name":"marker-parameter","string":"x"}]`))
	fails(send(t.Context(), methodGenerate, chart, `ARGOCD_APP_PARAMETERS=[{"name":"renderer","string":"marker-renderer"}]`))
	fails(send(t.Context(), methodGenerate, bomb(t, 2<<20, true)))
	encrypted := tgz(t, regular("app/s.yaml", sealtest.Seal(t, "yaml", configMap("marker-object", "b"), sealtest.NewKey(t))))
	fails(send(t.Context(), methodGenerate, encrypted))
	fails(send(t.Context(), methodGenerate, encrypted, "ARGOCD_APP_NAMESPACE=other"))
	_, err := r.exchange(t.Context(), methodGenerate)
	fails(err)

	// One that waits: those behind it find no slot, then it is cancelled.
	ctx, cancel := context.WithCancel(t.Context())
	stream, answer, err := methods[methodGenerate](ctx, r.client)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(aboutApp(chart, entries())); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the slot is taken", func() bool { return len(r.slots) == 1 })
	late, end := context.WithTimeout(t.Context(), time.Second)
	fails(send(late, methodGenerate, chart))
	end()
	cancel()
	fails(stream.RecvMsg(answer))
	eventually(t, "the slot is free", func() bool { return len(r.slots) == 0 })
	fails(r.work(t.Context(), t, func(context.Context, *call) error { panic("marker") }))
	late, end = context.WithTimeout(t.Context(), 2*margin)
	fails(r.work(late, t, func(ctx context.Context, _ *call) error { <-ctx.Done(); return ctx.Err() }))
	end()
	eventually(t, "the slot is free", func() bool { return len(r.slots) == 0 })

	code, text := r.probe(t, "/metrics")
	if code != http.StatusOK || strings.Contains(text, "marker") {
		t.Errorf("got %d, with what a request says among the metrics:\n%s", code, text)
	}
	got := seen(t, text)
	for name, values := range got {
		for _, v := range values {
			if !slices.Contains(labels[name], v) {
				t.Errorf("label %s has the value %q, want one of %q", name, v, labels[name])
			}
		}
	}
	for name, values := range labels {
		for _, v := range values {
			if !slices.Contains(got[name], v) {
				t.Errorf("no metric has %s=%q:\n%s", name, v, ours(text))
			}
		}
	}
	for _, want := range []string{
		`hallmark_requests_total{method="GenerateManifest",outcome="ok"} 5`,
		`hallmark_requests_total{method="GenerateManifest",outcome="refused"} 2`,
		`hallmark_requests_total{method="GenerateManifest",outcome="busy"} 1`,
		`hallmark_requests_total{method="MatchRepository",outcome="ok"} 4`,
		`hallmark_requests_total{method="GetParametersAnnouncement",outcome="ok"} 4`,
		`hallmark_cache_results_total{result="hit"} 1`,
		`hallmark_cache_results_total{result="miss"} 4`,
		`hallmark_stage_duration_seconds_count{renderer="helm3",stage="render"} 1`,
		`hallmark_stage_duration_seconds_count{renderer="helm4",stage="stamp"} 1`,
		`hallmark_stage_duration_seconds_count{renderer="kustomize",stage="gate"} 1`,
		`hallmark_in_flight 0`, `hallmark_in_flight_limit 1`, `hallmark_stuck 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, ours(text))
		}
	}
	for _, name := range []string{"hallmark_received_bytes_total", "hallmark_received_files_total", "hallmark_cache_bytes"} {
		if metric(t, text, name) <= 0 {
			t.Errorf("%s counts nothing", name)
		}
	}
	families, err := r.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("got %v, error %v from promlint", problems, err)
	}
}

// Metrics and probes of a server without a cache.
func TestMetricsWithoutCache(t *testing.T) {
	t.Parallel()
	_, text := quiet(1).probe(t, "/metrics")
	if got := metric(t, text, "hallmark_cache_bytes"); got != 0 {
		t.Errorf("got %v bytes, want none", got)
	}
}

// How long a stage takes is that stage's time.
func TestStages(t *testing.T) {
	t.Parallel()
	s := quiet(1)
	var clock time.Time
	s.options.Now = func() time.Time { return clock }
	if err := s.work(t.Context(), t, func(context.Context, *call) error { clock = clock.Add(time.Hour); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, text := s.probe(t, "/metrics"); !strings.Contains(text, `hallmark_stage_duration_seconds_sum{renderer="",stage="receive"} 0`+"\n") {
		t.Errorf("what follows counts as receiving:\n%s", ours(text))
	}
}

// secret stands for what must not be seen outside of the answer.
const secret = "s3cr3t-marker"

// Nothing that can be secret is in the log, the metrics or an error.
func TestSecrets(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *Options) { o.Discover = DiscoverAll })
	template := "data: {a: {{ .Values.a | quote }}, b: {{ .Values.b | quote }}}\n"
	head := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: " + secret + "}\n"
	list := func(parameters string) string { return "ARGOCD_APP_PARAMETERS=" + parameters }
	chart := func(templates string) map[string]string {
		return map[string]string{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: " + secret + "\n", "app/templates/a.yaml": templates}
	}
	for name, tt := range map[string]struct {
		files     map[string]string
		parameter string
		ok        bool
	}{
		"rendered":          {chart(head + template), list(`[{"name":"values","string":"b: ` + secret + `"},{"name":"helm-parameters","map":{"a":"$ARGOCD_ENV_PASSWORD"}}]`), true},
		"plain":             {map[string]string{"app/a.yaml": head}, "", true},
		"broken values":     {chart(head), list(`[{"name":"values","string":"{` + secret + `"}]`), false},
		"values of a kind":  {chart(head), list(`[{"name":"values","string":"` + secret + `"}]`), false},
		"broken parameter":  {chart(head), list(`[{"name":"helm-parameters","map":{"a[":"` + secret + `"}}]`), false},
		"wrong kind":        {chart(head), list(`[{"name":"value-files","string":"` + secret + `"}]`), false},
		"wrong boolean":     {chart(head), list(`[{"name":"skip-crds","string":"` + secret + `"}]`), false},
		"broken JSON":       {chart(head), list(`[{"name":"values","string":"` + secret), false},
		"template fails":    {chart(head + "x: {{ .Values.a | required2 }}"), "", false},
		"template computes": {chart(head + "x: {{ add1 .Values.a.b }}"), "", false},
		"output broken":     {chart(head + "data: {" + secret + "\n  - ]"), "", false},
		"random":            {chart("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: \"" + secret + "{{ randAlpha 9 }}\"}\n"), "", false},
		"twice":             {map[string]string{"app/a.yaml": head + "---\n" + head}, "", false},
		"broken file":       {map[string]string{"app/a.yaml": head + "b: {" + secret}, "", false},
		"broken patches":    {map[string]string{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": head}, list(`[{"name":"kustomize-patches","string":"- patch: [` + secret + `"}]`), false},
		"wrong patch":       {map[string]string{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": head}, list(`[{"name":"kustomize-patches","string":"- patch: '{op: ` + secret + `}'"}]`), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var entries []entry
			for file, content := range tt.files {
				entries = append(entries, regular(file, content))
			}
			archive := tgz(t, entries...)
			about := aboutApp(archive, env(tt.parameter, "ARGOCD_ENV_PASSWORD="+secret, "ARGOCD_ENV_OTHER="+secret, "AWS_SECRET="+secret,
				"ARGOCD_APP_SOURCE_REPO_URL=https://user:"+secret+"@git.example.com/shop?token="+secret))
			for method := range methods {
				_, err := r.exchange(t.Context(), method, append(messages{about}, inChunks(archive, 1000)...)...)
				if method == methodGenerate && (err == nil) != tt.ok {
					t.Errorf("got error %v, want one: %t", err, !tt.ok)
				}
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%s: a secret is in the error %v", method, err)
				}
			}
		})
	}
	t.Cleanup(func() {
		if log := r.logged(); strings.Contains(log, secret) || !strings.Contains(log, "git.example.com/shop") {
			t.Errorf("got log %s", log)
		}
		if _, text := r.probe(t, "/metrics"); strings.Contains(text, secret) {
			t.Errorf("got metrics %s", text)
		}
	})
}

// What an operator finds of each request: its id, the application, and the
// stamps that its objects carry.
func TestLog(t *testing.T) {
	t.Parallel()
	var id atomic.Int64
	r := start(t, func(o *Options) {
		o.InFlight = 1
		o.NewID = func() string { return fmt.Sprintf("request-%d", id.Add(1)) }
	})
	archive := good(t)
	about := func(more ...string) messages {
		return append(messages{aboutApp(archive, env(append(more, "ARGOCD_APP_PROJECT_NAME=team-a", "ARGOCD_APP_SOURCE_REPO_URL=https://git.example.com/shop")...))}, inChunks(archive, 1000)...)
	}
	for range 2 {
		if _, err := r.exchange(t.Context(), methodGenerate, about()...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.exchange(t.Context(), methodMatch, about()...); err != nil {
		t.Fatal(err)
	}
	if _, err := r.exchange(t.Context(), methodAnnounce, about("ARGOCD_APP_PARAMETERS=[")...); err != nil {
		t.Fatal(err)
	}
	if _, err := r.exchange(t.Context(), methodGenerate, about("ARGOCD_APP_PARAMETERS=[")...); err == nil {
		t.Fatal("got an answer, want an error")
	}
	var lines []map[string]any
	for text := range strings.Lines(r.logged()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 5 {
		t.Fatalf("got %d lines, want one for each request:\n%s", len(lines), r.logged())
	}
	wants := []map[string]any{
		{"msg": "generated", "renderer": "helm3/v3.22.0", "objects": 1.0, "cached": false},
		{"msg": "generated", "renderer": "helm3/v3.22.0", "objects": 1.0, "cached": true},
		{"msg": "matched", "supported": false},
		{"msg": "announced"},
		{"msg": "refused", "outcome": "refused", "error": "hallmark: error: parameters: byte 1: not valid JSON", "level": "INFO"},
	}
	for i, want := range wants {
		for key, value := range map[string]any{
			"request": fmt.Sprintf("request-%d", i+1), "app": "web", "project": "team-a", "path": "app",
			"repo": "https://git.example.com/shop", "revision": "0123456789abcdef",
		} {
			want[key] = value
		}
		for key, value := range want {
			if lines[i][key] != value {
				t.Errorf("line %d: got %s %v, want %v", i+1, key, lines[i][key], value)
			}
		}
		if _, timed := lines[i]["seconds"].(float64); !timed {
			t.Errorf("line %d does not say how long it took: %v", i+1, lines[i])
		}
	}
	for _, key := range []string{"renderHash", "inputsHash"} {
		if hash, _ := lines[0][key].(string); !strings.HasPrefix(hash, "sha256:") || lines[1][key] != hash {
			t.Errorf("got %s %v and %v, want the same twice", key, lines[0][key], lines[1][key])
		}
	}
	if warnings := fmt.Sprint(lines[3]["warnings"]); !strings.Contains(warnings, "not valid JSON") {
		t.Errorf("got warnings %s of an announcement without its parameters", warnings)
	}
}

// What a request came to, for Argo CD and for an operator's alert.
func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err     error
		outcome string
		code    codes.Code
	}{
		{nil, outcomeOK, codes.OK},
		{errors.New("a.yaml:1: something"), outcomeRefused, codes.FailedPrecondition},
		{fmt.Errorf("rendering: %w", &plugin.LimitError{Limit: "renderTime", Allowed: "80s"}), outcomeLimit, codes.ResourceExhausted},
		{busyError{2}, outcomeBusy, codes.ResourceExhausted},
		{errDeadline, outcomeDeadline, codes.DeadlineExceeded},
		{context.DeadlineExceeded, outcomeDeadline, codes.DeadlineExceeded},
		{status.Error(codes.DeadlineExceeded, ""), outcomeDeadline, codes.DeadlineExceeded},
		{context.Canceled, outcomeCanceled, codes.Canceled},
		{status.Error(codes.Canceled, ""), outcomeCanceled, codes.Canceled},
		{status.Error(codes.Unavailable, ""), outcomeProtocol, codes.InvalidArgument},
		{protocolError{"x"}, outcomeProtocol, codes.InvalidArgument},
		{plugin.ErrPanic, outcomePanic, codes.Internal},
	} {
		if outcome, code := classify(tt.err); outcome != tt.outcome || code != tt.code {
			t.Errorf("%v: got %s, %s, want %s, %s", tt.err, outcome, code, tt.outcome, tt.code)
		}
	}
}
