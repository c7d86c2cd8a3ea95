// Package mcp is hob's client for MCP servers (https://modelcontextprotocol.io, versions up to 2026-07-28): programs that hob starts in its
// sandbox, and services on the network. It offers the model only tools that the owner has accepted, and only as he accepted them.
//
// The flow: the config names the servers (Apply). What a server offers is compared as a whole, by a hash, with what the owner accepted
// (list.go). A server is started by the first call (session.go), compared again, and ended when nobody uses it. A different list switches
// the server off and asks the owner. Results are converted to the results of hob's tools (result.go).
//
// Nothing that a server says is believed: its descriptions count as accepted text only under the accepted hash, its instructions are never
// shown to a model, its hints about tools lower nothing, and sampling and roots are not offered. A server that fails, hangs or floods is
// switched off by itself for a while; it never holds up more than its own call.
package mcp

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/config"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/netguard"
	"hob/daemon/oauth"
	"hob/daemon/record"
	"hob/daemon/sandbox"
	"hob/daemon/secret"
	"hob/daemon/sys"
	"hob/tools"
	host "hob/tools/mcp"
	"hob/tools/runtime"
)

// Rows stores the decisions.
type Rows interface {
	// MCPLists lists all rows, oldest first.
	MCPLists(ctx context.Context) ([]api.MCPRow, error)
	// AskMCP opens a question about a list, unless there is a row for it already. It replaces an earlier question about the server. If the state
	// is refused, the text is a message to the owner, and there is nothing to answer.
	AskMCP(ctx context.Context, text string, row api.MCPRow) error
	// AcceptMCP puts a list into use, in place of all others of the server.
	AcceptMCP(ctx context.Context, row api.MCPRow) error
	// ForgetMCP removes what was decided about a server.
	ForgetMCP(ctx context.Context, server string) error
}

// Artifacts stores pictures and files of servers.
type Artifacts interface {
	KeepForeign(ctx context.Context, name, source string, data []byte) (id string, err error)
}

// Ways are how servers are reached, and how they are kept from reaching further.
type Ways interface {
	// ServerSandbox makes the sandbox of a program; nil: the owner has switched the sandbox off. An error: it cannot have what its section asks for.
	// pins are folders that it shows in place of others, as in sandbox.Pinned.
	ServerSandbox(ctx context.Context, c *config.Snapshot, name string, s config.MCPServer, pins map[string]string) (*sandbox.Sandbox, error)
	// Program finds a program in PATH that no sandbox may write. The error says which one was skipped.
	Program(ctx context.Context, c *config.Snapshot, name string) (string, error)
	// ServerFolder is where servers are installed. No sandbox shows it.
	ServerFolder() string
	// ServerWeb makes the guarded way to a service.
	ServerWeb(c *config.Snapshot, s config.MCPServer) (http.RoundTripper, error)
}

// Deps are what a Service needs. All fields but Picture and Recorder must be set.
type Deps struct {
	Rows      Rows
	Artifacts Artifacts
	Questions Questions
	Vault     oauth.Vault      // of the tokens of sign-ins
	Redact    *secret.Redactor // learns them
	Config    func() *config.Snapshot
	Resolve   func(ctx context.Context, name, ref string) (string, error) // the value of a reference, kept out of logs from then on
	Ways      Ways
	Picture   func(ctx context.Context, data []byte) (mime string, shown []byte, err error)
	Registry  *runtime.Registry
	Spawn     *sys.Group
	Event     func(ctx context.Context, e event.Event)    // appends to the event stream
	Tell      func(ctx context.Context, key, text string) // tells the owner, once per key
	Home      string                                      // the owner's
	Instance  string                                      // marks the processes of this hob
	Environ   []string                                    // hob's own environment
	Version   string                                      // hob's, which servers get
	Clock     sys.Clock
	Log       *slog.Logger
	Recorder  *record.Recorder
	Limits    Limits // zero values: the defaults
}

// Limits bounds the time and the bytes that a server may take.
type Limits struct {
	Hello time.Duration // for the first message in the newest version of the protocol; default 10 s
	Start time.Duration // until the list of tools is complete; default 1 min
	Idle  time.Duration // after its last call, a server is ended; default 10 min
	Pause time.Duration // after a failure; it doubles with each further one, up to 5 min; default 1 s
	Write time.Duration // until it has read what it is sent; default 10 s
	Frame int           // of one message; default 8 MB
	Burst int           // of all messages at once; default 32 MB. After that it may send one part in 32 of it each second
}

// Service knows the servers of the config and calls their tools. It is safe for concurrent use.
type Service struct {
	Deps
	swept sync.Once
	wake  chan struct{} // has a value when the set of tools has to be made anew

	redirects oauth.SignIns

	mu      sync.Mutex
	servers map[string]*server
}

var _ host.Servers = (*Service)(nil)

// NewService makes a service without servers.
func NewService(d Deps) *Service {
	l := d.Limits
	d.Limits = Limits{
		cmp.Or(l.Hello, 10*time.Second), cmp.Or(l.Start, time.Minute), cmp.Or(l.Idle, 10*time.Minute), cmp.Or(l.Pause, time.Second), cmp.Or(l.Write, 10*time.Second),
		cmp.Or(l.Frame, 8<<20), cmp.Or(l.Burst, 32<<20),
	}
	s := &Service{Deps: d, wake: make(chan struct{}, 1), servers: map[string]*server{}}
	s.redirects.Add(s.SignIns().parties)
	return s
}

// Changed returns a channel that has a value when the tools have changed, so that the set of tools has to be made anew.
func (s *Service) Changed() <-chan struct{} { return s.wake }

func (s *Service) change() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Apply takes the servers of a config and the owner's decisions. Servers whose section changed are ended, and programs that others now see in
// another way. It connects to none.
func (s *Service) Apply(ctx context.Context, c *config.Snapshot) error {
	s.swept.Do(s.sweep) // before the API can install anything: what is being installed must stay
	if len(c.MCP.Servers) == 0 && len(s.known()) == 0 {
		return nil // most installations have none: no query
	}
	rows, err := s.Rows.MCPLists(ctx)
	if err != nil {
		return fmt.Errorf("read the lists of MCP servers: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, v := range s.servers {
		if one, ok := c.MCP.Servers[name]; !ok || !reflect.DeepEqual(one, v.conf) || surroundingsOf(c, name) != v.surroundings {
			delete(s.servers, name)
			v.retire("its section of the config has changed")
		}
	}
	for name := range c.MCP.Servers {
		v := s.servers[name]
		if v == nil {
			v = newServer(s, name, c)
			s.servers[name] = v
		}
		v.decide(rows)
	}
	return nil
}

// Run follows the owner's answers until ctx ends, and ends all servers then. answered returns a channel that is closed when a question
// was answered.
func (s *Service) Run(ctx context.Context, answered func() <-chan struct{}) error {
	next := answered()
	for {
		select {
		case <-ctx.Done():
			for _, v := range s.known() {
				v.retire("hob stops")
			}
			return nil
		case <-next:
			next = answered()
			if len(s.known()) > 0 {
				s.change() // Apply reads the rows, when the set is made
			}
		}
	}
}

// known lists the servers of the config, by name.
func (s *Service) known() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Collect(maps.Values(s.servers))
	slices.SortFunc(list, func(a, b *server) int { return cmp.Compare(a.name, b.name) })
	return list
}

// find returns a server of the config.
func (s *Service) find(name string) (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.servers[name]; v != nil {
		return v, nil
	}
	hint := "hob mcp list shows what there is"
	if near := tools.Nearest(name, slices.Sorted(maps.Keys(s.servers)), 1); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	return nil, event.NewFault(event.Missing, hint, "there is no [mcp.servers.%s] in config.toml, or it has a mistake", name)
}

// Tools returns the tools of all servers that can be called, in a fixed order.
func (s *Service) Tools() (list []tools.Tool) {
	flat := s.Config().MCP.Flat
	for _, v := range s.known() {
		if accepted, why := v.usable(); why == "" {
			for _, d := range v.defs(accepted, flat) {
				list = append(list, host.New(d, s))
			}
		}
	}
	return list
}

// Why says why a tool of a server cannot be called; "": it is not a server's, or it can.
func (s *Service) Why(tool string) string {
	name, _, ok := strings.Cut(tool, host.Separator)
	if !ok {
		return ""
	}
	v, err := s.find(name)
	if err != nil {
		return ""
	}
	_, why := v.usable()
	return why // "" also for a tool that the server does not have: then the nearest names help
}

// Names lists the servers that can be called.
func (s *Service) Names() (list []string) {
	for _, v := range s.known() {
		if _, why := v.usable(); why == "" {
			list = append(list, v.name)
		}
	}
	return list
}

// Faults returns a sentence for each server that waits until the owner accepts its tools, and why others cannot be used now, by name. It decodes no list of tools.
func (s *Service) Faults() (waiting []string, faults map[string]string) {
	faults = map[string]string{}
	for _, v := range s.known() {
		v.mu.Lock()
		if v.pending != "" || v.accepted.hash == "" || !v.accepted.holds {
			text := " waits until you accept its tools: hob mcp accept " + v.name
			if err := v.absent(); err != nil { // then it cannot be accepted either
				text = " is not in use: " + err.Error()
			}
			waiting = append(waiting, "the MCP server "+v.name+text)
		} else if off := v.off(); off != "" {
			faults[v.name] = off
		}
		v.mu.Unlock()
	}
	return waiting, faults
}

// List lists the servers for the owner.
func (s *Service) List(context.Context) ([]api.MCPServer, error) {
	list := []api.MCPServer{}
	for _, v := range s.known() {
		list = append(list, v.view(false))
	}
	return list, nil
}

// Show returns one server with the schemas of its tools.
func (s *Service) Show(_ context.Context, name string) (api.MCPServer, error) {
	v, err := s.find(name)
	if err != nil {
		return api.MCPServer{}, err
	}
	return v.view(true), nil
}

// Test connects to a server and compares what it offers with what was accepted. It changes nothing.
func (s *Service) Test(ctx context.Context, name string) (api.MCPOffer, error) {
	v, err := s.find(name)
	if err != nil {
		return api.MCPOffer{}, err
	}
	offer, _, err := s.look(ctx, v)
	return offer, err
}

// Accept puts into use what a server offers now, if that has the hash that the owner has looked at.
func (s *Service) Accept(ctx context.Context, name string, in api.MCPHash) (api.MCPServer, error) {
	v, err := s.find(name)
	if err != nil {
		return api.MCPServer{}, err
	}
	offer, raw, err := s.look(ctx, v)
	if err != nil {
		return v.view(false), err
	}
	if len(in.Hash) < 8 || !strings.HasPrefix(offer.Hash, strings.ToLower(in.Hash)) {
		return v.view(false), event.NewFault(event.Clash, "look at it again: hob mcp test "+name, "what %s offers does not have the hash %.64s now", name, in.Hash)
	}
	if err := s.Rows.AcceptMCP(ctx, api.MCPRow{Server: name, Hash: offer.Hash, List: string(raw), State: api.MCPAccepted}); err != nil {
		return v.view(false), err
	}
	return s.renewed(ctx, v)
}

// renewed reads the rows again after a change of one server.
func (s *Service) renewed(ctx context.Context, v *server) (api.MCPServer, error) {
	rows, err := s.Rows.MCPLists(ctx)
	if err != nil {
		return v.view(false), err
	}
	v.decide(rows)
	s.change()
	return v.view(false), nil
}

// Remove forgets what was decided about a server, and its tokens. Its section may be gone already. What was said to its authorization server is
// the problem of the returned row.
func (s *Service) Remove(ctx context.Context, name string) (api.MCPServer, error) {
	if err := s.Rows.ForgetMCP(ctx, name); err != nil {
		return api.MCPServer{}, err
	}
	said, err := s.SignIns().forget(ctx, name)
	if err != nil {
		return api.MCPServer{}, err
	}
	gone := api.MCPServer{Name: name, State: "removed", Tools: []api.MCPTool{}, Problem: said}
	v, err := s.find(name)
	if config.MCPName(name) == "" { // else nothing is installed for it
		if err := os.RemoveAll(s.Installs().folder(name)); err != nil {
			return gone, fmt.Errorf("remove what is installed: %w", err)
		}
	}
	if err != nil {
		return gone, nil //nolint:nilerr // its section is gone too
	}
	v.retire("you removed it")
	_, err = s.renewed(ctx, v)
	return gone, err
}

// look starts a server for the owner, outside of its backoff, and reads what it offers.
func (s *Service) look(ctx context.Context, v *server) (api.MCPOffer, []byte, error) {
	start := s.Clock.Mono()
	got, err := v.offered(ctx)
	if no, ok := refused(err); ok {
		return api.MCPOffer{}, nil, &event.Fault{Kind: event.Unavailable, Text: "the MCP server " + v.name + " cannot be used: " + no.Error(), Hint: "sign in with: hob mcp login " + v.name, Err: no}
	}
	if err != nil {
		return api.MCPOffer{}, nil, &event.Fault{Kind: event.Unavailable, Text: "the MCP server " + v.name + " cannot be used: " + err.Error(), Hint: startHint(v.conf, err), Err: err}
	}
	v.worked() // the next call need not wait
	accepted := v.decision()
	offer := api.MCPOffer{Server: v.name, Reach: netguard.Visible(got.list.Reach.line()), Goes: v.goes(), Name: got.name, Protocol: got.protocol, Hash: got.hash, Accepted: got.hash == accepted.hash, Skipped: v.stray.said(), MS: (s.Clock.Mono() - start).Milliseconds()}
	offer.Changes, offer.Allows, offer.Tools = []string{}, []string{}, shownTools(got.list, true)
	for _, may := range got.list.Reach.permissions() {
		offer.Allows = append(offer.Allows, netguard.Visible(may))
	}
	switch {
	case accepted.hash == "":
		offer.Changes = diff(nil, got.list)
	case !offer.Accepted:
		was := accepted.list()
		offer.Changes = diff(&was, got.list)
	}
	return offer, got.raw, nil
}

// fetches reports whether a command fetches the program that it runs, which needs the network.
func fetches(command string) bool {
	return slices.Contains([]string{"npx", "uvx", "bunx"}, filepath.Base(command))
}

// startHint says what to look at when a server cannot be started.
func startHint(c config.MCPServer, err error) string {
	if f, ok := event.AsFault(err); ok && f.Hint != "" {
		return f.Hint
	}
	if c.URL != "" {
		return "see that the address is right and that the server runs"
	}
	if fetches(c.Command) {
		return "install the package in a folder, show that with binds, and start its program: docs/mcp.md"
	}
	return "it runs in the sandbox: show it the folders that it needs with binds, and let it use the network with network = true"
}

// shownTools lists the tools of a list for the API.
func shownTools(p Pinned, whole bool) []api.MCPTool {
	list := []api.MCPTool{}
	for _, t := range p.Tools {
		one := api.MCPTool{Name: t.short(), Description: t.Description, ReadOnly: t.in(p.Reach.ReadOnly), Tainted: t.in(p.Reach.Tainted)}
		if t.As != "" {
			one.Original = t.Name
		}
		if whole {
			one.Parameters, one.Output = t.Input, t.Output
		}
		list = append(list, one)
	}
	return list
}
