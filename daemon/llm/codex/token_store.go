package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hob/daemon/llm"
	"hob/daemon/secret"
)

// take waits until nobody changes the kept tokens. free ends it.
func (p *tokenStore) take(ctx context.Context) (free func(), err error) {
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the sign-in: %w", context.Cause(ctx))
	}
}

// load reads the kept tokens; secret.ErrNone when there are none.
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

func (p *tokenStore) save(ctx context.Context, t *tokens) error {
	doc, err := json.Marshal(t) // #nosec G117 -- it goes to the vault, which is for secrets
	if err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	return p.cfg.Vault.Save(ctx, Name, doc)
}

// keep saves tokens before anybody may use them. Where that fails they wait for the next call: the old refresh token is
// spent.
func (p *tokenStore) keep(ctx context.Context, t *tokens) (*tokens, error) {
	keeping, cancel := p.server.limited(ctx) // however long the server took
	defer cancel()
	if err := p.save(keeping, t); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unsaved = t
		return nil, &llm.Error{Fault: llm.Auth, Text: "the renewed sign-in cannot be kept, so that it is not used", Err: err}
	}
	p.adopt(t)
	return t, nil
}

// adopt puts tokens in force that the vault keeps.
func (p *tokenStore) adopt(t *tokens) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.unsaved, p.refused = t, nil, nil
}

func (p *tokenStore) pending() *tokens {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unsaved
}

func (p *tokenStore) refusedBefore(refresh string) *llm.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil || p.refused.refresh != refresh {
		return nil
	}
	return p.refused.err
}

// put keeps the tokens of a sign-in, unless it has ended meanwhile. Errors are those of alive, and *event.Fault.
func (p *tokenStore) put(ctx context.Context, t *tokens, alive func() error) error {
	ctx, cancel := p.server.limited(ctx)
	defer cancel()
	free, err := p.take(ctx)
	if err != nil {
		return unkept(err)
	}
	defer free()
	if err := alive(); err != nil {
		return err
	}
	if err := p.save(ctx, t); err != nil {
		return unkept(err)
	}
	p.adopt(t)
	return nil
}

// drop deletes the kept tokens, and returns them, the newest there are; nil when there are none that can be read.
func (p *tokenStore) drop(ctx context.Context) (*tokens, error) {
	free, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	t, _, err := p.load(ctx)
	if err != nil {
		t = nil // whatever it is, it is deleted
	}
	err = p.cfg.Vault.Delete(ctx, Name)
	if latest := p.forget(); latest != nil {
		t = latest
	}
	return t, err
}

// forget drops what is in memory, and returns tokens that the vault has not taken yet.
func (p *tokenStore) forget() *tokens {
	p.mu.Lock()
	defer p.mu.Unlock()
	latest := p.unsaved
	p.current, p.unsaved, p.refused = nil, nil, nil
	return latest
}

func (p *tokenStore) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// unusable is what a model call is told when the kept tokens cannot be had.
func unusable(err error) error {
	switch {
	case errors.Is(err, secret.ErrNone):
		return &llm.Error{Fault: llm.Auth, Text: "nobody is signed in; sign in with: " + command}
	case unreadable(err):
		return &llm.Error{Fault: llm.Auth, Text: "the kept sign-in is damaged; sign in again with: " + command, Err: err}
	case errors.Is(err, secret.ErrKeyring):
		return &llm.Error{Fault: llm.Auth, Text: "unlock the keyring, or sign in again with: " + command, Err: err}
	default:
		return &llm.Error{Fault: llm.Auth, Text: "the kept sign-in cannot be read", Err: err}
	}
}
