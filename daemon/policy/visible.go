package policy

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestBlank is the number of spaces in a row that are shown as they are. More could push the end of a command out of sight.
const longestBlank = 8

// Visible writes a character as its code point, as in \u{202e}, if it is invisible, moves other characters, or imitates another one:
// controls and line breaks, formatting and direction marks, fillers, combining marks, and letters of one script in a word of another
// ("аpple" with a Cyrillic a). A long run of spaces, or of one such character, is written once with its length.
//
// Visible(Visible(s)) is Visible(s), because a text may pass through it more than once.
func Visible(s string) string {
	var b strings.Builder
	text := []rune(s)
	mixed := mixedLetters(text)
	for i := 0; i < len(text); {
		c, n := text[i], 1
		blank := c == ' '
		if !blank && !mixed[i] && !hidden(text, i) {
			b.WriteRune(c)
			i++
			continue
		}
		for i+n < len(text) && text[i+n] == c {
			n++
		}
		switch {
		case n > longestBlank:
			fmt.Fprintf(&b, ` \u{%x}×%d `, c, n)
		case blank:
			b.WriteString(strings.Repeat(" ", n))
		default:
			b.WriteString(strings.Repeat(fmt.Sprintf(`\u{%x}`, c), n))
		}
		i += n
	}
	return b.String()
}

// hidden reports whether the character at i is invisible or changes how others look.
func hidden(text []rune, i int) bool {
	c := text[i]
	fillers := c == 0x115f || c == 0x1160 || c == 0x17b4 || c == 0x17b5 || c == 0x3164 || c == 0xffa0 || c == 0x034f || c == 0x2800
	selectors := c >= 0xfe00 && c <= 0xfe0f || c >= 0xe0000 && c <= 0xe0fff || c >= 0x180b && c <= 0x180f
	switch {
	case fillers, selectors, c == utf8.RuneError, !unicode.IsPrint(c):
		return true
	case unicode.In(c, unicode.Mn, unicode.Me):
		return !ownMark(text, i)
	default:
		return styled(c)
	}
}

// ownMark reports whether the mark at i belongs to the script of the letter before it, like a vowel sign of Hindi, Thai or Hebrew. Such
// marks are part of ordinary words. Marks that fit any letter, like the stroke in "r̷", are not.
func ownMark(text []rune, i int) bool {
	own := scriptOf(text[i])
	if own == "" || own == "Inherited" {
		return false
	}
	for i--; i >= 0 && unicode.IsMark(text[i]); i-- {
		if scriptOf(text[i]) != own {
			return false
		}
	}
	return i >= 0 && scriptOf(text[i]) == own
}

// styled reports whether a letter looks like an ASCII letter but is another character: 𝚛, ſ, ɡ, the Kelvin sign, Ⅰ, ﬁ, ｒ.
func styled(c rune) bool {
	switch {
	case c >= 0x1d400 && c <= 0x1d7ff, c >= 0x2100 && c <= 0x214f && unicode.IsLetter(c), c >= 0x2160 && c <= 0x2188, c >= 0xfb00 && c <= 0xfb06:
		return true
	default:
		return c >= 0xff21 && c <= 0xff3a || c >= 0xff41 && c <= 0xff5a || strings.ContainsRune("ſƖɑɡɩɪʀʏᴄᴏᴠᴡᴢꞮ", c)
	}
}

// lookalikes are the letters of other scripts that look like ASCII letters.
const lookalikes = "асеорхуѕіјһԁԛԝӏгАВЕКМНОРСТХУЅІЈԌԚԜοανρτυικχϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧՏՍՕԼհոսցօզ"

// mixedLetters finds letters that imitate another script. In a word with Latin letters these are the Cyrillic, Greek and similar letters;
// in other words these are the letters of another script than the first one. A word made only of twins is judged with the words that
// punctuation joins it to, like the first part of "сосо.com". Chinese, Japanese and Korean text often follows Latin text without a space
// and does not look like it, so it does not count.
func mixedLetters(text []rune) map[int]bool {
	mixed := map[int]bool{}
	for start := 0; start < len(text); {
		end := start
		for end < len(text) && (isWordChar(text[end]) || strings.ContainsRune("._-/@:", text[end])) {
			end++
		}
		markToken(text, start, end, mixed)
		start = max(end, start+1)
	}
	return mixed
}

// isWordChar reports whether a character can be part of a word, for mixedLetters.
func isWordChar(c rune) bool { return unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsDigit(c) }

// markToken marks the mixed letters in text[start:end], a group of words joined by punctuation.
func markToken(text []rune, start, end int, mixed map[int]bool) {
	latin := hasLatin(text[start:end])
	for i := start; i < end; {
		j, twin := i, true
		for ; j < end && isWordChar(text[j]); j++ {
			twin = twin && (!unicode.IsLetter(text[j]) || strings.ContainsRune(lookalikes, text[j]))
		}
		home := ""
		if hasLatin(text[i:j]) || latin && twin {
			home = "Latin"
		}
		for k := i; k < j; k++ {
			switch script := scriptOf(text[k]); {
			case script == "" || script == "Inherited" || !unicode.IsLetter(text[k]):
			case home == "":
				home = script
			case script != home:
				mixed[k] = true
			}
		}
		i = max(j, i+1)
	}
}

// hasLatin reports whether a text has a Latin letter, so that lookalikes of such letters in it imitate.
func hasLatin(text []rune) bool {
	for _, c := range text {
		if scriptOf(c) == "Latin" {
			return true
		}
	}
	return false
}

// scriptOf names the script of a character. It is "" for characters of no script, and for the scripts of East Asia, which are used
// together.
func scriptOf(c rune) string {
	switch {
	case c < utf8.RuneSelf:
		if unicode.IsLetter(c) {
			return "Latin"
		}
		return ""
	case unicode.In(c, unicode.Common, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo):
		return ""
	}
	for _, s := range []struct {
		name  string
		table *unicode.RangeTable
	}{{"Latin", unicode.Latin}, {"Inherited", unicode.Inherited}, {"Cyrillic", unicode.Cyrillic}, {"Greek", unicode.Greek}} {
		if unicode.Is(s.table, c) {
			return s.name
		}
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, c) {
			return name
		}
	}
	return ""
}
