package server

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hallmark.dev/hallmark/plugin"
)

// call is one request as it is observed. Its methods may be called by work that
// goes on after the answer, when the line of the log is written.
type call struct {
	server *Server
	method string
	start  time.Time
	slot   *slot

	mu       sync.Mutex
	request  *plugin.Request
	attrs    []any
	renderer string
	stage    plugin.Stage
	since    time.Time
	over     bool
}

// stageReceive is the stage before those of package plugin.
const stageReceive plugin.Stage = "receive"

func (s *Server) begin(method string) *call {
	return &call{server: s, method: method, start: s.options.Now(), attrs: []any{"request", s.options.NewID(), "method", method}}
}

// enter begins a stage, and so ends the one before.
func (c *call) enter(stage plugin.Stage, renderer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	if renderer != "" {
		c.renderer = renderer
	}
	if stage != c.stage {
		c.endStage()
		c.stage, c.since = stage, c.server.options.Now()
	}
}

func (c *call) endStage() {
	if c.stage != "" {
		took := c.server.options.Now().Sub(c.since)
		c.server.metrics.stages.WithLabelValues(string(c.stage), c.renderer).Observe(took.Seconds())
	}
	c.stage = ""
}

// describe notes which application the call is about.
func (c *call) describe(r *plugin.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.request = r
	c.attrs = append(c.attrs, "app", r.App, "project", r.Project, "repo", r.Repository(), "path", r.Path, "revision", r.Revision)
}

// note adds to the log line of the call.
func (c *call) note(attrs ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attrs = append(c.attrs, attrs...)
}

// warn notes an error that does not end the call. It may be nil.
func (c *call) warn(err error) {
	if err != nil {
		c.note("warnings", strings.Split(c.server.options.Explain(err), "\n"))
	}
}

// received ends the stage that began with the call.
func (c *call) received(bytes int64, r *plugin.Request) {
	c.enter("", "")
	m := c.server.metrics
	m.bytes.Add(float64(bytes))
	if r != nil && r.Tree != nil {
		files, _ := r.Tree.Size()
		m.files.Add(float64(files))
		c.note("files", files, "bytes", bytes)
	}
}

// generated notes the stamps of an answer.
func (c *call) generated(a *plugin.Answer) {
	result := "miss"
	if a.Cached {
		result = "hit"
	}
	c.server.metrics.cache.WithLabelValues(result).Inc()
	c.note("renderer", a.Provenance.Renderer, "objects", len(a.Manifests), "renderHash", a.RenderHash,
		"inputsHash", a.Provenance.InputsHash, "cached", a.Cached)
	if len(a.Decrypted) > 0 {
		c.server.metrics.decrypted.Add(float64(len(a.Decrypted)))
		c.note("decrypted", a.Decrypted)
	}
	if len(a.Derived) > 0 {
		for _, d := range a.Derived {
			c.server.metrics.derived.WithLabelValues(derivedReason(d)).Inc()
		}
		c.note("derived", len(a.Derived), "seed", a.Seed)
	}
	if len(a.Warnings) > 0 {
		c.note("warnings", a.Warnings)
	}
}

// derivedReason is of what a value was made, as a label: one word for all that were
// made of several, of which there would be too many.
func derivedReason(d plugin.Derived) string {
	if strings.Contains(d.Reason, ",") {
		return reasonSeveral
	}
	return d.Reason
}

// found counts what release rules found.
func (c *call) found(findings []plugin.Finding) {
	for _, f := range findings {
		rule, level := f.Rule, string(f.Level)
		if !f.BuiltIn() {
			rule = teamRule
		}
		if f.Waiver != nil {
			level = levelWaived
		}
		c.server.metrics.findings.WithLabelValues(rule, level).Inc()
	}
}

// The values of labels beside the ids of the built-in rules and the levels of a
// policy.
const (
	teamRule    = "team"
	levelWaived = "waived"
	// the reason of a derived value that has more than one
	reasonSeveral = "several"
)

// end counts and logs the call and makes a gRPC status of its error.
func (c *call) end(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endStage()
	c.over = true
	outcome, code := classify(err)
	c.server.metrics.requests.WithLabelValues(c.method, outcome).Inc()
	attrs := slices.Concat(c.attrs, []any{"seconds", c.server.options.Now().Sub(c.start).Seconds()})
	log := c.server.options.Log
	if err == nil {
		log.Info(answered(c.method), attrs...)
		return nil
	}
	text := c.server.options.Explain(err)
	log.Log(context.Background(), severity(outcome), "refused", append(attrs, "outcome", outcome, "error", text)...)
	return status.Error(code, text)
}

// The methods that take a repository.
const (
	methodGenerate = "GenerateManifest"
	methodMatch    = "MatchRepository"
	methodAnnounce = "GetParametersAnnouncement"
)

// answered is what the log says of a call that was.
func answered(method string) string {
	switch method {
	case methodGenerate:
		return "generated"
	case methodMatch:
		return "matched"
	}
	return "announced"
}

// The outcomes of a call, as the metrics have them.
const (
	outcomeOK       = "ok"
	outcomeRefused  = "refused"  // the repository or a parameter
	outcomeLimit    = "limit"    // it needs more than the limits allow
	outcomeBusy     = "busy"     // no slot in time
	outcomeDeadline = "deadline" // not done in time
	outcomeCanceled = "canceled" // Argo CD does not want the answer any more
	outcomeKey      = "key"      // no key opens an encrypted file
	// the policy keeps an encrypted file closed
	outcomeForbidden = "forbidden"
	outcomeProtocol  = "protocol" // a damaged or wrong stream
	outcomePanic     = "panic"
)

func classify(err error) (outcome string, code codes.Code) {
	protocol, busy := protocolError{}, busyError{}
	switch {
	case err == nil:
		return outcomeOK, codes.OK
	case errors.As(err, &protocol):
		return outcomeProtocol, codes.InvalidArgument
	case errors.As(err, &busy):
		return outcomeBusy, codes.ResourceExhausted
	case errors.Is(err, errDeadline), errors.Is(err, context.DeadlineExceeded), status.Code(err) == codes.DeadlineExceeded:
		return outcomeDeadline, codes.DeadlineExceeded
	case errors.Is(err, context.Canceled), status.Code(err) == codes.Canceled:
		return outcomeCanceled, codes.Canceled
	case status.Code(err) != codes.Unknown:
		return outcomeProtocol, codes.InvalidArgument // what the transport refused, such as a message that is too large
	case plugin.IsPanic(err):
		return outcomePanic, codes.Internal
	case plugin.IsLimit(err):
		return outcomeLimit, codes.ResourceExhausted
	case plugin.IsForbidden(err):
		return outcomeForbidden, codes.FailedPrecondition
	case plugin.IsKey(err):
		return outcomeKey, codes.FailedPrecondition
	}
	return outcomeRefused, codes.FailedPrecondition
}

// severity is for operators: what a repository got wrong is not their concern.
func severity(outcome string) slog.Level {
	switch outcome {
	case outcomeRefused, outcomeForbidden, outcomeCanceled:
		return slog.LevelInfo
	case outcomePanic:
		return slog.LevelError
	}
	return slog.LevelWarn
}
