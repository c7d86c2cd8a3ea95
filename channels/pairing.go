package channels

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"time"
)

// A pairing makes somebody who writes on a channel its owner: he types there, in a private chat, a code that only hob's own
// terminal has shown.

// The limits of a pairing.
const (
	PairingLife  = 10 * time.Minute
	PairingTries = 5
	codeLetters  = 8
)

// codeAlphabet has no letters that look or sound like others.
const codeAlphabet = "ABCDEFGHJKMNPQRSTVWXYZ23456789"

// Pairing is one attempt to bind an owner. It is open while it has tries left and its time has not passed. The code itself is
// shown once and never stored.
type Pairing struct {
	ID      int64     `json:"id"`
	Channel string    `json:"channel"`
	Hash    string    `json:"-"`    // of the code
	Tries   int       `json:"left"` // that are left
	Until   time.Time `json:"until"`
	Person  string    `json:"person,omitempty"` // who was bound, by the platform's immutable id
	Name    string    `json:"name,omitempty"`   // as he called himself then
}

// Tried says what a text of a stranger was.
type Tried string

// What a text may be while a pairing is open.
const (
	NoCode Tried = "no code" // it does not look like one, and costs no try
	Wrong  Tried = "wrong"
	Bound  Tried = "bound"
)

// NewPairing opens a pairing of a channel. random is a source of letters: it draws n from an alphabet. The code is returned to be shown.
func NewPairing(channel string, random func(alphabet string, n int) string, now time.Time) (p Pairing, code string) {
	letters := random(codeAlphabet, codeLetters)
	return Pairing{Channel: channel, Hash: hashCode(letters), Tries: PairingTries, Until: now.Add(PairingLife)}, letters[:codeLetters/2] + "-" + letters[codeLetters/2:]
}

// Open reports whether a code is still taken.
func (p Pairing) Open(now time.Time) bool {
	return p.Person == "" && p.Tries > 0 && now.Before(p.Until)
}

// Try looks at a message of somebody whom hob does not know. Only what was typed there and then, in a private chat, can be a code: nothing
// forwarded, edited or attached. The pairing comes back as it is then.
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

// IsCode reports whether a text may be the code of a pairing, by its form.
func IsCode(text string) bool {
	_, ok := lettersOf(text)
	return ok
}

// lettersOf are the letters of what may be a code: eight of the alphabet, in any case, a dash or spaces between them. Letters that
// only look like those of the alphabet are none.
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

func hashCode(letters string) string {
	sum := sha256.Sum256([]byte("hob pairing " + letters))
	return hex.EncodeToString(sum[:])
}
