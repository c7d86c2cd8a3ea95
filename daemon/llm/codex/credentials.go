package codex

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"hob/daemon/llm"
	"hob/daemon/sys"
)

// flight is one read of the stored tokens, including a renewal if needed. All callers that arrive meanwhile wait for the same flight.
type flight struct {
	done   chan struct{}
	tokens *tokens
	err    error
}

// Credentials returns an access token that is valid for at least one more minute, and the account's id ("" if the server names none). It
// renews the token when necessary, and stores new tokens before it returns them. When ctx ends, the call returns its cause, wrapped, but
// the renewal continues. Every other error is an *llm.Error. The fault is llm.Auth when nobody is signed in, when the sign-in was refused
// or cannot be read, or when new tokens cannot be stored (the next call tries again). It is llm.Network, llm.Overloaded, llm.RateLimit or
// llm.Malformed when the server cannot renew the token now.
func (a *Account) Credentials(ctx context.Context) (token, account string, err error) {
	return a.tokens.credentials(ctx)
}

// Rejected reports that the backend has rejected an access token early. The next Credentials renews it.
func (a *Account) Rejected(token string) {
	a.tokens.mu.Lock()
	defer a.tokens.mu.Unlock()
	a.tokens.rejected = token
}

// tokenStore holds the current tokens and renews them. The vault has the durable copy.
type tokenStore struct {
	cfg    Config
	server *server
	group  *sys.Group
	turn   chan struct{} // a semaphore: full while a goroutine changes the stored tokens

	mu       sync.Mutex // guards the following fields
	closed   bool
	current  *tokens  // stored in the vault
	unsaved  *tokens  // received from the server but not stored yet
	refused  *refusal // the refresh token that the server has refused
	flight   *flight  // the running renewal
	rejected string   // the access token that the backend has rejected early
}

// refusal is a refresh token that cannot be used again, and the error for its callers.
type refusal struct {
	refresh string
	err     *llm.Error
}

// credentials waits for a flight. The result belongs to all waiting callers.
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

// own copies an error that several callers receive, since each may change its copy.
func own(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		mine := *e
		return &mine
	}
	return err
}

// good reports whether tokens can be handed out. p.mu must be held.
func (p *tokenStore) good(t *tokens) bool { return t.lives(p.cfg.Now()) && t.Access != p.rejected }

// usable does the same as good, for callers that do not hold p.mu.
func (p *tokenStore) usable(t *tokens) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.good(t)
}

// join returns the running flight, or starts one unless the current tokens are good.
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
	// The flight begins with an error. Its callers get that error if the renewal panics before it has a result.
	f := &flight{done: make(chan struct{}), err: &llm.Error{Fault: llm.Malformed, Text: "the renewal of the sign-in broke off"}}
	p.flight = f
	p.group.Once("renew the codex sign-in", func() error {
		defer p.land(f)
		f.tokens, f.err = p.fresh(ctx)
		return nil
	})
	return f, nil
}

// land ends a flight and wakes its callers.
func (p *tokenStore) land(f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flight = nil
	close(f.done)
}

// fresh returns valid tokens and renews them if necessary. It continues when its caller leaves: the server accepts a refresh token only
// once, so its answer must not be lost.
func (p *tokenStore) fresh(ctx context.Context) (*tokens, error) {
	ctx, cancel := p.server.limited(ctx)
	defer cancel()
	free, err := p.take(ctx)
	if err != nil {
		return nil, &llm.Error{Fault: llm.Network, Err: err}
	}
	defer free()
	// New tokens that the vault refused last time come first: the old refresh token is used up.
	if t := p.pending(); t != nil {
		return p.keep(ctx, t)
	}
	t, _, err := p.load(ctx)
	if err != nil {
		return nil, unusable(err)
	}
	// The first call after a start finds only the vault filled, and its tokens may still be good.
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

// renew asks the server for new tokens. A refresh token that the server has refused is not sent again.
func (p *tokenStore) renew(ctx context.Context, t *tokens) (*tokens, error) {
	if err := p.refusedBefore(t.Refresh); err != nil {
		return nil, err
	}
	renewed, no := p.server.renew(ctx, t)
	if no == nil {
		return renewed, nil
	}
	fault := no.renewal()
	// The refusal is kept in memory, so that each model call fails at once instead of asking the server again.
	if no.spent() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.refused = &refusal{refresh: t.Refresh, err: fault}
	}
	return nil, fault
}
