package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attack makes system calls that a shell has no command for. It runs in the test binary, which a sandbox shows as its helper. It prints
// BREACH when the call did what it must not.
func attack(args []string) int {
	name, arg := args[0], ""
	if len(args) > 1 {
		arg = args[1]
	}
	try, ok := attacks()[name]
	if !ok {
		fmt.Println("unknown attack", name)
		return 2
	}
	if err := try(arg); err != nil {
		fmt.Println(name, err)
		return 1
	}
	fmt.Println("BREACH", name)
	return 0
}

func attacks() map[string]func(string) error {
	return map[string]func(string) error{
		"ptrace":    func(pid string) error { return unix.PtraceAttach(number(pid)) },
		"seize":     func(pid string) error { return unix.PtraceSeize(number(pid)) },
		"vm-read":   vmRead,
		"pidfd":     pidfdSignal,
		"pidfd-get": pidfdGet,
		"kill":      func(pid string) error { return unix.Kill(number(pid), unix.SIGKILL) },
		"tgkill":    func(pid string) error { return unix.Tgkill(number(pid), number(pid), unix.SIGKILL) },
		"stop":      func(pid string) error { return unix.Kill(number(pid), unix.SIGSTOP) },
		"nice":      func(pid string) error { return unix.Setpriority(unix.PRIO_PROCESS, number(pid), 19) },
		"rlimit": func(pid string) error {
			return unix.Prlimit(number(pid), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}, nil)
		},
		"abstract":    func(name string) error { return dial("unix", "@"+name) },
		"abstract-dg": func(name string) error { return dial("unixgram", "@"+name) },
		"socket":      func(path string) error { return dial("unix", path) },
		"seq":         func(path string) error { return dial("unixpacket", path) },
		"datagram":    func(path string) error { return dial("unixgram", path) },
		"datagram-pair": func(path string) error {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: path})
		},
		"bound":       fromBound,
		"listen":      func(path string) error { return listenAt(path) },
		"tcp":         func(address string) error { return dial("tcp", address) },
		"udp":         udp,
		"raw":         func(string) error { return opened(unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)) },
		"vsock":       func(string) error { return opened(unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)) }, // T2, as the next three
		"alg":         func(string) error { return opened(unix.Socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)) },
		"user-socket": func(string) error { return opened(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_USERSOCK)) },
		"events": func(string) error {
			return opened(unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_KOBJECT_UEVENT))
		},
		"packet":      func(string) error { return opened(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)) },
		"keyctl":      readKey,
		"key-session": func(string) error { return opened(unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)) },
		"key-user":    func(string) error { return opened(unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, false)) },
		"key-search": func(string) error {
			return opened(unix.RequestKey("user", "hob-canary", "", unix.KEY_SPEC_SESSION_KEYRING))
		},
		"key-add": func(string) error {
			return opened(unix.AddKey("user", "hob-planted", []byte("x"), unix.KEY_SPEC_USER_KEYRING))
		},
		"shared-memory": shared,
		"mount":         func(to string) error { return unix.Mount("none", to, "tmpfs", 0, "") },
		"bind":          func(from string) error { return unix.Mount(from, "/tmp", "", unix.MS_BIND, "") },
		"mount-proc":    func(string) error { return unix.Mount("proc", "/tmp", "proc", 0, "") },
		"mount-sys":     func(string) error { return unix.Mount("sysfs", "/tmp", "sysfs", 0, "") },
		"mount-cg":      func(string) error { return unix.Mount("cgroup2", "/tmp", "cgroup2", 0, "") },
		"remount":       func(at string) error { return unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND, "") },
		"private":       func(string) error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "") },
		"umount":        func(at string) error { return unix.Unmount(at, unix.MNT_DETACH) },
		"pivot":         func(string) error { return unix.PivotRoot("/tmp", "/tmp") },
		"fsopen":        func(string) error { return opened(unix.Fsopen("tmpfs", 0)) },
		"open-tree":     func(path string) error { return opened(unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE)) },
		"setattr": func(at string) error {
			return unix.MountSetattr(unix.AT_FDCWD, at, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		},
		"chroot":       func(to string) error { return unix.Chroot(to) },
		"unshare-user": func(string) error { return alone(unix.CLONE_NEWUSER) },
		"unshare-mnt":  func(string) error { return alone(unix.CLONE_NEWNS) },
		"unshare-net":  func(string) error { return alone(unix.CLONE_NEWNET) },
		"unshare-pid":  func(string) error { return alone(unix.CLONE_NEWPID) },
		"clone-user":   cloneUser,
		"clone3":       clone3,
		"setns":        setns,
		"mknod":        func(at string) error { return unix.Mknod(at, unix.S_IFBLK|0o666, 254<<8) },
		"mknod-null":   func(at string) error { return unix.Mknod(at, unix.S_IFCHR|0o666, 1<<8|1) },
		"setuid":       func(string) error { return unix.Setresuid(12345, 12345, 12345) },
		"setgid":       func(string) error { return unix.Setresgid(12345, 12345, 12345) },
		"setgroups":    func(string) error { return unix.Setgroups([]int{0}) },
		"caps":         raiseCaps,
		"ambient": func(string) error {
			return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_SYS_ADMIN, 0, 0)
		},
		"new-privs": func(string) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) },
		"bpf":       func(string) error { return call(unix.SYS_BPF, 0, 0, 0) },
		"perf":      func(string) error { return opened(unix.PerfEventOpen(&unix.PerfEventAttr{Size: 112}, -1, 0, -1, 0)) },
		"userfault": func(string) error { return call(unix.SYS_USERFAULTFD, 1, 0, 0) },
		"io-uring":  func(string) error { return ioUring() },
		"kexec":     func(string) error { return call(unix.SYS_KEXEC_LOAD, 0, 0, 0) },
		"module":    func(string) error { return call(unix.SYS_INIT_MODULE, 0, 0, 0) },
		"swap":      func(string) error { return call(unix.SYS_SWAPOFF, 0, 0, 0) },
		"acct":      func(string) error { return call(unix.SYS_ACCT, 0, 0, 0) },
		"clock":     func(string) error { return unix.Settimeofday(&unix.Timeval{Sec: time.Now().Unix()}) },
		"hostname":  func(string) error { return unix.Sethostname([]byte("hob-was-here")) },
		"syslog":    func(string) error { _, err := unix.Klogctl(3, make([]byte, 4096)); return err },
		"handle":    openByHandle,
		"fanotify":  func(string) error { return opened(unix.FanotifyInit(unix.FAN_CLASS_CONTENT, 0)) },
		"tiocsti":   typeIn,
		"x32":       func(string) error { return call(0x40000000+39, 0, 0, 0) },
		"quota":     func(string) error { return call(unix.SYS_QUOTACTL, 0x800001<<8, 0, 0) },
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -7
	}
	return n
}

func opened(fd int, err error) error {
	if err == nil && fd < 0 {
		return syscall.EINVAL
	}
	return err
}

// call makes a system call with invalid arguments. Only "not permitted" and "no such call" count as a refusal: any other error means that
// the kernel would have done it.
func call(nr, a, b, c uintptr) error {
	_, _, errno := unix.Syscall(nr, a, b, c)
	if errno == unix.EPERM || errno == unix.ENOSYS || errno == unix.EACCES {
		return errno
	}
	return nil
}

func alone(flags int) error { return unix.Unshare(flags) }

// cloneUser starts a child in a user namespace by clone(2), which unshare(1) does not use.
func cloneUser(string) error {
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
	}})
	if err != nil {
		return err
	}
	_, err = syscall.Wait4(pid, nil, 0, nil)
	return err
}

// clone3 passes a structure that is too short on purpose: EINVAL would mean that the call exists.
func clone3(string) error { return call(unix.SYS_CLONE3, 0, 0, 0) }

func ioUring() error { return call(unix.SYS_IO_URING_SETUP, 0, 0, 0) }

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second) // #nosec G704 -- an attack of the test's
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Write([]byte("hello"))
	return err
}

// fromBound connects a socket that has an address of its own.
func fromBound(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	_ = os.Remove("/tmp/bound")
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "/tmp/bound"}); err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

// listenAt makes a socket in a folder.
func listenAt(path string) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	return l.Close()
}

// udp counts as a breach only if something answers.
func udp(address string) error {
	c, err := net.DialTimeout("udp", address, time.Second) // #nosec G704 -- an attack of the test's
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	if err := c.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

func vmRead(pid string) error {
	buf := make([]byte, 8)
	local := []unix.Iovec{{Base: &buf[0], Len: 8}}
	remote := []unix.RemoteIovec{{Base: 0x400000, Len: 8}}
	_, err := unix.ProcessVMReadv(number(pid), local, remote, 0)
	if err == unix.EFAULT { // it was let in and found nothing there
		return nil
	}
	return err
}

func pidfdSignal(pid string) error {
	fd, err := unix.PidfdOpen(number(pid), 0)
	if err != nil {
		return err
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

func pidfdGet(pid string) error {
	fd, err := unix.PidfdOpen(number(pid), 0)
	if err != nil {
		return err
	}
	return opened(unix.PidfdGetfd(fd, 0, 0))
}

func readKey(id string) error {
	buf := make([]byte, 128)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, number(id), buf, 0)
	if err == nil {
		fmt.Printf("%s\n", buf[:n])
	}
	return err
}

// shared reads System V shared memory by its id.
func shared(id string) error {
	data, err := unix.SysvShmAttach(number(id), 0, unix.SHM_RDONLY)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", data[:len(token)])
	return nil
}

func setns(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return unix.Setns(int(f.Fd()), 0)
}

func raiseCaps(string) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	all := [2]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}}
	return unix.Capset(&header, &all[0])
}

// openByHandle leaves a mount by the handle of the file system's root, a former container escape.
func openByHandle(path string) error {
	mount, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return opened(unix.OpenByHandleAt(mount, unix.NewFileHandle(1, []byte{2, 0, 0, 0, 0, 0, 0, 0}), unix.O_RDONLY))
}

func typeIn(string) error {
	c := byte('x')
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c))) // #nosec G103 -- the call's own form
	if errno == 0 {
		return nil
	}
	return errno
}
