package irc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/poll"
	"hob/daemon/sys"
)

// Limits of receiving.
const (
	overlap  = 2 * time.Minute // read again from the history; known messages are recognised by their ids
	page     = 100             // messages of one request, if the server names no limit
	tries    = 3               // attempts to commit before the connection is given up
	lastSave = 5 * time.Second // for the last commit when Run is stopped
	whoToken = "77"            // identifies answers to hob's own WHOX requests
)

// position is the time until which every message was stored.
type position struct {
	Heard int64 `json:"heard"` // Unix time in milliseconds of the server's clock; 0: never connected
}

// reader is the state of one connection of a Run.
type reader struct {
	channel *Channel
	source  *poll.Source[position]
	s       *session
	began   time.Time // until then the history was read
	other   bool      // hob had another nick than the configured one, which a dead connection of its own may hold
}

// Run stays connected until ctx ends. It returns an error if the connection ends or is refused, or if the
// inbox cannot commit. Messages that were not committed are kept for the next Run, because most servers send
// them only once.
func (c *Channel) Run(ctx context.Context, in channels.Inbox) error {
	return poll.Run(ctx, nil, func(ctx context.Context) error { return c.receive(ctx, in) }, nil)
}

// receive connects, registers, joins and commits messages until the connection ends.
func (c *Channel) receive(ctx context.Context, in channels.Inbox) error {
	source, err := c.open(ctx, in)
	if err != nil {
		return err
	}
	// The source is opened first, so that a store error does not show up as a short connection to the
	// network.
	s, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.conn.Close() }() // everything important was written, or failed
	called := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	if err := s.register(); err != nil {
		called()
		return err
	}
	if !called() {
		return ctx.Err()
	}
	group := sys.NewGroup(c.log, nil)
	group.Once("irc "+c.name, s.listen)
	defer group.Wait()
	// A polite end frees the nick at once; otherwise the next connection would get another one.
	defer s.quit()
	r := &reader{channel: c, source: source, s: s}
	if err := r.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	return r.serve(ctx)
}

// quit disconnects, and waits until the server has freed the nick.
func (s *session) quit() {
	_ = s.conn.SetReadDeadline(time.Now().Add(quitTime)) // quit waits for the reader to end
	if s.write("QUIT :bye") == nil {
		timer := time.NewTimer(quitTime)
		defer timer.Stop()
		select {
		case <-s.done:
		case <-timer.C:
		}
	}
	_ = s.conn.Close() // this ends listen, if it still runs
}

// open opens the source. The position in memory may be newer than the stored one.
func (c *Channel) open(ctx context.Context, in channels.Inbox) (*poll.Source[position], error) {
	who := poll.Account{Channel: c.name, Identity: c.cfg.login() + " " + c.cfg.Server, Log: c.log}
	s, err := poll.Open(ctx, in, who, func(p position) time.Time { return time.UnixMilli(p.Heard) })
	if err == nil {
		s.Pos.Heard = max(s.Pos.Heard, c.lastHeard)
	}
	return s, err
}

// enter joins the channels. Each join shows hob's own prefix; without channels, the server is asked for it.
func (r *reader) enter(ctx context.Context) error {
	lines := joins(r.channel.Groups)
	if len(lines) == 0 {
		lines = append(lines, "USERHOST "+r.s.me())
	}
	if mode, _ := r.s.supports("BOT"); len(mode) == 1 {
		lines = append(lines, "MODE "+r.s.me()+" +"+mode) // IRCv3 bot-mode
	}
	// Without account-tag, hob must know the accounts of the people who are already in the channels.
	if _, whox := r.s.supports("WHOX"); whox && !r.s.caps["account-tag"] && r.s.caps["extended-join"] && r.s.caps["account-notify"] {
		for _, name := range r.channel.Groups {
			lines = append(lines, "WHO "+name+" %tna,"+whoToken)
		}
	}
	// All commands go out together; the answer to the ping after them means that each join has succeeded or
	// failed.
	got, _, err := r.s.ask(ctx, lines...)
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	for _, l := range got {
		if name := fold(l.param(1)); refusesJoin(l.command) && slices.Contains(r.channel.Groups, name) && !r.channel.reported[name] {
			at := r.s.now()
			if err := r.source.Gap(ctx, at, at, fmt.Sprintf("hob cannot join %s (%s)", name, l.last())); err != nil {
				return err
			}
			r.channel.reported[name] = true
		}
	}
	r.channel.mu.Lock()
	defer r.channel.mu.Unlock()
	r.channel.live = r.s
	close(r.channel.up)
	return nil
}

// leave withdraws the connection from senders.
func (c *Channel) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live, c.up = nil, make(chan struct{})
}

// joins returns JOIN commands for all names, in as few lines as possible.
func joins(names []string) []string {
	const room = 400
	var lines []string
	for _, name := range names {
		if n := len(lines); n > 0 && len(lines[n-1])+len(name) < room {
			lines[n-1] += "," + name
			continue
		}
		lines = append(lines, "JOIN "+name)
	}
	return lines
}

// refusesJoin reports whether a numeric refuses a JOIN.
func refusesJoin(numeric string) bool {
	return slices.Contains([]string{"403", "405", "437", "471", "473", "474", "475", "476", "477", "479", "480", "489", "520"}, numeric)
}

// serve commits messages until the connection or ctx ends.
func (r *reader) serve(ctx context.Context) error {
	if err := r.missed(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			own, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSave)
			defer cancel()
			return r.take(own, true)
		case <-r.s.done:
			return errors.Join(r.take(ctx, true), r.s.errEnded())
		case <-r.s.wake:
			if err := errors.Join(r.take(ctx, false), r.regained(ctx)); err != nil {
				return err
			}
		case <-tick.C:
			if err := r.tick(ctx); err != nil {
				return err
			}
		}
	}
}

// regained reads the history since the beginning of the connection when hob gets its configured nick. What people wrote to that nick until then
// went to hob's old connection, which still had it.
func (r *reader) regained(ctx context.Context) error {
	had := r.other
	if r.other = r.s.me() != r.channel.cfg.Nick; r.other || !had {
		return nil
	}
	from := r.began
	r.began = r.s.now()
	return r.since(ctx, from, "hob had another nick until now, and this IRC server stores no messages for absent users")
}

// tick pings the server, so that a dead connection is noticed, and tries to get the configured nick.
func (r *reader) tick(ctx context.Context) error {
	lines := []string{"PING :alive"}
	if r.other = r.s.me() != r.channel.cfg.Nick; r.other {
		lines = append(lines, "NICK "+r.channel.cfg.Nick)
	}
	if err := r.s.write(lines...); err != nil {
		return err
	}
	return r.take(ctx, false)
}

// missed reads the messages since the last connection from the history. Without a history it reports a gap.
func (r *reader) missed(ctx context.Context) error {
	now := r.s.now()
	// Without an earlier position hob was never connected, so nothing is missing.
	if r.source.Pos.Heard != 0 {
		from := time.UnixMilli(min(r.source.Pos.Heard, now.UnixMilli()))
		if err := r.since(ctx, from, "hob was not connected, and this IRC server stores no messages for absent users"); err != nil {
			return err
		}
	}
	r.began, r.other = now, r.s.me() != r.channel.cfg.Nick
	return r.commit(ctx, position{Heard: now.UnixMilli()})
}

// since reads the messages since a time from the history. If the server has none, it reports a gap with the reason.
func (r *reader) since(ctx context.Context, from time.Time, why string) (err error) {
	now := r.s.now()
	if r.s.keepsHistory() {
		if why, err = r.history(ctx, from); err != nil {
			return err
		}
	}
	if why == "" {
		return nil
	}
	return r.source.Gap(ctx, from, now, why)
}

// keepsHistory reports whether all capabilities that history needs are on.
func (s *session) keepsHistory() bool {
	return s.caps["draft/chathistory"] && s.caps["batch"] && s.caps["server-time"] && s.caps["message-tags"]
}

// history reads the messages since a time (IRCv3 draft/chathistory). why says what the server refused, "" if
// nothing.
func (r *reader) history(ctx context.Context, from time.Time) (why string, err error) {
	// The clocks of servers in one network differ a little.
	since := stamp(from.Add(-overlap))
	limit := page
	if most, ok := r.s.supports("CHATHISTORY"); ok {
		if n, err := strconv.Atoi(most); err == nil && n > 0 {
			limit = min(n, 1000)
		}
	}
	got, _, err := r.s.ask(ctx, fmt.Sprintf("CHATHISTORY TARGETS %s %s %d", since, stamp(r.s.now().Add(overlap)), limit))
	if err != nil {
		return "", fmt.Errorf("ask for the history: %w", err)
	}
	// TARGETS lists private chats with news; channels are read in any case.
	targets := slices.Clone(r.channel.Groups)
	for _, l := range got {
		name := fold(l.param(1))
		if l.command == "CHATHISTORY" && l.param(0) == "TARGETS" && name != "" && !strings.ContainsAny(name[:1], chanTypes) {
			targets = append(targets, name)
		}
		if l.command == "FAIL" && l.param(0) == "CHATHISTORY" {
			why = "the server does not list private chats: " + l.last()
		}
	}
	for _, target := range targets {
		no, err := r.pages(ctx, target, since, limit)
		if err != nil {
			return "", err
		}
		if no != "" {
			why = fmt.Sprintf("the server does not give the history of %s: %s", target, no)
		}
	}
	return why, nil
}

// pages reads the history of one channel or person, and commits each page. The position does not move yet: if
// reading fails, the whole history is read again.
func (r *reader) pages(ctx context.Context, target, since string, limit int) (why string, err error) {
	for {
		got, _, err := r.s.ask(ctx, fmt.Sprintf("CHATHISTORY AFTER %s %s %d", target, since, limit))
		if err != nil {
			return "", fmt.Errorf("ask for the history of %s: %w", target, err)
		}
		list, next, count := r.s.past(got)
		for _, l := range got {
			if l.command == "FAIL" && l.param(0) == "CHATHISTORY" {
				return l.last(), nil
			}
		}
		// Pages are committed with the old position: only the last commit may move it.
		r.channel.pending = append(r.channel.pending, list...)
		if err := r.commit(ctx, r.source.Pos); err != nil {
			return "", err
		}
		// An unchanged selector means that the server ignores it; stop instead of looping.
		if count < limit || next == since || next == "" {
			return "", nil
		}
		since = next
	}
}

// past returns the messages of a page of history, the selector for the next page, and the number of lines.
func (s *session) past(got []line) (list []channels.Message, next string, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range got {
		if !isOld(l, s.batches) {
			continue
		}
		count++
		if id := l.tags["msgid"]; id != "" {
			next = "msgid=" + id
		} else if at := l.at(); !at.IsZero() {
			next = stamp(at)
		}
		if m, ok := s.message(l); ok {
			list = append(list, m)
		}
	}
	return list, next, count
}

// take commits the waiting messages with the time until which they are complete. Without messages, the time
// is committed only now and then, or if save is set.
func (r *reader) take(ctx context.Context, save bool) error {
	// The session collects messages while a commit runs.
	come := r.s.waiting()
	next := position{Heard: come.until.UnixMilli()} // not the present: a connection may have been dead while the machine slept
	// A kick is reported as a gap: messages in the channel are missing until hob has joined again.
	for _, why := range come.gaps {
		if err := r.source.Gap(ctx, time.UnixMilli(next.Heard), time.UnixMilli(next.Heard), why); err != nil {
			return err
		}
	}
	r.channel.pending = append(r.channel.pending, come.list...)
	if len(r.channel.pending) == 0 && !save && !r.source.Due(come.until) {
		r.source.Pos, r.channel.lastHeard = next, next.Heard
		return nil
	}
	return r.commit(ctx, next)
}

// waiting returns and removes the messages that were received and not committed.
func (s *session) waiting() received {
	s.mu.Lock()
	defer s.mu.Unlock()
	come := s.due
	s.due = received{until: come.until}
	return come
}

// commit hands the pending messages to the inbox. It retries, because a server without history sends them
// only once.
func (r *reader) commit(ctx context.Context, next position) error {
	for try := 1; ; try++ {
		err := r.source.Commit(ctx, r.channel.pending, next)
		if err == nil {
			r.channel.pending, r.channel.lastHeard = nil, next.Heard
			return nil
		}
		if try == tries || ctx.Err() != nil {
			return err
		}
		sys.Sleep(ctx, time.Duration(try)*time.Second)
	}
}
