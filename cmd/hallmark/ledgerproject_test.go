package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/controller"
	"hallmark.dev/hallmark/internal/ledger/controller/apitest"
	"hallmark.dev/hallmark/internal/ledger/projection"
	"hallmark.dev/hallmark/internal/pgtest"
)

// A projector is a folder of addresses and an API server.
type projector struct {
	*apitest.Server
	databases  string
	kubeconfig string
	t          *testing.T
}

func newProjector(t *testing.T) *projector {
	t.Helper()
	api := apitest.New(t)
	return &projector{api, t.TempDir(), api.Kubeconfig(t, "shop"), t}
}

// address says where a database is.
func (p *projector) address(name, dsn string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.databases, name), []byte(dsn+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// ask creates an object.
func (p *projector) ask(namespace, name, database string, keys ...string) {
	o := &projection.MigrationLedger{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: projection.Spec{Database: database}}
	for _, key := range keys {
		o.Spec.Changes = append(o.Spec.Changes, projection.ChangeSpec{Key: key})
	}
	p.Put(o)
}

// command is `hallmark ledger project`, in an environment that names no database and no
// cluster.
func (p *projector) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), "hallmark", append([]string{"ledger", "project"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.t.TempDir(), "KUBECONFIG=" + p.kubeconfig}
	return cmd
}

// run is the command's exit code and output. No output has an address.
func (p *projector) run(cmd *exec.Cmd) (code int, stdout, stderr string) {
	p.t.Helper()
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	for _, secret := range []string{pgtest.Password, "postgres", "127.0.0.1"} {
		if strings.Contains(out.String()+text.String(), secret) {
			p.t.Errorf("%q is in\n%s%s", secret, out.String(), text.String())
		}
	}
	return cmd.ProcessState.ExitCode(), out.String(), text.String()
}

// ready is the status and reason of an object's condition Ready.
func ready(o *projection.MigrationLedger) string {
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// ledgerDatabase is a database with a ledger in which some keys are recorded as done.
func ledgerDatabase(t *testing.T, keys ...string) (dsn string) {
	t.Helper()
	dsn = pgtest.Start(t).Database(t)
	db, err := ledger.Open(ledger.Config{DSN: dsn, Source: "the test", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l := ledger.New(db, "")
	if err := l.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, key := range keys {
		token := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		if _, err := l.Claim(t.Context(), ledger.Request{Key: key, SourceRevision: "4b825dc", Lease: time.Hour, Token: token}); err != nil {
			t.Fatal(err)
		}
		if _, done, err := l.Complete(t.Context(), key, token, ledger.Outcome{State: ledger.Succeeded}); err != nil || !done {
			t.Fatal(done, err)
		}
	}
	return dsn
}

func TestProjectOnce(t *testing.T) {
	t.Parallel()
	p := newProjector(t)
	p.address("orders", ledgerDatabase(t, "a"))
	p.ask("shop", "done", "orders", "a")
	p.ask("shop", "waits", "orders", "a", "b")
	p.ask("web", "other", "orders", "b")

	code, stdout, stderr := p.run(p.command("--databases", p.databases))
	if want := "shop/done    1/1   ready       Succeeded\nshop/waits   1/2   not ready   NotRecorded\n"; code != exitDone || stdout != want || stderr != "" {
		t.Errorf("got code %d\n%s%s\nwant\n%s", code, stdout, stderr, want)
	}
	if o := p.Get("web", "other"); len(o.Status.Conditions) > 0 {
		t.Error("wrote to a namespace that is not the context's")
	}
	code, stdout, stderr = p.run(p.command("--databases", p.databases, "-A", "-o", "json"))
	var got struct{ Ledgers []projected }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitDone || stderr != "" || len(got.Ledgers) != 3 {
		t.Fatalf("got code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if want := (projected{"web", "other", "0/1", false, "NotRecorded", "waiting for b", ""}); got.Ledgers[2] != want {
		t.Errorf("got %+v, want %+v", got.Ledgers[2], want)
	}

	// One that cannot be read is written and told, and is a failure.
	p.ask("web", "unread", "stock", "a")
	code, stdout, stderr = p.run(p.command("--databases", p.databases, "--namespace", "web"))
	if code != exitFailed || !strings.Contains(stdout, "web/unread         not ready   DatabaseUnreachable\n") ||
		stderr != "hallmark: error: database \"stock\": no address is configured: --databases has no file \"stock\"\nhallmark: hint: "+hintDatabases+"\n" {
		t.Errorf("got code %d\n%s%s", code, stdout, stderr)
	}
	if got := ready(p.Get("web", "unread")); got != "False DatabaseUnreachable" {
		t.Errorf("got %s", got)
	}
}

// Without --databases there is one, at the address that the other commands use.
func TestProjectDefaultDatabase(t *testing.T) {
	t.Parallel()
	p := newProjector(t)
	p.ask("shop", "done", "", "a")
	p.ask("shop", "other", "orders", "a")
	dsn := ledgerDatabase(t, "a")
	for name, with := range map[string]func(*exec.Cmd){
		"variable": func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, ledgerDSN+"="+dsn) },
		"file": func(cmd *exec.Cmd) {
			p.address("dsn", dsn)
			cmd.Args = append(cmd.Args, "--dsn-file", filepath.Join(p.databases, "dsn"))
		},
	} {
		cmd := p.command()
		with(cmd)
		code, stdout, stderr := p.run(cmd)
		if code != exitFailed || !strings.Contains(stdout, "shop/done    1/1   ready       Succeeded\n") ||
			!strings.HasPrefix(stderr, `hallmark: error: database "orders": no address is configured: without --databases there is "default" alone`) {
			t.Errorf("%s: got code %d\n%s%s", name, code, stdout, stderr)
		}
	}
}

func TestProjectRefuses(t *testing.T) {
	t.Parallel()
	p := newProjector(t)
	empty := t.TempDir()
	for name, tc := range map[string]struct {
		args   []string
		env    string
		code   int
		stderr string
	}{
		"output":       {[]string{"-o", "yaml"}, "", exitUsage, "-o: got \"yaml\", want text or json"},
		"interval":     {[]string{"--interval", "10ms"}, "", exitUsage, "--interval: got 10ms, want 1s or more"},
		"namespaces":   {[]string{"-A", "-n", "shop"}, "", exitUsage, "--namespace and --all-namespaces exclude each other"},
		"level":        {[]string{"--log-level", "loud"}, "", exitUsage, "--log-level: got \"loud\""},
		"both":         {[]string{"--databases", empty, "--dsn-file", "dsn"}, "", exitUsage, "--databases and --dsn-file exclude each other"},
		"argument":     {[]string{"shop"}, "", exitUsage, `unknown command "shop"`},
		"address":      {[]string{"--databases", "postgres://a:marker-pw@db/x"}, "", exitUsage, "--databases: got an address"},
		"no database":  {nil, "", exitUsage, "no database given"},
		"no folder":    {[]string{"--databases", filepath.Join(empty, "absent")}, "", exitFailed, "--databases: "},
		"no file":      {[]string{"--dsn-file", filepath.Join(empty, "absent")}, "", exitFailed, "--dsn-file"},
		"no cluster":   {[]string{"--databases", empty}, "KUBECONFIG=" + filepath.Join(empty, "absent"), exitFailed, "no cluster is given"},
		"no config":    {[]string{"--databases", empty, "--kubeconfig", filepath.Join(empty, "absent")}, "", exitFailed, "--kubeconfig: "},
		"a folder":     {[]string{"--databases", empty, "--kubeconfig", empty}, "", exitFailed, "--kubeconfig \"" + empty + "\": it is not a regular file"},
		"http address": {[]string{"--databases", empty, "--watch", "--http-address", "nowhere"}, "", exitFailed, "--http-address: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := p.command(tc.args...)
			cmd.Env = append(cmd.Env, tc.env)
			code, stdout, stderr := p.run(cmd)
			if code != tc.code || stdout != "" || !strings.Contains(stderr, "hallmark: error: "+tc.stderr) || strings.Contains(stderr, "marker-pw") {
				t.Errorf("got code %d, %q, and %s", code, stdout, stderr)
			}
		})
	}
	t.Run("no definition", func(t *testing.T) {
		t.Parallel()
		p := newProjector(t)
		p.Refuse(func(apitest.Request) *metav1.Status {
			return apitest.Status(http.StatusNotFound, metav1.StatusReasonNotFound)
		})
		for _, args := range [][]string{nil, {"--watch", "--http-address", ""}} {
			code, _, stderr := p.run(p.command(append(args, "--databases", p.databases)...))
			if code != exitFailed || !strings.Contains(stderr, "hallmark: error: listing MigrationLedgers: the API server knows no MigrationLedger\nhallmark: hint: ") {
				t.Errorf("got code %d and %s", code, stderr)
			}
		}
	})
}

// projecting is a `hallmark ledger project --watch` that runs.
type projecting struct {
	*served
	t *testing.T
}

func (p *projector) watch(args ...string) *projecting {
	p.t.Helper()
	cmd := p.command(append([]string{"--watch", "--databases", p.databases, "--interval", "1s", "--http-address", "127.0.0.1:0"}, args...)...)
	s := &served{Cmd: cmd, ended: make(chan struct{})}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if s.ProcessState == nil {
			_ = s.Process.Kill()
			_ = s.Wait()
		}
	})
	started := make(chan struct{})
	go func() {
		defer close(s.ended)
		start := sync.OnceFunc(func() { close(started) })
		defer start()
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			s.mu.Lock()
			fmt.Fprintf(&s.log, "%s\n", lines.Bytes())
			s.mu.Unlock()
			var line struct{ Msg, Address string }
			_ = json.Unmarshal(lines.Bytes(), &line) // what is no JSON is for the log
			switch line.Msg {
			case "serving metrics and probes":
				s.http = line.Address
			case "projecting":
				start()
			}
		}
	}()
	if <-started; s.http == "" {
		p.t.Fatalf("it does not serve:\n%s", s.logged())
	}
	return &projecting{s, p.t}
}

// metric is the value of a metric of the process.
func (p *projecting) metric(name string) float64 {
	p.t.Helper()
	_, text := p.get(p.t, "/metrics")
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+" "); found {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return number
		}
	}
	p.t.Fatalf("no metric %s in\n%s", name, text)
	return 0
}

const queriesOK = `hallmark_ledger_queries_total{result="OK"}`

// looks waits until the process has asked so many times more, and calls each meanwhile.
func (p *projecting) looks(more int, each func()) {
	p.t.Helper()
	want := p.metric(queriesOK) + float64(more)
	for deadline := time.Now().Add(5 * time.Minute); p.metric(queriesOK) < want; time.Sleep(20 * time.Millisecond) {
		if each(); time.Now().After(deadline) {
			p.t.Fatalf("it does not ask:\n%s", p.logged())
		}
	}
}

// What kubelet and an operator see, with addresses that change.
func TestProjectWatch(t *testing.T) {
	t.Parallel()
	p := newProjector(t)
	dsn := ledgerDatabase(t, "a")
	p.ask("shop", "a", "orders", "a")
	p.ask("shop", "outside", "../orders", "a")
	p.address(".orders", dsn)
	p.ask("shop", "hidden", ".orders", "a")
	s := p.watch()
	is := func(name, want string) {
		t.Helper()
		p.Await(t, "shop", name, func(o *projection.MigrationLedger) bool { return ready(o) == want })
	}
	is("a", "False DatabaseUnreachable")
	p.address("orders", strings.Replace(dsn, "marker-", "wrong-", 1))
	p.Await(t, "shop", "a", func(o *projection.MigrationLedger) bool {
		return strings.Contains(fmt.Sprint(o.Status.Conditions), "AccessDenied")
	})
	p.address("orders", dsn)
	is("a", "True Succeeded")
	is("outside", "False DatabaseUnreachable")
	is("hidden", "False DatabaseUnreachable")
	for _, page := range []string{"/healthz", "/readyz"} {
		if code, text := s.get(t, page); code != http.StatusOK {
			t.Errorf("got %d %s from %s", code, text, page)
		}
	}
	if err := os.Remove(filepath.Join(p.databases, "orders")); err != nil {
		t.Fatal(err)
	}
	o := p.Await(t, "shop", "a", func(o *projection.MigrationLedger) bool {
		return strings.Contains(fmt.Sprint(o.Status.Conditions), "DatabaseNotConfigured")
	})
	if ready(o) != "True Succeeded" {
		t.Errorf("got %s, want the facts as they were", ready(o))
	}
	if code := s.stop(t); code != exitDone {
		t.Errorf("got exit code %d", code)
	}
	log := s.logged()
	if !strings.HasSuffix(log, `"msg":"stopped"}`+"\n") || strings.Contains(log, "postgres") || strings.Contains(log, pgtest.Password) || strings.Contains(log, "wrong-p") {
		t.Errorf("got log %s", log)
	}
}

// A thousand ledgers of twenty changes take one query in each interval and less than 64
// MiB of anonymous memory.
func TestProjectScale(t *testing.T) {
	t.Parallel()
	ledgers, changes, limit := 1000, 20, 64<<20
	if raceDetector { // what it adds is no part of hallmark
		ledgers, limit = 100, 1<<40
	}
	p := newProjector(t)
	dsn := ledgerDatabase(t)
	pgtest.Start(t).Exec(t, dsn, fmt.Sprintf(`INSERT INTO hallmark.ledger_changes
		SELECT format('checkout-%%s:add-order-index-%%s:v3', l, c), 'production-east', md5('revision') || '01234567', 'SUCCEEDED', 1, 1, gen_random_uuid(), NULL,
		now(), now(), '20260102030405', 'sha256:' || md5(c::text) || md5(c::text), gen_random_uuid(), 'checkout-migrate-' || l || '-x7k2p', '',
		'[{"name": "index-is-valid", "holds": true, "checkedAt": "2026-01-02T03:04:05Z"}]'
		FROM generate_series(0, %d) AS l, generate_series(0, %d) AS c`, ledgers-1, changes-1))
	ask := func(from, to int) {
		for l := from; l < to; l++ {
			var keys []string
			for c := range changes {
				keys = append(keys, fmt.Sprintf("checkout-%d:add-order-index-%d:v3", l, c))
			}
			p.ask("shop", fmt.Sprintf("checkout-%d", l), "orders", keys...)
		}
	}
	// Most have their status already: the process writes fifty a second.
	const fresh = 50
	ask(0, ledgers-fresh)
	p.fill(dsn)
	ask(ledgers-fresh, ledgers)

	proxy := pgtest.NewProxy(t, dsn)
	p.address("orders", proxy.DSN)
	s := p.watch()
	most := 0
	measure := func() { most = max(most, anonymous(t, s.Process.Pid)) }
	for l := ledgers - fresh; l < ledgers; l++ {
		p.Await(t, "shop", fmt.Sprintf("checkout-%d", l), func(o *projection.MigrationLedger) bool {
			measure()
			return ready(o) == "True Succeeded"
		})
	}
	s.looks(1, measure)
	began, queries, trips, writes := time.Now(), s.metric(queriesOK), proxy.RoundTrips(), len(p.Requests())
	s.looks(4, measure)
	took, asked := proxy.RoundTrips()-trips, s.metric(queriesOK)-queries
	t.Logf("%d bytes of anonymous memory at most, %d round trips in %v looks and %s", most, took, asked, time.Since(began))
	if most >= limit {
		t.Errorf("got %d bytes, want less than %d", most, limit)
	}
	// A look can go on at either end.
	if float64(took) > asked+1 || float64(took) < asked-1 || asked > time.Since(began).Seconds()+2 {
		t.Errorf("got %d round trips in %v looks and %s, with a look each second", took, asked, time.Since(began))
	}
	if more := len(p.Requests()) - writes; more != 0 {
		t.Errorf("%d requests although nothing changed", more)
	}
	if code := s.stop(t); code != exitDone {
		t.Errorf("got exit code %d", code)
	}
}

// fill writes the status of all objects.
func (p *projector) fill(dsn string) {
	p.t.Helper()
	db, err := ledger.Open(ledger.Config{DSN: dsn, Source: "the test", Timeout: time.Minute})
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	c, err := controller.New(controller.Options{
		API: p.Config(), Databases: func(_ string, use func(*ledger.DB) error) error { return use(db) },
		Interval: time.Hour, Log: slog.New(slog.DiscardHandler), Now: time.Now, Random: func() float64 { return 0 },
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := c.Once(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// anonymous is the memory of a process that is no file's, in bytes.
func anonymous(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, syscall.ENOENT) {
		t.Skip("there is no /proc")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(status), "RssAnon:")
	var kilobytes int
	if _, err := fmt.Sscan(text, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
