// Package secret turns references in the configuration into the values behind them, and takes known values out of
// whatever is written. It keeps no value longer than the process lives, writes none anywhere but where a Vault is told to,
// and never redacts what is stored for the model to copy.
package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// ErrScheme is a reference of a kind that hob does not know.
var ErrScheme = errors.New("no such kind of reference")

// maxValue bounds a value, in bytes.
const maxValue = 64 << 10

// Resolver finds the values behind references. Its zero value reads the process's environment.
type Resolver struct {
	Env    func(name string) (string, bool) // nil: os.LookupEnv
	Home   string                           // where a relative PATH of file: starts
	Warn   func(text string)                // told of secrets that others can read; nil: nobody
	Redact *Redactor                        // learns every value found; nil: none

	Keyring Keyring // asked for keyring:NAME; nil: the system's
}

// reference is a short word of letters before a colon, as in "env:NAME". No token that begins with digits is one
// (Telegram's are 123456:ABC…), and no address, which has "//" behind the colon.
var reference = regexp.MustCompile(`^([A-Za-z]{2,12}):(|[^/].*|/|/[^/].*)$`)

// IsReference reports whether s points to a secret, with a scheme that Resolve knows.
func IsReference(s string) bool {
	scheme, _, ok := split(s)
	return ok && known(scheme)
}

func split(s string) (scheme, rest string, ok bool) {
	m := reference.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return "", "", false
	}
	return m[1], strings.TrimSpace(m[2]), true
}

func known(scheme string) bool {
	return scheme == "env" || scheme == "file" || scheme == "keyring" || scheme == "cmd"
}

// Resolve returns the value of a reference: env:NAME, file:PATH (relative to Home; ~ is the user's home), keyring:NAME (the
// password of the account NAME of the service hob, or keyring:SERVICE/NAME; at most 10 s) or cmd:COMMAND
// (run by the shell, at most 10 s). What is no reference is returned as it is. White space around a value that was found is
// dropped. Values over 64 KB and empty ones are errors; no error holds a value. ErrScheme marks an unknown scheme.
// name is what stands for the value where it is redacted, e.g. "channels.alerts.token".
func (r Resolver) Resolve(ctx context.Context, name, ref string) (string, error) {
	value, err := r.find(ctx, ref)
	if err != nil {
		return "", err
	}
	if r.Redact != nil {
		r.Redact.Add(name, value)
	}
	return value, nil
}

func (r Resolver) find(ctx context.Context, ref string) (string, error) {
	scheme, rest, ok := split(ref)
	if !ok {
		return ref, nil
	}
	var value string
	var err error
	switch {
	case known(scheme) && rest == "":
		return "", fmt.Errorf("%s: there is nothing behind the colon", scheme)
	case scheme == "env":
		value, err = r.env(rest)
	case scheme == "file":
		value, err = r.file(rest)
	case scheme == "keyring":
		value, err = r.keyring(ctx, rest)
	case scheme == "cmd":
		value, err = command(ctx, rest)
	default:
		return "", fmt.Errorf("%w: %q; there are env:NAME, file:PATH, keyring:NAME and cmd:COMMAND "+
			"(a secret that begins like a reference itself can stand in a file)", ErrScheme, scheme+":")
	}
	if value = strings.TrimSpace(value); err == nil && value == "" {
		err = fmt.Errorf("%s:%s is empty", scheme, rest)
	}
	return value, err
}

func (r Resolver) env(name string) (string, error) {
	lookup := r.Env
	if lookup == nil {
		lookup = os.LookupEnv
	}
	value, ok := lookup(name)
	if !ok {
		return "", fmt.Errorf("env:%s: the variable %s is not set where hob runs (a service does not see your shell's variables; file:PATH always works)", name, name)
	}
	return value, nil
}

// keyring asks for a password. Most machines without a desktop have no keyring, so the error names what works there.
func (r Resolver) keyring(ctx context.Context, name string) (string, error) {
	owner, account, ok := strings.Cut(name, "/")
	if !ok {
		owner, account = service, name
	}
	if owner == "" || account == "" {
		return "", fmt.Errorf("keyring:%s: want keyring:NAME, or keyring:SERVICE/NAME", name)
	}
	ring := r.Keyring
	if ring == nil {
		ring = SystemKeyring()
	}
	value, err := Password(ctx, ring, owner, account)
	switch {
	case errors.Is(err, ErrNone):
		return "", fmt.Errorf("keyring:%s: the keyring has no password of the service %q for the account %q%s: %w", name, owner, account, howToStore(owner, account), err)
	case errors.Is(err, ErrKeyring):
		return "", fmt.Errorf("keyring:%s: %w (a machine that nobody is logged in to has no open keyring; file:PATH always works)", name, err)
	}
	return value, err
}

// howToStore is the command that puts a password where keyring: looks, on systems that come with one.
func howToStore(owner, account string) string {
	switch runtime.GOOS {
	case "darwin":
		return fmt.Sprintf(" (put it there with: security add-generic-password -s %s -a %s -w)", owner, account)
	case "windows":
		return ""
	}
	return fmt.Sprintf(" (put it there with: secret-tool store --label=%s service %s username %s)", owner, owner, account)
}

func (r Resolver) file(path string) (string, error) {
	full, err := r.locate(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("file:%s: there is no file %s", path, full)
	case err != nil:
		return "", fmt.Errorf("file:%s: %w", path, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("file:%s: %s is no regular file", path, full)
	case info.Size() > maxValue:
		return "", fmt.Errorf("file:%s: more than %d KB is no secret", path, maxValue>>10)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 && r.Warn != nil {
		r.Warn(fmt.Sprintf("the secret in %s can be read by others: chmod 600 %s", full, full))
	}
	f, err := os.Open(full)
	if err != nil {
		return "", fmt.Errorf("file:%s: %w", path, err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxValue))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("file:%s: %w", path, err)
	}
	return string(b), nil
}

func (r Resolver) locate(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("file:%s: %w", path, err)
		}
		return filepath.Join(home, rest), nil
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	return filepath.Join(r.Home, path), nil
}
