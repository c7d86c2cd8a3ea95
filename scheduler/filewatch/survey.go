package filewatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"hob/daemon/fsguard"
	"hob/daemon/walk"
)

// survey compares folders with the snapshot of a watch. Differences become candidates. A new folder is watched before it is listed, so that
// no change in between is lost.
type survey struct {
	w     *Watcher
	t     *tracked
	start string
	deep  bool // scan everything below, not only new folders
	now   time.Duration
	rules walk.RulesReader
	above *walk.Rules // the rules that apply in start, without its own

	mu     sync.Mutex // several workers walk; guards tree, candidates and the rest of t
	device uint64     // of start
}

// survey scans a folder and, below it, the new folders; with deep, all folders.
// The only error is that of ctx: a missing folder is recorded as gone, and an unreadable one is tried again later.
func (w *Watcher) survey(ctx context.Context, t *tracked, start string, deep bool) error {
	s := &survey{w: w, t: t, start: start, deep: deep, now: w.clock.Mono()}
	place, err := w.access.Guard.Resolve("", start)
	// A link has replaced the folder, or something above it: what is there now is another folder.
	if err == nil && (place.Path != t.real(start) || !place.IsDir()) {
		err = fs.ErrNotExist
	}
	if err == nil {
		err = s.walk(ctx, place)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fsguard.ErrMoved), errors.Is(err, fsguard.ErrState), errors.Is(err, syscall.ENOTDIR):
		w.vanish(t, start)
	case err != nil:
		w.log.Error("a folder could not be looked at", "watch", t.watch.Name, "err", err)
		s.Failed("", err)
	}
	return nil
}

// walk scans the folders from start on. It reads the ignore rules of the folders above first.
func (s *survey) walk(ctx context.Context, place fsguard.Place) error {
	root, err := s.w.access.Guard.Folder(place)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written
	s.device, _ = walk.Identity(place.Info)
	if s.t.watch.Gitignore {
		s.rules = walk.RulesReader{Read: s.w.writer.rules, Home: s.w.access.Guard.Home()}
		if s.above, err = s.rules.Above(s.start, s.start); err != nil {
			s.t.unread = unruly(err)
		}
	}
	// Walk reports the subfolders only, so the start is watched here.
	if !s.t.tree.live(s.start) || s.deep {
		s.t.unwatched(s.start, s.w.cover(s.t, s.start))
	}
	return walk.Walk(ctx, root, s)
}

// longestPath is the limit of Linux, without the slash before a name and the final zero byte. Systems with a smaller limit report an error
// themselves.
const longestPath = 4096 - 2

// found is a file in a folder.
type found struct {
	name string
	stat
}

// Folder implements walk.Visitor. Several workers call it at the same time.
// It returns only folders to the walk, so File has nothing to do.
func (s *survey) Folder(d *walk.Dir, entries []walk.Entry) []walk.Entry {
	path := s.start
	if d.Path != "" {
		path = join(s.start, filepath.FromSlash(d.Path))
	}
	device, inode := d.Identity()
	if s.w.isState(path, device, inode) {
		return nil
	}
	// Network file systems report no changes of other machines.
	if device != s.device && remote(path) {
		s.locked(func() { s.t.remote = true })
	}
	node := s.enter(d, path, entries)
	s.w.step()
	var files []found
	var cover []string
	s.locked(func() { s.t.links.forget(path) })
	subs := entries[:0]
	for _, e := range entries {
		leftOut := s.leftOut(node, path, e)
		if leftOut && (e.Kind != walk.Other || !s.t.scope.enters(join(path, e.Name))) {
			continue
		}
		if len(path)+len(e.Name) > longestPath {
			s.locked(func() {
				s.t.unread = fmt.Sprintf("the contents of %s are ignored: the paths are too long for the system", quoted(path))
			})
			continue
		}
		if e.Kind == walk.Folder {
			subs = append(subs, e)
		} else if f, more, ok := s.look(d, path, e); ok {
			cover = append(cover, more...)
			if !leftOut {
				files = append(files, f)
			}
		}
	}
	for _, at := range cover {
		_ = s.w.cover(s.t, at) // a link whose target tells nothing is looked at regularly
	}
	return s.compare(path, inode, files, subs)
}

// locked runs f with the lock of the survey.
func (s *survey) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// unruly is the trouble of an unreadable file of ignore rules, which the error names.
func unruly(err error) string { return "the ignore rules cannot be read: " + quoted(err.Error()) }

// enter returns the ignore rules of a folder; nil if the watch does not use them.
func (s *survey) enter(d *walk.Dir, path string, entries []walk.Entry) *walk.Rules {
	if !s.t.watch.Gitignore {
		return nil
	}
	above := s.above
	if d.Above != nil {
		above, _ = d.Above.Keep.(*walk.Rules)
	}
	has := walk.RuleFiles(0)
	for _, e := range entries {
		has |= walk.RuleFile(e.Name)
	}
	node, err := s.rules.Enter(above, path, has)
	if err != nil {
		s.locked(func() { s.t.unread = unruly(err) })
	}
	d.Keep = node
	return node
}

// leftOut reports whether a name in a folder does not belong to the watch.
func (s *survey) leftOut(node *walk.Rules, dir string, e walk.Entry) bool {
	isFolder := e.Kind == walk.Folder
	if s.t.watch.Gitignore && (e.Name == ".git" || node.Verdict(filepath.ToSlash(dir), e.Name, isFolder) == walk.Ignored) {
		return true
	}
	path := join(dir, e.Name)
	if isFolder {
		return !s.t.scope.enters(path) || s.w.isState(path, 0, 0) || machine(path)
	}
	return fsguard.IsTemp(e.Name) || !s.t.scope.wants(path)
}

// machine reports whether a folder shows the running system as files. A watch of everything below the root must not read these.
func machine(path string) bool {
	return runtime.GOOS == "linux" && (path == "/proc" || path == "/sys" || path == "/dev")
}

// look returns the stat of a file or link, and the folders to watch for a link; false for anything else.
func (s *survey) look(d *walk.Dir, dir string, e walk.Entry) (found, []string, bool) {
	// A stat through the open folder also works if its path was replaced meanwhile.
	if e.Kind == walk.File {
		info, err := d.Stat(e.Name)
		return found{e.Name, stat{ino: info.Inode, size: info.Size, mtime: info.Modified}}, nil, err == nil
	}
	info, err := os.Lstat(join(dir, e.Name))
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return found{}, nil, false
	}
	st, cover := s.link(dir, e.Name, info)
	return found{e.Name, st}, cover, true
}

// statOf converts what the system reports about a file; the inode is 0 where there are none.
func statOf(info fs.FileInfo) stat {
	_, inode := walk.Identity(info)
	return stat{ino: inode, size: info.Size(), mtime: info.ModTime().UnixNano(), link: info.Mode()&fs.ModeSymlink != 0}
}

// compare records the differences in a folder and returns the subfolders to scan. It watches them first.
// inode is that of the opened folder; it tells later whether another folder has taken the path.
func (s *survey) compare(path string, inode uint64, files []found, subs []walk.Entry) []walk.Entry {
	// The names are collected first, because missing looks for rows without one.
	there := make(map[string]struct{}, len(files))
	for _, f := range files {
		there[f.name] = struct{}{}
	}
	var enter []walk.Entry
	var paths []string
	s.locked(func() {
		in := s.t.tree.folder(path)
		in.live, in.ino = true, inode
		s.t.seen(path)
		s.compareFiles(path, in, files, there)
		enter, paths = s.compareFolders(path, in, subs)
	})
	for _, sub := range paths { // without the lock, because it takes as long as the rest
		if err := s.w.cover(s.t, sub); err != nil {
			s.locked(func() { s.t.unwatched(sub, err) })
		}
	}
	return enter
}

// compareFiles compares the files of a folder with their rows: files that differ become candidates, and so do rows without a file.
func (s *survey) compareFiles(path string, in *folder, files []found, there map[string]struct{}) {
	t := s.t
	for _, f := range files {
		if in.rows()[f.name].looksLike(f.stat) {
			t.candidates.drop(path, f.name)
		} else {
			t.candidates.note(path, f.name, f.stat, false, s.now)
		}
	}
	t.missing(path, in, there, s.now)
}

// compareFolders records the subfolders and returns those to scan.
func (s *survey) compareFolders(path string, in *folder, subs []walk.Entry) (enter []walk.Entry, paths []string) {
	t, old := s.t, in.subs()
	enter = subs[:0]
	var now []string
	if len(subs) > 0 {
		now = make([]string, 0, len(subs))
	}
	for _, e := range subs {
		sub := join(path, e.Name)
		now = append(now, sub)
		// A known folder reports its own changes, so it is not scanned again.
		if _, unseen := t.unseen[sub]; t.tree.live(sub) && !unseen && !s.deep {
			continue
		}
		if s.replaced(sub, e) {
			s.w.giveUp(t, sub)
		}
		in := t.tree.folder(sub)
		in.live, in.ino = true, e.Inode // until it is opened, which may be too late: a folder keeps its watch when it is moved
		enter, paths = append(enter, e), append(paths, sub)
	}
	for link, to := range t.links.folders {
		if filepath.Dir(link) == path && t.links.found[link] == to {
			now = append(now, link)
		}
	}
	slices.Sort(now)
	in.hold(now)
	for _, sub := range old {
		if _, there := slices.BinarySearch(now, sub); !there {
			s.w.vanish(t, sub)
		}
	}
	return enter, paths
}

// replaced reports whether another folder has taken a path that the notifier knows. The notifier must remove the old one before it can add
// the new one.
func (s *survey) replaced(path string, e walk.Entry) bool {
	if !s.t.tree.live(path) {
		return false
	}
	was := s.t.tree.folders[path].ino
	return was != 0 && e.Inode != was && inodeOf(path) != was // the first is a hint only
}

// absent returns the paths of a watch that are not there, without patterns, which may match later.
func (t *tracked) absent() []string {
	return slices.DeleteFunc(slices.Clone(t.watch.Paths), func(path string) bool {
		_, err := os.Lstat(path)
		return !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(path, "*?[{")
	})
}

// missing records the files of a folder that no longer exist.
func (t *tracked) missing(path string, in *folder, there map[string]struct{}, now time.Duration) {
	for name := range in.rows() {
		if _, ok := there[name]; !ok {
			t.candidates.note(path, name, stat{}, true, now)
		}
	}
	// A file without a row has come and gone since the last scan, so there is nothing to report.
	for name := range t.candidates.folders[path] {
		if _, ok := there[name]; !ok && in.rows()[name].version == 0 {
			t.candidates.drop(path, name)
		}
	}
}

// File implements walk.Visitor. Folder handles the files.
func (*survey) File(int, *walk.Dir, walk.Entry) {}

// Failed implements walk.Visitor. The snapshot of an unreadable folder stays, and the folder is tried again.
func (s *survey) Failed(path string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := filepath.Join(s.start, filepath.FromSlash(path))
	if s.t.unseen == nil {
		s.t.unseen = map[string]struct{}{}
	}
	s.t.unseen[dir] = struct{}{}
	s.t.unread = unreadable(dir, err)
}

// unreadable is the trouble of an unreadable folder. The folder's name may come from anybody.
func unreadable(dir string, err error) string {
	reason, _, _ := strings.Cut(cause(err).Error(), "\n")
	return fmt.Sprintf("the folder %s cannot be read: %s", quoted(dir), reason)
}

// longestQuote limits a quoted name or error in a trouble, in bytes.
const longestQuote = 200

// quoted quotes foreign text for a trouble, with invisible characters escaped.
func quoted(text string) string {
	if len(text) > longestQuote {
		return strconv.Quote(text[:longestQuote]) + "…"
	}
	return strconv.Quote(text)
}

// seen records that a folder could be read.
func (t *tracked) seen(dir string) {
	if _, was := t.unseen[dir]; !was {
		return
	}
	if delete(t.unseen, dir); len(t.unseen) == 0 {
		t.unread = ""
	}
}

// cause strips the path from an error.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// cover watches a folder. An error means that it must be polled.
func (w *Watcher) cover(t *tracked, path string) error {
	if w.sensor == nil || t.watch.Poll > 0 {
		return nil
	}
	err := w.sensor.Add(t.real(path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // it is gone, which its parent reports, or unreadable, which the scan reports
	}
	return err
}

// unwatched records the result of cover.
func (t *tracked) unwatched(path string, err error) {
	if err == nil {
		delete(t.polled, path)
		return
	}
	if t.polled == nil {
		t.polled = map[string]struct{}{}
	}
	t.polled[path] = struct{}{}
}

// vanish records all files in and below a folder as gone, and stops watching it. If the folder still exists, the scan of its parent finds
// it as new.
func (w *Watcher) vanish(t *tracked, path string) {
	now := w.clock.Mono()
	// The inodes of the folders are noted, because a moved folder may return under another name; see rewatch.
	for _, dir := range t.tree.bury(path) {
		in := t.tree.folders[dir]
		t.missing(dir, in, nil, now)
		delete(t.polled, dir)
		t.seen(dir)
		w.release(t.real(dir))
		if in.ino != 0 {
			w.lost[in.ino] = struct{}{}
		}
		t.tree.tidy(dir)
	}
}

// giveUp is vanish for a folder that another one has replaced. All watches of the folder have lost it.
func (w *Watcher) giveUp(t *tracked, path string) {
	gone := t.tree.below(path)
	w.vanish(t, path)
	if w.sensor == nil {
		return
	}
	for _, dir := range gone {
		_ = w.sensor.Remove(t.real(dir)) // most are gone by now
	}
}

// isState reports whether a folder is hob's state folder or inside it. The numbers are 0 if unknown.
func (w *Watcher) isState(path string, device, inode uint64) bool {
	if path == w.access.State || below(w.access.State, path) {
		return true
	}
	return inode != 0 && device == w.stateID[0] && inode == w.stateID[1]
}
