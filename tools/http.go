package tools

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"hob/daemon/netguard"
	"hob/daemon/text"
)

// Unreached is the error of a request of netguard that got no answer. hint is used for failures that have no hint of their own.
func Unreached(err error, hint string) error {
	dns, isDNS := errors.AsType[*net.DNSError](err)
	code := IO
	switch {
	case errors.Is(err, netguard.ErrAddress), errors.Is(err, netguard.ErrHeader):
		code, hint = Validation, ""
	case errors.Is(err, netguard.ErrForbidden):
		code, hint = Denied, `the owner can open a private network: [tools.web] networks = ["192.168.1.0/24"]`
	case errors.Is(err, netguard.ErrTimeout):
		code, hint = Timeout, ""
	case errors.Is(err, netguard.ErrTooLarge):
		hint = "ask for a smaller part of it, when its server knows parts"
	case isDNS && dns.IsNotFound:
		return Refuse(NotFound, "look at the spelling and whether this machine is online, or search for it", "there is no host %s", dns.Name)
	}
	return Refuse(code, hint, "%v", err)
}

// Unsuccessful is the error of an answer of who with an HTTP status other than 2xx. The codes say what the model may do next: look
// elsewhere, ask the owner, or wait.
func Unsuccessful(who string, status int, header http.Header) error {
	code, hint := IO, ""
	switch status {
	case http.StatusNotFound, http.StatusGone:
		code = NotFound
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusUnavailableForLegalReasons:
		code = Denied
	case http.StatusTooManyRequests:
		code = RateLimited
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		code = Timeout
	}
	if code == RateLimited || status == http.StatusServiceUnavailable {
		hint = Later(header)
	}
	return Refuse(code, hint, "%s", strings.TrimSpace(fmt.Sprintf("%s answered %d %s", who, status, http.StatusText(status))))
}

// Later is the hint of an answer that says when to try again; "" if it does not (RFC 9110 section 10.2.3).
func Later(header http.Header) string {
	after := header.Get("Retry-After")
	if after == "" {
		return ""
	}
	return "try again after " + text.Shorten(after, 40) + " (seconds, or a date)"
}
