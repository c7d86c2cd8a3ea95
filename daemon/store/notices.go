package store

import (
	"context"
	"fmt"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/sys"
)

// Notice is a message about a problem, and its recipient.
type Notice struct {
	To   event.Address
	Text string // "": no message
}

// Notices stores the problems that the owner was told about, so that a restart does not repeat the notices. The caller decides when a
// problem begins and ends.
type Notices struct{ core *core }

// Settle calls f with the text stored under a name ("": none), and commits the new text together with the notice that f returns. f must be
// pure; it may be called more than once.
func (s Notices) Settle(ctx context.Context, name string, f func(known string) (now string, n Notice, err error)) error {
	return s.core.write(ctx, func(tx *Tx) error { return settleNotice(tx, name, f) })
}

// settleNotice tells the owner about a state once per change. f gets the stored text and returns the new one, with a notice. Both are
// committed with the message.
func settleNotice(tx *Tx, name string, f func(known string) (now string, n Notice, err error)) error {
	key := "told_" + name
	known, err := readSetting(tx, key)
	if err != nil {
		return fmt.Errorf("read what the owner was told: %w", err)
	}
	now, n, err := f(known)
	if err != nil {
		return err
	}
	if now != known {
		if err := putSetting(tx, key, now); err != nil {
			return fmt.Errorf("note what the owner is told: %w", err)
		}
	}
	if n.Text == "" {
		return nil
	}
	return tx.Tell(fmt.Sprintf("%s:%d:%s", name, sqlite.Micros(tx.Now), sys.Digest(n.Text)), n.To, n.Text)
}
