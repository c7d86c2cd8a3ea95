package discord

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/wire"
)

// Limits of a look-up.
const (
	findPages = 10              // newest pages to read
	margin    = 2 * time.Second // uncertainty of Discord's clock
	lookAgain = 2 * time.Minute // maximum wait after a failed look-up
	settling  = 3 * time.Second // after this time an interrupted try has either arrived or never will
)

// Find looks for an earlier try among the newest messages of its chat: a message of hob with the same text or
// file, not older than the try, that belongs to no other delivery. Discord does not return the nonce of a
// stored message, so that the text must be compared.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (remoteID string, found bool, err error) {
	to, err := c.target(d.To)
	if err != nil {
		return "", false, err
	}
	var me user
	if err := c.api.call(ctx, http.MethodGet, "/users/@me", nil, &me); err != nil {
		return "", false, c.lookUpError(d, err)
	}
	channel, err := c.channel(ctx, to)
	if err != nil {
		return "", false, c.lookUpError(d, err)
	}
	// Discord's clock dates the messages, so the time of the try is converted to it.
	first := d.Tried.Add(time.Duration(c.api.skew.Load()) - margin)
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for range findPages {
		page, err := c.page(ctx, channel, query)
		if err != nil {
			return "", false, c.lookUpError(d, err)
		}
		for _, m := range page {
			if m.At.Before(first) {
				return c.notFound(d)
			}
			// Other people may have written the same text.
			if m.Author != nil && m.Author.ID == me.ID && c.same(m, d) {
				return id(channel, m.ID), true, nil
			}
		}
		if len(page) < pageSize {
			return c.notFound(d)
		}
		query.Set("before", page[len(page)-1].ID)
	}
	return "", false, fmt.Errorf("look up in %s: too much was written since: %w", d.To, channels.ErrUnknown)
}

// notFound returns the result "not found". It is final only when the try has had time to arrive.
func (c *Channel) notFound(d channels.Delivery) (string, bool, error) {
	if c.clock.Wall().Sub(d.Tried) < settling {
		return "", false, fmt.Errorf("look up in %s: too early to tell", d.To)
	}
	return "", false, nil
}

// lookUpError classifies the error of a look-up: without permission to read it stays unknown; otherwise the pump
// asks again later.
func (c *Channel) lookUpError(d channels.Delivery, err error) error {
	no := wire.Refused(err)
	if no != nil && no.Own && wire.HasStatus(err, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound) {
		return fmt.Errorf("look up in %s: %w: %w", d.To, channels.ErrUnknown, err)
	}
	after := min(max(c.clock.Wall().Sub(d.Tried), time.Second), lookAgain) // less often with time: no limit ends look-ups
	if no != nil {
		after = max(after, no.After)
	}
	return &channels.RetryAfter{After: after, Err: fmt.Errorf("look up in %s: %w", d.To, err)}
}

// same reports whether m is the message of an earlier try. A mark may follow its text.
func (c *Channel) same(m message, d channels.Delivery) bool {
	c.mu.Lock()
	nonce, told := c.confirmed.get(m.ID)
	c.mu.Unlock()
	if told {
		return nonce == d.Nonce
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(m.Text), strings.TrimSpace(c.Form().Render(d.Body).Text))
	if !ok || rest != "" && !strings.HasPrefix(rest, "\n\n(") {
		return false
	}
	if d.File != nil {
		return len(m.Files) == 1 && m.Files[0].Size == d.File.Size
	}
	return len(m.Files) == 0
}
