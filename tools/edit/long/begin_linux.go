package long

import (
	"os"

	"golang.org/x/sys/unix"
)

// begin asks the system to begin writing out a range, so that the sync at the end has less to wait for. It promises nothing:
// a file system that cannot do it does it at the sync.
func begin(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}
