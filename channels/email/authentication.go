package email

import (
	"errors"
	"slices"
	"strings"
)

// A header From says what its writer liked it to say. Whose mail it is, the receiving server knows alone, and writes it into a header
// Authentication-Results (RFC 8601). Servers put their own headers above those that came with a mail, so that of the headers under one
// server's name the first is its own, and all others may have come from outside.

// finding is one result of a method: its name, what came of it, and the properties it is about.
type finding struct {
	method, result string
	about          map[string]string // like header.from
}

// vouched tells whether the server called id says that a mail is of the domain that its From names. headers are the values of all
// Authentication-Results, the topmost first.
func vouched(headers []string, id, domain string) bool {
	if id == "" {
		return false
	}
	for _, h := range headers {
		name, findings, err := results(h)
		switch {
		case err != nil && strings.Contains(fold(h), fold(id)):
			return false // who knows what it says
		case err != nil || fold(name) != fold(id):
			continue
		}
		return proven(findings, domain)
	}
	return false
}

// proven reads a server's findings: DMARC (RFC 7489) says that the domain of From is the one that sent; without its word a signature of
// exactly that domain (RFC 6376) says it. Where the server contradicts itself, nothing is proven.
func proven(findings []finding, domain string) bool {
	dmarc, signed := "", false
	for _, f := range findings {
		switch f.method {
		case "dmarc":
			if dmarc != "" || f.result == "pass" && fold(f.about["header.from"]) != domain {
				return false
			}
			dmarc = f.result
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

// signed tells whether the writer's domain has signed a header, as far as it has signed anything: each of its signatures (RFC 6376, section 3.5) names what it
// covers. A mail without one is vouched for by the server that it came from.
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

var errResults = errors.New("no Authentication-Results")

// results reads a header's value (RFC 8601, section 2.2): the server's name, and what it found.
func results(value string) (id string, list []finding, err error) {
	parts, err := pieces(value)
	if err != nil || len(parts[0]) == 0 {
		return "", nil, errResults
	}
	for _, words := range parts[1:] {
		if len(words) < 3 || words[1] != "=" {
			continue // "none", or nothing
		}
		f := finding{method: fold(words[0]), result: fold(words[2]), about: map[string]string{}}
		f.method, _, _ = strings.Cut(f.method, "/") // its version
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

// pieces cuts a header's value at its semicolons, and each piece into words, with "=" as a word of its own. Comments are left out, and quotes
// taken off: nothing inside of them is a mark.
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
				word.WriteByte(ch) // inside of a value
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

// comment is the length of the comment at the beginning of a text; 0: it does not end.
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

// quoted writes what the quoted string at the beginning of a text says, and returns its length; 0: it does not end.
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

// fold is a name in small letters. Only ASCII is folded: no letter of another alphabet becomes one of a name that it is not.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
