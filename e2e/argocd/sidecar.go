package argocd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/process"
	"hallmark.dev/hallmark/e2e/wait"
)

// A Sidecar is a plugin server beside repo-server.
type Sidecar struct {
	*process.Process
	program process.Program
	socket  string
	metrics string // URL, of `hallmark serve` only
}

// Serve starts `hallmark serve` as the plugin called name, from program, which
// is the folder's own hallmark where it is empty. It stops with the test.
func (a *ArgoCD) Serve(t testing.TB, name, program string, flags ...string) *Sidecar {
	t.Helper()
	if program == "" {
		program = filepath.Join(a.Bin, "hallmark")
	}
	address := fmt.Sprintf("127.0.0.1:%d", cluster.Ports(t, 1)[0])
	s := &Sidecar{socket: filepath.Join(a.Plugins, name+".sock"), metrics: "http://" + address + "/metrics", program: process.Program{
		Name: name, Path: program, Home: a.Cluster.Dir, Logs: a.Cluster.Logs, Grace: wait.Limit,
		Args: append([]string{"serve", "--name", name, "--plugins-dir", a.Plugins, "--http-address", address, "--drain-delay", "0s"}, flags...),
	}}
	s.Restart(t)
	return s
}

// ServeExec starts Argo CD's own plugin server, argocd-cmp-server, with the
// plugin.yaml in the folder config, whose plugin is called name.
func (a *ArgoCD) ServeExec(t testing.TB, name, config string, env ...string) *Sidecar {
	t.Helper()
	work := filepath.Join(a.Cluster.Dir, "work-"+name)
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	s := &Sidecar{socket: filepath.Join(a.Plugins, name+".sock"), program: process.Program{
		Name: name, Path: filepath.Join(a.Bin, a.Release.Program()), Home: a.Cluster.Dir, Logs: a.Cluster.Logs,
		Args: []string{"--config-dir-path", config},
		Env: append([]string{
			"PATH=" + a.Bin + ":" + os.Getenv("PATH"), "ARGOCD_BINARY_NAME=argocd-cmp-server",
			"ARGOCD_PLUGINSOCKFILEPATH=" + a.Plugins, "ARGOCD_CMP_WORKDIR=" + work,
		}, env...),
	}}
	s.Restart(t)
	return s
}

// Restart starts the sidecar anew, after Stop or Kill, and waits until it
// answers on its socket, and with its metrics where it has them.
func (s *Sidecar) Restart(t testing.TB) {
	t.Helper()
	s.Process = process.Start(t, s.program)
	wait.Until(t, "plugin server "+s.program.Name+" listens", func() error {
		if err := s.Ended(); err != nil {
			return err
		}
		connection, err := net.Dial("unix", s.socket)
		if err != nil {
			return err
		}
		if err := connection.Close(); err != nil || s.metrics == "" {
			return err
		}
		_, err = s.InFlight()
		return err
	}, s.Tail)
}

// Replace makes program the one that Restart starts, as an upgrade of the
// sidecar's image does.
func (s *Sidecar) Replace(program string) { s.program.Path = program }

// InFlight is how many requests the sidecar works on, by its metrics.
func (s *Sidecar) InFlight() (int, error) {
	value, err := s.Metric("hallmark_in_flight")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(value)
}

// Metric is the value of a metric without labels.
func (s *Sidecar) Metric(name string) (string, error) {
	response, err := http.Get(s.metrics)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), name+" "); found {
			return value, nil
		}
	}
	return "", fmt.Errorf("no metric %s at %s", name, s.metrics)
}

// PeakMemory is the largest resident memory that the process had, in bytes.
func (s *Sidecar) PeakMemory(t testing.TB) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	t.Fatalf("no VmHWM in %s", data)
	return 0
}

// An Entry is one line of the log of `hallmark serve`.
type Entry struct {
	Msg, Error                    string
	App, Path, Revision, Renderer string
	RenderHash, InputsHash        string
	Objects                       int
	Cached                        bool
	Decrypted                     []struct {
		Path string
		Keys []string
	}
}

// Entries returns the lines of the log with message msg about an Application.
func (s *Sidecar) Entries(t testing.TB, msg, app string) []Entry {
	t.Helper()
	var out []Entry
	for line := range bytes.Lines(s.Log()) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			if bytes.HasSuffix(line, []byte("\n")) { // else the rest is still to come
				t.Fatalf("%s: a line of the log is not JSON: %s", s.Name(), line)
			}
			continue
		}
		if e.Msg == msg && e.App == app {
			out = append(out, e)
		}
	}
	return out
}

// Generated waits for the line that says that a revision of an Application was
// rendered by a renderer of that name and version (or any, where it is empty),
// and returns the last one.
func (s *Sidecar) Generated(t testing.TB, app, revision, renderer string) Entry {
	t.Helper()
	var found Entry
	what := fmt.Sprintf("%s has rendered revision %s of %q %s", s.Name(), revision, app, renderer)
	wait.Until(t, what, func() error {
		for _, e := range s.Entries(t, "generated", app) {
			if e.Revision == revision && (renderer == "" || e.Renderer == renderer) {
				found = e
			}
		}
		if found.Revision == "" {
			return errors.New("its log does not say so")
		}
		return nil
	}, s.Tail)
	return found
}
