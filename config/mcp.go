package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/config/schema"
	"hob/daemon/secret"
	"hob/daemon/sys"
)

// MCP is [mcp]: programs and services of others whose tools hob can use (https://modelcontextprotocol.io).
type MCP struct {
	Flat    bool                 `toml:"flat"`    // each request lists their tools; otherwise the tool "tool" finds them
	Servers map[string]MCPServer `toml:"servers"` // [mcp.servers.NAME]; one with a mistake is missing
}

// MCPServer is [mcp.servers.NAME]: a program that hob starts (Command), or has installed and starts (Install), or a service on the network (URL).
// Exactly one of the three is set.
type MCPServer struct {
	Install string            `toml:"install"` // npm:PACKAGE@VERSION or go:MODULE@VERSION, which hob mcp add has installed
	Command string            `toml:"command"` // a program of PATH or an absolute path
	Args    []string          `toml:"args"`
	Env     map[string]string `toml:"env"`     // its whole environment besides PATH, HOME and LANG; values may be references to secrets
	Cwd     string            `toml:"cwd"`     // absolute or ~/; "": an empty folder of its own for each start
	Binds   []string          `toml:"binds"`   // "PATH:ro" or "PATH:rw", visible to the program
	Network bool              `toml:"network"` // the program may use the network
	URL     string            `toml:"url"`     // of a streamable HTTP server
	Headers map[string]string `toml:"headers"` // sent with each request; values may be references to secrets

	Issuer       string `toml:"issuer"`        // address of the only authorization server that its sign-in may use; "": the one that it names
	ClientID     string `toml:"client_id"`     // of hob at the server's sign-in: an id, or the https address of a client ID metadata document
	ClientSecret string `toml:"client_secret"` // belongs to it; a reference to a secret

	ReadOnly []string      `toml:"read_only"` // tools of which the owner says that they change nothing
	Tainted  []string      `toml:"tainted"`   // tools that a turn may call without asking after it has read foreign text
	Timeout  time.Duration `toml:"timeout"`   // of one call; default 5 min
}

// Local reports whether the server is a program without network access. Data that it gets stays on this machine.
func (m MCPServer) Local() bool { return m.URL == "" && !m.Network }

// Writes reports whether the server is a program that may write to the owner's folders.
func (m MCPServer) Writes() bool { return slices.ContainsFunc(m.Folders(), rw) }

func rw(folder string) bool { return strings.HasSuffix(folder, ":rw") }

// Folders lists the folders that the program sees, as PATH:ro or PATH:rw. A path may begin with ~/.
func (m MCPServer) Folders() []string {
	if m.Cwd == "" {
		return m.Binds
	}
	return append(slices.Clone(m.Binds), m.Cwd+":rw")
}

// SeenBesides lists the folders, besides the workspace, that others than one MCP server can see: hob's tools, its commands, and the other
// servers. The form is that of Folders; folders of tools may also end with :foreign.
func (s *Snapshot) SeenBesides(server string) []string {
	list := slices.Concat(s.Tools.Roots, s.Tools.Exec.Binds)
	for _, name := range sorted(keysOf(s.MCP.Servers)) {
		if name != server {
			list = append(list, s.MCP.Servers[name].Folders()...)
		}
	}
	return list
}

// mcpServers is the path of the servers.
const mcpServers = "mcp.servers"

var (
	mcpName   = sys.Regexp(`^[a-z0-9]+([_-][a-z0-9]+)*$`)
	mcpEnv    = sys.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)
	mcpHeader = sys.Regexp(`^[A-Za-z0-9-]+$`)
)

// maxMCPName is the longest name of a server, in characters.
const maxMCPName = 32

// MCPName returns what is wrong with the name of a server, or "".
func MCPName(name string) string {
	if len(name) > maxMCPName || !mcpName().MatchString(name) {
		return fmt.Sprintf("want up to %d lower case letters and digits, with single - or _ between them, found %q", maxMCPName, name)
	}
	return ""
}

// MCPAddress returns what is wrong with the address of a server, or "".
func MCPAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" {
		return "want an address like https://mcp.example.org/mcp, without credentials"
	}
	return ""
}

// MCPCommand returns what is wrong with the command of a server, or "".
func MCPCommand(command string) string {
	if command == "" || command == "~" || strings.HasPrefix(command, "~/") || filepath.IsAbs(command) || filepath.Base(command) == command {
		return ""
	}
	return fmt.Sprintf("want the name of a program of PATH, or an absolute path, or one that begins with ~/, found %q", command)
}

// mcp reads [mcp], and each server on its own: a mistake in one leaves the others as they are.
func (l *loader) mcp() {
	keys := struct {
		Flat    bool `toml:"flat"`
		Servers any  `toml:"servers"` // read separately
	}{}
	n := l.root.child("mcp")
	if typed(l, n, "mcp", &keys, nil) {
		l.snap.MCP.Flat = keys.Flat
	}
	all := n.child("servers")
	if all != nil && !l.table(all, mcpServers) {
		return
	}
	for _, name := range all.names() {
		path := mcpServers + "." + name
		if !l.table(all.table[name], path) {
			continue
		}
		s := MCPServer{Timeout: 5 * time.Minute}
		if typed(l, all.table[name], path, &s, func(c *checks, s *MCPServer) { checkMCPServer(c, name, s) }) {
			if l.snap.MCP.Servers == nil {
				l.snap.MCP.Servers = map[string]MCPServer{}
			}
			l.snap.MCP.Servers[name] = s
		}
	}
}

// checkMCPServer reports mistakes without the values of env and headers, which may be secrets.
func checkMCPServer(c *checks, name string, s *MCPServer) {
	if text := MCPName(name); text != "" {
		c.add(c.node, c.node.key, c.section, "name: "+text, "for example [mcp.servers.calendar]", true)
	}
	switch {
	case len(slices.DeleteFunc([]string{s.Command, s.Install, s.URL}, func(v string) bool { return v == "" })) != 1:
		c.add(c.node, c.node.key, c.section, "want one of command, install and url", `for example command = "npx" or url = "https://mcp.example.org/mcp"`, true)
	case s.URL != "":
		if text := MCPAddress(s.URL); text != "" {
			c.wrong("url", "%s", text)
		}
		for _, key := range []string{"args", "env", "cwd", "binds", "network"} {
			if c.given(key) {
				c.wrong(key, "only a program has it")
			}
		}
	default:
		for _, key := range []string{"headers", "issuer", "client_id", "client_secret"} {
			if c.given(key) {
				c.wrong(key, "only a server with url has them")
			}
		}
	}
	if s.Install != "" {
		if source, err := ParseMCPSource(s.Install); err != nil || source.Version == "latest" {
			c.wrong("install", "want npm:PACKAGE@VERSION or go:MODULE@VERSION, as hob mcp add writes it")
		}
	}
	if text := MCPCommand(s.Command); text != "" {
		c.wrong("command", "%s", text)
	}
	switch {
	case s.ClientSecret == "":
	case s.ClientID == "":
		c.wrong("client_secret", "it belongs to a client_id, which is missing")
	case s.Issuer == "":
		c.wrong("client_secret", "it needs issuer, the address of the authorization server that it is for: else the server could name one of its own")
	}
	if u, err := url.Parse(s.Issuer); s.Issuer != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.RawQuery != "") {
		c.wrong("issuer", "want an address like https://login.example.org, without credentials")
	}
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) && s.Cwd != "~" && !strings.HasPrefix(s.Cwd, "~/") {
		c.wrong("cwd", "want an absolute path, or one that begins with ~/, found %q", s.Cwd)
	}
	if s.Timeout < time.Second || s.Timeout > time.Hour {
		c.wrong("timeout", "want 1s to 1h, found %q", s.Timeout)
	}
	s.Binds = checkPaths(c, "binds", s.Binds, "ro", "rw")
	for _, k := range sorted(keysOf(s.Env)) {
		if !mcpEnv().MatchString(k) {
			c.wrong("env", "%q is no name of a variable", k)
		}
	}
	for _, k := range sorted(keysOf(s.Headers)) {
		if !mcpHeader().MatchString(k) {
			c.wrong("headers", "%q is no name of a header", k)
		}
	}
	if i := slices.IndexFunc(s.Tainted, func(t string) bool { return t == "*" }); i >= 0 {
		c.wrong("tainted", "want the names of tools, one by one")
	}
}

// mcpSecrets records the secrets among the values of a server's environment and headers, so that they can be redacted.
func (l *loader) mcpSecrets() {
	for _, name := range sorted(keysOf(l.snap.MCP.Servers)) {
		s, at := l.snap.MCP.Servers[name], mcpServers+"."+name
		if s.ClientSecret != "" {
			l.snap.Secrets = append(l.snap.Secrets, NamedSecret{at + ".client_secret", s.ClientSecret})
		}
		for i, value := range s.Secrets() {
			l.snap.Secrets = append(l.snap.Secrets, NamedSecret{fmt.Sprintf("%s.secret%d", at, i+1), value})
		}
		for _, k := range sorted(keysOf(s.Env)) {
			if secret.IsReference(s.Env[k]) || SecretName(k) {
				l.snap.Secrets = append(l.snap.Secrets, NamedSecret{at + ".env." + k, s.Env[k]})
			}
		}
		for _, k := range sorted(keysOf(s.Headers)) {
			if secret.IsReference(s.Headers[k]) || SecretName(k) {
				l.snap.Secrets = append(l.snap.Secrets, NamedSecret{at + ".headers." + k, s.Headers[k]})
			}
		}
	}
}

// SecretName reports whether the value of a variable or a header with this name is a secret: API_KEY, GITHUB_TOKEN, Authorization.
func SecretName(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	return schema.Secret(name) || name == "authorization" || name == "cookie" || slices.ContainsFunc([]string{"key", "pass", "pat", "auth", "credentials"}, func(end string) bool {
		return name == end || strings.HasSuffix(name, "_"+end)
	})
}

// hideMCP hides the secrets in env and headers of a plain copy of [mcp.servers]. References to secrets stay visible.
func hideMCP(servers any) {
	all, _ := servers.(map[string]any)
	for _, one := range all {
		server, _ := one.(map[string]any)
		if text, ok := server["client_secret"].(string); ok && !secret.IsReference(text) {
			server["client_secret"] = Hidden
		}
		hideInLine(server)
		for _, key := range []string{"env", "headers"} {
			values, _ := server[key].(map[string]any)
			for name, v := range values {
				if text, ok := v.(string); ok && SecretName(name) && !secret.IsReference(text) {
					values[name] = Hidden
				}
			}
		}
	}
}

// hideInLine hides secrets in the arguments and in the address of a plain copy of a server.
func hideInLine(server map[string]any) {
	var m MCPServer
	m.URL, _ = server["url"].(string)
	args, _ := server["args"].([]any)
	for _, arg := range args {
		text, _ := arg.(string)
		m.Args = append(m.Args, text)
	}
	secrets := m.Secrets()
	if m.URL != "" {
		server["url"] = hideSecrets(m.URL, secrets)
	}
	for i, arg := range m.Args {
		args[i] = hideSecrets(arg, secrets)
	}
}

// mcpPart describes [mcp].
func mcpPart(d *Snapshot) Part {
	return Part{
		Path: "mcp", Doc: "Programs and services of others whose tools hob can use; see mcp.md. `hob mcp add` writes them. Each server has a section of its own, `[mcp.servers.NAME]`; it counts when you have accepted its tools.",
		Keys: schema.Describe(struct {
			Flat    bool
			Servers map[string]MCPServer
		}{d.MCP.Flat, nil}, []schema.Note{
			{
				Name: "servers", Unset: "none", Example: `{ notes = { command = "mcp-notes", args = ["--folder", "/home/sam/notes"], binds = ["~/notes:ro"] } }`,
				Doc: "The servers, by their names. A program has `command` or `install`, and `args`, `env`, `cwd`, `binds` and `network`; a service has `url`, `headers`, `issuer`, `client_id` and `client_secret`. Both may have `read_only` and `tainted` (lists of tools) and `timeout`.",
			},
			{Name: "flat", Example: "false", Doc: "List the tools of all servers in each request to the model. Each costs tokens in every request. Otherwise the model finds them with the tool `tool`."},
		}),
	}
}
