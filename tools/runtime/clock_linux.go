package runtime

import (
	"bytes"
	"errors"
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

// made reports whether a folder was made at since or later, or has attributes that a program may have set since its last change. Where
// the file system keeps no birth times, it is false.
func made(path string, info fs.FileInfo, since time.Time) bool {
	if !info.IsDir() {
		return false
	}
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &s); err == nil &&
		s.Mask&unix.STATX_BTIME != 0 && !time.Unix(s.Btime.Sec, int64(s.Btime.Nsec)).Before(since) {
		return true
	}
	names := make([]byte, 4<<10)
	n, err := unix.Llistxattr(path, names)
	return errors.Is(err, unix.ERANGE) || err == nil && bytes.Contains(names[:n], []byte("user."))
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
