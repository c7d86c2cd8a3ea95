//go:build unix && !linux

package walk

import "syscall"

// nonblock are the flags for opening a file: a pipe without a writer does not block, and a link is not followed.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOFOLLOW
