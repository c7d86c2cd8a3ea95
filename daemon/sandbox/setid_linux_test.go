package sandbox_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"hob/daemon/sandbox"
)

// setIDs lists the system calls that can leave a setuid or setgid bit, each with a path that does not exist yet. The second call of a
// kind hides the bit in other arguments.
func setIDs() map[string]func(path string, mode uint32) error {
	made := func(fd int, err error) error {
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}
	list := map[string]func(string, uint32) error{
		"fchmod": func(path string, mode uint32) error {
			fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			if err := unix.Fchmod(fd, mode); err != nil {
				return err
			}
			return unix.Close(fd)
		},
		"fchmodat": func(path string, mode uint32) error {
			return onFile(path, func() error { return raw(unix.SYS_FCHMODAT, unix.AT_FDCWD, path, uintptr(mode)) })
		},
		"fchmodat with high bits": func(path string, mode uint32) error {
			return onFile(path, func() error { return raw(unix.SYS_FCHMODAT, unix.AT_FDCWD, path, uintptr(uint64(mode)|1<<40)) })
		},
		"fchmodat2": func(path string, mode uint32) error {
			return onFile(path, func() error { return raw(unix.SYS_FCHMODAT2, unix.AT_FDCWD, path, uintptr(mode), 0) })
		},
		"openat": func(path string, mode uint32) error {
			return made(unix.Openat(unix.AT_FDCWD, path, unix.O_CREAT|unix.O_WRONLY, mode))
		},
		"openat of a file without a name": func(path string, mode uint32) error {
			fd, err := unix.Openat(unix.AT_FDCWD, filepath.Dir(path), unix.O_TMPFILE|unix.O_WRONLY, mode)
			if err != nil {
				return err
			}
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
		},
		"openat2": func(path string, mode uint32) error {
			return made(unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: uint64(mode)}))
		},
		"mknodat": func(path string, mode uint32) error {
			return unix.Mknodat(unix.AT_FDCWD, path, unix.S_IFREG|mode, 0)
		},
		"mkdirat": func(path string, mode uint32) error { return unix.Mkdirat(unix.AT_FDCWD, path, mode) },
		"mkdirat, fchmodat": func(path string, mode uint32) error {
			if err := unix.Mkdirat(unix.AT_FDCWD, path, 0o700); err != nil {
				return err
			}
			return raw(unix.SYS_FCHMODAT, unix.AT_FDCWD, path, uintptr(mode))
		},
	}
	for name, nr := range olderCalls() {
		list[name] = func(path string, mode uint32) error { return older(name, nr, path, mode) }
	}
	return list
}

// older makes the calls that only the oldest processor has.
func older(name string, nr uintptr, path string, mode uint32) error {
	at, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	second, third := uintptr(mode), uintptr(0)
	switch name {
	case "open":
		second, third = unix.O_CREAT|unix.O_WRONLY, uintptr(mode)
	case "mknod":
		second |= unix.S_IFREG
	case "chmod":
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
	}
	_, _, errno := unix.Syscall(nr, uintptr(unsafe.Pointer(at)), second, third) // #nosec G103 -- the call's own form
	return orNil(errno)
}

func onFile(path string, do func() error) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	return do()
}

func raw(nr uintptr, dir int, path string, rest ...uintptr) error {
	at, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	rest = append(rest, 0, 0)
	_, _, errno := unix.Syscall6(nr, uintptr(dir), uintptr(unsafe.Pointer(at)), rest[0], rest[1], 0, 0) // #nosec G103 G115 -- the call's own form
	return orNil(errno)
}

func orNil(errno unix.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// setAll runs in the sandbox: every call with every bit, on its own files below dir.
func setAll(dir string) int {
	for name, try := range setIDs() {
		for _, mode := range []uint32{0o4755, 0o2755, 0o6755, 0o755} {
			fmt.Printf("%s %o: %v\n", name, mode, try(fmt.Sprintf("%s/%s-%o", dir, strings.ReplaceAll(name, " ", "_"), mode), mode))
		}
	}
	return 0
}

// TestNoSetID (S4) tries to make setuid and setgid files and folders in a sandbox, by all calls and several shell commands, and checks
// from outside that none has the bit. Without the bits the same calls work.
func TestNoSetID(t *testing.T) {
	w := newMachine(t)
	s := sandbox.New(t.Context(), w.Config)
	usable(t, s)
	if !slices.Contains(s.State().Layers, "seccomp") {
		t.Skip("no seccomp filter here, as the state says: " + s.State().Why)
	}
	d := start(t, w.ready(t, s, w.spec(), []string{"bash", "-c", loop}))
	for _, command := range []string{
		`cp /bin/bash sb1 && chmod 6755 sb1`, `cp /bin/bash sb2; chmod u+s sb2; chmod g+s sb2`, `cp /bin/bash sb3; chmod 4755 sb3; cp --preserve=mode sb3 sb3b`,
		`install -m 4755 /bin/bash sb4`, `mkdir -m 2755 sd1; mkdir sd2; chmod g+s sd2`, `mknod -m 4755 sp p`,
		`python3 -c 'import os; os.open("sb5", os.O_CREAT|os.O_WRONLY, 0o4755)'`, `python3 -c 'import os; fd = os.open("sb6", os.O_CREAT|os.O_WRONLY); os.fchmod(fd, 0o4755)'`,
		`cp /bin/bash sb7; tar --mode=4755 -cf t.tar sb7; mkdir x; tar -xpf t.tar -C x`, `cp /bin/bash sb8; setfacl -m u::rwx sb8; chmod 4711 sb8`,
	} {
		out := d.run(t, `cd "$WS"; `+command)
		if bad := withSetID(t, w.space, w.rw); len(bad) > 0 {
			t.Errorf("%s: %q have the bit\n%s", command, bad, out)
		}
	}
	out := d.run(t, `mkdir "$RW/calls"; /run/hob/hob __setid "$RW/calls"`)
	if bad := withSetID(t, w.space, w.rw); len(bad) > 0 {
		t.Errorf("%q have the bit\n%s", bad, out)
	}
	for name := range setIDs() {
		for _, mode := range []string{"4755", "2755", "6755"} {
			if !strings.Contains(out, name+" "+mode+": operation not permitted\n") && !strings.Contains(out, "openat2 "+mode+": function not implemented\n") {
				t.Errorf("%s %s is not refused:\n%s", name, mode, out)
			}
		}
		want := name + " 755: <nil>\n"
		if name == "openat2" {
			want = name + " 755: function not implemented\n" // its arguments are in memory, which a filter cannot read
		}
		if !strings.Contains(out, want) && !strings.Contains(out, name+" 755: function not implemented\n") {
			t.Errorf("%s does not work without the bits:\n%s", name, out)
		}
	}
}

// withSetID lists the files and folders below folders that have a setuid or setgid bit.
func withSetID(t *testing.T, folders ...string) (bad []string) {
	t.Helper()
	for _, folder := range folders {
		must(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				bad = append(bad, path)
			}
			return nil
		}))
	}
	return bad
}
