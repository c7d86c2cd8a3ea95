// Package poll is the part of receiving that adapters share: reading the stored cursor, committing messages
// together with the next cursor, reporting gaps, and the loop around one attempt. It knows no platform. An
// adapter brings its own position and converts messages to channels.Message.
//
// The order is the same everywhere: Run calls the adapter, which opens its Source, reads from the platform,
// and commits. The position moves only with a commit. What was read but not committed when Run ends is read
// again in the next Run.
package poll

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"hob/channels"
	"hob/daemon/sys"
)

// maxCommit is the largest number of messages in one transaction.
const maxCommit = 500

// Run makes one attempt to receive. The error of a cancelled ctx is dropped. After any other error the idle
// connections of web are closed, so that the next attempt does not use a dead one. explain adds advice to a
// refusal.
func Run(ctx context.Context, web *http.Client, receive func(context.Context) error, explain func(error) error) error {
	err := receive(ctx)
	if ctx.Err() != nil || err == nil {
		return nil
	}
	if web != nil {
		web.CloseIdleConnections()
	}
	if explain == nil {
		return err
	}
	return explain(err)
}

// Rounds calls round until ctx ends or round fails. A server that answers at once with nothing new (moved is
// false) is asked at most once a second.
func Rounds(ctx context.Context, c sys.Clock, round func(context.Context) (moved bool, err error)) error {
	for ctx.Err() == nil {
		began := c.Mono()
		moved, err := round(ctx)
		if err != nil {
			return err
		}
		if !moved && c.Mono()-began < time.Second {
			sys.Sleep(ctx, time.Second)
		}
	}
	return nil
}

// Account identifies a cursor: the channel that owns it, and the account on the platform for which it is
// valid.
type Account struct {
	Channel  string // the section's name
	Identity string // changes if the platform would count differently: another account, another server
	Log      *slog.Logger
}

// Source is the reading position in one account. P is the adapter's position, stored as JSON. A Source
// belongs to one Run and is not safe for concurrent use.
type Source[P any] struct {
	Pos     P    // current position; it may be newer than the stored one, but only by entries that are not messages
	Resumed bool // a stored position was found

	account Account
	in      channels.Inbox
	heard   func(P) time.Time
	saved   time.Time // heard of the stored position
}

// Open reads the stored position, or the zero P. heard returns when the platform was last heard at a
// position. A malformed position is skipped with a warning: the source then starts without one.
func Open[P any](ctx context.Context, in channels.Inbox, a Account, heard func(P) time.Time) (*Source[P], error) {
	s := &Source[P]{account: a, in: in, heard: heard}
	value, err := in.Cursor(ctx, a.Channel, a.Identity)
	if err != nil {
		return nil, fmt.Errorf("read the cursor: %w", err)
	}
	if value != "" {
		var stored P
		if err := json.Unmarshal([]byte(value), &stored); err != nil {
			a.Log.Warn("cursor cannot be read, starting without one", "channel", a.Channel, "cursor", value)
		} else {
			s.Pos, s.Resumed = stored, true
		}
	}
	s.saved = heard(s.Pos)
	return s, nil
}

// Commit stores messages together with the position after them; only then does the position move. A long list
// is stored in several transactions, of which the last one moves the position. After a failure in between,
// all messages are read again, and the stored ones are recognised by their ids.
func (s *Source[P]) Commit(ctx context.Context, list []channels.Message, next P) error {
	value, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("write the cursor: %w", err)
	}
	for ; len(list) > maxCommit; list = list[maxCommit:] {
		if err := s.in.Receive(ctx, list[:maxCommit], nil); err != nil {
			return fmt.Errorf("commit %d messages: %w", maxCommit, err)
		}
	}
	cursor := channels.Cursor{Source: s.account.Channel, Identity: s.account.Identity, Value: string(value)}
	if err := s.in.Receive(ctx, list, &cursor); err != nil {
		return fmt.Errorf("commit %d messages: %w", len(list), err)
	}
	s.Pos, s.saved = next, s.heard(next)
	return nil
}

// Due reports whether a position without news must be stored as a proof that the channel was connected until
// then. It is also due if the clock was set back.
func (s *Source[P]) Due(heard time.Time) bool {
	since := heard.Sub(s.saved)
	return since < 0 || since >= channels.ProofEvery
}

// Gap notifies the owner that messages may be missing.
func (s *Source[P]) Gap(ctx context.Context, from, to time.Time, why string) error {
	if err := s.in.Gap(ctx, from, to, why); err != nil {
		return fmt.Errorf("report a gap: %w", err)
	}
	return nil
}
