package sandbox

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// memory is a file that has no name, so that nobody but who inherits it reads it.
func memory(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("hob", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "hob")
	if _, err := f.Write(text); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
