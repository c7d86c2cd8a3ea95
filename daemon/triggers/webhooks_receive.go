package triggers

import (
	"context"
	"errors"
	"net/http"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/scheduler/webhook"
)

// nobody is the answer for an unknown webhook. A paused one answers the same, so that strangers learn nothing.
func nobody() api.WebhookReply {
	return api.WebhookReply{Status: http.StatusNotFound, Detail: "there is no such webhook"}
}

// resting is the answer while hob accepts no webhooks: in safe mode, or without a usable secret.
func resting() api.WebhookReply {
	return api.WebhookReply{Status: http.StatusServiceUnavailable, Detail: "hob takes no webhooks at the moment", Hint: "send it again later", Retry: time.Minute}
}

// find returns a webhook that is neither paused nor broken; otherwise no is the answer.
func (d *Webhooks) find(ctx context.Context, name string) (h webhook.Hook, secret string, no api.WebhookReply, err error) {
	h, secret, err = d.Rows.Named(ctx, name)
	if f, ok := event.AsFault(err); ok && f.Kind == event.Missing || err == nil && (h.Name != name || h.Paused || h.Broken != "") {
		return h, "", nobody(), nil // an id is not a valid address
	}
	return h, secret, no, err
}

// guesses multiplies the rate of a signed webhook for all requests, checked before the signature. Requests with a valid signature also count
// against the plain rate in a separate account, which strangers cannot use up.
const guesses = 10

// Admit counts every request to a webhook before its signature is checked, so that a stranger who guesses signatures reaches a limit too.
func (d *Webhooks) Admit(ctx context.Context, name string) (limit int64, no api.WebhookReply, err error) {
	h, _, no, err := d.find(ctx, name)
	if err != nil || no.Status != 0 {
		return 0, no, err
	}
	// Requests to a webhook without signatures cannot be told apart, so they have one limit.
	most := h.PerMinute
	if h.Kind != webhook.None {
		most *= guesses
	}
	if no := d.take(ctx, account{name, false}, most); no.Status != 0 {
		return 0, no, nil
	}
	// Checked after the rate limit, because it reads the database.
	safe, err := d.Safe(ctx)
	if err != nil || safe != "" {
		return 0, resting(), err
	}
	return h.MaxBody, no, nil
}

// Receive checks a delivery and commits it to the inbox, from where the agent takes it. Cheap checks come first: the type, the signature,
// the time window, the rate, then the row.
func (d *Webhooks) Receive(ctx context.Context, in api.WebhookRequest) (api.WebhookReply, error) {
	h, lines, no, err := d.find(ctx, in.Name)
	if err != nil || no.Status != 0 {
		return no, err
	}
	r := webhook.Request{Header: in.Header, Body: in.Body, At: d.Clock.Wall()}
	if err := webhook.Media(r.Header); err != nil {
		return d.refuse(ctx, h, http.StatusUnsupportedMediaType, err), nil
	}
	if no := d.verify(ctx, h, lines, r); no.Status != 0 {
		return no, nil
	}
	if h.Kind != webhook.None {
		if no := d.take(ctx, account{h.Name, true}, h.PerMinute); no.Status != 0 {
			return no, nil
		}
	}
	if doc, ok := h.Greeting(r); ok { // the service only tests the address: nothing is stored
		return api.WebhookReply{Status: http.StatusOK, Doc: doc}, nil
	}
	// The id of the sender makes a repeated delivery the same row.
	id := h.Delivery(r)
	if id == "" { // the sender numbers nothing, so a repeat has a new id
		id = d.IDs.Code(16)
	}
	// The payload becomes text here; from now on it is foreign text in the inbox.
	row, err := h.Input(r, id)
	if err != nil {
		return api.WebhookReply{}, err
	}
	// One commit: the fire, the inbox row and the id. Only after it does the sender get its 202.
	receipt, err := d.Inbox.Receive(ctx, h, row, h.Content(r))
	if f, ok := event.AsFault(err); ok && f.Kind == event.Missing {
		return nobody(), nil
	}
	if err != nil {
		return api.WebhookReply{}, err
	}
	d.Log.InfoContext(ctx, "webhook", "name", h.Name, "inbox", receipt.Inbox, "bytes", len(r.Body), "repeated", !receipt.New)
	return api.WebhookReply{Status: status(h, r, receipt), Doc: receipt}, nil
}

// status is the HTTP status for a stored event: 202 for a new one, 200 for a repeated one. Slack wants 200 for clicks and commands, which it
// sends as forms.
func status(h webhook.Hook, r webhook.Request, receipt event.Receipt) int {
	if !receipt.New || h.Kind == webhook.Slack && webhook.Form(r.Header) {
		return http.StatusOK
	}
	return http.StatusAccepted
}

// verify refuses a request without a valid signature. If a secret cannot be resolved, the sender is asked to retry, because it made no mistake.
func (d *Webhooks) verify(ctx context.Context, h webhook.Hook, lines string, r webhook.Request) api.WebhookReply {
	secrets, err := d.secrets(ctx, h.Name, lines)
	if err == nil {
		err = h.Verify(secrets, r)
	}
	switch {
	case err == nil:
		return api.WebhookReply{}
	case errors.Is(err, webhook.ErrUnsigned), errors.Is(err, webhook.ErrForged), errors.Is(err, webhook.ErrStale):
		return d.refuse(ctx, h, http.StatusUnauthorized, err)
	}
	d.Log.ErrorContext(ctx, "webhook", "name", h.Name, "refused", "its secret cannot be used", "err", err)
	return resting()
}

// refuse answers with the reason and logs it. The content of the request is not kept.
func (d *Webhooks) refuse(ctx context.Context, h webhook.Hook, status int, why error) api.WebhookReply {
	d.Log.WarnContext(ctx, "webhook", "name", h.Name, "refused", why.Error())
	return api.WebhookReply{Status: status, Detail: why.Error()}
}

// account is one of the two rate limits of a webhook: for all requests, and for those with a valid signature.
type account struct {
	name   string
	proven bool
}

// bucket is a token bucket: the requests that an account still allows. It refills with time.
type bucket struct {
	left float64
	last time.Duration // on the monotonic clock
}

// take counts one request against an account, or refuses it with the time until the next one is allowed.
func (d *Webhooks) take(ctx context.Context, a account, perMinute int) api.WebhookReply {
	wait := d.wait(a, float64(perMinute))
	if wait == 0 {
		return api.WebhookReply{}
	}
	d.Log.WarnContext(ctx, "webhook", "name", a.name, "refused", "too many requests", "signed", a.proven)
	return api.WebhookReply{Status: http.StatusTooManyRequests, Detail: "too many requests for this webhook", Hint: "come again later", Retry: wait}
}

// wait returns how long a request must wait; 0: it is allowed and counted. most is the size of the bucket and its refill per minute.
func (d *Webhooks) wait(a account, most float64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Clock.Mono()
	b, ok := d.buckets[a]
	if !ok {
		b = &bucket{left: most, last: now}
		d.buckets[a] = b
	}
	b.left, b.last = min(most, b.left+most*(now-b.last).Minutes()), now
	if b.left < 1 {
		return time.Duration((1 - b.left) / most * float64(time.Minute))
	}
	b.left--
	return 0
}
