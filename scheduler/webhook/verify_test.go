package webhook_test

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/scheduler/webhook"
)

// vector is a request whose signature somebody else has worked out.
type vector struct {
	from    string
	hook    webhook.Hook
	secret  string
	headers map[string]string
	body    string
	at      int64
}

// vectors are those that the documents of the protocols print; Stripe's prints none, so that one was made with openssl.
func vectors() []vector {
	return []vector{
		{
			"Standard Webhooks, the test of its libraries",
			webhook.Hook{Kind: webhook.Standard},
			"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
			map[string]string{"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330", "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
			`{"test": 2432232314}`, 1614265330,
		},
		{
			"the same under its older names",
			webhook.Hook{Kind: webhook.Standard},
			"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
			map[string]string{"svix-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "svix-timestamp": "1614265330", "svix-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
			`{"test": 2432232314}`, 1614265330,
		},
		{
			"GitHub, Validating webhook deliveries",
			webhook.Hook{Kind: webhook.GitHub},
			"It's a Secret to Everybody",
			map[string]string{"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
			"Hello, World!", 0,
		},
		{
			"Slack, Verifying requests",
			webhook.Hook{Kind: webhook.Slack},
			"8f742231b10e8888abcd99yyyzzz85a5",
			map[string]string{"X-Slack-Request-Timestamp": "1531420618", "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"},
			"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner" +
				"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
				"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c", 1531420618,
		},
		{
			"Stripe",
			webhook.Hook{Kind: webhook.Stripe},
			"whsec_test_secret",
			map[string]string{"Stripe-Signature": "t=1600000000,v1=ff5e34f675feda29d20aa8c342f4418db467551b8e6a1c002339267f80ebb893"},
			`{"id": "evt_test_webhook", "object": "event"}`, 1600000000,
		},
		{
			"a plain form, as GitHub's",
			webhook.Hook{Kind: webhook.SHA256},
			"It's a Secret to Everybody",
			map[string]string{"X-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
			"Hello, World!", 0,
		},
		{
			"a plain form without its name, in a header of its own",
			webhook.Hook{Kind: webhook.SHA256, Header: "Linear-Signature"},
			"It's a Secret to Everybody",
			map[string]string{"Linear-Signature": "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
			"Hello, World!", 0,
		},
	}
}

func (v vector) request() webhook.Request {
	head := http.Header{}
	for name, value := range v.headers {
		head.Set(name, value)
	}
	return webhook.Request{Header: head, Body: []byte(v.body), At: time.Unix(v.at, 0)}
}

func (v vector) verify(r webhook.Request, secrets ...string) error {
	h := v.hook
	h.Tolerance = webhook.DefaultTolerance
	return h.Verify(append(secrets, v.secret), r)
}

func refused(err error) bool {
	return errors.Is(err, webhook.ErrUnsigned) || errors.Is(err, webhook.ErrForged) || errors.Is(err, webhook.ErrStale)
}

func TestPublishedVectors(t *testing.T) {
	for _, v := range vectors() {
		if err := v.verify(v.request()); err != nil {
			t.Errorf("%s: %v", v.from, err)
		}
		other := v
		other.secret += "QUFB" // no zeros: HMAC fills a short key up with them
		if err := other.verify(v.request()); !errors.Is(err, webhook.ErrForged) {
			t.Errorf("%s, another secret: %v", v.from, err)
		}
	}
}

// TestEveryBit flips each bit of the body and of each header that the form knows.
func TestEveryBit(t *testing.T) {
	for _, v := range vectors() {
		for i := range len(v.body) * 8 {
			r := v.request()
			r.Body[i/8] ^= 1 << (i % 8)
			if err := v.verify(r); !errors.Is(err, webhook.ErrForged) {
				t.Fatalf("%s: bit %d of the body: %v", v.from, i, err)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v.headers)) {
			for i := range len(v.headers[name]) * 8 {
				value := []byte(v.headers[name])
				value[i/8] ^= 1 << (i % 8)
				r := v.request()
				r.Header.Set(name, string(value))
				if err := v.verify(r); !refused(err) {
					t.Errorf("%s: %s: %q: %v", v.from, name, value, err)
				}
			}
		}
	}
}

// TestShortened cuts the body and each header, and leaves each header out or sends it twice.
func TestShortened(t *testing.T) {
	for _, v := range vectors() {
		for n := range len(v.body) {
			r := v.request()
			r.Body = r.Body[:n]
			if err := v.verify(r); !errors.Is(err, webhook.ErrForged) {
				t.Fatalf("%s: %d bytes: %v", v.from, n, err)
			}
		}
		for name, value := range v.headers {
			for n := range len(value) {
				r := v.request()
				r.Header.Set(name, value[:n])
				if err := v.verify(r); !refused(err) {
					t.Errorf("%s: %s: %q: %v", v.from, name, value[:n], err)
				}
			}
			without, twice := v.request(), v.request()
			without.Header.Del(name)
			twice.Header.Add(name, value)
			if a, b := v.verify(without), v.verify(twice); !errors.Is(a, webhook.ErrUnsigned) || !errors.Is(b, webhook.ErrUnsigned) {
				t.Errorf("%s: without %s: %v; twice: %v", v.from, name, a, b)
			}
		}
	}
}

// TestWindow moves the clock around the sender's timestamp.
func TestWindow(t *testing.T) {
	for _, v := range vectors() {
		if v.at == 0 {
			continue
		}
		for off, good := range map[time.Duration]bool{
			0: true, 5 * time.Minute: true, -5 * time.Minute: true, 5*time.Minute + time.Second: false, -5*time.Minute - time.Second: false,
			24 * 365 * time.Hour: false, -24 * 365 * time.Hour: false,
		} {
			r := v.request()
			r.At = r.At.Add(off)
			if err := v.verify(r); good && err != nil || !good && !errors.Is(err, webhook.ErrStale) {
				t.Errorf("%s, the clock %v ahead: %v", v.from, off, err)
			}
		}
	}
}

// TestRotation: a request is let in by any of the secrets, and by any of its signatures.
func TestRotation(t *testing.T) {
	for _, v := range vectors() {
		if err := v.verify(v.request(), "whsec_bmV3IHNlY3JldCBvZiB0d2VudHktZm91cg=="); err != nil {
			t.Errorf("%s: the older secret: %v", v.from, err)
		}
	}
	many := vectors()[0]
	right := many.headers["webhook-signature"]
	for _, list := range []string{"v1,AAAA " + right, right + " v1,AAAA", "v1a,AAAA v2,x " + right, "  " + right + "  "} {
		many.headers["webhook-signature"] = list
		if err := many.verify(many.request()); err != nil {
			t.Errorf("%q: %v", list, err)
		}
	}
	for _, list := range []string{strings.Replace(right, "v1,", "v1a,", 1), strings.Replace(right, "v1,", "", 1), "v1,", "v1"} {
		many.headers["webhook-signature"] = list
		if err := many.verify(many.request()); !refused(err) {
			t.Errorf("%q: %v", list, err)
		}
	}
	stripe := vectors()[4]
	right = stripe.headers["Stripe-Signature"]
	for list, good := range map[string]bool{
		strings.Replace(right, ",", ",v1=00,", 1): true, right + ",v0=6ffb": true, right + ",v1=00": true,
		right + ",t=1600000001": false, right + ",t=1600000000": false, strings.Replace(right, "v1=", "v0=", 1): false, strings.Replace(right, "t=", "t=+", 1): false,
	} {
		stripe.headers["Stripe-Signature"] = list
		if err := stripe.verify(stripe.request()); (err == nil) != good || !good && !refused(err) {
			t.Errorf("%q: %v", list, err)
		}
	}
}

// What is signed is joined by full stops: nothing may move from one part into the next.
func TestPartsCannotBeMoved(t *testing.T) {
	h := webhook.Hook{Kind: webhook.Standard, Tolerance: webhook.DefaultTolerance}
	secret, now := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", time.Unix(1614265330, 0)
	r := webhook.Request{Header: http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {"1500000000"}}, Body: []byte("1614265330.{}"), At: now}
	if err := h.Sign(secret, r, ""); err != nil {
		t.Fatal(err)
	}
	r.Header["Webhook-Id"], r.Header["Webhook-Timestamp"], r.Body = []string{"msg_1.1500000000"}, []string{"1614265330"}, []byte("{}")
	if err := h.Verify([]string{secret}, r); !refused(err) {
		t.Errorf("an old message in new clothes: %v", err)
	}
}

func TestSecrets(t *testing.T) {
	made := webhook.NewSecret(bytes.Repeat([]byte{7}, 24))
	if made != "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH" {
		t.Error(made)
	}
	for _, c := range []struct {
		kind   webhook.Kind
		secret string
		good   bool
	}{
		{webhook.Standard, made, true},
		{webhook.Standard, "not base64!", false},
		{webhook.Standard, "whsec_", false},
		{webhook.Standard, "", false},
		{webhook.Standard, "whsec_MTIzNDU2Nzg5MDEyMzQ1", false}, // 15 bytes
		{webhook.Standard, "whsec_MTIzNDU2Nzg5MDEyMzQ1Ng==", true},
		{webhook.GitHub, "fifteen letters", false},
		{webhook.GitHub, "sixteen letters.", true},
		{webhook.Stripe, "", false},
		{webhook.Stripe, "whsec_123456789", false},
		{webhook.Stripe, "whsec_1234567890", true}, // its text is the key, the prefix included
		{webhook.Slack, "8f742231b10e8888abcd99yyyzzz85a5", true},
	} {
		if err := webhook.CheckSecret(c.kind, c.secret); (err == nil) != c.good || !c.good && !errors.Is(err, webhook.ErrSecret) {
			t.Errorf("%s %q: %v", c.kind, c.secret, err)
		}
	}
	if err := (webhook.Hook{Kind: webhook.GitHub}).Verify(nil, vectors()[2].request()); !errors.Is(err, webhook.ErrSecret) {
		t.Errorf("without a secret: %v", err)
	}
}

// TestSigned: what Sign signs, Verify lets in, for every kind; a header that is there is left alone.
func TestSigned(t *testing.T) {
	secret := webhook.NewSecret(bytes.Repeat([]byte{1}, 24))
	now := time.Unix(1700000000, 0)
	for _, kind := range webhook.Kinds() {
		h := webhook.Hook{Kind: webhook.Kind(kind), Tolerance: time.Minute}
		body, head := webhook.Sample(h.Kind, "evt_1")
		r := webhook.Request{Header: head, Body: body, At: now}
		if err := h.Sign(secret, r, "evt_1"); err != nil {
			t.Fatal(err)
		}
		if err := h.Verify([]string{secret}, r); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if id := h.Delivery(r); h.Kind != webhook.None && id != "evt_1" {
			t.Errorf("%s: the id is %q", kind, id)
		}
		again := r.Header.Clone()
		if err := h.Sign("whsec_b3RoZXIgb3RoZXIgb3RoZXIgb3RoZXI=", webhook.Request{Header: again, Body: body, At: now.Add(time.Hour)}, "evt_2"); err != nil {
			t.Fatal(err)
		}
		for name := range again {
			if again.Get(name) != r.Header.Get(name) {
				t.Errorf("%s: %s was changed", kind, name)
			}
		}
	}
}

func TestDelivery(t *testing.T) {
	long := strings.Repeat("x", 121)
	for _, c := range []struct {
		kind    webhook.Kind
		headers string
		body    string
		want    string
	}{
		{webhook.Standard, "Webhook-Id: msg_1", "", "msg_1"},
		{webhook.Standard, "Svix-Id: msg_2", "", "msg_2"},
		{webhook.GitHub, "X-GitHub-Delivery: 72d3162e-cc78-11e3-81ab-4c9367dc0958", `{"id":"no"}`, "72d3162e-cc78-11e3-81ab-4c9367dc0958"},
		{webhook.Slack, "X-Slack-Signature: v0=aa\nX-Slack-Request-Timestamp: 12", `{"event_id":"Ev1"}`, "Ev1"},
		{webhook.Slack, "X-Slack-Signature: v0=aa\nX-Slack-Request-Timestamp: 12", "payload=1", "12:v0=aa"},
		{webhook.Stripe, "Stripe-Signature: t=1,v1=aa", `{"id":"evt_1"}`, "evt_1"},
		{webhook.Stripe, "Stripe-Signature: t=1,v1=aa", `[]`, "1:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},
		{webhook.Stripe, "Stripe-Signature: v1=bb, t=1,v1=aa,v0=more", `[]`, "1:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},
		{webhook.SHA256, "Idempotency-Key: k1\nX-Request-Id: r1", "", "k1"},
		{webhook.None, "X-Request-Id: r1", "", "r1"},
		{webhook.None, "", `{"id":"x"}`, ""},
		{webhook.GitHub, "X-GitHub-Delivery: " + long, "", "sha256:79072a47bfaa54e6057a9ee21e0dea64b9edbfd160c4ccadbb657e64b6d22ee4"},
		{webhook.Slack, "", `{"event_id":"a\nb"}`, "sha256:7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78"},
	} {
		r := webhook.Request{Header: http.Header{}, Body: []byte(c.body)}
		for line := range strings.Lines(c.headers) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			r.Header.Set(name, value)
		}
		if got := (webhook.Hook{Kind: c.kind}).Delivery(r); got != c.want {
			t.Errorf("%s %q %s: %q, want %q", c.kind, c.headers, c.body, got, c.want)
		}
	}
}

func TestGreetings(t *testing.T) {
	slack := webhook.Request{Header: http.Header{}, Body: []byte(`{"token":"x","challenge":"3eZb","type":"url_verification"}`)}
	ping := webhook.Request{Header: http.Header{"X-Github-Event": {"ping"}}, Body: []byte(`{"zen":"Keep it logically awesome."}`)}
	if doc, ok := (webhook.Hook{Kind: webhook.Slack}).Greeting(slack); !ok || doc["challenge"] != "3eZb" {
		t.Errorf("Slack: %v", doc)
	}
	if doc, ok := (webhook.Hook{Kind: webhook.GitHub}).Greeting(ping); !ok || doc["pong"] == "" {
		t.Errorf("GitHub: %v", doc)
	}
	for _, kind := range []webhook.Kind{webhook.Standard, webhook.Stripe, webhook.SHA256, webhook.None} {
		for _, r := range []webhook.Request{slack, ping} {
			if doc, ok := (webhook.Hook{Kind: kind}).Greeting(r); ok {
				t.Errorf("%s: %v", kind, doc)
			}
		}
	}
}

// FuzzVerify: without the secret nothing gets in, whatever it says, and nothing breaks.
func FuzzVerify(f *testing.F) {
	for i, v := range vectors() {
		for _, value := range v.headers {
			f.Add(i, value, "1614265330", "msg_1", v.body)
		}
	}
	kinds := webhook.Kinds()
	f.Fuzz(func(t *testing.T, kind int, signature, at, id, body string) {
		h := webhook.Hook{Kind: webhook.Kind(kinds[(kind%5+5)%5]), Tolerance: time.Hour}
		seconds, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			seconds = 1
		}
		head := http.Header{}
		for _, name := range []string{"Webhook-Signature", "X-Hub-Signature-256", "X-Slack-Signature", "Stripe-Signature", "X-Signature-256"} {
			head.Set(name, signature)
		}
		head.Set("Webhook-Timestamp", at)
		head.Set("X-Slack-Request-Timestamp", at)
		head.Set("Webhook-Id", id)
		r := webhook.Request{Header: head, Body: []byte(body), At: time.Unix(seconds, 0)}
		if err := h.Verify([]string{"whsec_bm9ib2R5IGtub3dzIHRoaXMgb25l"}, r); !refused(err) {
			t.Errorf("%s let it in: %v", h.Kind, err)
		}
		h.Delivery(r)
		h.Greeting(r)
	})
}
