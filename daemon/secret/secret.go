// Package secret resolves references to secrets in the config and removes known secrets from everything that hob writes.
//
// The flow: the config holds a reference (env:, file:, keyring:, cmd:). A Resolver returns its value and adds it to the Redactor. The
// Redactor's Writer and Handler replace the value in output and logs. A Vault keeps secrets that hob itself receives, such as login
// tokens.
//
// A value stays in memory only, except in a Vault. Texts that are stored for the model to copy are never redacted.
package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"hob/daemon/sys"
)

// ErrScheme marks a reference with a scheme that hob does not know.
var ErrScheme = errors.New("no such kind of reference")

// maxValue is the longest value, in bytes.
const maxValue = 64 << 10

// Resolver finds the values of references. The zero value reads the environment of the process.
type Resolver struct {
	Env    func(name string) (string, bool) // nil: os.LookupEnv
	Home   string                           // base folder of a relative PATH in file:PATH
	Warn   func(text string)                // called for a secret that other users can read; nil: ignored
	Redact *Redactor                        // gets every resolved value; nil: none

	Keyring Keyring // for keyring:NAME; nil: the system's keyring
}

// reference matches a short word of letters before a colon, as in "env:NAME". Tokens that begin with digits (Telegram's are 123456:ABC…)
// do not match, nor do URLs, which have "//" after the colon.
var reference = sys.Regexp(`^([A-Za-z]{2,12}):(|[^/].*|/|/[^/].*)$`)

// IsReference reports whether s refers to a secret, with a scheme that Resolve knows.
func IsReference(s string) bool {
	scheme, _, ok := split(s)
	return ok && known(scheme)
}

func split(s string) (scheme, rest string, ok bool) {
	m := reference().FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return "", "", false
	}
	return m[1], strings.TrimSpace(m[2]), true
}

func known(scheme string) bool {
	return scheme == "env" || scheme == "file" || scheme == "keyring" || scheme == "cmd"
}

// Resolve returns the value of a reference: env:NAME; file:PATH (relative to Home; ~ is the user's home); keyring:NAME (the password of
// the account NAME of the service hob) or keyring:SERVICE/NAME, for at most 10 s; or cmd:COMMAND (run by the shell, for at most 10 s).
// Text that is not a reference is returned unchanged. White space around a resolved value is removed. Empty values and values over 64 KB
// are errors. No error contains a value. ErrScheme marks an unknown scheme. name is the placeholder of the value in redacted texts, for
// example "channels.alerts.token".
func (r Resolver) Resolve(ctx context.Context, name, ref string) (string, error) {
	value, err := r.find(ctx, ref)
	if err != nil {
		return "", err
	}
	if r.Redact != nil {
		// The value is added before anything uses it, so that no log can show it.
		if whole := r.Redact.Add(name, value); !whole && r.Warn != nil && IsReference(ref) {
			r.Warn(name + " is shorter than 8 characters, so hob cannot keep it out of every text: choose a longer one")
		}
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
		return "", fmt.Errorf("%s: there is nothing after the colon", scheme)
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
			"(put a secret that itself looks like a reference into a file)", ErrScheme, scheme+":")
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

// keyring reads a password. Most machines without a desktop have no keyring, so the error names what works there.
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
		return "", fmt.Errorf("keyring:%s: %w (without a logged-in user a machine has no open keyring; file:PATH always works)", name, err)
	}
	return value, err
}

// howToStore returns the command that stores a password where keyring: finds it, on systems that have such a command.
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
	full, err := r.Locate(path)
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
		return "", fmt.Errorf("file:%s: %s is not a regular file", path, full)
	case info.Size() > maxValue:
		return "", fmt.Errorf("file:%s: more than %d KB is too long for a secret", path, maxValue>>10)
	}
	// Windows has no permission bits; Go derives them from the read-only attribute. Elsewhere a readable secret is a warning, not an error.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 && r.Warn != nil {
		r.Warn(fmt.Sprintf("the secret in %s can be read by others: chmod 600 %s", full, full))
	}
	f, err := os.Open(full)
	if err != nil {
		return "", fmt.Errorf("file:%s: %w", path, err)
	}
	// The file may have grown since Stat.
	b, err := io.ReadAll(io.LimitReader(f, maxValue))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("file:%s: %w", path, err)
	}
	return string(b), nil
}

// Locate returns the full path of file:PATH: ~ is the home folder of the user, and a relative path is below hob's home. The error is that
// the home folder of the user is not known.
func (r Resolver) Locate(path string) (string, error) {
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
