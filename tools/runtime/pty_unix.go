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

// openTerminal makes a terminal: hob's end, on which deadlines work, and the command's.
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

// pollable is f once more, in a way that reading it can be given a deadline.
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

// hungUp says whether reading a terminal ended because nobody has its other end open any more.
func hungUp(err error) bool { return errors.Is(err, syscall.EIO) }
