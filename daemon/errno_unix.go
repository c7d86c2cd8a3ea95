//go:build unix

package daemon

import "syscall"

const (
	errReadOnly = syscall.EROFS
	errNotDir   = syscall.ENOTDIR
)
