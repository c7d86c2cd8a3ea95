package filewatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"hob/daemon/fail"
	"hob/daemon/fsguard"
	"hob/daemon/sys"
)

// Limits of one commit.
const (
	maxFiles      = 20_000
	maxFirst      = 2000    // files per commit of a first scan
	maxBatchTexts = 8 << 20 // bytes of texts; further texts are not stored
)

// writer commits settled changes: the snapshot and the inbox row in one commit.
type writer struct {
	reader
	store Store
	clock sys.Clock
	own   Own // nil: hob writes nothing
	log   *slog.Logger
}

// finding is the result of examining a candidate.
// examine makes it, tell commits it. was and now are the row before and after; the zero row means none.
type finding struct {
	ref
	was, now row
	text     []byte
	kind     Kind
	silent   bool   // only the snapshot changes; nothing is reported
	recheck  bool   // the file may get new content with the same time, so it is read again
	from     string // the old path of a rename
}

// serve commits the settled candidates of a watch.
// The watcher calls it in each round. It sets t.next, the time at which another call may have something to do.
func (w *writer) serve(ctx context.Context, t *tracked) {
	now := w.clock.Mono()
	if now < t.retry || ctx.Err() != nil {
		return
	}
	if !t.tree.looked {
		w.commit(ctx, t, w.firstLook)
		return
	}
	var list []ref
	if list, t.next = t.candidates.ready(t.watch.Settle, now); len(list) == 0 {
		if t.next > 0 {
			t.next = max(t.next, now+shortestGap/2) // the files of a burst settle one after another
		}
		return
	}
	w.commit(ctx, t, func(ctx context.Context, t *tracked) error {
		for part := range slices.Chunk(list, maxFiles) {
			if err := w.tell(ctx, t, w.examine(ctx, t, part)); err != nil {
				return err
			}
		}
		return nil
	})
	_, t.next = t.candidates.ready(t.watch.Settle, w.clock.Mono())
}

// commit runs f. After an error it sets a pause, which doubles each time.
// The candidates stay, so the next try finds the same changes and the latest content.
func (w *writer) commit(ctx context.Context, t *tracked, f func(context.Context, *tracked) error) {
	switch err := f(ctx, t); {
	case errors.Is(err, ErrStopped):
		t.stopped = true
	case err != nil && ctx.Err() == nil:
		t.pause = min(max(2*t.pause, firstRetry), lastRetry)
		t.retry = w.clock.Mono() + t.pause
		w.log.Error("the changes of a watch could not be committed; trying again", "watch", t.watch.Name, "pause", t.pause, "err", err)
		t.next = t.retry
	case err == nil:
		t.pause = 0
	}
}

// firstLook takes the present files into the snapshot and reports nothing. With many files it continues at the next call, so that other
// watches are served in between. The last commit marks it as done; after a crash before that, it starts again.
func (w *writer) firstLook(ctx context.Context, t *tracked) error {
	// The list is fixed when the first scan has ended, and worked off in parts, so that other watches are served in between.
	if t.first == nil {
		t.first = append([]ref{}, t.candidates.all()...)
	}
	part := t.first[:min(maxFirst, len(t.first))]
	list := w.examine(ctx, t, part)
	// Files that exist when a watch begins are not changes.
	for i := range list {
		list[i].silent = true
	}
	if err := w.tell(ctx, t, list); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.first = t.first[len(part):]; len(t.first) > 0 {
		t.next = w.clock.Mono()
		return nil
	}
	// The mark commits that the first scan is complete; after a restart it is not repeated.
	done := []File{t.tree.mark(nil)}
	if err := w.saw(ctx, Seen{Watch: t.watch, Files: done}); err != nil {
		return err
	}
	t.first = nil
	t.tree.put(done)
	_, t.next = t.candidates.ready(t.watch.Settle, w.clock.Mono())
	return nil
}

// examine examines candidates again and reads those that have not changed since. The others must settle again.
// When ctx ends it returns nil, and nothing is committed.
func (w *writer) examine(ctx context.Context, t *tracked, list []ref) []finding {
	out := make([]finding, 0, len(list))
	texts := 0
	for _, r := range list {
		if ctx.Err() != nil {
			return nil
		}
		f, ok := w.judge(ctx, t, r)
		if !ok {
			continue
		}
		if texts += len(f.text); texts > maxBatchTexts {
			f.text = nil
		}
		out = append(out, f)
		w.step()
	}
	return out
}

// judge examines one candidate. It returns false if there is nothing to commit now.
func (w *writer) judge(ctx context.Context, t *tracked, r ref) (finding, bool) {
	path := r.path()
	f := finding{ref: r, was: t.tree.row(path)}
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if place, ok := w.follow(t.scope, path); ok && !place.IsDir() {
			info = place.Info
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return w.judgeGone(t, f)
	case err != nil:
		t.candidates.again(r.dir, r.name, r.stat, r.gone, w.clock.Mono())
		return finding{}, false
	// It exists, but no longer belongs to the watch: the scan missed it because of new ignore rules, for example.
	case !t.scope.wants(path) || r.gone && w.ignored(t, path):
		f.silent = true
		return f.asGone(t)
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0: // it is now a folder, for example
		return w.judgeGone(t, f)
	}
	if !t.tree.live(r.dir) && w.elsewhere(r.dir) {
		return w.judgeGone(t, f)
	}
	// Since the scan it has changed or come back: it must settle again. A first scan takes files as they are.
	s := statOf(info)
	if s != r.stat && !r.unsettled && t.tree.looked || r.gone {
		t.candidates.again(r.dir, r.name, s, false, w.clock.Mono())
		return finding{}, false
	}
	c, now := content{hash: changing}, w.clock.Wall()
	if !r.unsettled {
		c, err = w.read(ctx, t.scope, path, s)
	}
	if errors.Is(err, errMoved) && !t.tree.looked { // the first scan includes it, whatever its content
		f.unsettled, c, err = true, content{hash: changing}, nil
	}
	if errors.Is(err, fsguard.ErrState) {
		f.silent = true
		return f.asGone(t)
	}
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errMoved) && !errors.Is(err, fs.ErrNotExist) {
			w.log.Warn("a watched file cannot be read now; trying again", "path", path, "err", err)
		}
		t.candidates.again(r.dir, r.name, s, false, w.clock.Mono())
		return finding{}, false
	}
	// A negative time makes the next scan read the file again, because a later content may have the same time.
	f = w.judgeContent(t, f, s, c)
	if f.recheck = !f.unsettled && s.mayHide(now); f.recheck {
		f.now.mtime = -f.now.mtime
	}
	return f, true
}

// elsewhere reports whether a path leads to a folder in another place, because a link has replaced the folder.
func (w *writer) elsewhere(dir string) bool {
	place, err := w.guard.Resolve("", dir)
	return err == nil && place.Path != dir
}

// judgeContent compares a file's content with the snapshot.
// A content that hob wrote itself gets a new version too, but is not reported.
func (w *writer) judgeContent(t *tracked, f finding, s stat, c content) finding {
	f.text = c.text
	f.now = row{ino: s.ino, size: s.size, mtime: s.mtime, version: f.was.version, hash: c.hash}
	if f.was.version > 0 && f.was.hash == c.hash && c.hash != changing {
		f.silent = true // unchanged content: the file was touched or written again
		return f
	}
	f.kind = Write
	if f.now.version++; f.was.version == 0 {
		f.kind, f.now.version = Create, t.tree.begin
	}
	// hob's own file tools announce a content before it becomes visible.
	f.silent = w.wrote(t, cmp.Or(c.path, f.path()), c.hash)
	return f
}

// wrote asks who wrote a content, even if the watch counts own writes, because OwnWrites must learn of every content.
func (w *writer) wrote(t *tracked, path, hash string) bool {
	return w.own != nil && w.own.Wrote(path, hash) && !t.watch.Own
}

// judgeGone judges a file that is missing. It must be missing twice, because editors replace a file by removing and renaming.
func (w *writer) judgeGone(t *tracked, f finding) (finding, bool) {
	if !f.gone {
		t.candidates.again(f.dir, f.name, stat{}, true, w.clock.Mono())
		if f.was.version == 0 {
			t.candidates.drop(f.dir, f.name) // it appeared and disappeared
		}
		return finding{}, false
	}
	f.kind = Remove
	f, ok := f.asGone(t)
	f.silent = ok && w.wrote(t, f.path(), "")
	return f, ok
}

// asGone turns a finding into the removal of its row: the file is gone or no longer belongs to the watch.
func (f finding) asGone(t *tracked) (finding, bool) {
	if f.was.version == 0 {
		t.candidates.drop(f.dir, f.name)
		return finding{}, false
	}
	f.now = f.was
	f.now.gone = true
	return f, true
}

// tell commits findings: the snapshot and, if there is something to report, the fire and the inbox row.
// An error leaves the candidates and the tree as they are, so that the next try reports the same changes.
func (w *writer) tell(ctx context.Context, t *tracked, list []finding) error {
	if len(list) == 0 {
		return ctx.Err()
	}
	// A removed and a created file with the same content are a rename.
	pair(list)
	told := t.changes(list)
	s := Seen{Watch: t.watch, Files: t.rows(list)}
	if len(told) > 0 {
		changes, err := w.describe(ctx, t, told)
		if err != nil {
			return err
		}
		s.Key = keyOf(told)
		s.In = inOf(t.watch, changes, s.Key, w.clock.Wall())
	}
	if err := w.saw(ctx, s); err != nil {
		return err
	}
	// The tree takes the rows only after their commit.
	t.tree.put(s.Files)
	for _, f := range list {
		if f.unsettled {
			t.candidates.tell(f.dir, f.name)
			continue
		}
		t.candidates.drop(f.dir, f.name)
		if f.recheck {
			t.candidates.note(f.dir, f.name, f.stat, false, w.clock.Mono())
		}
	}
	return nil
}

// saw commits changes and the new rows of files.
func (w *writer) saw(ctx context.Context, s Seen) error {
	fail.Point("watch.before")
	err := w.store.Saw(ctx, s)
	fail.Point("watch.after")
	w.step()
	if err != nil {
		return fmt.Errorf("commit what was seen: %w", err)
	}
	return nil
}

// rows returns the snapshot rows of findings, with the texts that may be stored. If rows are removed, the commit also raises the version at
// which new paths start.
func (t *tracked) rows(list []finding) []File {
	files := make([]File, len(list))
	room := maxTexts - t.tree.texts
	for i, f := range list {
		files[i] = f.now.file(f.path())
		if room -= weight(f.now) - weight(f.was); room > 0 && !f.now.gone {
			files[i].Text = f.text
		}
	}
	return t.tree.marked(files)
}

// pair finds renames: a removed and a created file with the same inode, content and time. The inode alone proves nothing, because a new
// file may reuse the inode of a removed one.
func pair(list []finding) {
	went := map[uint64]int{}
	// First collect the removed files by inode, then look for a created file with the same one.
	for i, f := range list {
		if f.kind == Remove && !f.silent && f.now.ino != 0 {
			went[f.now.ino] = i
		}
	}
	for i, f := range list {
		old, ok := went[f.now.ino]
		if f.kind != Create || f.silent || !ok || list[old].now.hash != f.now.hash || list[old].now.written() != f.now.written() {
			continue
		}
		list[i].kind, list[i].from = Rename, list[old].path()
		list[old].silent = true
		delete(went, f.now.ino)
	}
}

// changes returns the findings to report. If the watch does not want renames, a rename becomes a removal and a creation.
// The result is in the order of the paths.
func (t *tracked) changes(list []finding) []finding {
	wants := func(k Kind) bool { return len(t.watch.Events) == 0 || slices.Contains(t.watch.Events, k) }
	var told []finding
	for _, f := range list {
		if f.kind == Rename && !wants(Rename) {
			if wants(Remove) {
				// The removal reports the old path with its old row; the creation below keeps the new one.
				gone := f
				gone.kind, gone.dir, gone.name, gone.text = Remove, filepath.Dir(f.from), filepath.Base(f.from), nil
				gone.now = t.tree.row(f.from)
				told = append(told, gone)
			}
			f.kind, f.from = Create, ""
		}
		if f.kind != "" && !f.silent && wants(f.kind) {
			told = append(told, f)
		}
	}
	slices.SortFunc(told, func(a, b finding) int { return strings.Compare(a.path(), b.path()) })
	return told
}

// describe turns findings into changes, with diffs of the first small texts. The files of a renamed folder become one change.
// It reads the old texts from the store, so it must run before the commit that replaces them.
func (w *writer) describe(ctx context.Context, t *tracked, told []finding) ([]Change, error) {
	list := make([]Change, 0, len(told))
	moved := map[[2]string]int{}
	diffs := budget{left: maxDiffs}
	for _, f := range told {
		c := Change{Kind: f.kind, Path: f.path(), From: f.from, Version: f.now.version, Size: f.now.size, Changing: f.unsettled}
		// Files of a moved folder are described as one change.
		if f.kind == Rename {
			from, to := commonMove(f.from, c.Path)
			if i, ok := moved[[2]string{from, to}]; ok {
				list[i].Files++
				list[i].Version = max(list[i].Version, c.Version)
				continue
			}
			if to != c.Path && !exists(from) {
				moved[[2]string{from, to}] = len(list)
				sep := string(filepath.Separator)
				c.From, c.Path, c.Size, c.Files = from+sep, to+sep, 0, 1
			}
		}
		// Differences are shown for the first few texts only.
		if f.text != nil && (f.kind == Write || f.kind == Create) && diffs.open() && len(list) < maxNames {
			var old []byte
			if f.kind == Write {
				var err error
				if old, err = w.store.Text(ctx, t.watch.ID, c.Path); err != nil {
					return nil, fmt.Errorf("read the text of a snapshot: %w", err)
				}
			}
			if old != nil || f.kind == Create || f.was.size == 0 {
				c.Diff = diffs.take(unified(c.Path, f.kind == Create, old, f.text))
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// exists reports whether a path names anything. A folder that still exists was not moved: only files in it were.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
