//go:build !linux

package sweep

import (
	"io/fs"
	"time"
)

// changed is when a file was written last.
func changed(info fs.FileInfo) time.Time { return info.ModTime() }

// Clock is the time that a file would be stamped with that changes now, or a little before.
func Clock() time.Time { return time.Now().Add(-10 * time.Millisecond) }
