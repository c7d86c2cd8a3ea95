package archive

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"hob/daemon/event"
	"hob/daemon/sys"
)

// Writer writes a backup. Close ends it; without that the file is recognised as not whole.
type Writer struct {
	tar      *tar.Writer
	layers   []io.Closer // from the outermost to the innermost
	manifest Manifest
}

// NewWriter begins a backup and writes its head.
func NewWriter(to io.Writer, h Head, k Key) (*Writer, error) {
	h.Format = Format
	w := &Writer{manifest: Manifest{Head: h}}
	r, err := k.recipient()
	if err != nil {
		return nil, err
	}
	if r != nil {
		sealed, err := age.Encrypt(to, r)
		if err != nil {
			return nil, fmt.Errorf("encrypt the backup: %w", err)
		}
		to, w.layers = sealed, append(w.layers, sealed)
	}
	packed, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("compress the backup: %w", err)
	}
	w.tar, w.layers = tar.NewWriter(packed), append(w.layers, packed)
	return w, w.document(headName, h)
}

// document writes an entry of the backup itself.
func (w *Writer) document(name string, doc any) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o600, ModTime: w.manifest.Made}); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = w.tar.Write(text)
	return err
}

// Bytes adds a file from memory.
func (w *Writer) Bytes(name string, content []byte) error {
	sum := sha256.Sum256(content)
	w.manifest.Files = append(w.manifest.Files, File{Path: name, Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])})
	if err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o600, ModTime: w.manifest.Made}); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	_, err := w.tar.Write(content)
	return err
}

// File adds the file from of a folder under a name. A file that does not exist any more is left out: somebody removed it meanwhile.
func (w *Writer) File(ctx context.Context, name string, root *os.Root, from string) (err error) {
	f, err := root.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unread(name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return unread(name, err)
	}
	if !info.Mode().IsRegular() {
		w.manifest.Skipped = append(w.manifest.Skipped, name)
		return nil
	}
	// The header has the size, so exactly that many bytes follow, also if the file grows or shrinks meanwhile.
	size := info.Size()
	if err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	hash := sha256.New()
	out := io.MultiWriter(w.tar, hash)
	n, err := io.Copy(out, io.LimitReader(sys.Interruptible(ctx, f), size))
	if err == nil && n < size {
		_, err = io.CopyN(out, zeros{}, size-n)
	}
	if err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	after, err := f.Stat()
	if err != nil {
		return unread(name, err)
	}
	changed := n < size || after.Size() != size || !after.ModTime().Equal(info.ModTime())
	w.manifest.Files = append(w.manifest.Files, File{Path: name, Bytes: size, SHA256: hex.EncodeToString(hash.Sum(nil)), Changed: changed})
	return nil
}

// Tree adds all files and folders of a folder under a name. A missing folder is an empty one. Links are not followed.
func (w *Writer) Tree(ctx context.Context, name, dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return w.folder(name, w.manifest.Made)
	}
	if err != nil {
		return unread(name, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return w.below(ctx, name, root, ".")
}

// below adds a folder and what is in it. It does not use root.FS, which refuses names that are no UTF-8.
func (w *Writer) below(ctx context.Context, name string, root *os.Root, dir string) error {
	entries, err := listed(root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unread(name, err)
	}
	if err := w.folder(name, w.manifest.Made); err != nil {
		return err
	}
	for _, d := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		to, from := path.Join(name, d.Name()), path.Join(dir, d.Name())
		switch {
		case d.IsDir():
			err = w.below(ctx, to, root, from)
		case !d.Type().IsRegular():
			w.manifest.Skipped = append(w.manifest.Skipped, to)
		default:
			err = w.File(ctx, to, root, from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unread turns the error of reading a file or folder into a fault if hob may not read it. A backup without it would not be of everything.
func unread(name string, err error) error {
	err = fmt.Errorf("read %s: %w", name, err)
	if errors.Is(err, fs.ErrPermission) {
		const hint = "change its owner or permissions with chown or chmod, or move it out of the home"
		return &event.Fault{Kind: event.Clash, Text: "hob may not read " + name + " of the home: no backup was made", Hint: hint, Err: err}
	}
	return err
}

// listed reads a folder, in the order of the names.
func listed(root *os.Root, dir string) (entries []fs.DirEntry, err error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	entries, err = f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

func (w *Writer) folder(name string, made time.Time) error {
	if err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o700, ModTime: made}); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	return nil
}

// Close writes the manifest and ends all layers. It does not close the file below.
func (w *Writer) Close() (Manifest, error) {
	if err := errors.Join(w.document(manifestName, w.manifest), w.tar.Close()); err != nil {
		return w.manifest, err
	}
	for i := len(w.layers) - 1; i >= 0; i-- {
		if err := w.layers[i].Close(); err != nil {
			return w.manifest, fmt.Errorf("finish the backup: %w", err)
		}
	}
	return w.manifest, nil
}

// zeros is an endless reader, for a file that became shorter.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
