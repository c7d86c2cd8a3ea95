//go:build unix && !linux

package signal

import "syscall"

// attributes puts a program into its own process group. If hob is killed, the program continues; the next hob
// finds and uses it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
