package filewatch

import (
	"os"
	"path/filepath"
	"strings"
)

// firstLook is the path of the row that marks the first scan as done. Its version is the one at which new paths start.
const firstLook = "."

// row is the last seen state of a file.
// File is the same for the store. The zero row, with version 0, means that the file is not in the snapshot.
type row struct {
	ino     uint64
	size    int64
	mtime   int64 // negative if the file may change without a new time, so that it must be read again
	version int64
	hash    string
	gone    bool // marks a removal; rows of a tree are never gone
}

// looksLike reports whether a file is unchanged by its stat alone, so that it need not be read.
func (r row) looksLike(s stat) bool {
	return r.ino == s.ino && r.size == s.size && r.mtime == s.mtime && r.hash != changing
}

// written returns the modification time.
func (r row) written() int64 { return max(r.mtime, -r.mtime) }

// folder is a folder with the last seen state of its files. A watch may have very many folders, and most of them are empty.
type folder struct {
	ino  uint64
	in   *inside // nil: empty
	live bool    // it exists and is watched or polled
}

// inside is the content of a folder.
type inside struct {
	subs []string // the live subfolders, as full paths
	rows map[string]row
}

// rows returns the files of a folder. The map must not be changed.
func (f *folder) rows() map[string]row {
	if f.in == nil {
		return nil
	}
	return f.in.rows
}

// subs returns the live subfolders.
func (f *folder) subs() []string {
	if f.in == nil {
		return nil
	}
	return f.in.subs
}

// hold sets the subfolders.
func (f *folder) hold(subs []string) {
	if f.in == nil && len(subs) > 0 {
		f.in = &inside{}
	}
	if f.in != nil {
		f.in.subs = subs
	}
}

// set sets a row.
func (f *folder) set(name string, r row) {
	if f.in == nil {
		f.in = &inside{}
	}
	if f.in.rows == nil {
		f.in.rows = map[string]row{}
	}
	f.in.rows[name] = r
}

// tree is a watch's snapshot in memory.
//
// The keys of folders are absolute paths. A folder that is not live keeps its rows until their removal is reported.
type tree struct {
	folders map[string]*folder
	looked  bool  // the first scan is done
	begin   int64 // the version at which a new path starts
	texts   int64 // size of the files whose text may be stored, in bytes
}

func newTree(files []File) *tree {
	t := &tree{folders: map[string]*folder{}, begin: 1}
	t.put(files)
	return t
}

// mark returns the row of the first scan for a commit of files. Files that were removed during the first scan were never reported, so their
// versions may be reused.
func (t *tree) mark(files []File) File {
	m := File{Path: firstLook, Dir: true, Version: t.begin}
	for _, f := range files {
		if t.looked && f.Gone {
			m.Version = max(m.Version, f.Version+1)
		}
	}
	return m
}

// marked adds the mark to rows that include removals.
func (t *tree) marked(files []File) []File {
	if m := t.mark(files); m.Version > t.begin {
		return append(files, m)
	}
	return files
}

// put takes in committed rows.
func (t *tree) put(files []File) {
	for _, f := range files {
		if f.Path == firstLook {
			t.looked, t.begin = true, f.Version
		}
		if f.Dir {
			continue
		}
		if f.Gone {
			t.drop(f.Path)
			continue
		}
		in, name := t.folder(filepath.Dir(f.Path)), filepath.Base(f.Path)
		t.texts += weight(rowOf(f)) - weight(in.rows()[name])
		in.set(name, rowOf(f))
	}
}

// drop removes the row of a removed file, and its folder if nothing else is known about it.
func (t *tree) drop(path string) {
	dir, name := filepath.Dir(path), filepath.Base(path)
	in := t.folders[dir]
	if in == nil {
		return
	}
	t.texts -= weight(in.rows()[name])
	delete(in.rows(), name)
	t.tidy(dir)
}

// tidy removes a folder that does not exist and has no rows.
func (t *tree) tidy(dir string) {
	if in := t.folders[dir]; in != nil && !in.live && len(in.rows()) == 0 {
		delete(t.folders, dir)
	}
}

// rowOf converts a row of the store; file does the reverse, without the text.
func rowOf(f File) row {
	return row{ino: f.Ino, size: f.Size, mtime: f.Mtime, version: f.Version, hash: f.Hash, gone: f.Gone}
}

func (r row) file(path string) File {
	return File{Path: path, Ino: r.ino, Size: r.size, Mtime: r.mtime, Version: r.version, Hash: r.hash, Gone: r.gone}
}

// weight returns the size of the text that may be stored for a row.
func weight(r row) int64 {
	if r.gone || r.size > maxText {
		return 0
	}
	return r.size
}

// folder returns a folder, and creates one that is not live if necessary.
func (t *tree) folder(path string) *folder {
	f := t.folders[path]
	if f == nil {
		f = &folder{}
		t.folders[path] = f
	}
	return f
}

// live reports whether a folder is known to exist and is watched or polled.
func (t *tree) live(path string) bool {
	f := t.folders[path]
	return f != nil && f.live
}

// row returns the row of a file, the zero row if there is none.
func (t *tree) row(path string) row {
	f := t.folders[filepath.Dir(path)]
	if f == nil {
		return row{}
	}
	return f.rows()[filepath.Base(path)]
}

// below lists a live folder and all live folders below it, outermost first.
func (t *tree) below(path string) []string {
	if !t.live(path) {
		return nil
	}
	all := []string{path}
	for i := 0; i < len(all); i++ {
		for _, sub := range t.folders[all[i]].subs() {
			if t.live(sub) {
				all = append(all, sub)
			}
		}
	}
	return all
}

// bury marks a folder and all below it as not live, and lists them like below.
func (t *tree) bury(path string) []string {
	all := t.below(path)
	for _, dir := range all {
		f := t.folders[dir]
		f.live = false
		f.hold(nil)
	}
	return all
}

// commonMove strips the common end of two paths: if a/x/f became b/x/f, then a became b.
func commonMove(from, to string) (string, string) {
	for filepath.Base(from) == filepath.Base(to) && filepath.Dir(from) != from && filepath.Dir(to) != to {
		from, to = filepath.Dir(from), filepath.Dir(to)
	}
	return from, to
}

// join is filepath.Join for a clean folder and a name.
func join(dir, name string) string {
	if strings.HasSuffix(dir, string(filepath.Separator)) {
		return dir + name
	}
	return dir + string(os.PathSeparator) + name
}
