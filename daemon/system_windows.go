package daemon

import "syscall"

// enoughFiles: there is no such limit.
func enoughFiles() error { return nil }

const (
	errNotDir  = syscall.ENOTDIR
	errNoSpace = syscall.Errno(112) // ERROR_DISK_FULL
)
