package codex

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"hob/daemon/event"
	"hob/daemon/sys"

	"golang.org/x/oauth2"
)

// maxPasted bounds what a person pastes, in bytes.
const maxPasted = 16 << 10

// Login is a sign-in under way.
type Login struct {
	Address string    // to be opened in a browser
	Listens bool      // a browser on this machine ends the sign-in by itself; else its last address must be pasted
	Note    string    // why it does not listen, "" when it does
	Until   time.Time // when it ends by itself

	attempt *attempt
}

// attempt is the inside of a sign-in.
type attempt struct {
	state, verifier string // of RFC 6749, section 10.12, and of RFC 7636
	until           time.Time
	listeners       []net.Listener
	over            chan struct{} // closed at its end

	// The rest is guarded by the mutex of logins.
	busy  bool // a code is at the server
	ended bool
	err   error // how it ended; nil: signed in
}

// Begin starts a sign-in, which ends the one before: its address is to be opened in a browser, anywhere. The sign-in ends when
// the browser is sent to the redirect address on this machine, or by Finish; Wait tells. Errors are *event.Fault.
func (a *Account) Begin(ctx context.Context) (Login, error) { return a.logins.begin(ctx) }

// Wait blocks until the sign-in has ended, by whatever way, and returns nil when somebody is signed in by it, else an
// *event.Fault; or the end of ctx, wrapped.
func (a *Account) Wait(ctx context.Context, l Login) error { return a.logins.wait(ctx, l) }

// Finish ends the sign-in under way with the address that the browser ended up at, as it was copied: all of it, or just
// code=…&state=…, with white space and quotes around it. It goes on when ctx ends, for Patience at most: a code
// serves once. Errors are *event.Fault; the sign-in goes on behind one of the kind Invalid or Unavailable.
func (a *Account) Finish(ctx context.Context, pasted string) error {
	return a.logins.paste(ctx, pasted)
}

// logins is where people sign in, one at a time.
type logins struct {
	cfg    Config
	server *server
	tokens *tokenStore
	group  *sys.Group

	mu     sync.Mutex // guards what follows, and the end of attempts
	closed bool
	login  *attempt // the newest one, ended or not
}

func (d *logins) begin(ctx context.Context) (Login, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return Login{}, errStopping()
	}
	d.end(d.login, event.NewFault(event.Clash, "go on with the newer one", "another sign-in was begun"))
	at := &attempt{
		state: oauth2.GenerateVerifier(), verifier: oauth2.GenerateVerifier(),
		until: d.cfg.Now().Add(d.cfg.LoginTime), over: make(chan struct{}),
	}
	l := Login{Address: d.server.address(at.state, at.verifier), Until: at.until, attempt: at}
	var err error
	if at.listeners, err = listen(ctx, d.cfg.Port); err != nil {
		l.Note = fmt.Sprintf("port %d cannot be used on this machine (%v): paste the address that the browser ends up at", d.cfg.Port, err)
	}
	l.Listens = err == nil
	d.login = at
	d.serve(ctx, at)
	return l, nil
}

func (d *logins) wait(ctx context.Context, l Login) error {
	select {
	case <-l.attempt.over:
	case <-ctx.Done():
		return fmt.Errorf("wait for the sign-in: %w", context.Cause(ctx))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return l.attempt.err
}

func (d *logins) paste(ctx context.Context, pasted string) error {
	values, err := parse(pasted)
	if err != nil {
		return err
	}
	d.mu.Lock()
	at := d.login
	d.mu.Unlock()
	if at == nil {
		return event.NewFault(event.Clash, "begin one with: "+command, "no sign-in is under way")
	}
	return d.finish(ctx, at, values)
}

// parse reads what a person has copied.
func parse(pasted string) (url.Values, error) {
	if len(pasted) > maxPasted {
		return nil, event.NewFault(event.Invalid, copyHint, "more than %d KB is no address", maxPasted>>10)
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
		return nil, event.NewFault(event.Invalid, copyHint, "this is no address")
	case values.Has("code_challenge"):
		return nil, event.NewFault(event.Invalid, copyHint, "this is the address to begin with, not the one that the browser ended up at")
	case !values.Has("code") && !values.Has("error"):
		return nil, event.NewFault(event.Invalid, copyHint, "there is no code in this address")
	}
	return values, nil
}

const copyHint = "copy the whole address from the browser once it shows http://localhost… (a page that does not load is fine)"

// finish takes what the redirect address carried (RFC 6749, section 4.1.2).
func (d *logins) finish(ctx context.Context, at *attempt, values url.Values) error {
	code, err := d.claim(at, values)
	if err != nil {
		return err
	}
	t, err := d.server.exchange(ctx, code, at.verifier)
	if err == nil {
		err = d.tokens.put(ctx, t, func() error { return d.alive(at) })
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at.busy = false
	if f, ok := event.AsFault(err); ok && f.Kind == event.Unavailable {
		return err
	}
	d.end(at, err)
	return err
}

// claim checks what came back and takes the code, so that nobody else sends it. A wrong state does not end the sign-in:
// any page in the browser can call the redirect address.
func (d *logins) claim(at *attempt, values url.Values) (code string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case at.ended && at.err == nil:
		return "", event.NewFault(event.Clash, "nothing more is to be done", "this sign-in is done already")
	case at.ended:
		return "", at.err
	case !d.cfg.Now().Before(at.until):
		d.end(at, errExpired(d.cfg.LoginTime))
		return "", at.err
	case len(values["state"]) != 1 || subtle.ConstantTimeCompare([]byte(values.Get("state")), []byte(at.state)) != 1:
		return "", event.NewFault(event.Invalid, "use the address of the newest sign-in, whole; or begin again with: "+command,
			"the address does not belong to this sign-in: its state is another one")
	case at.busy:
		return "", event.NewFault(event.Invalid, "wait for it", "the code is being sent already")
	case values.Has("error"):
		d.end(at, declined(values))
		return "", at.err
	case len(values["code"]) != 1 || values.Get("code") == "":
		return "", event.NewFault(event.Invalid, copyHint, "there is not one code in this address")
	}
	at.busy = true
	return values.Get("code"), nil
}

// alive is why an attempt has ended already, nil when it has not.
func (d *logins) alive(at *attempt) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.ended {
		return at.err
	}
	return nil
}

// Cancel gives up the sign-in under way, if there is one, and frees its port.
func (a *Account) Cancel() {
	a.logins.cancel(event.NewFault(event.Clash, "begin again with: "+command, "the sign-in was given up"))
}

// cancel ends the attempt under way, if there is one.
func (d *logins) cancel(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end(d.login, why)
}

func (d *logins) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.end(d.login, errStopping())
}

// end ends an attempt, once; d.mu is held. Its port is free when it returns.
func (d *logins) end(at *attempt, err error) {
	if at == nil || at.ended {
		return
	}
	at.ended, at.err = true, err
	for _, l := range at.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			d.cfg.Log.Warn("the port of the sign-in stays open", "err", err)
		}
	}
	close(at.over)
}

func declined(values url.Values) error {
	code, words := clean(values.Get("error")), clean(values.Get("error_description"))
	if code == "access_denied" && words == "" {
		words = "access was denied"
	}
	return event.NewFault(event.Refused, "begin again with: "+command, "the sign-in was declined: %s", reply{code: code, words: words}.text())
}

func errExpired(after time.Duration) error {
	return event.NewFault(event.Clash, "begin again with: "+command, "the sign-in has expired: it took longer than %v", after)
}

func errStopping() error {
	return event.NewFault(event.Unavailable, "begin again once it runs", "hob is stopping")
}

func unkept(err error) error {
	f := event.NewFault(event.Clash, "begin again with: "+command+" once this is mended", "the tokens cannot be kept: %v", err)
	f.Err = err
	return f
}
