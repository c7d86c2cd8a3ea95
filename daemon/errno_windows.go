package daemon

import "syscall"

const (
	errReadOnly = syscall.ERROR_ACCESS_DENIED
	errNotDir   = syscall.ENOTDIR
)
