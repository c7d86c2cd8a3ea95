package filewatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"hob/daemon/fsguard"
	"hob/daemon/walk"
)

// Limits of contents, in bytes.
// A text that is too large has no diff; a file that is too large is compared by its stat; rules are cut.
const (
	maxText  = 32 << 10  // of a text that is stored for diffs
	maxTexts = 32 << 20  // of all such texts of a watch
	maxHash  = 1 << 30   // of a file that is hashed
	maxRules = 1 << 20   // of a file with ignore rules
	block    = 256 << 10 // per read
)

// Replacements for the hash of a content that cannot be hashed.
const (
	changing   = "changing" // it was reported while it was still changing
	linkPrefix = "link:"    // followed by the hash of the link's target
	statPrefix = "stat:"    // followed by size, time and inode: the file is huge or unreadable
)

// errMoved reports that a file has changed a moment ago.
var errMoved = errors.New("it changed while it was looked at")

// reader opens files, always through the guard.
// A scan finds files without the guard's checks, so each path is classified again before its content is read.
type reader struct {
	guard *fsguard.Guard
	step  func() // called to report progress
}

// content is the content of a file.
type content struct {
	hash string
	text []byte // nil: it is not text, or must not be shown
	path string // of a file that a link leads to; "": its own
}

// read returns the content of a file that was seen in the state s. It returns errMoved or fs.ErrNotExist if the file has changed since, and
// fsguard.ErrState if it belongs to hob.
func (r reader) read(ctx context.Context, in scope, path string, s stat) (content, error) {
	// The content of a link that is not followed is its target.
	if s.link {
		target, err := os.Readlink(path)
		sum := sha256.Sum256([]byte(target))
		return content{hash: linkPrefix + hex.EncodeToString(sum[:])}, err
	}
	place, err := r.guard.Resolve("", path)
	switch {
	case err != nil:
		return content{}, err
	case place.Area == fsguard.State:
		return content{}, fsguard.ErrState
	// The path must lead to the very file that was found by the scan.
	case place.Path != path && !in.inside(place) || !place.Exists() || statOf(place.Info) != s:
		return content{}, errMoved
	}
	// Large and unreadable files are compared by size, time and inode only.
	unread := content{hash: fmt.Sprintf("%s%d:%d:%d", statPrefix, s.size, s.mtime, s.ino)}
	if s.size > maxHash {
		return unread, nil
	}
	f, err := r.guard.Open(place)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return unread, nil
	case errors.Is(err, fsguard.ErrMoved), errors.Is(err, fsguard.ErrRegular):
		return content{}, errMoved
	case err != nil:
		return content{}, err
	}
	c, err := r.digest(ctx, f, s, place.Area != fsguard.Sensitive)
	c.path = place.Path
	return c, errors.Join(err, f.Close())
}

// digest reads a file to its end. open means that its text may be shown.
func (r reader) digest(ctx context.Context, f *os.File, s stat, open bool) (content, error) {
	// One byte more than the known size shows that the file has grown.
	sum, buf := sha256.New(), make([]byte, min(s.size+1, block))
	var text []byte
	for size := int64(0); ; {
		n, err := f.Read(buf)
		sum.Write(buf[:n])
		if size += int64(n); size <= maxText && open {
			text = append(text, buf[:n]...)
		}
		// The file must not have changed while it was read.
		switch {
		case errors.Is(err, io.EOF):
			info, err := f.Stat()
			if err == nil && (statOf(info) != s || size != s.size) {
				err = errMoved
			}
			if size > maxText || !open || !isText(text) {
				text = nil
			}
			return content{hash: hex.EncodeToString(sum.Sum(nil)), text: text}, err
		case err != nil:
			return content{}, err
		case ctx.Err() != nil:
			return content{}, ctx.Err()
		case size > s.size:
			return content{}, errMoved
		}
		r.step()
	}
}

// isText reports whether a content can be shown as a difference: UTF-8 without NUL.
func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// rules reads a file with ignore rules, or a file of git.
// It returns at most maxRules bytes. A name that belongs to no regular file counts as missing.
func (r reader) rules(path string) ([]byte, error) {
	place, err := r.guard.Resolve("", path)
	if err != nil {
		return nil, err
	}
	f, err := r.guard.Open(place)
	if errors.Is(err, fsguard.ErrRegular) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxRules))
	return raw, errors.Join(err, f.Close())
}

// ignored reports whether the rules exclude a path, or a folder above it. A scan of that folder would then not have found it.
func (r reader) ignored(t *tracked, path string) bool {
	if !t.watch.Gitignore {
		return false
	}
	tree := walk.RulesReader{Read: r.rules, Home: r.guard.Home()}
	all := walk.Repository | walk.GitRules | walk.DotRules | walk.GrepRules
	// Go from the file outwards: an ignored folder excludes everything in it.
	for isFolder := false; t.scope.holds(filepath.Dir(path)); isFolder = true {
		dir, name := filepath.Dir(path), filepath.Base(path)
		node, err := tree.Above(dir, dir)
		if err == nil {
			node, err = tree.Enter(node, dir, all)
		}
		if err != nil || name == ".git" || node.Verdict(filepath.ToSlash(dir), name, isFolder) == walk.Ignored {
			return true
		}
		path = dir
	}
	return false
}
