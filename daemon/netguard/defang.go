package netguard

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// anyScheme is what a program may make a link of, whatever its scheme opens.
var anyScheme = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://[^\s<>"` + "`" + `{}|\\^“”„«»‹›。、「」（）]*`)

// Defang shows the addresses in a text so that no program makes links of them, and people can still read them: https://evil.example/x
// becomes https[:]//evil[.]example/x. Bare names are found as Links finds them. What is shown so already stays.
func Defang(text string) string {
	text = replaced(text, anyScheme, func(_, _ int) bool { return true })
	return replaced(text, bare, func(from, to int) bool {
		before, _ := utf8.DecodeLastRuneInString(text[:from])
		after, _ := utf8.DecodeRuneInString(text[to:])
		return !strings.ContainsRune(`@/\~`, before) && !strings.ContainsRune(`@\`, after) && isPlace(text[from:to])
	})
}

// replaced kills what an expression matches and is an address, up to what a sentence puts behind it.
func replaced(text string, address *regexp.Regexp, is func(from, to int) bool) string {
	dead := strings.NewReplacer(".", "[.]", "://", "[:]//")
	var b strings.Builder
	done := 0
	for _, at := range address.FindAllStringIndex(text, -1) {
		if !is(at[0], at[1]) {
			continue
		}
		raw := trimmed(text[at[0]:at[1]])
		b.WriteString(text[done:at[0]] + dead.Replace(raw))
		done = at[0] + len(raw)
	}
	return b.String() + text[done:]
}
