//go:build unix && !linux

package signal

import "syscall"

// attributes are those of a program that leads a group. When hob has been killed it runs on; the next hob finds it and uses it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
