package netguard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// CheckHeader refuses, as ErrHeader, headers that are not text on one line, that lead the request elsewhere than its address
// says, or that belong to the connection (RFC 9110 sections 7.2 and 7.6.1), and more than 32 KB of them. No error holds a value.
func CheckHeader(h http.Header) error {
	size := 0
	for name, values := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("%w: %q is no name of one", ErrHeader, cut(name))
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

// ofConnection are the names that are not the caller's to set.
func ofConnection(name string) bool {
	name = strings.ToLower(name)
	own := []string{
		"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive", "expect", "accept-encoding",
		"http2-settings", "x-forwarded-host", "forwarded",
	}
	return slices.Contains(own, name) || strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, ":")
}
