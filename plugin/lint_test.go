package plugin

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/internal/sealtest"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/rules"
)

// The day of the tests, and a hook without a deadline that waives the rule until the
// day before and after.
var lintDay = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func hook(annotations string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations:\n    argocd.argoproj.io/hook: PreSync\n" + annotations +
		"spec:\n  backoffLimit: 0\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: migrate, image: \"registry.example.com/migrate:1\"}]\n"
}

const (
	waived     = "    waive.hallmark.dev/job-deadline: 2026-07-01 the vendor has no value for it\n"
	expired    = "    waive.hallmark.dev/job-deadline: 2026-06-30 the vendor has no value for it\n"
	noDeadline = `Job.batch "migrate": the Job has no spec.activeDeadlineSeconds (rule job-deadline)`
	ownerLabel = "policies: [{name: owner-label, matchConstraints: {resourceRules: [{kinds: [Job]}]}, validations: [{expression: \"has(object.metadata.labels) && 'owner' in object.metadata.labels\", message: a Job names its owner}]}]"
)

// linted is a request with a lint section, on the day of the tests.
func linted(t *testing.T, section string, files map[string]string) *Request {
	t.Helper()
	r := memory(files)
	r.Policy = parsePolicy(t, "  - name: shop\n    allowEmpty: true\n    lint: {"+section+"}\n")
	r.Today, r.Version = lintDay, "v0.0.0-test"
	return r
}

// What the levels make of a finding.
func TestLint(t *testing.T) {
	t.Parallel()
	only := func(level string) string { return "default: off, rules: {job-deadline: " + level + "}" }
	for name, tt := range map[string]struct {
		section, hook string
		refused       string // the error, "" where it renders
		warnings      []string
	}{
		"deny":                       {only("deny"), hook(""), "app/a.yaml:1: " + noDeadline, nil},
		"warn":                       {only("warn"), hook(""), "", []string{"app/a.yaml:1: " + noDeadline}},
		"off":                        {only("off"), hook(""), "", nil},
		"waived":                     {only("deny"), hook(waived), "", nil},
		"waived, and only a warning": {only("warn"), hook(waived), "", nil},
		"expired":                    {only("deny"), hook(expired), "app/a.yaml:1: " + noDeadline, nil},
		"expired, which is a finding": {"default: off, rules: {job-deadline: off, waiver: deny}", hook(expired),
			`app/a.yaml:1: Job.batch "migrate": the waiver of job-deadline expired on 2026-06-30 (the vendor has no value for it) (rule waiver)`, nil},
		"no waivers": {only("deny") + ", waivers: false", hook(waived), "app/a.yaml:1: " + noDeadline, nil},
		"a team's rule": {"default: off, rules: {owner-label: deny}, " + ownerLabel, hook(""),
			`app/a.yaml:1: Job.batch "migrate": a Job names its owner (rule owner-label)`, nil},
		"a team's rule warns": {"default: off, rules: {owner-label: warn}, " + ownerLabel, hook(""), "",
			[]string{`app/a.yaml:1: Job.batch "migrate": a Job names its owner (rule owner-label)`}},
		"a team's rule is waived":                 {"default: off, rules: {owner-label: deny, waiver: deny}, " + ownerLabel, hook("    waive.hallmark.dev/owner-label: 2026-07-01 nobody owns it\n"), "", nil},
		"a team's rule that is off may be waived": {"default: off, rules: {owner-label: off, waiver: deny}, " + ownerLabel, hook("    waive.hallmark.dev/owner-label: 2026-07-01 nobody owns it\n"), "", nil},
		"two are told at once": {"default: off, rules: {job-deadline: deny, owner-label: deny}, " + ownerLabel, hook(""),
			"app/a.yaml:1: " + `Job.batch "migrate": a Job names its owner (rule owner-label)` + "\napp/a.yaml:1: " + noDeadline, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := Render(context.Background(), linted(t, tt.section, map[string]string{"app/a.yaml": tt.hook}))
			if tt.refused != "" {
				if err == nil || err.Error() != tt.refused {
					t.Errorf("got error\n%v\nwant\n%s", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if strings.Join(result.Warnings, "\n") != strings.Join(tt.warnings, "\n") {
				t.Errorf("got warnings\n%s\nwant\n%s", strings.Join(result.Warnings, "\n"), strings.Join(tt.warnings, "\n"))
			}
		})
	}
}

// A person who is refused learns what to do, how to waive, and where to read on.
func TestLintHint(t *testing.T) {
	t.Parallel()
	deadline, _ := rules.Find("job-deadline")
	for name, tt := range map[string]struct {
		section string
		want    string
	}{
		"built in": {"default: off, rules: {job-deadline: deny}",
			deadline.Remedy + `; an annotation on the object waives the rule until a day, waive.hallmark.dev/job-deadline: "2027-03-31 the reason"; ` + "`hallmark lint --explain job-deadline` says more"},
		"no waivers":             {"default: off, rules: {job-deadline: deny}, waivers: false", deadline.Remedy + "; `hallmark lint --explain job-deadline` says more"},
		"the first that is told": {"default: off, rules: {owner-label: deny, job-deadline: deny}, waivers: false, " + ownerLabel, `the rule is the platform team's own, in rule "shop" (policy.yaml:5)`},
		"a team's":               {"default: off, rules: {owner-label: deny}, waivers: false, " + ownerLabel, `the rule is the platform team's own, in rule "shop" (policy.yaml:5)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Render(context.Background(), linted(t, tt.section, map[string]string{"app/a.yaml": hook("")}))
			if got := diag.Hint(err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// The rules are told together with the other faults, and not where the objects are no
// objects.
func TestLintWithOtherFaults(t *testing.T) {
	t.Parallel()
	section := "default: off, rules: {job-deadline: deny}"
	random := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ randAlphaNum 8 }}}\n"
	_, err := Render(context.Background(), linted(t, section, map[string]string{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": random, "app/templates/b.yaml": hook("")}))
	for _, want := range []string{"differs from render to render", "(rule job-deadline)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	_, err = Render(context.Background(), linted(t, section, map[string]string{"app/a.yaml": hook("") + "---\n" + hook("")}))
	if err == nil || strings.Contains(err.Error(), "job-deadline") {
		t.Errorf("got %v for one object twice", err)
	}
}

// Without a section nothing is checked, and a review checks everything.
func TestReview(t *testing.T) {
	t.Parallel()
	files := map[string]string{"app/a.yaml": hook(waived)}
	none := memory(files)
	none.Found = func([]Finding) { t.Error("rules were checked") }
	if result := mustRender(t, none); result.Findings != nil || result.Evidence.Lint != nil || len(result.Warnings) > 0 {
		t.Errorf("got %v, %v", result.Findings, result.Warnings)
	}
	for name, r := range map[string]*Request{
		"without a section": memory(files),
		"with one":          linted(t, "default: deny, rules: {owner-label: deny}, "+ownerLabel, files),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.Review, r.Today = true, lintDay
			result := mustRender(t, r)
			if len(result.Warnings) > 0 {
				t.Errorf("got warnings %q", result.Warnings)
			}
			levels := map[string]policy.Level{}
			for _, f := range result.Findings {
				levels[f.Rule] = f.Level
				if (f.Waiver != nil) != (f.Rule == "job-deadline") {
					t.Errorf("%s: got the waiver %v", f.Rule, f.Waiver)
				}
			}
			want := map[string]policy.Level{"job-deadline": "warn", "owner-label": ""}
			if r.Lint() != nil {
				want = map[string]policy.Level{"job-deadline": "deny", "owner-label": "deny"}
			}
			for rule, level := range want {
				if levels[rule] != level {
					t.Errorf("%s: got %q, want %q", rule, levels[rule], level)
				}
			}
		})
	}
}

// The rest of many warnings is counted.
func TestLintWarningsAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range maxFindings + 3 {
		text.WriteString("---\n" + strings.Replace(hook(""), "name: migrate\n", fmt.Sprintf("name: migrate-%d\n", i), 1))
	}
	result := mustRender(t, linted(t, "default: off, rules: {job-deadline: warn}", map[string]string{"app/a.yaml": text.String()}))
	if n := len(result.Warnings); n != maxFindings+1 || result.Warnings[maxFindings] != "3 more findings of release rules; `hallmark lint` lists all" {
		t.Errorf("got %d warnings, the last %q", n, result.Warnings[n-1])
	}
	if len(result.Findings) != maxFindings+3 {
		t.Errorf("got %d findings", len(result.Findings))
	}
}

// The evidence has what was found and what was waived, and says so where nothing was.
func TestLintInEvidence(t *testing.T) {
	t.Parallel()
	id := object.ID{Group: "batch", Kind: "Job", Name: "migrate"}
	for name, tt := range map[string]struct {
		hook string
		want []evidence.Finding
	}{
		"warn": {hook(""), []evidence.Finding{{Rule: "job-deadline", Level: "warn", Object: id, Field: "/spec/activeDeadlineSeconds", Message: "the Job has no spec.activeDeadlineSeconds"}}},
		"waived": {hook(waived), []evidence.Finding{{
			Rule: "job-deadline", Level: "warn", Object: id, Field: "/spec/activeDeadlineSeconds", Message: "the Job has no spec.activeDeadlineSeconds",
			Waiver: &evidence.Waiver{Day: "2026-07-01", Reason: "the vendor has no value for it"},
		}}},
		"nothing": {strings.Replace(hook(""), "backoffLimit", "activeDeadlineSeconds: 60\n  backoffLimit", 1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := mustRender(t, linted(t, "default: off, rules: {job-deadline: warn}", map[string]string{"app/a.yaml": tt.hook}))
			text, err := evidence.Marshal(result.Evidence)
			if err != nil {
				t.Fatal(err)
			}
			record, err := evidence.Parse("record.json", text)
			if err != nil {
				t.Fatal(err)
			}
			if record.Lint == nil || fmt.Sprintf("%+v", deref(record.Lint.Findings)) != fmt.Sprintf("%+v", deref(tt.want)) {
				t.Errorf("got %+v, want %+v", record.Lint, tt.want)
			}
		})
	}
}

// deref shows what waivers say.
func deref(findings []evidence.Finding) (out []string) {
	for _, f := range findings {
		waiver := evidence.Waiver{}
		if f.Waiver != nil {
			waiver = *f.Waiver
		}
		f.Waiver = nil
		out = append(out, fmt.Sprintf("%+v %+v", f, waiver))
	}
	return out
}

// An answer is not given when a waiver that it rests on has run out, also one that
// covers nothing: that is a finding from then on. Until then it is, with its warnings.
func TestCacheAndWaivers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ section, hook, then string }{
		"a waiver that covers a finding": {"default: off, rules: {job-deadline: deny, job-resources: warn}", hook(waived), "(rule job-deadline)"},
		"a waiver that covers none": {"default: off, rules: {waiver: deny, job-resources: warn}",
			strings.Replace(hook(waived), "backoffLimit", "activeDeadlineSeconds: 60\n  backoffLimit", 1), "expired on 2026-07-01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := NewCache(1 << 20)
			render := func(now time.Time) (*Answer, error) {
				r := linted(t, tt.section, map[string]string{"app/a.yaml": tt.hook})
				r.Today = now
				return cache.Render(context.Background(), r)
			}
			first, err := render(lintDay)
			if err != nil || first.Cached || len(first.Warnings) != 1 {
				t.Fatalf("got %+v, %v", first, err)
			}
			last := time.Date(2026, 7, 1, 23, 59, 59, 0, time.UTC)
			again, err := render(last)
			if err != nil || !again.Cached || len(again.Warnings) != 1 || again.Warnings[0] != first.Warnings[0] {
				t.Errorf("got %+v, %v on the last day", again, err)
			}
			if _, err := render(last.Add(time.Second)); err == nil || !strings.Contains(err.Error(), tt.then) {
				t.Errorf("got %v after the last day, want %q", err, tt.then)
			}
		})
	}
}

// A change of an expression, of a level and of a request's review is another key.
func TestCacheAndLint(t *testing.T) {
	t.Parallel()
	cache := NewCache(1 << 20)
	render := func(section string, review bool) *Answer {
		r := linted(t, section, map[string]string{"app/a.yaml": hook("")})
		r.Review = review
		answer, err := cache.Render(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	section := "default: warn, " + ownerLabel
	for _, s := range []string{section, strings.Replace(section, "'owner' in", "!('owner' in", 1), "default: off, " + ownerLabel} {
		s = strings.Replace(s, "!('owner' in object.metadata.labels", "!('owner' in object.metadata.labels)", 1)
		if render(s, false).Cached || !render(s, false).Cached {
			t.Errorf("%s: the answer is another section's, or is not kept", s)
		}
	}
	if render(section, true).Cached {
		t.Error("the answer of a review is that of a render")
	}
}

// No decrypted value reaches a finding, a warning, an error or the evidence, whatever a
// rule of a team says.
func TestLintHidesSecrets(t *testing.T) {
	t.Parallel()
	const marker = "s3cr3t-marker-value"
	key := sealtest.NewKey(t)
	files := map[string]string{
		"app/Chart.yaml":           chartYAML,
		"app/values.yaml":          sealtest.Seal(t, "yaml", "password: "+marker+"\n", key),
		"app/templates/s.yaml":     "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: {{ .Values.password }}}\n",
		"app/templates/c.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: db\n  annotations:\n    waive.hallmark.dev/leak: 2026-07-01 it is {{ .Values.password }}\ndata: {password: {{ .Values.password }}}\n",
		"app/templates/again.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: again}\ndata: {password: {{ .Values.password }}}\n",
	}
	team := func(level string) string {
		return `default: off, rules: {leak: ` + level + `}, policies: [{name: leak, matchConstraints: {resourceRules: [{kinds: [Secret, ConfigMap]}]}, validations: [` +
			`{expression: "false", messageExpression: "'it is ' + (has(object.data) ? object.data.password : object.stringData.password)"}, ` +
			`{expression: "int((has(object.data) ? object.data : object.stringData).password) == 1"}]}]`
	}
	request := func(level string) *Request {
		r := linted(t, "", files)
		r.Keys = Keys{Paths: []string{key.File}}
		r.Policy = parsePolicy(t, "  - name: shop\n    decryption: {keys: [age], outsideSecrets: allow}\n    lint: {"+team(level)+"}\n")
		return r
	}
	result := mustRender(t, request("warn"))
	text, err := evidence.Marshal(result.Evidence)
	if err != nil {
		t.Fatal(err)
	}
	_, refusal := Render(context.Background(), request("deny"))
	shown := fmt.Sprintf("%+v %s %s %v", result.Findings, result.Warnings, text, refusal)
	waivers := 0
	for _, f := range result.Findings {
		if f.Waiver != nil {
			waivers++
			shown += f.Waiver.Reason
		}
	}
	if len(result.Findings) != 6 || waivers != 2 || len(result.Decrypted) == 0 || refusal == nil {
		t.Fatalf("got %d findings, %d of them waived, %d files decrypted, %v", len(result.Findings), waivers, len(result.Decrypted), refusal)
	}
	if values := (&redact.Values{}); true {
		values.Add(marker)
		if values.In(shown) {
			t.Errorf("the value is in %s", shown)
		}
	}
}

// Nor does one that is the name of an object.
func TestLintHidesNames(t *testing.T) {
	t.Parallel()
	const marker = "s3cr3t-marker-value"
	key := sealtest.NewKey(t)
	r := linted(t, "", map[string]string{
		"app/Chart.yaml":       chartYAML,
		"app/values.yaml":      sealtest.Seal(t, "yaml", "password: "+marker+"\n", key),
		"app/templates/j.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: {{ .Values.password }}, namespace: {{ .Values.password }}, annotations: {argocd.argoproj.io/hook: PreSync}}\nspec: {template: {spec: {containers: [{name: c, image: web}]}}}\n",
	})
	r.Keys = Keys{Paths: []string{key.File}}
	r.Policy = parsePolicy(t, "  - name: shop\n    decryption: {keys: [age], outsideSecrets: allow}\n    lint: {default: warn}\n")
	result := mustRender(t, r)
	if shown := fmt.Sprintf("%+v %s", result.Findings, result.Warnings); len(result.Findings) == 0 || strings.Contains(shown, marker) {
		t.Errorf("got %s", shown)
	}
}

// What the rules are told of where data comes from.
func TestLiteral(t *testing.T) {
	t.Parallel()
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: hunter2hunter2}\n"
	for name, tt := range map[string]struct {
		files map[string]string
		want  map[string]bool // by the name of the object
	}{
		"plain":   {map[string]string{"app/a.yaml": secret}, map[string]bool{"db": true}},
		"a chart": {map[string]string{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": secret}, map[string]bool{"db": false}},
		"a kustomization": {map[string]string{
			"app/kustomization.yaml": "resources: [a.yaml]\nhelmCharts: [{name: web, releaseName: web}]\n", "app/a.yaml": secret,
			"app/charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "app/charts/web/values.yaml": "{}\n", "web/templates/b.yaml": "# of another chart, called as the template\n", "app/charts/web/templates/b.yaml": strings.Replace(secret, "db", "web", 1),
		}, map[string]bool{"db": true, "web": false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := memory(tt.files)
			s := &session{Request: r}
			var err error
			if s.renderer, err = choose(r.Tree.View(), "app", Parameters{}, policy.None().For(policy.Subject{}), ""); err != nil {
				t.Fatal(err)
			}
			literal := s.literal()
			for _, o := range mustRender(t, r).Objects {
				if got := literal(o); got != tt.want[o.ID().Name] {
					t.Errorf("%s from %q: got %t", o.ID(), o.Origin, got)
				}
			}
		})
	}
}
