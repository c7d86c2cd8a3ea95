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

// survey compares folders with the snapshot of a watch. What differs becomes a candidate; a folder that is new is watched
// before it is listed, so that nothing gets lost in between.
type survey struct {
	w     *Watcher
	t     *tracked
	start string
	deep  bool // all below, not only what is new
	now   time.Duration
	rules walk.RulesReader
	above *walk.Rules // the rules in the start, without its own

	mu     sync.Mutex // the walk has several workers; over tree, candidates and the rest of t
	device uint64     // of the start
}

// survey looks at a folder, and at those below that are new or, with deep, at all.
func (w *Watcher) survey(ctx context.Context, t *tracked, start string, deep bool) error {
	s := &survey{w: w, t: t, start: start, deep: deep, now: w.clock.Mono()}
	place, err := w.access.Guard.Resolve("", start)
	if err == nil && (place.Path != start || !place.IsDir()) {
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
	if !s.t.tree.live(s.start) || s.deep {
		s.t.unwatched(s.start, s.w.cover(s.t, s.start))
	}
	return walk.Walk(ctx, root, s)
}

// longestPath is what Linux takes, less the slash before a name and the zero after it. Systems that take less refuse the rest.
const longestPath = 4096 - 2

// found is a file as a look at its folder found it.
type found struct {
	name string
	stat
}

// Folder is part of walk.Visitor. It is called by several workers at once.
func (s *survey) Folder(d *walk.Dir, entries []walk.Entry) []walk.Entry {
	path := s.start
	if d.Path != "" {
		path = join(s.start, filepath.FromSlash(d.Path))
	}
	device, inode := d.Identity()
	if s.w.isState(path, device, inode) {
		return nil
	}
	if device != s.device && remote(path) {
		s.locked(func() { s.t.remote = true })
	}
	node := s.enter(d, path, entries)
	s.w.step()
	var files []found
	subs := entries[:0]
	for _, e := range entries {
		if s.leftOut(node, path, e) {
			continue
		}
		if len(path)+len(e.Name) > longestPath {
			s.locked(func() {
				s.t.unread = fmt.Sprintf("what lies in %s is left out: the paths are too long for the system", quoted(path))
			})
			continue
		}
		if e.Kind == walk.Folder {
			subs = append(subs, e)
		} else if f, ok := look(d, path, e); ok {
			files = append(files, f)
		}
	}
	return s.compare(path, inode, files, subs)
}

func (s *survey) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// unruly says that a file of ignore rules cannot be read; the error names it.
func unruly(err error) string { return "what is to be ignored is not known: " + quoted(err.Error()) }

// enter are the ignore rules in a folder, nil where they do not count.
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

// leftOut says that a name in a folder is none of the watch's.
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

// machine says that a folder shows the running system in the shape of files: a watch of all that is below the root has nothing to read there.
func machine(path string) bool {
	return runtime.GOOS == "linux" && (path == "/proc" || path == "/sys" || path == "/dev")
}

// look takes the stat of a file or a link; false: there is none, or it is neither.
func look(d *walk.Dir, dir string, e walk.Entry) (found, bool) {
	if e.Kind == walk.File {
		info, err := d.Stat(e.Name)
		return found{e.Name, stat{ino: info.Inode, size: info.Size, mtime: info.Modified}}, err == nil
	}
	info, err := os.Lstat(join(dir, e.Name))
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return found{}, false
	}
	return found{e.Name, statOf(info)}, true
}

func statOf(info fs.FileInfo) stat {
	_, inode := walk.Identity(info)
	return stat{ino: inode, size: info.Size(), mtime: info.ModTime().UnixNano(), link: info.Mode()&fs.ModeSymlink != 0}
}

// compare notes what differs in a folder, and returns the subfolders to go on with: they are watched by then, before they are
// listed.
func (s *survey) compare(path string, inode uint64, files []found, subs []walk.Entry) []walk.Entry {
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
	for _, sub := range paths { // without the lock: it takes as long as all the rest
		if err := s.w.cover(s.t, sub); err != nil {
			s.locked(func() { s.t.unwatched(sub, err) })
		}
	}
	return enter
}

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

// compareFolders keeps which subfolders there are, and returns those to go on with.
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
		if _, unseen := t.unseen[sub]; t.tree.live(sub) && !unseen && !s.deep {
			continue
		}
		if s.replaced(sub, e) {
			s.w.giveUp(t, sub)
		}
		in := t.tree.folder(sub)
		in.live, in.ino = true, e.Inode // until it is opened, which may come too late: who moves it takes its watch along
		enter, paths = append(enter, e), append(paths, sub)
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

// replaced says that another folder stands where one is known to the notifier, which must give that one up before it can take this one.
func (s *survey) replaced(path string, e walk.Entry) bool {
	if !s.t.tree.live(path) {
		return false
	}
	was := s.t.tree.folders[path].ino
	return was != 0 && e.Inode != was && inodeOf(path) != was // the first is a hint only
}

// missing notes the files of a folder that are not there any more.
func (t *tracked) missing(path string, in *folder, there map[string]struct{}, now time.Duration) {
	for name := range in.rows() {
		if _, ok := there[name]; !ok {
			t.candidates.note(path, name, stat{}, true, now)
		}
	}
	for name := range t.candidates.folders[path] {
		if _, ok := there[name]; !ok && in.rows()[name].version == 0 {
			t.candidates.drop(path, name)
		}
	}
}

// File is part of walk.Visitor: files are dealt with in their folder.
func (*survey) File(int, *walk.Dir, walk.Entry) {}

// Failed is part of walk.Visitor. What was known of a folder that cannot be read stays as it is, and it is tried again.
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

// unreadable says of a folder that it cannot be read. Anybody may have given it its name.
func unreadable(dir string, err error) string {
	reason, _, _ := strings.Cut(cause(err).Error(), "\n")
	return fmt.Sprintf("the folder %s cannot be read: %s", quoted(dir), reason)
}

// longestQuote is how much of a name or an error a trouble tells, in bytes.
const longestQuote = 200

// quoted is what others may have written as it stands in a trouble: in quotes that it cannot end, and with all that is not printed made visible.
func quoted(text string) string {
	if len(text) > longestQuote {
		return strconv.Quote(text[:longestQuote]) + "…"
	}
	return strconv.Quote(text)
}

// seen notes that a folder could be read.
func (t *tracked) seen(dir string) {
	if _, was := t.unseen[dir]; !was {
		return
	}
	if delete(t.unseen, dir); len(t.unseen) == 0 {
		t.unread = ""
	}
}

// cause drops what a path error says beside its reason.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// cover watches a folder. An error says that it has to be polled.
func (w *Watcher) cover(t *tracked, path string) error {
	if w.sensor == nil || t.watch.Poll > 0 {
		return nil
	}
	err := w.sensor.Add(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // gone again, which its parent tells; or not readable, which the look at it tells
	}
	return err
}

// unwatched notes what cover has said of a folder.
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

// vanish notes all files in and below a folder as gone, and stops watching it. Should it be there after all, the look at the
// folder above finds it as a new one.
func (w *Watcher) vanish(t *tracked, path string) {
	now := w.clock.Mono()
	for _, dir := range t.tree.bury(path) {
		in := t.tree.folders[dir]
		t.missing(dir, in, nil, now)
		delete(t.polled, dir)
		t.seen(dir)
		w.uncover(dir)
		if in.ino != 0 {
			w.lost[in.ino] = struct{}{}
		}
		t.tree.tidy(dir)
	}
}

// giveUp is vanish for a folder that another one has replaced: whoever else watches it has lost it too.
func (w *Watcher) giveUp(t *tracked, path string) {
	gone := t.tree.below(path)
	w.vanish(t, path)
	if w.sensor == nil {
		return
	}
	for _, dir := range gone {
		_ = w.sensor.Remove(dir) // most are gone by now
	}
}

// uncover stops watching a folder that no watch needs any more.
func (w *Watcher) uncover(dir string) {
	if w.sensor == nil {
		return
	}
	for _, t := range w.list {
		if t.tree.live(dir) {
			return
		}
	}
	// It may have gone by itself, with the folder.
	_ = w.sensor.Remove(dir)
}

// isState says that a folder is hob's state folder or in it; the numbers are 0 where they are not known.
func (w *Watcher) isState(path string, device, inode uint64) bool {
	if path == w.access.State || below(w.access.State, path) {
		return true
	}
	return inode != 0 && device == w.stateID[0] && inode == w.stateID[1]
}
