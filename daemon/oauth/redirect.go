package oauth

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/sys"
)

// maxPasted limits the size of a pasted address, in bytes.
const maxPasted = 16 << 10

// CopyHint tells the owner which address to paste. On another machine the last page does not load, but its address has the code.
const CopyHint = "copy the whole address from the browser once it shows http://localhost… or http://127.0.0.1… (a page that does not load is fine)"

// Parse extracts the parameters from the address at which a browser ended. pasted may be the whole address or only code=…&state=…, with white
// space and quotes around it. Errors are *event.Fault.
func Parse(pasted string) (url.Values, error) {
	if len(pasted) > maxPasted {
		return nil, event.NewFault(event.Invalid, CopyHint, "an address has at most %d KB", maxPasted>>10)
	}
	text := strings.Join(strings.Fields(pasted), "") // terminals break long lines
	text = strings.Trim(text, "\"'`<>“”‘’«»")
	if _, query, ok := strings.Cut(text, "?"); ok {
		text = query
	}
	text, _, _ = strings.Cut(text, "#")
	values, err := url.ParseQuery(strings.ReplaceAll(text, "&amp;", "&"))
	switch {
	case err != nil:
		return nil, event.NewFault(event.Invalid, CopyHint, "this is no address")
	case values.Has("code_challenge"):
		return nil, event.NewFault(event.Invalid, CopyHint, "this is the address to begin with, not the one that the browser ended up at")
	case !values.Has("code") && !values.Has("error"):
		return nil, event.NewFault(event.Invalid, CopyHint, "there is no code in this address")
	}
	return values, nil
}

// lastPage is the time that a browser has to load the final page.
const lastPage = 5 * time.Second

// Listen opens a port for a redirect address on this machine. A browser may use either loopback address for "localhost", so hob needs both. A
// machine without IPv6 has only one.
func Listen(ctx context.Context, port int) ([]net.Listener, error) {
	var c net.ListenConfig
	four, err := c.Listen(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	six, err := c.Listen(ctx, "tcp6", fmt.Sprintf("[::1]:%d", port))
	if err == nil {
		return []net.Listener{four, six}, nil
	}
	// Find out why ::1 failed. If IPv6 works at all, another program has the port and could receive the code: hob then listens on neither.
	probe, none := c.Listen(ctx, "tcp6", "[::1]:0")
	if none != nil {
		return []net.Listener{four}, nil
	}
	return nil, errors.Join(err, probe.Close(), four.Close())
}

// Redirect answers at a redirect address on this machine.
type Redirect struct {
	Path     string
	Finish   func(ctx context.Context, values url.Values) error // completes the sign-in with the parameters of the redirect
	Patience time.Duration                                      // the longest time that Finish takes
	Log      string                                             // name of its goroutines
}

// Serve answers on the listeners until over is closed. The page that reports the result is still delivered then.
func (r Redirect) Serve(ctx context.Context, group *sys.Group, listeners []net.Listener, over <-chan struct{}) {
	srv := &http.Server{
		Handler: r, MaxHeaderBytes: maxPasted, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: lastPage, ReadTimeout: lastPage, WriteTimeout: r.Patience + lastPage,
	}
	srv.SetKeepAlivesEnabled(false)
	for _, l := range listeners {
		group.Once("serve the "+r.Log+" redirect", func() error {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				return err
			}
			return nil
		})
	}
	group.Once("end the "+r.Log+" redirect", func() error {
		<-over
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastPage)
		defer cancel()
		if err := srv.Shutdown(last); err != nil {
			return srv.Close()
		}
		return nil
	})
}

// ServeHTTP completes the sign-in and shows the result in the browser.
func (r Redirect) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.URL.Path != r.Path:
		page(w, http.StatusNotFound, "Nothing is here", "")
		return
	case req.Method != http.MethodGet:
		page(w, http.StatusMethodNotAllowed, "Only GET is served here", "")
		return
	}
	err := r.Finish(req.Context(), req.URL.Query())
	if err == nil {
		page(w, http.StatusOK, "Signed in", "hob can use the account now. You can close this page.")
		return
	}
	text := err.Error()
	if f, ok := event.AsFault(err); ok && f.Hint != "" {
		text += ". " + f.Hint
	}
	page(w, http.StatusBadRequest, "Not signed in", text)
}

// page writes a page that loads nothing, is not stored, and sends no Referer with the code.
func page(w http.ResponseWriter, status int, title, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'")
	w.WriteHeader(status)
	doc := "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>hob</title><h1>" + html.EscapeString(title) + "</h1><p>" + html.EscapeString(text) + "</p></html>\n"
	_, _ = io.WriteString(w, doc) // the browser may be gone; the sign-in has ended in any case
}
