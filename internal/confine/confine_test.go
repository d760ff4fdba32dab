package confine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// A process that is confined stays so, hence the tests ask another one: this
// binary, run anew with a wish in the environment. It confines itself, tells its
// State, and then does what each line of its input says.
const wishVariable = "CONFINE_TEST_WISH"

type wish struct {
	Read, Write []string
	Open        string // a file that is opened before
}

func TestMain(m *testing.M) {
	if text := os.Getenv(wishVariable); text != "" {
		if err := obey(text, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// order is one line of the input of a confined process: an operation and its
// paths. The answer is one line, the error or nothing.
type order struct {
	Do    string
	Paths []string
}

func obey(text string, in io.Reader, out io.Writer) error {
	var w wish
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}
	open, err := os.Open(w.Open)
	if err != nil {
		return err
	}
	threads := newThreads()
	state, err := Files(w.Read, w.Write)
	if err != nil {
		return err
	}
	answers := json.NewEncoder(out)
	if err := answers.Encode(state); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		var answer string
		switch err := do(o, open, threads); {
		case errors.Is(err, fs.ErrPermission): // EACCES and EPERM
			answer = denied
		case err != nil:
			answer = err.Error()
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

const denied = "denied"

func do(o order, open *os.File, threads threads) error {
	path := o.Paths[0]
	switch o.Do {
	case "read":
		_, err := os.ReadFile(path)
		return err
	case "read in threads":
		return threads.each(func() error { return do(order{Do: "read", Paths: o.Paths}, open, threads) })
	case "read what was open":
		_, err := io.ReadAll(open)
		return err
	case "list":
		_, err := os.ReadDir(path)
		return err
	case "create":
		return os.WriteFile(path, []byte("new"), 0o600)
	case "append":
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		return errors.Join(err, f.Close())
	case "truncate":
		return os.Truncate(path, 0)
	case "rename":
		return os.Rename(path, o.Paths[1])
	case "remove":
		return os.Remove(path)
	case "mkdir":
		return os.Mkdir(path, 0o700)
	case "link":
		return os.Symlink("target", path)
	case "pipe":
		return syscall.Mkfifo(path, 0o600)
	case "execute":
		return exec.Command(path).Run()
	case "listen":
		l, err := net.Listen(o.Paths[1], path)
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }()
		c, err := net.Dial(l.Addr().Network(), l.Addr().String())
		if err != nil {
			return err
		}
		return c.Close()
	case "dial":
		c, err := net.Dial(o.Paths[1], path)
		if err != nil {
			return err
		}
		return c.Close()
	case "signal":
		return syscall.Kill(os.Getppid(), 0)
	}
	return fmt.Errorf("unknown operation %q", o.Do)
}

// threads are goroutines with a thread of the system each.
type threads []chan func()

func newThreads() threads {
	t := make(threads, 8)
	for i := range t {
		t[i] = make(chan func())
		started := make(chan bool)
		go func() {
			runtime.LockOSThread()
			close(started)
			for f := range t[i] {
				f()
			}
		}()
		<-started
	}
	return t
}

// each calls f in each thread. The errors have to agree.
func (t threads) each(f func() error) error {
	var errs []error
	for _, thread := range t {
		result := make(chan error)
		thread <- func() { result <- f() }
		errs = append(errs, <-result)
	}
	for _, err := range errs {
		if (err == nil) != (errs[0] == nil) {
			return fmt.Errorf("threads differ: %v", errs)
		}
	}
	return errs[0]
}

// confined is the other process.
type confined struct {
	State

	in      *json.Encoder
	answers *json.Decoder
}

func confineOther(t *testing.T, w wish) *confined {
	t.Helper()
	if _, err := ll.LandlockGetABIVersion(); err != nil {
		t.Skipf("needs Landlock: %s", off(err))
	}
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), wishVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // its end
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	c := &confined{in: json.NewEncoder(in), answers: json.NewDecoder(out)}
	if err := c.answers.Decode(&c.State); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *confined) do(t *testing.T, what string, paths ...string) (answer string) {
	t.Helper()
	if err := c.in.Encode(order{what, paths}); err != nil {
		t.Fatal(err)
	}
	if err := c.answers.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// put makes files; a path that ends in a slash is a folder.
func put(t *testing.T, root string, files ...string) {
	t.Helper()
	for _, name := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(file, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(file, []byte(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// shortDir is a folder whose path is short enough for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "c")
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

func TestFiles(t *testing.T) {
	t.Parallel()
	root := shortDir(t)
	at := func(name string) string { return filepath.Join(root, name) }
	put(t, root, "in/a", "in/sub/b", "single/a", "single/b", "out/a", "out/open", "w/old", "w/old2", "w/empty/")
	link(t, "../out/a", at("in/outward"))
	link(t, "../in/a", at("out/inward"))
	// A program that would run, were it allowed.
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("in/program"), program, 0o700); err != nil {
		t.Fatal(err)
	}
	abstract := "@" + at("abstract") // the folder's name is random
	for _, address := range []string{at("out/socket"), abstract} {
		l, err := net.Listen("unix", address)
		if err != nil {
			t.Skipf("no sockets here: %v", err)
		}
		t.Cleanup(func() { _ = l.Close() })
	}

	c := confineOther(t, wish{Read: []string{at("in"), at("single/a"), at("none"), at("in/a/none")}, Write: []string{at("w")}, Open: at("out/open")})
	if c.ABI < 1 || c.Off != "" {
		t.Fatalf("got %+v, want it confined", c.State)
	}
	if want := []string{at("none"), at("in/a/none")}; !slices.Equal(c.Absent, want) {
		t.Errorf("got absent %q, want %q", c.Absent, want)
	}
	for _, tt := range []struct {
		do    string
		paths []string
		want  string
		abi   int // from which on it is confined
	}{
		{do: "read", paths: []string{at("in/a")}},
		{do: "read", paths: []string{at("in/sub/b")}},
		{do: "read", paths: []string{at("out/inward")}},
		{do: "read in threads", paths: []string{at("in/a")}},
		{do: "list", paths: []string{at("in/sub")}},
		{do: "read", paths: []string{at("single/a")}},
		{do: "read what was open", paths: []string{at("out/open")}},

		{do: "read", paths: []string{at("out/a")}, want: denied},
		{do: "read", paths: []string{at("in/../out/a")}, want: denied},
		{do: "read", paths: []string{at("in/outward")}, want: denied},
		{do: "read", paths: []string{at("single/b")}, want: denied},
		{do: "read", paths: []string{"/etc/passwd"}, want: denied},
		{do: "read", paths: []string{"/proc/self/root/etc/passwd"}, want: denied},
		{do: "read in threads", paths: []string{"/etc/passwd"}, want: denied},
		{do: "list", paths: []string{at("out")}, want: denied},
		{do: "list", paths: []string{at("single")}, want: denied},
		{do: "list", paths: []string{"/"}, want: denied},

		{do: "create", paths: []string{at("in/new")}, want: denied},
		{do: "create", paths: []string{at("out/new")}, want: denied},
		{do: "create", paths: []string{at("out/a")}, want: denied},
		{do: "append", paths: []string{at("in/a")}, want: denied},
		{do: "truncate", paths: []string{at("in/a")}, want: denied, abi: 3},
		{do: "truncate", paths: []string{at("out/a")}, want: denied, abi: 3},
		{do: "remove", paths: []string{at("in/a")}, want: denied},
		{do: "remove", paths: []string{at("w/empty/../../out/a")}, want: denied},
		{do: "rename", paths: []string{at("in/a"), at("in/c")}, want: denied},
		{do: "mkdir", paths: []string{at("in/new")}, want: denied},
		{do: "listen", paths: []string{at("in/s.sock"), "unix"}, want: denied},
		{do: "listen", paths: []string{at("out/s.sock"), "unix"}, want: denied},
		{do: "execute", paths: []string{at("in/program")}, want: denied},
		{do: "execute", paths: []string{"/bin/true"}, want: denied},

		{do: "listen", paths: []string{at("w/s.sock"), "unix"}},
		{do: "create", paths: []string{at("w/new")}},
		{do: "read", paths: []string{at("w/new")}},
		{do: "list", paths: []string{at("w")}},
		{do: "append", paths: []string{at("w/old")}},
		{do: "create", paths: []string{at("w/old")}},
		{do: "truncate", paths: []string{at("w/old")}},
		{do: "rename", paths: []string{at("w/old"), at("w/old2")}},
		{do: "remove", paths: []string{at("w/old2")}},
		{do: "mkdir", paths: []string{at("w/dir")}},
		{do: "remove", paths: []string{at("w/dir")}},
		{do: "link", paths: []string{at("w/link")}, want: denied},
		{do: "pipe", paths: []string{at("w/pipe")}, want: denied},
		{do: "execute", paths: []string{at("w/new")}, want: denied},

		// The network is not the files'.
		{do: "listen", paths: []string{"127.0.0.1:0", "tcp"}},
		{do: "dial", paths: []string{at("out/socket"), "unix"}},
		{do: "dial", paths: []string{abstract, "unix"}, want: denied, abi: 7},
		{do: "signal", paths: []string{"the test"}, want: denied, abi: 7},
	} {
		t.Run(tt.do+" "+strings.ReplaceAll(strings.Join(tt.paths, " "), root, ""), func(t *testing.T) {
			if c.ABI < tt.abi {
				t.Skipf("needs version %d of Landlock, the kernel has %d", tt.abi, c.ABI)
			}
			if got := c.do(t, tt.do, tt.paths...); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Kubernetes renews a mount by moving the link ..data to a new folder; the names
// that users know are links through it.
func TestFilesOfRenewedMount(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	put(t, root, "mount/..1/key", "other/key")
	link(t, "..1", at("mount/..data"))
	link(t, "..data/key", at("mount/key"))
	c := confineOther(t, wish{Read: []string{Folder(at("mount/key")), at("other/key")}, Open: at("other/key")})
	if got := c.do(t, "read", at("mount/key")); got != "" {
		t.Fatalf("got %q before the mount is renewed", got)
	}

	put(t, root, "mount/..2/key", "new/key")
	link(t, "..2", at("mount/..data_tmp"))
	for from, to := range map[string]string{"mount/..data_tmp": "mount/..data", "new/key": "other/key"} {
		if err := os.Rename(at(from), at(to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(at("mount/..1")); err != nil {
		t.Fatal(err)
	}
	if got := c.do(t, "read", at("mount/key")); got != "" {
		t.Errorf("got %q after the mount was renewed", got)
	}
	// What the package comment says of single files.
	if got := c.do(t, "read", at("other/key")); got != denied {
		t.Errorf("got %q for a file in the place of a single one, want %q", got, denied)
	}
}

// A folder of /proc stays readable, and of another process it stays refused.
func TestFilesOfProc(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "open")
	put(t, filepath.Dir(file), "open")
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	c := confineOther(t, wish{Read: []string{"/proc/self"}, Open: file})
	if got := c.do(t, "read", "/proc/self/stat"); got != "" {
		t.Errorf("got %q", got)
	}
	if got := c.do(t, "read", fmt.Sprintf("/proc/%d/stat", os.Getpid())); got != denied {
		t.Errorf("got %q for another process, want %q", got, denied)
	}
}

func TestOff(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		syscall.ENOSYS:     "the kernel has no Landlock",
		syscall.EOPNOTSUPP: "Landlock is turned off in this kernel (its parameter lsm)",
		syscall.EPERM:      "the container runtime does not let it use Landlock (its seccomp profile)",
		syscall.EINVAL:     "the kernel does not answer for Landlock (invalid argument)",
	} {
		if got := off(err); got != want {
			t.Errorf("got %q for %v, want %q", got, err, want)
		}
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"/etc/hallmark/policy.yaml": "/etc/hallmark", "/keys//age.txt": "/keys", "/key": "/", "key": ".", "/a/b/../key": "/a",
	} {
		if got := Folder(file); got != want {
			t.Errorf("got %q for %q, want %q", got, file, want)
		}
	}
}
