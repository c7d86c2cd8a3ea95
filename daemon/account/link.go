package account

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/oauth"
	"hob/daemon/sys"
	"hob/daemon/text"
)

// Linked is what a kind with a sign-in by OAuth has. signIn is the account's sign-in, whose tokens are stored apart.
type Linked struct {
	// Values returns the values of the fields. Setting the account up again keeps those that are not given.
	Values func(stored json.RawMessage) map[string]string
	// Config describes the sign-in of what is stored: all but Key, Vault, Redact, Now, Lost and Log.
	Config func(stored json.RawMessage) (oauth.Config, error)
	// Renew calls each interface of the service once, and returns what is stored with what has changed there.
	Renew func(ctx context.Context, stored json.RawMessage, signIn *oauth.Account) (State, error)
	// Open makes the account. It asks no server.
	Open func(stored json.RawMessage, signIn *oauth.Account) (any, error)
}

// Links is what a Service needs for kinds with a sign-in by OAuth.
type Links struct {
	Redirects *oauth.SignIns
	Spawn     *sys.Group
	Now       func() time.Time
	// Tell tells the owner, once per key.
	Tell func(ctx context.Context, key, text string)
	// Answer stores the message that the address of a sign-in came with, and answers the questions about it.
	Answer func(ctx context.Context, in event.In, states []string, answer string) (r event.Receipt, closed int, err error)
}

// links are the sign-ins that are in use, by the names of their accounts.
type links struct {
	mu       sync.Mutex
	accounts map[string]*oauth.Account
}

// SignIns are the sign-ins by OAuth of accounts.
type SignIns struct{ accounts *Service }

// SignIns returns the sign-ins of the accounts.
func (s *Service) SignIns() SignIns { return SignIns{s} }

// link returns the sign-in of an account.
func (s SignIns) link(k Kind, stored json.RawMessage) (*oauth.Account, error) {
	s.accounts.links.mu.Lock()
	defer s.accounts.links.mu.Unlock()
	if a := s.accounts.links.accounts[k.Name]; a != nil {
		return a, nil
	}
	c, err := k.Linked.Config(stored)
	if err != nil {
		return nil, err
	}
	c.Key, c.Vault, c.Redact, c.Now, c.Log = vaultName(k.Name)+"-tokens", s.accounts.Vault, s.accounts.Redact, s.accounts.Links.Now, s.accounts.Log
	c.Lost = func(ctx context.Context, why string) {
		s.accounts.Links.Tell(ctx, fmt.Sprintf("account:%s:lost:%d", k.Name, s.accounts.Links.Now().Unix()),
			c.Title+" has ended hob's access to your account ("+why+"). Nothing that needs it works until you sign in again: "+c.Again)
	}
	a := oauth.New(c)
	s.accounts.links.accounts[k.Name] = a
	return a, nil
}

// unlink forgets how an account signs in: its client has changed, or it is removed. Its tokens stay in the vault.
func (s SignIns) unlink(name string) {
	s.accounts.links.mu.Lock()
	defer s.accounts.links.mu.Unlock()
	delete(s.accounts.links.accounts, name)
}

// stored reads an account with its sign-in.
func (s SignIns) stored(ctx context.Context, name string) (Kind, record, *oauth.Account, error) {
	k, err := s.accounts.kind(name)
	if err != nil {
		return k, record{}, nil, err
	}
	r, _, err := s.accounts.load(ctx, name)
	if err != nil {
		return k, r, nil, err
	}
	if k.Linked == nil {
		return k, r, nil, event.NewFault(event.Clash, "hob account add "+name+" sets it up again", "the account %s has no sign-in by a browser", name)
	}
	a, err := s.link(k, r.Stored)
	return k, r, a, err
}

// describe adds the state of the sign-in to what people are told of an account.
func (s SignIns) describe(ctx context.Context, k Kind, r record, a *api.LinkedAccount) error {
	if k.Linked == nil {
		return nil
	}
	account, err := s.link(k, r.Stored)
	if err != nil {
		return err
	}
	state, err := account.State(ctx)
	switch {
	case err != nil:
		return err
	case !state.SignedIn:
		a.SignIn, a.Problem = true, "nobody is signed in; hob account login "+k.Name
	case state.Ends.IsZero():
		a.Detail = cmp.Or(a.Detail, "the sign-in has no known end")
	default:
		a.Detail = "the sign-in ends on " + text.InZone(state.Ends, s.accounts.Links.Now().Location(), false)
	}
	return nil
}

// parties are the accounts with a sign-in, for addresses that arrive.
func (s SignIns) parties(ctx context.Context) (list []oauth.Party) {
	for _, k := range s.kinds() {
		_, _, a, err := s.stored(ctx, k.Name)
		if err != nil {
			continue // it has no open sign-in then
		}
		list = append(list, oauth.Party{Account: a, Complete: func(ctx context.Context, values url.Values, in event.In) (event.Receipt, error) {
			return s.complete(ctx, k.Name, values, in)
		}})
	}
	return list
}

// kinds are the kinds with a sign-in that are set up.
func (s SignIns) kinds() []Kind {
	linked := func(k Kind) bool { return k.Linked != nil && s.accounts.Vault.Has(vaultName(k.Name)) }
	return slices.DeleteFunc(slices.Clone(s.accounts.Kinds), func(k Kind) bool { return !linked(k) })
}

// complete completes a sign-in, and reads what the account has. in is the message that the address came with; zero: there was none.
func (s SignIns) complete(ctx context.Context, name string, values url.Values, in event.In) (event.Receipt, error) {
	_, _, a, err := s.stored(ctx, name)
	if err != nil {
		return event.Receipt{}, err
	}
	states, err := a.Finish(ctx, values)
	if len(states) == 0 {
		return event.Receipt{}, err // it is still open
	}
	said, answer := "You are signed in to "+name+".", "I have signed in; call it again"
	if err != nil {
		said, answer = "", "the sign-in did not work"
	} else if _, err = s.accounts.Test(context.WithoutCancel(ctx), name); err != nil {
		f, ok := event.AsFault(err)
		if !ok {
			f = &event.Fault{Kind: event.Unavailable, Text: err.Error(), Err: err}
		}
		err = &event.Fault{Kind: f.Kind, Text: "you are signed in to " + name + ", but: " + f.Text, Hint: cmp.Or(f.Hint, "hob account test "+name), Err: err}
		said = ""
	}
	s.accounts.Links.Redirects.End(loginCommand(name), err)
	ctx = context.WithoutCancel(ctx)
	r, _, stored := s.accounts.Links.Answer(ctx, in, states, answer)
	if stored != nil {
		return r, stored
	}
	if in.Source != "" && said != "" {
		s.accounts.Links.Tell(ctx, "account:"+name+":signed-in:"+states[len(states)-1], said)
	}
	return r, err
}

// loginCommand begins a sign-in of an account.
func loginCommand(name string) string { return "hob account login " + name }

// Begin begins a sign-in for the terminal. A browser on this machine completes it; so does its last address, pasted there or in a private chat.
func (s SignIns) Begin(ctx context.Context, name string) (api.SignIn, error) {
	_, _, a, err := s.stored(ctx, name)
	if err != nil {
		return api.SignIn{}, err
	}
	begun, err := a.Begin(ctx, oauth.Challenge{}, true)
	if err != nil {
		return api.SignIn{}, err
	}
	begun.Code, begun.Issuer = begun.Host, begun.Host // hob names the addresses of the sign-in itself, so there is nothing to warn about
	l := s.accounts.Links.Redirects.Wait(ctx, begun, name, loginCommand(name), s.accounts.Links.Spawn, s.accounts.Log)
	return api.SignIn{Address: begun.Link, Loopback: l.Loopback, Note: l.Note, Until: s.accounts.Links.Now().Add(oauth.LoginTime)}, nil
}

// Await blocks until the sign-in that Begin has begun is over.
func (s SignIns) Await(ctx context.Context, name string) (api.LinkedAccount, error) {
	if err := s.accounts.Links.Redirects.Result(ctx, loginCommand(name)); err != nil {
		return api.LinkedAccount{}, err
	}
	return s.accounts.Show(ctx, name)
}

// Finish completes the open sign-in with the address at which the browser ended.
func (s SignIns) Finish(ctx context.Context, name string, in api.SignInAddress) (api.LinkedAccount, error) {
	values, err := oauth.Parse(in.Address)
	if err != nil {
		return api.LinkedAccount{}, err
	}
	if _, err := s.complete(ctx, name, values, event.In{}); err != nil {
		return api.LinkedAccount{}, err
	}
	return s.accounts.Show(ctx, name)
}

// Cancel stops to listen. The link stays good: its address can still be pasted in a private chat.
func (s SignIns) Cancel(_ context.Context, name string) (api.Done, error) {
	s.accounts.Links.Redirects.GiveUp(loginCommand(name))
	return api.Done{OK: true}, nil
}

// revoke deletes the tokens of an account, and says what the service was told. What is stored of the account may be unreadable.
func (s SignIns) revoke(ctx context.Context, k Kind) (said string, err error) {
	stored := json.RawMessage("{}")
	if r, _, err := s.accounts.load(ctx, k.Name); err == nil {
		stored = r.Stored
	}
	a, err := s.link(k, stored)
	if err != nil {
		return "", err
	}
	states, said, err := a.Forget(ctx)
	s.unlink(k.Name)
	if err != nil || len(states) == 0 {
		return said, err
	}
	_, _, err = s.accounts.Links.Answer(ctx, event.In{}, states, "no: I have removed the account")
	return said, err
}

// How often sign-ins are looked at, and how long before its end the owner is told.
const (
	lookEvery  = 6 * time.Hour
	lookFirst  = time.Minute // after the start, which it must not slow down
	tellBefore = 48 * time.Hour
)

// Run looks at the sign-ins from time to time, so that the owner learns of one that ends before a job fails by it.
func (s SignIns) Run(ctx context.Context) error {
	timer := time.NewTimer(lookFirst)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			s.Look(ctx)
			timer.Reset(lookEvery)
		}
	}
}

// Look renews each sign-in that is due, and tells the owner of one that ends soon, once. One that the service has ended is told of by the renewal.
func (s SignIns) Look(ctx context.Context) {
	for _, k := range s.kinds() {
		_, _, a, err := s.stored(ctx, k.Name)
		var state oauth.State
		if err == nil {
			_, err = a.Token(ctx)
		}
		if err == nil {
			state, err = a.State(ctx)
		}
		if err != nil {
			s.accounts.Log.Warn("the sign-in of an account cannot be looked at", "account", k.Name, "err", err)
			continue
		}
		if left := state.Ends.Sub(s.accounts.Links.Now()); state.SignedIn && !state.Ends.IsZero() && left < tellBefore {
			s.accounts.Links.Tell(ctx, fmt.Sprintf("account:%s:ends:%d", k.Name, state.Ends.Unix()), fmt.Sprintf("The sign-in to %s ends %s. Sign in again before: hob account login %s. "+
				"Google ends it after seven days as long as your project there is in testing: docs/google.md says how to publish it.", k.Name, within(left), k.Name))
		}
	}
}

// within says how long something still takes.
func within(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return "in " + strings.TrimSuffix(max(d.Round(time.Hour), time.Hour).String(), "0m0s")
}
