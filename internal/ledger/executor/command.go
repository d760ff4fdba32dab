package executor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// settle is how long processes of a command may outlive it: the end of a pipeline, say.
const settle = 2 * time.Second

// A process is the command in a process group of its own.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended, and all of its group
	end   Command       // once it has ended
}

// start starts the command. Its standard output is hashed on its way.
func start(o *Options) (*process, error) {
	adoptOrphans()
	p := &process{cmd: exec.Command(o.Command[0], o.Command[1:]...), ended: make(chan struct{})}
	digest := sha256.New()
	p.cmd.Env = o.Env
	p.cmd.Stdout, p.cmd.Stderr = io.MultiWriter(o.Output, digest), o.Output
	p.cmd.SysProcAttr = groupOfItsOwn()
	p.cmd.WaitDelay = settle
	started := make(chan error)
	go func() {
		// Linux tells the command of the death of this thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		begin := time.Now()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		err = p.cmd.Wait()
		p.end = Command{
			ExitCode: p.cmd.ProcessState.ExitCode(),
			Left:     errors.Is(err, exec.ErrWaitDelay) || p.outlived(),
			Seconds:  int(time.Since(begin).Seconds()),
			Digest:   "sha256:" + hex.EncodeToString(digest.Sum(nil)),
		}
		if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			p.end.Signal = status.Signal().String()
		}
		close(p.ended)
	}()
	return p, <-started
}

// outlived reports whether processes of the group go on after its leader, and stops
// those that do not end by themselves.
func (p *process) outlived() bool {
	const interval = 10 * time.Millisecond
	for range settle / interval {
		if !p.anyLeft() {
			return false
		}
		time.Sleep(interval)
	}
	for p.anyLeft() {
		p.signal(syscall.SIGKILL)
		time.Sleep(interval)
	}
	return true
}

// stop ends the group: in order, and after grace by force.
func (p *process) stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT) // one that is paused learns of it, too
	select {
	case <-p.ended:
	case <-time.After(grace):
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
}

// signal tells the whole group. It is gone where the system does not know it.
func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.ended: // its number may be another's by now
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}
