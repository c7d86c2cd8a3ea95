package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The reasons that a request is rejected.
var (
	ErrUnsigned = errors.New("the signature is missing")
	ErrForged   = errors.New("the signature is wrong")
	ErrStale    = errors.New("the timestamp is too far from now: a replay, or a wrong clock")
	ErrSecret   = errors.New("the secret of the webhook cannot be used")
)

// Request is a received request.
type Request struct {
	Header http.Header
	Body   []byte    // unchanged: signatures cover its bytes
	At     time.Time // time of receipt
}

// claim is the signature of a request: what is signed, how, and when.
type claim struct {
	content    [3]string // the signed text before the body, in parts, so that the body need not be copied
	signatures []string  // one valid signature is enough
	at         string    // Unix seconds; "": the form has none
	encode     func([]byte) string
}

// Verify checks that one of the secrets has signed the request, and that it is not a replay from outside the tolerance. All comparisons
// take constant time. The error is ErrUnsigned, ErrForged, ErrStale or, for an invalid secret, ErrSecret. A hook of the kind None accepts
// everybody.
//
// The forms are those of Standard Webhooks (github.com/standard-webhooks/standard-webhooks, spec, "Signature scheme"), of GitHub
// ("Validating webhook deliveries"), Slack ("Verifying requests from Slack") and Stripe ("Resolve webhook signature verification errors",
// "Verify manually").
func (h Hook) Verify(secrets []string, r Request) error {
	if h.Kind == None {
		return nil
	}
	c, ok := h.claim(r.Header)
	if !ok {
		return ErrUnsigned
	}
	keys, err := h.keys(secrets)
	if err != nil {
		return err
	}
	// A timestamp is signed as well, so its age counts only after the signature is proven.
	if !c.proven(keys, r.Body) {
		return ErrForged
	}
	return h.fresh(c.at, r.At)
}

// CheckSecret reports whether a secret can be used for a kind; the error wraps ErrSecret with the reason.
func CheckSecret(kind Kind, secret string) error {
	_, err := Hook{Kind: kind}.keys([]string{secret})
	return err
}

// leastSecret is the shortest key in bytes. A shorter one could be found by trying, from a single signature.
const leastSecret = 16

// secretPrefix is the prefix of secrets of Standard Webhooks and Stripe.
const secretPrefix = "whsec_"

// keys returns the bytes of the secrets. Standard Webhooks encodes them in base64 after the prefix; for the others the text is the key,
// including Stripe's prefix.
func (h Hook) keys(secrets []string) ([][]byte, error) {
	var keys [][]byte
	for _, s := range secrets {
		key := []byte(s)
		if h.Kind == Standard {
			var err error
			if key, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(s, secretPrefix)); err != nil {
				return nil, fmt.Errorf("%w: kind standard wants whsec_ and base64", ErrSecret)
			}
		}
		switch {
		case len(key) == 0:
			return nil, fmt.Errorf("%w: it is empty", ErrSecret)
		case len(key) < leastSecret:
			return nil, fmt.Errorf("%w: it has %d bytes: want at least %d, or strangers guess it", ErrSecret, len(key), leastSecret)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrSecret)
	}
	return keys, nil
}

// proven compares every signature with that of every key, in constant time.
func (c claim) proven(keys [][]byte, body []byte) bool {
	right := 0
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		for _, s := range c.content {
			mac.Write([]byte(s))
		}
		mac.Write(body)
		want := []byte(c.encode(mac.Sum(nil)))
		for _, s := range c.signatures {
			right |= subtle.ConstantTimeCompare([]byte(s), want)
		}
	}
	return right == 1
}

// fresh rejects a timestamp outside the tolerance.
func (h Hook) fresh(at string, now time.Time) error {
	if at == "" {
		return nil
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || time.Unix(seconds, 0).Sub(now).Abs() > h.Tolerance {
		return ErrStale
	}
	return nil
}

// claim reads the headers of the hook's kind; false if they are missing or malformed.
func (h Hook) claim(head http.Header) (claim, bool) {
	switch h.Kind {
	case Standard:
		return standardClaim(head)
	case GitHub:
		return plainClaim(only(head, "X-Hub-Signature-256"), true)
	case Slack:
		at, signature := only(head, "X-Slack-Request-Timestamp"), only(head, "X-Slack-Signature")
		s, ok := strings.CutPrefix(signature, "v0=")
		return claim{content: [3]string{"v0:", at, ":"}, signatures: []string{s}, at: at, encode: hex.EncodeToString}, ok && digits(at)
	case Stripe:
		return stripeClaim(only(head, "Stripe-Signature"))
	}
	return plainClaim(h.plain(head), false)
}

// standardClaim reads webhook-id, webhook-timestamp and webhook-signature ("v1,BASE64 v1,BASE64"), or the same under the older names
// svix-…. An id with a full stop is rejected: full stops join the signed parts, which could then be split differently.
func standardClaim(head http.Header) (claim, bool) {
	prefix := standardPrefix(head)
	id, at := only(head, prefix+"Id"), only(head, prefix+"Timestamp")
	c := claim{content: [3]string{id + ".", at, "."}, at: at, encode: base64.StdEncoding.EncodeToString}
	for _, s := range strings.Fields(only(head, prefix+"Signature")) {
		if s, ok := strings.CutPrefix(s, "v1,"); ok {
			c.signatures = append(c.signatures, s)
		}
	}
	return c, id != "" && !strings.Contains(id, ".") && digits(at) && len(c.signatures) > 0
}

// standardPrefix returns the first part of the names of the three headers.
func standardPrefix(head http.Header) string {
	if head.Get("Webhook-Id") == "" && head.Get("Svix-Id") != "" {
		return "Svix-"
	}
	return "Webhook-"
}

// stripeClaim reads "t=SECONDS,v1=HEX,v1=HEX". It ignores schemes other than v1.
// Several v1 are normal while the owner replaces the secret at Stripe.
func stripeClaim(header string) (claim, bool) {
	c := claim{encode: hex.EncodeToString}
	times := 0
	for item := range strings.SplitSeq(header, ",") {
		switch key, value, _ := strings.Cut(strings.TrimSpace(item), "="); key {
		case "t":
			c.at, c.content[0], c.content[1] = value, value, "."
			times++
		case "v1":
			c.signatures = append(c.signatures, value)
		}
	}
	return c, times == 1 && digits(c.at) && len(c.signatures) > 0
}

// plainClaim reads "sha256=HEX". Unless strict, HEX alone is enough.
func plainClaim(header string, strict bool) (claim, bool) {
	s, ok := strings.CutPrefix(header, "sha256=")
	return claim{signatures: []string{s}, encode: hex.EncodeToString}, s != "" && (ok || !strict)
}

// plain returns the signature header of the kind SHA256.
func (h Hook) plain(head http.Header) string {
	if h.Header != "" {
		return only(head, h.Header)
	}
	if s := only(head, "X-Signature-256"); s != "" {
		return s
	}
	return only(head, "X-Hub-Signature-256")
}

// only returns the value of a header that occurs exactly once, otherwise "".
func only(head http.Header, name string) string {
	if values := head.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// digits reports whether a text is a plain number of seconds, without a sign or space that a parser might ignore.
func digits(s string) bool {
	return s != "" && len(s) <= 12 && strings.Trim(s, "0123456789") == ""
}

// mostID is the longest sender's id that is kept unchanged, in bytes.
const mostID = 120

// Delivery returns the sender's id of a delivery, which identifies repetitions: webhook-id; X-GitHub-Delivery; the event's id in the body
// of Slack and Stripe (otherwise the time and signature, or for Stripe the time and a hash of the body); Idempotency-Key or X-Request-Id.
// "" means that there is none.
func (h Hook) Delivery(r Request) string {
	id := ""
	switch h.Kind {
	case Standard:
		id = only(r.Header, standardPrefix(r.Header)+"Id")
	case GitHub:
		id = only(r.Header, "X-GitHub-Delivery")
	case Slack:
		if id = member(r.Body, "event_id"); id == "" {
			id = only(r.Header, "X-Slack-Request-Timestamp") + ":" + only(r.Header, "X-Slack-Signature")
		}
	case Stripe:
		if id = member(r.Body, "id"); id == "" {
			c, _ := stripeClaim(only(r.Header, "Stripe-Signature"))
			sum := sha256.Sum256(r.Body) // the header is not an id: it may contain more than the signed parts
			id = c.at + ":" + hex.EncodeToString(sum[:])
		}
	default:
		if id = only(r.Header, "Idempotency-Key"); id == "" {
			id = only(r.Header, "X-Request-Id")
		}
	}
	// An unusual id is replaced by its hash, which identifies a repetition as well.
	if len(id) > mostID || clean(id, mostID) != id {
		sum := sha256.Sum256([]byte(id))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return id
}

// Content returns a hash of the body if the same body means the same delivery even with another id. Such senders do not sign the id, so a
// copy can be sent under another one. "" means that only the id counts.
func (h Hook) Content(r Request) string {
	if h.SameBody() == 0 {
		return ""
	}
	sum := sha256.Sum256(r.Body)
	return hex.EncodeToString(sum[:])
}

// member returns a text field of a JSON object, or "".
func member(body []byte, name string) string {
	var doc map[string]json.RawMessage
	var text string
	if json.Unmarshal(body, &doc) != nil || json.Unmarshal(doc[name], &text) != nil {
		return ""
	}
	return text
}

// Greeting returns the answer to a verified request that only tests the address: Slack's url_verification, with its challenge, and GitHub's
// ping. It returns false for an event.
func (h Hook) Greeting(r Request) (map[string]string, bool) {
	switch {
	case h.Kind == Slack && member(r.Body, "type") == "url_verification":
		return map[string]string{"challenge": member(r.Body, "challenge")}, true
	case h.Kind == GitHub && only(r.Header, "X-GitHub-Event") == "ping":
		return map[string]string{"pong": "the address and the secret are right; a ping starts no turn"}, true
	}
	return nil, false
}
