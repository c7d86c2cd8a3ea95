//go:build unix

package daemon

import (
	"syscall"

	"hob/daemon/event"
)

// leastFiles is how many files hob must be able to open: those that it keeps open, and some connections.
const leastFiles = 40

// enoughFiles refuses a limit of open files with which hob would stop to answer. Go raises the soft limit to the hard one by itself (package os).
func enoughFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || l.Max >= leastFiles { //nolint:nilerr,nolintlint // a system that does not say has none
		return nil
	}
	return event.NewFault(event.Unavailable, "raise the limit: ulimit -n 1024, or LimitNOFILE= in the unit", "only %d files may be open at once; hob needs %d", l.Max, leastFiles)
}

const (
	errNotDir  = syscall.ENOTDIR
	errNoSpace = syscall.ENOSPC
)
