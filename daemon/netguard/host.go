package netguard

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// privateNames lists name endings that the public DNS does not have (RFC 6761, RFC 6762 with its appendix G, RFC 8375, and ICANN's
// reservation of .internal).
func privateNames() []string {
	return []string{"localhost", "local", "internal", "home.arpa", "lan", "home", "corp", "intranet", "private", "localdomain"}
}

// Private reports whether a host belongs, by its name or number, to a private or special-use network: names without a dot, localhost,
// *.local, *.internal, *.home.arpa and similar, and IP addresses in every spelling that some resolver accepts (decimal, octal,
// hexadecimal, fewer than four parts, the forms of IPv6). A host that cannot be parsed is private.
//
// It makes no DNS lookup. So a public name that points to a private network is not private here; the client refuses it when dialling.
func Private(host string) bool {
	h, ok := plainHost(host)
	if !ok {
		return true
	}
	// Numbers are checked before names, because 127.1 has the form of a name.
	if a, ok := number(h); ok {
		return Special(a) != ""
	}
	if !validName(h) || endsInNumber(h) || !strings.Contains(h, ".") {
		return true
	}
	return slices.ContainsFunc(privateNames(), func(end string) bool { return strings.HasSuffix(h, "."+end) })
}

// plainHost removes brackets, a zone and a final dot from a host, and converts an international name to ASCII.
func plainHost(host string) (string, bool) {
	h := strings.TrimSpace(host)
	if strings.HasPrefix(h, "[") && strings.HasSuffix(h, "]") {
		h = h[1 : len(h)-1]
	}
	if strings.Contains(h, ":") {
		h, _, _ = strings.Cut(h, "%")
		return strings.ToLower(h), true
	}
	h, ok := ascii(h)
	return strings.TrimSuffix(h, "."), ok
}

// ascii converts a name to lower case and ASCII (UTS #46, RFC 5891).
func ascii(name string) (string, bool) {
	if isASCII(name) {
		return strings.ToLower(name), true
	}
	mapped, err := idna.Lookup.ToASCII(name)
	return mapped, err == nil && mapped != "" && utf8.ValidString(name)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// validName reports whether DNS allows a name. Underscores are accepted because some names have them.
func validName(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, notInLabel) {
			return false
		}
	}
	return true
}

func notInLabel(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}

// endsInNumber reports whether a resolver could take a name for an IP address (WHATWG URL, "ends in a number checker").
func endsInNumber(name string) bool {
	// The last label alone decides.
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" {
		return false
	}
	_, ok := part(last)
	return ok || !strings.ContainsFunc(last, func(r rune) bool { return r < '0' || r > '9' })
}

// number parses an address as inet_aton does (POSIX inet_addr: one to four parts, each decimal, octal or hexadecimal; the last part fills
// the remaining bytes), or as IPv6.
func number(host string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a, true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, text := range parts {
		n, ok := part(text)
		// The last part fills all bytes that are left: 127.1 is 127.0.0.1.
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if !ok || n>>bits != 0 {
			return netip.Addr{}, false
		}
		sum = sum<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// part parses one part of such an address: 0x means hexadecimal, a leading 0 octal.
func part(text string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(text, "0x"):
		base, text = 16, text[2:]
		if text == "" {
			return 0, true
		}
	case len(text) > 1 && text[0] == '0':
		base, text = 8, text[1:]
	}
	if text == "" || text[0] == '+' || text[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(text, base, 64)
	return n, err == nil
}
