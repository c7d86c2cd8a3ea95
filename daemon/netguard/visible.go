package netguard

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"hob/daemon/sys"
	"hob/daemon/text"
)

// longestBlank is the number of spaces in a row that are shown as they are. More could push the end of a command out of sight.
const longestBlank = 8

// spaced matches blanks in several short runs, with hardly anything between them. They could push the end of a command out of sight as well.
var (
	spaced = sys.Regexp(`(?: {3,}[^ \n]{1,3}){4,} *`)
	blanks = sys.Regexp(` {3,}`)
)

// mostMarks is the number of marks that a letter can have in the writing of a language. Without this limit a long row of them would take hours.
const mostMarks = 8

// OneLine shows a text of others as one visible line of at most n characters.
func OneLine(s string, n int) string {
	return Visible(text.Shorten(strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " "), n))
}

// Lines shows a text of others as visible lines of at most n characters together.
func Lines(s string, n int) (shown string, cut bool) {
	s = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "\uFFFD"))
	short := text.Shorten(s, n)
	lines := strings.Split(strings.ReplaceAll(short, "\t", "    "), "\n")
	for i, l := range lines {
		lines[i] = Visible(l)
	}
	return strings.Join(lines, "\n"), short != s
}

// Visible writes a character as its code point, as in \u{202e}, if it is invisible, moves other characters, or imitates another one:
// controls and line breaks, formatting and direction marks, fillers, combining marks, and letters of one script in a word of another
// ("аpple" with a Cyrillic a). A long run of spaces, or of one such character, is written once with its length.
//
// Visible(Visible(s)) is Visible(s), because a text may pass through it more than once.
func Visible(s string) string {
	// What a character becomes depends on those beside it: a mark belongs to a letter only as long as the letter is shown.
	for {
		shown := visible(s)
		if shown == s {
			return s
		}
		s = shown
	}
}

// visible is one pass of Visible. The first one leaves each word with letters of one script, and the second one writes whole pieces of such words,
// so there are few passes.
func visible(s string) string {
	s = spaced().ReplaceAllStringFunc(s, func(row string) string {
		return blanks().ReplaceAllStringFunc(row, func(run string) string { return fmt.Sprintf(` \u{20}×%d `, len(run)) })
	})
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
	switch {
	case Invisible(c):
		return true
	case unicode.In(c, unicode.Mn, unicode.Me):
		return !ownMark(text, i)
	}
	return styled(c)
}

// Invisible reports whether a character leaves no mark on paper, so that it could carry what a reader does not see: a control or line break, a
// blank other than the space, a filler, a selector of variants. Ordinary text has some of them, such as line breaks.
func Invisible(c rune) bool {
	fillers := c == 0x115f || c == 0x1160 || c == 0x17b4 || c == 0x17b5 || c == 0x3164 || c == 0xffa0 || c == 0x034f || c == 0x2800
	selectors := c >= 0xfe00 && c <= 0xfe0f || c >= 0xe0000 && c <= 0xe0fff || c >= 0x180b && c <= 0x180f
	return fillers || selectors || c == utf8.RuneError || !unicode.IsPrint(c)
}

// ownMark reports whether the mark at i belongs to the script of the letter before it, like a vowel sign of Hindi, Thai or Hebrew. Such
// marks are part of ordinary words. Marks that fit any letter, like the stroke in "r̷", are not, and neither are more than mostMarks on a letter.
func ownMark(text []rune, i int) bool {
	own := scriptOf(text[i])
	if own == "" || own == "Inherited" {
		return false
	}
	first := i - mostMarks
	for i--; i >= 0 && unicode.IsMark(text[i]); i-- {
		if i <= first || scriptOf(text[i]) != own {
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
	}
	return c >= 0xff21 && c <= 0xff3a || c >= 0xff41 && c <= 0xff5a || strings.ContainsRune("ſƖɑɡɩɪʀʏᴄᴏᴠᴡᴢꞮ", c)
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
	return slices.ContainsFunc(text, func(c rune) bool { return scriptOf(c) == "Latin" })
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
	list := scriptRanges()
	at, _ := slices.BinarySearchFunc(list, c, func(r scriptRange, c rune) int { return int(r.last - c) })
	if at < len(list) && list[at].first <= c {
		return list[at].name
	}
	return ""
}

// scriptRange is a row of characters of one script.
type scriptRange struct {
	first, last rune
	name        string
}

// scriptRanges lists the characters of all scripts in their order: a look into each of the 170 tables of unicode would take too long.
var scriptRanges = sync.OnceValue(func() (list []scriptRange) {
	for name, table := range unicode.Scripts {
		add := func(first, last, stride rune) {
			if stride == 1 {
				list = append(list, scriptRange{first, last, name})
				return
			}
			for c := first; c <= last; c += stride {
				list = append(list, scriptRange{c, c, name})
			}
		}
		for _, r := range table.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range table.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride)) // #nosec G115 -- a code point
		}
	}
	slices.SortFunc(list, func(a, b scriptRange) int { return int(a.first - b.first) })
	return list
})
