package filewatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hob/daemon/fail"
	"hob/daemon/fsguard"
	"hob/daemon/sys"
	"hob/daemon/walk"
	"hob/scheduler"
)

const (
	lookEvery   = 30 * time.Second // the interval for checking roots and folders without events
	firstRetry  = time.Second      // after a failed commit; doubles each time
	lastRetry   = time.Minute
	shortestGap = 50 * time.Millisecond
	longestGap  = 5 * time.Second // between two scans of dirty folders
	recentLoss  = time.Hour       // how long lost events are reported as trouble
)

// Access defines what a Watcher may read.
type Access struct {
	Guard *fsguard.Guard
	State string // hob's state folder, absolute with links resolved; never entered
}

// Watcher commits changes of files. It keeps the snapshots in memory: about 150 bytes per file and folder.
// One goroutine runs it, so its fields need no lock, apart from progress. Times are monotonic.
type Watcher struct {
	writer   *writer
	store    Store
	clock    sys.Clock
	changed  <-chan struct{}
	access   Access
	log      *slog.Logger
	open     func() (notifier, error)
	progress atomic.Int64

	listen   func()  // opens the sensor once
	sensor   *sensor // nil: there was no watch yet, or the system offers no events, so everything is polled
	noEvents error   // why there are no events
	list     map[int64]*tracked
	lost     map[uint64]struct{} // inodes of folders that went away
	stateID  [2]uint64           // device and inode of the state folder
	stale    bool                // the watches have changed
	pending  bool                // folders are dirty
	gap      time.Duration       // earliest time of the next scan of dirty folders
	roots    time.Duration       // time of the next check of the roots
}

// tracked is an active watch.
type tracked struct {
	watch      Watch
	scope      scope
	tree       *tree
	candidates candidates
	first      []ref // files that the first scan has not processed yet; nil: not started
	starts     []string
	polled     map[string]struct{} // folders that cannot be watched
	remote     bool                // part of it is on a file system without events
	poll       time.Duration       // time of the next scan without an event; 0: none
	next       time.Duration       // when a candidate may have settled; 0: none
	retry      time.Duration       // earliest time of the next commit
	pause      time.Duration       // after the last failed commit; 0: it succeeded
	dropped    time.Duration       // when the system last lost events; 0: never
	unseen     map[string]struct{} // folders that could not be read
	unread     string              // the reason for one of them
	present    bool                // all its paths were there once
	gone       time.Time           // since when one of them is missing that was there; zero: none is
	stopped    bool                // the store no longer accepts its changes
	trouble    *string             // as last reported; nil: not since the start
	links      links
}

// NewWatcher returns a watcher. changed wakes it after changes of watches; one signal may stand for many, and nil means none. Without a
// signal it reads the watches only at the start. own may be nil; then hob's writes count as anybody's.
func NewWatcher(store Store, c sys.Clock, changed <-chan struct{}, own Own, access Access, log *slog.Logger) *Watcher {
	w := &Watcher{store: store, clock: c, changed: changed, access: access, log: log, open: openSystem}
	w.writer = &writer{reader{access.Guard, w.step}, store, c, own, log}
	w.step()
	return w
}

// Progress returns the monotonic time at which the watcher was last active. While it works, this is at most about half a minute ago. It may
// be called from any goroutine.
func (w *Watcher) Progress() time.Duration {
	return min(time.Duration(w.progress.Load()), w.clock.Mono())
}

// step records progress for the watchdog.
func (w *Watcher) step() { w.progress.Store(int64(w.clock.Mono())) }

// Run watches until ctx ends, and then returns nil. It returns an error if watches cannot be listed; it may then be called again. An error
// of a single watch is logged and reported, and tried again after a minute.
func (w *Watcher) Run(ctx context.Context) (err error) {
	w.list, w.lost, w.stale, w.sensor = map[int64]*tracked{}, map[uint64]struct{}{}, true, nil
	readers := sys.NewGroup(w.log, nil)
	// The first watch opens the notifier, which takes 0.2 MB.
	w.listen = sync.OnceFunc(func() {
		n, failed := w.open()
		if w.noEvents = failed; failed == nil {
			w.sensor = newSensor(n)
			readers.Once("file events", w.sensor.run)
		}
	})
	defer func() {
		if w.sensor != nil {
			// Closing the notifier ends the goroutine that reads it.
			err = errors.Join(err, w.sensor.Close())
			readers.Wait()
		}
	}()
	for ctx.Err() == nil {
		if err := w.round(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		w.rest(ctx)
	}
	return nil
}

// round does everything that is due.
func (w *Watcher) round(ctx context.Context) error {
	w.step()
	w.lookAtState()
	if w.stale {
		w.stale = false
		if err := w.reload(ctx); err != nil {
			return fmt.Errorf("list watches: %w", err)
		}
	}
	now := w.clock.Mono()
	if w.pending && now >= w.gap {
		w.pending = false
		w.pass(ctx)
		// The gap is twice the time of the scan, so that scans take at most a third of the time while changes keep coming.
		took := w.clock.Mono() - now
		w.gap = w.clock.Mono() + min(max(2*took, shortestGap), longestGap)
	}
	for _, t := range w.list {
		w.lookAgain(ctx, t)
		w.writer.serve(ctx, t)
		w.report(ctx, t)
		if t.stopped { // paused, and perhaps already resumed: the snapshot has its state
			w.end(t)
			w.stale = true
		}
	}
	w.rewatch()
	if now >= w.roots {
		w.roots = now + lookEvery
	}
	return nil
}

// lookAtState finds the identity of the state folder again, because the folder may be made or replaced at any time.
func (w *Watcher) lookAtState() {
	w.stateID = [2]uint64{}
	if info, err := os.Lstat(w.access.State); err == nil {
		w.stateID[0], w.stateID[1] = walk.Identity(info)
	}
}

// reload reads the watches. A watch with unchanged files continues.
func (w *Watcher) reload(ctx context.Context) error {
	list, err := w.store.Watches(ctx)
	if err != nil {
		return err
	}
	// Begin new and changed watches, then end those that are no longer listed.
	live := map[int64]bool{}
	for _, watch := range list {
		live[watch.ID] = true
		t := w.list[watch.ID]
		if t != nil && sameFiles(t.watch, watch) {
			t.watch = watch
			continue
		}
		if err := w.begin(ctx, watch); err != nil {
			return err
		}
		if t != nil { // afterwards, so that common folders stay watched
			w.end(t)
		}
	}
	for id, t := range w.list {
		if !live[id] {
			w.end(t)
		}
	}
	return nil
}

// sameFiles reports whether two versions of a watch differ only in what does not concern files, such as the prompt.
func sameFiles(a, b Watch) bool {
	a.Trigger, b.Trigger = scheduler.Trigger{}, scheduler.Trigger{}
	return reflect.DeepEqual(a, b)
}

// begin starts a watch from its snapshot.
// A watch that cannot be used is reported as trouble and left out; errors of the store are returned.
func (w *Watcher) begin(ctx context.Context, watch Watch) error {
	scope, err := newScope(watch)
	if err = errors.Join(err, watch.Check(w.access.Guard)); err != nil {
		w.log.Warn("a watch cannot be used", "watch", watch.Name, "err", err)
		return w.store.Trouble(ctx, watch.ID, err.Error())
	}
	files, err := w.store.Snapshot(ctx, watch.ID)
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	t := &tracked{watch: watch, scope: scope, tree: newTree(files), links: newLinks()}
	// A path that is missing was there if it had files. Another path of the watch may have them.
	t.present = !slices.ContainsFunc(t.absent(), func(gone string) bool {
		return !slices.ContainsFunc(files, func(f File) bool { return strings.HasPrefix(f.Path+"/", gone+"/") })
	})
	if err := w.prune(ctx, t, files); err != nil {
		return err
	}
	w.list[watch.ID] = t
	if w.listen(); w.sensor == nil {
		t.poll = w.clock.Mono() + lookEvery
	}
	w.settleStarts(ctx, t)
	for dir, f := range t.tree.folders {
		if !f.live {
			t.missing(dir, f, nil, w.clock.Mono()) // it disappeared while hob was not watching
		}
	}
	return nil
}

// prune deletes the rows of removed files that an older version of hob has kept.
func (w *Watcher) prune(ctx context.Context, t *tracked, files []File) error {
	gone := slices.DeleteFunc(files, func(f File) bool { return !f.Gone })
	if len(gone) == 0 {
		return nil
	}
	gone = t.tree.marked(gone)
	if err := w.writer.saw(ctx, Seen{Watch: t.watch, Files: gone}); err != nil && !errors.Is(err, ErrStopped) {
		return err
	}
	t.tree.put(gone)
	return nil
}

// end stops a watch.
func (w *Watcher) end(t *tracked) {
	if w.list[t.watch.ID] == t {
		delete(w.list, t.watch.ID)
	}
	for dir, f := range t.tree.folders {
		if f.live {
			w.release(t.real(dir))
		}
	}
	for at := range t.links.targets {
		w.release(at)
	}
}

// settleStarts determines the roots of a watch again and scans the new ones. A folder with another inode is another folder. A former root
// above a missing path stays watched: it reports when the path disappears again.
func (w *Watcher) settleStarts(ctx context.Context, t *tracked) {
	t.starts = t.scope.starts()
	for _, start := range t.starts {
		if t.replaced(start) {
			w.giveUp(t, start)
		}
		if t.tree.live(start) {
			continue
		}
		t.remote = t.remote || remote(start)
		w.look(ctx, t, start, true)
	}
	switch {
	case len(t.absent()) == 0:
		t.present, t.gone = true, time.Time{}
	case t.present && t.gone.IsZero():
		t.gone = w.clock.Wall()
	}
}

// replaced reports whether a root is now another folder, or missing.
func (t *tracked) replaced(start string) bool {
	return t.tree.live(start) && inodeOf(start) != t.tree.folders[start].ino
}

// inodeOf returns the inode of a path, 0 if there is none.
func inodeOf(path string) uint64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	_, inode := walk.Identity(info)
	return inode
}

// look is survey with errors logged.
func (w *Watcher) look(ctx context.Context, t *tracked, dir string, deep bool) {
	if deep {
		fail.Point("watch.rescan")
	}
	if err := w.survey(ctx, t, dir, deep); err != nil && ctx.Err() == nil {
		w.log.Error("a folder could not be looked at", "watch", t.watch.Name, "err", err)
	}
	w.followLinks(ctx, t)
}

// pass scans what the sensor has marked.
func (w *Watcher) pass(ctx context.Context) {
	m := w.sensor.take()
	if m.err != nil {
		w.log.Warn("watching files failed; scanning everything", "err", m.err)
	}
	for _, t := range w.list {
		if t.watch.Poll > 0 {
			continue
		}
		if m.lost {
			t.dropped = max(w.clock.Mono(), 1)
		}
		w.passOver(ctx, t, m)
	}
}

// passOver handles the collected events of a watch: it drops removed folders, and looks at the changed ones, or at all after a loss of
// events.
func (w *Watcher) passOver(ctx context.Context, t *tracked, m marks) {
	// Removed folders first, so that a new folder with the same name is scanned as a new one.
	var again []string
	for dir := range m.went {
		for _, name := range t.names(dir) {
			w.vanish(t, name)
		}
		again = slices.AppendSeq(again, maps.Keys(t.links.targets[dir]))
	}
	if m.all {
		w.lookAtAll(ctx, t)
		return
	}
	for dir := range m.dirs {
		again = slices.AppendSeq(append(again, t.names(dir)...), maps.Keys(t.links.targets[dir]))
	}
	slices.Sort(again)
	for _, name := range slices.Compact(again) {
		if ctx.Err() == nil && t.tree.live(name) {
			w.look(ctx, t, name, false)
		}
	}
	w.settleStarts(ctx, t)
}

// lookAtAll scans a whole watch.
func (w *Watcher) lookAtAll(ctx context.Context, t *tracked) {
	t.unread = ""
	for _, start := range t.starts {
		if t.tree.live(start) && !t.replaced(start) {
			w.look(ctx, t, start, true)
		}
	}
	for _, link := range slices.Sorted(maps.Keys(t.links.folders)) {
		w.look(ctx, t, link, true)
	}
	w.settleStarts(ctx, t)
}

// rewatch watches folders again whose inodes were lost under other names. A renamed folder keeps its watch under the old name; when that
// watch is removed, the new name has none.
func (w *Watcher) rewatch() {
	if w.sensor == nil || len(w.lost) == 0 {
		return
	}
	for _, t := range w.list {
		for path, f := range t.tree.folders {
			if _, was := w.lost[f.ino]; was && f.live {
				t.unwatched(path, w.cover(t, path))
				w.sensor.mark(join(t.real(path), "."), false)
			}
		}
	}
	clear(w.lost)
}

// lookAgain scans the parts for which no event is expected.
func (w *Watcher) lookAgain(ctx context.Context, t *tracked) {
	now := w.clock.Mono()
	// Without file events, look regularly.
	// With a poll interval, a remote file system or no notifier, everything is scanned; otherwise only the folders in polled and unseen.
	every := t.watch.Poll
	if every == 0 && (t.remote || w.sensor == nil || len(t.polled)+len(t.unseen)+len(t.links.dirs) > 0) {
		every = lookEvery
	}
	if every > 0 && t.poll == 0 {
		t.poll = now + every
	}
	switch {
	case every > 0 && now >= t.poll:
		t.poll = now + every
		if t.remote || w.sensor == nil || t.watch.Poll > 0 {
			w.lookAtAll(ctx, t)
		}
		for _, dir := range slices.Sorted(maps.Keys(t.links.dirs)) {
			w.look(ctx, t, dir, false)
		}
		for dir := range t.polled {
			t.unwatched(dir, w.cover(t, dir))
			w.look(ctx, t, dir, false)
		}
		// These folders could not be read or watched at the last look.
		for dir := range t.unseen {
			t.unwatched(dir, w.cover(t, dir))
			w.look(ctx, t, dir, false)
		}
	case now >= w.roots:
		w.settleStarts(ctx, t)
	}
}

// rest sleeps until something is due or has changed; with watches, at most half a minute.
func (w *Watcher) rest(ctx context.Context) {
	if w.stale {
		return
	}
	now := w.clock.Mono()
	until := now + sys.LongestSleep
	sooner := func(at time.Duration) {
		if at > 0 && at < until {
			until = at
		}
	}
	if len(w.list) > 0 {
		sooner(w.roots)
	}
	// While collected events wait for the end of their gap, new ones need not wake the watcher.
	var wake <-chan struct{}
	switch {
	case w.pending:
		sooner(w.gap)
	case w.sensor != nil:
		wake = w.sensor.wake
	}
	for _, t := range w.list {
		sooner(t.poll)
		if t.next > 0 {
			sooner(max(t.next, t.retry))
		}
	}
	timer := w.clock.Timer(until - now)
	defer timer.Stop()
	// A sleeping watcher need not show progress until its timer ends.
	w.progress.Store(int64(timer.End))
	select {
	case <-ctx.Done():
	case <-w.changed:
		w.stale = true
	case <-wake:
		w.pending = true
	case <-timer.C:
	}
	w.step()
}
