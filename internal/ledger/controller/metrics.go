package controller

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/projection"
)

// instruments are the metrics. Their labels have a fixed set of values: neither the
// names of databases nor those of objects are among them.
type instruments struct {
	registry *prometheus.Registry
	queries  *prometheus.CounterVec // result
	patches  *prometheus.CounterVec // result
}

// What became of a query is a fault's name or queryOK, of a write one of these.
const (
	queryOK        = "OK"
	patchWritten   = "written"
	patchGone      = "gone"
	patchConflict  = "conflict"
	patchForbidden = "forbidden"
	patchBusy      = "busy"
	patchRefused   = "refused"
	patchFailed    = "failed"
)

func newInstruments(c *Controller) *instruments {
	m := &instruments{
		registry: prometheus.NewRegistry(),
		queries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hallmark_ledger_queries_total", Help: "Queries of databases by result: OK, or the reason of the condition DatabaseUnreachable.",
		}, []string{"result"}),
		patches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hallmark_ledger_status_writes_total", Help: "Writes of a status by result.",
		}, []string{"result"}),
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	m.registry.MustRegister(
		m.queries, m.patches,
		gauge("hallmark_ledger_unread_seconds", "For how long the table that could not be read for the longest time could not be; below about the interval all is well.", func() float64 {
			unread, _ := c.turns.oldest(c.o.Now())
			return unread.Seconds()
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hallmark_build_info", Help: "The version that is running.", ConstLabels: prometheus.Labels{"version": c.o.Version},
		}, func() float64 { return 1 }),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	for _, kind := range []ledger.Kind{ledger.Unreachable, ledger.Denied, ledger.Forbidden, ledger.NotInstalled, ledger.Conflict, ledger.Other} {
		m.queries.WithLabelValues(string(projection.FaultOf(kind)))
	}
	m.queries.WithLabelValues(queryOK)
	m.queries.WithLabelValues(string(projection.NotConfigured))
	for _, result := range []string{patchWritten, patchGone, patchConflict, patchForbidden, patchBusy, patchRefused, patchFailed} {
		m.patches.WithLabelValues(result)
	}
	return m
}

func (m *instruments) query(fault projection.Fault) {
	result := queryOK
	if fault != "" {
		result = string(fault)
	}
	m.queries.WithLabelValues(result).Inc()
}

func (m *instruments) patch(err error) {
	result := patchFailed
	switch {
	case err == nil:
		result = patchWritten
	case errors.Is(err, errGone):
		result = patchGone
	case apierrors.IsConflict(err):
		result = patchConflict
	case apierrors.IsForbidden(err):
		result = patchForbidden
	case apierrors.IsTooManyRequests(err):
		result = patchBusy
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), errors.Is(err, errNoStatus):
		result = patchRefused
	}
	m.patches.WithLabelValues(result).Inc()
}

// Handler serves /metrics, /healthz (200 unless the process has to be started anew) and
// /readyz (200 once the objects are known).
func (c *Controller) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := c.alive(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !c.ready.Load() {
			http.Error(w, "the objects are not listed yet", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	return mux
}
