package config_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/config"
)

// A server with a mistake is missing and said; the others stay.
func TestMCPServers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 33)
	for name, c := range map[string]struct {
		section, want string
		stays         bool // without the part that is wrong
	}{
		"a program":                  {"command = \"x\"\nargs = [\"a\"]\nbinds = [\"~/n:rw\"]\nnetwork = true\ncwd = \"/srv\"\nenv = { TOKEN = \"env:T\" }", "", true},
		"a service":                  {"url = \"https://example.com/mcp\"\nheaders = { Authorization = \"env:T\" }", "", true},
		"neither":                    {"args = [\"a\"]", "want one of command, install and url", false},
		"both":                       {"command = \"x\"\nurl = \"https://example.com/mcp\"", "want one of command, install and url", false},
		"an installed one":           {"install = \"npm:@a/b@1.2.3\"\nargs = [\"a\"]\nnetwork = true", "", true},
		"an address to install":      {"install = \"npm:git+https://example.com/x\"", "want npm:PACKAGE@VERSION", false},
		"no fixed version":           {"install = \"npm:b\"", "want npm:PACKAGE@VERSION", false},
		"installed and a command":    {"install = \"npm:b@1\"\ncommand = \"x\"", "want one of command, install and url", false},
		"a password in the url":      {"url = \"https://me:it@example.com/mcp\"", "without credentials", false},
		"another protocol":           {"url = \"ftp://example.com/mcp\"", "want an address like", false},
		"no host":                    {"url = \"https:///mcp\"", "want an address like", false},
		"a bind of a service":        {"url = \"https://example.com/mcp\"\nbinds = [\"~/n:ro\"]", "only a program has it", false},
		"a network of one":           {"url = \"https://example.com/mcp\"\nnetwork = false", "only a program has it", false},
		"a header of a program":      {"command = \"x\"\nheaders = { A = \"b\" }", "only a server with url has them", false},
		"a client of a program":      {"command = \"x\"\nclient_id = \"b\"", "client_id: only a server with url has them", false},
		"a secret without a client":  {"url = \"https://example.com/mcp\"\nclient_secret = \"env:X\"", "it belongs to a client_id", false},
		"a folder that depends":      {"command = \"x\"\ncwd = \"here\"", "want an absolute path", false},
		"a program that depends":     {"command = \"./x\"", "command: want the name of a program of PATH", false},
		"one of a folder below":      {"command = \"bin/x\"", "command: want the name of a program of PATH", false},
		"one of the home":            {"command = \"~/bin/x\"", "", true},
		"a bind that depends":        {"command = \"x\"\nbinds = [\"here:ro\"]", "binds", true},
		"a bind without rights":      {"command = \"x\"\nbinds = [\"/here\"]", "binds", true},
		"a short time":               {"command = \"x\"\ntimeout = \"1ms\"", "want 1s to 1h", false},
		"a variable":                 {"command = \"x\"\nenv = { \"A B\" = \"1\" }", "is no name of a variable", false},
		"a header":                   {"url = \"https://example.com/\"\nheaders = { \"A\\nB\" = \"1\" }", "is no name of a header", false},
		"all tools":                  {"command = \"x\"\ntainted = [\"*\"]", "one by one", false},
		"an unknown key":             {"command = \"x\"\nsandbox = \"off\"", "sandbox", true},
		"a secret without an issuer": {"url = \"https://example.com/mcp\"\nclient_id = \"x\"\nclient_secret = \"env:X\"", "it needs issuer", false},
		"an issuer with credentials": {"url = \"https://example.com/mcp\"\nissuer = \"https://a:b@example.com\"", "want an address like", false},
		"an issuer of a program":     {"command = \"x\"\nissuer = \"https://example.com\"", "only a server with url", false},
	} {
		doc := "[mcp.servers.other]\ncommand = \"y\"\n\n[mcp.servers.one]\n" + c.section + "\n"
		snap, problems := load(t, doc)
		_, there := snap.MCP.Servers["one"]
		if _, ok := snap.MCP.Servers["other"]; !ok {
			t.Errorf("%s: the other server is missing", name)
		}
		said := config.Errors(problems).Error()
		if there != c.stays || (c.want == "") != (len(problems) == 0) || !strings.Contains(said, c.want) {
			t.Errorf("%s: %v, %s", name, there, said)
		}
	}
	for name, good := range map[string]bool{"notes": true, "my-notes_2": true, "a": true, "": false, "Notes": false, "a__b": false, "a-": false, "a.b": false, long: false, "ä": false} {
		if text := config.MCPName(name); (text == "") != good {
			t.Errorf("%q: %s", name, text)
		}
	}
}

// The secrets of a server are known, so that they are redacted, and are not shown.
func TestSecretsOfMCPServers(t *testing.T) {
	t.Parallel()
	snap, problems := load(t, "[mcp.servers.one]\ncommand = \"x\"\nenv = { API_KEY = \"literal\", PLACE = \"here\", REF = \"env:R\" }\n[mcp.servers.two]\nurl = \"https://example.com/\"\nheaders = { Authorization = \"Bearer x\" }\n")
	got := map[string]string{}
	for _, s := range snap.Secrets {
		got[s.Name] = s.Value
	}
	want := map[string]string{"mcp.servers.one.env.API_KEY": "literal", "mcp.servers.one.env.REF": "env:R", "mcp.servers.two.headers.Authorization": "Bearer x"}
	if !maps.Equal(got, want) {
		t.Errorf("secrets %v (%v)", got, problems)
	}
}

// Secrets in arguments and addresses are found by the names before them.
func TestSecretsInLinesOfMCPServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		url  string
		want string
	}{
		{[]string{"--api-key", "s3cret-1", "--token=s3cret-2", "API_KEY=s3cret-3", "--header", "Authorization: Bearer s3cret-4", "--header=X-Api-Key:s3cret-5"}, "", "[s3cret-1 s3cret-2 s3cret-3 Bearer s3cret-4 s3cret-5]"},
		{[]string{"--url", "https://x.example/?a=b&token=s3cret-1&c=d", "-e", "KEY=a=b"}, "", "[s3cret-1 a=b]"},
		{nil, "https://x.example/mcp?access_token=s3cret-1#x", "[s3cret-1]"},
		{nil, "https://x.example:8080/mcp?a=b", "[]"},
		{[]string{"--key", "/srv/key.pem", "--token=~/token", "--token", "--verbose", "--token=", "--author=me", "x"}, "", "[]"},
	} {
		if got := fmt.Sprint(config.MCPServer{Args: c.args, URL: c.url}.Secrets()); got != c.want {
			t.Errorf("%q %s: %s, want %s", c.args, c.url, got, c.want)
		}
	}
	doc := "[mcp.servers.one]\ncommand = \"x\"\nargs = [\"--token\", \"canary-1\"]\n[mcp.servers.two]\nurl = \"https://x.example/?token=canary-2\"\n"
	snap, _ := load(t, doc)
	if fmt.Sprint(snap.Secrets) != "[{mcp.servers.one.secret1 canary-1} {mcp.servers.two.secret1 canary-2}]" {
		t.Errorf("%v", snap.Secrets)
	}
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, doc, 0o600)
	shown, err := known().Look(path, nil, "mcp.servers")
	if err != nil || len(shown) != 1 {
		t.Fatalf("%v, %v", shown, err)
	}
	if text := shown[0].Text(); strings.Contains(text, "canary") || !strings.Contains(text, "--token") || !strings.Contains(text, "x.example") {
		t.Errorf("it shows %s", text)
	}
}

// What other programs' documents print becomes sections.
func TestParseMCP(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"mcpServers": {"My Files": {"command": "npx", "args": ["-y", "x"], "env": {"A": "${TOKEN}", "B": "${env:B}", "C": "x${D}"}, "disabled": true}}}`: "my-files npx [-y x] map[A:env:TOKEN B:env:B C:x${D}] [disabled]",
		`{"servers": {"web": {"type": "http", "url": "https://x.example/mcp", "headers": {"Authorization": "${T}"}}}}`:                                     "web https://x.example/mcp map[Authorization:env:T] []",
		`{"b": {"command": "b"}, "a": {"command": "a"}}`: "a a [] map[] []; b b [] map[] []",
		`{"mcpServers": {}}`:                             "the block has no servers",
		`{"mcpServers": []}`:                             "want an object of servers",
		`{"x": {"type": "sse", "url": "https://x/"}}`:    `hob does not speak "sse"`,
		`{"x": {"command": ["a"]}}`:                      "command is of the wrong type",
		`{"x": "y"}`:                                     "want an object with command or url",
		`npx -y x`:                                       "the block is no JSON",
	} {
		list, err := config.ParseMCP([]byte(doc))
		var parts []string
		for _, b := range list {
			reach := fmt.Sprint(b.Command, " ", b.Args, " ", b.Env)
			if b.URL != "" {
				reach = fmt.Sprint(b.URL, " ", b.Headers)
			}
			parts = append(parts, fmt.Sprint(b.Name, " ", reach, " ", b.Ignored))
		}
		got := strings.Join(parts, "; ")
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s\n got %s\nwant %s", doc, got, want)
		}
	}
}

// Nothing in a block counts as a reference of the owner's, and it names each variable of his that the server would get.
func TestBlockRefersToNothing(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"cmd:touch /tmp/x", " cmd:x", "\tfile:/etc/passwd", "file:~/.ssh/id", "keyring:login", "env:TOKEN", "env:", "cmd:", "env: TOKEN\n", "${HOB_MODEL__API_KEY}", "${env:HOB_X}"} {
		for key, server := range map[string]map[string]any{
			"env":     {"command": "x", "env": map[string]string{"A": "b", "PLACE": value}},
			"headers": {"url": "https://example.com/", "headers": map[string]string{"X-Place": value}},
			"args":    {"command": "x", "args": []string{"-a", value}},
			"command": {"command": value},
			"url":     {"url": value},
		} {
			if own := strings.HasPrefix(value, "$"); own && key != "env" && key != "headers" {
				continue // nothing fills it in there
			}
			doc, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"one": server}})
			if err != nil {
				t.Fatal(err)
			}
			if list, err := config.ParseMCP(doc); err == nil {
				t.Errorf("%s: %q was taken: %v", key, value, list)
			}
		}
	}
	list, err := config.ParseMCP([]byte(`{"one": {"command": "x", "args": ["file:///srv", "http://x", "${ARG}"], "env": {"B": "${T2}", "A": "${env:T1}", "C": "${T2}", "D": "a ${E}", "F": "x=cmd:y"}}, "two": {"url": "https://x.example/"}}`))
	if err != nil || fmt.Sprint(list[0].Variables, list[1].Variables) != "[T1 T2] []" {
		t.Errorf("%+v, %v", list, err)
	}
}

// A block opens no folder of the owner's.
func TestBlockOpensNoFolder(t *testing.T) {
	t.Parallel()
	list, err := config.ParseMCP([]byte(`{"one": {"command": "x", "cwd": "~/.ssh", "binds": ["~:rw"], "network": true, "read_only": ["a"], "tainted": ["a"], "timeout": 1, "Cwd": "/", "client_id": "x", "client_secret": "env:X"}}`))
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	d := list[0]
	if d.Cwd != "" || d.Binds != nil || d.Network || d.ReadOnly != nil || d.Tainted != nil || d.ClientSecret != "" || len(d.Ignored) != 9 {
		t.Errorf("%+v", d)
	}
}

// load reads a document as the file.
func load(t *testing.T, doc string) (*config.Snapshot, []config.Problem) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	snap, problems, err := config.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return snap, problems
}
