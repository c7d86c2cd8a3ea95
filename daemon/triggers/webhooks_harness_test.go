package triggers_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
	"hob/daemon/sys"
	"hob/daemon/triggers"
	"hob/scheduler/webhook"
)

// webhookHarness is the service for webhooks on a real store, called through the real handler of the API.
type webhookHarness struct {
	*triggers.Webhooks
	t       *testing.T
	store   *store.Store
	handler http.Handler
	log     *logLines
	ahead   atomic.Int64      // of the wall clock
	lost    atomic.Bool       // the secrets cannot be found
	asked   atomic.Int64      // how often one was looked for
	secrets map[string]string // behind references
	server  *httptest.Server
}

// logLines is a log in memory.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newWebhookHarness(t *testing.T) *webhookHarness {
	t.Helper()
	r := &webhookHarness{t: t, log: &logLines{}, secrets: map[string]string{}}
	log := slog.New(slog.NewTextHandler(r.log, nil))
	c := sys.ShiftedClock(func() time.Duration { return time.Duration(r.ahead.Load()) })
	r.store = storetest.Fresh(t, func(o *store.Options) { o.Clock, o.Log = c, log })
	r.Webhooks = triggers.NewWebhooks(triggers.WebhookConfig{
		Rows: r.store.Webhooks, Inbox: r.store.Webhooks, Secret: r.secret, Safe: r.store.Settings.SafeMode,
		Unheard: offAt("nowhere:1"), Address: func() string { return strings.TrimPrefix(r.server.URL, "http://") },
		HTTP: http.DefaultClient, Clock: c, IDs: sys.RandomIDs(), Log: log,
	})
	r.handler = server.New(server.Deps{Webhooks: r.Webhooks, Log: log})
	r.server = httptest.NewServer(r.handler)
	t.Cleanup(r.server.Close)
	return r
}

func (r *webhookHarness) secret(_ context.Context, _, ref string) (string, error) {
	r.asked.Add(1)
	if r.lost.Load() {
		return "", errors.New("the keyring is locked")
	}
	if value, ok := r.secrets[ref]; ok {
		return value, nil
	}
	return ref, nil
}

// add makes a webhook and returns its secret, if hob made one, or if its service would have made one.
func (r *webhookHarness) add(name string, in webhook.Texts) string {
	r.t.Helper()
	issued := ""
	if webhook.Kind(in.Kind).Issuer() != "" && in.Secret == "" {
		issued = "the secret of " + in.Kind
		in.Secret = issued
	}
	made, err := r.Add(r.t.Context(), name, in)
	if err != nil {
		r.t.Fatalf("add %s: %v", name, err)
	}
	return made.Secret + issued
}

// rotate gives a webhook a new secret and returns it, if hob made one.
func (r *webhookHarness) rotate(name string, in api.WebhookRotation) string {
	r.t.Helper()
	made, err := r.Rotate(r.t.Context(), name, in)
	if err != nil {
		r.t.Fatalf("rotate %s: %v", name, err)
	}
	return made.Secret
}

// do carries out Pause, Resume or Remove.
func (r *webhookHarness) do(verb func(context.Context, string) (webhook.View, error), name string) {
	r.t.Helper()
	if _, err := verb(r.t.Context(), name); err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
}

// hook reads a hook's row.
func (r *webhookHarness) hook(name string) webhook.Hook {
	r.t.Helper()
	h, _, err := r.store.Webhooks.Named(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

// signed is a request as a sender of the hook's kind makes it.
func (r *webhookHarness) signed(name, secret, id string, body []byte, head ...string) *http.Request {
	r.t.Helper()
	in := webhook.Request{Header: http.Header{"Content-Type": {"application/json"}}, Body: body, At: time.Now().Add(time.Duration(r.ahead.Load()))}
	for pair := range slices.Chunk(head, 2) {
		in.Header.Set(pair[0], pair[len(pair)-1])
	}
	if err := r.hook(name).Sign(secret, in, id); err != nil {
		r.t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, "/hooks/"+name, bytes.NewReader(body))
	req.Header = in.Header
	return req
}

// webhookReply is the answer to a sender.
type webhookReply struct {
	status int
	header http.Header
	body   string
}

func (r *webhookHarness) send(req *http.Request) webhookReply {
	r.t.Helper()
	rec := httptest.NewRecorder()
	r.handler.ServeHTTP(rec, req)
	body, err := io.ReadAll(rec.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return webhookReply{rec.Code, rec.Header(), strings.TrimSpace(string(body))}
}

// count counts rows.
func (r *webhookHarness) count(query string, args ...any) (n int) {
	r.t.Helper()
	if err := r.store.Reader().QueryRowContext(r.t.Context(), query, args...).Scan(&n); err != nil {
		r.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (r *webhookHarness) inbox() int { return r.count("SELECT count(*) FROM inbox") }

// offAt says of one address that it has no channel.
func offAt(address event.Address) func(event.Address) string {
	return func(to event.Address) string {
		if to == address {
			return "there is no channel " + to.Channel()
		}
		return ""
	}
}
