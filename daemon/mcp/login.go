package mcp

import (
	"context"
	"net/url"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/oauth"
)

// SignIns are the sign-ins of servers.
type SignIns struct{ servers *Service }

// SignIns returns the sign-ins of the servers.
func (s *Service) SignIns() SignIns { return SignIns{s} }

// Redirects are the sign-ins of servers, to which other accounts can be added that sign in at the same address.
func (s SignIns) Redirects() *oauth.SignIns { return &s.servers.redirects }

// Take takes the address of a sign-in of any account out of what somebody has sent, see oauth.SignIns.
func (s SignIns) Take(ctx context.Context, in event.In) (finish func(ctx context.Context) (event.Receipt, error), taken bool) {
	return s.Redirects().Take(ctx, in)
}

// parties are the servers with an account, for addresses that arrive.
func (s SignIns) parties(context.Context) (list []oauth.Party) {
	for _, v := range s.servers.known() {
		if v.account != nil {
			list = append(list, oauth.Party{Account: v.account, Complete: func(ctx context.Context, values url.Values, in event.In) (event.Receipt, error) {
				return s.complete(ctx, v, values, in)
			}})
		}
	}
	return list
}

// find returns a server that has an account.
func (s SignIns) find(name string) (*server, error) {
	v, err := s.servers.find(name)
	if err == nil && v.account == nil {
		err = event.NewFault(event.Clash, "a server with url has one, unless headers give it a token", "%s has no sign-in", name)
	}
	return v, err
}

// Begin begins a sign-in for the terminal. A browser on this machine completes it; so does its last address, pasted.
func (s SignIns) Begin(ctx context.Context, name string) (api.SignIn, error) {
	v, err := s.find(name)
	if err != nil {
		return api.SignIn{}, err
	}
	begun, err := v.account.Begin(ctx, v.account.Probe(ctx), true)
	if err != nil {
		return api.SignIn{}, err
	}
	l := s.servers.redirects.Wait(ctx, begun, "MCP", loginCommand(name), s.servers.Spawn, s.servers.Log)
	return api.SignIn{Address: begun.Link, Loopback: l.Loopback, Note: l.Note, Until: s.servers.Clock.Wall().Add(oauth.LoginTime)}, nil
}

// Await blocks until the sign-in that Begin has begun is over.
func (s SignIns) Await(ctx context.Context, name string) (api.MCPServer, error) {
	v, err := s.servers.find(name)
	if err != nil {
		return api.MCPServer{}, err
	}
	err = s.servers.redirects.Result(ctx, loginCommand(name))
	return v.view(false), err
}

// Finish completes the open sign-in of a server with the address at which the browser ended.
func (s SignIns) Finish(ctx context.Context, name string, in api.SignInAddress) (api.MCPServer, error) {
	v, err := s.find(name)
	if err != nil {
		return api.MCPServer{}, err
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
	if _, err := s.servers.find(name); err != nil {
		return api.Done{}, err
	}
	s.servers.redirects.GiveUp(loginCommand(name))
	return api.Done{OK: true}, nil
}

// loginCommand begins a sign-in of a server.
func loginCommand(name string) string { return "hob mcp login " + name }

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
