package fsguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const nonblock = unix.O_NONBLOCK

// openSame opens a handle first (O_PATH opens no content, and closing it drops no locks), compares it with the classified file, and opens
// the file through the handle. So even a race cannot make it open another file.
func (g *Guard) openSame(root *os.Root, rel string, want fs.FileInfo) (*os.File, error) {
	handle, err := root.OpenFile(rel, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer closeHandle(handle)
	info, err := handle.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, want) || !info.Mode().IsRegular() {
		return nil, ErrMoved
	}
	// The entry in /proc leads to the file of the handle, whatever its name is by now (proc(5)).
	f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", handle.Fd()), os.O_RDONLY|nonblock, 0)
	if errors.Is(err, fs.ErrNotExist) { // /proc is not mounted
		return g.openPlain(root, rel, want)
	}
	return f, err
}

// closeHandle closes a handle through which nothing was read or written.
func closeHandle(f *os.File) { _ = f.Close() }
