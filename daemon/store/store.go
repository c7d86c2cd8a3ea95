// Package store is hob's tables: a type for each subject, one method for each transaction. It decides nothing: rules over
// rows stand in CHECK and UNIQUE constraints or in the pure packages. Only package daemon imports it.
package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"hob/daemon/event"
	"hob/daemon/store/db"
	"hob/daemon/store/family"
	"hob/daemon/store/lines"
	"hob/daemon/store/pairings"
	"hob/daemon/store/triggers"
	"hob/daemon/store/trust"
	"hob/daemon/sys"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options of a store.
type Options struct {
	Dir     string // the state folder; made when missing
	Version string // of hob, for the boots table
	Clock   sys.Clock
	IDs     sys.IDs
	Zone    func() string          // the owner's zone by IANA name, read at each use
	Owner   func() []event.Address // the owner's addresses, first one first, read at each use
	Policy  func() Policy          // limits from the config, read at each use
	Log     *slog.Logger           // nil: nowhere

	Lost func(what string) error // see db.Options
}

// log is where the writer tells what nobody waits for.
func (o Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// Policy holds the limits that the store applies inside its transactions.
type Policy struct {
	MaxAttempts  int           // claims of one turn before it is dead-lettered
	SafeAfter    int           // unclean ends within SafeWindow
	SafeWindow   time.Duration //
	PerDayMicros int64         // hard cap in money; below 0: none
	PerDayTokens int64         // hard cap in tokens where no price is known; below 0: none

	Quiet    func(time.Time) time.Time // when the owner's quiet hours that an instant falls into are over, zero when it falls into none; nil: he has none
	Hold     time.Duration             // how long what hob says to others can be stopped
	Announce bool                      // the owner is told of it meanwhile
	Edits    func(event.Address) bool  // whether the channel of an address can change what it has sent; nil: none can
	Buttons  func(event.Address) bool  // whether the channel of an address shows buttons; nil: none does
	Named    func(event.Address) bool  // whether the section of its channel names who is at an address; nil: nobody
}

func (p Policy) buttons(to event.Address) bool { return p.Buttons != nil && p.Buttons(to) }

func (p Policy) edits(to event.Address) bool { return p.Edits != nil && p.Edits(to) }

// rights are by what right addresses hear from hob now.
func (s *core) rights() lines.Rights {
	return lines.Rights{Owner: s.opt.Owner(), Named: s.opt.Policy().Named}
}

// Store is the open database, subject by subject. Its methods are safe for concurrent use; each is one transaction.
type Store struct {
	*core
	Inbox
	Turns
	Commands
	Outbox
	triggers.Desk
	Questions
	Spending
	Events
	Artifacts
	Boots
	Backups
	family.Kin               // sub-agents
	Pairings   pairings.Book // who has become an owner
}

// The subjects: each is a part of the same database.
type (
	// Inbox is what came in, and how far each source has been read.
	Inbox struct{ *core }
	// Turns is turns with their items, steps and waits.
	Turns struct{ *core }
	// Commands is what was asked for with a slash, and by the local API.
	Commands struct{ *core }
	// Outbox is what goes out, and its deliveries.
	Outbox struct{ *core }
	// Questions is questions, grants and the audit.
	Questions struct{ *core }
	// Spending is reservations and the caps of a day.
	Spending struct{ *core }
	// Events is the live view.
	Events struct{ *core }
	// Artifacts is the rows of shelved results.
	Artifacts struct{ *core }
	// Boots is epochs and safe mode.
	Boots struct{ *core }
	// Backups is copies of the database.
	Backups struct{ *core }
)

// core is what all subjects share.
type core struct {
	opt   Options
	db    *db.DB
	epoch int64
	boot  Boot
	marks *trust.Marks
}

// Tx is a transaction over hob's tables.
type Tx struct {
	*db.Tx
	core *core
}

// Open opens or makes the database and begins a new epoch. Its errors are those of db.Open.
func Open(ctx context.Context, o Options) (*Store, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	d, err := db.Open(ctx, db.Options{Path: filepath.Join(o.Dir, "hob.db"), Migrations: files, Backups: filepath.Join(o.Dir, "backups"), Lost: o.Lost, Now: o.Clock.Wall, Log: o.log()})
	if err != nil {
		return nil, err
	}
	c := &core{opt: o, db: d}
	s := &Store{c, Inbox{c}, Turns{c}, Commands{c}, Outbox{c}, c.desk(), Questions{c}, Spending{c}, Events{c}, Artifacts{c}, Boots{c}, Backups{c}, c.kin(), c.pairings()}
	if err := c.begin(ctx); err != nil {
		return nil, errors.Join(db.Plain(err), d.Close())
	}
	if c.marks, err = trust.Load(ctx, d.Reader()); err != nil {
		return nil, errors.Join(db.Plain(err), d.Close())
	}
	if err := s.Pairings.Load(ctx); err != nil {
		return nil, errors.Join(db.Plain(err), d.Close())
	}
	return s, nil
}

// Write runs f inside a transaction that it may share with others, and returns when that is committed, also when ctx ends
// meanwhile. f touches only SQL.
func (s *core) Write(ctx context.Context, f func(*Tx) error) error {
	return s.db.Write(ctx, func(tx *db.Tx) error { return f(&Tx{tx, s}) })
}

// view runs a closure of reads over one snapshot.
func (s *core) view(ctx context.Context, f func(*Tx) error) error {
	return s.db.View(ctx, func(tx *db.Tx) error { return f(&Tx{tx, s}) })
}

func (s *core) read() *db.Readers { return s.db.Reader() }

func (s *core) now() time.Time { return s.opt.Clock.Wall() }

// Reader is for the views of package view.
func (s *Store) Reader() *db.Readers { return s.db.Reader() }

// Marks are the files that count as foreign.
func (s *core) Marks() *trust.Marks { return s.marks }

// Epoch is the number of this start.
func (s *core) Epoch() int64 { return s.epoch }

// Close marks the epoch as cleanly ended and closes the database. All writers must have ended.
func (s *Store) Close(ctx context.Context) error {
	err := s.Write(ctx, func(tx *Tx) error {
		return tx.Run("UPDATE boots SET clean = 1 WHERE epoch = ?", s.epoch)
	})
	return errors.Join(err, s.db.Close())
}

// InboxBell rings when the thread may have something to take.
func (s Turns) InboxBell() <-chan struct{} { return s.db.Wait(db.BellInbox) }

// CommandsBell rings when a command was accepted.
func (s Commands) CommandsBell() <-chan struct{} { return s.db.Wait(db.BellCommands) }

// FilesBell rings when a message that had files has arrived.
func (s Outbox) FilesBell() <-chan struct{} { return s.db.Wait(db.BellFiles) }

// OutboxBell rings when there is something new to send.
func (s Outbox) OutboxBell() <-chan struct{} { return s.db.Wait(db.BellOutbox) }

// EventsBell rings when events were added.
func (s Events) EventsBell() <-chan struct{} { return s.db.Wait(db.BellEvents) }
