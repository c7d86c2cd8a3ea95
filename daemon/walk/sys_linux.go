package walk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// handle is the descriptor of an open folder.
type handle int

// folderFlags open a folder and nothing else: a link or a file that has taken its name is an error.
const folderFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK

// openTop duplicates the descriptor of the start folder.
func openTop(root *os.Root) (handle, error) {
	d, err := root.Open(".")
	if err != nil {
		return -1, err
	}
	defer func() { _ = d.Close() }() // nothing was written
	// The walk outlives d, which closes its own descriptor. 3 leaves out the standard streams.
	fd, err := unix.FcntlInt(d.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	return handle(fd), err
}

func (h handle) folder(name string) (handle, error) {
	fd, err := openat(int(h), name, folderFlags)
	return handle(fd), err
}

func (h handle) close() { _ = unix.Close(int(h)) } // nothing was written

func (h handle) stat(name string) (Info, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(int(h), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		return regular("stat", name, &st, err)
	}
}

// regular describes a regular file. For anything else it returns fs.ErrNotExist: it was a regular file when the folder was read and has
// been replaced.
func regular(op, name string, st *unix.Stat_t, err error) (Info, error) {
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = os.ErrNotExist
	}
	if err != nil {
		return Info{}, &os.PathError{Op: op, Path: name, Err: err}
	}
	return Info{
		Size: st.Size, Links: uint64(st.Nlink), Modified: st.Mtim.Nano(), //nolint:unconvert // 32 bits on some
		Device: uint64(st.Dev), Inode: st.Ino, //nolint:unconvert // 32 bits on some
	}, nil
}

func (h handle) identity() (device, inode uint64) {
	var st unix.Stat_t
	if err := unix.Fstat(int(h), &st); err != nil {
		return 0, 0
	}
	return uint64(st.Dev), st.Ino //nolint:unconvert // 32 bits on some
}

// open opens first and looks afterwards, so that it describes the file that is open. With these flags, opening a pipe does not wait for
// a writer, and a terminal does not become the one that controls hob.
func (h handle) open(name string) (*Opened, error) {
	fd, err := openat(int(h), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	info, err := regular("open", name, &st, unix.Fstat(fd, &st))
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &Opened{info, stream{fd: fd, size: info.Size}}, nil
}

// openat opens a name in an open folder and repeats the call after a signal.
func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return -1, &os.PathError{Op: "open", Path: name, Err: err}
		}
		return fd, nil
	}
}

// stream reads a file without the cost of an os.File.
type stream struct {
	fd   int
	size int64
	read int64
}

// Read makes one read call. A file that was read to its known size counts as ended, which saves one call for each small file.
func (f *stream) Read(p []byte) (int, error) {
	n, err := again(func() (int, error) { return unix.Read(f.fd, p) })
	if err != nil {
		return 0, err
	}
	if f.read += int64(n); n == 0 || n < len(p) && f.read >= f.size && f.size > 0 {
		return n, io.EOF
	}
	return n, nil
}

// ReadAt reads from an offset, as io.ReaderAt requires. Several goroutines may call it at once, and it does not affect Read.
func (f *stream) ReadAt(p []byte, off int64) (int, error) {
	for have := 0; have < len(p); {
		n, err := again(func() (int, error) { return unix.Pread(f.fd, p[have:], off+int64(have)) })
		if err == nil && n == 0 {
			err = io.EOF
		}
		if err != nil {
			return have, err
		}
		have += n
	}
	return len(p), nil
}

// again repeats a call that a signal interrupted.
func again(read func() (int, error)) (int, error) {
	for {
		n, err := read()
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, &os.PathError{Op: "read", Err: err}
		}
		return n, nil
	}
}

// Close closes the file.
func (f *stream) Close() error { return unix.Close(f.fd) }

// reader reads folders with getdents64(2). Its records have the layout of struct linux_dirent64.
// Each worker has its own, and the buffers are used again for each folder.
type reader struct {
	buf   []byte
	names []byte
	ends  []int
	kinds []byte
	nodes []uint64
}

// The offsets of the fields in a record (getdents64(2)).
const (
	inodeAt  = 0
	lengthAt = 16
	kindAt   = 18
	nameAt   = 19
)

func newReader() *reader { return &reader{buf: make([]byte, 64<<10)} }

// entries lists a folder. All names share one string.
func (r *reader) entries(h handle) ([]Entry, error) {
	r.names, r.ends, r.kinds, r.nodes = r.names[:0], r.ends[:0], r.kinds[:0], r.nodes[:0]
	for {
		n, err := unix.Getdents(int(h), r.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "read", Err: err}
		}
		if n == 0 {
			break
		}
		r.records(r.buf[:n])
	}
	// Only now are the names complete. Cutting them from one string needs one allocation for the whole folder.
	all := string(r.names)
	list := make([]Entry, 0, len(r.ends))
	from := 0
	for i, end := range r.ends {
		list = append(list, Entry{all[from:end], h.kind(r.kinds[i], all[from:end]), r.nodes[i]})
		from = end
	}
	return list, nil
}

// records collects the entries of one read. It stops at a record whose length cannot be right.
func (r *reader) records(raw []byte) {
	for len(raw) > nameAt {
		length := int(binary.NativeEndian.Uint16(raw[lengthAt:]))
		if length <= nameAt || length > len(raw) {
			return
		}
		name := raw[nameAt:length]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		if s := string(name); s != "." && s != ".." {
			r.names = append(r.names, name...)
			r.ends = append(r.ends, len(r.names))
			r.kinds = append(r.kinds, raw[kindAt])
			r.nodes = append(r.nodes, binary.NativeEndian.Uint64(raw[inodeAt:]))
		}
		raw = raw[length:]
	}
}

// kind converts the type of a record. If the file system does not report types, it calls fstatat.
func (h handle) kind(kind byte, name string) Kind {
	switch kind {
	case unix.DT_REG:
		return File
	case unix.DT_DIR:
		return Folder
	case unix.DT_UNKNOWN:
		var st unix.Stat_t
		if err := unix.Fstatat(int(h), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return Other
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			return File
		case unix.S_IFDIR:
			return Folder
		}
	}
	return Other
}
