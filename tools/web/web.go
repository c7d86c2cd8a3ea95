// Package web holds the tools for the web: web_fetch (pages), web_search (search engines) and http
// (APIs).
//
// Each intent names the exact addresses that the call would request, for the permission rules. The request goes
// through the guarded client (package netguard), which checks the addresses again after name
// resolution and follows no redirect to another host. Pages, PDF files and pictures are converted
// in a separate process (package document).
//
// Everything that comes back counts as foreign text. The tools run no scripts, keep no cookies, and
// show no secret that they have sent.
package web

import (
	"context"
	"slices"
	"strings"

	"hob/daemon/netguard"
	"hob/daemon/text"
	"hob/tools"
)

// Resolve returns the value of a reference (see daemon/secret). name replaces the value where it is
// redacted.
type Resolve func(ctx context.Context, name, ref string) (string, error)

// target is an address that a tool would request.
type target struct {
	link    string // in the form of netguard.Canonical
	host    string
	private bool // judged by name or number
}

// targetOf parses an address. One without a scheme, such as example.org/path, gets https.
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

// asking is the intent of a call that requests links on one host.
func asking(t target, effect tools.Effect, summary string, canonical []byte, links ...string) tools.Intent {
	hosts := []string{netguard.HostPort(t.link)}
	for _, link := range links {
		if host := netguard.HostPort(link); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return tools.Intent{
		Effect: effect, Scopes: []tools.Scope{tools.Net}, Hosts: hosts, Links: links, Private: t.private,
		Foreign: "web: " + t.host, Summary: summary, Canonical: canonical,
	}
}

// unanswered converts the error of a request into a result. hint is used for failures that have no
// hint of their own. If the turn has ended, it returns that as an error for the caller to pass on.
func unanswered(ctx context.Context, err error, hint string) (tools.Result, error) {
	if ctx.Err() != nil {
		return tools.Result{}, ctx.Err()
	}
	return tools.ErrorResult(tools.Unreached(err, hint)), nil
}

// sized formats a number of bytes for people.
func sized(n int) string { return text.Size(int64(n)) }
