package sandbox

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// memory returns a file without a name that holds text. Only processes that inherit it can read it.
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
