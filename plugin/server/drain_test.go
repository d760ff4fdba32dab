package server

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v2/cmpserver/apiclient"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

type appStreamRequest = apiclient.AppStreamRequest

// half opens a request and sends the first half of it.
func (r *running) half(t *testing.T) (stream clientStream, answer any, rest messages) {
	t.Helper()
	stream, answer, err := methods[methodGenerate](t.Context(), r.client)
	if err != nil {
		t.Fatal(err)
	}
	all := whole(good(t))
	for _, m := range all[:2] {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the request is worked on", func() bool { return len(r.slots) == 1 })
	return stream, answer, all[2:]
}

// What runs when the server has to stop is answered, and nothing new begins.
func TestDrain(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	connection, err := grpc.NewClient("unix:"+r.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	health := grpc_health_v1.NewHealthClient(connection)
	watched, unwatch := context.WithCancel(t.Context())
	defer unwatch()
	watch, err := health.Watch(watched, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	state := func() grpc_health_v1.HealthCheckResponse_ServingStatus {
		t.Helper()
		answer, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetStatus()
	}
	if got := state(); got != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("got health %s before, want SERVING", got)
	}
	checked, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || checked.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("got health %s, error %v, want SERVING", checked.GetStatus(), err)
	}
	if code, _ := r.probe(t, "/readyz"); code != http.StatusOK {
		t.Errorf("got %d from /readyz, want %d", code, http.StatusOK)
	}

	stream, answer, rest := r.half(t)
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	eventually(t, "not ready", func() bool { code, _ := r.probe(t, "/readyz"); return code == http.StatusServiceUnavailable })
	if got := state(); got != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("got health %s while it drains, want NOT_SERVING", got)
	}
	unwatch() // which is a request, too
	if code, _ := r.probe(t, "/healthz"); code != http.StatusOK {
		t.Errorf("got %d from /healthz while it drains, want %d", code, http.StatusOK)
	}
	eventually(t, "the socket is gone", func() bool { _, err := os.Lstat(r.socket); return os.IsNotExist(err) })
	if connection, err := (&net.Dialer{}).DialContext(t.Context(), "unix", r.socket); err == nil {
		t.Errorf("a new connection is taken while the server drains: %v", connection.Close())
	}
	// One that is on its way when the connection says that it goes is answered as well.
	eventually(t, "no new request is taken", func() bool {
		_, err := r.exchange(t.Context(), methodGenerate, whole(good(t))...)
		return status.Code(err) == codes.Unavailable
	})
	for _, m := range rest {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(answer); err != nil || len(answer.(*apiclient.ManifestResponse).Manifests) != 1 {
		t.Errorf("got %v, error %v, want one manifest", answer, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if _, err := r.exchange(t.Context(), methodGenerate, whole(good(t))...); status.Code(err) != codes.Unavailable {
		t.Errorf("got error %v after the server stopped, want %s", err, codes.Unavailable)
	}
	if !strings.Contains(r.logged(), `"msg":"draining","inFlight":1`) {
		t.Errorf("got log %s", r.logged())
	}
}

// A request that does not end is told to, and so is whoever started the server.
func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *Options) { o.DrainTimeout = 50 * time.Millisecond })
	stream, answer, _ := r.half(t)
	if err := r.stop(); err == nil || !strings.Contains(err.Error(), "still running when the drain timeout was over") {
		t.Errorf("got error %v", err)
	}
	if err := stream.RecvMsg(answer); status.Code(err) != codes.Unavailable && status.Code(err) != codes.Canceled {
		t.Errorf("got error %v, want %s", err, codes.Unavailable)
	}
	eventually(t, "the slot is free", func() bool { return len(r.slots) == 0 })
}

// A connection that never says anything, as from a port scanner, does not hold up
// a stop for as long as gRPC would wait for it.
func TestDrainWithSilentConnection(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *Options) { o.DrainTimeout = time.Minute })
	silent, err := (&net.Dialer{}).DialContext(t.Context(), "unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	// The server has taken it once it has taken one behind it.
	if _, err := r.exchange(t.Context(), methodGenerate, whole(good(t))...); err != nil {
		t.Fatal(err)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}
