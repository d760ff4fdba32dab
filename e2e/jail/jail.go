// Package jail runs a program as a container runtime does for a pod that asks
// for everything to be taken away: the folder as its root file system, which it
// cannot write to; a user without name, groups and capabilities, who can gain
// none; a network of its own with nothing in it; and nothing from outside but
// the mounts that are named.
//
// It takes no container engine and no other program, only root. Of what a
// container engine adds, the jail has /dev/null, which starting a program takes;
// it has no /proc, cgroups or seccomp.
package jail

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// drain is how long a program gets between SIGTERM and SIGKILL, which is what a
// pod gets.
const drain = 30 * time.Second

const devices = "/dev"

// The parts of Linux's interface that package syscall lacks.
const (
	prCapBSetDrop   = 24
	prSetNoNewPrivs = 38
	msPrivate       = syscall.MS_REC | syscall.MS_PRIVATE
	msShut          = syscall.MS_NOSUID | syscall.MS_NODEV
)

// A Mount shows the host's folder Source at the path Target of the jail.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}

// A Program is what to run.
type Program struct {
	// Root is the root file system. Start makes the mount points in it, as a
	// container runtime does.
	Root   string
	Mounts []Mount
	// Args begin with the program's path in the jail, Env is its whole
	// environment.
	Args, Env []string
	UID, GID  uint32
	// Stdout, where it is not nil, gets the standard output.
	Stdout *bytes.Buffer
}

// A Process is a program in its jail.
type Process struct {
	PID  int
	log  string
	ends chan struct{}
	err  error // once ends is closed
	stop sync.Once
}

// Require skips the test where no jail can be made. In CI, where one must be,
// the test fails.
func Require(t testing.TB) {
	t.Helper()
	err := errors.New("only root can make a jail")
	if os.Geteuid() == 0 {
		err = onThread(func() error { return syscall.Unshare(syscall.CLONE_NEWNS | syscall.CLONE_NEWNET) })
	}
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// onThread calls f on a thread that ends with it, and with everything that f
// did to it.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		done <- f()
	}()
	return <-done
}

// Start starts a program. It stops with the test.
func Start(t testing.TB, p Program) *Process {
	t.Helper()
	for _, m := range append([]Mount{{Target: devices}}, p.Mounts...) {
		if err := os.MkdirAll(filepath.Join(p.Root, m.Target), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	process := &Process{log: log.Name(), ends: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer close(process.ends)
		defer log.Close()
		// A child gets the namespaces and the limits of the thread that forks
		// it. The thread is never unlocked, so that Go ends it, and with it the
		// mounts, when the program has ended.
		runtime.LockOSThread()
		if err := p.enter(); err != nil {
			started <- err
			return
		}
		c := exec.Command(p.Args[0], p.Args[1:]...)
		c.Dir, c.Env = "/", p.Env
		c.Stdout, c.Stderr = log, log
		if p.Stdout != nil {
			c.Stdout = p.Stdout
		}
		c.SysProcAttr = &syscall.SysProcAttr{
			Chroot: p.Root, Credential: &syscall.Credential{Uid: p.UID, Gid: p.GID},
			Setpgid: true, Pdeathsig: syscall.SIGKILL,
		}
		if err := c.Start(); err != nil {
			started <- err
			return
		}
		process.PID = c.Process.Pid
		started <- nil
		process.err = c.Wait()
	}()
	if err := <-started; err != nil {
		t.Fatalf("starting %s in a jail: %v", p.Args[0], err)
	}
	t.Cleanup(func() {
		_ = process.Stop()
		if t.Failed() {
			t.Logf("log of %s:\n%s", p.Args[0], process.Log())
		}
	})
	return process
}

// enter prepares the current thread.
func (p Program) enter() error {
	if err := syscall.Unshare(syscall.CLONE_NEWNS | syscall.CLONE_NEWNET); err != nil {
		return fmt.Errorf("new namespaces: %w", err)
	}
	if err := syscall.Mount("", "/", "", msPrivate, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	// The mounts come between: under a read-only root they keep their own mode.
	if err := bind(p.Root, p.Root, false); err != nil {
		return err
	}
	if err := mountDevices(filepath.Join(p.Root, devices)); err != nil {
		return err
	}
	for _, m := range p.Mounts {
		if err := bind(m.Source, filepath.Join(p.Root, m.Target), m.ReadOnly); err != nil {
			return err
		}
	}
	if err := syscall.Mount("", p.Root, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|msShut, ""); err != nil {
		return fmt.Errorf("making %s read-only: %w", p.Root, err)
	}
	last, err := lastCapability()
	if err != nil {
		return err
	}
	for c := range last + 1 {
		if err := prctl(prCapBSetDrop, c); err != nil {
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	return nil
}

// mountDevices makes a folder of devices that holds null.
func mountDevices(folder string) error {
	const flags = syscall.MS_NOSUID | syscall.MS_NOEXEC
	if err := syscall.Mount("tmpfs", folder, "tmpfs", flags, "mode=755"); err != nil {
		return fmt.Errorf("mounting %s: %w", devices, err)
	}
	null := filepath.Join(folder, "null")
	if err := os.WriteFile(null, nil, 0o666); err != nil {
		return err
	}
	if err := syscall.Mount(os.DevNull, null, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", os.DevNull, err)
	}
	if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT|syscall.MS_RDONLY|flags, "mode=755"); err != nil {
		return fmt.Errorf("making %s read-only: %w", devices, err)
	}
	return nil
}

func bind(source, target string, readOnly bool) error {
	if err := syscall.Mount(source, target, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s at %s: %w", source, target, err)
	}
	flags := uintptr(syscall.MS_BIND | syscall.MS_REMOUNT | msShut)
	if readOnly {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount("", target, "", flags, ""); err != nil {
		return fmt.Errorf("setting the mode of %s: %w", target, err)
	}
	return nil
}

func lastCapability() (int, error) {
	data, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

func prctl(option, argument int) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, uintptr(option), uintptr(argument), 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// Wait waits for the program's own end and returns an error unless its exit
// code is 0.
func (p *Process) Wait() error {
	<-p.ends
	return p.err
}

// Ended returns an error if the program is no longer running.
func (p *Process) Ended() error {
	select {
	case <-p.ends:
		return fmt.Errorf("the program ended: %w\n%s", p.err, p.Log())
	default:
		return nil
	}
}

// Kill ends the program at once.
func (p *Process) Kill() {
	p.stop.Do(func() { _ = syscall.Kill(-p.PID, syscall.SIGKILL) }) // it may have ended
	<-p.ends
}

// Stop ends the program as a kubelet does and returns an error unless its exit
// code is 0.
func (p *Process) Stop() error {
	p.stop.Do(func() {
		_ = syscall.Kill(-p.PID, syscall.SIGTERM) // it may have ended
		select {
		case <-p.ends:
		case <-time.After(drain):
			_ = syscall.Kill(-p.PID, syscall.SIGKILL)
		}
	})
	return p.Wait()
}

// Log is what the program printed, without Stdout where that was given.
func (p *Process) Log() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Proc reads one of the program's files in /proc.
func (p *Process) Proc(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
