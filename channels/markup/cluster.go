package markup

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

// longest limits the code points of one visible character; a longer sequence is cut. Unicode's stream-safe
// text (UAX 15, section 13) allows 30 marks on one letter; the longest emoji sequences have 10.
const longest = 32

// Cluster returns the length in bytes of the first visible character of s: a letter with its marks, an emoji
// with its joiners, a flag. It implements the rules of UAX 29, section 3.1.1, that prevent visible damage.
// Hangul syllables in single letters, and conjuncts, are kept together by their joiners only.
func Cluster(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == '\r' && n < len(s) && s[n] == '\n' {
		return n + 1
	}
	if unicode.IsControl(r) {
		return n
	}
	flag := regional(r)
	for count := 1; count < longest && n < len(s); count++ {
		next, size := utf8.DecodeRuneInString(s[n:])
		switch {
		case extends(next):
		case r == zwj && pictured(next):
		case flag && regional(next):
			flag = false
		case hangul(r, next):
		default:
			return n
		}
		// A variation selector after a joiner does not end the sequence.
		if next != '\uFE0F' || r != zwj {
			r = next
		}
		n += size
	}
	return n
}

// zwj is the zero width joiner, which joins emoji.
const zwj = '\u200D'

// extends reports whether a code point belongs to the character before it: marks, joiners, variation
// selectors, skin tones, and the tags in flags of regions.
func extends(r rune) bool {
	return r == zwj || r == '\u200C' || r >= 0x1F3FB && r <= 0x1F3FF || r >= 0xE0020 && r <= 0xE007F || unicode.Is(unicode.M, r)
}

// pictured reports whether a joiner can join a code point: symbols and pictures, not letters.
func pictured(r rune) bool {
	return r >= 0x2000 && (unicode.IsSymbol(r) || r >= 0x1F000 && r <= 0x1FFFF)
}

// regional reports whether a code point is half of a flag.
func regional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// hangul reports whether two Korean letters belong to one syllable (UAX 29, rules GB6 to GB8).
func hangul(a, b rune) bool {
	lead, vowel, tail := jamo(a)
	nextLead, nextVowel, nextTail := jamo(b)
	if a >= 0xAC00 && a <= 0xD7A3 {
		vowel, tail = true, true
	}
	return lead && (nextLead || nextVowel || b >= 0xAC00 && b <= 0xD7A3) || vowel && (nextVowel || nextTail) || tail && nextTail
}

// jamo classifies a Korean letter (UAX 29, Hangul_Syllable_Type).
func jamo(r rune) (lead, vowel, tail bool) {
	return r >= 0x1100 && r <= 0x115F, r >= 0x1160 && r <= 0x11A7, r >= 0x11A8 && r <= 0x11FF
}

// Width returns the columns of a text in a fixed-width font.
func Width(s string) int { return width(s) }

// width returns the columns of a text in a fixed-width font: two for wide East Asian characters and for emoji
// (UAX 11).
func width(s string) int {
	w := 0
	for s != "" {
		n := Cluster(s)
		r, _ := utf8.DecodeRuneInString(s)
		s = s[n:]
		switch {
		case r >= 0x1100 && r <= 0x115F, r >= 0x2E80 && r <= 0x303E, r >= 0x3041 && r <= 0xA4CF, r >= 0xAC00 && r <= 0xD7A3,
			r >= 0xF900 && r <= 0xFAFF, r >= 0xFE30 && r <= 0xFE6F, r >= 0xFF00 && r <= 0xFF60, r >= 0x1F1E6 && r <= 0x1FAFF, r >= 0x20000 && r <= 0x3FFFD:
			w += 2
		case !extends(r) && !unicode.Is(unicode.Cf, r):
			w++
		}
	}
	return w
}

// numeral returns a number in digits.
func numeral(n int) string { return strconv.Itoa(n) }
