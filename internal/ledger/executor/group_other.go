//go:build !linux

package executor

import "syscall"

func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func adoptOrphans() {}

// anyLeft reports whether processes of the group are there.
func (p *process) anyLeft() bool { return syscall.Kill(-p.pid, 0) == nil }
