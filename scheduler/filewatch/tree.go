package filewatch

import (
	"os"
	"path/filepath"
	"strings"
)

// firstLook is the path of the row that says that the first look at a watch is done, and with which version new paths begin.
const firstLook = "."

// row is what a watch last saw of a file.
type row struct {
	ino     uint64
	size    int64
	mtime   int64 // negated where it was too young to be relied on: the file has to be read again
	version int64
	hash    string
	gone    bool // it is on its way out: none of a tree is
}

func (r row) looksLike(s stat) bool {
	return r.ino == s.ino && r.size == s.size && r.mtime == s.mtime && r.hash != changing
}

// written is when the file was written.
func (r row) written() int64 { return max(r.mtime, -r.mtime) }

// folder is a folder with the files that were last seen in it. Most are empty, and there may be very many.
type folder struct {
	ino  uint64
	in   *inside // nil: nothing
	live bool    // it is there, and is watched or polled
}

// inside is what a folder holds.
type inside struct {
	subs []string // its own live subfolders, whole paths
	rows map[string]row
}

// rows are the files of a folder, not to be changed.
func (f *folder) rows() map[string]row {
	if f.in == nil {
		return nil
	}
	return f.in.rows
}

// subs are the live subfolders of a folder.
func (f *folder) subs() []string {
	if f.in == nil {
		return nil
	}
	return f.in.subs
}

// hold gives a folder its subfolders.
func (f *folder) hold(subs []string) {
	if f.in == nil && len(subs) > 0 {
		f.in = &inside{}
	}
	if f.in != nil {
		f.in.subs = subs
	}
}

// set gives a folder a row.
func (f *folder) set(name string, r row) {
	if f.in == nil {
		f.in = &inside{}
	}
	if f.in.rows == nil {
		f.in.rows = map[string]row{}
	}
	f.in.rows[name] = r
}

// tree is the snapshot of a watch in memory.
type tree struct {
	folders map[string]*folder
	looked  bool  // the first look is done
	begin   int64 // the version with which a path begins that has no row
	texts   int64 // bytes of the files whose text may be kept
}

func newTree(files []File) *tree {
	t := &tree{folders: map[string]*folder{}, begin: 1}
	t.put(files)
	return t
}

// mark is the row of the first look when others are put. What went before its end was told to nobody: its versions may come again.
func (t *tree) mark(files []File) File {
	m := File{Path: firstLook, Dir: true, Version: t.begin}
	for _, f := range files {
		if t.looked && f.Gone {
			m.Version = max(m.Version, f.Version+1)
		}
	}
	return m
}

// marked are rows to put, with the mark where rows among them go.
func (t *tree) marked(files []File) []File {
	if m := t.mark(files); m.Version > t.begin {
		return append(files, m)
	}
	return files
}

// put takes in rows that were committed.
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

// drop forgets the row of a file that is gone, and its folder when that was all that was known of it.
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

// tidy forgets a folder that is not there when nothing is known of files in it.
func (t *tree) tidy(dir string) {
	if in := t.folders[dir]; in != nil && !in.live && len(in.rows()) == 0 {
		delete(t.folders, dir)
	}
}

func rowOf(f File) row {
	return row{ino: f.Ino, size: f.Size, mtime: f.Mtime, version: f.Version, hash: f.Hash, gone: f.Gone}
}

func (r row) file(path string) File {
	return File{Path: path, Ino: r.ino, Size: r.size, Mtime: r.mtime, Version: r.version, Hash: r.hash, Gone: r.gone}
}

// weight is how much text a row may stand for.
func weight(r row) int64 {
	if r.gone || r.size > maxText {
		return 0
	}
	return r.size
}

// folder finds a folder, and makes one that is not live when there is none.
func (t *tree) folder(path string) *folder {
	f := t.folders[path]
	if f == nil {
		f = &folder{}
		t.folders[path] = f
	}
	return f
}

func (t *tree) live(path string) bool {
	f := t.folders[path]
	return f != nil && f.live
}

func (t *tree) row(path string) row {
	f := t.folders[filepath.Dir(path)]
	if f == nil {
		return row{}
	}
	return f.rows()[filepath.Base(path)]
}

// below lists a live folder and all live ones below it, the outermost first.
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

// bury marks a folder and all below it as not live, and lists them as below does.
func (t *tree) bury(path string) []string {
	all := t.below(path)
	for _, dir := range all {
		f := t.folders[dir]
		f.live = false
		f.hold(nil)
	}
	return all
}

// commonMove takes the names that two paths share at their ends off: a/x/f and b/x/f have moved with a to b.
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
