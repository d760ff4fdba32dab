//go:build !linux

package executor

import "syscall"

func sessionOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func (p *process) reapAdopted() {}

func adoptOrphans() {}

// anyLeft reports whether processes of the group are there.
func (p *process) anyLeft() bool { return syscall.Kill(-p.pid, 0) == nil }
