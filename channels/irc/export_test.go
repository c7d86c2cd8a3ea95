package irc

import (
	"bufio"
	"net"
	"time"

	"hob/channels"
)

// Talk is a session on a connection to a test's server.
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

// Talk gives tests access to a session.
type Talk struct{ s *session }

// Read processes a line, and returns its message.
func (t *Talk) Read(raw string) (channels.Message, bool) {
	l := parse(raw)
	t.s.note(l)
	return t.s.message(l)
}

// Hear processes a line like a connection does, without answering it.
func (t *Talk) Hear(raw string) error { return t.s.handle(parse(raw)) }

// Behind returns the known nick of an account, "" for none.
func (t *Talk) Behind(account string) string {
	nick, _ := sender{t.s}.nickOf(account, fresh)
	return nick
}

// Limits of the records about a server.
const (
	MaxPeople = maxPeople
	MaxTraits = maxTraits
)

// Traits returns the number of recorded features of the server.
func (t *Talk) Traits() int { return len(t.s.isup) }

// Listen reads until the connection ends, and returns the reason.
func (t *Talk) Listen() error {
	if err := t.s.listen(); err != nil {
		return err
	}
	return t.s.errEnded()
}

// Cut splits a text for a source and a target.
func (t *Talk) Cut(source, target, text string) []string {
	t.s.prefix = source
	return t.CutNow(target, text)
}

// CutNow is Cut for the known source.
func (t *Talk) CutNow(target, text string) []string { return sender{t.s}.splitLines(target, text) }

// SASL returns the lines of a log-in.
func SASL(secret string) []string { return saslLines(secret) }

// Waits returns the delays of n lines that are sent at the given times.
func Waits(at ...time.Duration) []time.Duration {
	var now time.Duration
	b := bucket{now: func() time.Duration { return now }}
	var list []time.Duration
	for _, now = range at {
		list = append(list, b.take())
	}
	return list
}
