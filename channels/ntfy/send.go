package ntfy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/wire"
	"hob/daemon/fail"
)

// Send publishes one part to the topic in the address. The nonce is the sequence id: clients show two
// messages with the same one as one message, and Find recognises it.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (string, error) {
	// The topic becomes part of the path, so its form is checked first.
	topic := d.To.Local()
	if !validTopic(topic) {
		return "", fmt.Errorf("publish: %q is not a topic: %w", topic, channels.ErrPermanent)
	}
	// The trace tells whether the server may have the message if no answer comes.
	var w wire.Written
	ctx = w.Watch(ctx)
	req, err := c.request(ctx, http.MethodPost, "/"+topic, c.Form().Render(d.Body).Text)
	if err == nil {
		req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	if d.File != nil {
		content, oerr := d.File.Whole(ctx)
		if oerr != nil {
			return "", oerr
		}
		defer func() { _ = content.Close() }() // it was only read
		req, err = c.fileRequest(ctx, topic, d, content)
	}
	if err != nil {
		return "", err
	}
	req.Header.Set("Title", mime.BEncoding.Encode("utf-8", c.title)) // the server decodes RFC 2047
	req.Header.Set("Tags", ownTag)
	req.Header.Set("X-Sequence-ID", d.Nonce)
	if d.Urgent {
		req.Header.Set("Priority", "high")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if w.Maybe() {
			return "", fmt.Errorf("publish to %s: %w: %w", topic, channels.ErrUnknown, err)
		}
		return "", fmt.Errorf("publish to %s: %w", topic, err)
	}
	fail.Point("sending.answered")
	defer func() { _ = resp.Body.Close() }() // the rest is not needed
	return c.published(resp, topic)
}

// published reads the answer to a publish request.
func (c *Channel) published(resp *http.Response, topic string) (string, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("publish to %s: %w", topic, refusal(resp, body, c.clock.Wall()))
	}
	if err != nil {
		return "", fmt.Errorf("publish to %s: %w: read the answer: %w", topic, channels.ErrUnknown, err)
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil || m.ID == "" || m.Event != eventMessage {
		return "", fmt.Errorf("publish to %s: the server does not answer like an ntfy server; check server = %q", topic, c.server)
	}
	return m.ID, nil
}

// refusal classifies an error status for the pump and the host.
func refusal(resp *http.Response, body []byte, now time.Time) error {
	err := fmt.Errorf("the server says %s", status(resp, body))
	// Only with Retry-After does the server say when to come back.
	after := wire.After(resp.Header, now)
	switch code := resp.StatusCode; {
	case code == http.StatusGatewayTimeout: // from a proxy that got no answer
		return fmt.Errorf("%w: %w", channels.ErrUnknown, err)
	case (code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable) && after > 0:
		return &channels.RetryAfter{After: after, Err: err}
	// These pass: the pump retries with its own backoff.
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		return err
	case code >= 300 && code < 400:
		return fmt.Errorf("%w: %w to %s; use that address as server", channels.ErrPermanent, err, resp.Header.Get("Location"))
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Errorf("%w: %w; check token and its rights on the topic", channels.ErrPermanent, err)
	}
	return fmt.Errorf("%w: %w", channels.ErrPermanent, err)
}

// status returns the status line with the server's own text, if there is one.
func status(resp *http.Response, body []byte) string {
	var e struct {
		Error string `json:"error"`
	}
	s := strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	if json.Unmarshal(body, &e) == nil && e.Error != "" {
		s += fmt.Sprintf(" (%.200s)", e.Error)
	}
	return strings.TrimSpace(s)
}

// Limits of a look-up.
const (
	skew     = 5 * time.Minute // how far the server's clock may be off
	settling = 3 * time.Second // how long the server may take to store a message in its cache (cache-batch-timeout in server.yml)
)

// Find looks for an earlier try in the server's message cache. "Not found" is final only if the cache reaches
// back to before the first try and stores sequence ids. An older message of hob with a sequence id proves
// both.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (remoteID string, found bool, err error) {
	topic := d.To.Local()
	if !validTopic(topic) {
		return "", false, fmt.Errorf("look up: %q is not a topic: %w", topic, channels.ErrPermanent)
	}
	proved := false
	// The whole cache is read: it is small, and its age must be known.
	err = c.poll(ctx, topic, "all", func(m message) error {
		if m.own() && m.Sequence == d.Nonce {
			remoteID, found = m.ID, true
		}
		if m.own() && m.Sequence != "" && time.Unix(m.Time, 0).Before(d.Tried.Add(-skew)) {
			proved = true
		}
		return nil
	})
	switch {
	case errors.Is(err, channels.ErrPermanent): // for example a topic that may be written but not read
		return "", false, fmt.Errorf("%w: %w", channels.ErrUnknown, err)
	case err != nil:
		return "", false, err
	case !found && !proved:
		return "", false, fmt.Errorf("look up in %s: the server's cache does not reach back far enough: %w", topic, channels.ErrUnknown)
	}
	if !found && c.clock.Wall().Sub(d.Tried) < settling {
		return "", false, fmt.Errorf("look up in %s: too early to tell", topic)
	}
	return remoteID, found, nil
}
