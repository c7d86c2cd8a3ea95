// This file makes ids that nobody can guess. The source of randomness is injected, so a simulated run can be repeated.

package sys

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"io"
)

// alphabet leaves out letters that people confuse with digits (Crockford's base 32, lower case).
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// IDs makes identifiers from a stream of random bytes.
type IDs struct{ r io.Reader }

// RandomIDs uses the operating system's random numbers.
func RandomIDs() IDs { return IDs{r: rand.Reader} }

// IDsFrom makes identifiers from r. A fixed r gives the same ones each time.
func IDsFrom(r io.Reader) IDs { return IDs{r: r} }

// Code returns n characters with 5 random bits each. It panics if the stream ends; the operating system's never does.
func (s IDs) Code(n int) string {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.r, b); err != nil {
		panic("sys: no randomness: " + err.Error())
	}
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return string(b)
}

// Digest returns eight characters that depend on the text only: the same text gives the same name.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return IDsFrom(bytes.NewReader(sum[:])).Code(8)
}
