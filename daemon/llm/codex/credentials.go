package codex

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"hob/daemon/llm"
	"hob/daemon/sys"
)

// flight is one look at the kept tokens, with a renewal where they need one; everybody who asks meanwhile waits for it.
type flight struct {
	done   chan struct{}
	tokens *tokens
	err    error
}

// Credentials gives an access token that lives for at least one more minute, and the account's id ("" when the server
// names none). It renews the token when it must; new tokens are kept before they are given out. An end of ctx ends the
// waiting, not the renewal, and is returned wrapped; every other error is an *llm.Error: llm.Auth when nobody is signed in,
// when the sign-in was refused or cannot be read, or when new tokens cannot be kept (they are not lost: the next call tries
// again); llm.Network, llm.Overloaded, llm.RateLimit and llm.Malformed when the server cannot renew it now.
func (a *Account) Credentials(ctx context.Context) (token, account string, err error) {
	return a.tokens.credentials(ctx)
}

// Spoiled tells that the backend has refused an access token before its time: the next Credentials renews it.
func (a *Account) Spoiled(token string) {
	a.tokens.mu.Lock()
	defer a.tokens.mu.Unlock()
	a.tokens.spoiled = token
}

// tokenStore holds the tokens in force and renews them.
type tokenStore struct {
	cfg    Config
	server *server
	group  *sys.Group
	turn   chan struct{} // holds one while somebody changes the kept tokens

	mu      sync.Mutex // guards what follows
	closed  bool
	current *tokens  // kept in the vault
	unsaved *tokens  // the server has given them, and the vault has not taken them yet
	refused *refusal // the refresh token that the server does not take any more
	flight  *flight  // the renewal under way
	spoiled string   // the access token that the backend has refused before its time
}

// refusal is a refresh token that is spent, and what is said of it.
type refusal struct {
	refresh string
	err     *llm.Error
}

func (p *tokenStore) credentials(ctx context.Context) (token, account string, err error) {
	f, err := p.join(ctx)
	if err != nil {
		return "", "", err
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return "", "", fmt.Errorf("wait for the sign-in: %w", context.Cause(ctx))
	}
	if f.err != nil {
		return "", "", own(f.err)
	}
	return f.tokens.Access, f.tokens.Account, nil
}

// own copies an error that several callers get: each may complete its own.
func own(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		mine := *e
		return &mine
	}
	return err
}

// good reports whether tokens can be given out. The caller holds the lock.
func (p *tokenStore) good(t *tokens) bool { return t.lives(p.cfg.Now()) && t.Access != p.spoiled }

func (p *tokenStore) usable(t *tokens) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.good(t)
}

// join returns the flight under way, or starts one unless the tokens at hand are good.
func (p *tokenStore) join(ctx context.Context) (*flight, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, &llm.Error{Fault: llm.Network, Text: "hob is stopping"}
	case p.good(p.current):
		f := &flight{done: make(chan struct{}), tokens: p.current}
		close(f.done)
		return f, nil
	case p.flight != nil:
		return p.flight, nil
	}
	f := &flight{done: make(chan struct{}), err: &llm.Error{Fault: llm.Malformed, Text: "the renewal of the sign-in broke off"}}
	p.flight = f
	p.group.Once("renew the codex sign-in", func() error {
		defer p.land(f)
		f.tokens, f.err = p.fresh(ctx)
		return nil
	})
	return f, nil
}

func (p *tokenStore) land(f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flight = nil
	close(f.done)
}

// fresh returns tokens that live, renewed if need be. Whoever asked for them may be gone: the server takes a refresh token
// once, so that its answer must not be lost.
func (p *tokenStore) fresh(ctx context.Context) (*tokens, error) {
	ctx, cancel := p.server.limited(ctx)
	defer cancel()
	free, err := p.take(ctx)
	if err != nil {
		return nil, &llm.Error{Fault: llm.Network, Err: err}
	}
	defer free()
	if t := p.pending(); t != nil {
		return p.keep(ctx, t)
	}
	t, _, err := p.load(ctx)
	if err != nil {
		return nil, unusable(err)
	}
	if p.usable(t) {
		p.adopt(t)
		return t, nil
	}
	t, err = p.renew(ctx, t)
	if err != nil {
		return nil, err
	}
	return p.keep(ctx, t)
}

// renew asks the server for new tokens. One that it has refused is not shown to it again.
func (p *tokenStore) renew(ctx context.Context, t *tokens) (*tokens, error) {
	if err := p.refusedBefore(t.Refresh); err != nil {
		return nil, err
	}
	renewed, no := p.server.renew(ctx, t)
	if no == nil {
		return renewed, nil
	}
	fault := no.renewal()
	if no.spent() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.refused = &refusal{refresh: t.Refresh, err: fault}
	}
	return nil, fault
}
