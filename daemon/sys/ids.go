// This file makes ids that no one can guess. The source is injected,
// so that a simulated run can be repeated.

package sys

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"io"
)

// alphabet has no letters or digits that people mix up (Crockford's base 32, lower case).
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// IDs makes identifiers out of a stream of random bytes.
type IDs struct{ r io.Reader }

// RandomIDs is the operating system's randomness.
func RandomIDs() IDs { return IDs{r: rand.Reader} }

// IDsFrom makes identifiers out of r; a fixed r gives the same ones each time.
func IDsFrom(r io.Reader) IDs { return IDs{r: r} }

// Code returns n characters, 5 bits each. It panics when the stream ends, which the operating system's never does.
func (s IDs) Code(n int) string {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.r, b); err != nil {
		panic("ident: no randomness: " + err.Error())
	}
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return string(b)
}

// Digest names a text by eight characters of its own: the same text, the same name.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return IDsFrom(bytes.NewReader(sum[:])).Code(8)
}
