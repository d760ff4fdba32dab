//go:build !linux

package pgtest

import "syscall"

func endsWithParent(a *syscall.SysProcAttr) *syscall.SysProcAttr { return a }
