package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/config"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/mcp"
	"hob/daemon/mcp/mcptest"
	"hob/daemon/sandbox"
	"hob/daemon/secret"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
	"hob/daemon/sys"
	"hob/tools"
	"hob/tools/runtime"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	scenario()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// sizes are the limits of what a server may send: those of hob, or an eighth of them in a short run.
func sizes() mcp.Limits {
	l := mcp.Limits{Pause: time.Nanosecond, Frame: 8 << 20, Burst: 32 << 20}
	if testing.Short() {
		l.Frame, l.Burst = l.Frame/8, l.Burst/8
	}
	return l
}

// patience is how long a test waits for something that must happen.
const patience = 30 * time.Second

// hob is what is around the client.
type hob struct {
	*mcp.Service
	t      testing.TB
	store  *store.Store
	spawn  *sys.Group
	conf   *config.Snapshot
	calls  int
	end    func()
	home   string
	web    http.RoundTripper
	mu     sync.Mutex
	told   []string
	events []event.Event
	kept   map[string][]byte
}

// start makes a client for servers. change may change what it needs.
func start(t testing.TB, servers map[string]config.MCPServer, change ...func(*mcp.Deps)) *hob {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	h := &hob{t: t, store: storetest.Fresh(t), spawn: sys.NewGroup(log, func(name string, err error) { t.Errorf("%s: %v", name, err) }), kept: map[string][]byte{}, home: t.TempDir()}
	h.conf = &config.Snapshot{}
	h.conf.MCP.Servers = servers
	h.web = &http.Transport{}
	d := mcp.Deps{
		Rows: h.store.Settings, Artifacts: h, Questions: nobody(), Redact: &secret.Redactor{}, Vault: emptyVault(h.home), Config: func() *config.Snapshot { return h.conf },
		Resolve:  func(_ context.Context, _, ref string) (string, error) { return ref, nil },
		Ways:     h,
		Registry: runtime.NewRegistry(nil), Spawn: h.spawn, Event: h.event, Tell: h.tell, Home: h.home, Instance: "test-" + sys.RandomIDs().Code(8),
		Environ: os.Environ(), Version: "test", Clock: sys.RealClock(), Log: log, Limits: sizes(),
	}
	for _, f := range change {
		f(&d)
	}
	h.Service = mcp.NewService(d)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- h.Run(ctx, func() <-chan struct{} { return nil }) }()
	h.end = sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		h.spawn.Wait() // no goroutine of a server is left
		if c, ok := h.web.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	})
	t.Cleanup(h.end)
	h.apply()
	return h
}

func (h *hob) apply() {
	h.t.Helper()
	if err := h.Apply(h.t.Context(), h.conf); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hob) event(_ context.Context, e event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

func (h *hob) tell(_ context.Context, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, text)
}

// nobody answers the questions of servers.
func nobody() mcp.Questions {
	return mcp.Questions{Rows: quietAsker{}, Answered: func() <-chan struct{} { return nil }, Owner: func() []event.Address { return nil }}
}

// emptyVault has no tokens.
func emptyVault(dir string) *secret.Vault {
	return secret.NewVault(secret.VaultConfig{Folder: dir, Home: "/", Keyring: noKeyring{}, Redact: &secret.Redactor{}})
}

// ServerSandbox makes no sandbox.
func (h *hob) ServerSandbox(context.Context, *config.Snapshot, string, config.MCPServer, map[string]string) (*sandbox.Sandbox, error) {
	return nil, nil //nolint:nilnil // none
}

// Program finds a program.
func (h *hob) Program(_ context.Context, _ *config.Snapshot, name string) (string, error) {
	return (*sandbox.Sandbox)(nil).Program(name)
}

// ServerFolder is where servers are installed.
func (h *hob) ServerFolder() string { return filepath.Join(h.home, "mcp") }

// ServerWeb is a way to a service without a guard.
func (h *hob) ServerWeb(*config.Snapshot, config.MCPServer) (http.RoundTripper, error) {
	return h.web, nil
}

// KeepForeign keeps files of servers.
func (h *hob) KeepForeign(_ context.Context, _, _ string, data []byte) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := fmt.Sprintf("a%d", len(h.kept)+1)
	h.kept[id] = data
	return id, nil
}

// accept accepts what a server offers now.
func (h *hob) accept(name string) api.MCPOffer {
	h.t.Helper()
	offer, err := h.Test(h.t.Context(), name)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.Accept(h.t.Context(), name, api.MCPHash{Hash: offer.Hash}); err != nil {
		h.t.Fatal(err)
	}
	return offer
}

// tool is a tool of the accepted ones.
func (h *hob) tool(full string) tools.Tool {
	h.t.Helper()
	for _, t := range h.Tools() {
		if t.Spec().Name == full {
			return t
		}
	}
	h.t.Fatalf("there is no %s: %s", full, h.Why(full))
	return nil
}

// call calls a tool as a turn of the owner does.
func (h *hob) call(ctx context.Context, t tools.Tool, args string) tools.Result {
	h.t.Helper()
	h.mu.Lock()
	h.calls++
	c := tools.Call{ID: fmt.Sprintf("t1_%d", h.calls), Turn: 1, Key: "main", Name: t.Spec().Name, Args: json.RawMessage(args)}
	h.mu.Unlock()
	intent, err := t.Intent(ctx, c)
	if err != nil {
		h.t.Fatal(err)
	}
	r, err := t.Run(ctx, c, intent)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// transports are the ways to a server. Each test of a fault runs over all.
func transports(s *mcptest.Server) map[string]config.MCPServer {
	return map[string]config.MCPServer{
		"stdio": program(s),
		"http":  {URL: s.URL, Timeout: time.Minute},
	}
}

// program is the section of the server's program. It is started by a small one, because hob reads the whole file of each program that it starts.
func program(s *mcptest.Server) config.MCPServer {
	return config.MCPServer{Command: "env", Args: []string{os.Args[0]}, Env: s.Env(), Timeout: time.Minute}
}

// one is a script with a single tool.
func one(change ...func(*mcptest.Script)) mcptest.Script {
	s := mcptest.Script{Tools: []json.RawMessage{mcptest.Tool("do", "Does it.")}}
	for _, f := range change {
		f(&s)
	}
	return s
}

// over runs f with a server by each transport and each revision of the protocol.
func over(t *testing.T, f func(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script)) {
	t.Helper()
	for _, way := range []string{"stdio", "http"} {
		through(t, way, false, f)
		through(t, way, true, f)
	}
}

// sampled runs f by each transport and with each revision, but in two of the four combinations only. The name of the test decides which. It is
// for tests of hundreds of cases. HOB_MCP=whole runs all combinations.
func sampled(t *testing.T, f func(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script)) {
	t.Helper()
	if os.Getenv("HOB_MCP") == "whole" {
		over(t, f)
		return
	}
	old := crc32.ChecksumIEEE([]byte(t.Name()))%2 == 1
	through(t, "stdio", old, f)
	through(t, "http", !old, f)
}

// through runs f with a server by one transport and one revision.
func through(t *testing.T, way string, old bool, f func(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script)) {
	t.Helper()
	t.Run(way+map[bool]string{false: " 2026-07-28", true: " 2025-11-25"}[old], func(t *testing.T) {
		t.Parallel()
		script := one(func(s *mcptest.Script) { s.Old = old })
		s := mcptest.New(t, script)
		f(t, s, transports(s)[way], script)
	})
}

func wantText(t testing.TB, r tools.Result, want string) {
	t.Helper()
	if r.IsError || !strings.Contains(r.Content, want) {
		t.Fatalf("want a result with %q, got %+v", want, r)
	}
}

// silent are the faults after which a program has not answered, and could.
func silent() []mcptest.Fault {
	return []mcptest.Fault{mcptest.Hang, mcptest.Garbage, mcptest.Half, mcptest.Deep}
}

// short gives the servers little time, because one of them will not answer; long gives them the usual time again.
func (h *hob) short(fault mcptest.Fault) {
	if slices.Contains(silent(), fault) {
		h.Limits.Start = 3 * time.Second
		h.limit(2 * time.Second)
	}
}

func (h *hob) long() {
	h.Limits.Start = time.Minute
	h.limit(time.Minute)
}

// limit changes the time of each call.
func (h *hob) limit(d time.Duration) {
	h.t.Helper()
	for name, c := range h.conf.MCP.Servers {
		c.Timeout = d
		h.conf.MCP.Servers[name] = c
	}
	h.apply()
}
