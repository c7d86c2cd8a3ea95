package secret

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"hob/daemon/sys"
)

// Errors of a Vault.
var (
	ErrNone    = errors.New("no such secret is kept")
	ErrKeyring = errors.New("the system's keyring cannot be used")
	ErrDamaged = errors.New("the kept secret is damaged")
)

// InKeyring is what Load says of a secret that the system's keyring keeps.
const InKeyring = "keyring"

// service is under which hob's secrets stand in a keyring.
const service = "hob"

// vaultPatience is how long a keyring may take before the file serves: a machine without a desktop has none, and one whose
// keyring is locked may ask somebody who is not there.
const vaultPatience = 2 * time.Second

// VaultConfig says where a Vault keeps things. Folder and Home are required.
type VaultConfig struct {
	Folder  string       // of the files; made with mode 0700 when missing
	Home    string       // hob's home, absolute: it tells the secrets of several homes apart in one keyring
	Keyring Keyring      // nil: the system's
	Redact  *Redactor    // learns every value loaded or stored; nil: none
	Log     *slog.Logger // told when a file has to serve; nil: nobody
}

// Vault keeps named secrets of a few KB that hob itself was given: in the system's keyring where one works, else in files of
// mode 0600. A small file per name says which of the two holds the value, or holds it itself; what it says is the truth, so
// that a copy that a hanging keyring stores late, or keeps although it was told otherwise, is never read. At every moment of a
// Save a crash leaves the old value or the new one, whole.
// It is safe for concurrent use in one process; hob's lock keeps other processes away.
type Vault struct {
	cfg  VaultConfig
	mu   sync.Mutex // guards the files
	ring *line
}

// NewVault makes a vault; it looks at nothing yet.
func NewVault(c VaultConfig) *Vault {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Keyring == nil {
		c.Keyring = SystemKeyring()
	}
	return &Vault{cfg: c, ring: newLine(c.Keyring, sys.NewGroup(c.Log, nil))}
}

var vaultName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`) // no dot: unfinished files have one

// Load returns a secret and where it is kept: InKeyring, or the path of its file. ErrNone: nothing was saved under this
// name, or it was deleted. ErrKeyring: the keyring keeps it, and does not give it (for 2 s, or at all). ErrDamaged: the file
// is not what Save has written.
func (v *Vault) Load(ctx context.Context, name string) (value []byte, where string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	value, where, err = v.load(ctx, name)
	if err != nil {
		return nil, "", fmt.Errorf("load the secret %s: %w", name, err)
	}
	v.learn(name, value)
	return value, where, nil
}

func (v *Vault) load(ctx context.Context, name string) ([]byte, string, error) {
	r, err := v.read(name)
	switch {
	case err != nil:
		return nil, "", err
	case r.at == atFile:
		return r.value, v.path(name), nil
	}
	text, err := v.ring.ask(ctx, vaultPatience, func(k Keyring) (string, error) { return k.Read(service, v.account(name)) })
	return []byte(text), InKeyring, err
}

// Save keeps a secret, in place of what was kept under that name. When it returns nil the value survives a crash. On an error
// the old value is still kept, or the keyring has taken the new one.
func (v *Vault) Save(ctx context.Context, name string, value []byte) error {
	v.learn(name, value)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.save(ctx, name, value); err != nil {
		return fmt.Errorf("save the secret %s: %w", name, err)
	}
	return nil
}

func (v *Vault) save(ctx context.Context, name string, value []byte) error {
	if len(value) == 0 || len(value) > maxValue {
		return fmt.Errorf("%d bytes: there must be 1 to %d KB", len(value), maxValue>>10)
	}
	was, err := v.read(name)
	if err != nil && !errors.Is(err, ErrNone) && !errors.Is(err, ErrDamaged) {
		return err
	}
	_, err = v.ring.ask(ctx, vaultPatience, func(k Keyring) (string, error) {
		return "", k.Write(service, v.account(name), string(value))
	})
	switch {
	case err == nil && was.at == atKeyring:
		return nil
	case err == nil:
		return v.write(name, record{at: atKeyring})
	case !errors.Is(err, ErrKeyring):
		return err
	}
	v.cfg.Log.Info("the keyring cannot be used, a file keeps the secret", "secret", name, "err", err)
	if err := v.write(name, record{at: atFile, value: value}); err != nil {
		return err
	}
	if was.at == atKeyring && !errors.Is(err, errSilent) {
		v.forget(ctx, name)
	}
	return nil
}

// forget removes the copy in the keyring that is not in force any more. That it stays where the keyring refuses does no
// harm: nothing reads it.
func (v *Vault) forget(ctx context.Context, name string) {
	if err := v.remove(ctx, name); err != nil {
		v.cfg.Log.Info("an old copy stays in the keyring", "secret", name, "err", err)
	}
}

// Delete removes a secret from both places. Nothing being there is no error. ErrKeyring: hob has forgotten it, and the
// keyring, which kept it, has not said that it did.
func (v *Vault) Delete(ctx context.Context, name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	was, err := v.read(name)
	if err != nil && !errors.Is(err, ErrNone) && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("delete the secret %s: %w", name, err)
	}
	inRing := v.remove(ctx, name)
	if was.at != atKeyring {
		inRing = nil // at most an old copy, which nothing reads
	}
	if err := errors.Join(v.unlink(name), inRing); err != nil {
		return fmt.Errorf("delete the secret %s: %w", name, err)
	}
	return nil
}

func (v *Vault) remove(ctx context.Context, name string) error {
	_, err := v.ring.ask(ctx, vaultPatience, func(k Keyring) (string, error) { return "", k.Remove(service, v.account(name)) })
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// account names a secret in the keyring, apart from that of another home.
func (v *Vault) account(name string) string { return sys.Digest(v.cfg.Home) + "-" + name }

func (v *Vault) learn(name string, value []byte) {
	if v.cfg.Redact != nil {
		v.cfg.Redact.Add(name, string(value))
	}
}
