package server

import (
	"net/http"
	"strings"
)

// frontPage is what a browser gets at the address that hob up prints. It has no script, no form and nothing of the owner's.
const frontPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>hob</title>
</head>
<body>
<h1>hob</h1>
<p>hob runs on this machine: a background daemon that does chores for one person. This address is its API, for programs. There is nothing to log in to here; you talk to hob in a terminal, or on a channel such as Telegram.</p>
<dl>
<dt><code>hob chat</code></dt><dd>talk to it</dd>
<dt><code>hob setup</code></dt><dd>connect a model and a channel</dd>
<dt><code>hob status</code></dt><dd>see how it does</dd>
<dt><code>hob cron list</code></dt><dd>see what it will do, and when</dd>
<dt><code>hob help</code></dt><dd>see all commands</dd>
</dl>
<p>Programs send the line in <code>state/token</code> of hob's home as <code>Authorization: Bearer</code>. <a href="/healthz">/healthz</a> needs no token.</p>
</body>
</html>`

// toFront reports whether a browser asks for the address itself. A program that asks for JSON, or sends a token, gets what it always got.
func toFront(r *http.Request) bool {
	if r.URL.Path != "/" || r.Method != http.MethodGet && r.Method != http.MethodHead || len(r.Header.Values("Authorization")) > 0 {
		return false
	}
	return acceptsHTML(r.Header.Values("Accept"))
}

// acceptsHTML reports whether HTML is named among the media types that a client accepts (RFC 9110, section 12.5.1). */* does not count: it is what
// programs send.
func acceptsHTML(accept []string) bool {
	for _, line := range accept {
		for kind := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(kind, ";")
			if strings.EqualFold(strings.TrimSpace(name), "text/html") {
				return true
			}
		}
	}
	return false
}

// front answers with the page. Nothing may be loaded from it, and no page may frame it.
func front(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	send(w, http.StatusOK, "text/html; charset=utf-8", []byte(frontPage))
}
