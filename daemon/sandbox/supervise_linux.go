//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hob/daemon/sys"
)

// Calls decides about the calls of a sandbox that the seccomp filter cannot judge, because their arguments are paths: a connection to a
// socket, the place of a new socket, a new FIFO. Each must be in a folder that the sandbox has for itself: its /tmp, its home, its /run.
//
// The process waits in the kernel meanwhile (seccomp_unotify(2)). It could change its memory while hob reads it, so hob makes the call
// itself with what it has read. docs/decisions/0014-hob-connects-the-sockets-of-a-sandbox.md says why.
type Calls struct {
	listener *os.File
	offline  bool // it has a network of its own, and thereby abstract sockets of its own

	mu      sync.Mutex
	pending []int // sockets that hob connects now
	ended   bool
}

// newCalls makes the Calls for the listener that the kernel gave; nil: none.
func newCalls(listener *os.File, offline bool) *Calls {
	if listener == nil {
		return nil
	}
	return &Calls{listener: listener, offline: offline}
}

// serve is Serve for a command whose start nobody waits for with Entered.
func (c *Command) serve() error {
	n, listener, err := receive(c.status, make([]byte, 1))
	if calls := newCalls(listener, c.shown.offline); err == nil && n > 0 && calls != nil {
		return calls.Serve()
	}
	return nil
}

// maxConnects limits the connections that hob makes for one sandbox at a time. Others wait.
const maxConnects = 32

// supervisable reports whether the kernel asks another process about calls, and delivers no signal while that one decides (Linux 5.19), and whether
// hob may take copies of descriptors: a service manager or a container may forbid that.
func supervisable() bool {
	if _, err := unix.PidfdGetfd(-1, 0, 0); !errors.Is(err, unix.EBADF) {
		return false
	}
	const set, flags = unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, set, flags, 0) // without a filter: EFAULT if it knows the flags
	return errno == unix.EFAULT
}

// statusPipe makes the way on which package entry reports that the command begins. It also carries the listener.
func statusPipe() (read, write *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(pair[0]), "status"), os.NewFile(uintptr(pair[1]), "status"), nil // #nosec G115 -- descriptors
}

// receive reads the report, of which data has the size, and the listener that came with it.
func receive(status *os.File, data []byte) (n int, listener *os.File, err error) {
	conn, err := status.SyscallConn()
	if err != nil {
		return 0, nil, err
	}
	passed := make([]byte, unix.CmsgSpace(4))
	var size int
	reading := conn.Read(func(fd uintptr) bool {
		n, size, _, _, err = unix.Recvmsg(int(fd), data, passed, unix.MSG_CMSG_CLOEXEC) // #nosec G115 -- a descriptor
		return !errors.Is(err, unix.EAGAIN)
	})
	if err = errors.Join(reading, err); err != nil || size == 0 {
		return n, nil, err
	}
	list, err := unix.ParseSocketControlMessage(passed[:size])
	for _, m := range list {
		fds, parsing := unix.ParseUnixRights(&m)
		for _, fd := range fds {
			err = errors.Join(err, unix.SetNonblock(fd, true)) // so that Go's poller waits for it
			listener = os.NewFile(uintptr(fd), "calls")        // #nosec G115 -- a descriptor
		}
		err = errors.Join(err, parsing)
	}
	return n, listener, err
}

// request is struct seccomp_notif, reply struct seccomp_notif_resp (linux/seccomp.h).
type request struct {
	id         uint64
	pid, flags uint32
	call       int32
	arch       uint32
	at         uint64
	args       [6]uint64
}

type reply struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// Serve decides until all processes of the sandbox have ended. The caller gives it a goroutine of its own.
func (c *Calls) Serve() error {
	conn, err := c.listener.SyscallConn()
	if err != nil {
		return errors.Join(err, c.listener.Close())
	}
	group, free := sys.NewGroup(slog.New(slog.DiscardHandler), nil), make(chan struct{}, maxConnects)
	for {
		var r *request
		var ended error
		if err = conn.Read(func(fd uintptr) bool { r, ended = next(fd); return r != nil || ended != nil }); err != nil || ended != nil {
			break
		}
		free <- struct{}{}
		group.Once("call of a sandbox", func() error { c.answer(conn.Control, r); <-free; return nil })
	}
	c.mu.Lock()
	c.ended = true
	for _, socket := range c.pending { // a connection may wait for minutes
		_ = unix.Shutdown(socket, unix.SHUT_RDWR) // fails for one that has just ended
	}
	c.mu.Unlock()
	group.Wait()
	return errors.Join(err, c.listener.Close())
}

var errEnded = errors.New("all processes have ended")

// next takes a request. Without a result there is none yet.
func next(fd uintptr) (*request, error) {
	for {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} // #nosec G115 -- a descriptor
		if _, err := unix.Poll(poll, 0); err != nil && !errors.Is(err, unix.EINTR) {
			return nil, os.NewSyscallError("poll", err)
		}
		switch {
		case poll[0].Revents&unix.POLLIN == 0 && poll[0].Revents != 0:
			return nil, errEnded
		case poll[0].Revents == 0:
			return nil, nil
		}
		r := new(request)
		// ENOENT: the process was killed after it had asked.
		if errno := control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(r)); errno == 0 { // #nosec G103 -- the call's own form
			return r, nil
		}
	}
}

func control(fd uintptr, what uint, data unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, uintptr(what), uintptr(data))
	return errno
}

// answer decides about one request, and sends the result.
func (c *Calls) answer(with func(func(uintptr)) error, r *request) {
	a := reply{id: r.id}
	alive := func() error { // so whatever was opened by the process's number is the caller's
		errno := unix.ENOENT
		err := with(func(fd uintptr) { errno = control(fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&r.id)) }) // #nosec G103 -- the call's own form
		if errno != 0 {
			return errno
		}
		return err
	}
	done, err := c.decide(r, alive)
	switch errno := unix.EACCES; {
	case err != nil:
		_ = errors.As(err, &errno) // an error without a number is EACCES
		a.errno = -int32(errno)    // #nosec G115 -- a small number
	case !done:
		a.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	_ = with(func(fd uintptr) { control(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) }) // #nosec G103 -- it fails if the process was killed
}

// decide makes the call, or reports that the process may make it itself.
func (c *Calls) decide(r *request, alive func() error) (done bool, err error) {
	switch r.call {
	case unix.SYS_CONNECT:
		return true, c.connect(r, alive)
	case unix.SYS_BIND:
		return false, c.bind(r)
	case unix.SYS_MKNODAT:
		return true, r.fifo(int(int32(r.args[0])), r.args[1], uint32(r.args[2]), alive) // #nosec G115 -- the kernel cuts them so
	default: // mknod(2)
		return true, r.fifo(unix.AT_FDCWD, r.args[0], uint32(r.args[1]), alive) // #nosec G115 -- the kernel cuts them so
	}
}

// connect connects the caller's socket.
func (c *Calls) connect(r *request, alive func() error) error {
	socket, err := r.socket()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	address, err := r.address()
	if err != nil {
		return err
	}
	domain, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	if path := pathOf(address); domain == unix.AF_UNIX && path != "" {
		place, err := r.private(path)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(place) }()
		address = append(append(address[:2:2], fmt.Sprintf("/proc/self/fd/%d", place)...), 0)
	} else if domain == unix.AF_UNIX && !c.offline {
		return unix.EACCES // an abstract name, which the whole machine shares
	}
	if err := alive(); err != nil || !c.begin(socket) {
		return errors.Join(err, unix.EINTR)
	}
	defer c.finish(socket)
	// EINTR tells of a signal that hob got. The caller would take it for its own, and wait for a connection that nobody makes.
	try := func() error {
		for {
			_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(socket), uintptr(unsafe.Pointer(unsafe.SliceData(address))), uintptr(len(address))) // #nosec G103 -- the call's own form
			switch errno {
			case 0:
				return nil
			case unix.EINTR:
			default:
				return errno
			}
		}
	}
	if domain != unix.AF_UNIX {
		return try()
	}
	return c.connectLocal(socket, try, alive)
}

// turnTime is how long one try to connect to a unix socket waits for room in the listener's queue. Nothing else ends that wait: hob's copy of the socket
// outlives the sandbox, and shutdown(2) does not wake it.
const turnTime = 100 * time.Millisecond

// connectLocal tries until the caller or the sandbox has ended. A socket that waits for connections itself cannot connect.
func (c *Calls) connectLocal(socket int, try, alive func() error) error {
	listens, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil || listens != 0 {
		return errors.Join(err, unix.EINVAL)
	}
	flags, err := unix.FcntlInt(uintptr(socket), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK != 0 {
		return errors.Join(err, try())
	}
	limit, err := unix.GetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	if err != nil {
		return err
	}
	short := unix.NsecToTimeval(int64(turnTime))
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &short); err != nil {
		return err
	}
	defer func() { _ = unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO, limit) }()
	for waited := time.Duration(0); ; waited += turnTime {
		err := try()
		if most := time.Duration(limit.Nano()); !errors.Is(err, unix.EAGAIN) || most > 0 && waited >= most || c.over() {
			return err
		}
		if err := alive(); err != nil {
			return err
		}
	}
}

func (c *Calls) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

func (c *Calls) begin(socket int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, socket)
	return !c.ended
}

func (c *Calls) finish(socket int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = slices.DeleteFunc(c.pending, func(s int) bool { return s == socket })
}

// bind checks the place of a new socket. The process then makes it itself, since the kernel keeps the name. If it changes the name
// meanwhile, programs of the owner find a socket in a folder that they share, but no sandbox connects to it.
func (c *Calls) bind(r *request) error {
	address, err := r.address()
	if err != nil {
		return err
	}
	if path := pathOf(address); path != "" {
		place, err := r.private(filepath.Dir(path))
		if err != nil {
			return err
		}
		return unix.Close(place)
	}
	if !c.offline && len(address) > 2 && address[0] == unix.AF_UNIX && address[1] == 0 {
		return unix.EACCES // an abstract name, which the whole machine shares
	}
	return nil
}

// fifo makes a FIFO. dir is the caller's descriptor of a folder, path the address of a path in its memory.
func (r *request) fifo(dir int, path uint64, mode uint32, alive func() error) error {
	text, err := r.read(path, unix.PathMax)
	if err != nil {
		return err
	}
	text, _, ok := bytes.Cut(text, []byte{0})
	if !ok || len(text) == 0 {
		return unix.ENOENT
	}
	name := string(text)
	if dir != unix.AT_FDCWD && !filepath.IsAbs(name) {
		at, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", r.pid, dir))
		if err != nil {
			return unix.EBADF
		}
		name = filepath.Join(at, name)
	}
	place, err := r.private(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(place) }()
	umask, err := strconv.ParseUint(value(r.proc("status"), "Umask:"), 8, 32)
	if err != nil {
		return unix.EACCES
	}
	if err := alive(); err != nil {
		return err
	}
	return unix.Mknodat(place, filepath.Base(name), unix.S_IFIFO|mode&0o777&^uint32(umask), 0)
}

// proc is the path of a file about the caller.
func (r *request) proc(file string) string { return fmt.Sprintf("/proc/%d/%s", r.pid, file) }

// read reads the caller's memory, up to the end of what is mapped.
func (r *request) read(at uint64, size int) ([]byte, error) {
	text := make([]byte, size)
	local, remote := []unix.Iovec{{Base: unsafe.SliceData(text)}}, []unix.RemoteIovec{{Base: uintptr(at), Len: size}} // #nosec G103 -- the call's own form
	local[0].SetLen(size)
	n, err := unix.ProcessVMReadv(int(r.pid), local, remote, 0)
	return text[:max(n, 0)], err
}

// address reads the address that the caller passed with a socket.
func (r *request) address() ([]byte, error) {
	size := int(int32(r.args[2])) // #nosec G115 -- the kernel cuts it so
	if size < 0 || size > unix.SizeofSockaddrAny+16 {
		return nil, unix.EINVAL // beyond struct sockaddr_storage
	}
	if size == 0 {
		return nil, nil
	}
	address, err := r.read(r.args[1], size)
	if err == nil && len(address) < size {
		err = unix.EFAULT
	}
	return address, err
}

// pathOf returns the path in the address of a unix socket; "": it has none.
func pathOf(address []byte) string {
	if len(address) < 3 || address[0] != unix.AF_UNIX || address[1] != 0 {
		return ""
	}
	path, _, _ := bytes.Cut(address[2:], []byte{0})
	return string(path)
}

// socket returns a copy of the descriptor of the caller's socket.
func (r *request) socket() (int, error) {
	// Only the first thread of a process has a descriptor of it.
	pid, err := strconv.Atoi(value(r.proc("status"), "Tgid:"))
	if err != nil {
		return 0, unix.ESRCH
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(process) }()
	return unix.PidfdGetfd(process, int(int32(r.args[0])), 0) // #nosec G115 -- the kernel cuts it so
}

// private opens a path as the caller sees it, if that is on a file system which the sandbox has for itself: one that is not mounted
// outside. A sandbox cannot mount anything.
func (r *request) private(path string) (fd int, err error) {
	if !filepath.IsAbs(path) {
		dir, err := os.Readlink(r.proc("cwd"))
		if err != nil {
			return 0, unix.EACCES
		}
		path = filepath.Join(dir, path)
	}
	root, err := unix.Open(r.proc("root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(root) }()
	fd, err = unix.Openat2(root, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return 0, err
	}
	var info unix.Stat_t
	inside, err := os.ReadFile(r.proc("mountinfo"))
	outside, other := mountTable()
	if err = errors.Join(err, other, unix.Fstat(fd, &info)); err == nil {
		device := fmt.Sprintf("%d:%d", unix.Major(info.Dev), unix.Minor(info.Dev))
		on := func(m mount) bool { return m.device == device }
		if slices.ContainsFunc(mounts(string(inside)), on) && !slices.ContainsFunc(outside, on) {
			return fd, nil
		}
	}
	return 0, errors.Join(unix.EACCES, err, unix.Close(fd))
}
