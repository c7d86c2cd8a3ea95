package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
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

// landlock confines this thread: it writes below the given paths and in the box's own folders only, changes no mount, traces and
// signals nobody outside, and reaches no abstract socket that was made outside. A kernel that knows less does less, one that knows
// nothing does nothing: the namespaces are the boundary.
func landlock(write []string) error {
	version := landlockVersion()
	if version == 0 {
		return nil
	}
	rights := fileRights(version)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0) // #nosec G103 -- the call's own form
	if errno != 0 {
		return errno
	}
	rules := int(fd) // #nosec G115 -- a descriptor
	if err := allow(rules, "/", readRights&rights); err != nil {
		return err
	}
	for _, path := range append([]string{"/dev", "/tmp", "/var/tmp", "/run"}, write...) {
		if err := allow(rules, path, rights&^noDevices); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return unix.Close(rules)
}

// allow gives rights below a path; of those for folders none, where it is a file.
func allow(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &^= dirRights
	}
	// The kernel's structure is packed: 12 bytes, which the first 12 of this one are.
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}                                                                 // #nosec G115 -- a descriptor
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0) // #nosec G103 -- the call's own form
	if errno != 0 {
		return fmt.Errorf("allow %s: %w", path, errno)
	}
	return unix.Close(fd)
}
