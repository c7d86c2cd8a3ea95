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

// How events are taken.
const (
	most     = 100             // messages of one commit
	keeps    = 1000            // events that the daemon keeps for who comes back (signal-cli-jsonrpc(5))
	lastWord = 2 * time.Second // for the cursor of an end in good order
)

// position is how far the events have been read. Older daemons give them no ids and hand nothing on twice.
type position struct {
	Event string `json:"event"` // the id of the last one, "" when there is none
	Heard int64  `json:"heard"` // when it came, in Unix seconds by hob's clock; 0: nothing was ever read
	Open  bool   `json:"open"`  // reading has not ended in good order since
	Me    string `json:"me"`    // hob's own account id
}

// batch are messages and the position behind them.
type batch struct {
	list []channels.Message
	pos  position
}

// reader is the state of one Run.
type reader struct {
	*Channel
	*poll.Source[position]
	me     me
	mine   bool   // hob runs the daemon itself, so that it takes nothing from Signal while nobody reads
	lists  bool   // the daemon may have other accounts: it lists them
	shared bool   // it has, and counts the events of those too
	named  string // with shared: by what name it knows hob's
	judged bool   // whether something is missing has been found out for this stream
	broken bool   // the last stream before this one did not end in good order
}

// Run receives until ctx ends. An error ends it: the daemon cannot be reached or ends the stream, or the inbox takes nothing. What had come by
// then and was not committed is kept, and comes first in the next Run; after a crash the daemon hands it on again, if it is of a version that does.
func (c *Channel) Run(ctx context.Context, in channels.Inbox) error {
	return poll.Run(ctx, nil, func(ctx context.Context) error {
		return c.served(ctx, func(ctx context.Context, mine bool) error { return c.receive(ctx, in, mine) })
	}, nil)
}

func (c *Channel) receive(ctx context.Context, in channels.Inbox, mine bool) error {
	r := &reader{Channel: c, mine: mine}
	if err := r.open(ctx, in); err != nil {
		return err
	}
	if err := r.know(ctx); err != nil {
		return r.trouble(err)
	}
	r.Pos.Me = r.me.UUID
	if r.kept != nil {
		if err := r.commit(ctx, r.kept.list, r.kept.pos); err != nil {
			return err
		}
	}
	err := r.stream(ctx)
	if ctx.Err() != nil {
		return r.goodbye(context.WithoutCancel(ctx))
	}
	return r.trouble(err)
}

// open opens the source of the account on its daemon, which counts events by itself.
func (r *reader) open(ctx context.Context, in channels.Inbox) (err error) {
	who := poll.Account{Channel: r.name, Identity: r.account + " " + r.rpc.base, Log: r.log}
	if r.Source, err = poll.Open(ctx, in, who, func(p position) time.Time { return time.Unix(p.Heard, 0) }); err != nil {
		return err
	}
	r.broken = r.Pos.Open
	r.me = me{UUID: r.Pos.Me}
	if personForm.MatchString(r.account) {
		r.me.UUID = r.account
	} else {
		r.me.Number = r.account
	}
	return nil
}

// know finds out hob's own account id, by which groups mention it, once for ever; and whether the daemon serves others too.
func (r *reader) know(ctx context.Context) error {
	var all []account
	err := r.rpc.call(ctx, "listAccounts", nil, &all)
	no := (*refused)(nil)
	if err != nil && (!errors.As(err, &no) || no.Code != noMethod) { // a daemon for a single account has no list
		return err
	}
	r.lists, r.shared, r.named = err == nil, len(all) > 1, r.account
	i := slices.IndexFunc(all, func(a account) bool { return r.me.is(a.Number, a.ACI) })
	switch {
	case i >= 0:
		r.me = me{Number: cmp.Or(all[i].Number, r.me.Number), UUID: cmp.Or(strings.ToLower(all[i].ACI), r.me.UUID)}
		r.named = cmp.Or(all[i].Number, r.account)
	case r.lists && r.me.Number != "":
		return channels.Refused(r.unknown())
	}
	if r.me.UUID == "" {
		if r.me.UUID, err = r.rpc.self(ctx); err != nil {
			return err
		}
		if r.me.UUID == "" {
			r.log.Warn("signal-cli does not tell hob's own account id", "channel", r.name)
		}
	}
	return nil
}

func (r *reader) unknown() error {
	return fmt.Errorf("signal-cli has no account %s: register or link it with signal-cli, or set account", r.account)
}

// self is the account id of a number, "" when the daemon will not tell.
func (c *client) self(ctx context.Context) (string, error) {
	var found []account
	err := c.call(ctx, "getUserStatus", c.own(map[string]any{"recipient": []string{c.account}}), &found)
	if no := (*refused)(nil); errors.As(err, &no) && no.Status == 0 {
		return "", nil // Signal answers few such questions; numbers are known by themselves
	}
	if err != nil || len(found) == 0 {
		return "", err
	}
	return strings.ToLower(found[0].UUID), nil
}

// stream holds one stream of events until it ends.
func (r *reader) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(r.quiet, func() { cancel(fmt.Errorf("nothing heard from signal-cli for %s", r.quiet)) })
	defer alarm.Stop()
	last := r.Pos.Event
	if r.Pos.Heard != 0 && last == "" {
		last = "0" // one that no daemon knows: all that it keeps
	}
	resp, err := r.listen(ctx, last)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // a stream has no end to be read to
	opened := r.Pos
	opened.Open = true
	if opened.Heard == 0 {
		opened.Heard, r.judged = r.clock.Wall().Unix(), true // nothing was promised before
	}
	if err := r.commit(ctx, nil, opened); err != nil {
		return err
	}
	s := newEvents(resp.Body, func() { alarm.Reset(r.quiet) })
	for {
		list, err := some(s)
		if terr := r.take(ctx, list); terr != nil {
			return terr
		}
		if err != nil {
			return fmt.Errorf("signal-cli ended the stream of messages: %w", wire.Bare(ctx, err))
		}
	}
}

// some are the next event and those that are here already.
func some(s *events) ([]sse, error) {
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

// take commits the messages of some events together with the position behind them.
func (r *reader) take(ctx context.Context, list []sse) error {
	next := r.Pos
	var messages []channels.Message
	for _, e := range list {
		if len(e.Data) == 0 {
			continue
		}
		if err := r.judge(ctx, e); err != nil {
			return err
		}
		m, ok, err := r.read(e.Data)
		if err != nil {
			return err
		}
		if ok {
			messages = append(messages, m)
		}
		next.Event, next.Heard = e.ID, r.clock.Wall().Unix()
	}
	if len(messages) == 0 && !r.Due(time.Unix(next.Heard, 0)) {
		r.Pos = next // what is not for hob may come again
		return nil
	}
	return r.commit(ctx, messages, next)
}

// commit hands messages on, and keeps them for the next Run until they are stored.
func (r *reader) commit(ctx context.Context, messages []channels.Message, next position) error {
	r.kept = &batch{list: messages, pos: next}
	if err := r.Commit(ctx, messages, next); err != nil {
		return err
	}
	r.kept = nil
	return nil
}

// goodbye notes that reading ended in good order: nothing was on its way.
func (r *reader) goodbye(ctx context.Context) error {
	if r.kept != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lastWord)
	defer cancel()
	next := r.Pos
	next.Open = r.broken && !r.judged // what an earlier break has cost is not known yet
	return r.commit(ctx, nil, next)
}

// judge finds out from the first event of a stream whether some before it are missing, and says so.
func (r *reader) judge(ctx context.Context, e sse) error {
	if r.judged {
		return nil
	}
	why := r.missing(e.ID)
	if why != "" {
		if err := r.Gap(ctx, time.Unix(r.Pos.Heard, 0), r.clock.Wall(), why); err != nil {
			return err
		}
	}
	r.judged = true
	return nil
}

// missing says why something may be missing before an event, "" when nothing is. A daemon that hob runs itself leaves messages with Signal while
// nobody reads: of that one only what was on its way when reading broke off can be lost.
func (r *reader) missing(id string) string {
	start, n, numbered := number(id)
	lastStart, last, known := number(r.Pos.Event)
	room := int64(1)
	if r.shared {
		room = keeps
	}
	safe := r.mine && !r.broken
	switch {
	case r.Pos.Heard == 0:
		return ""
	case !numbered && !safe:
		return "this version of signal-cli does not hand on again what came while nobody listened; a newer one does"
	case numbered && known && start == lastStart && n > last+room:
		return fmt.Sprintf("more than the %d events that signal-cli keeps came while nobody listened", keeps)
	case numbered && (known && start != lastStart || !known && start > r.Pos.Heard*1000) && !safe:
		return "signal-cli was started anew, and no longer has what it had not handed on"
	}
	return ""
}

// number reads the id of an event: when the daemon was started, in Unix milliseconds, and a number that goes up by one.
func number(id string) (start, n int64, ok bool) {
	a, b, _ := strings.Cut(id, "-")
	start, err := strconv.ParseInt(a, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	n, err = strconv.ParseInt(b, 10, 64)
	return start, n, err == nil
}

// trouble says what to do about an answer that says no.
func (r *reader) trouble(err error) error {
	var no *refused
	if errors.As(err, &no) && no.Status == 0 && (no.Code == badParams || no.Code == badRequest) {
		return channels.Refused(fmt.Errorf("%w; %w", err, r.unknown()))
	}
	if errors.As(err, &no) && no.After > 0 {
		return &channels.RetryAfter{After: no.After, Err: err}
	}
	return err
}
