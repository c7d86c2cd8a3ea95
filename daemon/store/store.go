// Package store holds hob's tables. It records what happened and what is due, so that a crash at any moment loses nothing: an input is a
// row before its channel acknowledges it, and an answer is a row before the pump sends it.
//
// Each service of Store has one subject, and each of its methods is one transaction. Inside a transaction the unexported helpers of all
// files share the one Tx. Accepting a message, for example, writes the inbox row, its event and the question that it answers in one commit.
// A transaction ends with wake signals for the goroutines that wait for such rows.
//
// Rules over rows are CHECK and UNIQUE constraints first. Decisions are pure functions over rows that were read (Waiting.Next, BeginsAnew,
// AnsweredAsk, InstantReplies, QuietTimes.End, DelayRule, QuietUntil, CancelDelayUntil, DraftFacts.Decide, FireOutcome, AfterFailure). The database file itself is package
// sqlite. Only package daemon imports store.
package store

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/sys"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options configure a store.
type Options struct {
	Dir     string // the state folder; created if missing
	Version string // hob's version, for the boots table
	Clock   sys.Clock
	IDs     sys.IDs
	Zone    func() string          // the owner's zone as an IANA name, read at each use
	Owner   func() []event.Address // the owner's addresses, the first one first, read at each use
	Config  func() Config          // limits from the config, read at each use
	Paired  *PairedOwners          // filled by the store; nil: not needed elsewhere
	Log     *slog.Logger           // nil: no log

	Prepared func(query string) // see sqlite.Options; tests read the plans of all statements

	Lost    func(what string) error           // see sqlite.Options
	Upgrade func(sqlite.Upgrade) (end func()) // see sqlite.Options

	Sum func(path string) (string, error) // hashes a marked file, see Marks.Sum; nil: copies of marked files are not recognized
}

// log is the log for errors of the writer that no caller waits for.
func (o Options) log() *slog.Logger {
	return cmp.Or(o.Log, slog.New(slog.DiscardHandler))
}

// Config holds the limits that the store applies inside its transactions.
type Config struct {
	MaxAttempts  int           // attempts at a turn before it becomes a dead letter
	SafeAfter    int           // number of crashes within SafeWindow
	SafeWindow   time.Duration //
	PerDayMicros int64         // daily limit in money; below 0: none
	PerDayTokens int64         // daily limit in tokens, for models without a price; below 0: none

	Quiet       func(time.Time) time.Time // end of the owner's quiet hours at an instant, zero outside; nil: there are none
	CancelDelay time.Duration             // delay during which messages to others can be stopped
	Announce    bool                      // tell the owner about such messages
	Edits       func(event.Address) bool  // whether the channel of an address can edit sent messages; nil: none can
	Buttons     func(event.Address) bool  // whether the channel of an address shows buttons; nil: none does
	Named       func(event.Address) bool  // whether the section of its channel names an address; nil: it names none
}

// buttons reports whether the channel of an address shows buttons.
func (p Config) buttons(to event.Address) bool { return p.Buttons != nil && p.Buttons(to) }

// edits reports whether the channel of an address can edit sent messages.
func (p Config) edits(to event.Address) bool { return p.Edits != nil && p.Edits(to) }

// named reports whether the section of its channel names an address.
func (p Config) named(to event.Address) bool { return p.Named != nil && p.Named(to) }

// Store is the open database. Each field is a service for one subject. All are safe for concurrent use.
type Store struct {
	Inbox     Inbox
	Turns     Turns
	Commands  Commands
	Calls     Calls
	Grants    Grants
	Outbox    Outbox
	Artifacts Artifacts
	Jobs      Jobs
	Watches   Watches
	Webhooks  Webhooks
	Subagents Subagents
	Sessions  Sessions
	Settings  Settings
	Tasks     Tasks
	Pairings  Pairings
	Spending  Spending
	Events    Events
	Notices   Notices
	Backups   Backups

	core *core
}

type (
	// Inbox holds the inputs, and how far each source has been read.
	Inbox struct{ core *core }
	// Turns holds the turns with their items, steps and waits.
	Turns struct{ core *core }
	// Commands executes slash commands and those of the local API.
	Commands struct{ core *core }
	// Outbox holds the messages to send, and their deliveries.
	Outbox struct{ core *core }
	// Artifacts holds the rows of files: results and attachments.
	Artifacts struct{ core *core }
	// Spending holds reservations and the limits of a day.
	Spending struct{ core *core }
	// Events holds the event stream.
	Events struct{ core *core }
	// Backups makes copies of the database.
	Backups struct{ core *core }
)

// core is shared by all services.
type core struct {
	opt   Options
	db    *sqlite.DB
	epoch int64
	boot  Boot
	marks *Marks

	transcripts transcripts
	prompts     keptPrompts
}

// Tx is a transaction over hob's tables.
type Tx struct {
	*sqlite.Conn
	core *core
}

// Open opens the database, or creates it, and starts a new epoch. Its errors are those of sqlite.Open.
func Open(ctx context.Context, o Options) (*Store, error) {
	d, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(o.Dir, "hob.db"), Migrations: Migrations(), Lost: o.Lost, Upgrade: o.Upgrade, Prepared: o.Prepared, Now: o.Clock.Wall, Log: o.log()})
	if err != nil {
		return nil, err
	}
	c := &core{opt: o, db: d}
	s := &Store{
		Inbox: Inbox{c}, Turns: Turns{c}, Commands: Commands{c}, Calls: Calls{c}, Grants: Grants{c}, Settings: Settings{c}, Outbox: Outbox{c}, Artifacts: Artifacts{c}, Jobs: Jobs{c},
		Watches: Watches{c}, Webhooks: Webhooks{c}, Subagents: Subagents{c}, Sessions: Sessions{c}, Tasks: Tasks{c}, Pairings: Pairings{c, cmp.Or(o.Paired, &PairedOwners{})},
		Spending: Spending{c}, Events: Events{c}, Notices: Notices{c}, Backups: Backups{c}, core: c,
	}
	if err := c.begin(ctx); err != nil {
		return nil, errors.Join(sqlite.Plain(err), d.Close())
	}
	if c.marks, err = loadMarks(ctx, c); err != nil {
		return nil, errors.Join(sqlite.Plain(err), d.Close())
	}
	c.marks.Sum = o.Sum
	if err := s.Pairings.Load(ctx); err != nil {
		return nil, errors.Join(sqlite.Plain(err), d.Close())
	}
	return s, nil
}

// write runs f inside a transaction that several callers may share. It returns after the commit, even if ctx ends meanwhile. f may only use
// SQL, since it may run again.
func (s *core) write(ctx context.Context, f func(*Tx) error) error {
	return s.db.Write(ctx, func(tx *sqlite.Conn) error { return f(&Tx{tx, s}) })
}

// run is write for a single statement.
func (s *core) run(ctx context.Context, query string, args ...any) error {
	return s.write(ctx, func(tx *Tx) error { return tx.Run(query, args...) })
}

// view runs reads over one snapshot.
func (s *core) view(ctx context.Context, f func(*Tx) error) error {
	return s.db.View(ctx, func(tx *sqlite.Conn) error { return f(&Tx{tx, s}) })
}

// read returns the connections for reading, which do not wait for the writer.
func (s *core) read() *sqlite.Readers { return s.db.Reader() }

// now returns the wall time of the store's clock. Tests set that clock.
func (s *core) now() time.Time { return s.opt.Clock.Wall() }

// Reader returns the pool for View.
func (s *Store) Reader() *sqlite.Readers { return s.core.db.Reader() }

// Counts says what the database has done since Open.
func (s *Store) Counts() sqlite.Counts { return s.core.db.Counts() }

// Marks returns the files with foreign content. It is no service like the others, because it also keeps the table in memory.
func (s *Store) Marks() *Marks { return s.core.marks }

// Context returns the context items.
func (s *Store) Context() ContextItems { return ContextItems{s.core} }

// Boot describes this start, and how the one before ended.
func (s *Store) Boot() Boot { return s.core.boot }

// Epoch returns the number of this start.
func (s *Store) Epoch() int64 { return s.core.epoch }

// Write runs f inside a transaction, for callers without a method of their own.
func (s *Store) Write(ctx context.Context, f func(*Tx) error) error { return s.core.write(ctx, f) }

// Close marks the epoch as ended cleanly and closes the database. All writers must have ended.
func (s *Store) Close(ctx context.Context) error {
	// The mark is the last commit. Without it, the next start counts this epoch as a crash.
	err := s.core.run(ctx, "UPDATE boots SET clean = 1 WHERE epoch = ?", s.core.epoch)
	return errors.Join(err, s.core.db.Close())
}

// InboxSignal fires when the thread may have something to take.
func (s Turns) InboxSignal() <-chan struct{} { return s.core.db.Wait(sqlite.SignalInbox) }

// CommandsSignal fires when a command was accepted.
func (s Commands) CommandsSignal() <-chan struct{} { return s.core.db.Wait(sqlite.SignalCommands) }

// FilesSignal fires when a message that had files has arrived.
func (s Outbox) FilesSignal() <-chan struct{} { return s.core.db.Wait(sqlite.SignalFiles) }

// OutboxSignal fires when there is something new to send.
func (s Outbox) OutboxSignal() <-chan struct{} { return s.core.db.Wait(sqlite.SignalOutbox) }

// QuestionsSignal fires when a question was closed, or a message was sent that may be about a closed one.
func (s Outbox) QuestionsSignal() <-chan struct{} { return s.core.db.Wait(sqlite.SignalQuestions) }

// EventsSignal fires when events were added.
func (s Events) EventsSignal() <-chan struct{} { return s.core.db.Wait(sqlite.SignalEvents) }
