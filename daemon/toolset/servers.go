package toolset

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/config"
	"hob/daemon/netguard"
	"hob/daemon/sandbox"
	"hob/tools"
)

// Plugged are the MCP servers.
type Plugged interface {
	// Tools returns the tools that the owner has accepted, in a fixed order.
	Tools() []tools.Tool
	// Why says why a tool of a server cannot be called; "": it is not a server's, or it can.
	Why(tool string) string
}

// ServerSandbox makes the sandbox of an MCP server's program; nil: the owner has switched the sandbox off. pins are folders that it shows in place
// of others. Its state does not depend on the
// end of ctx, because later calls use it too.
//
// A program may not write to a folder that somebody else sees. An untainted turn reads there without taint, also by a command, but what the
// program writes is somebody else's text. And another server could send away what this one was told.
func (b *Deps) ServerSandbox(ctx context.Context, c *config.Snapshot, name string, s config.MCPServer, pins map[string]string) (*sandbox.Sandbox, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	seen := []string{b.Workspace}
	for _, r := range Roots(c.SeenBesides(name), home) {
		seen = append(seen, r.Path)
	}
	for _, one := range Roots(s.Folders(), home) {
		for _, dir := range seen {
			if one.Write && (inside(dir, one.Path) || inside(one.Path, dir)) {
				return nil, fmt.Errorf("%s: an MCP server may not write to the workspace, to [tools] roots, to [tools.exec] binds or to a folder of another server (%s): end it with :ro, or give it another folder", one.Path, dir)
			}
		}
	}
	open := *c
	open.Tools.Exec.Network, open.Tools.Exec.Sockets, open.Tools.Exec.Binds = s.Network, false, s.Binds
	if open.Tools.Exec.Sandbox == string(sandbox.Off) {
		return nil, nil //nolint:nilnil // no sandbox, as the owner wants it
	}
	h := b.home()
	if skills := h.Pinned; len(pins) > 0 {
		h.Pinned = func() map[string]string {
			all := maps.Clone(pins)
			if skills != nil {
				maps.Copy(all, skills())
			}
			return all
		}
	}
	box := NewSandbox(context.WithoutCancel(ctx), h, &open)
	if state := box.State(); !state.Works {
		return nil, fmt.Errorf("MCP servers run only in the sandbox, which does not work here (%s; %s)", state.Why, state.Hint)
	}
	return box, nil
}

// Program finds a program that hob starts outside of every sandbox, as sandbox.Program does.
func (b *Deps) Program(ctx context.Context, c *config.Snapshot, name string) (string, error) {
	return NewSandbox(ctx, b.home(), c).Program(name)
}

// inside reports whether path is dir or below it, after symbolic links.
func inside(dir, path string) bool {
	for _, p := range []*string{&dir, &path} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
		*p = filepath.Clean(*p)
	}
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// ServerFolder is where MCP servers are installed.
func (b *Deps) ServerFolder() string { return filepath.Join(b.home().State, "mcp") }

// ServerWeb returns the guarded way to an MCP server on the network. Its own host may be in a private network, since the owner named it.
//
// Only the hosts that the owner named, in url and issuer, are reached through the proxy: hob cannot check what a proxy dials, and the other
// addresses of a sign-in come from the server.
func (b *Deps) ServerWeb(c *config.Snapshot, s config.MCPServer) (http.RoundTripper, error) {
	_, host, err := netguard.Canonical(s.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	named := []string{host}
	if s.Issuer != "" {
		_, issuer, err := netguard.Canonical(s.Issuer)
		if err != nil {
			return nil, fmt.Errorf("issuer: %w", err)
		}
		named = append(named, issuer)
	}
	return netguard.NewClient(netguard.Config{Allow: c.Tools.Web.Prefixes(), Proxy: func(ctx context.Context, host string) (netguard.Proxy, error) {
		if !slices.Contains(named, host) {
			return netguard.Proxy{}, nil
		}
		return b.Proxy(ctx, host)
	}}).Transport(host), nil
}
