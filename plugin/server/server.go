package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/argoproj/argo-cd/v2/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v2/common"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"

	"hallmark.dev/hallmark/plugin"
)

// Options are what an operator decides.
type Options struct {
	// Cache renders; nil renders without keeping anything.
	Cache *plugin.Cache
	// Limits and TreeLimits bound each request.
	Limits     plugin.Limits
	TreeLimits plugin.TreeLimits
	// HashKey keys the hashes of Secret values, as in plugin.Request.
	HashKey []byte
	// Policy gives the rules that count now; nil is no policy.
	Policy Policy
	// Keys are where private keys are, as in plugin.Request.
	Keys plugin.Keys
	// Seeds gives the seeds that values are derived from now; nil is none.
	Seeds Seeds
	// HealthChecked is as in plugin.Request: what the health of a custom resource is
	// known from besides the policy.
	HealthChecked func(group, kind string) bool
	// Discover says for which folders the plugin declares itself.
	Discover Discovery
	// InFlight is the largest number of requests that are worked on at once,
	// at least 1; more wait.
	InFlight int
	// DrainDelay is how long requests are still taken when the server is told to
	// stop, no longer ready: repo-server, told at the same moment, finishes
	// requests of its own that lead here. DrainTimeout bounds how long requests
	// may go on after that.
	DrainDelay, DrainTimeout time.Duration
	// Version is hallmark's own.
	Version string

	Log *slog.Logger
	// NewID makes the id under which a request stands in the log.
	NewID func() string
	// Now is the clock: it times requests, and says which waivers have expired.
	Now func() time.Time
	// Explain words an error for a user of Argo CD.
	Explain func(error) string
}

// Policy is a policy that can change while the server runs.
type Policy interface {
	// Current returns the rules that count.
	Current() *plugin.Policy
	// Healthy reports whether the last look for a change gave good rules.
	Healthy() bool
}

// Seeds are seeds that can change while the server runs.
type Seeds interface {
	// Current returns the seeds that count, the default one first.
	Current() []plugin.Seed
	// Healthy reports whether the last look for a change gave good seeds.
	Healthy() bool
}

// Discovery says for which applications without a plugin's name Argo CD is told
// that this one is theirs. For each such question repo-server sends the whole
// repository.
type Discovery string

// The values of Discovery.
const (
	DiscoverNone   Discovery = "none"   // only applications that name the plugin
	DiscoverMarked Discovery = "marked" // folders with a hallmark.yaml
	DiscoverAll    Discovery = "all"    // those, charts and kustomizations
)

// Server is the plugin. It serves once.
type Server struct {
	options Options
	metrics *instruments
	health  *health.Server
	grpc    *grpc.Server

	slots chan struct{} // one entry for each request that is worked on
	// stuck counts requests that are answered and still worked on.
	stuck  atomic.Int64
	ready  atomic.Bool
	socket atomic.Pointer[string] // the file that is served on, once it is
}

// window is how much of a stream the transport takes before a request reads it.
// Most repositories fit, so that a client of a request that waits has sent all it
// has and reads the answer, whatever it is.
const window = 1 << 20

// handshake bounds how long a connection may say nothing at first. gRPC waits for
// it with everything else when the server stops, two minutes by default.
const handshake = 5 * time.Second

// New returns a server that does not serve yet.
func New(o Options) *Server {
	o.InFlight = max(o.InFlight, 1)
	s := &Server{
		options: o,
		health:  health.NewServer(),
		slots:   make(chan struct{}, o.InFlight),
	}
	s.metrics = newInstruments(s)
	// repo-server sends a repository in chunks of 1 KiB, and gRPC's own pool would
	// hold each in 4 KiB while a request waits.
	chunk := common.GetCMPChunkSize() + 128
	s.grpc = grpc.NewServer(
		experimental.BufferPool(mem.NewTieredBufferPool(256, chunk, 4*chunk, 16*chunk, 1<<20)),
		grpc.MaxRecvMsgSize(apiclient.MaxGRPCMessageSize),
		grpc.MaxSendMsgSize(apiclient.MaxGRPCMessageSize),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(window),
		grpc.ConnectionTimeout(handshake),
		// repo-server pings at twice this interval; gRPC's own rule would end
		// the connection of a render that takes long.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: common.GetGRPCKeepAliveEnforcementMinimum()}),
	)
	apiclient.RegisterConfigManagementPluginServiceServer(s.grpc, &service{s})
	grpc_health_v1.RegisterHealthServer(s.grpc, s.health)
	s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	return s
}

// Serve answers requests on listener until ctx is done, then lets those that
// run come to their end, for DrainTimeout at most. It closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- s.grpc.Serve(listener) }()
	if address, isUnix := listener.Addr().(*net.UnixAddr); isUnix {
		s.socket.Store(&address.Name)
	}
	s.setReady(true)
	defer s.setReady(false)
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.setReady(false)
	s.options.Log.Info("draining", "inFlight", len(s.slots), "delay", s.options.DrainDelay.String(), "timeout", s.options.DrainTimeout.String())
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
	case <-time.After(s.options.DrainDelay):
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.grpc.GracefulStop()
	}()
	select {
	case <-drained:
	case <-time.After(s.options.DrainTimeout):
		s.grpc.Stop() // ends the contexts of the requests
		<-drained
		return errors.New("requests were still running when the drain timeout was over")
	}
	return nil
}

func (s *Server) setReady(ready bool) {
	s.ready.Store(ready)
	state := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if ready {
		state = grpc_health_v1.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus("", state)
}

// alive says why the server has to be started anew, or nil.
func (s *Server) alive() error {
	if stuck := s.stuck.Load(); stuck >= int64(cap(s.slots)) {
		return fmt.Errorf("all %d slots are held by renders whose time is over and that do not end", cap(s.slots))
	}
	// repo-server finds a plugin by its socket, which another process can remove.
	if socket := s.socket.Load(); socket != nil && s.ready.Load() {
		if _, err := os.Lstat(*socket); err != nil {
			return fmt.Errorf("the socket is gone: %w", err)
		}
	}
	return nil
}
