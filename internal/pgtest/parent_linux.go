package pgtest

import "syscall"

func endsWithParent(a *syscall.SysProcAttr) *syscall.SysProcAttr {
	a.Pdeathsig = syscall.SIGQUIT
	return a
}
