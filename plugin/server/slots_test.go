package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hallmark.dev/hallmark/plugin"
)

// quiet is a server that no client reaches.
func quiet(inFlight int) *Server {
	return New(Options{
		InFlight: inFlight, Log: discard(), Now: time.Now, NewID: func() string { return "" },
		Explain: func(err error) string { return "hallmark: error: " + err.Error() },
	})
}

// work runs a function of a test as a request whose repository is fine.
func (s *Server) work(ctx context.Context, tb testing.TB, work func(context.Context, *call) error) error {
	tb.Helper()
	return s.serve(&fakeStream{ctx: ctx, messages: whole(good(tb))}, methodGenerate, func(ctx context.Context, c *call) (func() error, error) {
		return func() error { return nil }, work(ctx, c)
	})
}

// probe asks /healthz or /readyz, or any other page.
func (s *Server) probe(tb testing.TB, page string) (code int, body string) {
	tb.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(tb.Context(), http.MethodGet, page, nil))
	return w.Code, w.Body.String()
}

func TestInFlight(t *testing.T) {
	t.Parallel()
	const slots, requests = 3, 20
	s := quiet(slots)
	var now, most, answered atomic.Int64
	full, pass := make(chan struct{}, requests), make(chan struct{})
	var all sync.WaitGroup
	for range requests {
		all.Go(func() {
			err := s.work(t.Context(), t, func(context.Context, *call) error {
				n := now.Add(1)
				for {
					was := most.Load()
					if n <= was || most.CompareAndSwap(was, n) {
						break
					}
				}
				full <- struct{}{}
				<-pass
				now.Add(-1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			answered.Add(1)
		})
	}
	for range slots { // all slots are in use at once
		<-full
	}
	close(pass)
	all.Wait()
	if most.Load() != slots || answered.Load() != requests {
		t.Errorf("got %d requests at once and %d answers, want %d and %d", most.Load(), answered.Load(), slots, requests)
	}
	eventually(t, "all slots are free", func() bool { return len(s.slots) == 0 && s.stuck.Load() == 0 })
}

// The same with renders, over the socket, and the gauge that an operator sees.
func TestManyRequests(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *Options) { o.InFlight = 2 })
	var all sync.WaitGroup
	for i := range 20 {
		root := checkout(t, map[string]string{"app/a.yaml": configMap(fmt.Sprintf("c%d", i), "b")})
		all.Go(func() {
			answer, err := r.generate(t.Context(), root, env())
			if err != nil || len(answer.Manifests) != 1 || !strings.Contains(answer.Manifests[0], fmt.Sprintf(`"name":"c%d"`, i)) {
				t.Errorf("request %d: got %v, error %v", i, answer, err)
			}
		})
	}
	all.Wait()
}

// An engine that does not end holds its slot until it does, whatever the client
// was told.
func TestSlotIsHeldByWork(t *testing.T) {
	t.Parallel()
	s := quiet(2)
	for _, tt := range []struct {
		name string
		ctx  func() (context.Context, context.CancelFunc)
		code codes.Code
		want string
	}{
		{"cancelled", func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) }, codes.Canceled, "canceled"},
		{"out of time", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 2*margin)
		}, codes.DeadlineExceeded, "not done before Argo CD's deadline"},
	} {
		ctx, cancel := tt.ctx()
		works, end := make(chan struct{}), make(chan struct{})
		answer := make(chan error, 1)
		go func() {
			answer <- s.work(ctx, t, func(context.Context, *call) error { close(works); <-end; return nil })
		}()
		<-works
		if tt.code == codes.Canceled {
			cancel()
		}
		err := <-answer
		if status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %s with %q", tt.name, err, tt.code, tt.want)
		}
		if slots, stuck := len(s.slots), s.stuck.Load(); slots != 1 || stuck != 1 {
			t.Errorf("%s: got %d slots taken, %d stuck, want 1 and 1", tt.name, slots, stuck)
		}
		if _, text := s.probe(t, "/metrics"); metric(t, text, "hallmark_stuck") != 1 || metric(t, text, "hallmark_in_flight") != 1 {
			t.Errorf("%s: the metrics do not tell:\n%s", tt.name, ours(text))
		}
		close(end)
		eventually(t, "the slot is free", func() bool { return len(s.slots) == 0 && s.stuck.Load() == 0 })
		cancel()
	}
}

// kubelet is asked for a new server once no slot can come free by itself.
func TestAlive(t *testing.T) {
	t.Parallel()
	s := quiet(2)
	end := make(chan struct{})
	for i := range 2 {
		if code, _ := s.probe(t, "/healthz"); code != http.StatusOK {
			t.Errorf("got %d with %d of 2 slots stuck, want %d", code, i, http.StatusOK)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*margin)
		defer cancel()
		err := s.work(ctx, t, func(context.Context, *call) error { <-end; return nil })
		if status.Code(err) != codes.DeadlineExceeded {
			t.Fatalf("got error %v, want %s", err, codes.DeadlineExceeded)
		}
	}
	code, text := s.probe(t, "/healthz")
	if code != http.StatusServiceUnavailable || text != "all 2 slots are held by renders whose time is over and that do not end\n" {
		t.Errorf("got %d, %s", code, text)
	}
	close(end)
	eventually(t, "alive", func() bool { code, _ := s.probe(t, "/healthz"); return code == http.StatusOK })
}

// Slots that are in use, however many, are no reason to start anew.
func TestBusyIsAlive(t *testing.T) {
	t.Parallel()
	s := quiet(1)
	works, end := make(chan struct{}), make(chan struct{})
	answer := make(chan error, 1)
	go func() {
		answer <- s.work(t.Context(), t, func(context.Context, *call) error { close(works); <-end; return nil })
	}()
	<-works
	if code, text := s.probe(t, "/healthz"); code != http.StatusOK {
		t.Errorf("got %d, %s", code, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*margin)
	defer cancel()
	err := s.work(ctx, t, func(context.Context, *call) error { t.Error("worked on without a slot"); return nil })
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "no render slot became free before Argo CD's deadline: all 1 are taken (--max-in-flight)") {
		t.Errorf("got error %v, want %s", err, codes.ResourceExhausted)
	}
	waits, stop := context.WithCancel(t.Context())
	stop()
	if err := s.work(waits, t, func(context.Context, *call) error { return nil }); status.Code(err) != codes.Canceled {
		t.Errorf("got error %v, want %s", err, codes.Canceled)
	}
	close(end)
	if err := <-answer; err != nil {
		t.Error(err)
	}
	eventually(t, "the slot is free", func() bool { return len(s.slots) == 0 })
}

// With no time at all the reason is the time, and not a slot, which is free.
func TestNoTime(t *testing.T) {
	t.Parallel()
	s := quiet(1)
	for range 20 { // a choice between two that are ready is random
		ctx, cancel := context.WithTimeout(t.Context(), margin/2)
		err := s.work(ctx, t, func(ctx context.Context, _ *call) error { <-ctx.Done(); return ctx.Err() })
		cancel()
		if status.Code(err) != codes.DeadlineExceeded {
			t.Fatalf("got error %v, want %s", err, codes.DeadlineExceeded)
		}
		eventually(t, "the slot is free", func() bool { return len(s.slots) == 0 })
	}
}

// The client of a request that is late reads a reason of ours, not its own
// "context deadline exceeded": here of a repository that stops to arrive.
func TestDeadlineOverTheSocket(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for method, open := range methods {
		late := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			stream, answer, err := open(ctx, r.client)
			if err != nil {
				return err
			}
			for _, m := range whole(good(t))[:2] {
				if err := stream.Send(m); err != nil {
					return err
				}
			}
			return stream.RecvMsg(answer)
		}
		// On a machine that is busy with other things an answer may come too late.
		ours := false
		for try := 0; try < 5 && !ours; try++ {
			err := late()
			if status.Code(err) != codes.DeadlineExceeded {
				t.Fatalf("%s: got error %v, want %s", method, err, codes.DeadlineExceeded)
			}
			ours = strings.Contains(err.Error(), "hallmark: error: the request is not done before Argo CD's deadline for it")
		}
		if !ours {
			t.Errorf("%s: no error says why", method)
		}
	}
	eventually(t, "the slots are free", func() bool { return len(r.slots) == 0 })
}

// repo-server reads no answer before it has sent the whole repository, so one
// that finds no slot is read to its end. This one is larger than what the
// transport buffers.
func TestBusyOverTheSocket(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *Options) { o.InFlight = 1 })
	noise := make([]byte, 6<<20)
	if _, err := rand.NewChaCha8([32]byte{}).Read(noise); err != nil {
		t.Fatal(err)
	}
	root := checkout(t, map[string]string{"app/a.yaml": configMap("web", "b"), "z": string(noise)})
	r.slots <- struct{}{}
	busy := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := r.generate(ctx, root, env())
		return err
	}
	// On a machine that is busy with other things the client may need seconds to
	// pack the repository, and so the whole of a short time.
	within := 2 * time.Second
	err := busy(within)
	for ; within < time.Minute && status.Code(err) != codes.ResourceExhausted; within *= 2 {
		err = busy(2 * within)
	}
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "hallmark: error: no render slot became free before Argo CD's deadline: all 1 are taken (--max-in-flight)") {
		t.Errorf("got error %v, want %s", err, codes.ResourceExhausted)
	}
	<-r.slots
	if _, err := r.generate(t.Context(), root, env()); err != nil {
		t.Errorf("with a slot: %v", err)
	}
}

// A panic is an answer without what it says, and not the end of the server.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := quiet(1)
	for name, run := range map[string]func() error{
		"in the work": func() error {
			return s.work(t.Context(), t, func(context.Context, *call) error { panic("s3cr3t") })
		},
		"in the render": func() error {
			return s.work(t.Context(), t, func(ctx context.Context, c *call) error {
				c.request.Stage = func(plugin.Stage, string) { panic("s3cr3t") }
				_, err := (*plugin.Cache)(nil).Render(ctx, c.request)
				return err
			})
		},
		"in the stream": func() error {
			return s.serve(&brokenStream{fakeStream{ctx: t.Context()}}, methodMatch, nil)
		},
	} {
		err := run()
		if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "hallmark panicked") || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: got error %v, want %s", name, err, codes.Internal)
		}
		eventually(t, "the slot is free", func() bool { return len(s.slots) == 0 && s.stuck.Load() == 0 })
	}
	if _, text := s.probe(t, "/metrics"); !strings.Contains(text, `hallmark_requests_total{method="GenerateManifest",outcome="panic"} 2`) {
		t.Errorf("the panics are not counted:\n%s", ours(text))
	}
	if err := s.work(t.Context(), t, func(context.Context, *call) error { return nil }); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

type brokenStream struct{ fakeStream }

func (*brokenStream) Recv() (*appStreamRequest, error) { panic("s3cr3t") }
