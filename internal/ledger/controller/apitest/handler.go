package apitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"hallmark.dev/hallmark/internal/ledger/projection"
)

// Status is a refusal, as kube-apiserver words it.
func Status(code int32, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: code, Reason: reason, Message: string(reason),
	}
}

func (s *Server) handler() http.Handler {
	const root = "/apis/" + projection.Group + "/" + projection.Version
	mux := http.NewServeMux()
	all := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			s.answer(w, r, "watch", "", s.watch)
			return
		}
		s.answer(w, r, "list", "", s.list)
	}
	mux.HandleFunc("GET "+root+"/"+projection.Resource, all)
	mux.HandleFunc("GET "+root+"/namespaces/{namespace}/"+projection.Resource, all)
	mux.HandleFunc("GET "+root+"/namespaces/{namespace}/"+projection.Resource+"/{name}", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, "get", "", s.get)
	})
	mux.HandleFunc("PATCH "+root+"/namespaces/{namespace}/"+projection.Resource+"/{name}/status", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, "patch", "/status", s.apply)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, r.Method+" "+r.URL.Path, "", func(w http.ResponseWriter, _ *http.Request) {
			reply(w, http.StatusNotFound, Status(http.StatusNotFound, metav1.StatusReasonNotFound))
		})
	})
	return mux
}

// answer notes a request, and answers it unless it is to be refused.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, verb, subresource string, answer http.HandlerFunc) {
	request := Request{verb, projection.Resource + subresource, r.PathValue("namespace"), r.PathValue("name")}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		if status := refuse(request); status != nil {
			if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
			}
			reply(w, int(status.Code), status)
			return
		}
	}
	answer(w, r)
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	o := s.Get(r.PathValue("namespace"), r.PathValue("name"))
	if o == nil {
		reply(w, http.StatusNotFound, Status(http.StatusNotFound, metav1.StatusReasonNotFound))
		return
	}
	reply(w, http.StatusOK, o)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	s.mu.Lock()
	list := projection.MigrationLedgerList{TypeMeta: metav1.TypeMeta{APIVersion: projection.GroupVersion.String(), Kind: projection.Kind + "List"}}
	list.ResourceVersion = strconv.Itoa(s.version)
	names := s.names(r.PathValue("namespace"))
	first, _ := slices.BinarySearch(names, query.Get("continue"))
	for i, name := range names[first:] {
		if limit > 0 && i == limit {
			list.Continue = name
			break
		}
		list.Items = append(list.Items, *s.objects[name])
	}
	s.mu.Unlock()
	reply(w, http.StatusOK, &list)
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	since, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		reply(w, http.StatusBadRequest, Status(http.StatusBadRequest, metav1.StatusReasonBadRequest))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := json.NewEncoder(w)
	for {
		s.mu.Lock()
		first := slices.IndexFunc(s.events, func(e event) bool { return e.version > since })
		var events []event
		if first >= 0 {
			events = s.events[first:]
		}
		next := s.next
		s.mu.Unlock()
		for _, e := range events {
			since = e.version
			if namespace := r.PathValue("namespace"); namespace != "" && namespace != e.Object.Namespace {
				continue
			}
			if out.Encode(e) != nil {
				return
			}
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-next:
		case <-r.Context().Done():
			return
		case <-s.closed:
			return
		}
	}
}

// application is all that may be applied.
type application struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string    `json:"namespace"`
		Name      string    `json:"name"`
		UID       types.UID `json:"uid"`
	} `json:"metadata"`
	Status projection.Status `json:"status"`
}

func (s *Server) apply(w http.ResponseWriter, r *http.Request) {
	var a application
	body := json.NewDecoder(r.Body) // ours writes JSON, which is YAML
	body.DisallowUnknownFields()
	query := r.URL.Query()
	err := body.Decode(&a)
	if err != nil || r.Header.Get("Content-Type") != "application/apply-patch+yaml" || query.Get("fieldManager") == "" || query.Get("force") != "true" ||
		a.APIVersion != projection.GroupVersion.String() || a.Kind != projection.Kind || a.Metadata.Name != r.PathValue("name") || a.Metadata.Namespace != r.PathValue("namespace") {
		reply(w, http.StatusBadRequest, Status(http.StatusBadRequest, metav1.StatusReasonBadRequest))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.objects[a.Metadata.Namespace+"/"+a.Metadata.Name]
	switch {
	case old == nil:
		reply(w, http.StatusNotFound, Status(http.StatusNotFound, metav1.StatusReasonNotFound))
		return
	case a.Metadata.UID != "" && a.Metadata.UID != old.UID:
		reply(w, http.StatusConflict, Status(http.StatusConflict, metav1.StatusReasonConflict))
		return
	}
	o := *old
	// One manager owns all of it: what it does not apply again goes.
	if o.Status = a.Status; !projection.Equal(old.Status, o.Status) {
		s.store("MODIFIED", &o)
	}
	reply(w, http.StatusOK, &o)
}
