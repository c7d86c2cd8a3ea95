package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"hob/daemon/sandbox/entry"
)

// Landlock's rights that a box needs in folders that it may not write (https://docs.kernel.org/userspace-api/landlock.html).
const readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

// dirRights are those that make no sense for a file.
const dirRights = unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
	unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
	unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER

// noDevices are rights that are given nowhere: a box makes no device nodes.
const noDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK

// landlockVersion is that of the kernel's interface; 0: it has none, or it is switched off.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v) // #nosec G115 -- a small number
}

// fileRights are the rights that a version of the interface knows.
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

// landlock adds to an order that the process writes below the given paths and in the box's own folders only, changes no mount, traces and
// signals nobody outside, and reaches no abstract socket that was made outside. A kernel that knows less does less, one that knows
// nothing does nothing: the namespaces are the boundary.
func landlock(order []byte, write []string) []byte {
	version := landlockVersion()
	if version == 0 {
		return order
	}
	rights := fileRights(version)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	size := unsafe.Sizeof(attr.Handled_access_fs) // what the first version knows
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Sizeof(attr)
	}
	order = entry.Append(order, entry.Landlock, string(unsafe.Slice((*byte)(unsafe.Pointer(&attr)), size))) // #nosec G103 -- the kernel's own form
	order = allow(order, "/", readRights&rights)
	for _, path := range append([]string{"/dev", "/tmp", "/var/tmp", "/run"}, write...) {
		order = allow(order, path, rights&^noDevices)
	}
	return order
}

// allow gives rights below a path; of those for folders none, where it is a file.
func allow(order []byte, path string, rights uint64) []byte {
	return entry.Append(order, entry.Allow, path, rights, rights&^dirRights)
}
