package memory

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	iofs "io/fs"
	"path/filepath"
	"strings"
	"unicode"

	"hob/daemon/fsguard"
)

// The memory files, relative to the workspace.
const (
	MainFile   = "MEMORY.md" // what is always known
	noteFolder = "memory"
	noteEnding = ".md"
)

// IsFile reports whether a path, relative to the workspace and with slashes, is one of a memory file.
func IsFile(path string) bool {
	note, ok := strings.CutPrefix(path, noteFolder+"/")
	return path == MainFile || ok && strings.HasSuffix(note, noteEnding) && oneLine(note)
}

// oneLine reports whether a name stands on one line of a result, whatever shows it. Any other could forge a line, or move the cursor.
func oneLine(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) })
}

// Names lists the memory files, MEMORY.md first.
func Names(g *fsguard.Guard) []string {
	names := []string{}
	for _, f := range list(g, maphash.MakeSeed()).files {
		names = append(names, f.path)
	}
	return names
}

// mostOfFile is how much of a file is indexed, in bytes.
const mostOfFile = 4 << 20

// sniffed is the beginning of a file in which a NUL byte shows that it is no text.
const sniffed = 8 << 10

// found is a memory file as it lies on the disk.
type found struct {
	path    string // relative to the workspace, with slashes
	size    int64
	changed int64 // nanoseconds since 1970
}

// listing is all memory files, and what they look like.
type listing struct {
	files    []found
	digest   string   // equal listings have equal digests
	problems []string // folders that could not be read, and files that are left out for their names
}

// lister lists the memory files. It opens no file.
type lister struct {
	guard *fsguard.Guard
	sum   *maphash.Hash // nil: no digest
	each  func(found)
	count int
	wrong []string
}

// list lists the memory files. Its digest is of use in this process only.
func list(g *fsguard.Guard, seed maphash.Seed) listing {
	var all listing
	var sum maphash.Hash
	sum.SetSeed(seed)
	l := lister{guard: g, sum: &sum, each: func(f found) { all.files = append(all.files, f) }}
	l.walk()
	all.problems, all.digest = l.wrong, fmt.Sprintf("%d/%x", l.count, sum.Sum64())
	return all
}

// walk calls each for MEMORY.md and then for the notes. Links are followed to files inside the workspace or a root; links to folders are not.
func (l *lister) walk() {
	space := l.guard.Workspace()
	l.file(MainFile, filepath.Join(space, MainFile))
	// A workspace without notes is usual, and one look is cheaper than finding out where the folder leads.
	if _, err := fsguard.Look(filepath.Join(space, noteFolder)); err != nil {
		return
	}
	p, err := l.guard.Resolve(space, noteFolder)
	if err != nil || !p.IsDir() || !ours(p) {
		return
	}
	err = filepath.WalkDir(p.Path, func(path string, e iofs.DirEntry, err error) error {
		switch {
		case errors.Is(err, iofs.ErrNotExist):
			return nil
		case err != nil:
			l.wrong = append(l.wrong, fmt.Sprintf("%s: %v", l.rel(p.Path, path), Plain(err)))
			return nil
		case path != p.Path && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return iofs.SkipDir
			}
		case !e.IsDir() && strings.HasSuffix(e.Name(), noteEnding):
			l.file(l.rel(p.Path, path), path)
		}
		return nil
	})
	if err != nil {
		l.wrong = append(l.wrong, err.Error())
	}
}

// rel returns the name of a file below the folder of the notes.
func (l *lister) rel(folder, path string) string {
	rel, err := filepath.Rel(folder, path)
	if err != nil {
		return path // impossible: the walk began at folder
	}
	return noteFolder + "/" + filepath.ToSlash(rel)
}

// file adds a file if it is one of the memory's.
func (l *lister) file(name, path string) {
	f, err := fsguard.Look(path)
	if err != nil || f.Mode.IsDir() {
		return
	}
	if !f.Mode.IsRegular() { // a link, or no file at all
		p, err := l.guard.Resolve("", path)
		if err != nil || !p.Exists() || !p.Info.Mode().IsRegular() || !ours(p) {
			return
		}
		if f, err = fsguard.Look(p.Path); err != nil {
			return
		}
	}
	var n [16]byte
	binary.LittleEndian.PutUint64(n[:8], uint64(f.Size))    // #nosec G115 -- only compared
	binary.LittleEndian.PutUint64(n[8:], uint64(f.Changed)) // #nosec G115 -- only compared
	_, _ = l.sum.WriteString(name + "\x00")                 // never fails
	_, _ = l.sum.Write(n[:])
	l.count++
	if !oneLine(name) {
		if len(l.wrong) < mostSkipped {
			l.wrong = append(l.wrong, fmt.Sprintf("%q: there is a control character in its name", name))
		}
		return
	}
	l.each(found{name, f.Size, f.Changed})
}

// ours reports whether a place is inside the workspace or a root. A link from the memory to any other place has not been judged by the
// permission rules, so such a file is left out.
func ours(p fsguard.Place) bool {
	return p.Area == fsguard.Workspace || p.Area == fsguard.RootRO || p.Area == fsguard.RootRW
}

// content is a memory file that has been read.
type content struct {
	found
	place   string // the real path
	hash    string
	text    string
	windows []chunk
	state   string // a state of the table files
	problem string // why it is not indexed
}

// The states of a file.
const (
	indexed    = "indexed"
	cut        = "cut"
	binaryFile = "binary"
	unreadable = "unreadable"
)

// read reads a memory file; false if it is gone, or is none any more. A file that changes meanwhile gets no time, so that the next sync reads
// it again.
func read(g *fsguard.Guard, f found, redact func(string) string) (content, bool) {
	c := content{found: f, state: indexed}
	p, err := g.Resolve(g.Workspace(), f.path)
	if err != nil || !p.Exists() || !p.Info.Mode().IsRegular() || !ours(p) {
		return c, false
	}
	c.place = p.Path
	data, more, err := bytesOf(g, p)
	if errors.Is(err, iofs.ErrNotExist) {
		return c, false
	}
	if err != nil {
		c.state, c.problem = unreadable, Plain(err).Error()
		return c, true
	}
	if now, err := fsguard.Look(p.Path); err != nil || now.Size != f.size || now.Changed != f.changed {
		c.changed = 0
	}
	sum := sha256.Sum256(data)
	c.hash = hex.EncodeToString(sum[:])
	switch {
	case strings.IndexByte(string(data[:min(len(data), sniffed)]), 0) >= 0:
		c.state, c.problem = binaryFile, "it is no text"
		return c, true
	case more:
		c.state, c.problem = cut, fmt.Sprintf("it has %d MB; the first 4 MB are indexed", (f.size+1<<20-1)>>20)
	}
	c.text = redact(clean(string(data)))
	var whole bool
	if c.windows, whole = chunks(c.text); !whole {
		c.state, c.problem = cut, fmt.Sprintf("it has more than %d passages, most of them headings; only these are indexed", mostChunks)
	}
	return c, true
}

// bytesOf returns the beginning of a file, and whether there is more of it. The beginning of a longer file ends with a line, if it has any.
func bytesOf(g *fsguard.Guard, p fsguard.Place) (data []byte, more bool, err error) {
	f, err := g.Open(p)
	if err != nil {
		return nil, false, err
	}
	data, err = io.ReadAll(io.LimitReader(f, mostOfFile+1))
	if err = errors.Join(err, f.Close()); err != nil || len(data) <= mostOfFile {
		return data, false, err
	}
	data = data[:mostOfFile]
	if i := strings.LastIndexByte(string(data), '\n'); i > 0 {
		data = data[:i]
	}
	return data, true, nil
}

// clean makes a text the same on every system: line ends become "\n", broken bytes U+FFFD.
func clean(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
}

// Plain returns an error without the path, which the message already contains.
func Plain(err error) error {
	if e, ok := errors.AsType[*iofs.PathError](err); ok {
		return e.Err
	}
	return err
}
