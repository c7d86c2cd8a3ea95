package edit

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriting asks the kernel to start writing a range to disk, so that the final sync takes less time. A
// file system that does not support this writes everything at the sync.
func startWriting(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}
