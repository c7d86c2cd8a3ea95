package codex

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"hob/daemon/event"
)

// lastPage is the time that a browser has to load the final page.
const lastPage = 5 * time.Second

// listen opens the redirect address. A browser may use either loopback address for "localhost", so hob needs both. A machine without IPv6
// has only one.
func listen(ctx context.Context, port int) ([]net.Listener, error) {
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

// serve answers at the redirect address until the attempt ends or expires. d.mu must be held.
func (d *logins) serve(ctx context.Context, at *attempt) {
	// A request may exchange the code and then store the tokens. Each takes up to Patience, and then the page has to be sent.
	srv := &http.Server{
		Handler: d.redirect(at), MaxHeaderBytes: maxPasted, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: lastPage, ReadTimeout: lastPage, WriteTimeout: 2*d.cfg.Patience + lastPage,
	}
	srv.SetKeepAlivesEnabled(false)
	for _, l := range at.listeners {
		d.group.Once("serve the codex redirect", func() error {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				return err
			}
			return nil
		})
	}
	// The page that reports the result is still being delivered when the attempt ends, so the server shuts down slowly.
	d.group.Once("end the codex sign-in", func() error {
		alarm := time.NewTimer(d.cfg.LoginTime)
		defer alarm.Stop()
		select {
		case <-at.over:
		case <-alarm.C:
			d.mu.Lock()
			d.end(at, errExpired(d.cfg.LoginTime))
			d.mu.Unlock()
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastPage)
		defer cancel()
		if err := srv.Shutdown(last); err != nil {
			return srv.Close()
		}
		return nil
	})
}

// redirect handles the requests at the redirect address.
func (d *logins) redirect(at *attempt) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != redirectPath:
			page(w, http.StatusNotFound, "Nothing is here", "")
		case r.Method != http.MethodGet:
			page(w, http.StatusMethodNotAllowed, "Only GET is served here", "")
		default:
			d.arrive(w, r, at)
		}
	})
}

// arrive completes the attempt and shows the result in the browser.
func (d *logins) arrive(w http.ResponseWriter, r *http.Request, at *attempt) {
	err := d.finish(r.Context(), at, r.URL.Query())
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
