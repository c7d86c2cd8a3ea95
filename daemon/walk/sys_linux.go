package walk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// handle is an open folder: its descriptor.
type handle int

const folderFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK

func openTop(root *os.Root) (handle, error) {
	d, err := root.Open(".")
	if err != nil {
		return -1, err
	}
	defer func() { _ = d.Close() }() // nothing was written
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

// regular is what is known of a regular file. Of anything else it says that there is none: it was one when the folder was
// read.
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

// Read reads once. A file that is read to its known size has ended: that saves a call for each small file.
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

// ReadAt reads from an offset on, as io.ReaderAt has it. It may be called by several at once, and does not move Read.
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

// Close closes it.
func (f *stream) Close() error { return unix.Close(f.fd) }

// reader reads folders: the records of getdents64(2), whose layout is struct linux_dirent64.
type reader struct {
	buf   []byte
	names []byte
	ends  []int
	kinds []byte
	nodes []uint64
}

const (
	inodeAt  = 0
	lengthAt = 16
	kindAt   = 18
	nameAt   = 19
)

func newReader() *reader { return &reader{buf: make([]byte, 64<<10)} }

// entries lists a folder. The names share one string.
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
	all := string(r.names)
	list := make([]Entry, 0, len(r.ends))
	from := 0
	for i, end := range r.ends {
		list = append(list, Entry{all[from:end], h.kind(r.kinds[i], all[from:end]), r.nodes[i]})
		from = end
	}
	return list, nil
}

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

// kind reads the type of a record; file systems that do not tell are asked.
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
