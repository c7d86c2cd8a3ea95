package triggers_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/triggers"
	"hob/scheduler/webhook"
)

// TestWhatIsLetIn posts to a webhook of each kind: signed is taken once, and anything else is refused without a row.
func TestWhatIsLetIn(t *testing.T) {
	r := newWebhookHarness(t)
	for _, kind := range webhook.Kinds() {
		rows := func() int { return r.count("SELECT count(*) FROM inbox WHERE source = ?", "hook:"+kind) }
		secret := r.add(kind, webhook.Texts{Kind: kind, Prompt: "Look.", PerMinute: "100"})
		body, _ := webhook.Sample(webhook.Kind(kind), "evt_1")
		first := r.send(r.signed(kind, secret, "evt_1", body, "Idempotency-Key", "evt_1"))
		if first.status != 202 || rows() != 1 || r.count("SELECT count(*) FROM fires WHERE key = 'evt_1' AND trigger = ?", r.hook(kind).ID) != 1 {
			t.Fatalf("%s: %+v, %d rows", kind, first, rows())
		}
		again := r.send(r.signed(kind, secret, "evt_1", body, "Idempotency-Key", "evt_1"))
		if again.status != 200 || again.body != first.body || rows() != 1 {
			t.Errorf("%s again: %+v, first %+v, %d rows", kind, again, first, rows())
		}
		if kind == string(webhook.None) {
			continue
		}
		stranger := r.signed(kind, webhook.NewSecret([]byte("a stranger's own secret.")), "evt_2", body)
		unsigned := httptest.NewRequest(http.MethodPost, "/hooks/"+kind, bytes.NewReader(body))
		changed := r.signed(kind, secret, "evt_3", body)
		changed.Body = io.NopCloser(bytes.NewReader(append([]byte(" "), body...)))
		for what, req := range map[string]*http.Request{"a stranger": stranger, "unsigned": unsigned, "changed": changed} {
			if got := r.send(req); got.status != 401 || rows() != 1 {
				t.Errorf("%s, %s: %+v, %d rows", kind, what, got, rows())
			}
		}
	}
}

// TestReplay: an hour later the very same request is refused where its form has a time, and is the same row where it has none.
func TestReplay(t *testing.T) {
	r := newWebhookHarness(t)
	for kind, want := range map[string]int{"standard": 401, "slack": 401, "stripe": 401, "github": 200, "sha256": 200} {
		secret := r.add(kind, webhook.Texts{Kind: kind, Prompt: "Look."})
		body, _ := webhook.Sample(webhook.Kind(kind), "evt_1")
		before := r.inbox()
		if got := r.send(r.signed(kind, secret, "evt_1", body)); got.status != 202 {
			t.Fatalf("%s: %+v", kind, got)
		}
		old := r.signed(kind, secret, "evt_1", body)
		r.ahead.Add(int64(time.Hour))
		if got := r.send(old); got.status != want || r.inbox() != before+1 {
			t.Errorf("%s: %+v, %d rows more", kind, got, r.inbox()-before)
		}
	}
}

// TestReplayUnderAnotherID (S10): the id of GitHub's form and of the plain one is not signed. A copy of a delivery under another id gets the
// numbers of the first, by default for 30 days; a sender that repeats itself can have that lowered, or switched off.
func TestReplayUnderAnotherID(t *testing.T) {
	const entry, window = `{"event":"door"}`, `{"event":"window"}`
	for name, c := range map[string]struct {
		kind, once string
		body       string // of the second one
		after      time.Duration
		want, kept int // kept: contents
	}{
		"GitHub":                 {kind: "github", once: "720h", body: entry, after: 29 * 24 * time.Hour, want: 200, kept: 1},
		"GitHub, a month later":  {kind: "github", once: "720h", body: entry, after: 31 * 24 * time.Hour, want: 202, kept: 1},
		"GitHub, never":          {kind: "github", once: "0s", body: entry, want: 202},
		"GitHub, by default":     {kind: "github", body: entry, after: 29 * 24 * time.Hour, want: 200, kept: 1},
		"default, a month later": {kind: "github", body: entry, after: 31 * 24 * time.Hour, want: 202, kept: 1},
		"GitHub, lowered":        {kind: "github", once: "10s", body: entry, after: 11 * time.Second, want: 202, kept: 1},
		"another body of GitHub": {kind: "github", once: "720h", body: window, want: 202, kept: 2},
		"the same, much later":   {kind: "github", once: "720h", body: window, after: 31 * 24 * time.Hour, want: 202, kept: 1},
		"plain, by default":      {kind: "sha256", body: entry, want: 200, kept: 1},
		"plain, never":           {kind: "sha256", once: "0s", body: entry, want: 202},
		"plain, asked":           {kind: "sha256", once: "1h", body: entry, after: 59 * time.Minute, want: 200, kept: 1},
		"plain, asked, later":    {kind: "sha256", once: "1h", body: entry, after: 61 * time.Minute, want: 202, kept: 1},
		"an id that is signed":   {kind: "standard", body: entry, want: 202},
	} {
		t.Run(name, func(t *testing.T) {
			r := newWebhookHarness(t)
			secret := r.add("a", webhook.Texts{Kind: c.kind, Prompt: "Look.", Once: c.once})
			other := r.add("b", webhook.Texts{Kind: c.kind, Prompt: "Look.", Once: c.once})
			first := r.send(r.signed("a", secret, "evt_1", []byte(entry)))
			if got := r.send(r.signed("b", other, "evt_1", []byte(entry))); first.status != 202 || got.status != 202 || got.body == first.body {
				t.Errorf("two webhooks: %+v, %+v", first, got)
			}
			r.ahead.Add(int64(c.after))
			second := r.send(r.signed("a", secret, "evt_2", []byte(c.body)))
			if second.status != c.want || (second.body == first.body) != (c.want == 200) {
				t.Errorf("%+v, the first %+v", second, first)
			}
			if again := r.send(r.signed("a", secret, "evt_2", []byte(c.body))); again.status != 200 || again.body != second.body {
				t.Errorf("the same again: %+v, before %+v", again, second)
			}
			if n := r.count("SELECT count(*) FROM contents c JOIN triggers t ON t.id = c.hook WHERE t.name = 'a'"); n != c.kept {
				t.Errorf("%d contents are kept, want %d", n, c.kept)
			}
			r.do(r.Remove, "a")
			r.do(r.Remove, "b")
			if n := r.count("SELECT count(*) FROM contents"); n != 0 {
				t.Errorf("%d contents of no webhook", n)
			}
		})
	}
}

// TestNobodyLooksLikePaused: a stranger cannot tell a paused webhook from one that there never was.
func TestNobodyLooksLikePaused(t *testing.T) {
	r := newWebhookHarness(t)
	secret := r.add("a", webhook.Texts{Prompt: "Look."})
	good := r.signed("a", secret, "m1", []byte("{}"))
	r.do(r.Pause, "a")
	paused, never := r.send(good), r.send(httptest.NewRequest(http.MethodPost, "/hooks/never", strings.NewReader("{}")))
	unsigned := r.send(httptest.NewRequest(http.MethodPost, "/hooks/a", strings.NewReader("{}")))
	if fmt.Sprint(paused) != fmt.Sprint(never) || fmt.Sprint(unsigned) != fmt.Sprint(never) || never.status != 404 {
		t.Errorf("%+v\n%+v\n%+v", paused, unsigned, never)
	}
	id := fmt.Sprint(r.hook("a").ID)
	r.do(r.Resume, "a")
	if got := r.send(httptest.NewRequest(http.MethodPost, "/hooks/"+id, strings.NewReader("{}"))); fmt.Sprint(got) != fmt.Sprint(never) {
		t.Errorf("its number is an address: %+v", got)
	}
	if got := r.send(r.signed("a", secret, "m1", []byte("{}"))); got.status != 202 {
		t.Errorf("resumed: %+v", got)
	}
	r.do(r.Remove, "a")
	if got := r.send(httptest.NewRequest(http.MethodPost, "/hooks/a", strings.NewReader("{}"))); fmt.Sprint(got) != fmt.Sprint(never) || r.count("SELECT count(*) FROM triggers WHERE secret <> ''") != 0 {
		t.Errorf("removed: %+v", got)
	}
}

func TestTypesAndSizes(t *testing.T) {
	r := newWebhookHarness(t)
	secret := r.add("a", webhook.Texts{Prompt: "Look.", MaxBody: "10485760"})
	whole := []byte(`{"a":"` + strings.Repeat("x", 10<<20-8) + `"}`)
	for _, c := range []struct {
		what string
		body []byte
		head []string
		want int
	}{
		{"an image", []byte("{}"), []string{"Content-Type", "image/png"}, 415},
		{"a file of a form", []byte("{}"), []string{"Content-Type", "multipart/form-data; boundary=x"}, 415},
		{"compressed", []byte("{}"), []string{"Content-Encoding", "gzip"}, 415},
		{"text", []byte("hello"), []string{"Content-Type", "text/plain"}, 202},
		{"a form", []byte("a=b"), []string{"Content-Type", "application/x-www-form-urlencoded"}, 202},
		{"nothing at all", nil, nil, 202},
		{"10 MiB", whole, nil, 202},
		{"a byte more", append([]byte(" "), whole...), nil, 413},
	} {
		before := r.inbox()
		got := r.send(r.signed("a", secret, "m"+strings.ReplaceAll(c.what, " ", ""), c.body, c.head...))
		if stored := r.inbox() - before; got.status != c.want || (stored == 1) != (c.want == 202) {
			t.Errorf("%s: %d %.200s, %d rows", c.what, got.status, got.body, stored)
		}
	}
	if n := r.count("SELECT max(length(parts)) FROM inbox"); n > 40<<10 {
		t.Errorf("an inbox row has %d bytes", n)
	}
}

// TestRate: requests without a valid signature count only against a limit that is ten times that of signed ones. Each webhook has its own limits.
func TestRate(t *testing.T) {
	r := newWebhookHarness(t)
	secret := r.add("a", webhook.Texts{Prompt: "Look.", PerMinute: "1"})
	r.add("open", webhook.Texts{Prompt: "Look.", Kind: "none"})
	guess := func(want int) webhookReply {
		t.Helper()
		got := r.send(httptest.NewRequest(http.MethodPost, "/hooks/a", strings.NewReader("{}")))
		if got.status != want {
			t.Fatalf("a guess: %+v, want %d", got, want)
		}
		return got
	}
	for range 7 {
		guess(401)
	}
	if got := r.send(r.signed("a", secret, "m1", []byte("{}"))); got.status != 202 {
		t.Fatalf("the real sender, behind 7 guesses: %+v", got)
	}
	r.comeAgain(r.send(r.signed("a", secret, "m2", []byte("{}"))), time.Minute)
	guess(401)                             // what is proven and too much has cost the strangers nothing more than itself
	r.comeAgain(guess(429), 6*time.Second) // the eleventh of all within a minute
	if n := r.inbox(); n != 1 {
		t.Errorf("%d rows", n)
	}
	for range 10 {
		if got := r.send(httptest.NewRequest(http.MethodPost, "/hooks/open", strings.NewReader("{}"))); got.status != 202 {
			t.Errorf("unsigned: %+v", got)
		}
	}
	r.comeAgain(r.send(httptest.NewRequest(http.MethodPost, "/hooks/open", strings.NewReader("{}"))), 6*time.Second)
}

// comeAgain checks that a sender was told to wait for what is left of a time; some of it may have passed by now.
func (r *webhookHarness) comeAgain(got webhookReply, wait time.Duration) {
	r.t.Helper()
	told, err := time.ParseDuration(got.header.Get("Retry-After") + "s")
	if got.status != http.StatusTooManyRequests || err != nil || told > wait || told < wait/2 {
		r.t.Errorf("%+v, told to come again in %v, want %v", got, told, wait)
	}
}

func TestSafeMode(t *testing.T) {
	r := newWebhookHarness(t)
	secret := r.add("a", webhook.Texts{Prompt: "Look."})
	if err := r.store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.Run("INSERT INTO settings (key, value) VALUES ('safe_mode', 'a test')")
	}); err != nil {
		t.Fatal(err)
	}
	got := r.send(r.signed("a", secret, "m1", []byte("{}")))
	if got.status != 503 || got.header.Get("Retry-After") != "60" || strings.Contains(got.body, "a test") || r.inbox() != 0 {
		t.Errorf("%+v", got)
	}
	if err := r.store.Settings.LeaveSafeMode(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.send(r.signed("a", secret, "m1", []byte("{}"))); got.status != 202 {
		t.Errorf("afterwards: %+v", got)
	}
}

// TestFullDisk fills the database up for real: the sender is to come again, and nothing is half stored.
func TestFullDisk(t *testing.T) {
	r := newWebhookHarness(t)
	secret := r.add("a", webhook.Texts{Prompt: "Look at {{.body}}."})
	limit := func(pages int) {
		t.Helper()
		if err := r.store.Write(t.Context(), func(tx *store.Tx) error { return tx.Run(fmt.Sprintf("PRAGMA max_page_count = %d", pages)) }); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // no page more than there are
	full := webhookReply{}
	body := []byte(`"` + strings.Repeat("x", 100<<10) + `"`)
	for i := range 20 {
		if full = r.send(r.signed("a", secret, fmt.Sprint("m", i), body)); full.status != 202 {
			break
		}
	}
	if full.status != 503 || full.header.Get("Retry-After") == "" || r.inbox() != r.count("SELECT count(*) FROM fires") {
		t.Errorf("%+v, %d inputs, %d fires", full, r.inbox(), r.count("SELECT count(*) FROM fires"))
	}
	limit(1 << 30)
	if got := r.send(r.signed("a", secret, "later", body)); got.status != 202 {
		t.Errorf("with room again: %+v", got)
	}
}

// TestThousandAtOnce: the same delivery a thousand times at once is one row, and everybody is told its number.
func TestThousandAtOnce(t *testing.T) {
	r := newWebhookHarness(t)
	secret := r.add("a", webhook.Texts{Prompt: "Look.", PerMinute: "6000"})
	var wg sync.WaitGroup
	replies := make([]webhookReply, 1000)
	for i := range replies {
		req := r.signed("a", secret, "m1", []byte(`{"a":1}`))
		wg.Go(func() { replies[i] = r.send(req) })
	}
	wg.Wait()
	fresh := 0
	for _, got := range replies {
		if got.status == 202 {
			fresh++
		}
		if got.body != replies[0].body || got.status >= 300 {
			t.Fatalf("%+v, another was told %+v", got, replies[0])
		}
	}
	if fresh != 1 || r.inbox() != 1 || r.count("SELECT count(*) FROM fires") != 1 {
		t.Errorf("%d were told that theirs is new; %d inputs, %d fires", fresh, r.inbox(), r.count("SELECT count(*) FROM fires"))
	}
}

// TestGreetings: what only tries the address is answered, if it is signed, and starts nothing.
func TestGreetings(t *testing.T) {
	r := newWebhookHarness(t)
	hub := r.add("hub", webhook.Texts{Prompt: "Look.", Kind: "github"})
	slack := r.add("slack", webhook.Texts{Prompt: "Look.", Kind: "slack"})
	challenge := []byte(`{"type":"url_verification","challenge":"3eZbrw1aB","token":"x"}`)
	if got := r.send(r.signed("hub", hub, "d1", []byte(`{"zen":"x"}`), "X-GitHub-Event", "ping")); got.status != 200 || !strings.Contains(got.body, "starts no turn") {
		t.Errorf("a ping: %+v", got)
	}
	if got := r.send(r.signed("slack", slack, "", challenge)); got.status != 200 || got.body != `{"challenge":"3eZbrw1aB"}` {
		t.Errorf("a challenge: %+v", got)
	}
	if got := r.send(r.signed("slack", hub, "", challenge)); got.status != 401 || strings.Contains(got.body, "3eZ") {
		t.Errorf("a stranger's challenge: %+v", got)
	}
	if n := r.inbox(); n != 0 {
		t.Errorf("%d rows", n)
	}
	click := []byte("payload=%7B%22type%22%3A%22block_actions%22%7D")
	if got := r.send(r.signed("slack", slack, "", click, "Content-Type", "application/x-www-form-urlencoded")); got.status != 200 || r.inbox() != 1 {
		t.Errorf("a click: %+v, %d rows", got, r.inbox())
	}
}

// TestShortSecrets: a secret that can be guessed is refused wherever it is given, and one that has become short lets nobody in.
func TestShortSecrets(t *testing.T) {
	r := newWebhookHarness(t)
	r.secrets["env:GOOD"], r.secrets["env:SHORT"] = "sixteen bytes ok", "fifteen bytes.."
	for what, args := range map[string]webhook.Texts{
		"secret":     {Prompt: "Look.", Kind: "github", Secret: "env:SHORT"},
		"old secret": {Prompt: "Look.", Kind: "github", Secret: "env:GOOD", OldSecret: "env:SHORT"},
		"decoded":    {Prompt: "Look.", Kind: "standard", Secret: "whsec_c2V2ZW50ZWVu"},
	} {
		_, err := r.Add(t.Context(), "a", args)
		if f, ok := event.AsFault(err); !ok || f.Kind != event.Invalid || !strings.Contains(f.Text, "want at least 16") || strings.Contains(f.Text, "fifteen") {
			t.Errorf("%s: %v", what, err)
		}
	}
	r.add("a", webhook.Texts{Prompt: "Look.", Kind: "github", Secret: "env:GOOD"})
	if _, err := r.Rotate(t.Context(), "a", api.WebhookRotation{Secret: "env:SHORT"}); err == nil {
		t.Error("a short secret was taken in the place of a good one")
	}
	off, err := r.Sync(t.Context(), []triggers.Wanted{{Name: "c", Decode: webhookSection(webhook.Draft{Prompt: "Look.", Kind: "sha256", Secret: "env:SHORT"})}})
	if err != nil || len(off) != 1 || !strings.HasPrefix(off[0], "hooks.c is off: ") || !strings.Contains(off[0], "15 bytes: want at least 16") {
		t.Errorf("in the config: %q %v", off, err)
	}
	sum := hmac.New(sha256.New, []byte("fifteen bytes.."))
	sum.Write([]byte("{}"))
	forged := httptest.NewRequest(http.MethodPost, "/hooks/c", strings.NewReader("{}"))
	forged.Header.Set("X-Signature-256", "sha256="+hex.EncodeToString(sum.Sum(nil)))
	if got := r.send(forged); got.status != 503 || r.inbox() != 0 {
		t.Errorf("who has guessed it: %+v", got)
	}
}

// TestLostSecret: a secret that cannot be found is no fault of the sender, and is not looked for at each request.
func TestLostSecret(t *testing.T) {
	r := newWebhookHarness(t)
	r.secrets["keyring:hook"] = "It's a Secret to Everybody"
	r.add("a", webhook.Texts{Prompt: "Look.", Kind: "github", Secret: "keyring:hook"})
	r.lost.Store(true)
	before := r.asked.Load()
	for range 5 {
		if got := r.send(r.signed("a", "It's a Secret to Everybody", "d1", []byte("{}"))); got.status != 503 || got.header.Get("Retry-After") == "" {
			t.Fatalf("%+v", got)
		}
	}
	if n := r.asked.Load() - before; n != 1 {
		t.Errorf("the secret was looked for %d times", n)
	}
}
