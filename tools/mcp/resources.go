package mcp

import (
	"context"
	"slices"
	"strings"

	"hob/daemon/text"
	"hob/tools"
)

// ResourcesInput is the input of mcp_resources.
type ResourcesInput struct {
	Server string `json:"server" jsonschema:"name of the MCP server" min:"1" max:"32"`
}

// Resource is a resource of a server.
type Resource struct {
	URI         string `json:"uri" jsonschema:"its address, or a pattern of addresses with places in braces"`
	Name        string `json:"name" jsonschema:"its name"`
	Description string `json:"description,omitempty" jsonschema:"what it is"`
	MIME        string `json:"mime,omitempty" jsonschema:"its type"`
}

// ResourcesOutput is the output of mcp_resources.
type ResourcesOutput struct {
	Resources []Resource `json:"resources" jsonschema:"what the server lists"`
	More      bool       `json:"more,omitempty" jsonschema:"the list was cut"`
}

// ReadInput is the input of mcp_resource_read.
type ReadInput struct {
	Server string `json:"server" jsonschema:"name of the MCP server" min:"1" max:"32"`
	URI    string `json:"uri" jsonschema:"the address of the resource" min:"1" max:"4000"`
}

// ReadOutput is the output of mcp_resource_read.
type ReadOutput struct {
	Parts int `json:"parts" jsonschema:"texts and files that it has"`
}

// resources implements the two tools for the resources of servers.
type resources struct{ servers Servers }

// withServer returns a tool that works only with a server.
func withServer(t tools.Tool, s Servers) tools.Tool {
	return tools.Needing(t, "there is no MCP server whose tools you have accepted: see hob mcp", func() bool { return s != nil && len(s.Names()) > 0 })
}

// NewResources builds mcp_resources.
func NewResources(s Servers) tools.Tool {
	r := resources{s}
	return withServer(tools.New[ResourcesInput, ResourcesOutput](tools.Spec{
		Name: "mcp_resources", Group: Group, Positional: "server", Example: "notes",
		Description: "List what an MCP server lets you read.",
	}, func(_ context.Context, _ tools.Call, in ResourcesInput) (tools.Intent, error) {
		return r.intent(in.Server, "")
	}, r.list), s)
}

// NewRead builds mcp_resource_read.
func NewRead(s Servers) tools.Tool {
	r := resources{s}
	return withServer(tools.New[ReadInput, ReadOutput](tools.Spec{
		Name: "mcp_resource_read", Group: Group, Positional: "uri", Example: "note://today --server notes",
		Description: "Read a resource of an MCP server.",
	}, func(_ context.Context, _ tools.Call, in ReadInput) (tools.Intent, error) {
		return r.intent(in.Server, in.URI)
	}, r.read), s)
}

// intent refuses unknown servers. The address goes to the server, so in a turn that has read foreign text the owner is asked, for any
// server.
func (r resources) intent(server, uri string) (tools.Intent, error) {
	names := r.servers.Names()
	if !slices.Contains(names, server) {
		return tools.Intent{}, tools.Refuse(tools.NotFound, text.ThereAre(names, len(names)), "there is no MCP server %q whose tools you have accepted", server)
	}
	raw, err := tools.Canonical(struct {
		Server string `json:"server"`
		URI    string `json:"uri,omitempty"`
	}{server, uri})
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.MCP}, Server: server, Canonical: raw,
		Summary: strings.TrimSpace("read from the MCP server " + server + ": " + uri),
	}, err
}

func (r resources) list(ctx context.Context, call tools.Call, in ResourcesInput, _ tools.Intent) (tools.Result, error) {
	return r.servers.Resources(ctx, call, in.Server)
}

func (r resources) read(ctx context.Context, call tools.Call, in ReadInput, _ tools.Intent) (tools.Result, error) {
	return r.servers.Read(ctx, call, in.Server, in.URI)
}
