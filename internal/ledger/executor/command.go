package executor

import (
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// settle is how long processes of a command may outlive it: the end of a pipeline, say.
const settle = 2 * time.Second

// A process is the command in a process group of its own.
type process struct {
	pid    int           // of the command, and the number of its session and group
	told   chan struct{} // closed when the group was told to end
	forced chan struct{} // closed when the time for that was over
	ended  chan struct{} // closed when the command has ended, and all of its group
	end    Command       // once it has ended

	mu   sync.Mutex
	gone bool // the group is, and its number may be another's by now
}

// start starts the command. Its standard output is hashed on its way.
func start(o *Options) (*process, error) {
	adoptOrphans()
	cmd := exec.Command(o.Command[0], o.Command[1:]...)
	cmd.Env = o.Env
	cmd.Stdin = o.Input
	cmd.SysProcAttr = sessionOfItsOwn()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, errors.Join(err, stdout.Close())
	}
	p := &process{told: make(chan struct{}), forced: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux tells the command of the death of this thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		begin := time.Now()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.pid = cmd.Process.Pid
		started <- nil
		out := pass(stdout, stderr, o.Output)
		if o.Reap {
			go p.reap()
		}
		// Not cmd.Wait, which never returns where nobody reads the log.
		state, err := cmd.Process.Wait()
		p.end = ended(state, err)
		p.end.told = isClosed(p.told)
		outlived := p.outlived()
		p.end.held = out.finish()
		p.end.Left = outlived || p.end.held
		p.end.Seconds = int(time.Since(begin).Seconds())
		p.end.Digest = "sha256:" + hex.EncodeToString(out.digest.Sum(nil))
		close(p.ended)
	}()
	return p, <-started
}

func ended(state *os.ProcessState, err error) Command {
	if err != nil {
		return Command{ExitCode: -1}
	}
	out := Command{ExitCode: state.ExitCode()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		out.Signal = status.Signal().String()
	}
	return out
}

// outlived waits for the rest of the group, and reports whether processes of it went on
// that had to be killed. One that was told to end has its time for it.
func (p *process) outlived() bool {
	const interval = 10 * time.Millisecond
	killed, before := false, isClosed(p.forced)
	for n := 0; p.anyLeft(); n++ {
		if n >= int(settle/interval) && !isClosed(p.told) || isClosed(p.forced) {
			p.signal(syscall.SIGKILL)
			killed = true
		}
		time.Sleep(interval)
		killed = killed || isClosed(p.forced)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	return killed && !before
}

// stop tells the group to end, once, and kills it when the grace is over. The caller
// stops the timer when the command has ended.
func (p *process) stop(grace time.Duration) *time.Timer {
	if !isClosed(p.told) {
		close(p.told)
		p.signal(syscall.SIGTERM)
		p.signal(syscall.SIGCONT) // one that is paused learns of it, too
	}
	return time.AfterFunc(grace, func() {
		p.mu.Lock()
		if !isClosed(p.forced) {
			close(p.forced)
		}
		p.mu.Unlock()
		p.signal(syscall.SIGKILL)
	})
}

// signal tells the whole group, of which the command is: the first of a session cannot
// leave its group.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		_ = syscall.Kill(-p.pid, s)
	}
}

// reap lets go of processes that this one has adopted, for as long as the command runs: a
// long one can leave more of them than a container may have.
func (p *process) reap() {
	for ticker := time.NewTicker(time.Second); ; {
		select {
		case <-p.ended:
			ticker.Stop()
			return
		case <-ticker.C:
			p.reapAdopted()
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
