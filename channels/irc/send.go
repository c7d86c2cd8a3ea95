package irc

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// later is how long hob waits if the server only says that it is too early.
const later = 30 * time.Second

// Send sends one part, with one message for each line. The lines are followed by a ping: when the server
// answers it, it has accepted or refused each line. IRC has no idempotency key and cannot list sent messages,
// so that a connection that ends before the answer leaves the result unknown.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (string, error) {
	if err := c.check(d.To); err != nil {
		return "", err
	}
	s, err := c.connected(ctx)
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", d.To, err)
	}
	id, err := sender{s}.send(ctx, d)
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", d.To, err)
	}
	return id, nil
}

// patience is how long a send waits for a connection, for example at the start of hob.
const patience = 10 * time.Second

// connected returns the connection of Run.
func (c *Channel) connected(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not connected to %s now", c.cfg.Server))
	defer cancel()
	for ctx.Err() == nil {
		c.mu.Lock()
		s, up := c.live, c.up
		c.mu.Unlock()
		if s != nil {
			return s, nil
		}
		select {
		case <-up:
		case <-ctx.Done():
		}
	}
	return nil, context.Cause(ctx)
}

// check checks an address: a channel, an account, or a nick if nicks are trusted.
func (c *Channel) check(to event.Address) error {
	local := to.Local()
	switch {
	case chanForm().MatchString(local), accountForm().MatchString(local), c.cfg.TrustNicks && nickForm().MatchString(local):
		return nil
	case nickForm().MatchString(local):
		return fmt.Errorf("address %q: a nick can be taken by anybody; want an account, like %s:$%s: %w", to, c.name, local, channels.ErrPermanent)
	}
	return fmt.Errorf("address %q: want an account or a channel, like %s:$sam or %s:#family: %w", to, c.name, c.name, channels.ErrPermanent)
}

// sender sends messages over a session.
type sender struct{ session *session }

// send resolves the recipient, sends the lines, and evaluates the server's answers.
func (s sender) send(ctx context.Context, d channels.Delivery) (string, error) {
	target, may := d.To.Local(), func() error { return nil }
	// An account is not an address on IRC: it is resolved to the nick of the moment.
	if account := target; strings.HasPrefix(account, "$") {
		nick, err := s.find(ctx, account)
		if err != nil {
			return "", err
		}
		target, may = nick, func() error { return s.stillNickOf(account, nick) }
	}
	var lines []string
	for _, text := range s.splitLines(target, s.session.ch.Form().Render(d.Body).Text) {
		lines = append(lines, "PRIVMSG "+target+" :"+text)
	}
	if len(lines) == 0 {
		return "", fmt.Errorf("it contains nothing that IRC can show: %w", channels.ErrPermanent)
	}
	// Before each line the nick is checked again: its owner may have changed while hob waited for the flood
	// limit.
	got, wrote, err := s.session.askWhile(ctx, may, lines...)
	switch {
	case err != nil && wrote:
		return "", fmt.Errorf("%w: %w", channels.ErrUnknown, err)
	case err != nil:
		return "", err
	}
	fail.Point("sending.answered")
	return s.receipt(got, target, len(lines), d)
}

// receipt evaluates the server's answers to n lines: the id of the first line, if the server echoes it, or
// the refusal. If only some lines were refused, the result is unknown.
func (s sender) receipt(got []line, target string, n int, d channels.Delivery) (string, error) {
	var no error
	refused := 0
	id := fmt.Sprintf("%s/%d", d.Nonce, d.Part)
	echoed := false
	// Answers to other commands may be among the lines, so each refusal must name the target.
	for _, l := range got {
		if err := refusal(l, target); err != nil {
			no = err
			refused++
		}
		nick, _ := l.nick()
		if l.command == "PRIVMSG" && fold(nick) == fold(s.session.me()) && fold(l.param(0)) == fold(target) && !echoed {
			echoed = true
			if given := l.tags["msgid"]; given != "" {
				id = given
			}
		}
	}
	switch {
	case no == nil:
		return id, nil
	case echoed, refused < n && !s.session.caps["echo-message"]:
		return "", fmt.Errorf("%w: a part of it was refused: %w", channels.ErrUnknown, no)
	}
	return "", no
}

// refusal returns the error in an answer to a message, nil for other lines (modern.ircdocs.horse, "Numerics";
// IRCv3 standard replies).
func refusal(l line, target string) error {
	about := func(i int) bool { return fold(l.param(i)) == fold(target) }
	err := fmt.Errorf("the server says %s (%s)", l.command, l.last())
	switch l.command {
	case "401": // ERR_NOSUCHNICK
		if about(1) {
			return fmt.Errorf("%w: %s is not there now: %w", channels.ErrAddress, target, err)
		}
	case "400": // ERR_UNKNOWNERROR
		if strings.EqualFold(l.param(1), "PRIVMSG") {
			return err
		}
	case "439": // ERR_TARGETTOOFAST
		if about(1) {
			return &channels.RetryAfter{After: later, Err: fmt.Errorf("%w: %w", channels.ErrAddress, err)}
		}
	case "263": // RPL_TRYAGAIN
		if about(1) || strings.EqualFold(l.param(1), "PRIVMSG") {
			return &channels.RetryAfter{After: later, Err: err}
		}
	case "403", "404", "407", "477", "486", "489", "531", "716":
		if about(1) {
			return fmt.Errorf("%w: %w", channels.ErrPermanent, err)
		}
	case "411", "412", "413", "414", "417": // no target, no text, or too long
		return fmt.Errorf("%w: %w", channels.ErrPermanent, err)
	case "FAIL":
		if l.param(0) == "PRIVMSG" || l.param(0) == "*" {
			return fmt.Errorf("%w: the server says %s (%s)", channels.ErrPermanent, l.param(1), l.last())
		}
	}
	return nil
}

// The limit of a line (RFC 2812, section 2.3), and the longest source that servers add, while hob's own is
// unknown.
const (
	lineSize   = 512
	sourceSize = 120
	leastText  = 64
)

// stripControls removes characters that would end a line or begin a CTCP message.
var stripControls = strings.NewReplacer("\r", "", "\x00", "", "\x01", "")

// splitLines splits a text into lines that stay below the limit when the server adds hob's source. Empty lines are
// dropped.
func (s sender) splitLines(target, text string) []string {
	s.session.mu.Lock()
	source := len(s.session.prefix)
	s.session.mu.Unlock()
	source = cmp.Or(source, sourceSize)
	// Servers add the sender's prefix, which counts towards the limit of a line.
	room := max(leastText, lineSize-len(": PRIVMSG  :\r\n")-source-len(target))
	var lines []string
	for l := range strings.SplitSeq(text, "\n") {
		l = strings.TrimRight(stripControls.Replace(l), " ")
		for len(l) > room {
			at := room
			for at > 0 && !utf8.RuneStart(l[at]) {
				at--
			}
			// A break between words is better, unless the line would become very short.
			if space := strings.LastIndexByte(l[:at], ' '); space > room/2 {
				at = space
			}
			lines = append(lines, l[:at])
			l = strings.TrimLeft(l[at:], " ")
		}
		if l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}
