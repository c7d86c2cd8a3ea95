package record

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"unicode/utf8"
)

// margin is how many more bytes of a body are kept than are written. A secret that is cut off at the end of the kept bytes is not recognised
// there. So the bytes of the margin are searched for secrets, too, but they are not written.
const margin = 64 << 10

// Web wraps the transport to the server of a subject; nil is the usual one.
func (r *Recorder) Web(subject string, base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{r, subject, base}
}

// transport is the wrapped one.
type transport struct {
	rec     *Recorder
	subject string
	base    http.RoundTripper
}

// CloseIdleConnections is for http.Client.
func (t *transport) CloseIdleConnections() {
	(&http.Client{Transport: t.base}).CloseIdleConnections()
}

// RoundTrip makes the request as it is. The body of the response is read by the caller, as it comes.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := t.rec.of(t.subject)
	if x == nil {
		return t.base.RoundTrip(req)
	}
	n := t.request(x, req)
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		t.rec.add(x, Entry{What: Failed, N: n, End: t.rec.hidden(err.Error())})
		return nil, err
	}
	b := &body{ReadCloser: resp.Body, rec: t.rec, x: x, about: Entry{What: Response, N: n, Status: resp.StatusCode, Header: harmless(resp.Header)}}
	if resp.StatusCode == http.StatusSwitchingProtocols { // the body is the connection
		t.rec.add(x, b.about)
		return resp, nil
	}
	x.mu.Lock()
	x.open[b] = true
	x.mu.Unlock()
	resp.Body = b
	return resp, nil
}

// request writes a request and returns its number. A body that can be read only once is not in the recording.
func (t *transport) request(x *recording, req *http.Request) int {
	x.mu.Lock()
	x.n++
	n := x.n
	x.mu.Unlock()
	u := *req.URL
	u.User = nil
	e := Entry{What: Request, N: n, Method: req.Method, URL: t.rec.hidden(u.String()), Header: harmless(req.Header)}
	switch {
	case req.GetBody != nil:
		if from, err := req.GetBody(); err == nil {
			raw, _ := io.ReadAll(io.LimitReader(from, maxBody+margin)) // it is in memory
			_ = from.Close()
			e = t.rec.bodied(e, raw, max(int(req.ContentLength), len(raw)))
		}
	case req.Body != nil && req.Body != http.NoBody:
		e.Cut, e.End = true, "hob sends it as a stream"
	}
	t.rec.add(x, e)
	return n
}

// harmless returns the headers that a parser or a person needs. None of them holds a key.
func harmless(h http.Header) map[string]string {
	kept := map[string]string{}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Date", "Retry-After", "Server", "Mcp-Protocol-Version"} {
		if v := h.Get(name); v != "" {
			kept[name] = v
		}
	}
	return kept
}

// bodied adds a body to an entry: without secrets, at most maxBody bytes, and in base64 if it is not text. whole is its size, raw its first
// maxBody and margin bytes.
func (r *Recorder) bodied(e Entry, raw []byte, whole int) Entry {
	text := r.hidden(string(raw))
	e.Bytes, e.Cut = whole, whole > len(raw) || len(text) > maxBody
	if whole > len(raw) {
		text = text[:max(0, len(text)-margin)] // it may end with the beginning of a secret
	}
	text = text[:min(len(text), maxBody)]
	for range utf8.UTFMax - 1 {
		if last, n := utf8.DecodeLastRuneInString(text); e.Cut && last == utf8.RuneError && n == 1 {
			text = text[:len(text)-1] // half a character
		}
	}
	if e.Body = text; !utf8.ValidString(text) {
		e.Body, e.Base64 = base64.StdEncoding.EncodeToString([]byte(text)), true
	}
	return e
}

// body is the body of a response. It keeps what its reader takes, until it is written to the recording.
type body struct {
	io.ReadCloser
	rec   *Recorder
	x     *recording // its lock protects the fields below
	about Entry
	kept  []byte
}

// Read passes on what comes, at once.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.x.mu.Lock()
	if b.x.open[b] {
		b.about.Bytes += n
		b.kept = append(b.kept, p[:min(n, maxBody+margin-len(b.kept))]...)
	}
	b.x.mu.Unlock()
	switch {
	case errors.Is(err, io.EOF):
		b.finish("")
	case err != nil:
		b.finish(b.rec.hidden(err.Error()))
	}
	return n, err
}

// Close closes the body.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.finish(closed)
	return err
}

// closed is the end of a body of which hob wanted no more.
const closed = "hob read no further"

// finish writes the response, once.
func (b *body) finish(end string) {
	b.x.mu.Lock()
	open, e, kept := b.x.open[b], b.about, b.kept
	delete(b.x.open, b)
	b.kept = nil
	b.x.mu.Unlock()
	if open {
		e.End = end
		b.rec.add(b.x, b.rec.bodied(e, kept, e.Bytes))
	}
}
