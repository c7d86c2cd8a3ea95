package netguard

import (
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/daemon/sys"
)

// The kinds of text that a program may turn into a link: an address with a scheme; a scheme that needs no slashes, or any scheme where
// markup expects a target; a mail address; a name or number without a scheme. They are matched against a word without its invisible
// characters.
var (
	withScheme = sys.Regexp(`(?i)[a-z][a-z0-9+.-]+:[/\\][^\s<>"` + enders + `]*`)
	slashless  = sys.Regexp(`(?i)(?:\b(?:https?|hxxps?|ftps?|wss?|file|mailto|tel|sms|smsto|mms|callto|sips?|xmpp|data|javascript|vbscript|blob|cid|magnet|bitcoin|ethereum|geo|skype|facetime|facetime-audio|market|intent|feed|webcal|view-source|itms-services):|(?:\]\(<?|<|(?:href|src)=["']?)[a-z][a-z0-9+.-]+:)[^\s<>"` + enders + `]+`)
	mailbox    = sys.Regexp(`(?i)[\p{L}\p{N}._%+=/!#$&'?^{}~-]+@(?:\[[0-9a-f:.]+\]|[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+)`)
	relative   = sys.Regexp(`(?i)(?:^|[^:/\\])[/\\]{2}[\p{L}\p{N}_\[][^\s<>"` + enders + `]*`)
	picture    = sys.Regexp(`(?i)!+\[|<(?:img|image|picture|video|audio|source|iframe|object|embed|link|svg|input|style|script)\b`)
	entity     = sys.Regexp(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)
)

const enders = "`" + `{}|“”„«»‹›（）`

// mostSkipped bounds the time that a long word takes: after so many names that are no addresses, the others in it count as addresses.
const mostSkipped = 50

// Defang rewrites the addresses in a text so that no program makes links of them and people can still read them: https://evil.example/x
// becomes https[:]//evil[.]example/x. Pictures become links. Text that is already rewritten stays the same.
func Defang(text string) string { return DefangBut(text, func(string) bool { return false }) }

// DefangBut is Defang, except for the addresses that keep accepts. It works word by word, so a text may be split at white space and
// joined again.
func DefangBut(text string, keep func(address string) bool) string {
	var b strings.Builder
	for text != "" {
		n := strings.IndexFunc(text, unicode.IsSpace)
		if n < 0 {
			n = len(text)
		}
		b.WriteString(defanged(text[:n], keep))
		gap := strings.IndexFunc(text[n:], func(r rune) bool { return !unicode.IsSpace(r) })
		if gap < 0 {
			gap = len(text) - n
		}
		b.WriteString(text[n : n+gap])
		text = text[n+gap:]
	}
	return b.String()
}

// bared is a word as programs may read it: without invisible characters and characters of markup, and with entities decoded. Byte i of
// text comes from word[from[i]:to[i]].
type bared struct {
	text     string
	from, to []int
}

// alike maps characters that programs treat as ASCII punctuation.
var alike = strings.NewReplacer("。", ".", "．", ".", "｡", ".", "․", ".", "﹒", ".", "：", ":", "﹕", ":", "／", "/", "＠", "@", "﹫", "@", "＼", `\`)

// bare reads a word as a program would.
func bare(word string) bared {
	var b strings.Builder
	p := bared{}
	add := func(s string, from, to int) {
		b.WriteString(s)
		for range len(s) {
			p.from, p.to = append(p.from, from), append(p.to, to)
		}
	}
	for i := 0; i < len(word); {
		if at := entity().FindStringIndex(word[i:]); at != nil && at[0] == 0 {
			// Entities of markup characters stay: decoded, they would form tags that are not there.
			if value := html.UnescapeString(word[i : i+at[1]]); !strings.ContainsAny(value, "&<>\"'\u00a0") {
				add(alike.Replace(value), i, i+at[1])
				i += at[1]
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(word[i:])
		switch {
		case unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || r == '\u034f' || r >= '\ufe00' && r <= '\ufe0f': // invisible
		case r == '*' || r == '`' || r == '~' || r == '\\' && i+1 < len(word) && word[i+1] != '\\' && !isWordByte(word[i+1]): // removed by markup
		default:
			add(alike.Replace(word[i:i+n]), i, i+n)
		}
		i += n
	}
	p.text = b.String()
	return p
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= utf8.RuneSelf
}

// defanged returns a word without live addresses. It finds candidates in the bare form and puts brackets around the bytes of the original
// word that they come from.
func defanged(word string, keep func(string) bool) string {
	p := bare(word)
	dead := make([]bool, len(p.text)) // bytes of p.text that get brackets
	kept := make([]bool, len(p.text)) // bytes of addresses that keep accepted
	kill := func(from, to int) {
		raw := trimmed(p.text[from:to])
		to = from + len(raw)
		// A part of a kept address is kept too: example.org is a part of https://example.org/x.
		if to == from || slices.Contains(kept[from:to], true) {
			return
		}
		// Only an address that is written plainly can be kept: the caller compares it with ones that it knows.
		if first, last := p.from[from], p.to[to-1]; word[first:last] == raw && keep(raw) {
			for i := from; i < to; i++ {
				kept[i] = true
			}
			return
		}
		literal := false // in the brackets of an IPv6 address
		for i := from; i < to; i++ {
			c := p.text[i]
			literal = c == '[' && i > 0 && strings.IndexByte(`/\`, p.text[i-1]) >= 0 || literal && c != '/'
			if i > 0 && p.text[i-1] == '[' && i+1 < len(p.text) && p.text[i+1] == ']' {
				continue // has brackets already
			}
			dead[i] = dead[i] || literal && c == ':' || c == '.' || c == '@' || c == ':' && (i+1 < to && strings.IndexByte(`/\`, p.text[i+1]) >= 0 || !strings.ContainsAny(raw[:i-from], `:/@.`))
		}
	}
	// Addresses with a scheme come first, so that the host names inside kept ones are left alone.
	for _, at := range slices.Concat(withScheme().FindAllStringIndex(p.text, -1), slashless().FindAllStringIndex(p.text, -1)) {
		raw := p.text[at[0]:at[1]]
		if lead := strings.LastIndexAny(raw[:strings.IndexByte(raw, ':')], `](<="'`); lead >= 0 {
			at[0] += lead + 1
		}
		kill(at[0], at[1])
	}
	for _, at := range mailbox().FindAllStringIndex(p.text, -1) {
		kill(at[0], at[1])
	}
	for _, at := range relative().FindAllStringIndex(p.text, -1) {
		kill(at[0]+strings.IndexAny(p.text[at[0]:at[1]], `/\`), at[1])
	}
	for from, skipped := 0, 0; ; {
		at := bareName().FindStringIndex(p.text[from:])
		if at == nil {
			break
		}
		first, end := from+at[0], from+at[1]
		to := placeOf(p.text[first:end])
		// In a path, only what ends like a domain is taken for a name. What is skipped may hold another name.
		before, _ := utf8.DecodeLastRuneInString(p.text[:first])
		if skipped < mostSkipped && !(to.clickable() && (before != '/' || to.domain())) {
			from, skipped = first+to.size, skipped+1
			continue
		}
		kill(first, end)
		from = end
	}
	return unpictured(redrawn(word, p, dead))
}

// redrawn puts the marked bytes into brackets.
func redrawn(word string, p bared, dead []bool) string {
	var b strings.Builder
	done := 0
	for i := range dead {
		// Several bytes of p.text may come from one entity, which gets one pair of brackets.
		if !dead[i] || p.from[i] < done {
			continue
		}
		b.WriteString(word[done:p.from[i]] + "[" + word[p.from[i]:p.to[i]] + "]")
		done = p.to[i]
	}
	return b.String() + word[done:]
}

// unpictured turns a picture of Markdown into a link, and one of HTML into plain text.
func unpictured(word string) string {
	return picture().ReplaceAllStringFunc(word, func(s string) string {
		if s[0] == '!' {
			return "["
		}
		return "<[" + s[1:] + "]"
	})
}

// Whole reports whether a text begins with exactly the given address, and not with a longer one. After a name without a scheme other text may
// follow at once: in notes.md:3:milk the address is notes.md:3.
func Whole(text, address string) bool {
	if at := bareName().FindStringIndex(text); at != nil && at[0] == 0 && trimmed(text[:at[1]]) == address {
		return true
	}
	end := strings.IndexFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`<>"`+enders, r)
	})
	if end >= 0 {
		text = text[:end]
	}
	return trimmed(text) == address
}
