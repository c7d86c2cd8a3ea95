package toolset_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/config"
	"hob/daemon/netguard"
	"hob/daemon/toolset"
)

// A server may write only where nobody else sees it: not hob's tools, not its commands, not another server.
func TestWhereServersMayWrite(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"workspace", "root", "foreign", "bind/below", "other", "work", "own", "rootless"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "bind"), filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	in := func(dir string) string { return filepath.Join(top, dir) }
	for what, c := range map[string]struct {
		server config.MCPServer
		fault  string // the folder that somebody else sees; "": it may start
	}{
		"a folder of its own":                {config.MCPServer{Binds: []string{in("own") + ":rw"}}, ""},
		"a name that begins like a root":     {config.MCPServer{Binds: []string{in("rootless") + ":rw"}}, ""},
		"the workspace":                      {config.MCPServer{Binds: []string{in("workspace") + ":rw"}}, "workspace"},
		"a root":                             {config.MCPServer{Binds: []string{in("root") + ":rw"}}, "root"},
		"a foreign root":                     {config.MCPServer{Binds: []string{in("foreign") + ":rw"}}, "foreign"},
		"what commands see":                  {config.MCPServer{Binds: []string{in("bind") + ":rw"}}, "bind"},
		"a folder below what commands see":   {config.MCPServer{Binds: []string{in("bind/below") + ":rw"}}, "bind"},
		"a folder above everything":          {config.MCPServer{Binds: []string{top + ":rw"}}, "workspace"},
		"by a link":                          {config.MCPServer{Binds: []string{in("link") + ":rw"}}, "bind"},
		"what another server sees":           {config.MCPServer{Binds: []string{in("other") + ":rw"}}, "other"},
		"where another server works":         {config.MCPServer{Binds: []string{in("work") + ":rw"}}, "work"},
		"to work in what commands see":       {config.MCPServer{Cwd: in("bind")}, "bind"},
		"to work in what another sees":       {config.MCPServer{Cwd: in("other")}, "other"},
		"one of several":                     {config.MCPServer{Binds: []string{in("own") + ":rw", in("other") + ":rw"}}, "other"},
		"to read what commands see":          {config.MCPServer{Binds: []string{in("bind") + ":ro"}}, ""},
		"to read what another server writes": {config.MCPServer{Binds: []string{in("work") + ":ro"}}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			snap := &config.Snapshot{}
			snap.Tools.Roots = []string{in("root") + ":rw", in("foreign") + ":foreign"}
			snap.Tools.Exec.Binds, snap.Tools.Exec.Sandbox = []string{in("bind") + ":ro"}, "off"
			c.server.Command = "x"
			snap.MCP.Servers = map[string]config.MCPServer{"this": c.server, "other": {Command: "y", Binds: []string{in("other") + ":ro"}, Cwd: in("work")}}
			b := toolset.NewDeps(toolset.Home{State: in("state"), Workspace: in("workspace")}, slog.New(slog.DiscardHandler))
			_, err := b.ServerSandbox(t.Context(), snap, "this", c.server, nil)
			if c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), "("+in(c.fault)+")")) {
				t.Errorf("want a fault about %q, got %v", c.fault, err)
			}
		})
	}
}

// The hosts of url and issuer are reached through the proxy. A host that only the server's own documents name is not.
func TestServerHostsThroughTheProxy(t *testing.T) {
	old := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = old })
	offline, proxied := errors.New("offline"), errors.New("proxied")
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, offline }}
	deps := &toolset.Deps{Proxy: func(context.Context, string) (netguard.Proxy, error) { return netguard.Proxy{}, proxied }}
	web, err := deps.ServerWeb(&config.Snapshot{}, config.MCPServer{URL: "https://mcp.example.org/mcp", Issuer: "https://login.example.org/tenant"})
	if err != nil {
		t.Fatal(err)
	}
	for link, want := range map[string]bool{
		"https://mcp.example.org/mcp": true, "https://login.example.org/token": true, "https://MCP.example.org/": true,
		"https://evil.example.org/": false, "https://mcp.example.org.evil.example/": false,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := web.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if err == nil || errors.Is(err, proxied) != want {
			t.Errorf("%s: %v", link, err)
		}
	}
}
