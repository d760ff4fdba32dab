package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"hallmark.dev/hallmark/plugin"
)

// instruments are the metrics. Their labels have a fixed set of values: a method,
// an outcome, a stage, a renderer, a rule, a template function.
type instruments struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec   // method, outcome
	stages   *prometheus.HistogramVec // stage, renderer
	cache    *prometheus.CounterVec   // result
	bytes    prometheus.Counter
	files    prometheus.Counter
	// decrypted counts files, each time that one is decrypted.
	decrypted prometheus.Counter
	// derived counts fields, each time that one is derived.
	derived *prometheus.CounterVec // reason
	// findings counts them each time that rules are checked.
	findings *prometheus.CounterVec // rule, level
}

func newInstruments(s *Server) *instruments {
	m := &instruments{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hallmark_requests_total", Help: "Answered requests by method and outcome.",
		}, []string{"method", "outcome"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hallmark_stage_duration_seconds", Help: "Time that a stage of a request took, by renderer.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12), // 1 ms to 24 s
		}, []string{"stage", "renderer"}),
		cache: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hallmark_cache_results_total", Help: "Renders that were answered from memory (hit) and that were not (miss).",
		}, []string{"result"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hallmark_received_bytes_total", Help: "Bytes of the compressed repositories that were received.",
		}),
		files: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hallmark_received_files_total", Help: "Files, folders and links of the repositories that were received.",
		}),
		decrypted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hallmark_decrypted_files_total", Help: "SOPS files that were decrypted.",
		}),
		derived: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hallmark_derived_fields_total",
			Help: "Fields whose values were derived from a seed, by what they were made of (a template function, checksum, certificate; several where it is more than one).",
		}, []string{"reason"}),
		findings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hallmark_findings_total",
			Help: "Findings of release rules, by rule (those of teams as one) and by what became of them (warn, deny, waived). Answers from memory do not count.",
		}, []string{"rule", "level"}),
	}
	labels := prometheus.Labels{"version": s.options.Version}
	for _, c := range plugin.Components() {
		labels[c.Name] = c.Version
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	m.registry.MustRegister(
		m.requests, m.stages, m.cache, m.bytes, m.files, m.decrypted, m.derived, m.findings,
		gauge("hallmark_in_flight", "Requests that are worked on.", func() float64 { return float64(len(s.slots)) }),
		gauge("hallmark_in_flight_limit", "The most requests that are worked on at once.", func() float64 { return float64(cap(s.slots)) }),
		gauge("hallmark_stuck", "Requests that are answered and still worked on, because an engine does not end.",
			func() float64 { return float64(s.stuck.Load()) }),
		gauge("hallmark_cache_bytes", "About how much memory the cache holds.", func() float64 { return float64(s.options.Cache.Bytes()) }),
		gauge("hallmark_policy_last_reload_successful", "1 if the policy file was good when it was last looked at, 0 if older rules are in force.", s.policyHealth),
		gauge("hallmark_seeds_last_reload_successful", "1 if the files of seeds were good when they were last looked at, 0 if seeds that were read before are in use.", s.seedHealth),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hallmark_build_info", Help: "The versions that are compiled in.", ConstLabels: labels,
		}, func() float64 { return 1 }),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	for _, result := range []string{"hit", "miss"} {
		m.cache.WithLabelValues(result)
	}
	return m
}

// policyHealth looks at the policy, so that a broken change shows before a request
// comes.
func (s *Server) policyHealth() float64 {
	if p := s.options.Policy; p != nil {
		if p.Current(); !p.Healthy() {
			return 0
		}
	}
	return 1
}

// seedHealth looks at the seeds, as policyHealth does at the policy.
func (s *Server) seedHealth() float64 {
	if seeds := s.options.Seeds; seeds != nil {
		if seeds.Current(); !seeds.Healthy() {
			return 0
		}
	}
	return 1
}

// Handler serves /metrics, /healthz (200 unless the server has to be started
// anew) and /readyz (200 while it takes requests).
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.alive(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() {
			http.Error(w, "not serving", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	return mux
}
