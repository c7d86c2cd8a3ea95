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
	"hob/channels/poll"
	"hob/channels/wire"
)

// Limits of syncing.
const (
	longPoll       = 30 * time.Second // how long the server may hold a sync open
	pollTime       = 50 * time.Second // when the sync is cancelled because the connection must be dead
	firstTime      = 3 * time.Minute  // for an account's first sync, which takes servers long
	batch          = 50               // events of a room in one sync; more make the timeline limited
	maxInvitations = 100              // remembered invitations: anybody can send some
	oneLoss        = time.Hour        // period in which the homeserver may lose the position once
)

// position is how far an account was read.
type position struct {
	Since    string            `json:"since"`             // the sync token; "": nothing was read
	Heard    int64             `json:"heard"`             // when the server last answered, in Unix seconds of hob's clock
	Reported []string          `json:"told,omitempty"`    // rooms that were reported to the owner as encrypted or not private
	Invited  map[string]invite `json:"invited,omitempty"` // open invitations by room
	Hosts    map[string]string `json:"hosts,omitempty"`   // who invited hob to the rooms that it is in, if known
	Lost     int64             `json:"lost,omitempty"`    // when the homeserver last rejected Since as unknown, in Unix seconds
}

// invite is an invitation to a room.
type invite struct {
	By     string `json:"by"`
	Direct bool   `json:"direct"` // to a private chat
}

// reader is the state of one Run.
type reader struct {
	channel *Channel
	source  *poll.Source[position]
	me      account
	places  map[string]place
}

// Run syncs until ctx ends. It returns an error if the server cannot be reached or refuses, or if the inbox
// cannot commit.
func (c *Channel) Run(ctx context.Context, in channels.Inbox) error {
	return poll.Run(ctx, c.api.http, func(ctx context.Context) error { return c.receive(ctx, in) }, explain)
}

// receive opens the source and syncs. Sync tokens belong to a device, so the identity of the source includes
// it.
func (c *Channel) receive(ctx context.Context, in channels.Inbox) error {
	r := &reader{channel: c, places: map[string]place{}}
	var err error
	if r.me, err = c.whoami(ctx); err != nil {
		return err
	}
	who := poll.Account{Channel: c.name, Identity: r.me.ID + " " + r.me.Device + " " + c.api.base, Log: c.log}
	if r.source, err = poll.Open(ctx, in, who, func(p position) time.Time { return time.Unix(p.Heard, 0) }); err != nil {
		return err
	}
	inviters{c}.note(r.source.Pos.Hosts)
	if err := r.enter(ctx); err != nil {
		return err
	}
	return poll.Rounds(ctx, c.clock, r.round)
}

// round makes one sync and processes the result.
func (r *reader) round(ctx context.Context) (moved bool, err error) {
	// An unchanged token means that nothing happened.
	before := r.source.Pos.Since
	news, err := r.sync(ctx)
	if before != "" && forgotten(err) {
		return true, r.lost(ctx, err)
	}
	if err != nil {
		return false, fmt.Errorf("sync: %w", err)
	}
	err = r.take(ctx, news)
	return r.source.Pos.Since != before, err
}

// filter limits a sync to what hob reads ("Filtering"). Of a room's state, it includes only events that may
// turn an invitation or a private chat into something else.
const filter = `{"presence":{"types":[]},"account_data":{"types":["m.direct"]},"room":{"account_data":{"types":[]},"ephemeral":{"types":[]},` +
	`"state":{"lazy_load_members":true,"types":[` + settings + `]},` +
	`"timeline":{"lazy_load_members":true,"limit":%d,"types":` + kinds + `}}}`

// kinds are the types of events that hob reads.
const kinds = `["m.room.message","m.sticker","m.room.redaction","m.room.encrypted",` + settings + `]`

// settings are the types of state events that change what a room is. The creator never changes.
const settings = `"m.room.member","m.room.name","m.room.encryption","m.room.join_rules","m.room.history_visibility","m.room.third_party_invite"`

// sync requests the events since the position. Without a position it asks for the current state.
func (r *reader) sync(ctx context.Context) (*synced, error) {
	limit, wait := pollTime, longPoll
	query := url.Values{"filter": {fmt.Sprintf(filter, batch)}, "set_presence": {"offline"}}
	if r.source.Pos.Since != "" {
		query.Set("since", r.source.Pos.Since)
	} else {
		limit, wait = firstTime, 0
	}
	query.Set("timeout", strconv.FormatInt(wait.Milliseconds(), 10))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("nothing heard for %s", limit))
	defer cancel()
	var news synced
	err := r.channel.api.within(ctx, http.MethodGet, path("v3", "sync")+"?"+query.Encode(), nil, &news)
	if err == nil && news.Next == "" {
		err = unread(errors.New("no next_batch"))
	}
	return &news, err
}

// forgotten reports whether a sync is refused because the server no longer knows its token. The specification
// has no code for that: Synapse answers M_UNKNOWN and names the token in the text, Dendrite M_INVALID_PARAM
// or M_INVALID_ARGUMENT_VALUE; M_UNKNOWN_POS belongs to sliding sync (MSC4186).
func forgotten(err error) bool {
	no := wire.Refused(err)
	if no == nil || no.Status != http.StatusBadRequest {
		return false
	}
	if no.Code == "M_UNKNOWN" {
		return strings.Contains(strings.ToLower(no.Detail), "token") || strings.Contains(no.Detail, "since")
	}
	return wire.HasCode(err, "M_UNKNOWN_POS", "M_INVALID_PARAM", "M_INVALID_ARGUMENT_VALUE")
}

// lost continues from now if the server no longer knows the position, and reports the gap. If that happens
// twice within oneLoss, the server is broken: then it is an error, and the same position is tried again.
func (r *reader) lost(ctx context.Context, cause error) error {
	heard, now := time.Unix(r.source.Pos.Heard, 0), r.channel.clock.Wall()
	if ago := now.Unix() - r.source.Pos.Lost; ago >= 0 && ago < int64(oneLoss/time.Second) {
		return fmt.Errorf("sync: %w; check the homeserver: it has lost hob's position twice within %s", cause, oneLoss)
	}
	if err := r.source.Gap(ctx, heard, now, "the homeserver no longer knows what hob has read: "+cause.Error()); err != nil {
		return err
	}
	next := r.source.Pos
	next.Since, next.Heard, next.Lost = "", now.Unix(), now.Unix()
	return r.source.Commit(ctx, nil, next)
}

// take commits the messages of one sync together with the position after them. Only then does the position
// move. Messages from before the first sync are never read.
func (r *reader) take(ctx context.Context, news *synced) error {
	r.account(news)
	next := r.source.Pos
	next.Since, next.Heard = news.Next, r.channel.clock.Wall().Unix()
	// Invitations are accepted before the messages are read: a new room has none yet.
	next.Invited, next.Hosts = r.invitations(ctx, news)
	inviters{r.channel}.note(next.Hosts)
	var list []channels.Message
	var receipts []receipt
	for _, room := range slices.Sorted(maps.Keys(news.Rooms.Join)) {
		j := news.Rooms.Join[room]
		r.changed(room, j)
		// The first sync only establishes the position.
		if r.source.Pos.Since == "" {
			continue
		}
		happened, err := r.newEvents(ctx, room, j.Timeline)
		if err != nil {
			return err
		}
		messages, told, err := r.messages(ctx, room, happened, next.Reported)
		if err != nil {
			return err
		}
		list, next.Reported = append(list, messages...), told
		if last := r.channel.heard(messages); last != "" {
			receipts = append(receipts, receipt{room, last})
		}
	}
	// A sync without news is stored only from time to time.
	same := len(list) == 0 && r.source.Pos.Since != "" && len(next.Reported) == len(r.source.Pos.Reported) && maps.Equal(next.Invited, r.source.Pos.Invited) && maps.Equal(next.Hosts, r.source.Pos.Hosts)
	if same && !r.source.Due(time.Unix(next.Heard, 0)) {
		r.source.Pos = next
		return nil
	}
	if err := r.source.Commit(ctx, list, next); err != nil {
		return err
	}
	// Receipts follow the commit: others must not see a message as read that hob could still lose.
	for _, rc := range receipts {
		r.sendReceipt(ctx, rc)
	}
	return nil
}

// account takes over changes that another client of the account made to the list of private chats.
func (r *reader) account(news *synced) {
	for _, raw := range news.Account.Events {
		var e struct {
			Type    string              `json:"type"`
			Content map[string][]string `json:"content"`
		}
		if json.Unmarshal(raw, &e) != nil || e.Type != "m.direct" || e.Content == nil {
			continue
		}
		r.channel.mu.Lock()
		r.channel.directs = e.Content
		r.channel.mu.Unlock()
	}
}

// changed drops a room from the cache when its state has changed.
func (r *reader) changed(room string, j joined) {
	for _, raw := range slices.Concat(j.State.Events, j.Timeline.Events) {
		if e, ok := read(raw); ok && e.Key != nil {
			delete(r.places, room)
			return
		}
	}
}

// place returns the state of a room.
func (r *reader) place(ctx context.Context, room string) (place, error) {
	if p, ok := r.places[room]; ok {
		return p, nil
	}
	p, err := r.channel.look(ctx, room)
	if err == nil {
		r.places[room] = p
	}
	return p, err
}

// receipt marks everything in a room up to an event as read.
type receipt struct{ room, event string }

// sendReceipt sends a read receipt ("Receipts"). Nothing depends on it.
func (r *reader) sendReceipt(ctx context.Context, rc receipt) {
	if err := r.channel.api.call(ctx, http.MethodPost, path("v3", "rooms", rc.room, "receipt", "m.read", rc.event), map[string]any{}, nil); err != nil {
		r.channel.log.Debug("a message is not shown as read", "channel", r.channel.name, "err", err)
	}
}
