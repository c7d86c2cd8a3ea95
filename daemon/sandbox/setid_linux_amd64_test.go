package sandbox_test

import "golang.org/x/sys/unix"

// olderCalls are those whose work the ones with a folder do on newer processors.
func olderCalls() map[string]uintptr {
	return map[string]uintptr{"chmod": unix.SYS_CHMOD, "open": unix.SYS_OPEN, "creat": unix.SYS_CREAT, "mknod": unix.SYS_MKNOD, "mkdir": unix.SYS_MKDIR}
}
