package channels

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"time"
)

// A pairing makes a person on a channel its owner: the person types, in a private chat, a code that was shown
// only on hob's own terminal.

// Limits of a pairing.
const (
	PairingLife  = 10 * time.Minute
	PairingTries = 5 // wrong codes before it ends
	codeLetters  = 8 // in a code
)

// codeAlphabet omits letters that look or sound like others.
const codeAlphabet = "ABCDEFGHJKMNPQRSTVWXYZ23456789"

// Pairing is one attempt to bind an owner. It is open while tries are left and its time has not passed. The
// code is shown once and never stored; only its hash is.
type Pairing struct {
	ID      int64     `json:"id"`
	Channel string    `json:"channel"`
	Hash    string    `json:"-"`    // of the code
	Tries   int       `json:"left"` // tries left
	Until   time.Time `json:"until"`
	Person  string    `json:"person,omitempty"` // the owner, by the platform's immutable id
	Name    string    `json:"name,omitempty"`   // the person's name at that time
}

// Tried is the result of testing a stranger's text.
type Tried string

// Results of testing a text against an open pairing.
const (
	NoCode Tried = "no code" // it does not look like a code, and costs no try
	Wrong  Tried = "wrong"
	Bound  Tried = "bound"
)

// NewPairing opens a pairing for a channel. random draws n letters from an alphabet. The code is returned to
// be shown.
func NewPairing(channel string, random func(alphabet string, n int) string, now time.Time) (p Pairing, code string) {
	letters := random(codeAlphabet, codeLetters)
	return Pairing{Channel: channel, Hash: hashCode(letters), Tries: PairingTries, Until: now.Add(PairingLife)}, letters[:codeLetters/2] + "-" + letters[codeLetters/2:]
}

// Open reports whether the code is still valid.
func (p Pairing) Open(now time.Time) bool {
	return p.Person == "" && p.Tries > 0 && now.Before(p.Until)
}

// Try tests a message of a stranger. Only a text typed in a private chat can be a code: nothing forwarded,
// edited or attached. The updated pairing is returned.
func (p Pairing) Try(m Message, now time.Time) (Pairing, Tried) {
	letters, ok := lettersOf(m.Text)
	if !ok || !p.Open(now) || m.Chat.Group != "" || m.Forwarded || m.Edits != "" || len(m.Files) > 0 || m.From.ID == "" || m.From.Self || m.From.Bot || m.Auto {
		return p, NoCode
	}
	if subtle.ConstantTimeCompare([]byte(hashCode(letters)), []byte(p.Hash)) != 1 {
		p.Tries--
		return p, Wrong
	}
	p.Person, p.Name = m.From.ID, m.From.Name
	return p, Bound
}

// IsCode reports whether a text has the form of a pairing code.
func IsCode(text string) bool {
	_, ok := lettersOf(text)
	return ok
}

// lettersOf returns the letters of a code: eight of the alphabet in any case, with a dash or spaces between
// them. Unicode letters that only look like those of the alphabet are rejected.
func lettersOf(text string) (string, bool) {
	text = strings.ToUpper(strings.TrimSpace(text))
	if len(text) > 4*codeLetters {
		return "", false
	}
	text = strings.NewReplacer("-", "", " ", "").Replace(text)
	if len(text) != codeLetters || strings.Trim(text, codeAlphabet) != "" {
		return "", false
	}
	return text, true
}

// hashCode hashes a code with a fixed prefix. A salt would add nothing: the code is random and lives for
// minutes.
func hashCode(letters string) string {
	sum := sha256.Sum256([]byte("hob pairing " + letters))
	return hex.EncodeToString(sum[:])
}
