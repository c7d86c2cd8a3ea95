package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/channels"
)

// How news are asked for.
const (
	longPoll  = 30 * time.Second // how long the server may wait for something to say,
	pollTime  = 50 * time.Second // and after what time nobody is there to say anything: the connection is half open
	firstTime = 3 * time.Minute  // of the first sync of an account, which takes servers long
	batch     = 50               // events of a room in one sync, beyond which it is limited
	most      = 500              // messages of one commit
	mostDoors = 100              // invitations that are remembered: anybody can send some
	oneLoss   = time.Hour        // in which the homeserver may lose the position once
)

// position is how far an account has been read.
type position struct {
	Since   string            `json:"since"`             // the sync token; "": nothing has been read
	Heard   int64             `json:"heard"`             // when the server last answered, in Unix seconds by hob's clock
	Told    []string          `json:"told,omitempty"`    // rooms that the owner was told of, because they are encrypted or no private chats
	Invited map[string]invite `json:"invited,omitempty"` // invitations by room, neither accepted nor gone
	Hosts   map[string]string `json:"hosts,omitempty"`   // who has invited hob to the rooms that it is in, as far as it was there to see
	Lost    int64             `json:"lost,omitempty"`    // when the homeserver last did not know Since any more, in Unix seconds
}

// invite is an invitation to a room.
type invite struct {
	By     string `json:"by"`
	Direct bool   `json:"direct"` // to a private chat
}

// reader is the state of one Run.
type reader struct {
	*Channel
	in     channels.Inbox
	me     account
	pos    position // committed, but for Heard and what an empty sync moves
	saved  int64    // Heard as it is committed
	places map[string]place
}

// Run asks for news until ctx ends. An error ends it: the server cannot be reached or refuses, or the inbox takes nothing. What had come by
// then and was not committed comes again.
func (c *Channel) Run(ctx context.Context, in channels.Inbox) error {
	err := c.run(ctx, in)
	if ctx.Err() != nil {
		return nil
	}
	return trouble(err)
}

func (c *Channel) run(ctx context.Context, in channels.Inbox) error {
	r := &reader{Channel: c, in: in, places: map[string]place{}}
	var err error
	if r.me, err = c.whoami(ctx); err != nil {
		return err
	}
	if err := r.load(ctx); err != nil {
		return err
	}
	if err := r.enter(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := r.round(ctx); err != nil {
			c.api.http.CloseIdleConnections() // the next try is not made over a connection that may be dead
			return err
		}
	}
	return nil
}

// identity ties the cursor to the account, to the device that the token is of, and to the server.
func (r *reader) identity() string { return r.me.ID + " " + r.me.Device + " " + r.api.base }

// load reads the stored cursor.
func (r *reader) load(ctx context.Context) error {
	value, err := r.in.Cursor(ctx, r.name, r.identity())
	if err != nil {
		return fmt.Errorf("read the cursor: %w", err)
	}
	if value != "" {
		if err := json.Unmarshal([]byte(value), &r.pos); err != nil {
			r.log.Warn("cursor cannot be read, starting anew", "channel", r.name, "cursor", value)
			r.pos = position{}
		}
	}
	r.saved = r.pos.Heard
	hosts{r.Channel}.note(r.pos.Hosts)
	return nil
}

// round is one sync and what comes of it.
func (r *reader) round(ctx context.Context) error {
	began, before := r.clock.Mono(), r.pos.Since
	news, err := r.sync(ctx)
	if before != "" && forgotten(err) {
		return r.lost(ctx, err)
	}
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if err := r.take(ctx, news); err != nil {
		return err
	}
	if r.pos.Since == before && r.clock.Mono()-began < time.Second {
		channels.Pause(ctx, time.Second) // a server that says nothing new at once is not asked without end
	}
	return nil
}

// filter is what a sync shall bring ("Filtering"): of a room's state only what makes an invitation or a private chat another one.
const filter = `{"presence":{"types":[]},"account_data":{"types":["m.direct"]},"room":{"account_data":{"types":[]},"ephemeral":{"types":[]},` +
	`"state":{"lazy_load_members":true,"types":[` + settings + `]},` +
	`"timeline":{"lazy_load_members":true,"limit":%d,"types":` + kinds + `}}}`

// kinds are the types of events that are read.
const kinds = `["m.room.message","m.sticker","m.room.redaction","m.room.encrypted",` + settings + `]`

// settings are those of a room's state that make it another place. Who made it never changes.
const settings = `"m.room.member","m.room.name","m.room.encryption","m.room.join_rules","m.room.history_visibility","m.room.third_party_invite"`

// sync asks for what is new since the position; the first time for where the account is now.
func (r *reader) sync(ctx context.Context) (*synced, error) {
	limit, wait := pollTime, longPoll
	query := url.Values{"filter": {fmt.Sprintf(filter, batch)}, "set_presence": {"offline"}}
	if r.pos.Since != "" {
		query.Set("since", r.pos.Since)
	} else {
		limit, wait = firstTime, 0
	}
	query.Set("timeout", strconv.FormatInt(wait.Milliseconds(), 10))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("nothing heard for %s", limit))
	defer cancel()
	var news synced
	err := r.api.within(ctx, http.MethodGet, path("v3", "sync")+"?"+query.Encode(), nil, &news)
	if err == nil && news.Next == "" {
		err = &unread{errors.New("no next_batch")}
	}
	return &news, err
}

// forgotten tells whether a sync is refused because of its token. The specification names no code for that: Synapse says M_UNKNOWN and means the
// token in words, Dendrite M_INVALID_PARAM, earlier M_INVALID_ARGUMENT_VALUE; M_UNKNOWN_POS is that of the sliding sync (MSC4186).
func forgotten(err error) bool {
	no := (*refused)(nil)
	if !errors.As(err, &no) || no.Status != http.StatusBadRequest {
		return false
	}
	if no.Code == "M_UNKNOWN" {
		return strings.Contains(strings.ToLower(no.Text), "token") || strings.Contains(no.Text, "since")
	}
	return is(err, "M_UNKNOWN_POS", "M_INVALID_PARAM", "M_INVALID_ARGUMENT_VALUE")
}

// lost goes on from now when the server does not know the position any more, and says so. A server that does not know what it has just given out
// itself is broken: that is an error, after which the same position is tried again.
func (r *reader) lost(ctx context.Context, cause error) error {
	heard, now := time.Unix(r.pos.Heard, 0), r.clock.Wall()
	if ago := now.Unix() - r.pos.Lost; ago >= 0 && ago < int64(oneLoss/time.Second) {
		return fmt.Errorf("sync: %w; check the homeserver: it has lost hob's position twice within %s", cause, oneLoss)
	}
	if err := r.in.Gap(ctx, heard, now, "the homeserver does not know any more what hob has read: "+cause.Error()); err != nil {
		return fmt.Errorf("tell of a gap: %w", err)
	}
	next := r.pos
	next.Since, next.Heard, next.Lost = "", now.Unix(), now.Unix()
	return r.commit(ctx, nil, next)
}

// take commits the messages of one sync together with the position behind them. Only then does the position move. What was said before the first
// sync is no news.
func (r *reader) take(ctx context.Context, news *synced) error {
	r.account(news)
	next := r.pos
	next.Since, next.Heard = news.Next, r.clock.Wall().Unix()
	next.Invited, next.Hosts = r.doors(ctx, news)
	hosts{r.Channel}.note(next.Hosts)
	var list []channels.Message
	var receipts []receipt
	for _, room := range slices.Sorted(maps.Keys(news.Rooms.Join)) {
		j := news.Rooms.Join[room]
		r.changed(room, j)
		if r.pos.Since == "" {
			continue
		}
		happened, err := r.happened(ctx, room, j.Timeline)
		if err != nil {
			return err
		}
		messages, told, err := r.messages(ctx, room, happened, next.Told)
		if err != nil {
			return err
		}
		list, next.Told = append(list, messages...), told
		if last := r.heard(messages); last != "" {
			receipts = append(receipts, receipt{room, last})
		}
	}
	same := len(list) == 0 && r.pos.Since != "" && len(next.Told) == len(r.pos.Told) && maps.Equal(next.Invited, r.pos.Invited) && maps.Equal(next.Hosts, r.pos.Hosts)
	if since := next.Heard - r.saved; same && since >= 0 && since < int64(channels.ProofEvery/time.Second) {
		r.pos = next
		return nil
	}
	if err := r.commit(ctx, list, next); err != nil {
		return err
	}
	for _, rc := range receipts {
		r.seen(ctx, rc)
	}
	return nil
}

// commit hands messages on, in pieces, and moves the position when all are stored.
func (r *reader) commit(ctx context.Context, messages []channels.Message, next position) error {
	value, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("write the cursor: %w", err)
	}
	for ; len(messages) > most; messages = messages[most:] {
		if err := r.in.Receive(ctx, messages[:most], nil); err != nil {
			return fmt.Errorf("commit %d messages: %w", most, err)
		}
	}
	if err := r.in.Receive(ctx, messages, &channels.Cursor{Source: r.name, Identity: r.identity(), Value: string(value)}); err != nil {
		return fmt.Errorf("commit %d messages: %w", len(messages), err)
	}
	r.pos, r.saved = next, next.Heard
	return nil
}

// account takes over what another program of the account has changed about private chats.
func (r *reader) account(news *synced) {
	for _, raw := range news.Account.Events {
		var e struct {
			Type    string              `json:"type"`
			Content map[string][]string `json:"content"`
		}
		if json.Unmarshal(raw, &e) != nil || e.Type != "m.direct" || e.Content == nil {
			continue
		}
		r.mu.Lock()
		r.directs = e.Content
		r.mu.Unlock()
	}
}

// changed forgets what a room is when its state has changed.
func (r *reader) changed(room string, j joined) {
	for _, raw := range slices.Concat(j.State.Events, j.Timeline.Events) {
		if e, ok := read(raw); ok && e.Key != nil {
			delete(r.places, room)
			return
		}
	}
}

// place is what a room is.
func (r *reader) place(ctx context.Context, room string) (place, error) {
	if p, ok := r.places[room]; ok {
		return p, nil
	}
	p, err := r.look(ctx, room)
	if err == nil {
		r.places[room] = p
	}
	return p, err
}

// receipt says that everything in a room up to an event was read.
type receipt struct{ room, event string }

// seen shows that what hob listens to was read ("Receipts"). Nothing depends on it.
func (r *reader) seen(ctx context.Context, rc receipt) {
	if err := r.api.call(ctx, http.MethodPost, path("v3", "rooms", rc.room, "receipt", "m.read", rc.event), map[string]any{}, nil); err != nil {
		r.log.Debug("a message is not shown as read", "channel", r.name, "err", err)
	}
}
