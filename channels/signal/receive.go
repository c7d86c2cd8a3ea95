package signal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/poll"
	"hob/channels/wire"
)

// Limits of reading events.
const (
	most     = 100             // messages of one commit
	keeps    = 1000            // events that the daemon keeps for a reader that reconnects (signal-cli-jsonrpc(5))
	lastWord = 2 * time.Second // for the last commit after a normal end
)

// position is how far the events were read. Older daemons send no ids, and deliver each event once.
type position struct {
	Event string `json:"event"` // id of the last event, "" if there is none
	Heard int64  `json:"heard"` // when it arrived, in Unix seconds of hob's clock; 0: nothing was ever read
	Open  bool   `json:"open"`  // reading did not end normally since
	Me    string `json:"me"`    // hob's own account id
}

// batch holds messages and the position after them.
type batch struct {
	list []channels.Message
	pos  position
}

// reader is the state of one Run.
type reader struct {
	channel    *Channel
	source     *poll.Source[position]
	me         me
	mine       bool   // hob runs the daemon itself, so that the daemon takes nothing from Signal while nobody reads
	lists      bool   // the daemon supports several accounts: it can list them
	shared     bool   // it has several, and numbers the events of all of them together
	named      string // if shared: hob's account in the daemon's list
	gapChecked bool   // it is already decided whether this stream follows a gap
	broken     bool   // the previous stream did not end normally
}

// Run receives until ctx ends. It returns an error if the daemon cannot be reached or ends the stream, or if
// the inbox cannot commit. Messages that were read but not committed are kept for the next Run. After a
// crash, a newer daemon delivers them again.
func (c *Channel) Run(ctx context.Context, in channels.Inbox) error {
	return poll.Run(ctx, nil, func(ctx context.Context) error {
		return c.served(ctx, func(ctx context.Context, mine bool) error { return c.receive(ctx, in, mine) })
	}, nil)
}

// receive commits what the last Run left over, then reads the stream until it ends.
func (c *Channel) receive(ctx context.Context, in channels.Inbox, mine bool) error {
	r := &reader{channel: c, mine: mine}
	if err := r.open(ctx, in); err != nil {
		return err
	}
	if err := r.findAccount(ctx); err != nil {
		return r.explain(err)
	}
	r.source.Pos.Me = r.me.UUID
	// These messages come first, because they are older than anything in the new stream.
	if r.channel.kept != nil {
		if err := r.commit(ctx, r.channel.kept.list, r.channel.kept.pos); err != nil {
			return err
		}
	}
	err := r.stream(ctx)
	if ctx.Err() != nil {
		return r.storeNormalEnd(context.WithoutCancel(ctx))
	}
	return r.explain(err)
}

// open opens the source of the account. The identity includes the daemon's address, because each daemon
// numbers events by itself.
func (r *reader) open(ctx context.Context, in channels.Inbox) (err error) {
	who := poll.Account{Channel: r.channel.name, Identity: r.channel.account + " " + r.channel.rpc.base, Log: r.channel.log}
	if r.source, err = poll.Open(ctx, in, who, func(p position) time.Time { return time.Unix(p.Heard, 0) }); err != nil {
		return err
	}
	// Open is still set if the last process was killed while it read.
	r.broken = r.source.Pos.Open
	r.me = me{UUID: r.source.Pos.Me}
	if personForm().MatchString(r.channel.account) {
		r.me.UUID = r.channel.account
	} else {
		r.me.Number = r.channel.account
	}
	return nil
}

// findAccount finds hob's own account id, by which groups mention it, and whether the daemon serves other accounts.
// The id is stored in the position.
func (r *reader) findAccount(ctx context.Context) error {
	var all []account
	err := r.channel.rpc.call(ctx, "listAccounts", nil, &all)
	no := (*refused)(nil)
	if err != nil && (!errors.As(err, &no) || no.Code != noMethod) { // a daemon for a single account does not support the call
		return err
	}
	r.lists, r.shared, r.named = err == nil, len(all) > 1, r.channel.account
	i := slices.IndexFunc(all, func(a account) bool { return r.me.is(a.Number, a.ACI) })
	switch {
	case i >= 0:
		r.me = me{Number: cmp.Or(all[i].Number, r.me.Number), UUID: cmp.Or(strings.ToLower(all[i].ACI), r.me.UUID)}
		r.named = cmp.Or(all[i].Number, r.channel.account)
	case r.lists && r.me.Number != "":
		return channels.Refused(r.unknown())
	}
	if r.me.UUID == "" {
		if r.me.UUID, err = r.channel.rpc.self(ctx); err != nil {
			return err
		}
		if r.me.UUID == "" {
			r.channel.log.Warn("signal-cli does not report hob's own account id", "channel", r.channel.name)
		}
	}
	return nil
}

// unknown reports that the daemon does not have the account.
func (r *reader) unknown() error {
	return fmt.Errorf("signal-cli has no account %s: register or link it with signal-cli, or set account", r.channel.account)
}

// self returns the account id of hob's number, "" if Signal refuses to answer.
func (c *client) self(ctx context.Context) (string, error) {
	var found []account
	err := c.call(ctx, "getUserStatus", c.own(map[string]any{"recipient": []string{c.account}}), &found)
	if no := (*refused)(nil); errors.As(err, &no) && no.Status == 0 {
		return "", nil // Signal limits such questions; the number alone is enough
	}
	if err != nil || len(found) == 0 {
		return "", err
	}
	return strings.ToLower(found[0].UUID), nil
}

// stream reads one stream of events until it ends.
func (r *reader) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Every line resets the alarm, including the daemon's keep-alives.
	alarm := time.AfterFunc(r.channel.quiet, func() { cancel(fmt.Errorf("nothing heard from signal-cli for %s", r.channel.quiet)) })
	defer alarm.Stop()
	last := r.source.Pos.Event
	if r.source.Pos.Heard != 0 && last == "" {
		last = "0" // an id that no daemon has: deliver all stored events
	}
	resp, err := r.listen(ctx, last)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // a stream has no end to read to
	opened := r.source.Pos
	opened.Open = true
	// From now on an abnormal end may lose events, so that is stored before the first one is read.
	if opened.Heard == 0 {
		opened.Heard, r.gapChecked = r.channel.clock.Wall().Unix(), true // no earlier message can be missing
	}
	if err := r.commit(ctx, nil, opened); err != nil {
		return err
	}
	// From here on each line proves that the daemon is alive.
	s := newEvents(resp.Body, func() { alarm.Reset(r.channel.quiet) })
	for {
		list, err := nextEvents(s)
		if terr := r.take(ctx, list); terr != nil {
			return terr
		}
		if err != nil {
			return fmt.Errorf("signal-cli ended the stream of messages: %w", wire.WithoutAddress(ctx, err))
		}
	}
}

// nextEvents returns the next event, and further events that are already in the buffer.
func nextEvents(s *events) ([]sse, error) {
	var list []sse
	for len(list) < most && (len(list) == 0 || s.ready()) {
		e, err := s.next()
		if err != nil {
			return list, err
		}
		list = append(list, e)
	}
	return list, nil
}

// take commits the messages of some events together with the position after them.
func (r *reader) take(ctx context.Context, list []sse) error {
	next := r.source.Pos
	var messages []channels.Message
	for _, e := range list {
		if len(e.Data) == 0 {
			continue
		}
		if err := r.checkGap(ctx, e); err != nil {
			return err
		}
		m, ok, err := r.read(e.Data)
		if err != nil {
			return err
		}
		if ok {
			messages = append(messages, m)
		}
		next.Event, next.Heard = e.ID, r.channel.clock.Wall().Unix()
	}
	if len(messages) == 0 && !r.source.Due(time.Unix(next.Heard, 0)) {
		r.source.Pos = next // these events may be read again
		return nil
	}
	return r.commit(ctx, messages, next)
}

// commit hands messages to the inbox. Until they are stored it keeps them for the next Run, because the
// daemon may not deliver them again.
func (r *reader) commit(ctx context.Context, messages []channels.Message, next position) error {
	r.channel.kept = &batch{list: messages, pos: next}
	if err := r.source.Commit(ctx, messages, next); err != nil {
		return err
	}
	r.channel.kept = nil
	return nil
}

// storeNormalEnd stores that reading ended normally, so that nothing was lost.
func (r *reader) storeNormalEnd(ctx context.Context) error {
	if r.channel.kept != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lastWord)
	defer cancel()
	next := r.source.Pos
	next.Open = r.broken && !r.gapChecked // whether an earlier break lost events is still unknown
	return r.commit(ctx, nil, next)
}

// checkGap decides, at the first event of a stream, whether earlier events are missing, and reports the gap.
func (r *reader) checkGap(ctx context.Context, e sse) error {
	if r.gapChecked {
		return nil
	}
	why := r.missing(e.ID)
	if why != "" {
		if err := r.source.Gap(ctx, time.Unix(r.source.Pos.Heard, 0), r.channel.clock.Wall(), why); err != nil {
			return err
		}
	}
	r.gapChecked = true
	return nil
}

// missing says why events may be missing before the one with id, "" if none are. A daemon that hob runs
// itself leaves messages at Signal while nobody reads; there, only events that were being read when the
// connection broke can be lost.
func (r *reader) missing(id string) string {
	start, n, numbered := number(id)
	lastStart, last, known := number(r.source.Pos.Event)
	room := int64(1)
	if r.shared {
		room = keeps
	}
	// Signal itself keeps the messages in this case.
	safe := r.mine && !r.broken
	switch {
	case r.source.Pos.Heard == 0:
		return ""
	case !numbered && !safe:
		return "this version of signal-cli does not deliver again what arrived while hob did not listen; a newer one does"
	case numbered && known && start == lastStart && n > last+room:
		return fmt.Sprintf("more than the %d events that signal-cli keeps arrived while hob did not listen", keeps)
	case numbered && (known && start != lastStart || !known && start > r.source.Pos.Heard*1000) && !safe:
		return "signal-cli was restarted, and no longer has the messages that it had not delivered"
	}
	return ""
}

// number parses the id of an event: the daemon's start in Unix milliseconds, and a counter.
func number(id string) (start, n int64, ok bool) {
	a, b, _ := strings.Cut(id, "-")
	start, err := strconv.ParseInt(a, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	n, err = strconv.ParseInt(b, 10, 64)
	return start, n, err == nil
}

// explain adds advice to a refusal.
func (r *reader) explain(err error) error {
	var no *refused
	if errors.As(err, &no) && no.Status == 0 && (no.Code == badParams || no.Code == badRequest) {
		return channels.Refused(fmt.Errorf("%w; %w", err, r.unknown()))
	}
	if errors.As(err, &no) && no.After > 0 {
		return &channels.RetryAfter{After: no.After, Err: err}
	}
	return err
}
