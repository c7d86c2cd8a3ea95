//go:build !linux

package walk

import (
	"errors"
	"io/fs"
	"os"
)

// handle is an open folder. os.Root reaches its files without leaving it.
// Here a walk pays more calls for each file than on Linux, and the entries have no inodes.
type handle struct{ root *os.Root }

func openTop(root *os.Root) (handle, error) { return handle{root}.folder(".") }

func (h handle) folder(name string) (handle, error) {
	info, err := h.root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist} // it was a folder before
	}
	if err != nil {
		return handle{}, err
	}
	root, err := h.root.OpenRoot(name)
	return handle{root}, err
}

func (h handle) close() { _ = h.root.Close() } // nothing was written

func (h handle) stat(name string) (Info, error) { return regular(name)(h.root.Lstat(name)) }

// regular describes a regular file. For anything else it returns fs.ErrNotExist: it was a regular file when the folder was read and has
// been replaced.
func regular(name string) func(fs.FileInfo, error) (Info, error) {
	return func(info fs.FileInfo, err error) (Info, error) {
		if err == nil && !info.Mode().IsRegular() {
			err = &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
		}
		if err != nil {
			return Info{}, err
		}
		device, inode := numbers(info)
		return Info{Size: info.Size(), Links: links(info), Modified: info.ModTime().UnixNano(), Device: device, Inode: inode}, nil
	}
}

func (h handle) identity() (device, inode uint64) {
	info, err := h.root.Stat(".")
	if err != nil {
		return 0, 0
	}
	return numbers(info)
}

// stream is the file itself.
type stream struct{ *os.File }

// open opens first and looks afterwards, so that it describes the file that is open.
func (h handle) open(name string) (*Opened, error) {
	f, err := h.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := regular(name)(f.Stat())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Opened{info, stream{f}}, nil
}

// reader reads folders through package os and needs no buffers.
type reader struct{}

func newReader() *reader { return &reader{} }

func (*reader) entries(h handle) ([]Entry, error) {
	d, err := h.root.Open(".")
	if err != nil {
		return nil, err
	}
	list, err := d.ReadDir(-1)
	entries := make([]Entry, 0, len(list))
	for _, e := range list {
		kind := Other
		switch {
		case e.IsDir():
			kind = Folder
		case e.Type().IsRegular():
			kind = File
		}
		entries = append(entries, Entry{Name: e.Name(), Kind: kind})
	}
	return entries, errors.Join(err, d.Close())
}
