package controller

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/controller/apitest"
	"hallmark.dev/hallmark/internal/ledger/projection"
	"hallmark.dev/hallmark/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const (
	first  = "shop:add-order-index:v3"
	second = "shop:fill-totals:v1"
	hour   = time.Hour
	// quick is an interval for tests that wait for the next look.
	quick = 50 * time.Millisecond
	token = "00000000-0000-4000-8000-000000000001"
)

// A fixture is a database with a ledger, an API server, and a controller between them.
type fixture struct {
	*Controller
	api    *apitest.Server
	ledger *ledger.Ledger
	dsn    string
	log    *log
}

// log is what was logged.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// clock is time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func installed(t testing.TB) (dsn string, l *ledger.Ledger) {
	t.Helper()
	dsn = pgtest.Start(t).Database(t)
	l = ledger.New(open(t, dsn), "")
	if err := l.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dsn, l
}

func open(t testing.TB, dsn string) *ledger.DB {
	t.Helper()
	db, err := ledger.Open(ledger.Config{DSN: dsn, Source: "the test", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// databases are those of some addresses.
func databases(t testing.TB, dsns map[string]string) Databases {
	t.Helper()
	dbs := map[string]*ledger.DB{}
	for name, dsn := range dsns {
		dbs[name] = open(t, dsn)
	}
	return func(name string, use func(*ledger.DB) error) error {
		if dbs[name] == nil {
			return fmt.Errorf("%w for %q", ErrNotConfigured, name)
		}
		return use(dbs[name])
	}
}

// set is a fixture whose database is "default".
func set(t testing.TB, edit ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{api: apitest.New(t), log: &log{}}
	f.dsn, f.ledger = installed(t)
	o := Options{
		API: f.api.Config(), Databases: databases(t, map[string]string{"default": f.dsn}), Interval: quick,
		Log: slog.New(slog.NewJSONHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now: time.Now, Random: func() float64 { return 0.5 }, Version: "test",
	}
	for _, e := range edit {
		e(&o)
	}
	var err error
	if f.Controller, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if strings.Contains(f.log.String(), pgtest.Password) || strings.Contains(f.log.String(), "127.0.0.1") {
			t.Errorf("the log has an address:\n%s", f.log)
		}
		if t.Failed() {
			t.Logf("logged:\n%.20000s", f.log)
		}
	})
	return f
}

// watch runs the controller until the test ends.
func (f *fixture) watch(t testing.TB) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Watch(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the watch ended with %v", err)
		}
	})
}

// asks is an object that asks for keys.
func asks(namespace, name string, keys ...string) *projection.MigrationLedger {
	o := &projection.MigrationLedger{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, key := range keys {
		o.Spec.Changes = append(o.Spec.Changes, projection.ChangeSpec{Key: key})
	}
	return o
}

// claim begins a change.
func (f *fixture) claim(t testing.TB, key string, lease time.Duration) {
	t.Helper()
	claim, err := f.ledger.Claim(t.Context(), ledger.Request{Key: key, SourceRevision: "4f1c2ad", Lease: lease, Token: token})
	if err != nil || !claim.Granted {
		t.Fatalf("got %+v, %v", claim, err)
	}
}

// record records a change as done.
func (f *fixture) record(t testing.TB, keys ...string) {
	t.Helper()
	for i, key := range keys {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", time.Now().UnixNano()%1e9+int64(i))
		if _, err := f.ledger.Claim(t.Context(), ledger.Request{Key: key, SourceRevision: "4f1c2ad", Lease: hour, Token: id}); err != nil {
			t.Fatal(err)
		}
		if _, done, err := f.ledger.Complete(t.Context(), key, id, ledger.Outcome{State: ledger.Succeeded}); err != nil || !done {
			t.Fatalf("got %v, %v", done, err)
		}
	}
}

// condition is that of a type, as status and reason: "True Succeeded"; "" where there
// is none.
func condition(o *projection.MigrationLedger, kind string) string {
	for _, c := range o.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// is waits for a condition.
func (f *fixture) is(t testing.TB, namespace, name, kind, want string) *projection.MigrationLedger {
	t.Helper()
	return f.api.Await(t, namespace, name, func(o *projection.MigrationLedger) bool { return condition(o, kind) == want })
}

// count is how many requests there were of a verb.
func (f *fixture) count(verb string) int {
	n := 0
	for _, r := range f.api.Requests() {
		if r.Verb == verb {
			n++
		}
	}
	return n
}

// metric is the value of one, with its labels as they are written.
func (f *fixture) metric(t testing.TB, name string) float64 {
	t.Helper()
	text := f.get(t, "/metrics", 200)
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+" "); found {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return number
		}
	}
	t.Fatalf("no metric %s in\n%s", name, text)
	return 0
}

func (f *fixture) get(t testing.TB, page string, code int) string {
	t.Helper()
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, httptest.NewRequest("GET", page, nil))
	if w.Code != code {
		t.Errorf("%s: got %d %s, want %d", page, w.Code, w.Body, code)
	}
	return w.Body.String()
}

// queries is how many queries succeeded.
func (f *fixture) queries(t testing.TB) float64 {
	t.Helper()
	return f.metric(t, `hallmark_ledger_queries_total{result="OK"}`)
}

// looks waits until the databases were asked so many times more.
func (f *fixture) looks(t testing.TB, more int) {
	t.Helper()
	before := f.queries(t)
	eventually(t, "looks at the database", func() bool { return f.queries(t) >= before+float64(more) })
}

// eventually waits until something is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there are no %s", what)
		}
	}
}

// rights is whether all requests were ones that the Role of the manifests allows.
func (f *fixture) rights(t testing.TB) {
	t.Helper()
	allowed := []string{"get migrationledgers", "list migrationledgers", "watch migrationledgers", "patch migrationledgers/status"}
	for _, r := range f.api.Requests() {
		if !slices.Contains(allowed, r.Verb+" "+r.Resource) {
			t.Errorf("asked for %s of %s", r.Verb, r.Resource)
		}
	}
}
