// Package mcp makes tools of hob from the tools of MCP servers: programs and services of others (https://modelcontextprotocol.io). It uses
// only the definitions that the owner has accepted. Package daemon/mcp connects to the servers, compares their offers with the accepted
// definitions, and carries out the calls.
//
// Everything that a server returns is text of others. Its hints about a tool (read only, idempotent) are ignored: the owner says in the
// config which tools only read.
package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/tools"
)

// Group is the group of the tools of servers.
const Group = "mcp"

// Separator divides the name of a server from the name of a tool: "calendar__list_events".
const Separator = "__"

// Def is a tool of a server, as the owner accepted it.
type Def struct {
	Server      string
	Name        string // as the server calls it
	As          string // as hob and the model call it; "": the same
	Description string
	Input       json.RawMessage // JSON Schema, object at the root
	Output      json.RawMessage // JSON Schema; nil: none
	Hash        string          // of the list that the owner accepted

	ReadOnly bool   // the owner says that it changes nothing
	Cleared  bool   // turns that have read foreign text may call it without asking
	Goes     string // where the arguments go, for people: "mcp.example.org", "a program without network"
	Flat     bool   // the definition is in each request to the model
}

// Full returns the name that the model uses.
func (d Def) Full() string { return d.Server + Separator + cmp.Or(d.As, d.Name) }

// maxFull is how many characters the name of a tool may have in requests to models.
const maxFull = 64

// notSent matches what the name of a tool may not have there.
var notSent = sys.Regexp(`[^A-Za-z0-9_-]`)

// Short returns the name of a tool of a server in hob, without the server's: the server's own if requests to models may contain that. Another name
// gets safe characters and a part of its hash, so that it is the same at each start, whatever else the server lists.
func Short(server, name string) string {
	most := maxFull - len(server+Separator)
	if !notSent().MatchString(name) && len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	clean := notSent().ReplaceAllString(name, "_")
	return fmt.Sprintf("%s_%x", clean[:min(len(clean), most-9)], sum[:4])
}

// Servers are the connections to the servers. Errors for the model are results.
type Servers interface {
	// Call calls a tool of a server. args are valid by the tool's schema.
	Call(ctx context.Context, d Def, call tools.Call, args json.RawMessage) (tools.Result, error)
	// Resources lists the resources of a server.
	Resources(ctx context.Context, call tools.Call, server string) (tools.Result, error)
	// Read reads a resource of a server.
	Read(ctx context.Context, call tools.Call, server, uri string) (tools.Result, error)
	// Names lists the servers that can be called, by name.
	Names() []string
}

// Tool is a tool of a server.
type Tool struct {
	def     Def
	servers Servers
}

var _ tools.Tool = Tool{}

// New makes a tool from an accepted definition.
func New(d Def, s Servers) Tool { return Tool{d, s} }

// Spec describes the tool with the server's words, which the owner has accepted.
func (t Tool) Spec() tools.Spec {
	d := t.def
	alias := ""
	if d.As != "" {
		alias = d.Server + Separator + d.Name
	}
	return tools.Spec{Name: d.Full(), Alias: alias, Group: Group, Description: d.Description, Parameters: d.Input, Output: d.Output, Core: d.Flat}
}

// canonical holds what an approval of a call covers.
type canonical struct {
	Tool   string          `json:"tool"`
	Server string          `json:"server"`
	Goes   string          `json:"goes_to"`
	List   string          `json:"list"` // the hash of what the owner accepted
	Args   json.RawMessage `json:"arguments"`
}

// Intent says which server gets which arguments. The effect is unknown, so a call is never repeated, unless the owner says that the tool
// only reads.
func (t Tool) Intent(_ context.Context, call tools.Call) (tools.Intent, error) {
	args, err := tools.Normal(t, call.Args)
	if err != nil {
		return tools.Intent{}, err
	}
	raw, err := tools.Canonical(canonical{t.def.Full(), t.def.Server, t.def.Goes, t.def.Hash, args})
	if err != nil {
		return tools.Intent{}, err
	}
	i := tools.Intent{
		Effect: tools.Once, Scopes: []tools.Scope{tools.MCP}, Server: t.def.Server, Cleared: t.def.Cleared, Keep: args, Canonical: raw,
		Summary: fmt.Sprintf("use %s of the MCP server %s (%s): %s", cmp.Or(t.def.As, t.def.Name), t.def.Server, t.def.Goes, text.Shorten(string(args), 200)),
	}
	if t.def.ReadOnly {
		i.Effect = tools.Read
	}
	return i, nil
}

// Run calls the tool.
func (t Tool) Run(ctx context.Context, call tools.Call, intent tools.Intent) (tools.Result, error) {
	args, ok := intent.Keep.(json.RawMessage)
	if !ok {
		return tools.Result{}, fmt.Errorf("%s: the call has no arguments", t.def.Full())
	}
	return t.servers.Call(ctx, t.def, call, args)
}
