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

// Why a request is not let in.
var (
	ErrUnsigned = errors.New("the signature is missing")
	ErrForged   = errors.New("the signature is wrong")
	ErrStale    = errors.New("the timestamp is too far from now: a replay, or a wrong clock")
	ErrSecret   = errors.New("the secret of the webhook cannot be used")
)

// Request is what somebody posted.
type Request struct {
	Header http.Header
	Body   []byte    // raw: signatures are over its bytes
	At     time.Time // when it came
}

// claim is what a request says of itself: what its sender has signed, how, and when.
type claim struct {
	content    [3]string // what is signed stands before the body: their sum, so that the body need not be copied
	signatures []string  // each is enough
	at         string    // Unix seconds; "": the form has none
	encode     func([]byte) string
}

// Verify checks that one of the secrets signed a request, and that it is not a replay from outside the window. All comparisons take the
// same time whatever is wrong. The error is ErrUnsigned, ErrForged, ErrStale or, for a secret that is none, ErrSecret. A hook of the kind
// None lets everybody in.
//
// The forms are those of Standard Webhooks (github.com/standard-webhooks/standard-webhooks, spec, "Signature scheme"), of GitHub
// ("Validating webhook deliveries"), Slack ("Verifying requests from Slack") and Stripe ("Resolve webhook signature verification errors",
// "Verify manually"), as their documents have them.
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
	if !c.proven(keys, r.Body) {
		return ErrForged
	}
	return h.fresh(c.at, r.At)
}

// CheckSecret says whether a secret can be used for a kind; ErrSecret wrapped with the reason.
func CheckSecret(kind Kind, secret string) error {
	_, err := Hook{Kind: kind}.keys([]string{secret})
	return err
}

// leastSecret is the shortest key that is used, in bytes: whoever has seen one signature can try out shorter ones at home.
const leastSecret = 16

// secretPrefix is what stands before the secrets of Standard Webhooks and of Stripe.
const secretPrefix = "whsec_"

// keys are the bytes of the secrets. Only Standard Webhooks writes them in base64, behind the prefix; for the others the text is the key,
// Stripe's prefix included.
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

// proven compares every signature with that of every key, and ends early for none.
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

// fresh refuses a timestamp outside the window.
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

// claim reads the headers of the hook's kind; false: they are not there, or are not what the form wants.
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
	default:
		return plainClaim(h.plain(head), false)
	}
}

// standardClaim reads webhook-id, webhook-timestamp and webhook-signature ("v1,BASE64 v1,BASE64"), or the same three under the older
// names svix-…. An id with a full stop is refused: what is signed is joined by them, and could be cut elsewhere.
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

func standardPrefix(head http.Header) string {
	if head.Get("Webhook-Id") == "" && head.Get("Svix-Id") != "" {
		return "Svix-"
	}
	return "Webhook-"
}

// stripeClaim reads "t=SECONDS,v1=HEX,v1=HEX"; other schemes than v1 are passed over.
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

// plainClaim reads "sha256=HEX"; bare: HEX alone is enough.
func plainClaim(header string, strict bool) (claim, bool) {
	s, ok := strings.CutPrefix(header, "sha256=")
	return claim{signatures: []string{s}, encode: hex.EncodeToString}, s != "" && (ok || !strict)
}

// plain is the header with the signature of the kind SHA256.
func (h Hook) plain(head http.Header) string {
	if h.Header != "" {
		return only(head, h.Header)
	}
	if s := only(head, "X-Signature-256"); s != "" {
		return s
	}
	return only(head, "X-Hub-Signature-256")
}

// only is the value of a header that stands there once, else "".
func only(head http.Header, name string) string {
	if values := head.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// digits reports whether a text is a plain number of seconds: no sign, no space, nothing else that a parser might pass over.
func digits(s string) bool {
	return s != "" && len(s) <= 12 && strings.Trim(s, "0123456789") == ""
}

// mostID is the longest id of a sender that is kept as it is, in bytes.
const mostID = 120

// Delivery is the sender's own id of a delivery, by which a second one of the same is known: webhook-id, X-GitHub-Delivery, the event's id in
// the body of Slack and Stripe (else its time and signature, or of Stripe its time and a hash of the body), or what Idempotency-Key or X-Request-Id say. "": it has none.
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
			sum := sha256.Sum256(r.Body) // the header is no name: it may hold more than what is signed
			id = c.at + ":" + hex.EncodeToString(sum[:])
		}
	default:
		if id = only(r.Header, "Idempotency-Key"); id == "" {
			id = only(r.Header, "X-Request-Id")
		}
	}
	if len(id) > mostID || clean(id, mostID) != id {
		sum := sha256.Sum256([]byte(id))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return id
}

// Content is a hash of the body, where the same body is the same delivery even if its id differs: the sender does not sign the id, so a copy
// of a delivery can be sent under another one. "": only the id counts.
func (h Hook) Content(r Request) string {
	if h.SameBody() == 0 {
		return ""
	}
	sum := sha256.Sum256(r.Body)
	return hex.EncodeToString(sum[:])
}

// member is a text at the top of a JSON object, "" when there is none.
func member(body []byte, name string) string {
	var doc map[string]json.RawMessage
	var text string
	if json.Unmarshal(body, &doc) != nil || json.Unmarshal(doc[name], &text) != nil {
		return ""
	}
	return text
}

// Greeting is the answer to a verified request that only tries the address: Slack's url_verification, whose challenge is to be sent
// back, and GitHub's ping. False: it is an event.
func (h Hook) Greeting(r Request) (map[string]string, bool) {
	switch {
	case h.Kind == Slack && member(r.Body, "type") == "url_verification":
		return map[string]string{"challenge": member(r.Body, "challenge")}, true
	case h.Kind == GitHub && only(r.Header, "X-GitHub-Event") == "ping":
		return map[string]string{"pong": "the address and the secret are right; a ping starts no turn"}, true
	}
	return nil, false
}
