package text

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// alike lists the characters that look like one of ASCII, which is the first of each, and hidden those that cannot be seen.
func alike() []string {
	return []string{
		" \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
		"'\u2018\u2019\u201a\u201b\u02bc\u2032\u00b4\uff07", "\"\u201c\u201d\u201e\u201f\u2033\uff02", "-\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63\uff0d",
	}
}

const hidden = "\u200b\u2060\ufeff\u00ad"

// ASCII replaces a space, quote or dash by the one of ASCII that it looks like.
func ASCII(r rune) rune {
	if r >= 0x80 {
		for _, group := range alike() {
			if strings.ContainsRune(group, r) {
				return rune(group[0])
			}
		}
	}
	return r
}

// maxAlike limits the characters of a text that Alike makes an expression of.
const maxAlike = 8 << 10

// Alike returns an expression for the texts that look like this one: spaces, quotes, dashes and ellipses of any kind, letters composed or not,
// line ends of any kind, and characters between them that cannot be seen. It has a group for the part that begins after the first from bytes and
// ends before the last to bytes. It is nil for an empty or long text.
func Alike(s string, from, to int) *regexp.Regexp {
	if s == "" || len(s) > maxAlike {
		return nil
	}
	var b strings.Builder
	for i, part := range []string{s[:from], s[from : len(s)-to], s[len(s)-to:]} {
		b.WriteString([]string{"", "(", ")"}[i])
		for _, r := range strings.NewReplacer("...", "…", "\r\n", "\n").Replace(norm.NFC.String(part)) {
			one, split := regexp.QuoteMeta(string(r)), norm.NFD.String(string(r))
			at := slices.IndexFunc(alike(), func(group string) bool { return strings.ContainsRune(group, r) })
			switch {
			case strings.ContainsRune(hidden, r):
				continue
			case r == '…':
				one = `(?:…|\.\.\.)`
			case r == '\n':
				one = `\r?\n`
			case at >= 0:
				one = "[" + regexp.QuoteMeta(alike()[at][1:]) + `\x{` + fmt.Sprintf("%x", alike()[at][0]) + "}]"
			case split != string(r):
				one = "(?:" + one + "|" + regexp.QuoteMeta(split) + ")"
			}
			b.WriteString(one + "[" + hidden + "]*")
		}
	}
	re, _ := regexp.Compile(b.String()) // nil if it is too large
	return re
}

// Unlike names the characters of a text that another one, which looks like it, does not have.
func Unlike(s, other string) string {
	var names []string
	for _, r := range s {
		if name := fmt.Sprintf("U+%04X", r); r != '\r' && !strings.ContainsRune(other, r) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
