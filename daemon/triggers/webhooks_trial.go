package triggers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/scheduler/webhook"
)

// The longest answer that is read, and how long it may take.
const (
	mostAnswer = 64 << 10
	trialTime  = 20 * time.Second
)

// Test posts to a webhook as a sender of its kind does: signed with its secret, by HTTP, to its own address.
func (d *Webhooks) Test(ctx context.Context, name string, in api.WebhookSample) (webhook.Trial, error) {
	h, lines, err := d.Rows.Named(ctx, name)
	if err != nil {
		return webhook.Trial{}, err
	}
	r, err := d.sample(ctx, h, lines, in)
	if err != nil {
		return webhook.Trial{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url(h.Name), bytes.NewReader(r.Body))
	if err != nil {
		return webhook.Trial{}, fmt.Errorf("make the request: %w", err)
	}
	req.Header = r.Header
	// The request takes the whole way, also the guard of the API, so that the answer is the one that a sender would get.
	res, err := d.HTTP.Do(req)
	if err != nil {
		return webhook.Trial{}, fmt.Errorf("post to %s: %w", d.url(h.Name), err)
	}
	defer res.Body.Close() //nolint:errcheck // read as far as it is wanted
	answer, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		return webhook.Trial{}, fmt.Errorf("read the answer: %w", err)
	}
	// An answer of any status is a result for the caller, not an error.
	t := webhook.Trial{URL: d.url(h.Name), Status: res.StatusCode, Answer: bytes.TrimSpace(answer)}
	var receipt event.Receipt
	if json.Unmarshal(answer, &receipt) == nil {
		t.Inbox = receipt.Inbox
	}
	return t, nil
}

// sample is a signed request: the body and the headers that were asked for, and the rest as the kind's senders have it.
func (d *Webhooks) sample(ctx context.Context, h webhook.Hook, lines string, in api.WebhookSample) (webhook.Request, error) {
	id := "test_" + d.IDs.Code(12)
	body, head := webhook.Sample(h.Kind, id)
	if in.Body != nil {
		body, head = []byte(*in.Body), http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
		if json.Valid(body) {
			head.Set("Content-Type", "application/json")
		}
	}
	r := webhook.Request{Header: head, Body: body, At: d.Clock.Wall()}
	for line := range strings.Lines(in.Headers) {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return r, event.NewFault(event.Invalid, "for example X-GitHub-Event: issues", "header %q is not NAME: VALUE", strings.TrimSpace(line))
		}
		r.Header.Set(textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value))
	}
	secrets, err := d.secrets(ctx, h.Name, lines)
	if err != nil {
		return r, event.NewFault(event.Unavailable, "hob finds it by its reference", "the secret of webhook %s: %v", h.Name, err)
	}
	// A webhook of the kind none has no secret, and Sign then adds nothing.
	if len(secrets) == 0 {
		secrets = []string{""}
	}
	if err := h.Sign(secrets[0], r, id); err != nil {
		return r, fmt.Errorf("sign: %w", err)
	}
	return r, nil
}
