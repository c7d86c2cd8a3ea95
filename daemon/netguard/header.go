package netguard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"hob/daemon/text"
)

// CheckHeader returns ErrHeader for headers that are not one line of text, that would send the request to another place than its address
// says, or that belong to the connection (RFC 9110 sections 7.2 and 7.6.1), and for more than 32 KB in total. No error contains a value.
func CheckHeader(h http.Header) error {
	size := 0
	for name, values := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("%w: %q is not a header name", ErrHeader, text.Shorten(name, mostShown))
		}
		if ofConnection(name) {
			return fmt.Errorf("%w: hob sets %s itself", ErrHeader, name)
		}
		for _, v := range values {
			if size += len(name) + len(v) + 4; size > maxSent {
				return fmt.Errorf("%w: more than %d KB of them", ErrHeader, maxSent>>10)
			}
			if !httpguts.ValidHeaderFieldValue(v) || !isASCII(v) {
				return fmt.Errorf("%w: the value of %s holds characters that no header may hold", ErrHeader, name)
			}
		}
	}
	return nil
}

// ofConnection reports whether a header may be set by hob only.
func ofConnection(name string) bool {
	name = strings.ToLower(name)
	own := []string{
		"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive", "expect", "accept-encoding",
		"http2-settings", "x-forwarded-host", "forwarded",
	}
	return slices.Contains(own, name) || strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, ":")
}
