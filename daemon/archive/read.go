package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
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
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"hob/daemon/event"
	"hob/daemon/sys"
)

// Limits of what is read, against files that unpack to far more than they hold.
const (
	maxEntries = 2_000_000
	maxNames   = 256 << 20 // bytes of the manifest
	freeOfWork = 1 << 30   // bytes that any backup may contain
	maxRatio   = 200       // and a larger one: times the size of its file
)

// Kind is how a file is protected.
type Kind int

// The kinds. Foreign is no backup of this package.
const (
	Foreign Kind = iota
	Plain
	ByPassphrase
	ByRecipient
)

// magic is the first line of an encrypted file.
const magic = "age-encryption.org/v1\n"

// KindOf reads the beginning of a file.
func KindOf(file string) (kind Kind, err error) {
	f, err := os.Open(file) // #nosec G304 -- the caller names it
	if err != nil {
		return Foreign, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, len(magic)+len("-> scrypt "))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Foreign, fmt.Errorf("read %s: %w", file, err)
	}
	return kindOf(head[:n]), nil
}

func kindOf(head []byte) Kind {
	rest, sealed := bytes.CutPrefix(head, []byte(magic))
	switch {
	case sealed && bytes.HasPrefix(rest, []byte("-> scrypt ")):
		return ByPassphrase
	case sealed:
		return ByRecipient
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return Plain
	}
	return Foreign
}

// Extract reads a backup to its end, compares every hash, and writes the files that want accepts into root. room is how many bytes
// may be written. An error means that what was written is not to be used.
func Extract(ctx context.Context, file string, k Key, root *os.Root, room int64, want func(name string) bool) (m Manifest, err error) {
	f, err := os.Open(file) // #nosec G304 -- the caller names it
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return m, fmt.Errorf("read %s: %w", file, err)
	}
	content, err := unseal(bufio.NewReaderSize(sys.Interruptible(ctx, f), 1<<16), k)
	if err != nil {
		return m, err
	}
	unpacked, err := gzip.NewReader(content)
	if err != nil {
		return m, unreadable(ctx, err)
	}
	x := extraction{tar: tar.NewReader(unpacked), root: root, want: want, room: room, most: max(freeOfWork, maxRatio*info.Size()), seen: map[string]string{}}
	if m, err = x.all(); err != nil {
		return m, unreadable(ctx, err)
	}
	// The layers have checksums at their ends, which are compared only by reading on.
	if n, err := io.Copy(io.Discard, io.LimitReader(unpacked, 1<<20)); err != nil || n >= 1<<20 {
		return m, unreadable(ctx, errors.Join(err, errors.New("something follows its end")))
	}
	return m, nil
}

// unseal returns the content of an encrypted or plain file.
func unseal(r *bufio.Reader, k Key) (io.Reader, error) {
	head, err := r.Peek(len(magic) + len("-> scrypt "))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var id []age.Identity
	switch kindOf(head) {
	case Foreign:
		return nil, event.NewFault(event.Clash, "hob backup list shows what there is", "it is no whole backup of hob")
	case Plain:
		return r, nil
	case ByPassphrase:
		if k.Passphrase == "" {
			return nil, event.NewFault(event.Invalid, "add --passphrase-file FILE, or type it on a terminal", "the backup is encrypted with a passphrase")
		}
		one, err := age.NewScryptIdentity(k.Passphrase)
		if err != nil {
			return nil, fmt.Errorf("use the passphrase: %w", err)
		}
		id = []age.Identity{one}
	case ByRecipient:
		if k.Identity == "" {
			return nil, event.NewFault(event.Invalid, "add --identity FILE: the file that age-keygen made", "the backup is encrypted for a key")
		}
		if id, err = age.ParseIdentities(strings.NewReader(k.Identity)); err != nil {
			return nil, &event.Fault{Kind: event.Invalid, Text: "the identity file has no key of age", Hint: "it has a line that begins with AGE-SECRET-KEY-1", Err: err}
		}
	}
	content, err := age.Decrypt(r, id...)
	var none *age.NoIdentityMatchError
	switch {
	case err == nil:
		return content, nil
	case !errors.As(err, &none):
		return nil, damaged(err, "the backup cannot be decrypted: its beginning is damaged")
	case k.Passphrase != "":
		return nil, &event.Fault{Kind: event.Refused, Text: "the passphrase is wrong", Hint: "nothing was changed; try again", Err: err}
	}
	return nil, &event.Fault{Kind: event.Refused, Text: "the backup was encrypted for another key", Hint: "name the identity file of its recipient with --identity", Err: err}
}

// unreadable explains an error of one of the layers. Faults, and the errors of the disk that is written to, stay as they are.
func unreadable(ctx context.Context, err error) error {
	_, explained := event.AsFault(err)
	var disk *fs.PathError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case explained || errors.As(err, &disk):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return damaged(err, "the backup is not whole: the file ends too early")
	}
	return damaged(err, "the backup is damaged: %s", err)
}

// extraction is one reading of a backup.
type extraction struct {
	tar        *tar.Reader
	root       *os.Root
	want       func(string) bool
	room, most int64             // bytes that may still be written, and read
	seen       map[string]string // SHA-256 by name
}

// all reads head, files and manifest.
func (x *extraction) all() (m Manifest, err error) {
	h, err := x.tar.Next()
	if err != nil {
		return m, err
	}
	var head Head
	if h.Name != headName {
		return m, event.NewFault(event.Clash, "hob backup list shows what there is", "it is no whole backup of hob")
	}
	if err := x.document(h, &head); err != nil {
		return m, err
	}
	if head.Format > Format {
		return m, event.NewFault(event.Clash, "install the hob that made it, or a newer one", "the backup was made by a newer hob (%s): its format is %d, this one reads up to %d", head.Version, head.Format, Format)
	}
	for n := 0; ; n++ {
		h, err := x.tar.Next()
		if err != nil {
			return m, err // also at the end: the manifest is missing
		}
		if n > maxEntries {
			return m, hostile("more than %d files", maxEntries)
		}
		if h.Name == manifestName {
			if err := x.document(h, &m); err != nil {
				return m, err
			}
			return m, x.compare(m)
		}
		if err := x.entry(h); err != nil {
			return m, err
		}
	}
}

// document reads an entry of the backup itself.
func (x *extraction) document(h *tar.Header, into any) error {
	if h.Typeflag != tar.TypeReg || h.Size > maxNames {
		return hostile("a list of %d bytes", h.Size)
	}
	text, err := io.ReadAll(x.tar)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return damaged(err, "the backup is damaged: %s cannot be read", h.Name)
	}
	return nil
}

// entry takes one file or folder.
func (x *extraction) entry(h *tar.Header) error {
	name := strings.TrimSuffix(h.Name, "/")
	// filepath.IsLocal refuses absolute paths, "..", and on Windows names of devices.
	if name == "" || name == "." || path.Clean(name) != name || !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsRune(name, 0) || filepath.Separator == '\\' && strings.Contains(name, `\`) {
		return hostile("the path %q", h.Name)
	}
	if _, twice := x.seen[name]; twice {
		return hostile("two entries %q", name)
	}
	switch h.Typeflag {
	case tar.TypeDir:
		x.seen[name] = ""
		if !x.want(name) {
			return nil
		}
		return x.root.MkdirAll(filepath.FromSlash(name), 0o700)
	case tar.TypeReg:
		return x.file(name, h)
	}
	return hostile("%q, which is neither a file nor a folder", name)
}

// file hashes a file, and writes it if it is wanted.
func (x *extraction) file(name string, h *tar.Header) (err error) {
	if x.most -= h.Size; x.most < 0 {
		return hostile("far more bytes than its file has")
	}
	hash := sha256.New()
	out := io.Writer(hash)
	if x.want(name) {
		if x.room -= h.Size; x.room < 0 {
			return event.NewFault(event.Unavailable, "free some space, or restore on another disk", "the disk has no room for the backup: nothing was changed")
		}
		local := filepath.FromSlash(name)
		if err := x.root.MkdirAll(filepath.Dir(local), 0o700); err != nil {
			return err
		}
		f, err := x.root.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		// The owner's bits are enough: a file of another user cannot be made, and set-uid files are none of hob's.
		defer func() {
			err = errors.Join(err, f.Chmod(fs.FileMode(h.Mode)&0o777|0o600), f.Sync(), f.Close()) // #nosec G115 -- nine bits
			err = errors.Join(err, x.root.Chtimes(local, h.ModTime, h.ModTime))
		}()
		out = io.MultiWriter(f, hash)
	}
	n, err := io.Copy(out, x.tar) // #nosec G110 -- at most h.Size bytes, which were counted above
	if err == nil && n != h.Size {
		err = io.ErrUnexpectedEOF
	}
	x.seen[name] = hex.EncodeToString(hash.Sum(nil))
	return err
}

// compare finds files that differ from the manifest, are missing, or are too many.
func (x *extraction) compare(m Manifest) error {
	files := 0
	sums := map[string][]string{}
	for name, sum := range x.seen {
		if sum != "" {
			// JSON has no bytes that are no UTF-8: U+FFFD stands for each, so names that differ may be the same in the list.
			listed := string([]rune(name))
			sums[listed] = append(sums[listed], sum)
			files++
		}
	}
	if files != len(m.Files) {
		return damaged(nil, "the backup is damaged: it has %d files, and its list has %d", files, len(m.Files))
	}
	for _, f := range m.Files {
		i := slices.Index(sums[f.Path], f.SHA256)
		if i < 0 {
			return damaged(nil, "the backup is damaged: %s is not what was written", f.Path)
		}
		sums[f.Path] = slices.Delete(sums[f.Path], i, i+1)
	}
	return nil
}

// hostile is the error of a file that somebody made to do harm.
func hostile(format string, args ...any) error {
	return &event.Fault{Kind: event.Clash, Text: "the backup contains " + fmt.Sprintf(format, args...), Hint: "no hob made this file: do not use it", Err: ErrHostile}
}
