// Package pairings holds the rows of who has become an owner by typing a code, and of the attempts. It works inside the transactions of
// package store. What a message is, a code or not, is the word of package channels.
package pairings

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/store/db"
)

// Tx is a transaction of the store, with the deeds that are the store's own.
type Tx interface {
	// Rows is the transaction itself.
	Rows() *db.Tx
	// Note appends an event.
	Note(e event.Event) error
}

// Book reads and writes pairings. Its methods are safe for concurrent use; each is one transaction.
type Book struct {
	readers *db.Readers
	write   func(context.Context, func(Tx) error) error
	owners  *owners
}

// owners are those that were bound, as they were last read, and the accounts that hob has. The lock is held from the reading on, so that what
// was read first is not kept last: who was revoked must not come back.
type owners struct {
	sync.Mutex
	list     atomic.Pointer[addresses]
	accounts sync.Map // by channel, of those that have said which one it is since hob started
}

// addresses are those that pairings have bound: those that count, and those that hob has another account than for.
type addresses struct{ paired, lapsed []event.Address }

// account is the one that hob has on a channel; not known before the channel has said it.
func (o *owners) account(channel string) (id string, known bool) {
	v, known := o.accounts.Load(channel)
	id, _ = v.(string)
	return id, known
}

// lapsed reports whether a pairing was made with another account than hob has.
func (o *owners) lapsed(channel, account string) bool {
	now, known := o.account(channel)
	return known && account != "" && account != now
}

// New makes a book; write runs a transaction.
func New(readers *db.Readers, write func(context.Context, func(Tx) error) error) Book {
	return Book{readers, write, &owners{}}
}

const (
	columns = "id, channel, tries, until, created, person, name, bound, revoked, account"
	bound   = "person <> '' AND revoked = 0"
)

func (b Book) scan(now time.Time) func(rs *sql.Rows) (channels.PairingRow, error) {
	return func(rs *sql.Rows) (r channels.PairingRow, err error) {
		err = rs.Scan(&r.ID, &r.Channel, &r.Left, db.Stamp(&r.Until), db.Stamp(&r.Created), &r.Person, &r.Name, db.Stamp(&r.Bound), db.Stamp(&r.Revoked), &r.Account)
		if r.State = r.StateAt(now); r.State == channels.PairingBound && b.owners.lapsed(r.Channel, r.Account) {
			r.State = channels.PairingLapsed
		}
		return r, err
	}
}

// Load reads who is bound; Paired returns that from then on.
func (b Book) Load(ctx context.Context) error {
	b.owners.Lock()
	defer b.owners.Unlock()
	rs, err := b.readers.QueryContext(ctx, "SELECT "+columns+" FROM pairings WHERE "+bound+" ORDER BY bound, id")
	rows, err := db.Collect(rs, err, b.scan(time.Time{}))
	if err != nil {
		return fmt.Errorf("read who is paired: %w", err)
	}
	var list addresses
	for _, r := range rows {
		which := &list.paired
		if r.State == channels.PairingLapsed {
			which = &list.lapsed
		}
		*which = append(*which, event.Address(r.Channel+":"+r.Person))
	}
	b.owners.list.Store(&list)
	return nil
}

// Meet says which account hob has on a channel from now on, "" where that cannot be known. Pairings from before accounts were kept take it
// over. Those that were made with another one do not count from then on: they are returned.
func (b Book) Meet(ctx context.Context, channel, account string) (lapsed []channels.PairingRow, err error) {
	if account != "" {
		err = b.write(ctx, func(tx Tx) error {
			return tx.Rows().Run("UPDATE pairings SET account = ? WHERE channel = ? AND account = '' AND "+bound, account, channel)
		})
		if err != nil {
			return nil, err
		}
	}
	b.owners.accounts.Store(channel, account)
	if err := b.Load(ctx); err != nil {
		return nil, err
	}
	rs, err := b.readers.QueryContext(ctx, "SELECT "+columns+" FROM pairings WHERE channel = ? AND "+bound+" ORDER BY id", channel)
	rows, err := db.Collect(rs, err, b.scan(time.Time{}))
	if err != nil {
		return nil, fmt.Errorf("read what has lapsed: %w", err)
	}
	return slices.DeleteFunc(rows, func(r channels.PairingRow) bool { return r.State != channels.PairingLapsed }), nil
}

// Paired lists the owner's addresses that came of pairings, the first one first. It reads no database.
func (b Book) Paired() []event.Address {
	if list := b.owners.list.Load(); list != nil {
		return list.paired
	}
	return nil
}

// Lapsed lists the addresses of pairings that were made with another account than hob has now. It reads no database.
func (b Book) Lapsed() []event.Address {
	if list := b.owners.list.Load(); list != nil {
		return list.lapsed
	}
	return nil
}

// Begin stores a new pairing; one that was open on the same channel is over.
func (b Book) Begin(ctx context.Context, p channels.Pairing) (id int64, err error) {
	err = b.write(ctx, func(tx Tx) error {
		now := db.Micros(tx.Rows().Now)
		if err := tx.Rows().Run("UPDATE pairings SET tries = 0 WHERE channel = ? AND person = ''", p.Channel); err != nil {
			return err
		}
		id, err = tx.Rows().Insert("INSERT INTO pairings (channel, hash, tries, until, created) VALUES (?, ?, ?, ?, ?)", p.Channel, p.Hash, p.Tries, db.Micros(p.Until), now)
		if err != nil {
			return err
		}
		return tx.Note(event.Event{Type: "pairing.begun", Data: map[string]any{"pairing": id, "channel": p.Channel}})
	})
	return id, err
}

// End closes a pairing that is still open. One that has bound somebody stays: only Revoke undoes that.
func (b Book) End(ctx context.Context, id int64) error {
	return b.write(ctx, func(tx Tx) error {
		n, err := tx.Rows().Change("UPDATE pairings SET tries = 0 WHERE id = ? AND person = '' AND tries > 0", id)
		if err != nil || n == 0 {
			return err
		}
		return tx.Note(event.Event{Type: "pairing.ended", Data: map[string]any{"pairing": id}})
	})
}

// Try shows a message to the pairing that is open on a channel. The message that bound somebody is Bound again, also when that was
// revoked meanwhile: a code is never a message. A wrong code that comes again costs no second try.
func (b Book) Try(ctx context.Context, channel string, m channels.Message) (channels.Tried, error) {
	if matters, err := b.matters(ctx, channel, m.ID); err != nil || !matters {
		return channels.NoCode, err
	}
	tried := channels.NoCode
	account, _ := b.owners.account(channel)
	err := b.write(ctx, func(tx Tx) (err error) {
		tried, err = try(tx, channel, account, m)
		return err
	})
	if err != nil || tried != channels.Bound {
		return tried, err
	}
	return tried, b.Load(ctx)
}

// matters asks the readers first whether a message could be a code, so that ordinary messages write nothing.
func (b Book) matters(ctx context.Context, channel, ext string) (yes bool, err error) {
	err = b.readers.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pairings WHERE channel = ?1 AND (person = '' AND tries > 0 OR ext_id = ?2 AND ext_id <> ''))", channel, ext).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("look for a pairing: %w", err)
	}
	return yes, nil
}

// open is the pairing that may take a code, and the message that last had a wrong one.
type open struct {
	channels.Pairing
	last string
}

func scanOpen(rs *sql.Rows) (p open, err error) {
	return p, rs.Scan(&p.ID, &p.Channel, &p.Hash, &p.Tries, db.Stamp(&p.Until), &p.last)
}

func try(tx Tx, channel, account string, m channels.Message) (channels.Tried, error) {
	var before int
	if err := tx.Rows().One("SELECT count(*) FROM pairings WHERE channel = ? AND person <> '' AND ext_id = ? AND ext_id <> ''", []any{channel, m.ID}, &before); err != nil || before > 0 {
		return channels.Bound, err
	}
	rs, err := tx.Rows().Query("SELECT id, channel, hash, tries, until, ext_id FROM pairings WHERE channel = ? AND person = '' AND tries > 0 ORDER BY id DESC LIMIT 1", channel)
	list, err := db.Collect(rs, err, scanOpen)
	if err != nil || len(list) == 0 {
		return channels.NoCode, err
	}
	now := list[0]
	if !now.Open(tx.Rows().Now) { // from here on messages write nothing any more
		return channels.NoCode, tx.Rows().Run("UPDATE pairings SET tries = 0 WHERE id = ?", now.ID)
	}
	if now.last != "" && now.last == m.ID {
		return channels.Wrong, nil
	}
	p, tried := now.Try(m, tx.Rows().Now)
	switch tried {
	case channels.Wrong:
		return tried, wrong(tx, p, m)
	case channels.Bound:
		return tried, bind(tx, p, account, m.ID)
	default:
		return tried, nil
	}
}

// wrong takes a try away.
func wrong(tx Tx, p channels.Pairing, m channels.Message) error {
	if err := tx.Rows().Run("UPDATE pairings SET tries = ?, ext_id = ? WHERE id = ?", p.Tries, m.ID, p.ID); err != nil {
		return err
	}
	return tx.Note(event.Event{Type: "pairing.wrong", Data: map[string]any{"pairing": p.ID, "channel": p.Channel, "left": p.Tries, "person": m.From.ID, "name": m.From.Name}})
}

// bind makes somebody an owner, for as long as hob has that account. A pairing that had bound the same person before is over.
func bind(tx Tx, p channels.Pairing, account, ext string) error {
	now := db.Micros(tx.Rows().Now)
	if err := tx.Rows().Run("UPDATE pairings SET revoked = ? WHERE channel = ? AND person = ? AND revoked = 0", now, p.Channel, p.Person); err != nil {
		return err
	}
	if err := tx.Rows().Run("UPDATE pairings SET person = ?, name = ?, ext_id = ?, bound = ?, account = ? WHERE id = ?", p.Person, p.Name, ext, now, account, p.ID); err != nil {
		return err
	}
	return tx.Note(event.Event{Type: "pairing.bound", Data: map[string]any{"pairing": p.ID, "channel": p.Channel, "person": p.Person, "name": p.Name}})
}

// IsOpen reports whether a channel has a pairing that takes its code at a moment.
func (b Book) IsOpen(ctx context.Context, now time.Time, channel string) (open bool, err error) {
	err = b.readers.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pairings WHERE channel = ? AND person = '' AND tries > 0 AND until > ?)", channel, db.Micros(now)).Scan(&open)
	if err != nil {
		return false, fmt.Errorf("look for an open pairing: %w", err)
	}
	return open, nil
}

// List returns the newest pairings, newest first. limit 0 is 50; state "" is all.
func (b Book) List(ctx context.Context, now time.Time, state string, limit int) ([]channels.PairingRow, error) {
	if limit <= 0 {
		limit = 50
	}
	rs, err := b.readers.QueryContext(ctx, "SELECT "+columns+" FROM pairings ORDER BY id DESC")
	all, err := db.Collect(rs, err, b.scan(now))
	if err != nil {
		return nil, fmt.Errorf("list pairings: %w", err)
	}
	list := []channels.PairingRow{}
	for _, r := range all {
		if len(list) < limit && (state == "" || string(r.State) == state) {
			list = append(list, r)
		}
	}
	return list, nil
}

// Row is one pairing. The error is an event.Fault of the kind Missing when there is none.
func (b Book) Row(ctx context.Context, now time.Time, id int64) (channels.PairingRow, error) {
	rs, err := b.readers.QueryContext(ctx, "SELECT "+columns+" FROM pairings WHERE id = ?", id)
	list, err := db.Collect(rs, err, b.scan(now))
	switch {
	case err != nil:
		return channels.PairingRow{}, fmt.Errorf("read a pairing: %w", err)
	case len(list) == 0:
		return channels.PairingRow{}, event.NewFault(event.Missing, "hob pairing list shows them", "there is no pairing %d", id)
	}
	return list[0], nil
}

// Revoke ends a pairing: who was bound by it is a stranger from then on, and its code is taken no more.
func (b Book) Revoke(ctx context.Context, id int64) error {
	err := b.write(ctx, func(tx Tx) error {
		n, err := tx.Rows().Change("UPDATE pairings SET revoked = ?, tries = 0 WHERE id = ? AND revoked = 0", db.Micros(tx.Rows().Now), id)
		switch {
		case err != nil:
			return err
		case n == 0:
			return event.NewFault(event.Clash, "hob pairing list shows them", "there is no pairing %d that could be revoked", id)
		}
		return tx.Note(event.Event{Type: "pairing.revoked", Data: map[string]any{"pairing": id}})
	})
	return errors.Join(err, b.Load(ctx))
}
