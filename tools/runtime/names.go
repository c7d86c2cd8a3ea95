// This file finds the names of hidden files in the output of a command. A sandbox hides what a file holds, but the folder above it still
// shows its name, which somebody else may have chosen.

package runtime

import (
	"strconv"
	"strings"
	"unicode"

	"hob/daemon/sys"
)

// Lengths of names, in bytes.
const (
	shortName = 8  // a plain name up to this length says little, and may be a usual word such as "out"
	longName  = 48 // of a longer name, any part of half this length counts
	manyNames = 4  // so many short names together count
)

var (
	plainName = sys.Regexp(`^[A-Za-z0-9._-]+$`)
	escaped   = sys.Regexp(`\\[0-7]{3}|\\x[0-9a-f]{2}`) // as ls, git and the tables of the kernel write bytes
)

// mentions reports whether a text shows one of the names, or a part of a long one, also with the quotes and escapes that programs add.
func mentions(text string, names []string) bool {
	if len(names) == 0 {
		return false
	}
	text = unquoted(text)
	short := map[string]bool{}
	for _, name := range names {
		for part := range strings.FieldsFuncSeq(name, unicode.IsControl) {
			plain := unquoted(part)
			switch {
			case len(plain) <= shortName && plainName().MatchString(plain):
				if hasWord(text, plain) {
					short[plain] = true
				}
			case len(plain) < longName:
				if hasWord(text, plain) {
					return true
				}
			default:
				for ; len(plain) >= longName/2; plain = plain[longName/2:] {
					if strings.Contains(text, plain[:longName/2]) {
						return true
					}
				}
			}
		}
	}
	return len(short) >= manyNames
}

// unquoted removes quotes and escapes, the kinds of blanks, and the difference between capital and small letters.
func unquoted(text string) string {
	text = escaped().ReplaceAllStringFunc(strings.ToLower(text), func(s string) string {
		base, digits := 8, s[1:]
		if digits[0] == 'x' {
			base, digits = 16, digits[1:]
		}
		n, _ := strconv.ParseUint(digits, base, 8) // the expression allows digits only
		return string([]byte{byte(n)})             // #nosec G115 -- at most 255
	})
	return strings.Join(strings.Fields(strings.NewReplacer(`\`, "", `"`, " ", "'", " ").Replace(text)), " ")
}

// hasWord reports whether a text contains a word that is no part of a longer one.
func hasWord(text, word string) bool {
	if word == "" {
		return false
	}
	inWord := func(b byte) bool {
		return b == '_' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 0x80
	}
	for {
		at := strings.Index(text, word)
		if at < 0 {
			return false
		}
		end := at + len(word)
		if (at == 0 || !inWord(text[at-1])) && (end == len(text) || !inWord(text[end])) {
			return true
		}
		text = text[at+1:]
	}
}
