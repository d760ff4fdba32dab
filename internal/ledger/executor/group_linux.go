package executor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// groupOfItsOwn lets the whole group be told to end, and the command be killed when its
// executor is.
func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes processes whose parent has ended children of this one, as they are
// where it is the first process of a container. Only a parent sees which of a group are
// left: those that have ended and wait for a parent look alive to anyone else.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// anyLeft reports whether processes of the group are alive.
func (p *process) anyLeft() bool {
	for {
		pid, err := syscall.Wait4(-p.pid, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no child is of that group
			return false
		case pid == 0:
			return true
		}
	}
}
