package runtime

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// changed returns when the content, name or permissions of a file last changed (ctime), by the
// system's clock. No program can set this time back.
func changed(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(int64(s.Ctim.Sec), int64(s.Ctim.Nsec)) //nolint:unconvert // int32 on some machines
	}
	return info.ModTime()
}

// FileClock returns the time stamp that the kernel would give to a file that changes now. It is the
// time of the last clock tick, so it is slightly behind time.Now.
func FileClock() time.Time {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t); err != nil {
		return time.Now().Add(-time.Second)
	}
	return time.Unix(t.Unix())
}
