package irc

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/channels/wire"
	"hob/daemon/text"
)

// Timeouts of a connection. It counts as dead if nothing arrived for deadAfter, because a ping was not
// answered.
const (
	dialTime   = 20 * time.Second
	writeTime  = 10 * time.Second
	pingEvery  = 20 * time.Second
	deadAfter  = 45 * time.Second
	answerTime = 30 * time.Second // for one exchange
	quitTime   = 3 * time.Second  // for the server to free the nick
)

// Sizes: of a received line (8,191 bytes of tags and 512 more, IRCv3 message-tags), and of the queue before a
// commit.
const (
	maxLine  = 16 << 10
	maxQueue = 10_000

	maxTraits = 500 // features that a server may announce; usually about fifty
)

// session is one connection, registered or not yet.
type session struct {
	ch   *Channel
	conn net.Conn
	in   *bufio.Scanner
	caps map[string]bool // active capabilities
	isup map[string]string
	turn chan struct{} // held during an exchange, so that there is one at a time
	done chan struct{} // closed when the connection ends
	wake chan struct{} // wake signal: something can be committed
	flow bucket

	writing sync.Mutex
	// mu protects the fields below.
	mu      sync.Mutex
	nick    string
	prefix  string // nick!user@host as others see it; "" if unknown
	people  roster
	batches map[string]string // open batches and their types
	due     received
	asked   *exchange
	count   int           // counts exchanges, and messages without an id
	skew    time.Duration // how far the server's clock is ahead
	err     error         // why done is closed
}

// received holds what was received and not yet committed.
type received struct {
	list  []channels.Message
	gaps  []string  // gaps to report to the owner
	until time.Time // the server's time of its last line: until then, due is complete
}

// exchange collects the lines between hob's own lines and the answer to the ping after them.
type exchange struct {
	token string
	lines []line
	ended chan struct{}
}

// dial connects.
func (c *Channel) dial(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTime, fmt.Errorf("no connection within %s", dialTime))
	defer cancel()
	conn, err := c.connect(ctx, "tcp", c.cfg.Server)
	if err == nil && !c.cfg.Plain {
		conn, err = c.secure(ctx, conn)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.cfg.Server, err)
	}
	s := &session{
		ch: c, conn: conn, in: bufio.NewScanner(conn), caps: map[string]bool{}, isup: map[string]string{}, turn: make(chan struct{}, 1),
		done: make(chan struct{}), wake: make(chan struct{}, 1), flow: bucket{now: c.clock.Mono}, nick: c.cfg.Nick, people: newRoster(),
		batches: map[string]string{},
	}
	// A longer line ends the connection; the protocol allows no such line.
	s.in.Buffer(make([]byte, 0, 4<<10), maxLine)
	return s, nil
}

// secure starts TLS on a connection, and closes it if that fails.
func (c *Channel) secure(ctx context.Context, plain net.Conn) (net.Conn, error) {
	pairs, err := c.cfg.keyPair()
	if err != nil {
		return nil, errors.Join(err, plain.Close())
	}
	cfg := wire.TLS(c.host, c.cfg.Fingerprint)
	cfg.Certificates = pairs
	conn := tls.Client(plain, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = plain.Close()               // the connection cannot be used
		var other tls.RecordHeaderError // it speaks, and not TLS
		if ctx.Err() == nil && !errors.As(err, &other) {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		return nil, fmt.Errorf("TLS: %w (a server without TLS needs plain = true)", err)
	}
	return conn, nil
}

// read waits for the next line.
func (s *session) read() (line, error) {
	if err := s.conn.SetReadDeadline(time.Now().Add(deadAfter)); err != nil {
		return line{}, fmt.Errorf("read: %w", err)
	}
	if !s.in.Scan() {
		err := s.in.Err()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return line{}, fmt.Errorf("nothing heard from %s for %s, the connection is dead", s.ch.cfg.Server, deadAfter)
		}
		if err == nil {
			err = errors.New("the server has ended the connection")
		}
		return line{}, fmt.Errorf("read: %w", err)
	}
	return parse(text.Declared("", false, s.in.Bytes())), nil // old clients send the encoding of their system
}

// write sends lines in one piece.
func (s *session) write(lines ...string) error {
	var text strings.Builder
	for _, l := range lines {
		if strings.ContainsAny(l, "\r\n\x00") {
			return fmt.Errorf("write: %q is more than one line", l)
		}
		text.WriteString(l + "\r\n")
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if _, err := s.conn.Write([]byte(text.String())); err != nil {
		_ = s.conn.Close() // half a line may have been sent, so nothing can follow
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// listen reads until the connection ends.
func (s *session) listen() error {
	defer close(s.done)
	for {
		l, err := s.read()
		if err == nil {
			err = s.handle(l)
		}
		if err != nil {
			s.mu.Lock()
			if s.err == nil {
				s.err = err
			}
			s.mu.Unlock()
			return nil // Run and the exchange find the error in s.err
		}
	}
}

// handle processes a line: it answers pings, updates the records, and queues messages for the next commit.
func (s *session) handle(l line) error {
	switch l.command {
	case "PING":
		return s.write("PONG :" + l.last())
	case "ERROR":
		return fatal(l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Lines of the history must not change what is known about the present.
	old := isOld(l, s.batches)
	// The server's clock dates messages, so positions and gaps use it.
	if at := l.at(); !old && !at.IsZero() {
		s.skew = at.Sub(s.ch.clock.Wall())
	}
	s.due.until = s.ch.clock.Wall().Add(s.skew)
	if !old || l.command == "BATCH" { // old lines say nothing about the present
		s.note(l)
	}
	if x := s.asked; x != nil {
		if l.command == "PONG" && l.last() == x.token {
			s.asked = nil
			close(x.ended)
			return nil
		}
		if len(x.lines) < maxQueue {
			x.lines = append(x.lines, l)
		}
	}
	if old {
		return nil
	}
	if m, ok := s.message(l); ok {
		// The inbox is too slow or fails: the connection ends, and the history is read later.
		if len(s.due.list) >= maxQueue {
			return fmt.Errorf("%d messages wait to be stored: no more are taken", maxQueue)
		}
		s.due.list = append(s.due.list, m)
		s.wakes()
	}
	if l.command == "NICK" {
		s.wakes() // it may be hob's own
	}
	return nil
}

// wakes lets the reader look at what has come.
func (s *session) wakes() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// note records what a line says about the server and about people.
func (s *session) note(l line) {
	nick, _ := l.nick()
	own := nick != "" && fold(nick) == fold(s.nick)
	switch l.command {
	case "005": // RPL_ISUPPORT
		for _, word := range l.params[min(1, len(l.params)):] {
			if key, value, _ := strings.Cut(word, "="); len(s.isup) < maxTraits {
				s.isup[key] = value
			}
		}
	case "734", "421": // ERR_MONLISTFULL, ERR_UNKNOWNCOMMAND
		if l.command == "734" || l.param(1) == "MONITOR" {
			delete(s.isup, "MONITOR")
		}
	case "396": // RPL_VISIBLEHOST: others see another host now
		s.prefix = ""
	case "302": // RPL_USERHOST: nick=+user@host
		name, rest, ok := strings.Cut(strings.TrimSpace(l.last()), "=")
		if ok && fold(strings.TrimSuffix(name, "*")) == fold(s.nick) && len(rest) > 1 {
			s.prefix = s.nick + "!" + rest[1:]
		}
	case "BATCH":
		if ref, ok := strings.CutPrefix(l.param(0), "+"); ok {
			if len(s.batches) >= maxQueue {
				clear(s.batches)
			}
			s.batches[ref] = l.param(1)
			if isOld(l, s.batches) { // a batch within a history batch
				s.batches[ref] = "chathistory"
			}
		}
	case "NICK":
		if own {
			_, rest, _ := strings.Cut(l.source, "!")
			s.nick, s.prefix = l.param(0), l.param(0)+"!"+rest
		}
	}
	if name := fold(l.param(0)); l.command == "KICK" && fold(l.param(1)) == fold(s.nick) && slices.Contains(s.ch.Groups, name) {
		s.due.gaps = append(s.due.gaps, fmt.Sprintf("hob was kicked from %s by %s (%s), and joins again with its next connection", name, nick, channels.ForeignExcerpt(l.last())))
	}
	// hob's own lines show how others see it, which limits the length of its lines.
	if own && (l.command == "JOIN" || l.command == "PRIVMSG") {
		s.prefix = l.source
	}
	if s.caps["extended-join"] && s.caps["account-notify"] {
		s.people.note(l, nick, s.nick)
	}
	// Reports about single nicks come from any server, even without account-tag.
	s.people.noteReports(l, nick, s.caps["account-tag"], s.ch.clock.Wall())
}

// me returns hob's current nick.
func (s *session) me() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nick
}

// errEnded returns why the connection ended.
func (s *session) errEnded() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return errors.New("the connection has ended")
	}
	return s.err
}

// supports returns a feature that the server announced (RPL_ISUPPORT).
func (s *session) supports(key string) (value string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok = s.isup[key]
	return value, ok
}

// now returns the server's time.
func (s *session) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ch.clock.Wall().Add(s.skew)
}

// ask sends lines followed by a ping, and returns everything that arrived until the ping is answered. A
// server processes lines in order, so by then it has accepted or refused each of them. wrote reports, with an
// error, whether a line may have reached the server.
func (s *session) ask(ctx context.Context, lines ...string) (got []line, wrote bool, err error) {
	return s.askWhile(ctx, func() error { return nil }, lines...)
}

// askWhile is ask, but stops sending when may returns an error.
func (s *session) askWhile(ctx context.Context, may func() error, lines ...string) (got []line, wrote bool, err error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-s.done:
		return nil, false, s.errEnded()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	silent := fmt.Errorf("no answer from %s within %s, the connection is dead", s.ch.cfg.Server, answerTime)
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime+time.Duration(len(lines))*perLine, silent)
	defer cancel()
	x := s.begin()
	defer s.end(x)
	for i, l := range lines {
		if err := errors.Join(s.pace(ctx), may()); err != nil {
			return nil, i > 0, err
		}
		if err := s.write(l); err != nil {
			return nil, true, err
		}
		wrote = true
	}
	if err := s.write("PING :" + x.token); err != nil {
		return nil, wrote, err
	}
	select {
	case <-x.ended:
		return x.lines, wrote, nil
	case <-s.done:
		return nil, wrote, s.errEnded()
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), silent) {
			s.giveUp(silent) // otherwise the next message would be lost too
		}
		return nil, wrote, context.Cause(ctx)
	}
}

// giveUp closes the connection for a reason of hob's own.
func (s *session) giveUp(why error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = why
	}
	s.mu.Unlock()
	_ = s.conn.Close() // this ends listen
}

// begin starts an exchange; from now on, lines are collected for it.
func (s *session) begin() *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.asked = &exchange{token: "hob" + strconv.Itoa(s.count), ended: make(chan struct{})}
	return s.asked
}

// end ends an exchange that got no answer.
func (s *session) end(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == x {
		s.asked = nil
	}
}

// pace waits until the flood limit allows a line.
func (s *session) pace(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	d := s.flow.take()
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.done:
		return s.errEnded()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Flood control: servers disconnect clients that send more than a few lines at once.
const (
	burst   = 5
	perLine = 2 * time.Second
)

// bucket is a token bucket: burst lines at once, and one more every perLine. The zero time means full.
type bucket struct {
	now   func() time.Duration
	ready time.Duration // when the bucket is full again
}

// take reserves one line, and returns the time to wait before sending it. Only one exchange at a time calls
// it.
func (b *bucket) take() time.Duration {
	now := b.now()
	b.ready = max(b.ready, now) + perLine
	return max(0, b.ready-now-burst*perLine)
}
