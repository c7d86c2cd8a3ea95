// Package web holds the tools that ask the web: pages, searches and APIs. They go through one guarded client and run no
// script of a page. What comes back is somebody else's text, and each of them says so; they keep no cookie, and
// show no secret that they sent.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"unicode/utf8"

	"hob/daemon/netguard"
	"hob/tools"
)

// Resolve finds the value behind a reference (see daemon/secret); name is what stands for it where it is redacted.
type Resolve func(ctx context.Context, name, ref string) (string, error)

// target is an address that a tool would ask for.
type target struct {
	link    string // as netguard.Canonical writes it
	host    string
	private bool // by its name or number
}

// targetOf reads an address; a bare one such as example.org/path is https.
func targetOf(raw string) (target, error) {
	raw = strings.TrimSpace(raw)
	if !strings.Contains(raw, "://") && !strings.Contains(raw, "@") {
		raw = "https://" + raw
	}
	link, host, err := netguard.Canonical(raw)
	if err != nil {
		return target{}, tools.Refuse(tools.Validation, "want an address like https://example.org/path", "url: %v", err)
	}
	return target{link: link, host: host, private: netguard.Private(host)}, nil
}

// asking is the intent of a call that asks for links of one host.
func asking(t target, effect tools.Effect, summary string, canonical []byte, links ...string) tools.Intent {
	return tools.Intent{
		Effect: effect, Scopes: []tools.Scope{tools.Net}, Hosts: []string{t.host}, Links: links, Private: t.private,
		Foreign: "web: " + t.host, Summary: summary, Canonical: canonical,
	}
}

// unanswered says why there is no answer; hint is for failures that have none of their own. The end of the turn is an error, which
// the caller passes on.
func unanswered(ctx context.Context, err error, hint string) (tools.Result, error) {
	if ctx.Err() != nil {
		return tools.Result{}, ctx.Err()
	}
	why := func(code tools.Code, hint string) (tools.Result, error) {
		return tools.Fail(code, hint, "%v", err), nil
	}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, netguard.ErrAddress), errors.Is(err, netguard.ErrHeader):
		return why(tools.Validation, "")
	case errors.Is(err, netguard.ErrForbidden):
		return why(tools.Denied, `the owner can open a private network: [tools.web] networks = ["192.168.1.0/24"]`)
	case errors.Is(err, netguard.ErrTimeout):
		return why(tools.Timeout, "")
	case errors.Is(err, netguard.ErrTooLarge):
		return why(tools.IO, "ask for a smaller part of it, when its server knows parts")
	case isDNS && dns.IsNotFound:
		return tools.Fail(tools.NotFound, "look at the spelling, or search for it", "there is no host %s", dns.Name), nil
	}
	return why(tools.IO, hint)
}

// status is the error result of an answer that is none of 2xx.
func status(link string, answer netguard.Answer) tools.Result {
	said := fmt.Sprintf("%s answered %d %s", link, answer.Status, http.StatusText(answer.Status))
	hint := ""
	code := tools.IO
	switch answer.Status {
	case http.StatusNotFound, http.StatusGone:
		code = tools.NotFound
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusUnavailableForLegalReasons:
		code = tools.Denied
	case http.StatusTooManyRequests:
		code = tools.RateLimited
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		code = tools.Timeout
	}
	if after := answer.Header.Get("Retry-After"); after != "" && (code == tools.RateLimited || answer.Status == http.StatusServiceUnavailable) {
		hint = "try again after " + shortened(after, 40) + " (seconds, or a date)"
	}
	return tools.Fail(code, hint, "%s", strings.TrimSpace(said))
}

// shortened is the beginning of a text, of n characters at most.
func shortened(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "…"
}

// sized writes a number of bytes.
func sized(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
