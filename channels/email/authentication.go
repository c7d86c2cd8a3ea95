package email

import (
	"errors"
	"slices"
	"strings"
)

// Anybody can write any address into a From header. Only the receiving server checks who sent a mail; it
// writes the result into an Authentication-Results header (RFC 8601). Servers add headers at the top, so the
// first header with the server's name is its own. All others may have come with the mail.

// finding is one result of a method, with the properties that it applies to.
type finding struct {
	method, result string
	about          map[string]string // such as header.from
}

// verifiedBy reports whether the server named id confirms that a mail comes from the domain in its From header.
// headers are the values of all Authentication-Results headers, the topmost first.
func verifiedBy(headers []string, id, domain string) bool {
	if id == "" {
		return false
	}
	for _, h := range headers {
		// The first header with the server's name decides, whatever it says.
		name, findings, err := results(h)
		switch {
		case err != nil && strings.Contains(fold(h), fold(id)):
			return false // the server's own header may be malformed: trust nothing
		case err != nil || fold(name) != fold(id):
			continue
		}
		return proven(findings, domain)
	}
	return false
}

// proven evaluates the results of a server. DMARC (RFC 7489) confirms the domain of From. Without a DMARC
// result, a DKIM signature of exactly that domain (RFC 6376) confirms it. Contradicting results prove
// nothing.
func proven(findings []finding, domain string) bool {
	dmarc, signed := "", false
	for _, f := range findings {
		switch f.method {
		case "dmarc":
			if dmarc != "" || f.result == "pass" && fold(f.about["header.from"]) != domain {
				return false
			}
			dmarc = f.result
		// The domain may be given as header.d, or only within header.i.
		case "dkim":
			_, at, _ := strings.Cut(f.about["header.i"], "@")
			d, ok := f.about["header.d"]
			if !ok {
				d = at
			}
			signed = signed || f.result == "pass" && fold(d) == domain
		}
	}
	switch dmarc {
	case "pass":
		return true
	case "", "none":
		return signed
	}
	return false
}

// signed reports whether the author's domain signed a header, if it signed anything: each signature lists the
// headers that it covers (RFC 6376, section 3.5). For a mail without a signature the receiving server's word
// is enough.
func signed(signatures []string, header, domain string) bool {
	for _, s := range signatures {
		tags := map[string]string{}
		for tag := range strings.SplitSeq(strings.Join(strings.Fields(s), ""), ";") {
			name, value, _ := strings.Cut(tag, "=")
			tags[name] = fold(value)
		}
		d := tags["d"]
		own := d == domain || strings.HasSuffix(d, "."+domain) || strings.HasSuffix(domain, "."+d)
		if own && !slices.Contains(strings.Split(tags["h"], ":"), fold(header)) {
			return false
		}
	}
	return true
}

// errResults reports a malformed header; the caller then trusts nothing.
var errResults = errors.New("no Authentication-Results")

// results parses the value of an Authentication-Results header (RFC 8601, section 2.2): the server's name and
// its results.
func results(value string) (id string, list []finding, err error) {
	parts, err := pieces(value)
	if err != nil || len(parts[0]) == 0 {
		return "", nil, errResults
	}
	for _, words := range parts[1:] {
		if len(words) < 3 || words[1] != "=" {
			continue // "none", or an empty piece
		}
		f := finding{method: fold(words[0]), result: fold(words[2]), about: map[string]string{}}
		f.method, _, _ = strings.Cut(f.method, "/") // removes the version
		for rest := words[3:]; len(rest) >= 3 && rest[1] == "="; rest = rest[3:] {
			key := fold(rest[0])
			if _, twice := f.about[key]; twice {
				return "", nil, errResults
			}
			f.about[key] = rest[2]
		}
		list = append(list, f)
	}
	return parts[0][0], list, nil
}

// pieces splits a header's value at its semicolons, and each piece into words; "=" is a word of its own.
// Comments are removed. The content of quoted strings is never interpreted.
func pieces(value string) ([][]string, error) {
	out := [][]string{nil}
	word, open := strings.Builder{}, false
	flush := func() {
		if open {
			out[len(out)-1] = append(out[len(out)-1], word.String())
		}
		word.Reset()
		open = false
	}
	for i := 0; i < len(value); i++ {
		switch ch := value[i]; ch {
		case ' ', '\t', '\r', '\n':
			flush()
		case ';':
			flush()
			out = append(out, nil)
		case '=':
			if open && len(out[len(out)-1]) > 0 && out[len(out)-1][len(out[len(out)-1])-1] == "=" {
				word.WriteByte(ch) // part of a value
				continue
			}
			flush()
			out[len(out)-1] = append(out[len(out)-1], "=")
		case '(':
			n := comment(value[i:])
			if n == 0 {
				return nil, errResults
			}
			flush()
			i += n - 1
		case '"':
			n := quoted(value[i:], &word)
			if n == 0 {
				return nil, errResults
			}
			open = true
			i += n - 1
		default:
			word.WriteByte(ch)
			open = true
		}
	}
	flush()
	return out, nil
}

// comment returns the length of the comment at the beginning of s; 0: it has no end.
func comment(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// quoted writes the content of the quoted string at the beginning of s, and returns its length; 0: it has no
// end.
func quoted(s string, word *strings.Builder) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) {
				word.WriteByte(s[i])
			}
		case '"':
			return i + 1
		default:
			word.WriteByte(s[i])
		}
	}
	return 0
}

// fold converts a name to lower case. Only ASCII letters are converted, so that no Unicode letter can imitate
// another name.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
