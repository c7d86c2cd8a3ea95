package signal

import "syscall"

// attributes are those of a program that leads a group, and that the kernel ends when hob has been ended with no time to do so itself
// (prctl(2), PR_SET_PDEATHSIG: it goes by the thread that started the program).
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
