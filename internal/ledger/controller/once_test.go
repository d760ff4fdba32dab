package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/controller/apitest"
	"hallmark.dev/hallmark/internal/ledger/projection"
	"hallmark.dev/hallmark/internal/pgtest"
)

func TestOnce(t *testing.T) {
	t.Parallel()
	f := set(t)
	f.record(t, first)
	f.api.Put(asks("shop", "done", first))
	f.api.Put(asks("shop", "waits", first, second))
	f.api.Put(asks("web", "done", first))
	outcomes, err := f.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range outcomes {
		got = append(got, fmt.Sprint(o.Namespace, "/", o.Name, " ", o.Status.Summary, " ", reason(o.Status), " ", o.Err))
	}
	if want := "shop/done 1/1 Succeeded <nil>, shop/waits 1/2 NotRecorded <nil>, web/done 1/1 Succeeded <nil>"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
	for _, o := range outcomes {
		if stored := f.api.Get(o.Namespace, o.Name); !projection.Equal(stored.Status, o.Status) {
			t.Errorf("%s: stored %+v, told %+v", o.Name, stored.Status, o.Status)
		}
	}
	if n := f.queries(t); n != 1 {
		t.Errorf("three objects of one database took %v queries", n)
	}
	written := f.count("patch")
	if _, err := f.Once(t.Context()); err != nil || written != 3 || f.count("patch") != written {
		t.Errorf("wrote %d, and then %d although nothing had changed; %v", written, f.count("patch")-written, err)
	}
	f.rights(t)
}

// The table of another tool, and a tool that is none.
func TestTools(t *testing.T) {
	t.Parallel()
	f := set(t)
	pgtest.Start(t).Exec(t, f.dsn, `CREATE TABLE goose_db_version (id int PRIMARY KEY, version_id bigint NOT NULL, is_applied bool NOT NULL, tstamp timestamp);
		INSERT INTO goose_db_version VALUES (1, 0, true, now()), (2, 20260101, true, now())`)
	for name, edit := range map[string]func(*projection.Spec){
		"goose":  func(s *projection.Spec) { s.Tool = "goose" },
		"table":  func(s *projection.Spec) { s.Tool, s.Table = "goose", "public.goose_db_version" },
		"absent": func(s *projection.Spec) { s.Tool = "flyway" },
		"none":   func(s *projection.Spec) { s.Tool = "gander" },
	} {
		o := asks("shop", name, "20260101", "20260202")
		edit(&o.Spec)
		f.api.Put(o)
	}
	if _, err := f.Once(t.Context()); err == nil || !strings.Contains(err.Error(), `no table "flyway_schema_history"`) || !strings.Contains(err.Error(), `no tool "gander"`) {
		t.Errorf("got %v", err)
	}
	for name, want := range map[string]string{"goose": "False StateUnknown", "table": "False StateUnknown", "absent": "False DatabaseUnreachable", "none": "False DatabaseUnreachable"} {
		if got := condition(f.api.Get("shop", name), "Ready"); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if o := f.api.Get("shop", "goose"); o.Status.Summary != "1/2" {
		t.Errorf("got %+v", o.Status)
	}
}

// What the time of conditions is, the database says.
func TestTimeIsTheDatabases(t *testing.T) {
	t.Parallel()
	ours := &clock{}
	f := set(t, func(o *Options) { o.Now = ours.Now })
	f.record(t, first)
	f.api.Put(asks("shop", "a", first))
	outcomes, err := f.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if at := outcomes[0].Status.Conditions[0].LastTransitionTime; at.Year() < 2000 {
		t.Errorf("got %s, which is this process's clock", at)
	}
}

func TestOncePages(t *testing.T) {
	t.Parallel()
	f := set(t, func(o *Options) { o.Namespace = "shop" })
	for i := range 2*pageSize + 1 {
		f.api.Put(asks("shop", fmt.Sprintf("l%03d", i), first))
	}
	f.api.Put(asks("web", "l", first))
	outcomes, err := f.Once(t.Context())
	if err != nil || len(outcomes) != 2*pageSize+1 || f.count("list") != 3 || f.queries(t) != 1 {
		t.Errorf("got %d outcomes of %d lists and %v queries, %v", len(outcomes), f.count("list"), f.queries(t), err)
	}
	if f.api.Get("web", "l").Status.ObservedGeneration != -1 {
		t.Error("wrote to another namespace")
	}
}

// Each database and each schema is asked once, and the fault of one does not touch the
// others.
func TestOnceDatabases(t *testing.T) {
	t.Parallel()
	var dsns map[string]string
	f := set(t, func(o *Options) {
		one, l := installed(t)
		two, _ := installed(t)
		if err := ledger.New(open(t, one), "audit").Install(t.Context()); err != nil {
			t.Fatal(err)
		}
		f := fixture{ledger: l}
		f.record(t, first)
		dsns = map[string]string{"one": one, "two": two, "wrong": strings.Replace(one, "//postgres:", "//nobody:", 1)}
		o.Databases = databases(t, dsns)
	})
	for name, edit := range map[string]func(*projection.Spec){
		"one":    func(s *projection.Spec) { s.Database = "one" },
		"audit":  func(s *projection.Spec) { s.Database, s.Table = "one", "audit" },
		"absent": func(s *projection.Spec) { s.Database, s.Table = "one", "absent" },
		"two":    func(s *projection.Spec) { s.Database = "two" },
		"wrong":  func(s *projection.Spec) { s.Database = "wrong" },
		"three":  func(s *projection.Spec) { s.Database = "three" },
	} {
		o := asks("shop", name, first)
		edit(&o.Spec)
		f.api.Put(o)
	}
	outcomes, err := f.Once(t.Context())
	want := map[string]string{
		"one": "True Succeeded", "audit": "False NotRecorded", "two": "False NotRecorded",
		"absent": "False DatabaseUnreachable", "wrong": "False DatabaseUnreachable", "three": "False DatabaseUnreachable",
	}
	for _, o := range outcomes {
		if got := condition(f.api.Get("shop", o.Name), "Ready"); got != want[o.Name] || (o.Err != nil) != strings.Contains(got, "Unreachable") {
			t.Errorf("%s: got %s, %v, want %s", o.Name, got, o.Err, want[o.Name])
		}
	}
	for name, reason := range map[string]string{"absent": "True NotInstalled", "wrong": "True AccessDenied", "three": "True DatabaseNotConfigured"} {
		if got := condition(f.api.Get("shop", name), "DatabaseUnreachable"); got != reason {
			t.Errorf("%s: got %q, want %s", name, got, reason)
		}
	}
	if len(outcomes) != len(want) || f.queries(t) != 3 {
		t.Errorf("got %d outcomes of %v queries", len(outcomes), f.queries(t))
	}
	for _, name := range []string{`database "one": `, `database "three": `, `database "wrong": `} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want it to name %s", err, name)
		}
	}
	if err != nil && strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three lines", err)
	}
	before := f.count("patch") + f.count("get")
	if _, err := f.Once(t.Context()); err == nil || f.count("patch")+f.count("get") != before {
		t.Errorf("a fault that has been told is told again: %v", f.api.Requests())
	}
}

// What the API server answers becomes an error that says what to do, and what was not
// written is named.
func TestOnceRefused(t *testing.T) {
	t.Parallel()
	all := func(verb string, code int32, reason metav1.StatusReason) func(apitest.Request) *metav1.Status {
		return func(r apitest.Request) *metav1.Status {
			if r.Verb == verb {
				return apitest.Status(code, reason)
			}
			return nil
		}
	}
	for name, tc := range map[string]struct {
		refuse      func(apitest.Request) *metav1.Status
		error, hint string
		patches     int // how many are tried of seven
	}{
		"no definition":  {all("list", 404, metav1.StatusReasonNotFound), "listing MigrationLedgers: the API server knows no MigrationLedger", "CustomResourceDefinition", 0},
		"no right":       {all("list", 403, metav1.StatusReasonForbidden), "listing MigrationLedgers: the API server forbids it", "patch of migrationledgers/status", 0},
		"no credentials": {all("list", 401, metav1.StatusReasonUnauthorized), "listing MigrationLedgers: the API server does not accept the credentials", "", 0},
		"no right to write": {
			all("patch", 403, metav1.StatusReasonForbidden), "shop/l0: writing the status: the API server forbids it", "patch of migrationledgers/status", maxFailures,
		},
		"no status":  {all("patch", 404, metav1.StatusReasonNotFound), "shop/l0: writing the status: the API server knows no status", "subresource", maxFailures},
		"busy":       {all("patch", 429, metav1.StatusReasonTooManyRequests), "shop/l0: writing the status: the API server asks to come back later", "", maxFailures},
		"broken":     {all("patch", 500, metav1.StatusReasonInternalError), "shop/l6: not tried: too many writes failed before it", "", maxFailures},
		"another":    {all("patch", 409, metav1.StatusReasonConflict), "shop/l0: writing the status: the object is another one by now", "", maxFailures},
		"not valid":  {all("patch", 422, metav1.StatusReasonInvalid), "shop/l0: writing the status: ", "", maxFailures},
		"one of all": {only("l3", 503), "shop/l3: writing the status: ", "", 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := set(t)
			for i := range 7 {
				f.api.Put(asks("shop", fmt.Sprint("l", i), first))
			}
			f.api.Refuse(tc.refuse)
			_, err := f.Once(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.error) || !strings.Contains(diag.Hint(err), tc.hint) {
				t.Errorf("got %v, hint %q, want %s, %s", err, diag.Hint(err), tc.error, tc.hint)
			}
			if n := f.count("patch"); n != tc.patches {
				t.Errorf("tried %d writes, want %d", n, tc.patches)
			}
			f.rights(t)
		})
	}
}

// only refuses the writes of one object.
func only(name string, code int32) func(apitest.Request) *metav1.Status {
	return func(r apitest.Request) *metav1.Status {
		if r.Verb == "patch" && r.Name == name {
			return apitest.Status(code, metav1.StatusReasonServiceUnavailable)
		}
		return nil
	}
}

func TestNoAPIServer(t *testing.T) {
	t.Parallel()
	f := set(t, func(o *Options) { o.API = &rest.Config{Host: "http://127.0.0.1:1"} })
	for _, run := range []func() error{
		func() error { _, err := f.Once(t.Context()); return err },
		func() error { return f.Watch(t.Context()) },
	} {
		err := run()
		if want := "listing MigrationLedgers: the API server cannot be reached: connection refused"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// An object that goes, or is going, is nobody's business.
func TestGone(t *testing.T) {
	t.Parallel()
	f := set(t)
	going := asks("shop", "going", first)
	going.DeletionTimestamp = &metav1.Time{Time: f.o.Now()}
	f.api.Put(going)
	f.api.Put(asks("shop", "gone", first))
	f.api.Put(asks("shop", "stays", first))
	f.api.Refuse(func(r apitest.Request) *metav1.Status {
		if r.Verb == "patch" && r.Name == "gone" {
			f.api.Delete("shop", "gone")
			f.api.Refuse(nil)
		}
		return nil
	})
	outcomes, err := f.Once(t.Context())
	if err != nil || len(outcomes) != 1 || outcomes[0].Name != "stays" {
		t.Errorf("got %+v, %v", outcomes, err)
	}
	if n := f.metric(t, `hallmark_ledger_status_writes_total{result="gone"}`); n != 1 {
		t.Errorf("got %v writes to what is gone", n)
	}
}

// An object that took the name of another does not get that one's status.
func TestTakenName(t *testing.T) {
	t.Parallel()
	f := set(t)
	f.record(t, first)
	f.api.Put(asks("shop", "a", first))
	f.api.Refuse(func(r apitest.Request) *metav1.Status {
		if r.Verb == "patch" {
			f.api.Refuse(nil)
			f.api.Delete("shop", "a")
			f.api.Put(asks("shop", "a", second))
		}
		return nil
	})
	_, err := f.Once(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the object is another one by now") {
		t.Errorf("got %v", err)
	}
	if o := f.api.Get("shop", "a"); len(o.Status.Conditions) > 0 {
		t.Errorf("got %+v", o.Status)
	}
}

func TestManyProblems(t *testing.T) {
	t.Parallel()
	var problems []error
	for i := range 25 {
		problems = append(problems, diag.WithHint(fmt.Errorf("problem %d", i), fmt.Sprint("hint ", i)))
	}
	err := join(problems)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 11 || lines[10] != "and 15 more" || diag.Hint(err) != "hint 0" {
		t.Errorf("got %v, hint %s", err, diag.Hint(err))
	}
	if err := join(nil); !errors.Is(err, nil) {
		t.Errorf("got %v of none", err)
	}
}
