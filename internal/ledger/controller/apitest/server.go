package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"hallmark.dev/hallmark/internal/ledger/projection"
)

// patience bounds a wait, which a busy machine makes long.
const patience = 2 * time.Minute

// Request is what the server was asked: Verb is get, list, watch or patch as RBAC knows
// them, Resource has the subresource behind a slash.
type Request struct{ Verb, Resource, Namespace, Name string }

// A Server has some objects.
type Server struct {
	URL string

	mu       sync.Mutex
	objects  map[string]*projection.MigrationLedger // by namespace/name
	version  int
	events   []event
	next     chan struct{} // closed at the next event
	closed   chan struct{}
	requests []Request
	refuse   func(Request) *metav1.Status
}

type event struct {
	version int
	Type    string                      `json:"type"`
	Object  *projection.MigrationLedger `json:"object"`
}

// New is a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{objects: map[string]*projection.MigrationLedger{}, next: make(chan struct{}), closed: make(chan struct{})}
	web := httptest.NewServer(s.handler())
	t.Cleanup(func() {
		close(s.closed)
		web.Close()
	})
	s.URL = web.URL
	return s
}

// Config is how a client reaches the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.URL, QPS: -1} }

// Kubeconfig is a file that says how, with a namespace for its context.
func (s *Server) Kubeconfig(t testing.TB, namespace string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "test",
"clusters": [{"name": "test", "cluster": {"server": %q}}],
"contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": %q}}],
"users": [{"name": "test", "user": {"token": "test"}}]}`, s.URL, namespace)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Put creates an object, or changes its spec and annotations. A change of the spec is a
// new generation.
func (s *Server) Put(o *projection.MigrationLedger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o = o.DeepCopyObject().(*projection.MigrationLedger)
	o.APIVersion, o.Kind = projection.GroupVersion.String(), projection.Kind
	kind := "ADDED"
	o.Generation, o.UID = 1, types.UID(fmt.Sprintf("uid-%d", s.version))
	o.Status = projection.Status{ObservedGeneration: -1} // as the CustomResourceDefinition has it
	if old := s.objects[o.Namespace+"/"+o.Name]; old != nil {
		kind = "MODIFIED"
		o.UID, o.Generation, o.Status = old.UID, old.Generation, old.Status
		if !reflect.DeepEqual(old.Spec, o.Spec) {
			o.Generation++
		}
	}
	s.store(kind, o)
}

// SetStatus writes the status of an object as somebody else might.
func (s *Server) SetStatus(namespace, name string, status projection.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := *s.objects[namespace+"/"+name]
	o.Status = status
	s.store("MODIFIED", &o)
}

// Delete removes an object.
func (s *Server) Delete(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := *s.objects[namespace+"/"+name]
	s.store("DELETED", &o)
	delete(s.objects, namespace+"/"+name)
}

// store keeps an object and tells the watchers. Objects that were stored never change.
func (s *Server) store(kind string, o *projection.MigrationLedger) {
	s.version++
	o.ResourceVersion = strconv.Itoa(s.version)
	o.ManagedFields = managed(o)
	s.objects[o.Namespace+"/"+o.Name] = o
	s.events = append(s.events, event{s.version, kind, o})
	close(s.next)
	s.next = make(chan struct{})
}

// managed is about what kube-apiserver makes of an apply: a field for each field.
func managed(o *projection.MigrationLedger) []metav1.ManagedFieldsEntry {
	fields := map[string]any{}
	for _, c := range o.Status.Changes {
		text, _ := json.Marshal(c)
		var of map[string]any
		_ = json.Unmarshal(text, &of)
		owned := map[string]any{".": map[string]any{}}
		for name := range of {
			owned["f:"+name] = map[string]any{}
		}
		fields[fmt.Sprintf(`k:{"key":%q}`, c.Key)] = owned
	}
	raw, _ := json.Marshal(map[string]any{"f:status": map[string]any{"f:changes": fields}})
	return []metav1.ManagedFieldsEntry{{
		Manager: "hallmark-ledger", Operation: "Apply", APIVersion: projection.GroupVersion.String(), FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: raw}, Subresource: "status",
	}}
}

// Get is an object as it is now, nil where there is none.
func (s *Server) Get(namespace, name string) *projection.MigrationLedger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[namespace+"/"+name]
}

// Await waits until an object is so, and returns it.
func (s *Server) Await(t testing.TB, namespace, name string, so func(*projection.MigrationLedger) bool) *projection.MigrationLedger {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		o, next := s.objects[namespace+"/"+name], s.next
		s.mu.Unlock()
		if o != nil && so(o) {
			return o
		}
		select {
		case <-next:
		case <-deadline:
			t.Fatalf("%s/%s is not as it should be: %+v", namespace, name, o)
		}
	}
}

// Requests are those of so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Refuse answers a request with a status, where f has one for it. It counts among the
// requests in any case.
func (s *Server) Refuse(f func(Request) *metav1.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// names of the objects in a namespace, of all where it is "", in order.
func (s *Server) names(namespace string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if namespace == "" || s.objects[name].Namespace == namespace {
			names = append(names, name)
		}
	}
	return names
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone
}
