package codex

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"hob/daemon/event"
	"hob/daemon/oauth"
	"hob/daemon/sys"

	"golang.org/x/oauth2"
)

// Login is a running sign-in.
type Login struct {
	Address  string    // to open in a browser
	Loopback bool      // a browser on this machine completes the sign-in; otherwise its last address must be pasted
	Note     string    // why it does not listen; "" if it does
	Until    time.Time // when it expires

	attempt *attempt
}

// attempt is the private part of a sign-in.
type attempt struct {
	state, verifier string // of RFC 6749, section 10.12, and RFC 7636
	until           time.Time
	listeners       []net.Listener
	over            chan struct{} // closed at the end

	// The mutex of logins guards the rest.
	busy  bool // a code is being exchanged
	ended bool
	err   error // the result; nil: signed in
}

// Begin starts a sign-in and cancels an earlier one. The user opens its address in a browser on any machine. It ends when the browser
// reaches the redirect address on this machine, or by Finish. Wait returns the result. Errors are *event.Fault.
func (a *Account) Begin(ctx context.Context) (Login, error) { return a.logins.begin(ctx) }

// Wait blocks until the sign-in has ended. It returns nil after a success, otherwise an *event.Fault. When ctx ends first, it returns its
// cause, wrapped.
func (a *Account) Wait(ctx context.Context, l Login) error { return a.logins.wait(ctx, l) }

// Finish completes the running sign-in with the address at which the browser ended. pasted may be the whole address or only code=…&state=…,
// with white space and quotes around it. It continues when ctx ends, at most for Patience, because a code can be used only once. Errors are
// *event.Fault; after one of the kind Invalid or Unavailable the sign-in can still be completed.
func (a *Account) Finish(ctx context.Context, pasted string) error {
	return a.logins.paste(ctx, pasted)
}

// logins runs the sign-ins, one at a time.
type logins struct {
	cfg    Config
	server *server
	tokens *tokenStore
	group  *sys.Group

	mu     sync.Mutex // guards the following fields and the end of attempts
	closed bool
	login  *attempt // the newest one, ended or not
}

// begin begins a sign-in and ends the one before. It listens on the registered port for the browser's return; if the port is taken, the
// user has to paste the address instead.
func (d *logins) begin(ctx context.Context) (Login, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return Login{}, errStopping()
	}
	// The earlier sign-in ends first, because both need the same port.
	d.end(d.login, event.NewFault(event.Clash, "go on with the newer one", "another sign-in was begun"))
	// Both values have 32 random bytes. The state ties the redirect to this attempt, the verifier ties the code to this program.
	at := &attempt{
		state: oauth2.GenerateVerifier(), verifier: oauth2.GenerateVerifier(),
		until: d.cfg.Now().Add(d.cfg.LoginTime), over: make(chan struct{}),
	}
	l := Login{Address: d.server.address(at.state, at.verifier), Until: at.until, attempt: at}
	var err error
	if at.listeners, err = oauth.Listen(ctx, d.cfg.Port); err != nil {
		l.Note = fmt.Sprintf("port %d cannot be used on this machine (%v): paste the address that the browser ends up at", d.cfg.Port, err)
	}
	l.Loopback = err == nil
	d.login = at
	d.serve(ctx, at)
	return l, nil
}

// serve answers at the redirect address until the attempt ends or expires. d.mu must be held.
func (d *logins) serve(ctx context.Context, at *attempt) {
	oauth.Redirect{
		Path: redirectPath, Log: "codex", Patience: 2 * d.cfg.Patience, // a request may exchange the code and then store the tokens
		Finish: func(ctx context.Context, values url.Values) error { return d.finish(ctx, at, values) },
	}.Serve(ctx, d.group, at.listeners, at.over)
	d.group.Once("end the codex sign-in", func() error {
		alarm := time.NewTimer(d.cfg.LoginTime)
		defer alarm.Stop()
		select {
		case <-at.over:
		case <-alarm.C:
			d.mu.Lock()
			defer d.mu.Unlock()
			d.end(at, errExpired(d.cfg.LoginTime))
		}
		return nil
	})
}

// wait waits until the sign-in has ended, and returns its error.
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

// paste finishes the current sign-in with the address that the browser ended at.
func (d *logins) paste(ctx context.Context, pasted string) error {
	values, err := oauth.Parse(pasted)
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

// finish completes an attempt with the parameters of the redirect (RFC 6749, section 4.1.2).
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
	// The server was unreachable or busy, so the code may still be valid: the attempt stays open for the same address.
	if f, ok := event.AsFault(err); ok && f.Kind == event.Unavailable {
		return err
	}
	d.end(at, err)
	return err
}

// claim checks the parameters and reserves the code, so that it is sent only once. A wrong state does not end the sign-in, because any page
// in the browser can call the redirect address.
func (d *logins) claim(at *attempt, values url.Values) (code string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// The checks are ordered: a finished attempt, the time limit, then the state, before anything else of a foreign address is used.
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
		return "", event.NewFault(event.Invalid, oauth.CopyHint, "there is not one code in this address")
	}
	// The code is valid once: while it is sent, no other request may use it.
	at.busy = true
	return values.Get("code"), nil
}

// alive returns the reason that an attempt has ended, or nil.
func (d *logins) alive(at *attempt) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.ended {
		return at.err
	}
	return nil
}

// Cancel cancels the running sign-in, if there is one, and frees its port.
func (a *Account) Cancel() {
	a.logins.cancel(event.NewFault(event.Clash, "begin again with: "+command, "the sign-in was given up"))
}

// cancel ends the running attempt with the given error.
func (d *logins) cancel(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end(d.login, why)
}

// close ends the running sign-in. Later calls of begin fail.
func (d *logins) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.end(d.login, errStopping())
}

// end ends an attempt once. d.mu must be held. The port is free when it returns.
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

// declined returns the error for a redirect that carries an error (RFC 6749, section 4.1.2.1).
func declined(values url.Values) error {
	code, words := oauth.Clean(values.Get("error")), oauth.Clean(values.Get("error_description"))
	if code == "access_denied" && words == "" {
		words = "access was denied"
	}
	return event.NewFault(event.Refused, "begin again with: "+command, "the sign-in was declined: %s", reply{code: code, words: words}.text())
}

// errExpired is the result of an attempt that reached Config.LoginTime.
func errExpired(after time.Duration) error {
	return event.NewFault(event.Clash, "begin again with: "+command, "the sign-in has expired: it took longer than %v", after)
}

// errStopping is the result of sign-ins that run, or are begun, after Account.Close.
func errStopping() error {
	return event.NewFault(event.Unavailable, "begin again once it runs", "hob is stopping")
}

// unkept returns the error for tokens that could not be stored.
func unkept(err error) error {
	f := event.NewFault(event.Clash, "begin again with: "+command+" once this is fixed", "the tokens cannot be stored: %v", err)
	f.Err = err
	return f
}
