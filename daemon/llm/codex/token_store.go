package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hob/daemon/llm"
	"hob/daemon/secret"
)

// take waits for the exclusive right to change the stored tokens. free releases it.
func (p *tokenStore) take(ctx context.Context) (free func(), err error) {
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the sign-in: %w", context.Cause(ctx))
	}
}

// load reads the stored tokens; secret.ErrNone if there are none.
func (p *tokenStore) load(ctx context.Context) (*tokens, string, error) {
	doc, where, err := p.cfg.Vault.Load(ctx, Name)
	if err != nil {
		return nil, "", err
	}
	t := &tokens{}
	if err := json.Unmarshal(doc, t); err != nil || t.Access == "" || t.Refresh == "" {
		return nil, where, errDamaged // without the cause, which could quote a token
	}
	learn(p.cfg.Redact, t)
	return t, where, nil
}

// save stores the tokens in the vault.
func (p *tokenStore) save(ctx context.Context, t *tokens) error {
	doc, err := json.Marshal(t) // #nosec G117 -- it goes to the vault, which is for secrets
	if err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	return p.cfg.Vault.Save(ctx, Name, doc)
}

// keep stores tokens before they may be used. If that fails, they stay in memory for the next call, because the old refresh token is used
// up.
func (p *tokenStore) keep(ctx context.Context, t *tokens) (*tokens, error) {
	keeping, cancel := p.server.limited(ctx) // with a time limit of its own, however long the server took
	defer cancel()
	if err := p.save(keeping, t); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unsaved = t
		return nil, &llm.Error{Fault: llm.Auth, Text: "the renewed sign-in cannot be stored, so it is not used", Err: err}
	}
	p.adopt(t)
	return t, nil
}

// adopt makes stored tokens the current ones.
func (p *tokenStore) adopt(t *tokens) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.unsaved, p.refused = t, nil, nil
}

// pending returns new tokens that the vault refused to store; nil without any.
func (p *tokenStore) pending() *tokens {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unsaved
}

// refusedBefore returns the error of the server's last refusal, if it concerned this refresh token. A refused token is not sent again.
func (p *tokenStore) refusedBefore(refresh string) *llm.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil || p.refused.refresh != refresh {
		return nil
	}
	return p.refused.err
}

// put stores the tokens of a sign-in, unless it has ended meanwhile. Errors are those of alive, and *event.Fault.
func (p *tokenStore) put(ctx context.Context, t *tokens, alive func() error) error {
	ctx, cancel := p.server.limited(ctx)
	defer cancel()
	free, err := p.take(ctx)
	if err != nil {
		return unkept(err)
	}
	defer free()
	// The wait above may have been long: a sign-in that was cancelled meanwhile must not store an account.
	if err := alive(); err != nil {
		return err
	}
	if err := p.save(ctx, t); err != nil {
		return unkept(err)
	}
	p.adopt(t)
	return nil
}

// drop deletes the stored tokens and returns the newest readable ones, or nil.
func (p *tokenStore) drop(ctx context.Context) (*tokens, error) {
	free, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	t, _, err := p.load(ctx)
	if err != nil {
		t = nil // it is deleted, also when it cannot be read
	}
	err = p.cfg.Vault.Delete(ctx, Name)
	// Tokens that were never stored are newer than those of the vault. Their refresh token is the one to revoke.
	if latest := p.forget(); latest != nil {
		t = latest
	}
	return t, err
}

// forget clears the memory and returns tokens that were not stored yet.
func (p *tokenStore) forget() *tokens {
	p.mu.Lock()
	defer p.mu.Unlock()
	latest := p.unsaved
	p.current, p.unsaved, p.refused = nil, nil, nil
	return latest
}

// close makes later calls fail. A running renewal goes on; Account.Close waits for it.
func (p *tokenStore) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// unusable returns the error for a model call when the stored tokens cannot be read.
func unusable(err error) error {
	switch {
	case errors.Is(err, secret.ErrNone):
		return &llm.Error{Fault: llm.Auth, Text: "nobody is signed in; sign in with: " + command}
	case unreadable(err):
		return &llm.Error{Fault: llm.Auth, Text: "the stored sign-in is damaged; sign in again with: " + command, Err: err}
	case errors.Is(err, secret.ErrKeyring):
		return &llm.Error{Fault: llm.Auth, Text: "unlock the keyring, or sign in again with: " + command, Err: err}
	default:
		return &llm.Error{Fault: llm.Auth, Text: "the stored sign-in cannot be read", Err: err}
	}
}
