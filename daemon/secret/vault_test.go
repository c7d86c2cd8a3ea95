package secret_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zalando/go-keyring"

	"hob/daemon/secret"
)

var errLocked = errors.New("the collection is locked")

// ring is a keyring in memory. While hung is open, its calls block; they take effect once it is closed.
type ring struct {
	mu     sync.Mutex
	kept   map[string]string
	refuse error
	hung   chan struct{}
	wrote  func() // called when Write has stored a value
}

func (r *ring) enter() error {
	r.mu.Lock()
	hung := r.hung
	r.mu.Unlock()
	if hung != nil {
		<-hung
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refuse
}

func (r *ring) Read(service, account string) (string, error) {
	if err := r.enter(); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	password, ok := r.kept[service+"/"+account]
	if !ok {
		return "", secret.ErrNone
	}
	return password, nil
}

func (r *ring) Write(service, account, password string) error {
	if err := r.enter(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]string{}
	}
	r.kept[service+"/"+account] = password
	if r.wrote != nil {
		r.wrote()
	}
	return nil
}

func (r *ring) Remove(service, account string) error {
	if err := r.enter(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.kept[service+"/"+account]; !ok {
		return secret.ErrNone
	}
	delete(r.kept, service+"/"+account)
	return nil
}

// mode makes the keyring work, refuse or hang from now on. Hanging calls are released.
func (r *ring) mode(refuse error, hang bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = refuse
	if r.hung != nil {
		close(r.hung)
		r.hung = nil
	}
	if hang {
		r.hung = make(chan struct{})
	}
}

func (r *ring) values() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprint(r.kept)
}

func open(t *testing.T, r *ring, folder string) *secret.Vault {
	t.Helper()
	return secret.NewVault(secret.VaultConfig{Folder: folder, Home: "/home/sam/.hob", Keyring: r})
}

func save(t *testing.T, v *secret.Vault, value string) {
	t.Helper()
	if err := v.Save(t.Context(), "codex", []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func wantKept(t *testing.T, v *secret.Vault, value, where string) {
	t.Helper()
	got, at, err := v.Load(t.Context(), "codex")
	if err != nil || string(got) != value || at != where {
		t.Errorf("got %q from %q, %v; want %q from %q", got, at, err, value, where)
	}
}

// onDisk returns the content of all files below a folder.
func onDisk(t *testing.T, folder string) string {
	t.Helper()
	var all bytes.Buffer
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s: %s", e.Name(), b)
	}
	return all.String()
}

func TestVaultPrefersTheKeyring(t *testing.T) {
	r, folder := &ring{}, filepath.Join(t.TempDir(), "state", "secrets")
	v := open(t, r, folder)
	if _, _, err := v.Load(t.Context(), "codex"); !errors.Is(err, secret.ErrNone) {
		t.Errorf("before the first Save: %v", err)
	}
	save(t, v, "value-1")
	save(t, v, "value-2")
	wantKept(t, open(t, r, folder), "value-2", secret.InKeyring)
	if got := onDisk(t, folder); strings.Contains(got, "value") {
		t.Errorf("the folder holds the value too: %s", got)
	}
	other := secret.NewVault(secret.VaultConfig{Folder: t.TempDir(), Home: "/home/sam/.hob-test", Keyring: r})
	save(t, other, "of-another-home")
	wantKept(t, v, "value-2", secret.InKeyring)
	if len(r.kept) != 2 {
		t.Errorf("the keyring holds %v", r.kept)
	}
	for account := range r.kept {
		if !strings.HasPrefix(account, "hob/") || !strings.HasSuffix(account, "-codex") || strings.Contains(account, "sam") {
			t.Errorf("kept under %q", account)
		}
	}
}

func TestVaultWritesAFileWhereTheKeyringRefuses(t *testing.T) {
	r, folder := &ring{refuse: errLocked}, filepath.Join(t.TempDir(), "state", "secrets")
	v := open(t, r, folder)
	save(t, v, "value-1")
	save(t, v, "value-2\nof two lines\x00\xff")
	wantKept(t, open(t, r, folder), "value-2\nof two lines\x00\xff", filepath.Join(folder, "codex"))
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	for path, want := range map[string]os.FileMode{folder: 0o700, filepath.Dir(folder): 0o700, filepath.Join(folder, "codex"): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
	}
}

func TestVaultMovesWithTheLastSave(t *testing.T) {
	r, folder := &ring{}, t.TempDir()
	v := open(t, r, folder)
	save(t, v, "value-1")
	r.mode(errLocked, false)
	save(t, v, "value-2") // the keyring cannot even remove the old value
	r.mode(nil, false)
	wantKept(t, open(t, r, folder), "value-2", filepath.Join(folder, "codex"))
	save(t, v, "value-3")
	wantKept(t, open(t, r, folder), "value-3", secret.InKeyring)
	if got := onDisk(t, folder); strings.Contains(got, "value") {
		t.Errorf("the folder still holds a value: %s", got)
	}
}

// small refuses long values, as Windows does.
type small struct{ *ring }

func (s small) Write(service, account, password string) error {
	if len(password) > 10 {
		return errors.New("too big")
	}
	return s.ring.Write(service, account, password)
}

func TestVaultRemovesTheKeyringsOldCopy(t *testing.T) {
	r, folder := &ring{}, t.TempDir()
	v := secret.NewVault(secret.VaultConfig{Folder: folder, Home: "/h", Keyring: small{r}})
	save(t, v, "short")
	save(t, v, "one that is too long")
	wantKept(t, v, "one that is too long", filepath.Join(folder, "codex"))
	if len(r.kept) != 0 {
		t.Errorf("the keyring still holds %v", r.kept)
	}
}

func TestVaultDeletesBothCopies(t *testing.T) {
	r, folder := &ring{}, t.TempDir()
	v := open(t, r, folder)
	save(t, v, "value-1")
	r.mode(errLocked, false)
	save(t, v, "value-2")
	r.mode(nil, false)
	if err := os.WriteFile(filepath.Join(folder, "codex.new"), []byte("kept here\nvalue-0"), 0o600); err != nil { // left by a crash
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to delete
		if err := v.Delete(t.Context(), "codex"); err != nil {
			t.Fatal(err)
		}
		if got := onDisk(t, folder) + r.values(); got != "map[]" {
			t.Errorf("left: %s", got)
		}
		if _, _, err := v.Load(t.Context(), "codex"); !errors.Is(err, secret.ErrNone) {
			t.Errorf("got %v", err)
		}
	}
}

func TestVaultSaysThatTheKeyringDidNotForget(t *testing.T) {
	r := &ring{}
	v := open(t, r, t.TempDir())
	save(t, v, "value-1")
	r.mode(errLocked, false)
	if _, _, err := v.Load(t.Context(), "codex"); !errors.Is(err, secret.ErrKeyring) || !errors.Is(err, errLocked) {
		t.Errorf("Load of what a locked keyring keeps: %v", err)
	}
	if err := v.Delete(t.Context(), "codex"); !errors.Is(err, secret.ErrKeyring) {
		t.Errorf("Delete: %v", err)
	}
	r.mode(nil, false)
	if _, _, err := v.Load(t.Context(), "codex"); !errors.Is(err, secret.ErrNone) {
		t.Errorf("after Delete: %v", err)
	}
}

func TestVaultDoesNotWaitForAHangingKeyring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, folder := &ring{}, t.TempDir()
		v := open(t, r, folder)
		save(t, v, "value-1")
		r.mode(nil, true)
		start := time.Now()
		if _, _, err := v.Load(t.Context(), "codex"); !errors.Is(err, secret.ErrKeyring) {
			t.Errorf("Load of what a hanging keyring keeps: %v", err)
		}
		save(t, v, "value-2")
		if took := time.Since(start); took != 4*time.Second {
			t.Errorf("two calls took %v, want 2 s each", took)
		}
		wantKept(t, v, "value-2", filepath.Join(folder, "codex"))
		if took := time.Since(start); took != 4*time.Second {
			t.Errorf("reading the file asked the keyring: %v", took-4*time.Second)
		}
		r.mode(nil, false) // it works again
		synctest.Wait()
		wantKept(t, v, "value-2", filepath.Join(folder, "codex"))
		save(t, v, "value-3")
		wantKept(t, v, "value-3", secret.InKeyring)
	})
}

func TestVaultIgnoresWhatAHangingKeyringStoresLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, folder := &ring{}, t.TempDir()
		r.mode(nil, true)
		v := open(t, r, folder)
		save(t, v, "value-1")
		if err := v.Delete(t.Context(), "codex"); err != nil {
			t.Error(err)
		}
		r.mode(nil, false)
		synctest.Wait()
		if !strings.Contains(r.values(), "value-1") {
			t.Fatalf("nothing came late: %s", r.values())
		}
		if _, _, err := v.Load(t.Context(), "codex"); !errors.Is(err, secret.ErrNone) {
			t.Errorf("what came late is there again: %v", err)
		}
	})
}

func TestVaultEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &ring{}
		r.mode(nil, true)
		defer r.mode(nil, false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := open(t, r, t.TempDir()).Save(ctx, "codex", []byte("value-1"))
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, secret.ErrKeyring) {
			t.Errorf("got %v; want the caller's deadline", err)
		}
	})
}

// TestVaultKeepsTheLast does random saves, deletions and restarts while the keyring works, refuses or hangs.
func TestVaultKeepsTheLast(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			r, folder, last, works := &ring{}, t.TempDir(), "", true
			v := open(t, r, folder)
			var walk []string
			for step := range 12 {
				switch what := random.IntN(6); what {
				case 0:
					walk, v = append(walk, "restart"), open(t, r, folder)
				case 1, 2:
					mood := random.IntN(3)
					walk, works = append(walk, fmt.Sprint("mood ", mood)), mood == 0
					r.mode([]error{nil, errLocked, nil}[mood], mood == 2)
				case 3:
					walk, last = append(walk, "delete"), ""
					if err := v.Delete(t.Context(), "codex"); err != nil && (works || !errors.Is(err, secret.ErrKeyring)) {
						t.Errorf("seed %d, %q: %v", seed, walk, err)
					}
				default:
					walk, last = append(walk, "save"), fmt.Sprint("value-", step)
					save(t, v, last)
				}
				synctest.Wait()
				got, where, err := v.Load(t.Context(), "codex")
				silent := errors.Is(err, secret.ErrKeyring) && !works
				if !silent && (string(got) != last || (last == "") != errors.Is(err, secret.ErrNone)) {
					t.Fatalf("seed %d, %q: got %q from %q, %v; want %q", seed, walk, got, where, err, last)
				}
			}
			r.mode(nil, false)
		})
	}
}

// TestVaultSurvivesACrash checks the files that a crash would leave between the two steps of a move into the keyring.
func TestVaultSurvivesACrash(t *testing.T) {
	r, folder, copied := &ring{refuse: errLocked}, t.TempDir(), t.TempDir()
	v := open(t, r, folder)
	save(t, v, "value-1")
	r.mode(nil, false)
	left := &ring{}
	r.wrote = func() {
		left.kept = maps.Clone(r.kept)
		if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
			t.Error(err)
		}
	}
	save(t, v, "value-2")
	wantKept(t, v, "value-2", secret.InKeyring)
	wantKept(t, open(t, left, copied), "value-1", filepath.Join(copied, "codex"))
}

func TestVaultReportsWhatItCannotRead(t *testing.T) {
	folder := t.TempDir()
	v := open(t, &ring{refuse: errLocked}, folder)
	for _, doc := range []string{"", "kept", "kept here\n", "value-1", "kept here\n" + strings.Repeat("x", 65_537)} {
		write(t, filepath.Join(folder, "codex"), doc, 0o600)
		if _, _, err := v.Load(t.Context(), "codex"); !errors.Is(err, secret.ErrDamaged) || strings.Contains(err.Error(), "value-1") {
			t.Errorf("%.20q: got %v", doc, err)
		}
	}
	save(t, v, "value-2")
	wantKept(t, v, "value-2", filepath.Join(folder, "codex"))
	for _, name := range []string{"", "..", "a/b", "codex.new", "Codex"} {
		if _, _, err := v.Load(t.Context(), name); err == nil || errors.Is(err, secret.ErrNone) {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	for _, value := range []string{"", strings.Repeat("x", 65_537)} {
		if err := v.Save(t.Context(), "codex", []byte(value)); err == nil {
			t.Errorf("%d bytes were saved", len(value))
		}
	}
}

func TestVaultSaysWhenNothingCouldBeKept(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	write(t, blocked, "in the way", 0o600)
	v := open(t, &ring{refuse: errLocked}, filepath.Join(blocked, "secrets"))
	if err := v.Save(t.Context(), "codex", []byte("value-1")); err == nil || strings.Contains(err.Error(), "value-1") {
		t.Errorf("got %v", err)
	}
}

func TestVaultTeachesTheRedactor(t *testing.T) {
	r, folder := &ring{refuse: errLocked}, t.TempDir()
	var log bytes.Buffer
	for _, act := range []func(*secret.Vault){
		func(v *secret.Vault) { save(t, v, "value-1") },
		func(v *secret.Vault) { wantKept(t, v, "value-1", filepath.Join(folder, "codex")) },
	} {
		redact := &secret.Redactor{}
		act(secret.NewVault(secret.VaultConfig{
			Folder: folder, Home: "/h", Keyring: r, Redact: redact, Log: slog.New(slog.NewTextHandler(&log, nil)),
		}))
		if got := redact.Text("a value-1 b"); got != "a [secret codex] b" {
			t.Errorf("got %q", got)
		}
	}
	if got := log.String(); strings.Contains(got, "value-1") || !strings.Contains(got, "storing the secret in a file") {
		t.Errorf("log: %s", got)
	}
}

// TestSystemKeyring uses the library with its own in-memory keyring.
func TestSystemKeyring(t *testing.T) {
	keyring.MockInit()
	k := secret.SystemKeyring()
	if _, err := k.Read("hob", "a"); !errors.Is(err, secret.ErrNone) {
		t.Errorf("Read of nothing: %v", err)
	}
	if err := k.Remove("hob", "a"); !errors.Is(err, secret.ErrNone) {
		t.Errorf("Remove of nothing: %v", err)
	}
	if err := k.Write("hob", "a", "canary-1"); err != nil {
		t.Error(err)
	}
	if got, err := k.Read("hob", "a"); err != nil || got != "canary-1" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := k.Remove("hob", "a"); err != nil {
		t.Error(err)
	}
	keyring.MockInitWithError(errLocked)
	if err := k.Write("hob", "a", "canary-1"); !errors.Is(err, errLocked) {
		t.Errorf("Write to a locked one: %v", err)
	}
}

func TestPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &ring{kept: map[string]string{"mail/sam": "canary-1"}}
		if got, err := secret.Password(t.Context(), r, "mail", "sam"); err != nil || got != "canary-1" {
			t.Errorf("got %q, %v", got, err)
		}
		if _, err := secret.Password(t.Context(), r, "mail", "eve"); !errors.Is(err, secret.ErrNone) || !strings.Contains(err.Error(), "eve of mail") {
			t.Errorf("of nobody: %v", err)
		}
		r.mode(nil, true)
		start := time.Now()
		if _, err := secret.Password(t.Context(), r, "mail", "sam"); !errors.Is(err, secret.ErrKeyring) || time.Since(start) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		r.mode(nil, false)
	})
}
