package sandbox

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openFolder opens a real folder for listing. It follows no link and never waits: a command may have put a FIFO or a link in its place.
func openFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// hold opens a path without any right to its content (O_PATH). It fails if the path contains a symbolic link.
func hold(path string) (*held, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // a kernel older than 5.6, or a container whose filter does not know the call
		fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	f := os.NewFile(uintptr(fd), path) // #nosec G115 -- a descriptor
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &held{info, f}, nil
}
