package markup

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"
	eastasian "golang.org/x/text/width"
)

// flank decides again whether a mark opens or closes: CommonMark expects white space where Chinese, Japanese and Korean have none. The rule is the
// "CJK-friendly amendment" to CommonMark 6.2 (tats-u/markdown-cjk-friendly, specification.md): CJK punctuation counts as a letter, and a mark between
// other punctuation and a CJK character works as one beside white space. Without a CJK character beside the mark nothing changes.
func flank(d *parser.Delimiter, before []byte, after rune) {
	left, n := utf8.DecodeLastRune(before)
	ideographic := left >= 0xE0100 && left <= 0xE01EF
	sign, wide := util.IsPunctRune(left), cjk(left) || ideographic
	if left >= 0xFE00 && left <= 0xFE0E { // it selects the form of the character before it
		base, _ := utf8.DecodeLastRune(before[:len(before)-n])
		sign, wide = util.IsPunctRune(base), cjk(base) || left == 0xFE01 && slices.Contains([]rune("‘’“”"), base)
	}
	if !wide && !cjk(after) {
		return
	}
	spaceLeft, spaceRight := util.IsSpaceRune(left), util.IsSpaceRune(after)
	latinLeft, latinRight := sign && !wide, util.IsPunctRune(after) && !cjk(after)
	opens := !spaceRight && (!latinRight || spaceLeft || latinLeft || wide)
	closes := !spaceLeft && (!latinLeft || spaceRight || latinRight || cjk(after))
	d.CanOpen, d.CanClose = opens, closes
	if d.Char == '_' {
		d.CanOpen = opens && (!closes || sign)
		d.CanClose = closes && (!opens || util.IsPunctRune(after))
	}
}

// cjk reports whether a character is wide (UAX 11) and no emoji, or Hangul. The squared words that are emoji by default are the ones left out.
func cjk(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case unicode.Is(unicode.Hangul, r):
		return true
	case r < 0x2E80:
		return r == 0x2329 || r == 0x232A
	case r >= 0x1F000 && r < 0x20000 && (r < 0x1F200 || r > 0x1F265 || slices.Contains([]rune("🈁🈚🈯🈲🈳🈴🈵🈶🈸🈹🈺🉐🉑"), r)):
		return false
	}
	switch eastasian.LookupRune(r).Kind() {
	case eastasian.EastAsianWide, eastasian.EastAsianFullwidth, eastasian.EastAsianHalfwidth:
		return true
	}
	return false
}
