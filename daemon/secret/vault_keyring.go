package secret

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hob/daemon/sys"

	"github.com/zalando/go-keyring"
)

// Keyring is the system's store of passwords. A call may block for any time, because it may ask a person to unlock the keyring. Read and
// Remove return ErrNone if there is no such password.
type Keyring interface {
	Read(service, account string) (string, error)
	Write(service, account, password string) error
	Remove(service, account string) error
}

// SystemKeyring returns the keyring of the user that hob runs as: the Secret Service on Linux and the BSDs, the Keychain on macOS, the
// Credential Manager on Windows. The limit of a value is 2.5 KB on Windows and about 3 KB on macOS; a longer one is an error.
func SystemKeyring() Keyring { return system{} }

type system struct{}

func (system) Read(service, account string) (string, error) {
	password, err := keyring.Get(service, account)
	return password, none(err)
}

func (system) Write(service, account, password string) error {
	return keyring.Set(service, account, password)
}

func (system) Remove(service, account string) error {
	return none(keyring.Delete(service, account))
}

// none maps the library's error to ErrNone.
func none(err error) error {
	if errors.Is(err, keyring.ErrNotFound) {
		return ErrNone
	}
	return err
}

// Password reads a password that the user stored in a keyring, for at most 10 s, because unlocking needs a person. ErrNone: there is no
// such password. ErrKeyring: the keyring refuses or does not answer.
func Password(ctx context.Context, k Keyring, service, account string) (string, error) {
	l := newLine(k, sys.NewGroup(slog.New(slog.DiscardHandler), nil))
	password, err := l.ask(ctx, commandTime, func(k Keyring) (string, error) { return k.Read(service, account) })
	if err != nil {
		return "", fmt.Errorf("read %s of %s from the keyring: %w", account, service, err)
	}
	return password, nil
}

var errSilent = errors.New("it does not answer")

// line allows one call to a keyring at a time, each for a limited time. A hanging call cannot be ended. It is abandoned and keeps the
// line busy, so that calls neither pile up nor overtake it. When it returns after all (because somebody unlocked the keyring), the line
// is free again.
type line struct {
	ring  Keyring
	busy  chan struct{} // holds one element while a call runs
	group *sys.Group    // nobody waits for it: a hanging call would block its owner too
}

func newLine(ring Keyring, group *sys.Group) *line {
	return &line{ring: ring, busy: make(chan struct{}, 1), group: group}
}

// ask makes a call. Its errors are ErrNone unchanged, the end of ctx, and ErrKeyring with its cause for everything else.
func (l *line) ask(ctx context.Context, limit time.Duration, call func(Keyring) (string, error)) (string, error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case l.busy <- struct{}{}:
	case <-within.Done():
		return "", silent(ctx)
	}
	type answer struct {
		text string
		err  error
	}
	// Room for one answer lets an abandoned call end without a reader.
	answers := make(chan answer, 1)
	l.group.Once("ask the keyring", func() error {
		defer func() { <-l.busy }()
		text, err := call(l.ring)
		answers <- answer{text, err}
		return nil
	})
	select {
	case a := <-answers:
		if a.err != nil && !errors.Is(a.err, ErrNone) {
			a.err = fmt.Errorf("%w: %w", ErrKeyring, a.err)
		}
		return a.text, a.err
	case <-within.Done():
		return "", silent(ctx)
	}
}

// silent says why there is no answer: the caller gave up, or the keyring is too slow.
func silent(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ask the keyring: %w", context.Cause(ctx))
	}
	return fmt.Errorf("%w: %w", ErrKeyring, errSilent)
}
