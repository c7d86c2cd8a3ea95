package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
)

// NewSecret encodes random bytes, at least 24, in the form of Standard Webhooks. The text is valid for every kind.
func NewSecret(random []byte) string { return secretPrefix + base64.StdEncoding.EncodeToString(random) }

// Sign sets the headers that a sender of the hook's kind would send. Existing headers stay, so that a test can send an old timestamp, a
// repeated id or a foreign signature. id identifies the delivery.
func (h Hook) Sign(secret string, r Request, id string) error {
	// Headers that the request has already stay.
	set := func(name, value string) {
		if r.Header.Get(name) == "" {
			r.Header.Set(name, value)
		}
	}
	now := strconv.FormatInt(r.At.Unix(), 10)
	signature := "Stripe-Signature"
	switch h.Kind {
	case None:
		return nil
	case Standard:
		set("Webhook-Id", id)
		set("Webhook-Timestamp", now)
		signature = "Webhook-Signature"
	case GitHub:
		set("X-GitHub-Delivery", id)
		set("X-GitHub-Event", "push")
		signature = "X-Hub-Signature-256"
	case Slack:
		set("X-Slack-Request-Timestamp", now)
		signature = "X-Slack-Signature"
	case SHA256:
		set("Idempotency-Key", id)
		if signature = h.Header; signature == "" {
			signature = "X-Signature-256"
		}
	}
	// The key is derived as in Verify, so a secret that cannot be used is noticed here, too.
	keys, err := h.keys([]string{secret})
	if err != nil {
		return err
	}
	set(signature, h.signature(keys[0], r, now))
	return nil
}

// signature returns the value of the signature header.
func (h Hook) signature(key []byte, r Request, now string) string {
	// sum signs a text and the body after it.
	sum := func(before string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(before))
		mac.Write(r.Body)
		return mac.Sum(nil)
	}
	switch h.Kind {
	case Standard:
		return "v1," + base64.StdEncoding.EncodeToString(sum(r.Header.Get("Webhook-Id")+"."+r.Header.Get("Webhook-Timestamp")+"."))
	case Slack:
		return "v0=" + hex.EncodeToString(sum("v0:"+r.Header.Get("X-Slack-Request-Timestamp")+":"))
	case Stripe:
		return "t=" + now + ",v1=" + hex.EncodeToString(sum(now+"."))
	}
	return "sha256=" + hex.EncodeToString(sum(""))
}

// Sample returns a small payload of the kind for a test. id identifies the delivery where the form has it in the body. No two samples have
// the same body.
func Sample(kind Kind, id string) (body []byte, head http.Header) {
	text := fmt.Sprintf(`{"id":%q,"event":"test","message":"hello","number":1}`, id) // no two samples have the same body
	switch kind {
	case GitHub:
		text = fmt.Sprintf(`{"ref":"refs/heads/main","after":%q,"repository":{"full_name":"you/example"},"head_commit":{"message":"hello"},"sender":{"login":"you"}}`, id)
	case Slack:
		text = fmt.Sprintf(`{"type":"event_callback","event_id":%q,"event":{"type":"message","channel":"C1","user":"U1","text":"hello"}}`, id)
	case Stripe:
		text = fmt.Sprintf(`{"id":%q,"object":"event","type":"invoice.paid","data":{"object":{"amount_paid":100,"currency":"eur"}}}`, id)
	}
	return []byte(text), http.Header{"Content-Type": {"application/json"}}
}
