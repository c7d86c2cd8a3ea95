//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Waiting time of takeLock: lockTries times lockPause.
const (
	lockTries = 25
	lockPause = 20 * time.Millisecond
)

// takeLock takes an exclusive flock, which lasts until the file is closed.
//
// The system releases the lock when the process dies, so a crash leaves no stale lock.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- the state folder's own file
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	// A killed hob may have left a child between fork and exec. That child holds the lock for a few more milliseconds.
	for tries := 0; ; tries++ {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) // #nosec G115 -- descriptors are small
		if !errors.Is(err, unix.EWOULDBLOCK) || tries == lockTries {
			break
		}
		timer := time.NewTimer(lockPause)
		<-timer.C
	}
	if err == nil {
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	return nil, errors.Join(err, f.Close())
}
