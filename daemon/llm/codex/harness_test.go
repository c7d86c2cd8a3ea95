package codex_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/daemon/llm/codex"
	"hob/daemon/secret"
	"hob/daemon/sys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errFull = errors.New("no space left on device")

// vault is the real one, whose Save can be made to fail.
type vault struct {
	*secret.Vault
	full atomic.Bool
}

func (v *vault) Save(ctx context.Context, name string, value []byte) error {
	if v.full.Load() {
		return errFull
	}
	return v.Vault.Save(ctx, name, value)
}

// noKeyring is a machine without one.
type noKeyring struct{}

var errNoBus = errors.New("no message bus")

func (noKeyring) Read(string, string) (string, error) { return "", errNoBus }
func (noKeyring) Write(string, string, string) error  { return errNoBus }
func (noKeyring) Remove(string, string) error         { return errNoBus }

// harness is an account, its server, its clock and its surroundings.
type harness struct {
	*authority
	t       *testing.T
	port    int
	url     string            // of the server
	wire    http.RoundTripper // nil: the network
	folder  string
	vault   *vault
	account *codex.Account
	later   atomic.Int64 // by how much the clock is ahead
	logs    lines
}

type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func newHarness(t *testing.T, change ...func(*codex.Config)) *harness {
	t.Helper()
	r := unwired(t, freePort(t))
	r.url = r.listen()
	r.account = r.start(change...)
	return r
}

// newQuietRig has no network, so that it can live on testing/synctest's clock: its port must be taken.
func newQuietRig(t *testing.T, port int) *harness {
	t.Helper()
	r := unwired(t, port)
	r.url, r.wire = "http://authority.test", r.authority
	r.account = r.start()
	return r
}

func unwired(t *testing.T, port int) *harness {
	r := &harness{t: t, port: port, folder: filepath.Join(t.TempDir(), "secrets"), authority: newAuthority(t, port)}
	r.vault = &vault{Vault: secret.NewVault(secret.VaultConfig{Folder: r.folder, Home: "/h", Keyring: noKeyring{}})}
	t.Cleanup(func() {
		if got := r.logs.buf.String(); strings.Contains(got, "canary") {
			t.Errorf("a token stands in the log: %s", got)
		}
	})
	return r
}

// start makes an account over the vault, as a start of hob does.
func (r *harness) start(change ...func(*codex.Config)) *codex.Account {
	transport := &http.Transport{}
	c := codex.Config{
		Vault: r.vault, Port: r.port, HTTP: &http.Client{Transport: cmp.Or(r.wire, http.RoundTripper(transport))},
		Now:          sys.ShiftedClock(func() time.Duration { return time.Duration(r.later.Load()) }).Wall,
		Log:          slog.New(slog.NewTextHandler(&r.logs, nil)),
		AuthorizeURL: r.url + "/oauth/authorize", TokenURL: r.url + "/oauth/token", RevokeURL: r.url + "/oauth/revoke",
	}
	for _, f := range change {
		f(&c)
	}
	a := codex.New(c)
	r.t.Cleanup(func() {
		a.Close()
		transport.CloseIdleConnections()
	})
	return a
}

// freePort is one that nobody uses just now, on either loopback address.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func (r *harness) begin() codex.Login {
	r.t.Helper()
	l, err := r.account.Begin(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

// page is what a browser was answered, but for its body.
type page struct {
	StatusCode int
	Header     http.Header
}

// browse opens an address as a browser does, following redirects unless they stop at the redirect address: where is the last
// address.
func (r *harness) browse(address string, stop bool) (where, body string, seen page) {
	r.t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Transport: cmp.Or(r.wire, http.RoundTripper(transport)), CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		where = req.URL.String()
		if stop {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		r.t.Fatal(err)
	}
	return where, string(b), page{res.StatusCode, res.Header}
}

// last is the address that a browser on another machine ends up at.
func (r *harness) last(l codex.Login) string {
	r.t.Helper()
	where, _, _ := r.browse(l.Address, true)
	if !strings.HasPrefix(where, r.redirect) {
		r.t.Fatalf("the browser ended up at %q", where)
	}
	return where
}

// signIn signs somebody in.
func (r *harness) signIn() {
	r.t.Helper()
	if err := r.account.Finish(r.t.Context(), r.last(r.begin())); err != nil {
		r.t.Fatal(err)
	}
}

func (r *harness) pass(d time.Duration) { r.later.Add(int64(d)) }

func (r *harness) status() codex.Status {
	r.t.Helper()
	s, err := r.account.Status(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// wantToken asks for credentials and wants the token with a number.
func (r *harness) wantToken(a *codex.Account, n int) {
	r.t.Helper()
	token, _, err := a.Credentials(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	if got := numbered(r.t, token); got != n {
		r.t.Errorf("got token %d, want %d", got, n)
	}
}
