//go:build !linux

package runtime

import (
	"io/fs"
	"time"
)

// changed returns when a file was last written.
func changed(info fs.FileInfo) time.Time { return info.ModTime() }

// made reports whether a folder was made at since or later. It is unknown here.
func made(string, fs.FileInfo, time.Time) bool { return false }

// FileClock returns the time stamp that a file would get if it changed now, or slightly before.
func FileClock() time.Time { return time.Now().Add(-10 * time.Millisecond) }
