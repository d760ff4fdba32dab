package compare

import (
	"fmt"
	"strings"
	"testing"
)

const (
	config = `
apiVersion: v1
kind: ConfigMap
metadata: {name: %s}
data: {mode: %s}
`
	mounting = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      serviceAccountName: web
      imagePullSecrets: [{name: fixed}, {name: %[1]s}]
      volumes: [{name: config, configMap: {name: %[1]s}}]
      containers:
      - name: web
        envFrom: [{configMapRef: {name: %[1]s}}]
        env: [{name: A, value: http://%[1]s.shop.svc/}, {name: B, value: x-%[1]s}]
`
	prefixed = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s-web}
spec:
  template:
    spec: {serviceAccountName: %[1]s-web, volumes: [{name: config, configMap: {name: %[1]s-config}}]}
`
	account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s}}"
)

func documents(docs ...string) string { return strings.Join(docs, "\n---\n") }

func TestStem(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"web-7g5t2k9m4h":                       "web",
		"web-config-dtbf8hc2":                  "web-config-dtbf8hc2",
		"web-7g5t2k9m4h-x":                     "web-7g5t2k9m4h-x",
		"migrate-20240101":                     "migrate",
		"migrate-2024010":                      "migrate-2024010",
		"web-0123456789abcdef0123456789abcdef": "web",
		"web-application":                      "web-application",
		"-7g5t2k9m4h":                          "-7g5t2k9m4h",
		"web-0123ABCD":                         "web-0123ABCD",
		"web-":                                 "web-",
		"":                                     "",
	} {
		if got := stem(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestRenames(t *testing.T) {
	t.Parallel()
	for _, tt := range []objectCase{
		{name: "a generated suffix", from: fmt.Sprintf(config, "web-7g5t2k9m4h", "fast"), to: fmt.Sprintf(config, "web-dtbf8hc2k4", "slow"), want: `
			renamed ConfigMap "web-dtbf8hc2k4" was ConfigMap "web-7g5t2k9m4h"
			  ~ data.mode: fast -> slow`},
		{name: "a suffix that is new", from: fmt.Sprintf(config, "web", "fast"), to: fmt.Sprintf(config, "web-dtbf8hc2k4", "fast"), want: `
			renamed ConfigMap "web-dtbf8hc2k4" was ConfigMap "web"`},
		{name: "what follows",
			from: documents(fmt.Sprintf(config, "web-7g5t2k9m4h", "fast"), fmt.Sprintf(mounting, "web-7g5t2k9m4h")),
			to:   documents(fmt.Sprintf(config, "web-dtbf8hc2k4", "slow"), fmt.Sprintf(mounting, "web-dtbf8hc2k4")), want: `
			renamed ConfigMap "web-dtbf8hc2k4" was ConfigMap "web-7g5t2k9m4h"
			  ~ data.mode: fast -> slow
			changed Deployment.apps "web"
			  ~ spec.template.spec.containers[web].env[A].value: http://web-7g5t2k9m4h.shop.svc/ -> http://web-dtbf8hc2k4.shop.svc/ follows ConfigMap shop/web-dtbf8hc2k4
			  ~ spec.template.spec.containers[web].env[B].value: x-web-7g5t2k9m4h -> x-web-dtbf8hc2k4
			  ~ spec.template.spec.containers[web].envFrom[0].configMapRef.name: web-7g5t2k9m4h -> web-dtbf8hc2k4 follows ConfigMap shop/web-dtbf8hc2k4
			  ~ spec.template.spec.imagePullSecrets[web-dtbf8hc2k4].name: web-7g5t2k9m4h -> web-dtbf8hc2k4 follows ConfigMap shop/web-dtbf8hc2k4
			  ~ spec.template.spec.volumes[config].configMap.name: web-7g5t2k9m4h -> web-dtbf8hc2k4 follows ConfigMap shop/web-dtbf8hc2k4`},
		{name: "several candidates: the most alike first",
			from: documents(fmt.Sprintf(config, "web-11111111", "aaaa"), fmt.Sprintf(config, "web-22222222", "bbbb")),
			to:   documents(fmt.Sprintf(config, "web-33333333", "bbbx"), fmt.Sprintf(config, "web-44444444", "aaax"), fmt.Sprintf(config, "web-55555555", "zzzz")), want: `
			renamed ConfigMap "web-33333333" was ConfigMap "web-22222222"
			  ~ data.mode: bbbb -> bbbx
			renamed ConfigMap "web-44444444" was ConfigMap "web-11111111"
			  ~ data.mode: aaaa -> aaax
			added ConfigMap "web-55555555"`},
		{name: "another namespace is no rename",
			from: fmt.Sprintf(config, "web-11111111, namespace: a", "x"), to: fmt.Sprintf(config, "web-22222222, namespace: b", "x"), want: `
			removed ConfigMap "a/web-11111111"
			added ConfigMap "b/web-22222222"`},
		{name: "equal content with another prefix",
			from: documents(fmt.Sprintf(config, "dev-config", "fast"), fmt.Sprintf(account, "dev-web"), fmt.Sprintf(prefixed, "dev")),
			to:   documents(fmt.Sprintf(config, "prod-config", "fast"), fmt.Sprintf(account, "prod-web"), fmt.Sprintf(prefixed, "prod")), want: `
			renamed ConfigMap "prod-config" was ConfigMap "dev-config"
			renamed ServiceAccount "prod-web" was ServiceAccount "dev-web"
			renamed Deployment.apps "prod-web" was Deployment.apps "dev-web"
			  ~ spec.template.spec.serviceAccountName: dev-web -> prod-web follows ServiceAccount shop/prod-web
			  ~ spec.template.spec.volumes[config].configMap.name: dev-config -> prod-config follows ConfigMap shop/prod-config`},
		{name: "equal content under unlike names",
			from: fmt.Sprintf(config, "alpha", "fast"), to: fmt.Sprintf(config, "zebra", "fast"), want: `
			removed ConfigMap "alpha"
			added ConfigMap "zebra"`},
		{name: "much equal content under unlike names",
			from: fmt.Sprintf(config, "alpha", "fast, a: b, c: d, e: f"), to: fmt.Sprintf(config, "zebra", "fast, a: b, c: d, e: f"), want: `
			renamed ConfigMap "zebra" was ConfigMap "alpha"`},
		{name: "two empty objects", from: fmt.Sprintf(account, "alpha"), to: fmt.Sprintf(account, "zebra"), want: `
			removed ServiceAccount "alpha"
			added ServiceAccount "zebra"`},
		{name: "names that do not follow each other",
			from: documents(fmt.Sprintf(config, "web-alpha", "web-beta"), fmt.Sprintf(account, "web-beta")),
			to:   documents(fmt.Sprintf(config, "web-gamma", "web-gamma"), fmt.Sprintf(account, "web-delta")), want: `
			removed ConfigMap "web-alpha"
			added ConfigMap "web-gamma"
			renamed ServiceAccount "web-delta" was ServiceAccount "web-beta"`},
		{name: "a name that follows one that does not",
			from: documents(fmt.Sprintf(config, "web-alpha", "web-beta"), fmt.Sprintf(account, "web-beta"), fmt.Sprintf(config, "web-one", "web-alpha")),
			to:   documents(fmt.Sprintf(config, "web-gamma", "web-gamma"), fmt.Sprintf(account, "web-delta"), fmt.Sprintf(config, "web-two", "web-gamma")), want: `
			removed ConfigMap "web-alpha"
			added ConfigMap "web-gamma"
			removed ConfigMap "web-one"
			added ConfigMap "web-two"
			renamed ServiceAccount "web-delta" was ServiceAccount "web-beta"`},
	} {
		t.Run(tt.name, tt.run)
	}
}

// Of several kinds with one name the field says which one it follows.
func TestFollowsTheKindThatIsMeant(t *testing.T) {
	t.Parallel()
	var pairs []pair
	for _, kind := range []string{"Service", "ServiceAccount", "ConfigMap", "Secret", "PersistentVolumeClaim"} {
		side := func(name string) *item {
			return &item{Object: decoded(t, fmt.Sprintf("{kind: %s, metadata: {name: %s}}", kind, name))[0], namespace: "shop"}
		}
		pairs = append(pairs, pair{from: side("old"), to: side("new"), change: Renamed})
	}
	r := newRenames(pairs)
	for path, want := range map[string]string{
		"spec.serviceAccountName":                    "ServiceAccount shop/new",
		"spec.service.name":                          "Service shop/new",
		"env[A].valueFrom.configMapKeyRef.name":      "ConfigMap shop/new",
		"volumes[a].secret.secretName":               "Secret shop/new",
		"volumes[a].persistentVolumeClaim.claimName": "PersistentVolumeClaim shop/new",
		"spec.other": "ConfigMap shop/new",
	} {
		var steps []step
		for _, s := range pathSegments(path) {
			steps = append(steps, step{key: s})
		}
		if got := r.follows(steps, "old", "new"); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
		for _, other := range [][2]any{{"old", "other"}, {"older", "newer"}, {"new", "old"}, {"old", nil}, {int64(1), "new"}} {
			if got := r.follows(steps, other[0], other[1]); got != "" {
				t.Errorf("%v: got %q", other, got)
			}
		}
	}
}

func TestReplaceWord(t *testing.T) {
	t.Parallel()
	for _, tt := range [][4]string{
		{"web", "web", "api", "api"}, {"web.shop.svc", "web", "api", "api.shop.svc"}, {"my-web", "web", "api", "my-web"},
		{"web-2", "web", "api", "web-2"}, {"a/web:web", "web", "api", "a/api:api"}, {"aaa", "aa", "b", "aaa"}, {"", "", "b", ""}, {"x", "", "b", "x"},
	} {
		if got := replaceWord(tt[0], tt[1], tt[2]); got != tt[3] {
			t.Errorf("%q: got %q, want %q", tt[0], got, tt[3])
		}
	}
}
