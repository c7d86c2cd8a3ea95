package sandbox_test

import "golang.org/x/sys/unix"

// olderCalls lists calls by path; newer processors have only their variants with a folder descriptor.
func olderCalls() map[string]uintptr {
	return map[string]uintptr{"chmod": unix.SYS_CHMOD, "open": unix.SYS_OPEN, "creat": unix.SYS_CREAT, "mknod": unix.SYS_MKNOD, "mkdir": unix.SYS_MKDIR}
}
