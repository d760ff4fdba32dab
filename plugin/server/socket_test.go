package server

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// plugins is a folder for sockets. Not t.TempDir(): its path can be longer than
// that of a socket may be.
func plugins(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func closed(t *testing.T, l net.Listener) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// The names are those that Argo CD looks for, and the socket is gone after a
// clean stop.
func TestSocketName(t *testing.T) {
	t.Parallel()
	for want, version := range map[string]string{"hallmark.sock": "", "hallmark-v1.0.sock": "v1.0"} {
		dir := plugins(t)
		l, err := Listen(t.Context(), dir, "hallmark", version)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(t, dir); len(got) != 1 || got[0] != want {
			t.Errorf("got files %q, want %s alone", got, want)
		}
		closed(t, l)
		if got := names(t, dir); len(got) > 0 {
			t.Errorf("got files %q after the end, want none", got)
		}
	}
}

func TestSocketThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := plugins(t)
	for _, tt := range []struct{ dir, name, version, want string }{
		{dir, "", "", `plugin name "", version "": want a name`},
		{dir, "", "v1", `want a name`},
		{dir, "../hallmark", "", `no slash`},
		{dir, "hallmark", "../../v1", `no slash`},
		{dir, "a\x00", "", `no slash`},
		{dir, strings.Repeat("n", 200), "", "bytes, want at most 107"},
		{filepath.Join(dir, "none"), "hallmark", "", "plugins folder: "},
	} {
		l, err := Listen(t.Context(), tt.dir, tt.name, tt.version)
		if err == nil {
			closed(t, l)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q, %q: got error %v, want %q", tt.name, tt.version, err, tt.want)
		}
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("got files %q, want none", got)
	}
}

// The longest path that the kernel takes, and one byte more.
func TestLongestSocketPath(t *testing.T) {
	t.Parallel()
	dir := plugins(t)
	name := strings.Repeat("n", 107-len(dir)-len("/.sock"))
	l, err := Listen(t.Context(), dir, name, "")
	if err != nil {
		t.Fatal(err)
	}
	closed(t, l)
	if l, err := Listen(t.Context(), dir, name+"n", ""); err == nil {
		closed(t, l)
		t.Error("one byte more was taken")
	}
}

// A crash leaves the socket behind.
func TestStaleSocket(t *testing.T) {
	t.Parallel()
	dir := plugins(t)
	first, err := Listen(t.Context(), dir, "hallmark", "")
	if err != nil {
		t.Fatal(err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	closed(t, first)
	if got := names(t, dir); len(got) != 1 {
		t.Fatalf("got files %q, want a socket that nobody listens on", got)
	}
	second, err := Listen(t.Context(), dir, "hallmark", "")
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, second)
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "unix", second.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := connection.Close(); err != nil {
		t.Error(err)
	}
}

// A server that runs keeps its socket, and answers after the question.
func TestLiveSocket(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	l, err := Listen(t.Context(), filepath.Dir(r.socket), "hallmark", "")
	if err == nil {
		closed(t, l)
	}
	if err == nil || !strings.Contains(err.Error(), "a server is running on ") {
		t.Errorf("got error %v", err)
	}
	if _, err := r.exchange(t.Context(), methodGenerate, whole(good(t))...); err != nil {
		t.Error(err)
	}
}

// What is no socket is somebody's file.
func TestSocketPathIsTaken(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(path string) error{
		"file":   func(p string) error { return os.WriteFile(p, []byte("mine"), 0o600) },
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"link":   func(p string) error { return os.Symlink("nowhere", p) },
		"fifo":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := plugins(t)
			path := filepath.Join(dir, "hallmark.sock")
			if err := place(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Listen(t.Context(), dir, "hallmark", "")
			if err == nil {
				closed(t, l)
			}
			if err == nil || !strings.Contains(err.Error(), "exists and is not a socket") {
				t.Errorf("got error %v", err)
			}
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
				t.Errorf("it was touched: %v", err)
			}
		})
	}
}

// Of servers that start at once on a stale socket exactly one serves: none takes
// the fresh socket of another for the stale one.
func TestServersThatStartAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := plugins(t)
		stale, err := Listen(t.Context(), dir, "hallmark", "")
		if err != nil {
			t.Fatal(err)
		}
		stale.(*net.UnixListener).SetUnlinkOnClose(false)
		closed(t, stale)

		const servers = 8
		var all sync.WaitGroup
		var mu sync.Mutex
		var won []net.Listener
		begin := make(chan struct{})
		for range servers {
			all.Go(func() {
				<-begin
				l, err := Listen(context.WithoutCancel(t.Context()), dir, "hallmark", "")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, l)
				} else if !strings.Contains(err.Error(), "a server is running on ") {
					t.Errorf("got error %v", err)
				}
			})
		}
		close(begin)
		all.Wait()
		if len(won) != 1 {
			t.Errorf("%d of %d servers serve, want one", len(won), servers)
		}
		for _, l := range won {
			closed(t, l)
		}
		if _, err := os.Lstat(filepath.Join(dir, "hallmark.sock")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
	}
}

func TestServeClosesTheSocket(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, filepath.Dir(r.socket)); len(got) > 0 {
		t.Errorf("got files %q after a clean stop, want none", got)
	}
}

// repo-server finds a plugin by its socket: without it the server is of no use.
func TestRemovedSocket(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	if code, text := r.probe(t, "/healthz"); code != http.StatusOK {
		t.Fatalf("got %d %s", code, text)
	}
	if err := os.Remove(r.socket); err != nil {
		t.Fatal(err)
	}
	if code, text := r.probe(t, "/healthz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "the socket is gone") {
		t.Errorf("got %d %s", code, text)
	}
}
