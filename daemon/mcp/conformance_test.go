package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/mcp"
	"hob/daemon/secret"
	"hob/daemon/sys"
	"hob/daemon/sys/systest"
	"hob/tools"
	"hob/tools/runtime"
)

// Hob's client passes every client scenario that a revision of the protocol requires, by the suite of its authors (npm
// @modelcontextprotocol/conformance); the scenarios of sign-ins are those of TestConformanceOfSignIns. testdata/conformance.txt lists all scenarios of the suite with their state.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	node, suite := npm(t, "@modelcontextprotocol/conformance/dist/index.js")
	states := scenarios(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for _, name := range required(t, node, suite, revision) {
			state, known := states[name]
			if !known {
				t.Errorf("testdata/conformance.txt does not name the required scenario %s", name)
			}
			if state != "passes" {
				t.Logf("%s of %s: %s", name, revision, state)
				continue
			}
			t.Run(revision+" "+name, func(t *testing.T) {
				// The suite waits for fixed times, which a busy machine may miss: it gets three runs.
				for run := 1; ; run++ {
					cmd := exec.CommandContext(t.Context(), node, suite, "client", "--command", os.Args[0], "--scenario", name, "--spec-version", revision) // #nosec G204 G702 -- the test's own programs
					cmd.Dir = t.TempDir()
					out, err := cmd.CombinedOutput()
					if err == nil {
						return
					}
					t.Logf("run %d: %v\n%s", run, err, out)
					if run == 3 {
						t.Fatal("no run has passed")
					}
				}
			})
		}
	}
}

// npm returns Node and a file of a package. HOB_NPM is the folder node_modules in which .ci/run installs what tests need of npm; without it the test is
// skipped.
func npm(t *testing.T, file string) (node, path string) {
	t.Helper()
	modules := os.Getenv("HOB_NPM")
	node, path = filepath.Join(modules, "node", "bin", "node"), filepath.Join(modules, filepath.FromSlash(file))
	for _, needed := range []string{node, path} {
		if _, err := os.Stat(needed); err != nil || modules == "" {
			systest.Missing(t, "HOB_NPM is not a folder node_modules with the packages node@22 and "+file)
		}
	}
	return node, path
}

// required lists the client scenarios of a revision.
func required(t *testing.T, node, suite, revision string) (names []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), node, suite, "list", "--client", "--requirements", revision).Output() // #nosec G204 -- the test's own programs
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(out), "Client scenarios")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			names = append(names, name)
		}
	}
	if !found || len(names) == 0 {
		t.Fatalf("the list of the suite has another form:\n%s", out)
	}
	return names
}

// scenarios reads the state of each scenario.
func scenarios(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open("testdata/conformance.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	states := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, state, ok := strings.Cut(lines.Text(), "  "); ok && !strings.HasPrefix(name, "#") {
			states[name] = strings.TrimSpace(state)
		}
	}
	return states
}

// scenario makes this process hob's client for a scenario of the suite, if it asks for that.
func scenario() {
	name := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if name == "" || os.Getenv(asSuiteClient) != "" { // TestSuiteClient plays those of sign-ins
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := play(ctx, name, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// play does what a scenario wants of a client.
func play(ctx context.Context, name, url string) error {
	s, end := client(ctx, url)
	defer end()
	if err := s.Apply(ctx, s.Config()); err != nil {
		return err
	}
	offer, err := s.Test(ctx, "suite")
	if err != nil {
		return err
	}
	if _, err := s.Accept(ctx, "suite", api.MCPHash{Hash: offer.Hash}); err != nil {
		return err
	}
	if left, err := s.Show(ctx, "suite"); err == nil {
		fmt.Fprintln(os.Stderr, "left out:", left.LeftOut)
	}
	type call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	var calls []call
	switch name {
	case "initialize", "request-metadata", "json-schema-ref-no-deref":
	case "tools_call":
		calls = []call{{"add_numbers", json.RawMessage(`{"a":5,"b":3}`)}}
	case "http-custom-headers":
		var given struct {
			Calls []call `json:"toolCalls"`
		}
		if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given); err != nil {
			return err
		}
		calls = given.Calls
	case "json-schema-2020-12-preservation":
		for _, t := range offer.Tools {
			if t.Name == "json_schema_2020_12_tool" {
				calls = []call{{"json_schema_echo", json.RawMessage(`{"schema":` + string(t.Parameters) + `}`)}}
			}
		}
	default: // each tool once
		for _, t := range offer.Tools {
			args := `{}`
			if strings.Contains(string(t.Parameters), `"region"`) {
				args = `{"region":"us-west1"}`
			}
			calls = append(calls, call{t.Name, json.RawMessage(args)})
		}
	}
	for _, c := range calls {
		if err := use(ctx, s, "suite__"+c.Name, c.Arguments); err != nil {
			return err
		}
	}
	if name == "http-standard-headers" {
		if _, err := s.Resources(ctx, tools.Call{ID: "r1"}, "suite"); err != nil {
			return err
		}
		for _, uri := range resources(ctx, s) {
			if _, err := s.Read(ctx, tools.Call{ID: "r2"}, "suite", uri); err != nil {
				return err
			}
		}
	}
	return nil
}

// resources lists the addresses of the server's resources.
func resources(ctx context.Context, s *mcp.Service) (list []string) {
	r, err := s.Resources(ctx, tools.Call{ID: "r3"}, "suite")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(r.Content) {
		if uri, _, ok := strings.Cut(line, ": "); ok {
			list = append(list, uri)
		}
	}
	return list
}

// use calls a tool. A result that is an error is said; the suite decides whether it should be.
func use(ctx context.Context, s *mcp.Service, name string, args json.RawMessage) error {
	all := s.Tools()
	i := slices.IndexFunc(all, func(t tools.Tool) bool { return t.Spec().Name == name })
	if i < 0 {
		return errors.New(s.Why(name))
	}
	c := tools.Call{ID: "c1", Turn: 1, Key: "main", Name: name, Args: args}
	intent, err := all[i].Intent(ctx, c)
	if err != nil {
		return err
	}
	r, err := all[i].Run(ctx, c, intent)
	if r.IsError {
		fmt.Fprintln(os.Stderr, r.Content)
	}
	return err
}

// client is hob's client with a single server.
func client(ctx context.Context, url string) (s *mcp.Service, end func()) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	c := &config.Snapshot{}
	c.MCP.Servers = map[string]config.MCPServer{"suite": {URL: url, Timeout: time.Minute}}
	spawn := sys.NewGroup(log, nil)
	s = mcp.NewService(mcp.Deps{
		Rows: &rows{}, Questions: nobody(), Redact: &secret.Redactor{}, Vault: emptyVault(os.TempDir()), Config: func() *config.Snapshot { return c }, Registry: runtime.NewRegistry(nil), Spawn: spawn,
		Resolve: func(_ context.Context, _, ref string) (string, error) { return ref, nil },
		Ways:    plain{},
		Event:   func(context.Context, event.Event) {}, Tell: func(context.Context, string, string) {},
		Instance: "suite", Version: "test", Clock: sys.RealClock(), Log: log,
	})
	ctx, cancel := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx, func() <-chan struct{} { return nil }) }()
	return s, func() {
		cancel()
		<-ran
		spawn.Wait()
	}
}

// rows are the decisions of an owner who accepts everything.
type rows struct{ list []api.MCPRow }

func (r *rows) MCPLists(context.Context) ([]api.MCPRow, error)   { return r.list, nil }
func (r *rows) AskMCP(context.Context, string, api.MCPRow) error { return nil }
func (r *rows) ForgetMCP(context.Context, string) error          { return nil }
func (r *rows) AcceptMCP(_ context.Context, row api.MCPRow) error {
	row.State = api.MCPAccepted
	r.list = []api.MCPRow{row}
	return nil
}
