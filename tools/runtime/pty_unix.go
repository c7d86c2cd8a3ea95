//go:build unix

package runtime

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal: hob's end, which supports deadlines, and the command's end.
func openTerminal() (master, terminal *os.File, err error) {
	opened, terminal, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	if err = pty.Setsize(opened, &pty.Winsize{Rows: terminalRows, Cols: terminalColumns}); err == nil {
		master, err = pollable(opened)
	}
	if err = errors.Join(err, opened.Close()); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open a terminal: %w", err), terminal.Close())
	}
	return master, terminal, nil
}

// pollable duplicates f in non-blocking mode, so that reads from it can have a deadline.
func pollable(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// hungUp reports whether a read from the terminal failed because nobody has its other end open.
func hungUp(err error) bool { return errors.Is(err, syscall.EIO) }
