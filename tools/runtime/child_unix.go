//go:build unix && !linux

package runtime

import "syscall"

func attributes(terminal, _ bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: terminal}
}
