package executor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// sessionOfItsOwn lets the whole group be told to end, and the command be killed when its
// executor is. Without a terminal a question for a password fails; with one it would
// stop the command for ever.
func sessionOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes processes whose parent has ended children of this one, as they are
// where it is the first process of a container: those that have ended and wait for a
// parent look alive to anyone else.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// anyLeft reports whether processes of the group are alive.
func (p *process) anyLeft() bool {
	for {
		pid, err := syscall.Wait4(-p.pid, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no child is of that group, but a child of one that has left it may be
			return syscall.Kill(-p.pid, 0) != syscall.ESRCH && p.anyListed()
		case pid == 0:
			return true
		}
	}
}

// anyListed is anyLeft by the system's list of processes.
func (p *process) anyListed() bool {
	alive := false
	forEachProcess(func(_, _, group int, zombie bool) { alive = alive || group == p.pid && !zombie })
	return alive
}

// reapAdopted lets go of children that have ended, but for the command.
func (p *process) reapAdopted() {
	own := os.Getpid()
	forEachProcess(func(pid, parent, _ int, zombie bool) {
		if zombie && parent == own && pid != p.pid {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	})
}

// forEachProcess reads the system's list of processes. Source: proc(5), /proc/pid/stat.
func forEachProcess(f func(pid, parent, group int, zombie bool)) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil { // it has gone
			continue
		}
		// The name before the bracket may hold anything.
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		if len(fields) < 3 {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		parent, _ := strconv.Atoi(fields[1])
		group, _ := strconv.Atoi(fields[2])
		f(pid, parent, group, fields[0] == "Z" || fields[0] == "X")
	}
}
