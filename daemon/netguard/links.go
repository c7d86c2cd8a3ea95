package netguard

import (
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"

	"hob/daemon/sys"
)

// maxLinks is the largest number of addresses that Links finds in one text.
const maxLinks = 1000

// whole matches an address with a scheme. bareName matches one without (see place): a name with a dot, or four numbers, and what may follow.
var (
	whole    = sys.Regexp(`(?i)\bhttps?://[^\s<>"` + "`" + `{}|\\^“”„«»‹›。、「」（）]+`)
	bareName = sys.Regexp(`(?i)(?:[\p{L}\p{N}_](?:[\p{L}\p{N}_-]*[\p{L}\p{N}])?\.)+(?:\p{L}(?:[\p{L}\p{N}-]*[\p{L}\p{N}])?|\d{1,3})(?::\d+)?(?:[/?#][^\s<>"` + "`" + `{}|\\^“”„«»‹›。、「」（）]*)?`)
)

// Links returns the addresses in a text that a person wrote, in canonical form, each once, at most 1,000. A bare name such as
// example.org/path counts as https. An http address also counts as its https form, which is requested in its place. File names (notes.md)
// and the domains of mail addresses do not count.
func Links(text string) []string {
	var found []string
	add := func(raw string) {
		link, _, err := Canonical(trimmed(raw))
		if err != nil || slices.Contains(found, link) || len(found) >= maxLinks {
			return
		}
		found = append(found, link)
	}
	// Addresses with a scheme are blanked out, so that their hosts are not found a second time as bare names.
	rest := []byte(text)
	for _, at := range whole().FindAllStringIndex(text, maxLinks) {
		raw := text[at[0]:at[1]]
		add(raw)
		if _, tail, ok := strings.Cut(raw, "://"); ok && strings.EqualFold(raw[:5], "http:") {
			add("https://" + tail)
		}
		for i := at[0]; i < at[1]; i++ {
			rest[i] = ' '
		}
	}
	for _, at := range bareName().FindAllIndex(rest, maxLinks) {
		if raw := string(rest[at[0]:at[1]]); alone(rest, at[0], at[1]) && placeOf(raw).meant() {
			add("https://" + raw)
		}
	}
	return found
}

// alone reports whether a name is not part of a mail address, a path, or an address with another scheme.
func alone(text []byte, from, to int) bool {
	before, _ := utf8.DecodeLastRune(text[:from])
	after, _ := utf8.DecodeRune(text[to:])
	return (from == 0 || !strings.ContainsRune("@/\\.:-$~", before)) && (to == len(text) || !strings.ContainsRune("@\\", after))
}

// place is an address without a scheme in running text, such as example.org:8080/x.
type place struct {
	name string // in lower case
	size int    // of the name as it is written, in bytes
	end  string // the last label of the name
	tail string // port, path, query and fragment
}

// placeOf divides a match of bareName.
func placeOf(raw string) place {
	n := len(raw)
	if i := strings.IndexAny(raw, ":/?#"); i >= 0 {
		n = i
	}
	name := strings.ToLower(raw[:n])
	return place{name, n, name[strings.LastIndexByte(name, '.')+1:], raw[n:]}
}

// meant reports whether a person who writes this means an address rather than a file or a number. Numbers count if there are four.
func (p place) meant() bool {
	if endsInNumber(p.name) {
		_, err := netip.ParseAddr(p.name)
		return err == nil
	}
	// Endings of files that are also top-level domains, or are often written like names.
	files := []string{
		"md", "sh", "py", "rs", "pl", "ps", "so", "cc", "zip", "mov", "java", "js", "ts", "go", "txt", "json", "toml", "html", "csv", "pdf", "yaml", "yml", "log",
	}
	named := strings.HasPrefix(p.tail, "/") || strings.HasPrefix(p.name, "www.") || !slices.Contains(files, p.end)
	return named && utf8.RuneCountInString(p.end) > 1
}

// clickable reports whether a program may make a link of it. Programs know the top-level domains, and take a port, a query and a fragment for more than
// a file name (linkify-it, linkifyjs). A name of two labels that could be a file has no room for data.
func (p place) clickable() bool {
	if endsInNumber(p.name) {
		labels := strings.Split(p.name, ".")
		p.name = strings.TrimLeft(strings.Join(labels[max(len(labels)-4, 0):], "."), "_") // four numbers may follow a name
		return p.meant()
	}
	return p.meant() || strings.ContainsAny(p.tail, "/?#") || p.domain() && (p.tail != "" || strings.Count(p.name, ".") > 1)
}

// domain reports whether the name ends in a top-level domain that exists.
func (p place) domain() bool {
	end, _ := ascii(p.end)
	_, exists := publicsuffix.PublicSuffix(end)
	return exists
}

// trimmed removes the punctuation that a sentence puts after an address.
func trimmed(raw string) string {
	for raw != "" {
		last, n := utf8.DecodeLastRuneInString(raw)
		switch {
		case strings.ContainsRune(".,;:!?'*…", last):
		// A bracket belongs to the address if it was opened there, as in many titles of Wikipedia.
		case last == ')' && strings.Count(raw, "(") < strings.Count(raw, ")"):
		case last == ']' && strings.Count(raw, "[") < strings.Count(raw, "]"):
		default:
			return raw
		}
		raw = raw[:len(raw)-n]
	}
	return raw
}
