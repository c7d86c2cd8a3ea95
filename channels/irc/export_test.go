package irc

import (
	"bufio"
	"net"
	"time"

	"hob/channels"
)

// Talk is a session on a connection, for whom the server is what a test makes it.
func (c *Channel) Talk(conn net.Conn, caps ...string) *Talk {
	s := &session{
		ch: c, conn: conn, caps: map[string]bool{}, isup: map[string]string{}, nick: "hob", people: newRoster(), batches: map[string]string{},
		done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	if conn != nil {
		s.in = bufio.NewScanner(conn)
	}
	for _, name := range caps {
		s.caps[name] = true
	}
	return &Talk{s}
}

// Talk is what tests see of a session.
type Talk struct{ s *session }

// Read takes a line in, and returns the message that it is.
func (t *Talk) Read(raw string) (channels.Message, bool) {
	l := parse(raw)
	t.s.note(l)
	return t.s.message(l)
}

// Hear takes a line in as a connection does, without answering it.
func (t *Talk) Hear(raw string) error { return t.s.handle(parse(raw)) }

// Behind is the nick under which an account is known to be now, "" for none.
func (t *Talk) Behind(account string) string {
	nick, _ := sender{t.s}.nickOf(account, fresh)
	return nick
}

// Limits of what is kept of what a server tells.
const (
	MaxPeople = maxPeople
	MaxTraits = maxTraits
)

// Traits is how much is known of what the server says of itself.
func (t *Talk) Traits() int { return len(t.s.isup) }

// Listen reads until the connection is at its end, and says why it is.
func (t *Talk) Listen() error {
	if err := t.s.listen(); err != nil {
		return err
	}
	return t.s.errEnded()
}

// Cut is a text in lines, for a source and a target.
func (t *Talk) Cut(source, target, text string) []string {
	t.s.prefix = source
	return t.CutNow(target, text)
}

// CutNow is Cut for the source that is known.
func (t *Talk) CutNow(target, text string) []string { return sender{t.s}.cut(target, text) }

// SASL are the lines that log in with a secret.
func SASL(secret string) []string { return saslLines(secret) }

// Waits are how long each of n lines waits that are sent at the given times.
func Waits(at ...time.Duration) []time.Duration {
	var now time.Duration
	b := bucket{now: func() time.Duration { return now }}
	var list []time.Duration
	for _, now = range at {
		list = append(list, b.take())
	}
	return list
}
