package report

import (
	"bytes"
	"fmt"
	"strings"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/compare"
)

const (
	oldCommit = "0123456789abcdef0123456789abcdef01234567"
	newCommit = "89abcdef0123456789abcdef0123456789abcdef"
	helm3     = "helm3/v3.22.0"
	helm4     = "helm4/v4.1.0"
	none      = -1
)

func engines() *compare.Report {
	return &compare.Report{From: compare.Side{Renderer: "helm3", Commit: oldCommit + "-dirty"}, To: compare.Side{Renderer: "helm4", Commit: oldCommit + "-dirty"}}
}

func revisions() *compare.Report {
	return &compare.Report{From: compare.Side{Ref: "main", Commit: oldCommit}, To: compare.Side{Ref: "HEAD", Commit: newCommit}}
}

func deployment(name string) object.ID {
	return object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: name}
}

func configMap(name string) object.ID {
	return object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}
}

func changed(path string, from, to any) compare.Field {
	return compare.Field{Path: path, Pointer: pointer(path), Change: compare.Changed, From: from, To: to, Cause: none}
}

func pointer(path string) string { return "/" + strings.ReplaceAll(path, ".", "/") }

func caused(cause int, f compare.Field) compare.Field {
	f.Cause = cause
	return f
}

// app is an application whose counts fit its objects.
func app(name string, status compare.Status, unchanged int, objects ...compare.Object) compare.Application {
	a := compare.Application{Name: name, Origin: "argocd/" + name + ".yaml:3", Status: status, Objects: objects, From: helm3, To: helm4}
	a.Counts.Unchanged = unchanged
	for _, o := range objects {
		switch o.Change {
		case compare.Added:
			a.Counts.Added++
		case compare.Removed:
			a.Counts.Removed++
		default:
			a.Counts.Changed++
		}
	}
	return a
}

// manifest is a Deployment as the engine prints it for the view side by side.
func manifest(name, image string, replicas int, more ...string) []byte {
	text := fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app.kubernetes.io/name: %[1]s
  name: %[1]s
  namespace: shop
spec:
  replicas: %[3]d
  selector:
    matchLabels:
      app.kubernetes.io/name: %[1]s
  template:
    metadata:
      labels:
        app.kubernetes.io/name: %[1]s
    spec:
      containers:
      - image: %[2]s
        name: web
        ports:
        - containerPort: 8080
          name: http
`, name, image, replicas)
	return []byte(text + strings.Join(more, ""))
}

const (
	image14 = "registry.example.com/shop/checkout:1.4.0@sha256:7d1c0b5c1f1b8ad7f2f3fd4f4bb63a1b4ef9fcf0c9f0c5f8d9a8b7c6d5e4f3a2"
	image15 = "registry.example.com/shop/checkout:1.5.0@sha256:0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b"
)

// cases are the reports of the goldens.
func cases() map[string]*compare.Report {
	return map[string]*compare.Report{
		"nothing": nothing(), "one": one(), "causes": causes(), "renames": renames(), "order": order(), "secrets": secrets(),
		"refused": refused(), "hostile": hostile(), "multiline": multiline(), "empty": engines(), "many": many(300, 2),
	}
}

func nothing() *compare.Report {
	r := engines()
	r.Applications = []compare.Application{app("checkout", compare.StatusUnchanged, 12), app("payments", compare.StatusUnchanged, 7)}
	return r
}

func one() *compare.Report {
	r := revisions()
	object := compare.Object{ID: deployment("checkout"), Change: compare.Changed, Origin: "checkout/templates/deployment.yaml",
		Before: manifest("checkout", image14, 2), After: manifest("checkout", image15, 3, "        resources:\n          requests:\n            cpu: 100m\n"),
		Fields: []compare.Field{
			changed("spec.replicas", int64(2), int64(3)),
			changed("spec.template.spec.containers[web].image", image14, image15),
			{Path: "spec.template.spec.containers[web].resources", Pointer: "/spec/template/spec/containers/0/resources", Change: compare.Added,
				To: map[string]any{"requests": map[string]any{"cpu": "100m"}}, Cause: none},
			{Path: `spec.template.spec.nodeSelector["kubernetes.io/arch"]`, Pointer: "/spec/template/spec/nodeSelector/kubernetes.io~1arch", Change: compare.Removed, From: "amd64", Cause: none},
		}}
	checkout := app("checkout", compare.StatusChanged, 11, object)
	checkout.From, checkout.To = helm3, helm3
	r.Applications = []compare.Application{checkout, app("payments", compare.StatusUnchanged, 7)}
	return r
}

func causes() *compare.Report {
	r := engines()
	r.Notes = []string{"no Application names this repository; https://git.example.com/shop.git is taken for it"}
	label := `metadata.labels["helm.sh/chart"]`
	checksum := `spec.template.metadata.annotations["checksum/config"]`
	chart := func(name string) compare.Field {
		return caused(0, changed(label, name+"-1.4.0", name+"-1.5.0"))
	}
	sum := func(from, to string) compare.Field {
		return caused(1, changed(checksum, strings.Repeat(from, 16), strings.Repeat(to, 16)))
	}
	for i, name := range []string{"checkout", "orders", "payments"} {
		objects := []compare.Object{
			{ID: configMap(name), Change: compare.Changed, Fields: []compare.Field{chart(name)}},
			{ID: object.ID{Kind: "Service", Namespace: "shop", Name: name}, Change: compare.Changed, Fields: []compare.Field{chart(name), caused(3, changed("spec.ports[http].port", int64(80), int64(8080))),
				{Path: "spec.internalTrafficPolicy", Pointer: "/spec/internalTrafficPolicy", Change: compare.Added, To: "Local", Cause: 4}}},
			{ID: deployment(name), Change: compare.Changed, Fields: []compare.Field{chart(name), sum("9e1f", fmt.Sprintf("%da7c", i+3))}},
		}
		if name == "orders" {
			objects[2].Fields = append(objects[2].Fields, compare.Field{Path: "spec.template.spec.containers[web].env[LOG_LEVEL].value", Change: compare.Changed, From: "info", To: "debug", Cause: none})
		}
		r.Applications = append(r.Applications, app(name, compare.StatusChanged, 4, objects...))
	}
	token := compare.Field{Path: "data.token", Pointer: "/data/token", Change: compare.Changed, Hidden: true, Cause: 2}
	r.Applications = append(r.Applications, app("reports", compare.StatusChanged, 2,
		compare.Object{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "one"}, Change: compare.Changed, Fields: []compare.Field{token}},
		compare.Object{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "two"}, Change: compare.Changed, Fields: []compare.Field{token}}))
	all := []string{"checkout", "orders", "payments"}
	r.Causes = []compare.Cause{
		{Path: label, Change: compare.Changed, From: "1.4.0", To: "1.5.0", Objects: 9, Applications: all},
		{Path: checksum, Change: compare.Changed, Objects: 3, Applications: all},
		{Path: "data.token", Change: compare.Changed, Objects: 2, Applications: []string{"reports"}},
		{Path: "spec.ports[*].port", Change: compare.Changed, Whole: true, From: "80", To: "8080", Objects: 3, Applications: all},
		{Path: "spec.internalTrafficPolicy", Change: compare.Added, Whole: true, To: "Local", Objects: 3, Applications: all},
	}
	return r
}

func renames() *compare.Report {
	r := revisions()
	was, moved := configMap("web-5h2k9d4m7b"), object.ID{Group: "extensions", Kind: "Ingress", Namespace: "shop", Name: "web"}
	follows := compare.Field{Path: "spec.template.spec.volumes[config].configMap.name", Pointer: "/spec/template/spec/volumes/0/configMap/name",
		Change: compare.Changed, From: "web-5h2k9d4m7b", To: "web-8c6f2t9g5k", Follows: "ConfigMap shop/web-8c6f2t9g5k", Cause: none}
	r.Applications = []compare.Application{app("shop", compare.StatusChanged, 3,
		compare.Object{ID: configMap("web-8c6f2t9g5k"), Was: &was, Change: compare.Renamed, Origin: "shop/kustomization.yaml", Fields: []compare.Field{changed("data.LOG_LEVEL", "info", "debug")},
			Before: []byte("apiVersion: v1\ndata:\n  LOG_LEVEL: info\nkind: ConfigMap\nmetadata:\n  name: web-5h2k9d4m7b\n"),
			After:  []byte("apiVersion: v1\ndata:\n  LOG_LEVEL: debug\nkind: ConfigMap\nmetadata:\n  name: web-8c6f2t9g5k\n")},
		compare.Object{ID: object.ID{Kind: "Service", Namespace: "shop", Name: "web-canary"}, Change: compare.Added, Origin: "shop/canary.yaml",
			After: []byte("apiVersion: v1\nkind: Service\nmetadata:\n  name: web-canary\n")},
		compare.Object{ID: deployment("web"), Change: compare.Changed, Origin: "shop/web.yaml", Fields: []compare.Field{follows}},
		compare.Object{ID: object.ID{Group: "cert-manager.io", Kind: "Certificate", Namespace: "shop", Name: "web"}, Change: compare.Removed, Origin: "shop/certificate.yaml",
			Before: []byte("apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: web\n")},
		compare.Object{ID: object.ID{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "shop", Name: "web"}, Was: &moved, Change: compare.Changed, Origin: "shop/ingress.yaml",
			Fields: []compare.Field{changed("apiVersion", "extensions/v1beta1", "networking.k8s.io/v1")}},
	), app("search", compare.StatusAdded, 0, compare.Object{ID: deployment("search"), Change: compare.Added}),
		app("wishlist", compare.StatusRemoved, 0, compare.Object{ID: deployment("wishlist"), Change: compare.Removed})}
	r.Applications[1].From, r.Applications[2].To = "", ""
	return r
}

func order() *compare.Report {
	r := engines()
	r.Applications = []compare.Application{app("checkout", compare.StatusChanged, 3, compare.Object{ID: deployment("checkout"), Change: compare.Changed, Fields: []compare.Field{
		{Path: "spec.template.spec.containers", Pointer: "/spec/template/spec/containers", Change: compare.Changed, Order: true, From: []any{"proxy", "web"}, To: []any{"web", "proxy"}, Cause: none},
		changed("spec.template.spec.containers[web].args", []any{"--port", "8080"}, []any{"--port", "8080", "--verbose"}),
	}})}
	r.Applications[0].Notes = []string{"Secret shop/checkout: data.session differs on each render, and was left out"}
	return r
}

func secrets() *compare.Report {
	r := revisions()
	hidden := func(change compare.Change, key string) compare.Field {
		return compare.Field{Path: "data." + key, Pointer: "/data/" + key, Change: change, Hidden: true, Cause: none}
	}
	r.Applications = []compare.Application{app("payments", compare.StatusChanged, 6, compare.Object{
		ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "payments"}, Change: compare.Changed, Origin: "payments/templates/secret.yaml",
		Fields: []compare.Field{hidden(compare.Changed, "password"), hidden(compare.Added, "token"), hidden(compare.Removed, "user")},
		Before: []byte("apiVersion: v1\ndata:\n  password: (hidden)\n  user: (hidden)\nkind: Secret\nmetadata:\n  name: payments\n"),
		After:  []byte("apiVersion: v1\ndata:\n  password: (hidden, changed)\n  token: (hidden)\nkind: Secret\nmetadata:\n  name: payments\n")})}
	return r
}

func refused() *compare.Report {
	r := engines()
	payments := app("payments", compare.StatusRefused, 0)
	payments.To = ""
	payments.Problems = []compare.Problem{{Side: "to", Message: `payments/templates/service.yaml:12:14: .Values.port: got a string, want a number
payments/templates/service.yaml:15:14: .Values.targetPort: got a string, want a number`, Hint: "set port and targetPort to numbers in payments/values.yaml, or pin the application to helm3"}}
	shop := app("shop", compare.StatusRefused, 4, compare.Object{ID: deployment("shop"), Change: compare.Changed, Fields: []compare.Field{changed("spec.replicas", int64(2), int64(3))}})
	shop.Problems = []compare.Problem{{Source: "charts", Message: `the source "https://charts.example.com" is not in this repository`, Absent: true}}
	r.Applications = []compare.Application{payments, shop}
	return r
}

func multiline() *compare.Report {
	r := revisions()
	config := func(level string, more ...string) string {
		lines := []string{"server {", "  listen 8080;", "  server_name shop.example.com;", "", "  location / {", "    proxy_pass http://web;", "  }", "",
			"  error_log stderr " + level + ";", "  access_log off;", "  client_max_body_size 1m;", "  gzip on;", "}"}
		return strings.Join(append(lines, more...), "\n") + "\n"
	}
	r.Applications = []compare.Application{app("shop", compare.StatusChanged, 3, compare.Object{ID: configMap("nginx"), Change: compare.Changed, Fields: []compare.Field{
		changed(`data["nginx.conf"]`, config("warn"), config("info", "", "# end")),
		changed(`data["no-break"]`, "a\nb\n", "a\nb"),
		changed(`data["carriage"]`, "a\r\nb\n", "a\nb\n"),
		{Path: `data["notes.txt"]`, Change: compare.Added, To: "first\n\nthird\n", Cause: none},
		changed(`data["scalar"]`, "one", "one\ntwo\n"),
		{Path: "metadata.annotations", Change: compare.Removed, From: map[string]any{"example.com/contact": "the team that runs the shop, on weekdays", "example.com/tier": "front"}, Cause: none},
	}})}
	return r
}

// marks are what text from a repository can try.
var marks = []string{
	"</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "`a``b`", "`@shop", "```\n</details>", "a|b|c", "@shop/owners", "#123",
	"https://evil.example.com/x", "[link](https://evil.example.com)", "two\nlines", "\x1b[31mred\x1b[0m", "\u202egnp.exe", "\u009b31m", "</style>", "<!--", "{{.Style}}", "\xff\xfe", "~~~~", "a\u200bb",
	"![x](http://evil.example.com/x.png)", "javascript:alert(1)", "&lt;b&gt;", "/close", "'\"", "zero\x00byte",
}

func hostile() *compare.Report {
	r := &compare.Report{From: compare.Side{Renderer: "helm3", Ref: marks[0], Commit: marks[4]}, To: compare.Side{Renderer: marks[5], Ref: marks[10]}, Notes: marks}
	for i, mark := range marks {
		was := object.ID{Group: "example.com", Kind: mark, Namespace: mark, Name: mark + "-old"}
		a := app(mark, compare.StatusChanged, 1, compare.Object{ID: object.ID{Group: "example.com", Kind: mark, Namespace: mark, Name: mark}, Was: &was, Change: compare.Renamed, Origin: mark,
			Before: []byte("name: " + mark + "\nvalue: 1\n"), After: []byte("name: " + mark + "\nvalue: 2\n"),
			Fields: []compare.Field{changed(mark, mark, mark+" too"), changed(mark, "x", map[string]any{mark: mark}), changed(mark, mark+"\n"+mark+"\n1\n", mark+"\n"+mark+"\n2\n"),
				{Path: mark, Change: compare.Changed, From: mark, To: mark, Follows: mark, Cause: none}, {Path: mark, Change: compare.Changed, Order: true, From: []any{mark, "x"}, To: []any{"x", mark}, Cause: none},
				caused(i, changed(mark, mark, "x"))}})
		a.Origin, a.From, a.To = mark, mark, mark
		a.Notes = []string{mark}
		a.Problems = []compare.Problem{{Side: "from", Source: mark, Message: mark + "\n" + mark, Hint: mark}}
		a.Status = compare.StatusRefused
		r.Applications = append(r.Applications, a)
		r.Causes = append(r.Causes, compare.Cause{Path: mark, Change: compare.Changed, From: mark, To: "x", Objects: 1, Applications: []string{mark, mark}})
	}
	r.Applications = append(r.Applications, app("\x1b[31monly by causes", compare.StatusChanged, 0,
		compare.Object{ID: deployment("\x1b[31m"), Change: compare.Changed, Fields: []compare.Field{caused(0, changed("\x1b[31m", "\x1b[31m", "x"))}}))
	return r
}

// many is a report of n applications, of which every third changes in some objects
// that have manifests of a usual size.
func many(n, objects int) *compare.Report {
	r := engines()
	filler := strings.Repeat("        - name: SETTING\n          value: the value of a setting\n", 30)
	r.Causes = []compare.Cause{{Path: `metadata.labels["helm.sh/chart"]`, Change: compare.Changed, From: "1.4.0", To: "1.5.0"}}
	for i := range n {
		name := fmt.Sprintf("app-%03d", i)
		if i%3 != 0 {
			r.Applications = append(r.Applications, app(name, compare.StatusUnchanged, 10))
			continue
		}
		var list []compare.Object
		for j := range objects {
			name := fmt.Sprintf("%s-%d", name, j)
			o := compare.Object{ID: deployment(name), Change: compare.Changed, Origin: name + "/templates/deployment.yaml",
				Before: manifest(name, image14, 2, "        env:\n", filler, "        image: "+image14+"\n", filler), After: manifest(name, image15, 2, "        env:\n", filler, filler),
				Fields: []compare.Field{caused(0, changed(`metadata.labels["helm.sh/chart"]`, "web-1.4.0", "web-1.5.0"))}}
			if j%2 == 0 {
				o.Fields = append(o.Fields, changed("spec.template.spec.containers[web].image", image14, image15), changed("spec.replicas", int64(2), int64(3+i)))
			}
			list = append(list, o)
		}
		r.Applications = append(r.Applications, app(name, compare.StatusChanged, 10, list...))
		r.Causes[0].Objects += objects
		r.Causes[0].Applications = append(r.Causes[0].Applications, name)
	}
	return r
}

// render is a report in the format of a golden, by its extension.
func render(r *compare.Report, format string) (string, error) {
	var b bytes.Buffer
	var err error
	switch format {
	case "txt":
		err = Text(&b, r, Options{})
	case "json":
		err = JSON(&b, r)
	case "md":
		err = Markdown(&b, r, 65536)
	case "html":
		err = HTML(&b, r)
	}
	return b.String(), err
}
