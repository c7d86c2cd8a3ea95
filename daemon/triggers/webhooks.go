package triggers

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/daemon/event"
	"hob/daemon/sys"
	"hob/scheduler/webhook"
)

// WebhookRows stores webhooks and their secrets.
type WebhookRows interface {
	All(ctx context.Context) ([]webhook.Hook, error)
	// Named finds one by name or id. secret is the value given to Put. The error is an event.Fault of the kind Missing if there is none.
	Named(ctx context.Context, name string) (h webhook.Hook, secret string, err error)
	Put(ctx context.Context, h webhook.Hook, secret string) (id int64, err error)
	Remove(ctx context.Context, id int64) error
	Pause(ctx context.Context, id int64, paused bool) error
}

// WebhookInbox commits a request to a webhook: once per id, and once per content within the hook's time unless content is "".
type WebhookInbox interface {
	Receive(ctx context.Context, h webhook.Hook, in event.In, content string) (event.Receipt, error)
}

// WebhookConfig holds the dependencies of a Webhooks. Every field must be set.
type WebhookConfig struct {
	Rows    WebhookRows
	Inbox   WebhookInbox
	Secret  func(ctx context.Context, name, ref string) (string, error) // the value of a reference, kept out of logs from then on
	Safe    func(ctx context.Context) (why string, err error)           // safe mode; "": it is off
	Unheard func(event.Address) string                                  // why nothing that is sent there would arrive; "": it would
	Address func() string                                               // host:port of the API
	HTTP    *http.Client                                                // for tests of a hook
	Clock   sys.Clock
	IDs     sys.IDs
	Log     *slog.Logger
	event.Prompts
}

// Webhooks makes, shows and receives webhooks. It is safe for concurrent use.
// It keeps rate limits and secrets in memory only, so a restart begins with full buckets and resolves the secrets again.
type Webhooks struct {
	WebhookConfig
	mu      sync.Mutex
	buckets map[account]*bucket
	known   map[string]*resolved
}

// NewWebhooks returns a service without known secrets: it resolves them when they are needed.
func NewWebhooks(c WebhookConfig) *Webhooks {
	return &Webhooks{WebhookConfig: c, buckets: map[account]*bucket{}, known: map[string]*resolved{}}
}

// shown returns the view of a webhook. Off is left to the caller, because it needs the secret.
func (d *Webhooks) shown(h webhook.Hook) webhook.View {
	once := ""
	if webhook.BodyCounts(h.Kind) > 0 {
		once = h.SameBody().String()
	}
	return webhook.View{
		ID: h.ID, Name: h.Name, Kind: string(h.Kind), URL: d.url(h.Name), Prompt: h.Prompt, Deliver: h.Deliver, Tolerance: h.Tolerance.String(), MaxBody: h.MaxBody,
		PerMinute: h.PerMinute, Once: once, Header: h.Header, Allow: h.Allow, Origin: h.Origin, Plain: h.Plain, NeedsModel: d.Lacks(h.Prompt, h.Plain), Paused: h.Paused, Broken: h.Broken, Failures: h.Failures, Created: h.Created,
	}
}

// url is the address on this machine. Others reach it through a tunnel or a reverse proxy, which hob does not know.
func (d *Webhooks) url(name string) string { return "http://" + d.Address() + "/hooks/" + name }

// List returns all webhooks, by name.
func (d *Webhooks) List(ctx context.Context) ([]webhook.View, error) {
	all, err := d.Rows.All(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]webhook.View, len(all))
	for i, h := range all {
		list[i] = d.shown(h)
		if h.Broken != "" || h.Kind == webhook.None {
			continue
		}
		// All leaves the secrets out; only Named returns them.
		_, lines, err := d.Rows.Named(ctx, h.Name)
		if err != nil {
			return nil, err
		}
		list[i].Off, list[i].Rotating = d.off(ctx, h, lines), len(secretLines(lines)) > 1
	}
	return list, nil
}

// Named finds a webhook by its name or id.
func (d *Webhooks) Named(ctx context.Context, name string) (webhook.View, error) {
	h, lines, err := d.Rows.Named(ctx, name)
	row := d.shown(h)
	if err == nil {
		row.Off, row.Rotating = d.off(ctx, h, lines), len(secretLines(lines)) > 1
	}
	return row, err
}

// off returns the reason why no signed request can be accepted; "" if it can. A list of webhooks must not wait for a program or a keyring, so
// off uses the last result of those.
func (d *Webhooks) off(ctx context.Context, h webhook.Hook, lines string) string {
	if h.Broken != "" || h.Kind == webhook.None {
		return ""
	}
	for _, ref := range secretLines(lines) {
		var value string
		var err error
		// env: and file: answer at once and may be read again; the others may block or ask the owner.
		if scheme, _, _ := strings.Cut(ref, ":"); scheme == "cmd" || scheme == "keyring" {
			d.mu.Lock()
			r := d.known[h.Name+"\n"+ref]
			d.mu.Unlock()
			err = r.last()
		} else {
			value, err = d.secret(ctx, h.Name, ref)
		}
		if err == nil && value != "" {
			err = webhook.CheckSecret(h.Kind, value)
		}
		if err != nil {
			return "secret: " + err.Error()
		}
	}
	return ""
}

// keepSecret is how long a resolved secret, or the error, is cached. A reference may name a program, and strangers must not be able to start
// it with every request.
const keepSecret = time.Minute

// resolved is the cached value of a secret reference, or the error. Its mutex is held while the reference is resolved.
type resolved struct {
	mu    sync.Mutex
	value string
	err   error
	until time.Duration // on the monotonic clock
}

// last returns the error of the last attempt to resolve the secret: nil after a success, during an attempt, or before the first one.
func (r *resolved) last() error {
	if r == nil || !r.mu.TryLock() {
		return nil
	}
	defer r.mu.Unlock()
	return r.err
}

// secrets returns the values of the references in a row: the current secret, and the previous one as long as it is accepted.
func (d *Webhooks) secrets(ctx context.Context, name, lines string) ([]string, error) {
	var list []string
	for _, ref := range secretLines(lines) {
		value, err := d.secret(ctx, name, ref)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, nil
}

// secret resolves one reference, at most once a minute. Requests at the same time wait for one attempt.
func (d *Webhooks) secret(ctx context.Context, name, ref string) (string, error) {
	d.mu.Lock()
	r, ok := d.known[name+"\n"+ref]
	if !ok {
		r = &resolved{}
		d.known[name+"\n"+ref] = r
	}
	// d.mu is released first, so that a slow program delays only the requests to this webhook.
	d.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	// An error is kept for the same time as a value, so that a program that fails is not started by each request.
	if now := d.Clock.Mono(); r.until <= now {
		r.value, r.err = d.Secret(context.WithoutCancel(ctx), "hooks."+name+".secret", ref) // without this request's cancellation: other requests wait for the same value
		r.until = now + keepSecret
	}
	return r.value, r.err
}

// forget drops the cached secrets of a webhook after a change.
func (d *Webhooks) forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.buckets, account{name, false})
	delete(d.buckets, account{name, true})
	for key := range d.known {
		if strings.HasPrefix(key, name+"\n") {
			delete(d.known, key)
		}
	}
}

// secretLines splits the references of a row: the present secret, and the previous one as long as it is accepted.
func secretLines(lines string) []string {
	return slices.DeleteFunc(strings.Split(lines, "\n"), func(s string) bool { return s == "" })
}
