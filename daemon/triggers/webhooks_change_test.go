package triggers_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/triggers"
	"hob/scheduler/webhook"
)

// TestRotate: the old secret is taken until the change is done, never longer.
func TestRotate(t *testing.T) {
	r := newWebhookHarness(t)
	first := r.add("a", webhook.Texts{Prompt: "Look."})
	second := r.rotate("a", api.WebhookRotation{})
	takes := func(secret string) bool {
		t.Helper()
		got := r.send(r.signed("a", secret, "x"+secret[6:20], []byte("{}")))
		if got.status != 401 && got.status >= 300 {
			t.Fatalf("%+v", got)
		}
		return got.status < 300
	}
	if first == second || !takes(first) || !takes(second) {
		t.Errorf("taken: %v %v", takes(first), takes(second))
	}
	// A third would take the first one away from those that have no other yet.
	_, err := r.Rotate(t.Context(), "a", api.WebhookRotation{})
	if f, ok := event.AsFault(err); !ok || f.Kind != event.Clash || f.Hint != "when its senders have the new one: hob hook rotate --done a" || !takes(first) || !takes(second) {
		t.Errorf("a second change: %v", err)
	}
	if made := r.rotate("a", api.WebhookRotation{Done: "true"}); made != "" || takes(first) || !takes(second) {
		t.Errorf("done: %q, taken: %v %v", made, takes(first), takes(second))
	}
	if third := r.rotate("a", api.WebhookRotation{}); third == second || !takes(second) || !takes(third) {
		t.Error("after the first change is done, there is no other")
	}
}

// TestSecretsAreNowhere: beside their own column nothing has a secret in it: no row, no event, no answer, no log.
func TestSecretsAreNowhere(t *testing.T) {
	r := newWebhookHarness(t)
	secret := r.add("a", webhook.Texts{Prompt: "Look at {{.header.webhook-signature}}."})
	r.send(r.signed("a", secret, "m1", []byte(`{"x":1}`)))
	r.send(r.signed("a", "whsec_"+strings.Repeat("QUJD", 8), "m2", []byte(`{"x":1}`)))
	list, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	row, err := r.Named(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	paused, err := r.Pause(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal([]any{list, row, paused})
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimPrefix(secret, "whsec_")
	if strings.Contains(string(shown)+r.log.String(), key) || !strings.Contains(r.log.String(), "the signature is wrong") {
		t.Errorf("%s\n%s", shown, r.log)
	}
	for _, query := range []string{
		"SELECT count(*) FROM triggers WHERE instr(body, ?)", "SELECT count(*) FROM events WHERE instr(data, ?)", "SELECT count(*) FROM inbox WHERE instr(parts || ext_id || sender, ?)",
		"SELECT count(*) FROM fires WHERE instr(key || reason, ?)",
	} {
		if n := r.count(query, key); n != 0 {
			t.Errorf("%s: %d", query, n)
		}
	}
	if n := r.count("SELECT count(*) FROM triggers WHERE secret = ?", secret); n != 1 {
		t.Errorf("the secret stands in %d rows", n)
	}
}

// TestAddFaults: what cannot be is told before anything is made.
func TestAddFaults(t *testing.T) {
	r := newWebhookHarness(t)
	r.secrets["env:BAD"] = "not base64!"
	r.add("taken", webhook.Texts{Prompt: "Look."})
	for _, c := range []struct {
		name string
		in   webhook.Texts
		kind event.FaultKind
		want string
	}{
		{"taken", webhook.Texts{}, event.Clash, "there is a webhook named taken already"},
		{"a b", webhook.Texts{}, event.Invalid, `name "a b"`},
		{"b", webhook.Texts{Kind: "md5"}, event.Invalid, `kind "md5"`},
		{"b", webhook.Texts{Prompt: "{{if}}"}, event.Invalid, "prompt: {{if}} is no field"},
		{"b", webhook.Texts{Deliver: "nowhere:1"}, event.Missing, "there is no channel nowhere"},
		{"b", webhook.Texts{Allow: "fly"}, event.Invalid, `allow: right "fly"`},
		{"b", webhook.Texts{Secret: "env:BAD"}, event.Invalid, "secret: the secret of the webhook cannot be used"},
		{"b", webhook.Texts{Kind: "stripe"}, event.Invalid, "secret: Stripe makes the secret itself and takes no other"},
		{"b", webhook.Texts{Kind: "slack"}, event.Invalid, "secret: Slack makes the secret itself and takes no other"},
		{"b", webhook.Texts{Secret: "a\nb"}, event.Invalid, "secret: it has more than one line"},
		{"b", webhook.Texts{Kind: "none", Secret: "x"}, event.Invalid, "secret: kind none has none"},
		{"b", webhook.Texts{PerMinute: "many"}, event.Invalid, `per_minute "many"`},
		{"b", webhook.Texts{MaxBody: "0"}, event.Invalid, `max_body "0"`},
		{"b", webhook.Texts{Tolerance: "soon"}, event.Invalid, `tolerance "soon"`},
		{"b", webhook.Texts{Header: "X-S"}, event.Invalid, "header: only"},
	} {
		c.in.Prompt = cmp.Or(c.in.Prompt, "Look.")
		_, err := r.Add(t.Context(), c.name, c.in)
		if f, ok := event.AsFault(err); !ok || f.Kind != c.kind || !strings.HasPrefix(f.Text, c.want) {
			t.Errorf("%s %v: %v, want %q", c.name, c.in, err, c.want)
		}
	}
	r.add("none", webhook.Texts{Prompt: "Look.", Kind: "none"})
	_, resumed := r.Resume(t.Context(), "taken")
	_, rotated := r.Rotate(t.Context(), "none", api.WebhookRotation{})
	_, removed := r.Remove(t.Context(), "gone")
	for want, err := range map[string]error{"webhook taken is receiving already": resumed, "webhook none has no secret": rotated, "there is no webhook gone": removed} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if n := r.count("SELECT count(*) FROM triggers"); n != 2 {
		t.Errorf("%d webhooks", n)
	}
}

// TestTrial: a test request takes the same path as a real one, for every kind, also with its own headers and body.
func TestTrial(t *testing.T) {
	r := newWebhookHarness(t)
	body := "any text"
	for _, kind := range webhook.Kinds() {
		r.add(kind, webhook.Texts{Prompt: "Look.", Kind: kind})
		for _, c := range []struct {
			in   api.WebhookSample
			want int
		}{
			{api.WebhookSample{}, 202},
			{api.WebhookSample{Body: &body, Headers: "X-Request-Id: " + kind}, 202},
			{api.WebhookSample{Headers: "Content-Type: image/png"}, 415},
		} {
			got, err := r.Test(t.Context(), kind, c.in)
			if err != nil || got.Status != c.want || (got.Inbox != 0) != (c.want == 202) || got.URL != r.server.URL+"/hooks/"+kind || !json.Valid(got.Answer) {
				t.Errorf("%s %v: %+v %v", kind, c.in, got, err)
			}
		}
	}
	if _, err := r.Test(t.Context(), "none", api.WebhookSample{Headers: "no colon"}); err == nil || !strings.Contains(err.Error(), "is not NAME: VALUE") {
		t.Errorf("a header without a colon: %v", err)
	}
}

// webhookSection decodes [hooks.NAME] as the config would.
func webhookSection(s webhook.Draft) func(any) error {
	return func(dst any) error {
		in := dst.(*webhook.Draft)
		in.Prompt, in.Secret, in.OldSecret, in.Kind = s.Prompt, s.Secret, s.OldSecret, cmp.Or(s.Kind, in.Kind)
		in.PerMinute = cmp.Or(s.PerMinute, in.PerMinute)
		return nil
	}
}

// TestTheBodyCountsByConfig (S10): a section that says nothing about it takes no second delivery with the same body, and one that says 0s does.
func TestTheBodyCountsByConfig(t *testing.T) {
	for want, once := range map[int]func(*webhook.Draft){200: func(*webhook.Draft) {}, 202: func(s *webhook.Draft) { s.Once = 0 }} {
		r := newWebhookHarness(t)
		r.secrets["env:A"] = strings.Repeat("s", 32)
		off, err := r.Sync(t.Context(), []triggers.Wanted{{Name: "a", Decode: func(dst any) error {
			in := dst.(*webhook.Draft)
			in.Prompt, in.Kind, in.Secret = "Look.", "github", "env:A"
			once(in)
			return nil
		}}})
		if err != nil || len(off) > 0 {
			t.Fatal(off, err)
		}
		first := r.send(r.signed("a", r.secrets["env:A"], "a", []byte("{}")))
		if second := r.send(r.signed("a", r.secrets["env:A"], "b", []byte("{}"))); first.status != 202 || second.status != want {
			t.Errorf("%+v, then %+v: want %d", first, second, want)
		}
	}
}

func TestWebhooksOfTheConfig(t *testing.T) {
	r := newWebhookHarness(t)
	r.secrets["env:A"], r.secrets["env:B"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_"+strings.Repeat("QUJD", 8)
	sync := func(want int, list ...triggers.Wanted) string {
		t.Helper()
		off, err := r.Sync(t.Context(), list)
		if err != nil || len(off) != want {
			t.Fatalf("%q %v", off, err)
		}
		return strings.Join(off, "\n")
	}
	one := webhook.Draft{Prompt: "Look.", Secret: "env:A"}
	sync(0, triggers.Wanted{Name: "a", Decode: webhookSection(one)})
	before := r.hook("a")
	if got := r.send(r.signed("a", r.secrets["env:A"], "m1", []byte("{}"))); got.status != 202 || before.Origin != "config" {
		t.Fatalf("%+v %+v", got, before)
	}
	r.do(r.Pause, "a")
	sync(0, triggers.Wanted{Name: "a", Decode: webhookSection(one)})
	if h := r.hook("a"); h.ID != before.ID || !h.Paused {
		t.Errorf("a section that did not change: %+v", h)
	}
	r.do(r.Resume, "a")
	two := one
	two.Prompt, two.Secret, two.OldSecret = "Look twice.", "env:B", "env:A"
	sync(0, triggers.Wanted{Name: "a", Decode: webhookSection(two)})
	if h := r.hook("a"); h.ID != before.ID || h.Prompt != "Look twice." || !h.Created.Equal(before.Created) {
		t.Errorf("a section that changed: %+v", h)
	}
	for i, ref := range []string{"env:A", "env:B"} {
		if got := r.send(r.signed("a", r.secrets[ref], fmt.Sprint("k", i), []byte("{}"))); got.status != 202 {
			t.Errorf("%s: %+v", ref, got)
		}
	}
	_, err := r.Remove(t.Context(), "a")
	if f, ok := event.AsFault(err); !ok || f.Kind != event.Refused || !strings.Contains(f.Hint, "[hooks.a]") {
		t.Errorf("a config hook was removed: %v", err)
	}
	if off := sync(1, triggers.Wanted{Name: "a", Decode: webhookSection(webhook.Draft{Prompt: "Look."})}); !strings.HasPrefix(off, "hooks.a is off: secret: it is missing") || r.hook("a").Prompt != "Look twice." {
		t.Errorf("a section with a mistake: %s", off)
	}
	if off := sync(1, triggers.Wanted{Name: "a", Decode: webhookSection(webhook.Draft{Prompt: "Look.", Kind: "none", PerMinute: 6001})}); off != "hooks.a is off: per_minute: want 1 to 6000, found 6001" {
		t.Error(off)
	}
	if off := sync(1, triggers.Wanted{Name: "a", Decode: func(any) error { return errors.New("line 3") }}); off != "hooks.a is off: line 3" {
		t.Error(off)
	}
	r.add("mine", webhook.Texts{Prompt: "Look."})
	if off := sync(1, triggers.Wanted{Name: "mine", Decode: webhookSection(one)}); !strings.Contains(off, "there is a webhook named mine already, made at run time") {
		t.Error(off)
	}
	spoilt := r.hook("mine")
	spoilt.Broken, spoilt.Failures = "its row cannot be read", 3
	if _, err := r.store.Webhooks.Put(t.Context(), spoilt, "x"); err != nil {
		t.Fatal(err)
	}
	sync(0, triggers.Wanted{Name: "mine", Decode: webhookSection(one)})
	if h := r.hook("mine"); h.ID != spoilt.ID || h.Broken != "" || h.Failures != 0 || h.Origin != triggers.OriginConfig || h.Created.IsZero() {
		t.Errorf("a section in the place of a spoilt row: %+v", h)
	}
	sync(0)
	r.add("mine", webhook.Texts{Prompt: "Look."})
	if list, err := r.List(t.Context()); err != nil || len(list) != 1 || list[0].Name != "mine" {
		t.Errorf("a section that is gone: %+v %v", list, err)
	}
}

// TestSyncWithALockedKeyring: a hob that starts before the keyring is open keeps the webhook, says what is wrong, and lets its senders come again.
func TestSyncWithALockedKeyring(t *testing.T) {
	r := newWebhookHarness(t)
	r.secrets["keyring:a"] = "It's a Secret to Everybody"
	r.lost.Store(true)
	off, err := r.Sync(t.Context(), []triggers.Wanted{{Name: "a", Decode: webhookSection(webhook.Draft{Prompt: "Look.", Kind: "github", Secret: "keyring:a"})}})
	if err != nil || len(off) != 1 || !strings.Contains(off[0], "the keyring is locked") {
		t.Errorf("%q %v", off, err)
	}
	if got := r.send(r.signed("a", r.secrets["keyring:a"], "d1", []byte("{}"))); got.status != http.StatusServiceUnavailable {
		t.Errorf("%+v", got)
	}
}

// TestOffWithoutItsSecret: a webhook whose secret is not there is listed with the reason, and without it once the secret is there again. A
// program or a keyring is not asked because webhooks are listed.
func TestOffWithoutItsSecret(t *testing.T) {
	r := newWebhookHarness(t)
	for _, ref := range []string{"env:A", "keyring:b", "cmd:c"} {
		r.secrets[ref] = "It's a Secret to Everybody"
		r.add(ref[:3], webhook.Texts{Prompt: "Look.", Kind: "github", Secret: ref})
	}
	r.add("open", webhook.Texts{Prompt: "Look.", Kind: "none"})
	reasons := func() (list []string) {
		rows, err := r.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			one, err := r.Named(t.Context(), row.Name)
			if err != nil || one.Off != row.Off {
				t.Errorf("%s is listed with %q and shown with %q, %v", row.Name, row.Off, one.Off, err)
			}
			list = append(list, row.Name+" "+row.Off)
		}
		return list
	}
	const lost = " secret: the keyring is locked"
	r.lost.Store(true)
	before := r.asked.Load()
	if got, want := reasons(), []string{"cmd ", "env" + lost, "key ", "open "}; !slices.Equal(got, want) || r.asked.Load() != before+1 {
		t.Errorf("listing asks %d times: %q", r.asked.Load()-before, got)
	}
	r.send(r.signed("key", "It's a Secret to Everybody", "d1", []byte("{}")))
	if got, want := reasons(), []string{"cmd ", "env" + lost, "key" + lost, "open "}; !slices.Equal(got, want) {
		t.Errorf("a sender came: %q", got)
	}
	r = newWebhookHarness(t)
	r.add("env", webhook.Texts{Prompt: "Look.", Kind: "github", Secret: "It's a Secret to Everybody"})
	if got := reasons(); !slices.Equal(got, []string{"env "}) {
		t.Errorf("its secret is there: %q", got)
	}
}

// TestAllThatIsWrongWithASection: one line for each key, from each of the checks.
func TestAllThatIsWrongWithASection(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	in := webhook.Draft{Kind: "x", Secret: "env:A", Prompt: "{{", Deliver: "nowhere", Rights: []string{"exec"}, PerMinute: 0, MaxBody: 1, Tolerance: time.Minute}
	decode := func(to any) error {
		*to.(*webhook.Draft) = in
		return nil
	}
	_, err := triggers.CheckWebhook("a", decode, now)
	if err == nil {
		t.Fatal("it is taken")
	}
	var keys []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		keys = append(keys, line[:strings.IndexAny(line, ": ")])
	}
	if want := []string{"allow", "deliver", "kind", "per_minute", "prompt"}; !slices.Equal(slices.Sorted(slices.Values(keys)), want) {
		t.Errorf("%v", err)
	}
	if got := triggers.WebhookSecrets(decode); len(got) != 1 || got["secret"] != "env:A" {
		t.Errorf("%v", got)
	}
}
