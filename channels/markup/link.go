package markup

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"hob/daemon/sys"
)

// maxURL is the longest address of a link, in bytes; longer ones become text.
const maxURL = 2000

// link returns a link as platforms may show it. An address that a person cannot open from a chat becomes
// text. If the label looks like another address, the real one is shown beside it.
func (r *reader) link(target, label string, s style) []run {
	target = address(target)
	label = strings.TrimSpace(strings.Join(strings.Fields(undirected(label)), " "))
	label = cmp.Or(label, target)
	// The address is untrusted: a model may copy it from any page.
	u, err := url.Parse(target)
	switch {
	case err != nil || !followed(u) || len(target) > maxURL:
		if target == "" || label == target {
			return []run{{text: label, style: s}}
		}
		return []run{{text: label + " (" + target + ")", style: s}}
	case label != target && deceptive(label, u):
		return []run{{text: label + " (", style: s}, {text: target, style: s, url: target}, {text: ")", style: s}}
	}
	return []run{{text: label, style: s &^ mono, url: target}}
}

// followed reports whether a link of this scheme leads somewhere from a chat. Other schemes, such as
// javascript and file, are shown as text.
func followed(u *url.URL) bool {
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "mailto", "tel":
		return u.Opaque != ""
	}
	return false
}

// address percent-encodes everything in a link's target that could end it early or change its visible order.
func address(target string) string {
	var b strings.Builder
	for _, c := range strings.TrimSpace(target) {
		if c <= ' ' || strings.ContainsRune("<>\"\\`|^{}", c) || !unicode.IsPrint(c) {
			for _, raw := range []byte(string(c)) {
				fmt.Fprintf(&b, "%%%02X", raw)
			}
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// host matches a label that looks like an address.
var host = sys.Regexp(`(?i)(?:[a-z][a-z0-9+.-]*://|@|\bwww\.)|^[\pL\pN.-]+\.\pL{2,}(?:[/:?#]|$)`)

// deceptive reports whether a label looks like the address of another place than the link's.
func deceptive(label string, u *url.URL) bool {
	if !host().MatchString(label) {
		return false
	}
	if u.Scheme == "mailto" || u.Scheme == "tel" {
		return !strings.EqualFold(label, u.Opaque) && !strings.EqualFold(label, u.String())
	}
	if !strings.Contains(label, "://") {
		label = u.Scheme + "://" + label
	}
	said, err := url.Parse(label)
	return err != nil || said.User != nil || plainHost(said) != plainHost(u)
}

// plainHost returns a host for comparison: "www." makes no difference.
func plainHost(u *url.URL) string { return strings.TrimPrefix(strings.ToLower(u.Host), "www.") }

// showsAddress reports whether the label already shows the whole address.
func showsAddress(r run) bool {
	_, rest, _ := strings.Cut(r.url, ":")
	return r.text == r.url || r.text == rest || r.text == strings.TrimPrefix(rest, "//")
}
