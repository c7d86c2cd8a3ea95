package caldav

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"hob/daemon/netguard"
	"hob/daemon/text"
	"hob/tools"
)

// Limits of one request.
const (
	patience     = 30 * time.Second
	maxAnswer    = 16 << 20
	maxRedirects = 5
)

// client speaks WebDAV (RFC 4918) to the servers of one account. It is hob's own because go-webdav v0.6 gives up a whole answer for one event that it cannot
// read, sends no If-None-Match, and hides the status of an answer.
type client struct {
	web            http.RoundTripper
	user, password string
}

// answer is a complete response.
type answer struct {
	link   string // the address that answered, after redirects
	status int
	header http.Header
	body   []byte
	sent   bool // the request went out, also if no answer came
}

// send makes a request and follows its redirects with the same method, which http.Client would change to GET. It goes from https to http never.
func (c client) send(ctx context.Context, method, link string, header http.Header, body string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for range maxRedirects + 1 {
		a, err := c.once(ctx, method, link, header, body)
		if err != nil {
			return a, c.unreached(ctx, link, err)
		}
		to := a.header.Get("Location")
		if a.status < 301 || a.status > 308 || a.status == http.StatusNotModified || to == "" {
			return a, nil
		}
		next, err := resolve(link, to)
		if err != nil {
			return a, notCalDAV(link, "its redirect leads nowhere")
		}
		link = next
	}
	return answer{}, notCalDAV(link, "it redirects without end")
}

// once makes one request.
func (c client) once(ctx context.Context, method, link string, header http.Header, body string) (answer, error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, method, link, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.SetBasicAuth(c.user, c.password)
	req.Header.Set("User-Agent", "hob")
	resp, err := c.web.RoundTrip(req)
	if err != nil {
		return answer{sent: sent.Load()}, err
	}
	// One byte over the limit shows that there is more.
	doc, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return answer{sent: true}, err
	}
	if len(doc) > maxAnswer {
		return answer{sent: true}, tools.Refuse(tools.IO, "ask for a shorter span", "%s answered with more than %d MB", host(link), maxAnswer>>20)
	}
	return answer{link: link, status: resp.StatusCode, header: resp.Header, body: doc, sent: true}, nil
}

// resolve returns the address of a reference in an answer of from. An encrypted connection leads only to another one, and an unencrypted one only
// to the same host, so that no password goes out in the clear to somewhere else.
func resolve(from, ref string) (string, error) {
	base, err := url.Parse(from)
	if err != nil {
		return "", err
	}
	u, err := base.Parse(strings.TrimSpace(ref))
	if err != nil {
		return "", err
	}
	u.User, u.Fragment = nil, ""
	if u.Scheme == "https" || u.Scheme == "http" && base.Scheme == "http" && u.Host == base.Host {
		return u.String(), nil
	}
	return "", fmt.Errorf("%s leads to %s", base.Redacted(), u.Redacted())
}

// host shows an address without its path.
func host(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" {
		return text.Shorten(link, 80)
	}
	return u.Host
}

// unreached puts the error of a request into a sentence.
func (c client) unreached(ctx context.Context, link string, err error) error {
	if _, _, _, ok := tools.Refusal(err); ok {
		return err
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	at := host(link)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	badCert, isCert := errors.AsType[*tls.CertificateVerificationError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	slow, isNet := errors.AsType[net.Error](err)
	switch {
	case isDNS && dns.IsNotFound:
		return tools.Refuse(tools.NotFound, "look at the spelling of the address", "there is no host %s", dns.Name)
	case isCert:
		return untrusted(at, badCert.Err)
	case notTLS:
		return tools.Refuse(tools.IO, "look at the port of the address", "%s does not speak TLS there", at)
	case errors.Is(err, netguard.ErrForbidden):
		return tools.Refuse(tools.Denied, `the owner can open a private network: [tools.web] networks = ["192.168.1.0/24"]`, "%s is in a private network, but the account was not set up with this host", at)
	case ctx.Err() != nil, isNet && slow.Timeout():
		return tools.Refuse(tools.Timeout, "try again later", "%s did not answer within %s", at, patience)
	}
	return tools.Refuse(tools.IO, "try again later; hob account test caldav tells whether it works again", "%s cannot be reached: %v", at, err)
}

// untrusted is the error for a certificate that is not accepted. No password has gone out.
func untrusted(at string, why error) error {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](why); ok {
		return tools.Refuse(tools.IO, "if the server is yours, install its certificate on this machine, or give it to hob in SSL_CERT_FILE (docs/accounts.md)", "the certificate of %s is not from an authority that this machine trusts", at)
	}
	return tools.Refuse(tools.IO, "hob connects to no server whose certificate is not valid: use the name that it is for; if it has expired, the owner of the server renews it", "the certificate of %s is not valid: %v", at, why)
}

// wrong is the error for an answer without success.
func (a answer) wrong(what string) error {
	at, after := host(a.link), ""
	if s := a.header.Get("Retry-After"); s != "" {
		after = "; try again after " + text.Shorten(s, 40) + " (seconds, or a date)"
	}
	switch {
	case a.status == http.StatusUnauthorized:
		if offers := a.header.Values("WWW-Authenticate"); len(offers) > 0 && !strings.Contains(strings.ToLower(strings.Join(offers, " ")), "basic") {
			return tools.Refuse(tools.Denied, "set the server to Basic authentication, over https", "%s wants a sign-in of another kind than Basic (%s)", at, text.Shorten(offers[0], 40))
		}
		return tools.Refuse(tools.Denied, "set it up again with: hob account add caldav; many services want an app password", "%s does not accept the user name or the password (401)", at)
	case a.status == http.StatusForbidden:
		return tools.Refuse(tools.Denied, "look at the permissions of the calendar at the service", "%s does not allow the account to %s (403)", at, what)
	case a.status == http.StatusNotFound:
		return tools.Refuse(tools.NotFound, "it may have been moved or deleted; hob account test caldav reads the list of calendars again", "%s has no such event or calendar (404)", at)
	case a.status == http.StatusGone:
		return tools.Refuse(tools.NotFound, "hob account test caldav reads the list of calendars again", "%s says that it is gone for good (410)", at)
	case a.status == http.StatusPreconditionFailed:
		return tools.Refuse(tools.Conflict, "read it again first", "somebody has changed it at %s meanwhile (412)", at)
	case a.status == http.StatusTooManyRequests:
		return tools.Refuse(tools.RateLimited, "wait before the next request"+after, "%s refuses more requests for now (429)", at)
	case a.status == http.StatusInsufficientStorage:
		return tools.Refuse(tools.IO, "make room at the service", "%s has no more room for the account (507)", at)
	case a.status >= 500 && a.status != http.StatusNotImplemented: // a web server that knows no CalDAV answers 501 to its methods
		return tools.Refuse(tools.IO, "the fault is the server's; try again later"+after, "%s could not %s (%d %s)", at, what, a.status, http.StatusText(a.status))
	}
	return notCalDAV(a.link, fmt.Sprintf("it answered %d %s", a.status, http.StatusText(a.status)))
}

// notCalDAV is the error for a server that is something else.
func notCalDAV(link, why string) error {
	return tools.Refuse(tools.IO, "use the address for CalDAV from the help pages of the service", "there is no CalDAV server at %s: %s", text.Shorten(link, 200), why)
}

// The elements of an answer that count here. Names are matched without their namespaces, which servers write in many ways.
type (
	multistatus struct {
		XMLName   xml.Name   `xml:"DAV: multistatus"`
		Responses []response `xml:"response"`
	}
	response struct {
		Href  string     `xml:"href"`
		Stats []propstat `xml:"propstat"`
	}
	propstat struct {
		Status string `xml:"status"`
		Prop   prop   `xml:"prop"`
	}
	prop struct {
		Principal  string    `xml:"current-user-principal>href"`
		Homes      []string  `xml:"calendar-home-set>href"`
		Addresses  []string  `xml:"calendar-user-address-set>href"`
		Calendar   *struct{} `xml:"resourcetype>calendar"`
		Name       string    `xml:"displayname"`
		Components []struct {
			Name string `xml:"name,attr"`
		} `xml:"supported-calendar-component-set>comp"`
		Privileges []struct {
			Any []struct {
				XMLName xml.Name
			} `xml:",any"`
		} `xml:"current-user-privilege-set>privilege"`
		Data string `xml:"calendar-data"`
	}
)

// found are the properties that the server has, of one response.
func (r response) found() (p prop, ok bool) {
	for _, s := range r.Stats {
		if words := strings.Fields(s.Status); len(words) > 1 && words[1] == "200" {
			return s.Prop, true
		}
	}
	return p, false
}

// query sends PROPFIND or REPORT and reads the multistatus.
func (c client) query(ctx context.Context, method, link, depth, body string) (answer, []response, error) {
	header := http.Header{"Depth": {depth}, "Content-Type": {"application/xml; charset=utf-8"}}
	a, err := c.send(ctx, method, link, header, `<?xml version="1.0" encoding="utf-8"?>`+body)
	switch {
	case err != nil:
		return a, nil, err
	case a.status != http.StatusMultiStatus:
		return a, nil, a.wrong("read calendars")
	}
	var m multistatus
	if err := xml.NewDecoder(bytes.NewReader(a.body)).Decode(&m); err != nil {
		return a, nil, notCalDAV(a.link, "its answer is not the XML of WebDAV")
	}
	return a, m.Responses, nil
}
