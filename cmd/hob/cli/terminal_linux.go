package cli

import "golang.org/x/sys/unix"

// The names of the requests that read terminal settings, write them, and write them and drop what was typed, on Linux (ioctl_tty(2)).
const (
	readTermios  = unix.TCGETS
	writeTermios = unix.TCSETS
	dropTermios  = unix.TCSETSF
)
