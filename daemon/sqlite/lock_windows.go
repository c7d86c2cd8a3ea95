package sqlite

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// takeLock takes an exclusive lock, which lasts until the file is closed.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if err == nil {
		return f, nil
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = ErrLocked
	}
	return nil, errors.Join(err, f.Close())
}

// refuseNetwork accepts every folder: this build has no check for network shares.
func refuseNetwork(string) error { return nil }
