package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"hob/daemon/event"
	"hob/daemon/sys"
)

// LoginTime is how long hob listens for the browser after a terminal has begun a sign-in.
const LoginTime = 10 * time.Minute

// Login is a sign-in that a terminal waits for. It listens at RedirectAddress until it ends.
type Login struct {
	Loopback bool   // a browser on this machine completes the sign-in
	Note     string // what the owner must know before he opens the link

	over      chan struct{} // closed at the end
	once      sync.Once
	err       error
	listeners []net.Listener
	log       *slog.Logger
}

// Wait listens for the end of a sign-in that has begun, in place of an earlier one. title is the service, again the command that begins it.
func (s *SignIns) Wait(ctx context.Context, begun SignIn, title, again string, spawn *sys.Group, log *slog.Logger) *Login {
	s.End(again, event.NewFault(event.Clash, "go on with the newer one", "another sign-in was begun"))
	ctx = context.WithoutCancel(ctx)
	l := &Login{over: make(chan struct{}), log: log}
	s.mu.Lock()
	if s.logins == nil {
		s.logins = map[string]*Login{}
	}
	s.logins[again] = l
	s.mu.Unlock()
	notes := begun.Cautions()
	var err error
	if l.listeners, err = Listen(ctx, RedirectPort); err != nil {
		notes = append(notes, fmt.Sprintf("port %d cannot be used on this machine (%v): paste the address that the browser ends up at", RedirectPort, err))
	}
	l.Loopback, l.Note = err == nil, strings.Join(notes, ". ")
	Redirect{Path: RedirectPath, Log: title, Patience: time.Minute, Finish: s.Arrived}.Serve(ctx, spawn, l.listeners, l.over)
	spawn.Once("end the "+title+" sign-in", func() error {
		alarm := time.NewTimer(LoginTime)
		defer alarm.Stop()
		select {
		case <-l.over:
		case <-alarm.C:
			l.End(event.NewFault(event.Clash, "begin again with: "+again, "the sign-in took longer than %v", LoginTime))
		}
		return nil
	})
	return l
}

// login returns the newest login of a command; nil: there was none.
func (s *SignIns) login(again string) *Login {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins[again]
}

// End tells the terminal that waits for a sign-in, if there is one, how it has ended. again is the command that begins it.
func (s *SignIns) End(again string, err error) { s.login(again).End(err) }

// GiveUp stops to listen. The link stays good: its address can still be pasted in a private chat.
func (s *SignIns) GiveUp(again string) {
	s.End(again, event.NewFault(event.Clash, "begin again with: "+again, "the sign-in was given up"))
}

// Result blocks until the sign-in for which Wait listens is over.
func (s *SignIns) Result(ctx context.Context, again string) error {
	l := s.login(again)
	if l == nil {
		return event.NewFault(event.Clash, "begin one with: "+again, "no sign-in is under way")
	}
	select {
	case <-l.over:
		return l.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the sign-in: %w", context.Cause(ctx))
	}
}

// Close ends the logins that terminals wait for, because hob stops. Their links stay good.
func (s *SignIns) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.logins {
		l.End(event.NewFault(event.Unavailable, "paste the address into a private chat when hob runs again", "hob stops"))
	}
}

// End ends a login once, and says how. The port is free when it returns. A nil login has ended.
func (l *Login) End(err error) {
	if l == nil {
		return
	}
	l.once.Do(func() {
		l.err = err
		for _, one := range l.listeners {
			if err := one.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				l.log.Warn("the port of a sign-in stays open", "err", err)
			}
		}
		close(l.over)
	})
}
