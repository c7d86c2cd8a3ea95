package signal

import "syscall"

// attributes puts a program into its own process group, and lets the kernel kill it when hob dies without
// stopping it (prctl(2), PR_SET_PDEATHSIG; the signal follows the death of the thread that started the
// program).
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
