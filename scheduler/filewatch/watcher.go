package filewatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"hob/daemon/fail"
	"hob/daemon/fsguard"
	"hob/daemon/sys"
	"hob/daemon/walk"
	"hob/scheduler"
)

const (
	longestSleep = 30 * time.Second // as the runner of jobs; so often roots are looked at, and what cannot be watched
	firstRetry   = time.Second      // of what could not be committed; it doubles
	lastRetry    = time.Minute
	shortestGap  = 50 * time.Millisecond
	longestGap   = 5 * time.Second // between two looks at dirty folders
	recentLoss   = time.Hour       // so long the loss of events counts as trouble
)

// Access is where a Watcher may look.
type Access struct {
	Guard *fsguard.Guard
	State string // hob's state folder, absolute, links resolved: never looked into
}

// Watcher commits what changes in files. It keeps the snapshots in memory, about 150 bytes for each file and each folder that is there.
type Watcher struct {
	writer   *writer
	store    Store
	clock    sys.Clock
	changed  <-chan struct{}
	access   Access
	log      *slog.Logger
	open     func() (notifier, error)
	progress atomic.Int64

	sensor  *sensor // nil: the system gives none, all is polled
	blind   error   // why there is none
	list    map[int64]*tracked
	lost    map[uint64]struct{} // inodes of folders that went away
	stateID [2]uint64           // device and inode of the state folder
	stale   bool                // the watches were changed
	pending bool                // folders are dirty
	gap     time.Duration       // dirty folders are not looked at before
	roots   time.Duration       // when to look at the roots again
}

// tracked is a watch at work.
type tracked struct {
	watch      Watch
	scope      scope
	tree       *tree
	candidates candidates
	first      []ref // what the first look has still to take; nil: it has not begun
	starts     []string
	polled     map[string]struct{} // folders that cannot be watched
	remote     bool                // part of it lies on a file system that tells nothing
	poll       time.Duration       // when to look without an event; 0: never
	next       time.Duration       // when a candidate may rest; 0: there is none
	retry      time.Duration       // nothing is committed before
	pause      time.Duration       // after the last failed commit; 0: the last one worked
	dropped    time.Duration       // when the system last lost events; 0: never
	unseen     map[string]struct{} // folders that could not be read
	unread     string              // why one could not
	stopped    bool                // the store takes nothing of it any more
	trouble    *string             // as it was told; nil: not since the start
}

// NewWatcher makes a watcher. changed wakes it when watches were changed (a signal may stand for many; nil: never); without a
// signal it reads them when it starts only. own may be nil: then hob's writes count as anybody's.
func NewWatcher(store Store, c sys.Clock, changed <-chan struct{}, own Own, access Access, log *slog.Logger) *Watcher {
	w := &Watcher{store: store, clock: c, changed: changed, access: access, log: log, open: openSystem}
	w.writer = &writer{reader{access.Guard, w.step}, store, c, own, log}
	w.step()
	return w
}

// Progress is the reading of the monotonic clock when the watcher last did something. It is never more than about half a minute
// old while the watcher is alive. Safe to call from anywhere.
func (w *Watcher) Progress() time.Duration { return time.Duration(w.progress.Load()) }

func (w *Watcher) step() { w.progress.Store(int64(w.clock.Mono())) }

// Run watches until ctx ends; then it returns nil. It returns an error when the watches cannot be listed and may then be
// called again. What goes wrong with a single watch is logged and told, and tried again a minute later.
func (w *Watcher) Run(ctx context.Context) (err error) {
	w.list, w.lost, w.stale, w.sensor = map[int64]*tracked{}, map[uint64]struct{}{}, true, nil
	readers := sys.NewGroup(w.log, nil)
	n, err := w.open()
	if w.blind = err; err == nil {
		w.sensor = newSensor(n)
		readers.Once("file events", func() error { return w.sensor.run() })
		defer func() {
			err = errors.Join(err, n.Close())
			readers.Wait()
		}()
	}
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

// round does all that is due.
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
		took := w.clock.Mono() - now
		w.gap = w.clock.Mono() + min(max(2*took, shortestGap), longestGap)
	}
	for _, t := range w.list {
		w.lookAgain(ctx, t)
		w.writer.serve(ctx, t)
		w.report(ctx, t)
		if t.stopped { // paused, and perhaps let go on already: the snapshot tells where it stands
			w.end(t)
			w.stale = true
		}
	}
	w.rewatch()
	if now >= w.roots {
		w.roots = now + longestSleep
	}
	return nil
}

func (w *Watcher) lookAtState() {
	w.stateID = [2]uint64{}
	if info, err := os.Lstat(w.access.State); err == nil {
		w.stateID[0], w.stateID[1] = walk.Identity(info)
	}
}

// reload takes in which watches there are. One that means the same files as before goes on.
func (w *Watcher) reload(ctx context.Context) error {
	list, err := w.store.Watches(ctx)
	if err != nil {
		return err
	}
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
		if t != nil { // after: what both look at stays watched
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

func sameFiles(a, b Watch) bool {
	a.Trigger, b.Trigger = scheduler.Trigger{}, scheduler.Trigger{}
	return reflect.DeepEqual(a, b)
}

// begin takes up a watch where its snapshot stands.
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
	t := &tracked{watch: watch, scope: scope, tree: newTree(files)}
	if err := w.prune(ctx, t, files); err != nil {
		return err
	}
	w.list[watch.ID] = t
	if w.sensor == nil {
		t.poll = w.clock.Mono() + longestSleep
	}
	w.settleStarts(ctx, t)
	for dir, f := range t.tree.folders {
		if !f.live {
			t.missing(dir, f, nil, w.clock.Mono()) // it went while nobody looked
		}
	}
	return nil
}

// prune lets the rows of gone files go that an older hob has kept.
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
			w.uncover(dir)
		}
	}
}

// settleStarts finds out where a watch begins now, and looks at what is new of it. A folder that has another inode than before
// is another folder. Where it began before, a file or nothing stood below: that folder stays watched, since it tells when what
// stands there by now goes away.
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
}

// replaced says that another folder stands at a start than did, or none.
func (t *tracked) replaced(start string) bool {
	return t.tree.live(start) && inodeOf(start) != t.tree.folders[start].ino
}

func inodeOf(path string) uint64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	_, inode := walk.Identity(info)
	return inode
}

// look is a survey whose errors end in the log; only the end of ctx is one.
func (w *Watcher) look(ctx context.Context, t *tracked, dir string, deep bool) {
	if deep {
		fail.Point("watch.rescan")
	}
	if err := w.survey(ctx, t, dir, deep); err != nil && ctx.Err() == nil {
		w.log.Error("a folder could not be looked at", "watch", t.watch.Name, "err", err)
	}
}

// pass looks at what the sensor has marked.
func (w *Watcher) pass(ctx context.Context) {
	m := w.sensor.take()
	if m.err != nil {
		w.log.Warn("watching files had a problem, looking at everything", "err", m.err)
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

func (w *Watcher) passOver(ctx context.Context, t *tracked, m marks) {
	for dir := range m.went {
		if t.tree.live(dir) {
			w.vanish(t, dir)
		}
	}
	if m.all {
		w.lookAtAll(ctx, t)
		return
	}
	for dir := range m.dirs {
		if ctx.Err() == nil && t.tree.live(dir) {
			w.look(ctx, t, dir, false)
		}
	}
	w.settleStarts(ctx, t)
}

// lookAtAll surveys a whole watch.
func (w *Watcher) lookAtAll(ctx context.Context, t *tracked) {
	t.unread = ""
	for _, start := range t.starts {
		if t.tree.live(start) && !t.replaced(start) {
			w.look(ctx, t, start, true)
		}
	}
	w.settleStarts(ctx, t)
}

// rewatch watches the folders again whose inodes were lost under other names. Who renames a folder takes its watch along: it
// goes on under the old name, and when that is given up, the new one has none.
func (w *Watcher) rewatch() {
	if w.sensor == nil || len(w.lost) == 0 {
		return
	}
	for _, t := range w.list {
		for path, f := range t.tree.folders {
			if _, was := w.lost[f.ino]; was && f.live {
				t.unwatched(path, w.cover(t, path))
				w.sensor.mark(join(path, "."), false)
			}
		}
	}
	clear(w.lost)
}

// lookAgain looks at what no event tells of.
func (w *Watcher) lookAgain(ctx context.Context, t *tracked) {
	now := w.clock.Mono()
	every := t.watch.Poll
	if every == 0 && (t.remote || w.sensor == nil || len(t.polled)+len(t.unseen) > 0) {
		every = longestSleep
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
		for dir := range t.polled {
			t.unwatched(dir, w.cover(t, dir))
			w.look(ctx, t, dir, false)
		}
		for dir := range t.unseen {
			t.unwatched(dir, w.cover(t, dir))
			w.look(ctx, t, dir, false)
		}
	case now >= w.roots:
		w.settleStarts(ctx, t)
	}
}

// report tells the owner when something is wrong with a watch, and when it is not any more.
func (w *Watcher) report(ctx context.Context, t *tracked) {
	text := w.troubleOf(t)
	if t.trouble != nil && text == *t.trouble || ctx.Err() != nil {
		return
	}
	if err := w.store.Trouble(ctx, t.watch.ID, text); err != nil {
		w.log.Error("trouble with a watch could not be told", "watch", t.watch.Name, "err", err)
		return
	}
	t.trouble = &text
}

func (w *Watcher) troubleOf(t *tracked) string {
	switch {
	case w.sensor == nil && t.watch.Poll == 0:
		return fmt.Sprintf("the system gives no file events (%v): its files are looked at every %v instead; "+
			"on Linux more instances help: sudo sysctl fs.inotify.max_user_instances=512", w.blind, longestSleep)
	case len(t.polled) > 0:
		return fmt.Sprintf("the system has no more file watches: some of its folders are looked at every %v instead; "+
			"on Linux raise the limit: sudo sysctl fs.inotify.max_user_watches=1048576", longestSleep)
	case t.unread != "":
		return t.unread
	case t.dropped > 0 && w.clock.Mono()-t.dropped < recentLoss:
		return "more changes came than the system keeps, and all its files were looked at again; " +
			"on Linux a longer queue helps: sudo sysctl fs.inotify.max_queued_events=131072"
	}
	return ""
}

// rest sleeps until something is due or has changed, at most half a minute.
func (w *Watcher) rest(ctx context.Context) {
	if w.stale {
		return
	}
	now := w.clock.Mono()
	until := now + longestSleep
	sooner := func(at time.Duration) {
		if at > 0 && at < until {
			until = at
		}
	}
	sooner(w.roots)
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
	timer := time.NewTimer(max(until-now, 0))
	defer timer.Stop()
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
