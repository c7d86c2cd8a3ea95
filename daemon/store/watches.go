package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/tools"
)

// Watches holds the file watches for the watcher. It is safe for concurrent use; each method is one transaction.
type Watches struct{ core *core }

var _ filewatch.Store = Watches{}

// scanWatch reads a row of triggerColumns.
func scanWatch(rs *sql.Rows) (filewatch.Watch, error) {
	return scanTrigger(rs, func(w *filewatch.Watch) *scheduler.Trigger { return &w.Trigger })
}

// AllWatches lists all watches by name.
func (s Watches) AllWatches(ctx context.Context) ([]filewatch.Watch, error) {
	rs, err := s.core.read().QueryContext(ctx, "SELECT "+triggerColumns+" FROM triggers WHERE kind = 'watch' AND removed = 0 ORDER BY name")
	return sqlite.Collect(rs, err, scanWatch)
}

// WatchNamed returns a live watch by its name or id.
func (s Watches) WatchNamed(ctx context.Context, name string) (filewatch.Watch, error) {
	rs, err := s.core.read().QueryContext(ctx, "SELECT "+triggerColumns+" FROM triggers WHERE kind = 'watch' AND removed = 0 AND (name = ?1 OR cast(id AS TEXT) = ?1) ORDER BY name = ?1 DESC LIMIT 1", name)
	list, err := sqlite.Collect(rs, err, scanWatch)
	return first(list, err, event.NewFault(event.Missing, "hob watch list shows them", "there is no watch %s", name))
}

// Progress returns the progress of the watches, by id.
func (s Watches) Progress(ctx context.Context) (map[int64]filewatch.Progress, error) {
	progress := map[int64]filewatch.Progress{}
	rs, err := s.core.read().QueryContext(ctx, `SELECT id, trouble, EXISTS (SELECT 1 FROM snapshots WHERE watch = id AND path = '.'), max(iif(hold > ?1, hold, 0), coalesce((SELECT max(i.not_before)
		FROM fires f JOIN inbox i ON i.fire = f.id WHERE f.trigger = t.id AND f.state = 'queued' AND i.state = 'queued' AND i.not_before > ?1), 0)) FROM triggers t WHERE kind = 'watch' AND removed = 0`, sqlite.Micros(s.core.now()))
	_, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (id int64, err error) {
		var l filewatch.Progress
		err = rs.Scan(&id, &l.Trouble, &l.Ready, sqlite.Stamp(&l.Held))
		progress[id] = l
		return id, err
	})
	return progress, err
}

// Watches lists the active watches.
func (s Watches) Watches(ctx context.Context) ([]filewatch.Watch, error) {
	rs, err := s.core.read().QueryContext(ctx, "SELECT "+triggerColumns+" FROM triggers WHERE kind = 'watch' AND removed = 0 AND paused = 0 AND broken = '' ORDER BY id")
	list, err := sqlite.Collect(rs, err, scanWatch)
	live := list[:0]
	for _, w := range list {
		if w.Broken == "" {
			live = append(live, w)
		}
	}
	return live, err
}

// Record applies changes of watches.
func (s Watches) Record(ctx context.Context, list ...tools.Change) error {
	return s.core.record(ctx, list)
}

// Snapshot returns what a watch last saw of each path, in the order of paths and without file contents.
func (s Watches) Snapshot(ctx context.Context, id int64) ([]filewatch.File, error) {
	rs, err := s.core.read().QueryContext(ctx, "SELECT path, dir, ino, size, mtime, hash, version, gone FROM snapshots WHERE watch = ? ORDER BY path", id)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (f filewatch.File, err error) {
		var ino int64
		err = rs.Scan(&f.Path, &f.Dir, &ino, &f.Size, &f.Mtime, &f.Hash, &f.Version, &f.Gone)
		f.Ino = uint64(ino) // #nosec G115 -- the reverse of the conversion when it was stored
		return f, err
	})
}

// Text returns the content of a small file as the watch last saw it; nil if it was not stored.
func (s Watches) Text(ctx context.Context, id int64, path string) ([]byte, error) {
	rs, err := s.core.read().QueryContext(ctx, "SELECT text FROM snapshots WHERE watch = ? AND path = ?", id, path)
	list, err := sqlite.Collect(rs, err, sqlite.Value[[]byte])
	return first(list, err, nil)
}

// Saw commits an observation: the rows of the snapshot, the fire and the inbox row. A known key updates only the snapshot. For a watch that
// was removed or paused meanwhile it commits nothing and returns filewatch.ErrStopped.
func (s Watches) Saw(ctx context.Context, seen filewatch.Seen) error {
	if err := snapshotBroken(ctx, s.core, seen); err != nil {
		return err
	}
	return s.core.write(ctx, func(tx *Tx) error {
		var live bool
		err := tx.One("SELECT EXISTS (SELECT 1 FROM triggers WHERE id = ? AND kind = 'watch' AND removed = 0 AND paused = 0 AND broken = '')", []any{seen.Watch.ID}, &live)
		if err == nil && !live {
			err = fmt.Errorf("watch %d: %w", seen.Watch.ID, filewatch.ErrStopped)
		}
		if err != nil {
			return err
		}
		if seen.In != nil {
			if err := fireWatch(tx, seen); err != nil {
				return err
			}
		}
		return putSnapshot(tx, seen.Watch.ID, seen.Files)
	})
}

// fireWatch writes the fire and the inbox row of an observation, unless they exist. While an earlier fire is held, the observation is added
// to that one.
//
// The snapshot is stored in the same commit: a change is either seen and queued, or seen again at the next look.
func fireWatch(tx *Tx, seen filewatch.Seen) error {
	held, err := readDelayedFire(tx, seen.Watch.ID)
	if err != nil {
		return err
	}
	until, busy, err := watchDelayedUntil(tx, seen.Watch.ID) // before this commit adds a fire
	if err != nil {
		return err
	}
	slot := scheduler.Slot{Key: seen.Key, Due: tx.Now, State: scheduler.StateQueued, Reason: heldFor(tx, until)}
	// A fire is waiting already: the observation gets a row for the history, and its text goes into the waiting input.
	if held.seq != 0 {
		slot.State, slot.Outcome, slot.Reason = scheduler.StateDone, scheduler.OutcomeCoalesced, fmt.Sprintf("told with #%d", held.fire)
	}
	fire, err := addFire(tx, seen.Watch.ID, slot)
	switch {
	// A known key: this observation has been committed before.
	case err != nil || fire == 0:
		return err
	case held.seq != 0:
		return held.add(tx, seen.In.Parts)
	}
	in := *seen.In
	in.Fire, in.NotBefore = fire, until
	if err := acceptFire(tx, in); err != nil || !busy {
		return err
	}
	return tellWatchBusy(tx, seen.Watch.Trigger)
}

// heldFor is the reason of a fire that waits after failures, or because there were many; "" if until is zero.
func heldFor(tx *Tx, until time.Time) string {
	if until.IsZero() {
		return ""
	}
	return "held for " + until.Sub(tx.Now).Round(time.Second).String()
}

// A watch that fires more often than maxWatchFires within watchBusyTime is held, because its own turns may be changing the files.
const (
	maxWatchFires = 30
	watchBusyTime = 10 * time.Minute
)

// watchDelayedUntil returns the time before which the next fire of a watch must not run: the end of ten minutes with thirty fires (busy), or
// of the pause after a failure; zero if there is none.
func watchDelayedUntil(tx *Tx, id int64) (until time.Time, busy bool, err error) {
	var begun time.Time
	err = tx.One(`SELECT coalesce((SELECT created FROM fires WHERE trigger = ?1 AND outcome <> 'coalesced' ORDER BY id DESC LIMIT 1 OFFSET ?2), 0), hold
		FROM triggers WHERE id = ?1`, []any{id, maxWatchFires - 1}, sqlite.Stamp(&begun), sqlite.Stamp(&until))
	if end := begun.Add(watchBusyTime); err == nil && !begun.IsZero() && end.After(tx.Now) && !begun.After(tx.Now) { // a future time comes from a wrong clock and is ignored
		busy = true
		if end.After(until) {
			until = end
		}
	}
	if !until.After(tx.Now) {
		until = time.Time{}
	}
	return until, busy, err
}

// tellWatchBusy tells the owner, once a day, that a watch is held.
func tellWatchBusy(tx *Tx, t scheduler.Trigger) error {
	text := fmt.Sprintf("Watch %s has fired %d times within 10 minutes, perhaps because its own turns change what it watches. What it sees from now on is told together, at the end of "+
		"that time. hob watch pause %s stops it.", t.Name, maxWatchFires, t.Name)
	return addNotice(tx, fmt.Sprintf("watch:%d:busy:%s", t.ID, tx.Now.UTC().Format(time.DateOnly)), t.ID, text)
}

// delayedFire is the inbox row of a watch that must wait. The zero value means none.
type delayedFire struct {
	seq, fire int64
	parts     []event.Part
}

// readDelayedFire reads the queued fire of a watch that waits for its time. New changes are added to it instead of a fire of their own.
func readDelayedFire(tx *Tx, id int64) (h delayedFire, err error) {
	err = tx.One(`SELECT i.seq, f.id, i.parts FROM fires f JOIN inbox i ON i.fire = f.id
		WHERE f.trigger = ? AND f.state = 'queued' AND i.state = 'queued' AND i.not_before > ? ORDER BY i.seq LIMIT 1`, []any{id, sqlite.Micros(tx.Now)}, &h.seq, &h.fire, sqlite.JSON(&h.parts))
	return h, ignoreNoRows(err)
}

// maxDelayedText limits the text of a held row, in bytes. The files themselves have the rest.
const maxDelayedText = 48 << 10

// delayedOverflow replaces the text that exceeds the limit.
const delayedOverflow = "More has changed since than is listed here: look at the files themselves."

// add appends an observation to a held row. The first part, the prompt, is the same in both and not repeated.
func (h delayedFire) add(tx *Tx, parts []event.Part) error {
	// The note about the overflow is added once; after it, nothing more.
	last := h.parts[len(h.parts)-1]
	switch more := parts[min(1, len(parts)):]; {
	case last.Text == delayedOverflow:
		return nil
	case len(event.TextOf(h.parts))+len(event.TextOf(more)) > maxDelayedText:
		h.parts = append(h.parts, event.Say(delayedOverflow)...)
	default:
		h.parts = append(h.parts, more...)
	}
	doc, err := sqlite.Doc(h.parts)
	if err != nil {
		return err
	}
	return tx.Run("UPDATE inbox SET parts = ? WHERE seq = ?", doc, h.seq)
}

// putSnapshot stores the rows of a snapshot and deletes those of removed files. Without a new text, the old text stays while the content is
// unchanged.
func putSnapshot(tx *Tx, id int64, files []filewatch.File) error {
	for _, f := range files {
		if f.Gone {
			if err := tx.Run("DELETE FROM snapshots WHERE watch = ? AND path = ?", id, f.Path); err != nil {
				return fmt.Errorf("drop the snapshot of %s: %w", f.Path, err)
			}
			continue
		}
		err := tx.Run(`INSERT INTO snapshots (watch, path, dir, ino, size, mtime, hash, version, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (watch, path) DO UPDATE SET dir = excluded.dir, ino = excluded.ino, size = excluded.size, mtime = excluded.mtime, hash = excluded.hash,
				version = excluded.version, text = iif(excluded.text IS NULL AND excluded.hash = hash, text, excluded.text), gone = 0`,
			id, f.Path, sqlite.Bit(f.Dir), int64(f.Ino), f.Size, f.Mtime, f.Hash, f.Version, f.Text) // #nosec G115 -- the reverse happens when it is read
		if err != nil {
			return fmt.Errorf("put the snapshot of %s: %w", f.Path, err)
		}
	}
	return nil
}

// Trouble records what a watch cannot see or sees late; "" clears it. The owner gets a notice of the same trouble once a day, and none of a link
// that is not followed.
func (s Watches) Trouble(ctx context.Context, id int64, text string) error {
	return s.core.write(ctx, func(tx *Tx) error {
		var name string
		err := tx.One("UPDATE triggers SET trouble = ? WHERE id = ? AND kind = 'watch' AND removed = 0 RETURNING name", []any{text, id}, &name)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // it was removed meanwhile
		}
		if err != nil || text == "" || strings.HasPrefix(text, filewatch.NotFollowed) {
			return err
		}
		// The key has the text's hash and the day: another trouble is told at once, the same one tomorrow.
		sum := sha256.Sum256([]byte(text))
		key := fmt.Sprintf("watch:%d:%s:%s", id, hex.EncodeToString(sum[:6]), tx.Now.UTC().Format(time.DateOnly))
		return addNotice(tx, key, id, fmt.Sprintf("Watch %s: %s", name, text))
	})
}
