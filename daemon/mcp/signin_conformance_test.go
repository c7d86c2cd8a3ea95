package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/mcp"
	"hob/daemon/sandbox"
	"hob/daemon/secret"
	"hob/daemon/store/storetest"
	"hob/daemon/sys"
	"hob/daemon/sys/systest"
	"hob/tools"
)

// asSuiteClient makes this test binary the client that the suite runs.
const asSuiteClient = "HOB_TEST_SIGN_IN_CLIENT"

// document is the client ID metadata document that the suite knows.
const document = "https://conformance-test.local/client-metadata.json"

// Every sign-in that a revision of the protocol requires of a client works, and every one that a client must refuse is refused, by the suite of the
// protocol's authors (npm @modelcontextprotocol/conformance). HOB_NPM is the folder node_modules in which .ci/run installs it.
func TestConformanceOfSignIns(t *testing.T) {
	modules := os.Getenv("HOB_NPM")
	node, suite := filepath.Join(modules, "node", "bin", "node"), filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
	for _, needed := range []string{node, suite} {
		if _, err := os.Stat(needed); err != nil || modules == "" {
			systest.Missing(t, "HOB_NPM is not a folder node_modules with the packages node@22 and @modelcontextprotocol/conformance")
		}
	}
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for revision, scenarios := range map[string]string{
		"2025-11-25": "metadata-default metadata-var1 metadata-var2 metadata-var3 basic-cimd scope-from-www-authenticate scope-from-scopes-supported scope-omitted-when-undefined " +
			"scope-step-up scope-retry-limit token-endpoint-auth-basic token-endpoint-auth-post token-endpoint-auth-none pre-registration",
		"2026-07-28": "metadata-default metadata-var1 metadata-var2 metadata-var3 basic-cimd scope-from-www-authenticate scope-from-scopes-supported scope-omitted-when-undefined " +
			"scope-step-up scope-retry-limit token-endpoint-auth-basic token-endpoint-auth-post token-endpoint-auth-none pre-registration " +
			"resource-mismatch offline-access-scope offline-access-not-supported authorization-server-migration iss-supported iss-not-advertised iss-supported-missing " +
			"iss-wrong-issuer iss-unexpected iss-normalized metadata-issuer-mismatch",
	} {
		for name := range strings.FieldsSeq(scenarios) {
			t.Run(revision+"/"+name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, node, suite, "client", "--command", self+" -test.run=^TestSuiteClient$", "--scenario", "auth/"+name, "--spec-version", revision, "--timeout", "60000") // #nosec G204 G702 -- the test's own programs
				cmd.Env, cmd.Dir = append(os.Environ(), asSuiteClient+"=1"), t.TempDir()
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// quietAsker has no owner: nothing is asked.
type quietAsker struct{}

func (quietAsker) AskForServer(context.Context, api.MCPQuestion) (int64, error) {
	return 0, fmt.Errorf("nobody is there")
}

func (quietAsker) ServerAnswer(context.Context, int64) (string, bool, bool, error) {
	return "", false, false, nil
}
func (quietAsker) CloseForServer(context.Context, int64) error { return nil }
func (quietAsker) AnswerSignIn(context.Context, event.In, []string, string) (event.Receipt, int, error) {
	return event.Receipt{}, 1, nil
}

// TestSuiteClient is the client that the suite runs: it accepts what the server offers, calls each tool, and signs in as often as it is asked to, like an
// owner who follows each link.
func TestSuiteClient(t *testing.T) {
	if os.Getenv(asSuiteClient) == "" {
		t.Skip("for the suite")
	}
	address := os.Args[len(os.Args)-1]
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given) // most scenarios give nothing
	section := config.MCPServer{URL: address, ClientID: given.ID, ClientSecret: given.Secret, Timeout: 20 * time.Second}
	if given.ID == "" {
		section.ClientID = document
	}
	if given.Secret != "" {
		section.Issuer = issuerOf(t, address)
	}
	conf := &config.Snapshot{}
	conf.MCP.Servers = map[string]config.MCPServer{"suite": section}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	spawn := sys.NewGroup(log, nil)
	redact := &secret.Redactor{}
	s := mcp.NewService(mcp.Deps{
		Rows: storetest.Fresh(t).Settings, Questions: mcp.Questions{Rows: quietAsker{}, Answered: func() <-chan struct{} { return nil }, Owner: func() []event.Address { return nil }}, Redact: redact, Vault: secret.NewVault(secret.VaultConfig{Folder: t.TempDir(), Home: "/", Keyring: noKeyring{}, Redact: redact}),
		Config: func() *config.Snapshot { return conf }, Resolve: func(_ context.Context, _, ref string) (string, error) { return ref, nil },
		Ways:  plain{},
		Spawn: spawn, Event: func(context.Context, event.Event) {}, Tell: func(context.Context, string, string) {}, Clock: sys.RealClock(), Log: log, Version: "test",
	})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx, func() <-chan struct{} { return nil }) }()
	t.Cleanup(func() { // no goroutine of the session is left
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		spawn.Wait()
	})
	if err := s.Apply(t.Context(), conf); err != nil {
		t.Fatal(err)
	}
	// An owner who signs in whenever he is asked to, but not for ever.
	for range 4 {
		offer, err := s.Test(t.Context(), "suite")
		if err != nil {
			if !signIn(t, s) {
				t.Fatal(err)
			}
			continue
		}
		if _, err := s.Accept(t.Context(), "suite", api.MCPHash{Hash: offer.Hash}); err != nil {
			t.Fatal(err)
		}
		break
	}
	for _, one := range s.Tools() {
		for n := range 4 {
			r := call(t, s, one, n)
			if !r.IsError && r.Next == nil {
				break
			}
			if !signIn(t, s) {
				t.Fatal(r.Content)
			}
		}
	}
}

// issuerOf is the authorization server of a service, as an owner learns it who registers a client there.
func issuerOf(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get(strings.TrimSuffix(address, "/mcp") + "/.well-known/oauth-protected-resource/mcp") //nolint:noctx,gosec // a test; the suite gives the address
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var m struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&m); err != nil || len(m.Servers) == 0 {
		t.Fatalf("%v: %v", m, err)
	}
	return m.Servers[0]
}

// call calls a tool. A turn waits for a sign-in, so it says that it is one.
func call(t *testing.T, s *mcp.Service, one tools.Tool, n int) tools.Result {
	t.Helper()
	c := tools.Call{ID: fmt.Sprint("t1_", n), Turn: 1, Name: one.Spec().Name, Args: json.RawMessage("{}")}
	intent, err := one.Intent(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := one.Run(t.Context(), c, intent)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// signIn follows the link of the open sign-in, if there is one, as a browser does.
func signIn(t *testing.T, s *mcp.Service) bool {
	t.Helper()
	link := mcp.OpenLink(t.Context(), s, "suite")
	if link == "" {
		return false
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Get(link) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_, err = s.SignIns().Finish(t.Context(), "suite", api.SignInAddress{Address: resp.Header.Get("Location")})
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// noKeyring is a machine without one.
type noKeyring struct{}

func (noKeyring) Read(string, string) (string, error) { return "", secret.ErrKeyring }
func (noKeyring) Write(string, string, string) error  { return secret.ErrKeyring }
func (noKeyring) Remove(string, string) error         { return secret.ErrKeyring }

// plain is the way to a server on this machine.
type plain struct{}

func (plain) Program(_ context.Context, _ *config.Snapshot, name string) (string, error) {
	return (*sandbox.Sandbox)(nil).Program(name)
}

func (plain) ServerFolder() string { return "/nonexistent" }

func (plain) ServerSandbox(context.Context, *config.Snapshot, string, config.MCPServer, map[string]string) (*sandbox.Sandbox, error) {
	return nil, nil //nolint:nilnil // no sandbox
}

func (plain) ServerWeb(*config.Snapshot, config.MCPServer) (http.RoundTripper, error) {
	return http.DefaultTransport, nil
}
