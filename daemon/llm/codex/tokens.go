package codex

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"hob/daemon/secret"
)

// unknownLife is the assumed life of a token without an expiry.
const unknownLife = time.Hour

// errDamaged reports that the vault's value does not hold tokens.
var errDamaged = errors.New("the stored value holds no tokens")

// tokens is the value in the vault. The id token is not stored: its facts are enough, and keyrings are small.
type tokens struct {
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token"`
	Account string    `json:"account_id,omitempty"`
	Email   string    `json:"email,omitempty"`
	Until   time.Time `json:"until"` // end of the access token
}

// lives reports whether the access token is valid long enough for a request.
func (t *tokens) lives(now time.Time) bool { return t != nil && !t.Until.Before(now.Add(margin)) }

// learn makes sure that logs never show the tokens.
func learn(r *secret.Redactor, t *tokens) {
	r.Add("codex access token", t.Access)
	r.Add("codex refresh token", t.Refresh)
}

// claims are the facts in a token (RFC 7519). The signature is not checked: the token comes from the server itself over TLS (OpenID Connect
// Core 1.0, section 3.1.3.7), and nothing is granted by it.
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

// claimsOf decodes the claims of a token; zero for an opaque token.
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

// unreadable reports whether the stored tokens are useless, so that only a new sign-in helps.
func unreadable(err error) bool {
	return errors.Is(err, errDamaged) || errors.Is(err, secret.ErrDamaged)
}
