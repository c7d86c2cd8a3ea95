package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"hob/daemon/fail"
	"hob/daemon/sys"
)

// batch is the largest number of closures in one commit.
const batch = 256

// ErrClosed is returned for a write after Close.
var ErrClosed = errors.New("the database is closed")

// writer owns the only writing connection. Waiting closures share a commit, each in its own savepoint.
type writer struct {
	ctx     context.Context //nolint:containedctx // never ends: a transaction is not interrupted, and its caller waits for it
	db      *sql.DB
	session *session
	signals *signals
	counts  *counts
	now     func() time.Time
	log     *slog.Logger
	queue   chan *closure
	look    chan struct{} // a value: the files may have been deleted or replaced
	group   *sys.Group
	mu      sync.RWMutex
	closed  bool

	files     files
	derived   bool   // nothing is rescued, and its user logs what cannot be stored; see Options.Derived
	probe     string // a statement that writes one page and changes nothing
	condition condition
}

// closure is one write with its caller's channel.
type closure struct {
	f    func(*Conn) error
	then func() error // runs between this commit and the next transaction; nil: nothing
	done chan error
	err  error
}

// newWriter makes a writer that start must start. Its context has no end, because queued writes must finish during a shutdown.
func newWriter(ctx context.Context, db *sql.DB, d *DB, o Options) *writer {
	w := &writer{ctx: context.WithoutCancel(ctx), db: db, signals: &d.signals, counts: &d.counts, now: o.Now, log: o.Log, queue: make(chan *closure, batch), look: make(chan struct{}, 1), files: files{path: o.Path}, derived: o.Derived}
	w.group = sys.NewGroup(o.Log, nil)
	return w
}

// start takes the connection and starts the goroutine.
func (w *writer) start() error {
	conn, err := w.db.Conn(w.ctx)
	if err != nil {
		return fmt.Errorf("take the writing connection: %w", err)
	}
	w.session = newSession(conn, w.counts)
	var schema int
	if err := conn.QueryRowContext(w.ctx, "PRAGMA user_version").Scan(&schema); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	// Writing the same version again is a change that proves a working disk.
	w.probe = fmt.Sprintf("PRAGMA user_version = %d", schema)
	if err := w.files.moved(); err != nil {
		return err
	}
	w.group.Once("store writer", w.run)
	return nil
}

// stop serves the queue and closes the connection. Later writes get ErrClosed. The last connection copies the log into the database and removes
// it, so that the next start has no log to read.
func (w *writer) stop() error {
	// put holds the same mutex while it sends, so that nothing is sent on the closed channel.
	w.mu.Lock()
	w.closed = true
	close(w.queue)
	w.mu.Unlock()
	w.group.Wait()
	if w.session == nil {
		return w.db.Close()
	}
	return errors.Join(w.session.close(), w.db.Close())
}

// Write runs f inside a transaction and returns after the commit, even if ctx ends meanwhile. f may only use SQL. An error of f undoes only
// its own changes.
func (d *DB) Write(ctx context.Context, f func(*Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &closure{f: f, done: make(chan error, 1)}
	if err := d.write.put(c); err != nil {
		return err
	}
	return <-c.done
}

// Erase is a Write whose deleted content is overwritten with zeros (sqlite.org/pragma.html#pragma_secure_delete). After the commit it rewrites a database of up
// to 128 MB, because earlier changes may have left copies of a row in unused parts of pages, and empties the log. It waits for readers up to the busy timeout; if they take
// longer, the error says so, and the change is committed nevertheless.
func (d *DB) Erase(ctx context.Context, f func(*Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := d.write
	erase := func(tx *Conn) (err error) {
		if err := tx.Run("PRAGMA secure_delete = ON"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, tx.Run("PRAGMA secure_delete = OFF")) }()
		return f(tx)
	}
	c := &closure{f: erase, then: w.emptyLog, done: make(chan error, 1)}
	if err := w.put(c); err != nil {
		return err
	}
	return <-c.done
}

// rewritten is the largest database in bytes that Erase rewrites: nothing else is written for as long.
const rewritten = 128 << 20

// emptyLog rewrites a database that is not too large, copies the log into it and empties the log.
func (w *writer) emptyLog() error {
	if info, err := os.Stat(w.files.path); err == nil && info.Size() <= rewritten {
		if _, err := w.session.conn.ExecContext(w.ctx, "VACUUM"); err != nil {
			return fmt.Errorf("rewrite the database: %w", err)
		}
	}
	var busy, log, done int
	if err := w.session.conn.QueryRowContext(w.ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil {
		return fmt.Errorf("empty the log: %w", err)
	}
	if busy != 0 {
		return errBusyLog
	}
	return nil
}

// errBusyLog is the error of Erase when the log is still being read.
var errBusyLog = errors.New("the change is stored, but the log of the database could not be emptied yet: it is being read")

// put queues a closure for the writer.
func (w *writer) put(c *closure) error {
	if w == nil {
		return fullFault()
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return ErrClosed
	}
	w.queue <- c
	return nil
}

// idleGap is the quiet time after a commit before the log is copied into the database.
const idleGap = time.Second

// run serves closures. In the first quiet moment after a commit it copies the log into the database, so that no commit has to do it.
func (w *writer) run() error {
	idle := time.NewTimer(idleGap)
	defer idle.Stop()
	var retry <-chan time.Time // nil while commits work, so that a writer at rest does not wake
	for {
		if !w.condition.failing() {
			retry = nil
		} else if retry == nil {
			retry = time.After(retryEvery)
		}
		select {
		case first, ok := <-w.queue:
			if !ok {
				return nil
			}
			w.commit(w.gather(first))
			idle.Reset(idleGap)
		case <-idle.C:
			w.checkpoint()
		case <-retry:
			// An empty commit finds out whether the fault is over.
			retry = nil
			w.commit(nil)
		case <-w.look:
			// An empty commit reports the fault, or finds out that it is over.
			if w.condition.failing() || w.files.moved() != nil {
				w.commit(nil)
			}
		}
	}
}

// checkpoint copies the log without waiting for readers. Pages that they still need stay in the log until the next time.
func (w *writer) checkpoint() {
	fail.Point("checkpoint")
	if _, err := w.session.conn.ExecContext(w.ctx, "PRAGMA wal_checkpoint(PASSIVE)"); err != nil && !w.derived {
		w.log.Warn("checkpoint", "err", Plain(err))
	}
}

// gather collects the closures that are already waiting. One commit for all of them costs one flush to disk.
//
// It takes only what is there and never waits for more, so a single write is not delayed.
func (w *writer) gather(first *closure) []*closure {
	all := []*closure{first}
	for len(all) < batch {
		select {
		case c, ok := <-w.queue:
			if !ok {
				return all
			}
			all = append(all, c)
		default:
			return all
		}
	}
	return all
}

// commit runs a batch in one transaction, tells every caller the result, and sends the signals.
func (w *writer) commit(all []*closure) {
	// A commit into a file that was moved away would be lost.
	var wake Signal
	err := w.files.moved()
	if err == nil {
		wake, err = w.transact(all)
	}
	w.note(err)
	// The signals come first: a caller that waits for the next one is not woken by its own commit.
	if err == nil {
		w.signals.send(wake)
	}
	for _, c := range all {
		if c.then != nil && c.err == nil && err == nil {
			c.err = c.then()
		}
		c.done <- errors.Join(c.err, err)
	}
}

// transact runs the closures in one transaction. The error of a closure concerns only its caller; an error of the transaction concerns all.
func (w *writer) transact(all []*closure) (Signal, error) {
	tx := &Conn{on: w.session, ctx: w.ctx, Now: w.now()}
	if len(all) == 1 && !w.condition.failing() {
		err := w.alone(tx, all[0])
		return tx.wake, Plain(err)
	}
	// Several closures share the commit. A failing one is undone alone, to its savepoint.
	own, err := w.session.transact(w.ctx, func() (err error) {
		for _, c := range all {
			if c.err, err = w.inSavepoint(tx, c); err != nil {
				return err
			}
		}
		if w.condition.failing() { // a commit without a change would prove nothing
			return tx.Run(w.probe)
		}
		return nil
	})
	return tx.wake, Plain(errors.Join(own, err))
}

// alone runs a closure that shares its transaction with no other. It needs no savepoint: its error rolls the transaction back.
func (w *writer) alone(tx *Conn, c *closure) error {
	own, err := w.session.transact(w.ctx, func() error {
		return Plain(recovered(func() error { return c.f(tx) }))
	})
	if c.err = own; errors.Is(own, ErrStorage) {
		return errors.Join(own, err)
	}
	if own != nil {
		tx.wake = 0 // nothing has changed
	}
	return err
}

// inSavepoint runs one closure in its savepoint. own is the closure's error; err is an error that ends the whole batch.
func (w *writer) inSavepoint(tx *Conn, c *closure) (own, err error) {
	if err := tx.Run("SAVEPOINT one"); err != nil {
		return nil, err
	}
	before := tx.wake
	own = recovered(func() error { return c.f(tx) })
	if own != nil {
		if own = Plain(own); errors.Is(own, ErrStorage) { // SQLite may have rolled back the whole transaction
			return own, own
		}
		// The closure has changed nothing, so it wakes nobody.
		tx.wake = before
		if err := tx.Run("ROLLBACK TO one"); err != nil {
			return own, err
		}
	}
	return own, tx.Run("RELEASE one")
}

// recovered turns a panic into an error, so that one bad closure cannot end the writer.
func recovered(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", sys.ErrPanic, p)
		}
	}()
	return f()
}
