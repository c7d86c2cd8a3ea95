package netguard

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrAddress marks an address that hob does not request.
var ErrAddress = errors.New("not an address that hob requests")

// maxLink is the longest allowed address, in bytes.
const maxLink = 8 << 10

// Canonical parses an http or https address and returns it in the one form in which addresses are compared, approved and requested (RFC
// 3986 section 6.2.2): scheme and host in lower case, international names in ASCII, no default port, no dot segments, no fragment, "/"
// for an empty path. host is the host without port and brackets. The canonical form of link is link itself.
//
// Errors are ErrAddress: other schemes, credentials in the address, control characters, white space, backslashes, and spellings of a host
// that other programs could read differently, such as 0x7f.1 or ::ffff:127.0.0.1.
//
// It makes no request and does not check whether the host is private.
func Canonical(raw string) (link, host string, err error) {
	raw = strings.TrimSpace(raw)
	if err := readable(raw); err != nil {
		return "", "", err
	}
	u, err := url.Parse(raw)
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause // without the address, which the caller knows
		}
		return "", "", fmt.Errorf("%w: %w", ErrAddress, err)
	}
	// The parser has put the scheme into lower case.
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", "", fmt.Errorf("%w: it must begin with http:// or https://", ErrAddress)
	}
	if u.User != nil {
		return "", "", fmt.Errorf("%w: it holds credentials; leave out everything before the @", ErrAddress)
	}
	// A percent sign in the host would be decoded by some programs and not by others. It also excludes IPv6 zones.
	if u.Opaque != "" || u.Host == "" || strings.Contains(authority(raw), "%") {
		return "", "", fmt.Errorf("%w: it names no host, or hides it", ErrAddress)
	}
	host, err = canonicalHost(u.Hostname())
	if err != nil {
		return "", "", err
	}
	if u.Host, err = hostPort(u.Scheme, host, u.Port()); err != nil {
		return "", "", err
	}
	return written(u), host, nil
}

// HostPort returns the host of a canonical address as the permission rules name it: with the port if the host is private or the port is not the
// scheme's own. One machine may have many services, and a yes to one is for no other.
func HostPort(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return link
	}
	host, port := u.Hostname(), u.Port()
	switch {
	case port == "" && !Private(host):
		return host
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	return net.JoinHostPort(host, port)
}

// readable rejects text that different programs read differently.
func readable(raw string) error {
	switch {
	case len(raw) > maxLink:
		return fmt.Errorf("%w: it is longer than %d bytes", ErrAddress, maxLink)
	case !utf8.ValidString(raw):
		return fmt.Errorf("%w: it is not UTF-8", ErrAddress)
	case strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }):
		return fmt.Errorf("%w: white space, control characters and backslashes must be percent-encoded", ErrAddress)
	}
	return nil
}

// authority returns the part of an address between the scheme and the path.
func authority(raw string) string {
	_, rest, _ := strings.Cut(raw, "//")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[:i]
	}
	return rest
}

// canonicalHost rejects hosts that are neither a DNS name nor an IP address in its usual form.
func canonicalHost(name string) (string, error) {
	// Only an IPv6 address contains a colon: Hostname has removed the port.
	if strings.Contains(name, ":") {
		a, err := netip.ParseAddr(name)
		switch {
		case err != nil || a.Zone() != "":
			return "", fmt.Errorf("%w: %q is not a host", ErrAddress, name)
		case a.Is4In6():
			return "", fmt.Errorf("%w: write the host as %s", ErrAddress, a.Unmap())
		}
		return a.String(), nil
	}
	// An international name becomes ASCII first, so that the checks see what DNS gets.
	host, ok := ascii(name)
	if host = strings.TrimSuffix(host, "."); !ok || !validName(host) {
		return "", fmt.Errorf("%w: %q is not a host name", ErrAddress, name)
	}
	// A name whose last label is a number could be read as an address. Only the usual dotted form is accepted.
	if !endsInNumber(host) {
		return host, nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.String(), nil
	}
	if a, ok := number(host); ok {
		return "", fmt.Errorf("%w: write the host as %s", ErrAddress, a)
	}
	return "", fmt.Errorf("%w: %q is neither a name nor an address", ErrAddress, name)
}

func hostPort(scheme, host, port string) (string, error) {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" {
		return host, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("%w: there is no port %s", ErrAddress, port)
	}
	if scheme == "http" && n == 80 || scheme == "https" && n == 443 {
		return host, nil
	}
	return host + ":" + strconv.FormatUint(n, 10), nil
}

// written formats the address. Its scheme and host are canonical already.
func written(u *url.URL) string {
	out := u.ResolveReference(u) // removes dot segments
	query := ""
	if out.RawQuery != "" {
		query = "?" + quoted(out.RawQuery)
	}
	path := cmp.Or(quoted(out.EscapedPath()), "/")
	return out.Scheme + "://" + out.Host + path + query
}

// quoted percent-encodes the characters that RFC 3986 allows nowhere.
func quoted(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= 0x80 || strings.IndexByte("\"<>`{}|^", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
