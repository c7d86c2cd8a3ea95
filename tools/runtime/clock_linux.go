package runtime

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// changed is when a file's content, name or rights were changed last (ctime), by the system's clock.
func changed(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(int64(s.Ctim.Sec), int64(s.Ctim.Nsec)) //nolint:unconvert // int32 on some machines
	}
	return info.ModTime()
}

// FileClock is the time that a file would be stamped with that changes now: the clock of the kernel's last tick, which is a
// little behind.
func FileClock() time.Time {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t); err != nil {
		return time.Now().Add(-time.Second)
	}
	return time.Unix(t.Unix())
}
