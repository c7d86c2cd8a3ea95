package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"hob/daemon/sandbox/entry"
)

// readRights are the Landlock rights in folders that a sandbox may not write (https://docs.kernel.org/userspace-api/landlock.html).
const readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

// dirRights are the rights that the kernel rejects for a file.
const dirRights = unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
	unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
	unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER

// noDevices are rights that no sandbox gets: it cannot make device nodes.
const noDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK

// landlockVersion returns the version of the kernel's Landlock interface; 0: none, or Landlock is switched off.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v) // #nosec G115 -- a small number
}

// fileRights returns the file rights that a version of the interface knows. The kernel rejects unknown ones.
func fileRights(version int) uint64 {
	switch {
	case version >= 5:
		return unix.LANDLOCK_ACCESS_FS_IOCTL_DEV<<1 - 1
	case version >= 3:
		return unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1
	case version == 2:
		return unix.LANDLOCK_ACCESS_FS_REFER<<1 - 1
	}
	return unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
}

// landlock adds a rule set to an order. The process may then write only below the given paths and in the sandbox's own folders. It cannot
// change mounts, cannot trace or signal processes outside, and cannot reach abstract sockets outside.
//
// An older kernel enforces less, a kernel without Landlock nothing. The namespaces are the boundary; this is a second layer.
func landlock(order []byte, write []string) []byte {
	version := landlockVersion()
	if version == 0 {
		return order
	}
	rights := fileRights(version)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	size := unsafe.Sizeof(attr.Handled_access_fs) // the size of the first version's struct
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Sizeof(attr)
	}
	order = entry.Append(order, entry.Landlock, string(unsafe.Slice((*byte)(unsafe.Pointer(&attr)), size))) // #nosec G103 -- the kernel's own form
	order = allow(order, "/", readRights&rights)
	for _, path := range append([]string{"/dev"}, write...) {
		order = allow(order, path, rights&^noDevices)
	}
	return order
}

// allow grants rights below a path. If the path is a file, it gets the subset that applies to files.
func allow(order []byte, path string, rights uint64) []byte {
	return entry.Append(order, entry.Allow, path, rights, rights&^dirRights)
}
