package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/oauth"
)

// loginTime is how long hob listens for the browser after hob mcp login.
const loginTime = 10 * time.Minute

// SignIns are the sign-ins of servers.
type SignIns struct{ servers *Service }

// SignIns returns the sign-ins of the servers.
func (s *Service) SignIns() SignIns { return SignIns{s} }

// login is a sign-in that a terminal waits for.
type login struct {
	over      chan struct{} // closed at the end
	err       error
	listeners []net.Listener
}

// Begin begins a sign-in for the terminal. A browser on this machine completes it; so does its last address, pasted.
func (s SignIns) Begin(ctx context.Context, name string) (api.SignIn, error) {
	v, err := s.servers.find(name)
	if err != nil {
		return api.SignIn{}, err
	}
	if v.account == nil {
		return api.SignIn{}, event.NewFault(event.Clash, "a server with url has one, unless headers give it a token", "%s has no sign-in", name)
	}
	begun, err := v.account.Begin(ctx, v.account.Probe(ctx), true)
	if err != nil {
		return api.SignIn{}, err
	}
	loggedIn(v, event.NewFault(event.Clash, "go on with the newer one", "another sign-in was begun"))
	l := &login{over: make(chan struct{})}
	out := api.SignIn{Address: begun.Link, Until: s.servers.Clock.Wall().Add(loginTime)}
	l.listeners, err = oauth.Listen(context.WithoutCancel(ctx), oauth.RedirectPort)
	if out.Loopback = err == nil; err != nil {
		out.Note = fmt.Sprintf("port %d cannot be used on this machine (%v): paste the address that the browser ends up at", oauth.RedirectPort, err)
	}
	out.Note = strings.Join(append(begun.Cautions(), slices.DeleteFunc([]string{out.Note}, func(s string) bool { return s == "" })...), ". ")
	v.mu.Lock()
	v.login = l
	v.mu.Unlock()
	oauth.Redirect{Path: oauth.RedirectPath, Log: "MCP", Patience: time.Minute, Finish: func(ctx context.Context, values url.Values) error {
		return s.arrived(ctx, v, values)
	}}.Serve(context.WithoutCancel(ctx), s.servers.Spawn, l.listeners, l.over)
	s.servers.Spawn.Once("end the MCP sign-in", func() error {
		alarm := time.NewTimer(loginTime)
		defer alarm.Stop()
		select {
		case <-l.over:
		case <-alarm.C:
			endLogin(v, l, event.NewFault(event.Clash, "begin again with: hob mcp login "+name, "the sign-in took longer than %v", loginTime))
		}
		return nil
	})
	return out, nil
}

// arrived completes the sign-in of a server, or that of another one which waits for the same port.
func (s SignIns) arrived(ctx context.Context, v *server, values url.Values) error {
	for _, other := range s.servers.known() {
		if other.account == nil {
			continue
		}
		if owns, err := other.account.Owns(ctx, values.Get("state")); err == nil && owns {
			v = other
		}
	}
	_, err := s.complete(ctx, v, values, event.In{})
	return err
}

// Await blocks until the sign-in that Begin has begun is over.
func (s SignIns) Await(ctx context.Context, name string) (api.MCPServer, error) {
	v, err := s.servers.find(name)
	if err != nil {
		return api.MCPServer{}, err
	}
	v.mu.Lock()
	l := v.login
	v.mu.Unlock()
	if l == nil {
		return api.MCPServer{}, event.NewFault(event.Clash, "begin one with: hob mcp login "+name, "no sign-in is under way")
	}
	select {
	case <-l.over:
	case <-ctx.Done():
		return api.MCPServer{}, fmt.Errorf("wait for the sign-in: %w", context.Cause(ctx))
	}
	return v.view(false), l.err
}

// Finish completes the open sign-in of a server with the address at which the browser ended.
func (s SignIns) Finish(ctx context.Context, name string, in api.SignInAddress) (api.MCPServer, error) {
	v, err := s.servers.find(name)
	if err != nil {
		return api.MCPServer{}, err
	}
	if v.account == nil {
		return api.MCPServer{}, event.NewFault(event.Clash, "a server with url has one, unless headers give it a token", "%s has no sign-in", name)
	}
	values, err := oauth.Parse(in.Address)
	if err != nil {
		return api.MCPServer{}, err
	}
	_, err = s.complete(ctx, v, values, event.In{})
	return v.view(false), err
}

// Cancel stops to listen. The link stays good: its address can still be pasted in a private chat.
func (s SignIns) Cancel(_ context.Context, name string) (api.Done, error) {
	v, err := s.servers.find(name)
	if err != nil {
		return api.Done{}, err
	}
	loggedIn(v, event.NewFault(event.Clash, "begin again with: hob mcp login "+name, "the sign-in was given up"))
	return api.Done{OK: true}, nil
}

// loggedIn tells the terminal that waits, if there is one, how the sign-in has ended.
func loggedIn(v *server, err error) {
	v.mu.Lock()
	l := v.login
	v.mu.Unlock()
	if l != nil {
		endLogin(v, l, err)
	}
}

// endLogin ends a login once. The port is free when it returns.
func endLogin(v *server, l *login, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-l.over:
		return
	default:
	}
	l.err = err
	for _, one := range l.listeners {
		if err := one.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			v.svc.Log.Warn("the port of a sign-in stays open", "err", err)
		}
	}
	close(l.over)
}

// forget deletes the tokens of a server that is removed, revokes them, closes the questions about them, and says what its authorization server was
// told. Its section may be gone already; then nobody is told.
func (s SignIns) forget(ctx context.Context, name string) (said string, err error) {
	v, err := s.servers.find(name)
	if err != nil {
		return "", s.servers.Vault.Delete(ctx, vaultKey(name))
	}
	if v.account == nil {
		return "", nil
	}
	states, said, err := v.account.Forget(ctx)
	if err != nil || len(states) == 0 {
		return said, err
	}
	_, _, err = s.servers.Questions.Rows.AnswerSignIn(ctx, event.In{}, states, "no: I have removed the server")
	return said, err
}
