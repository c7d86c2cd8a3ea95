package secret

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"hob/daemon/sys"
)

// Errors of a Vault.
var (
	ErrNone    = errors.New("there is no such secret")
	ErrKeyring = errors.New("the system's keyring cannot be used")
	ErrDamaged = errors.New("the stored secret is damaged")
)

// InKeyring is the place that Load reports for a secret in the system's keyring.
const InKeyring = "keyring"

// service is the service name of hob's secrets in a keyring.
const service = "hob"

// vaultPatience is the time limit of a keyring before a file is used instead. A machine without a desktop has no keyring, and a locked
// one may ask a user who is not there.
const vaultPatience = 2 * time.Second

// VaultConfig says where a Vault stores secrets. Folder and Home are required.
type VaultConfig struct {
	Folder  string       // the folder of the files; made with mode 0700 if missing
	Home    string       // hob's home, absolute; it separates the secrets of several homes in one keyring
	Keyring Keyring      // nil: the system's
	Redact  *Redactor    // gets every loaded or stored value; nil: none
	Log     *slog.Logger // logs when a file must be used; nil: nothing is logged
}

// Vault stores named secrets of a few KB that hob itself received: in the system's keyring if it works, otherwise in files of mode 0600.
//
// A small file per name either holds the value or says that the keyring has it. This file decides. So a copy that a hanging keyring
// stores late, or does not remove, is never read. If hob crashes during Save, either the old or the new value is stored completely.
//
// It is safe for concurrent use in one process; hob's lock file keeps other processes out.
type Vault struct {
	cfg  VaultConfig
	mu   sync.Mutex // guards the files
	ring *line
}

// NewVault makes a vault. It reads nothing yet.
func NewVault(c VaultConfig) *Vault {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Keyring == nil {
		c.Keyring = SystemKeyring()
	}
	return &Vault{cfg: c, ring: newLine(c.Keyring, sys.NewGroup(c.Log, nil))}
}

var vaultName = sys.Regexp(`^[a-z][a-z0-9-]{0,63}$`) // no dot: unfinished files have one

// Load returns a secret and its place: InKeyring, or the path of its file. ErrNone: nothing is stored under this name. ErrKeyring: the
// keyring has it and did not return it within 2 s, or refused. ErrDamaged: the file has not the content that Save writes.
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

// Has reports whether something is stored under a name, without asking the keyring for it.
func (v *Vault) Has(name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, err := os.Stat(v.path(name))
	return err == nil
}

func (v *Vault) load(ctx context.Context, name string) ([]byte, string, error) {
	r, err := v.read(name)
	switch {
	case err != nil:
		return nil, "", err
	case r.at == atFile:
		return r.value, v.path(name), nil
	}
	// The file says that the keyring has the value. There is no second place to look.
	text, err := v.ring.ask(ctx, vaultPatience, func(k Keyring) (string, error) { return k.Read(service, v.account(name)) })
	return []byte(text), InKeyring, err
}

// Save stores a secret and replaces the one with the same name. If it returns nil, the value survives a crash. After an error either the
// old value is still stored, or the keyring has the new one.
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
		return fmt.Errorf("%d bytes: want 1 byte to %d KB", len(value), maxValue>>10)
	}
	was, err := v.read(name)
	if err != nil && !errors.Is(err, ErrNone) && !errors.Is(err, ErrDamaged) {
		return err
	}
	_, err = v.ring.ask(ctx, vaultPatience, func(k Keyring) (string, error) {
		return "", k.Write(service, v.account(name), string(value))
	})
	switch {
	// The file says so already.
	case err == nil && was.at == atKeyring:
		return nil
	case err == nil:
		return v.write(name, record{at: atKeyring})
	case !errors.Is(err, ErrKeyring):
		return err
	}
	v.cfg.Log.Info("the keyring cannot be used; storing the secret in a file", "secret", name, "err", err)
	if err := v.write(name, record{at: atFile, value: value}); err != nil {
		return err
	}
	// A keyring that did not answer would only be waited for again.
	if was.at == atKeyring && !errors.Is(err, errSilent) {
		v.forget(ctx, name)
	}
	return nil
}

// Names lists the stored secrets, without asking the keyring.
func (v *Vault) Names() (names []string, err error) {
	entries, err := os.ReadDir(v.cfg.Folder)
	for _, e := range entries {
		if vaultName().MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, absent(err)
}

// Stored is a secret as a file of the vault that needs no keyring.
type Stored struct {
	Name    string
	Content []byte
}

// Export returns all secrets, for a machine with another keyring: a copy of these files in the folder of a vault has the same secrets.
func (v *Vault) Export(ctx context.Context) (list []Stored, err error) {
	names, err := v.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		value, _, err := v.Load(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, Stored{name, append([]byte(fileLine), value...)})
	}
	return list, nil
}

// forget removes an outdated copy from the keyring. If the keyring refuses, the copy does no harm, because nothing reads it.
func (v *Vault) forget(ctx context.Context, name string) {
	if err := v.remove(ctx, name); err != nil {
		v.cfg.Log.Info("an old copy of a secret stays in the keyring", "secret", name, "err", err)
	}
}

// Delete removes a secret from both places. A missing secret is no error. ErrKeyring: hob has removed its own file, but the keyring that
// had the value did not confirm the removal.
func (v *Vault) Delete(ctx context.Context, name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	was, err := v.read(name)
	if err != nil && !errors.Is(err, ErrNone) && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("delete the secret %s: %w", name, err)
	}
	// The keyring comes first: without the file nobody would know of its copy after a crash.
	inRing := v.remove(ctx, name)
	if was.at != atKeyring {
		inRing = nil // at most an outdated copy, which nothing reads
	}
	if err := errors.Join(v.unlink(name), inRing); err != nil {
		return fmt.Errorf("delete the secret %s: %w", name, err)
	}
	return nil
}

func (v *Vault) remove(ctx context.Context, name string) error {
	_, err := v.ring.ask(ctx, vaultPatience, func(k Keyring) (string, error) { return "", k.Remove(service, v.account(name)) })
	return sys.Except(err, ErrNone)
}

// account is the account name of a secret in the keyring. It differs between homes.
func (v *Vault) account(name string) string { return sys.Digest(v.cfg.Home) + "-" + name }

// learn makes the value known to the Redactor.
func (v *Vault) learn(name string, value []byte) {
	if v.cfg.Redact != nil {
		v.cfg.Redact.Add(name, string(value))
	}
}
