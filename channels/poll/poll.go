// Package poll is the part of receiving that all adapters share: reading the stored cursor, committing messages together with the next
// one, telling the owner of a gap, and the loop around one attempt. It knows no platform. An adapter brings its own position, and says
// how messages become channels.Message.
//
// The order is the same everywhere: Run calls the adapter, which opens its Source, reads from the platform, and commits. What was read
// and not committed when Run ends is read again in the next Run, because the position moves only with a commit.
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

// maxCommit is how many messages one transaction takes.
const maxCommit = 500

// Run makes one attempt to receive. An error that comes because ctx has ended is none. After any other error the idle connections of web
// are closed, so that the next attempt does not use one that may be dead, and explain adds what to do about a refusal.
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

// Rounds calls round until ctx ends or it fails. A server that answers at once without anything new (moved is false) is asked once a
// second at most.
func Rounds(ctx context.Context, c sys.Clock, round func(context.Context) (moved bool, err error)) error {
	for ctx.Err() == nil {
		began := c.Mono()
		moved, err := round(ctx)
		if err != nil {
			return err
		}
		if !moved && c.Mono()-began < time.Second {
			channels.Pause(ctx, time.Second)
		}
	}
	return nil
}

// Account identifies a cursor: the channel that has it, and the account on the platform that it is valid for.
type Account struct {
	Channel  string // the section's name
	Identity string // changes when the platform would count differently: another account, another server
	Log      *slog.Logger
}

// Source is how far one account was read. P is the adapter's position; it is stored as JSON. A Source belongs to one Run and is not safe
// for concurrent use.
type Source[P any] struct {
	Pos     P    // how far it was read; it may be newer than what is stored by what is no message
	Resumed bool // a position was stored before

	account Account
	in      channels.Inbox
	heard   func(P) time.Time
	saved   time.Time // heard of the position that is stored
}

// Open reads the stored position, the zero P when there is none. heard says of a position when the platform was last heard. A position
// that cannot be read is passed over with a warning: the source then begins anew.
func Open[P any](ctx context.Context, in channels.Inbox, a Account, heard func(P) time.Time) (*Source[P], error) {
	s := &Source[P]{account: a, in: in, heard: heard}
	value, err := in.Cursor(ctx, a.Channel, a.Identity)
	if err != nil {
		return nil, fmt.Errorf("read the cursor: %w", err)
	}
	if value != "" {
		var stored P
		if err := json.Unmarshal([]byte(value), &stored); err != nil {
			a.Log.Warn("cursor cannot be read, starting anew", "channel", a.Channel, "cursor", value)
		} else {
			s.Pos, s.Resumed = stored, true
		}
	}
	s.saved = heard(s.Pos)
	return s, nil
}

// Commit stores messages together with the position after them. Only then does the position move. Long lists are stored in pieces, of
// which only the last moves it: after a failure the platform, or the adapter, offers all of them again, and those that are stored are
// known by their ids.
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

// Due reports whether a position with nothing new in it is to be stored nevertheless, as a proof that the channel was connected until
// then. It is also due when the clock was set back.
func (s *Source[P]) Due(heard time.Time) bool {
	since := heard.Sub(s.saved)
	return since < 0 || since >= channels.ProofEvery
}

// Gap tells the owner that messages may be missing.
func (s *Source[P]) Gap(ctx context.Context, from, to time.Time, why string) error {
	if err := s.in.Gap(ctx, from, to, why); err != nil {
		return fmt.Errorf("tell of a gap: %w", err)
	}
	return nil
}
