package codex

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"hob/daemon/secret"
)

// unknownLife is how long a token is taken to live of which nobody says it.
const unknownLife = time.Hour

// errDamaged is that the vault holds something else than tokens.
var errDamaged = errors.New("what is kept are no tokens")

// tokens are what the vault keeps. The id token is not among them: what it says is enough, and keyrings are small.
type tokens struct {
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token"`
	Account string    `json:"account_id,omitempty"`
	Email   string    `json:"email,omitempty"`
	Until   time.Time `json:"until"` // when the access token ends
}

// lives reports whether the access token is good for a request.
func (t *tokens) lives(now time.Time) bool { return t != nil && !t.Until.Before(now.Add(margin)) }

// learn makes the tokens unreadable in logs.
func learn(r *secret.Redactor, t *tokens) {
	r.Add("codex access token", t.Access)
	r.Add("codex refresh token", t.Refresh)
}

// claims are what a token says of itself (RFC 7519). Nobody checks its signature: it comes from the server itself over TLS
// (OpenID Connect Core 1.0, section 3.1.3.7), and nothing is granted by it.
type claims struct {
	Email   string  `json:"email"`
	Expires float64 `json:"exp"`
	Auth    struct {
		Account string `json:"chatgpt_account_id"`
	} `json:"https://api.openai.com/auth"`
	Profile struct {
		Email string `json:"email"`
	} `json:"https://api.openai.com/profile"`
}

// claimsOf reads the claims of a token; none when it is opaque.
func claimsOf(token string) claims {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, ok := strings.Cut(rest, ".")
	doc, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(payload, "="))
	var c claims
	if !ok || err != nil || json.Unmarshal(doc, &c) != nil {
		return claims{}
	}
	return c
}

// unreadable reports whether the kept tokens are of no use, so that only a new sign-in helps.
func unreadable(err error) bool {
	return errors.Is(err, errDamaged) || errors.Is(err, secret.ErrDamaged)
}
