package store

import (
	"context"
	"fmt"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/sys"
)

// Notice is what the owner is told, and where.
type Notice struct {
	To   event.Address
	Text string // "": nothing is told
}

// Notices are what the owner was told is wrong and is not over yet, so that a restart does not tell it again. What is wrong, and when it is over,
// the caller decides.
type Notices struct{ core *core }

// Settle shows f what was told under a name ("": nothing), and keeps what f says has been told from now on together with the notice of it: a
// notice that is kept is sent, and one that is sent is kept. f is pure; it may be asked more than once.
func (s Notices) Settle(ctx context.Context, name string, f func(known string) (now string, n Notice, err error)) error {
	return s.core.write(ctx, func(tx *Tx) error { return settleNotice(tx, name, f) })
}

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
