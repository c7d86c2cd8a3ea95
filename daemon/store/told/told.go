// Package told holds what the owner was told is wrong and is not over yet, so that a restart does not tell it again. It works inside the
// transactions of package store. What is wrong, and when it is over, is the word of whoever tells it.
package told

import (
	"fmt"

	"hob/daemon/event"
	"hob/daemon/store/db"
	"hob/daemon/store/settings"
	"hob/daemon/sys"
)

// Tx is a transaction of the store, with the deed that is the store's own.
type Tx interface {
	// Rows is the transaction itself.
	Rows() *db.Tx
	// Tell queues a message, once for a key.
	Tell(key string, to event.Address, text string) error
}

// Notice is what the owner is told, and where.
type Notice struct {
	To   event.Address
	Text string // "": nothing is told
}

// Settle shows f what was told under a name ("": nothing), and keeps what f says has been told from now on together with the notice of it: a
// notice that is kept is sent, and one that is sent is kept. f is pure; it may be asked more than once.
func Settle(tx Tx, name string, f func(known string) (now string, n Notice, err error)) error {
	key := "told_" + name
	known, err := settings.Read(tx.Rows(), key)
	if err != nil {
		return fmt.Errorf("read what the owner was told: %w", err)
	}
	now, n, err := f(known)
	if err != nil {
		return err
	}
	if now != known {
		if err := settings.Put(tx.Rows(), key, now); err != nil {
			return fmt.Errorf("note what the owner is told: %w", err)
		}
	}
	if n.Text == "" {
		return nil
	}
	return tx.Tell(fmt.Sprintf("%s:%d:%s", name, db.Micros(tx.Rows().Now), sys.Digest(n.Text)), n.To, n.Text)
}
