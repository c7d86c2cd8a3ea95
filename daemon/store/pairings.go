package store

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
	"hob/daemon/sqlite"
)

// Pairings are the attempts to become an owner by a code, and the accounts that did. It is safe for concurrent use; each method is one
// transaction.
type Pairings struct {
	core   *core
	owners *PairedOwners
}

// PairedOwners caches the paired addresses and hob's own accounts. The zero value has none. It is made before the store, which fills it, because
// parts that the store needs read it. It is safe for concurrent use.
type PairedOwners struct {
	loading  sync.Mutex // held from the read to the store: an older result must not replace a newer one and restore a revoked owner. Try and Row hold it too
	list     atomic.Pointer[pairedAddresses]
	accounts sync.Map // by channel; only channels that have reported their account since the start
}

// pairedAddresses are the addresses of valid pairings, and of those made with an account that hob no longer uses.
type pairedAddresses struct{ paired, lapsed []event.Address }

// account returns hob's account on a channel; unknown until the channel reports it.
func (o *PairedOwners) account(channel string) (id string, known bool) {
	v, known := o.accounts.Load(channel)
	id, _ = v.(string)
	return id, known
}

// lapsed reports whether a pairing was made with an account that hob no longer uses.
func (o *PairedOwners) lapsed(channel, account string) bool {
	now, known := o.account(channel)
	return known && account != "" && account != now
}

const (
	// pairingColumns are the columns that Pairings.scan reads. bound selects the pairings that hold.
	pairingColumns = "id, channel, tries, until, created, person, name, bound, revoked, account"
	bound          = "person <> '' AND revoked = 0"
)

// scan reads a pairing and derives its state at the given instant.
func (b Pairings) scan(now time.Time) func(rs *sql.Rows) (channels.PairingRow, error) {
	return func(rs *sql.Rows) (r channels.PairingRow, err error) {
		err = rs.Scan(&r.ID, &r.Channel, &r.Left, sqlite.Stamp(&r.Until), sqlite.Stamp(&r.Created), &r.Person, &r.Name, sqlite.Stamp(&r.Bound), sqlite.Stamp(&r.Revoked), &r.Account)
		if r.State = r.StateAt(now); r.State == channels.PairingBound && b.owners.lapsed(r.Channel, r.Account) {
			r.State = channels.PairingLapsed
		}
		return r, err
	}
}

// Load reads the paired addresses for Paired and FormerPairings.
func (b Pairings) Load(ctx context.Context) error {
	b.owners.loading.Lock()
	defer b.owners.loading.Unlock()
	return b.load(ctx)
}

// load is Load for a caller that holds the lock.
func (b Pairings) load(ctx context.Context) error {
	rs, err := b.core.read().QueryContext(ctx, "SELECT "+pairingColumns+" FROM pairings WHERE "+bound+" ORDER BY bound, id")
	rows, err := sqlite.Collect(rs, err, b.scan(time.Time{}))
	if err != nil {
		return fmt.Errorf("read who is paired: %w", err)
	}
	var list pairedAddresses
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

// SetAccount records hob's account on a channel, "" if unknown. Older pairings without an account adopt it. Pairings with another account stop
// counting; they are returned.
func (b Pairings) SetAccount(ctx context.Context, channel, account string) (lapsed []channels.PairingRow, err error) {
	if account != "" {
		err = b.core.run(ctx, "UPDATE pairings SET account = ? WHERE channel = ? AND account = '' AND "+bound, account, channel)
		if err != nil {
			return nil, err
		}
	}
	// The account is set before Load, which compares the pairings with it.
	b.owners.accounts.Store(channel, account)
	if err := b.Load(ctx); err != nil {
		return nil, err
	}
	rs, err := b.core.read().QueryContext(ctx, "SELECT "+pairingColumns+" FROM pairings WHERE channel = ? AND "+bound+" ORDER BY id", channel)
	rows, err := sqlite.Collect(rs, err, b.scan(time.Time{}))
	if err != nil {
		return nil, fmt.Errorf("read what has lapsed: %w", err)
	}
	return slices.DeleteFunc(rows, func(r channels.PairingRow) bool { return r.State != channels.PairingLapsed }), nil
}

// Paired lists the owner's addresses that came from pairings, the first one first. It reads only memory.
func (b Pairings) Paired() []event.Address { return b.owners.Paired() }

// Paired lists the owner's addresses that came from pairings, the first one first; none before the store has read them.
func (o *PairedOwners) Paired() []event.Address {
	if list := o.list.Load(); list != nil {
		return list.paired
	}
	return nil
}

// FormerPairings lists the addresses of pairings with a former account. It reads only memory.
func (b Pairings) FormerPairings() []event.Address {
	if list := b.owners.list.Load(); list != nil {
		return list.lapsed
	}
	return nil
}

// Begin stores a new pairing and closes an open one on the same channel.
func (b Pairings) Begin(ctx context.Context, p channels.Pairing) (id int64, err error) {
	err = b.core.write(ctx, func(tx *Tx) error {
		now := sqlite.Micros(tx.Now)
		// Only one code can be open on a channel.
		if err := tx.Run("UPDATE pairings SET tries = 0 WHERE channel = ? AND person = ''", p.Channel); err != nil {
			return err
		}
		id, err = tx.Insert("INSERT INTO pairings (channel, hash, tries, until, created) VALUES (?, ?, ?, ?, ?)", p.Channel, p.Hash, p.Tries, sqlite.Micros(p.Until), now)
		if err != nil {
			return err
		}
		return addEvent(tx, event.Event{Type: "pairing.begun", Data: map[string]any{"pairing": id, "channel": p.Channel}})
	})
	return id, err
}

// End closes an open pairing. A successful one stays; only Revoke ends it.
func (b Pairings) End(ctx context.Context, id int64) error {
	return b.core.write(ctx, func(tx *Tx) error {
		n, err := tx.Change("UPDATE pairings SET tries = 0 WHERE id = ? AND person = '' AND tries > 0", id)
		if err != nil || n == 0 {
			return err
		}
		return addEvent(tx, event.Event{Type: "pairing.ended", Data: map[string]any{"pairing": id}})
	})
}

// Try checks a message against the open pairing of its channel. The message with the correct code stays Bound when it is seen again, even
// after a revocation: a code is never treated as a message. A repeated delivery of a wrong code costs no second try.
func (b Pairings) Try(ctx context.Context, channel string, m channels.Message) (channels.Tried, error) {
	if matters, err := b.matters(ctx, channel, m.ID); err != nil || !matters {
		return channels.NoCode, err
	}
	// Row waits for the load: somebody who reads that a pairing is bound may send to its person.
	b.owners.loading.Lock()
	defer b.owners.loading.Unlock()
	tried := channels.NoCode
	account, _ := b.owners.account(channel)
	err := b.core.write(ctx, func(tx *Tx) (err error) {
		tried, err = tryCode(tx, channel, account, m)
		return err
	})
	// The new owner counts from the next message on: memory is read anew after the commit.
	if err != nil || tried != channels.Bound {
		return tried, err
	}
	return tried, b.load(ctx)
}

// matters asks the readers first whether the message could be a code, so that ordinary messages write nothing.
func (b Pairings) matters(ctx context.Context, channel, ext string) (yes bool, err error) {
	if err := b.core.read().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pairings WHERE channel = ?1 AND (person = '' AND tries > 0 OR ext_id = ?2 AND ext_id <> ''))", channel, ext).Scan(&yes); err != nil {
		return false, fmt.Errorf("look for a pairing: %w", err)
	}
	return yes, nil
}

// openPairing is a pairing that accepts a code, with the id of its last wrong message.
type openPairing struct {
	channels.Pairing
	last string
}

// scanOpenPairing reads a pairing with the hash of its code, which only tryCode needs.
func scanOpenPairing(rs *sql.Rows) (p openPairing, err error) {
	return p, rs.Scan(&p.Pairing.ID, &p.Pairing.Channel, &p.Pairing.Hash, &p.Pairing.Tries, sqlite.Stamp(&p.Pairing.Until), &p.last)
}

// tryCode tries a message as the code of the newest open pairing of a channel. A repeated message is counted once, so that a channel that
// delivers a message twice does not use up two tries.
//
// The tries are counted in the row, so a restart does not give a stranger new ones.
func tryCode(tx *Tx, channel, account string, m channels.Message) (channels.Tried, error) {
	var before int
	// The same message has bound a pairing before.
	if err := tx.One("SELECT count(*) FROM pairings WHERE channel = ? AND person <> '' AND ext_id = ? AND ext_id <> ''", []any{channel, m.ID}, &before); err != nil || before > 0 {
		return channels.Bound, err
	}
	rs, err := tx.Query("SELECT id, channel, hash, tries, until, ext_id FROM pairings WHERE channel = ? AND person = '' AND tries > 0 ORDER BY id DESC LIMIT 1", channel)
	list, err := sqlite.Collect(rs, err, scanOpenPairing)
	if err != nil || len(list) == 0 {
		return channels.NoCode, err
	}
	now := list[0]
	if !now.Pairing.Open(tx.Now) { // close it, so that later messages write nothing
		return channels.NoCode, tx.Run("UPDATE pairings SET tries = 0 WHERE id = ?", now.Pairing.ID)
	}
	if now.last != "" && now.last == m.ID {
		return channels.Wrong, nil
	}
	p, tried := now.Pairing.Try(m, tx.Now)
	switch tried {
	case channels.Wrong:
		return tried, wrongCode(tx, p, m)
	case channels.Bound:
		return tried, bindPairing(tx, p, account, m.ID)
	}
	return tried, nil
}

// wrongCode uses up one try.
func wrongCode(tx *Tx, p channels.Pairing, m channels.Message) error {
	if err := tx.Run("UPDATE pairings SET tries = ?, ext_id = ? WHERE id = ?", p.Tries, m.ID, p.ID); err != nil {
		return err
	}
	return addEvent(tx, event.Event{Type: "pairing.wrong", Data: map[string]any{"pairing": p.ID, "channel": p.Channel, "left": p.Tries, "person": m.From.ID, "name": m.From.Name}})
}

// bindPairing makes a person an owner, while hob keeps this account. An earlier pairing of the same person ends.
func bindPairing(tx *Tx, p channels.Pairing, account, ext string) error {
	now := sqlite.Micros(tx.Now)
	if err := tx.Run("UPDATE pairings SET revoked = ? WHERE channel = ? AND person = ? AND revoked = 0", now, p.Channel, p.Person); err != nil {
		return err
	}
	if err := tx.Run("UPDATE pairings SET person = ?, name = ?, ext_id = ?, bound = ?, account = ? WHERE id = ?", p.Person, p.Name, ext, now, account, p.ID); err != nil {
		return err
	}
	return addEvent(tx, event.Event{Type: "pairing.bound", Data: map[string]any{"pairing": p.ID, "channel": p.Channel, "person": p.Person, "name": p.Name}})
}

// IsOpen reports whether a channel has a pairing that accepts its code now.
func (b Pairings) IsOpen(ctx context.Context, now time.Time, channel string) (open bool, err error) {
	if err := b.core.read().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pairings WHERE channel = ? AND person = '' AND tries > 0 AND until > ?)", channel, sqlite.Micros(now)).Scan(&open); err != nil {
		return false, fmt.Errorf("look for an open pairing: %w", err)
	}
	return open, nil
}

// List returns the newest pairings, newest first. A limit of 0 means 50; an empty state means all.
func (b Pairings) List(ctx context.Context, now time.Time, state string, limit int) ([]channels.PairingRow, error) {
	if limit <= 0 {
		limit = 50
	}
	rs, err := b.core.read().QueryContext(ctx, "SELECT "+pairingColumns+" FROM pairings ORDER BY id DESC")
	all, err := sqlite.Collect(rs, err, b.scan(now))
	if err != nil {
		return nil, fmt.Errorf("list pairings: %w", err)
	}
	list := []channels.PairingRow{}
	// The state depends on the time and on hob's account, so it cannot be selected in SQL.
	for _, r := range all {
		if len(list) < limit && (state == "" || string(r.State) == state) {
			list = append(list, r)
		}
	}
	return list, nil
}

// Row returns one pairing; an event.Fault of the kind Missing if there is none.
func (b Pairings) Row(ctx context.Context, now time.Time, id int64) (channels.PairingRow, error) {
	b.owners.loading.Lock()
	defer b.owners.loading.Unlock()
	rs, err := b.core.read().QueryContext(ctx, "SELECT "+pairingColumns+" FROM pairings WHERE id = ?", id)
	list, err := sqlite.Collect(rs, err, b.scan(now))
	switch {
	case err != nil:
		return channels.PairingRow{}, fmt.Errorf("read a pairing: %w", err)
	case len(list) == 0:
		return channels.PairingRow{}, event.NewFault(event.Missing, "hob pairing list shows them", "there is no pairing %d", id)
	}
	return list[0], nil
}

// Revoke ends a pairing. Its person becomes a stranger, and its code is no longer accepted.
func (b Pairings) Revoke(ctx context.Context, id int64) error {
	err := b.core.write(ctx, func(tx *Tx) error {
		n, err := tx.Change("UPDATE pairings SET revoked = ?, tries = 0 WHERE id = ? AND revoked = 0", sqlite.Micros(tx.Now), id)
		switch {
		case err != nil:
			return err
		case n == 0:
			return event.NewFault(event.Clash, "hob pairing list shows them", "there is no pairing %d that could be revoked", id)
		}
		return addEvent(tx, event.Event{Type: "pairing.revoked", Data: map[string]any{"pairing": id}})
	})
	// Memory is read anew even after an error, so that it never grants more than the rows do.
	return errors.Join(err, b.Load(ctx))
}
