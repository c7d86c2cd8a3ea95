package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"hob/channels"
	"hob/channels/wire"
)

// Limits for reading events that a sync leaves out.
const (
	pageSize = 100
	maxPages = 300
)

// newEvents returns the events of a room since the position, oldest first. If the timeline is limited, the
// missing events are fetched. Events from before hob was invited or joined are never read.
func (r *reader) newEvents(ctx context.Context, room string, t timeline) ([]roomEvent, error) {
	list, entered := r.since(t.Events)
	if !t.Limited || entered {
		return list, nil
	}
	older, err := r.older(ctx, room, t.Before)
	return append(older, list...), err
}

// since parses events, oldest first, and drops everything before hob entered the room.
func (r *reader) since(raws []json.RawMessage) (list []roomEvent, entered bool) {
	for _, raw := range raws {
		e, ok := read(raw)
		if !ok {
			r.channel.log.Warn("matrix event skipped", "channel", r.channel.name, "event", string(raw[:min(len(raw), 200)]))
			continue
		}
		if r.me.entry(e) {
			list, entered = nil, true
			continue
		}
		list = append(list, e)
	}
	return list, entered
}

// entry reports whether hob's time in a room begins with an event.
func (a account) entry(e roomEvent) bool {
	who, m, ok := e.membership()
	before := e.Unsigned.Before.Membership
	return ok && who == a.ID && (m.Membership == "invite" || m.Membership == "join" && before != "invite" && before != "join")
}

// older fetches the events between the position and the beginning of a limited timeline, oldest first
// ("/messages", backwards). If there are too many, or the server refuses, a gap is reported.
func (r *reader) older(ctx context.Context, room, from string) ([]roomEvent, error) {
	var pages [][]roomEvent
	for range maxPages {
		p, err := r.page(ctx, room, from)
		// A permanent refusal, for example after hob was removed: report the gap and go on.
		if wire.Final(err) && !wire.HasStatus(err, http.StatusUnauthorized, http.StatusTooManyRequests) {
			return r.gap(ctx, room, pages, err.Error())
		}
		if err != nil {
			return nil, fmt.Errorf("read the missing events of %s: %w", room, err)
		}
		slices.Reverse(p.Chunk)
		list, entered := r.since(p.Chunk)
		pages = append(pages, list)
		if entered || p.End == "" || p.End == r.source.Pos.Since || p.End == from {
			return joinPages(pages), nil
		}
		from = p.End
	}
	return r.gap(ctx, room, pages, fmt.Sprintf("there are more than %d", maxPages*pageSize))
}

// page requests one page of events before from, up to the position ("/rooms/{roomId}/messages").
func (r *reader) page(ctx context.Context, room, from string) (page, error) {
	query := url.Values{"dir": {"b"}, "limit": {fmt.Sprint(pageSize)}, "from": {from}, "to": {r.source.Pos.Since}, "filter": {`{"lazy_load_members":true,"types":` + kinds + `}`}}
	var p page
	err := r.channel.api.call(ctx, http.MethodGet, path("v3", "rooms", room, "messages")+"?"+query.Encode(), nil, &p)
	return p, err
}

// joinPages joins pages in the order of their events; the first page is the newest.
func joinPages(pages [][]roomEvent) []roomEvent {
	slices.Reverse(pages)
	return slices.Concat(pages...)
}

// gap reports events that cannot be read, if hob listens in the room, and continues with those that were
// read.
func (r *reader) gap(ctx context.Context, room string, pages [][]roomEvent, why string) ([]roomEvent, error) {
	list := joinPages(pages)
	p, err := r.place(ctx, room)
	if wire.HasCode(err, "M_FORBIDDEN", "M_NOT_FOUND") {
		return list, nil // hob is no longer in the room
	}
	if err != nil {
		return nil, err
	}
	if !r.concerns(room, p) {
		return list, nil
	}
	to := r.channel.clock.Wall()
	if len(list) > 0 {
		to = time.UnixMilli(list[0].At)
	}
	if err := r.source.Gap(ctx, time.Unix(r.source.Pos.Heard, 0), to, fmt.Sprintf("in %s so many were written that not all could be read (%s)", called(room, p), why)); err != nil {
		return nil, err
	}
	return list, nil
}

// called returns a room's name for people.
func called(room string, p place) string {
	if p.title == "" {
		return "the room " + room
	}
	return fmt.Sprintf("the room %s (%s)", channels.ForeignExcerpt(p.title), room)
}
