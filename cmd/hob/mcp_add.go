package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/config"
	"hob/config/document"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/secret"
)

// addCommand makes hob mcp add.
func (m mcpCommands) addCommand() *cobra.Command {
	var d mcpDraft
	var env, headers []string
	cmd := &cobra.Command{
		Use: "add NAME URL | NAME PACKAGE [ARG]… | NAME -- COMMAND [ARG]… | [NAME] BLOCK", Short: "Use the tools of a program or of a service", Args: cli.AtLeast(1, "a NAME with a URL or a COMMAND, or a block of mcpServers"),
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Write an MCP server into config.toml, start it, show what it offers, and use its tools after a yes.\n\n" +
			"A COMMAND runs in hob's sandbox: it sees the system's programs and the folders of --bind, and has the network only with --network. A URL is a server over\n" +
			"streamable HTTP. A BLOCK is what the documents of MCP servers print, { \"mcpServers\": { … } }: the text itself, a file, or - to read it from standard input.\n" +
			"A PACKAGE is npm:PACKAGE[@VERSION] or go:MODULE[@VERSION]: hob installs it once, at a fixed version, in the sandbox with the network and without install\n" +
			"scripts, and starts it without fetching anything. So it does with the commands npx PACKAGE and go run MODULE@VERSION.\n" +
			"Secrets of a block are moved to files in hob's home that only you can read. A block may refer to no other secret of yours; you are asked about the variables that\n" +
			"it wants, ${NAME}, before anything starts. --env and --header take references to secrets (env:NAME, file:PATH, keyring:NAME, cmd:COMMAND).",
		Example: "  hob mcp add samples npm:@modelcontextprotocol/server-everything\n  hob mcp add notes --bind ~/notes:rw -- /opt/mcp-notes/bin/mcp-notes ~/notes\n  hob mcp add tracker https://mcp.example.com/mcp --header 'Authorization=env:TRACKER_HEADER'\n" +
			"  hob mcp add '{ \"mcpServers\": { \"clock\": { \"command\": \"mcp-clock\" } } }'\n  hob mcp add --json - < servers.json",
	}
	f := cmd.Flags()
	f.StringArrayVar(&env, "env", nil, "a variable for the program, `NAME=VALUE`; it gets no others")
	f.StringArrayVar(&headers, "header", nil, "a header for the service, `NAME=VALUE`")
	f.StringArrayVar(&d.Binds, "bind", nil, "a folder or file that the program sees, `PATH:ro` or PATH:rw")
	f.BoolVar(&d.Network, "network", false, "let the program use the network")
	f.StringVar(&d.Cwd, "cwd", "", "the `folder` that the program works in, and may write to")
	f.StringSliceVar(&d.ReadOnly, "read-only", nil, "`tools` of which you know that they change nothing")
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		list, err := m.drafts(cmd, args, d, env, headers)
		if err != nil {
			return err
		}
		if blockAt(args) >= 0 {
			if err := m.confirmBlock(cmd.Context(), list, *yes); err != nil {
				return err
			}
		}
		return m.add(cmd.Context(), list, *yes)
	}
	return cmd
}

// blockAt returns the index of the argument that is a block of servers; -1: there is none. No program has a name that begins with a brace.
func blockAt(args []string) int {
	last := len(args) - 1
	if text := strings.TrimSpace(args[last]); last == 0 || last == 1 && (text == "-" || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") || strings.HasSuffix(text, ".json")) {
		return last
	}
	return -1
}

// drafts reads the servers that the arguments describe, and refuses what could never work: nothing of that is written.
func (m mcpCommands) drafts(cmd *cobra.Command, args []string, d mcpDraft, env, headers []string) (list []mcpDraft, err error) {
	if blockAt(args) >= 0 {
		list, err = m.blockDrafts(cmd, args, d)
	} else if d, err = d.filled(cmd, args); err == nil {
		if d.Env, err = pairs("env", env); err == nil {
			d.Headers, err = pairs("header", headers)
		}
		list = []mcpDraft{d}
	}
	if err != nil {
		return nil, err
	}
	for i, d := range list {
		if err := d.check(); err != nil {
			return nil, err
		}
		if source, args, ok := d.Fetched(); ok {
			list[i].Command, list[i].Install, list[i].Args = "", source.String(), args
		}
	}
	return list, nil
}

// blockDrafts reads the servers of a block.
func (m mcpCommands) blockDrafts(cmd *cobra.Command, args []string, d mcpDraft) ([]mcpDraft, error) {
	if f := cmd.Flags(); slices.ContainsFunc([]string{"env", "header", "read-only"}, f.Changed) {
		return nil, cli.Usage("write it into the block", "--env, --header and --read-only are for a server that is no block")
	}
	at := blockAt(args)
	doc, err := m.block(args[at])
	if err != nil {
		return nil, err
	}
	var blocks []config.MCPBlock
	if at == 0 {
		blocks, err = config.ParseMCP(doc)
	} else {
		blocks = make([]config.MCPBlock, 1)
		blocks[0], err = config.ParseMCPAs(args[0], doc)
	}
	if err != nil {
		return nil, cli.Usage(`want { "mcpServers": { "NAME": { "command": … } } }; what refers to secrets of yours goes into config.toml by your own hand`, "%s", console.Clean(err.Error()))
	}
	if d.Cwd != "" && (len(blocks) > 1 || blocks[0].URL != "") {
		return nil, cli.Usage("add them one by one", "--cwd is for one program")
	}
	list := make([]mcpDraft, len(blocks))
	for i, b := range blocks {
		b.Cwd, b.Binds, b.Network = d.Cwd, d.Binds, d.Network && b.URL == ""
		list[i] = mcpDraft(b)
	}
	return list, nil
}

// filled is the server of NAME URL or NAME -- COMMAND [ARG]….
func (d mcpDraft) filled(cmd *cobra.Command, args []string) (mcpDraft, error) {
	d.Name = args[0]
	if kind, _, ok := strings.Cut(args[1], ":"); ok && (kind == config.FromNPM || kind == config.FromGo) {
		source, err := config.ParseMCPSource(args[1])
		if err != nil {
			return d, cli.Usage("for example npm:PACKAGE@1.2.3 or go:MODULE@v1.2.3", "%s: %v", args[1], err)
		}
		d.Install, d.Args = source.String(), args[2:]
		return d, nil
	}
	switch dash, address := cmd.ArgsLenAtDash(), strings.Contains(args[1], "://"); {
	case dash < 0 && len(args) == 2 && address:
		d.URL = args[1]
	case strings.TrimSpace(args[1]) != "" && (dash == 1 || dash < 0 && !address):
		d.Command, d.Args = args[1], args[2:]
		if full, err := filepath.Abs(d.Command); err == nil && filepath.Base(d.Command) != d.Command && !strings.HasPrefix(d.Command, "~/") {
			d.Command = full // the folder of this terminal is not that of hob
		}
	default:
		return d, cli.Usage("hob mcp add NAME URL, or hob mcp add NAME -- COMMAND [ARG]…", "want one URL, or a COMMAND after --")
	}
	return d, nil
}

// check refuses a server that could never work.
func (d mcpDraft) check() error {
	if text := config.MCPName(d.Name); text != "" {
		return cli.Usage("for example: notes", "NAME: %s", text)
	}
	if text := config.MCPAddress(d.URL); d.URL != "" && text != "" {
		return cli.Usage("hob speaks streamable HTTP only; give the server's http or https address", "%s: URL: %s, found %s", d.Name, text, console.Clean(d.URL))
	}
	if text := config.MCPCommand(d.Command); text != "" {
		return cli.Usage("name it by its whole path", "%s: COMMAND: %s", d.Name, console.Clean(text))
	}
	if d.Command == "" {
		return nil
	}
	_, err := os.Stat(d.Command)
	switch {
	case strings.HasPrefix(strings.TrimSpace(d.Command), "{"):
		return cli.Usage("hob mcp add NAME BLOCK, in which BLOCK is one argument without -- before it", "%s: a block of mcpServers is no COMMAND", d.Name)
	case err != nil && strings.ContainsAny(d.Command, " \t\n"):
		return cli.Usage("hob mcp add "+d.Name+" -- COMMAND ARG ARG, each word by itself", "%s: there is no program with the name %q", d.Name, d.Command)
	}
	return nil
}

// maxBlock is the most that is read of a block, in bytes.
const maxBlock = 1 << 20

// block returns the text of a block of servers: the argument itself, a file, or standard input.
func (m mcpCommands) block(arg string) ([]byte, error) {
	switch {
	case strings.HasPrefix(strings.TrimSpace(arg), "{"):
		return []byte(arg), nil
	case arg == "-":
		doc, err := io.ReadAll(io.LimitReader(m.app.In, maxBlock))
		if err != nil {
			return nil, fmt.Errorf("read the block: %w", err)
		}
		return doc, nil
	}
	doc, err := os.ReadFile(arg)
	if err != nil {
		return nil, cli.Usage("hob mcp add NAME URL, hob mcp add NAME -- COMMAND [ARG]…, or a block of mcpServers as text, file or -", "one argument must be a block of mcpServers: %v", err)
	}
	return doc, nil
}

// pairs reads NAME=VALUE. Secrets are not taken from the command line, which others can read.
func pairs(flag string, list []string) (map[string]string, error) {
	all := map[string]string{}
	for _, one := range list {
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, cli.Usage("for example --"+flag+" NAME=VALUE", "--%s %q: want NAME=VALUE", flag, name)
		}
		if config.SecretName(name) && !secret.IsReference(value) {
			return nil, cli.Usage("others can read a command line; name it by env:NAME, file:PATH, keyring:NAME or cmd:COMMAND", "--%s %s takes a reference, not the secret itself", flag, name)
		}
		all[name] = value
	}
	return all, nil
}

// confirmBlock asks before a block of others gets something of the owner's: variables of hob's environment, or a start without the sandbox.
// Nothing is written or started before.
func (m mcpCommands) confirmBlock(ctx context.Context, list []mcpDraft, yes bool) error {
	path, err := m.file.file()
	if err != nil {
		return err
	}
	conf, _, err := config.Load(path, os.Environ())
	if err != nil {
		return &cli.Problem{Code: cli.ExitFailed, Text: "config.toml cannot be read as it is", Hint: "see: hob config validate"}
	}
	var gets []string
	for _, d := range list {
		starts := fmt.Sprintf("%s (%s)", d.Name, strings.Join(append([]string{d.Command + d.Install + d.URL}, d.Args...), " "))
		if len(d.Variables) > 0 {
			gets = append(gets, fmt.Sprintf("%s then gets %s of the environment of hob", starts, strings.Join(d.Variables, ", ")))
		}
		if d.URL == "" && conf.Tools.Exec.Sandbox == "off" {
			gets = append(gets, starts+" then runs without the sandbox, which you have switched off")
		}
	}
	if len(gets) == 0 {
		return nil
	}
	return m.app.Confirm(ctx, yes, strings.Join(gets, "\n"), "add and start what the block says?")
}

// mcpDraft is a server that is being added.
type mcpDraft config.MCPBlock

// changes are the keys of the server's section.
func (d mcpDraft) changes() (list []document.Change) {
	put := func(key string, given bool, value any) {
		if given {
			list = append(list, document.Change{Key: config.KeyText([]string{"mcp", "servers", d.Name, key}), TOML: config.TOML(value)})
		}
	}
	plain := func(m map[string]string) map[string]any {
		out := map[string]any{}
		for k, v := range m {
			out[k] = v
		}
		return out
	}
	put("command", d.Command != "", d.Command)
	put("install", d.Install != "", d.Install)
	put("args", len(d.Args) > 0, d.Args)
	put("url", d.URL != "", d.URL)
	put("env", len(d.Env) > 0, plain(d.Env))
	put("headers", len(d.Headers) > 0, plain(d.Headers))
	put("cwd", d.Cwd != "", d.Cwd)
	put("binds", len(d.Binds) > 0, d.Binds)
	put("network", d.Network, d.Network)
	put("read_only", len(d.ReadOnly) > 0, d.ReadOnly)
	return list
}

// add installs servers, writes their sections, and lets the running hob try each.
func (m mcpCommands) add(ctx context.Context, list []mcpDraft, yes bool) error {
	home, _, err := m.app.HomeDir()
	if err != nil {
		return err
	}
	path, err := m.file.file()
	if err != nil {
		return err
	}
	before, err := m.fits(path, list)
	if err != nil {
		return err
	}
	c, down := client.Find(ctx, home, false)
	for i, d := range list {
		if d.Install == "" {
			continue
		}
		if down != nil {
			return &cli.Problem{Code: cli.ExitFailed, Text: "hob does not run, and it installs " + d.Install, Hint: "start it with: hob up"}
		}
		var got api.MCPSource
		what := d.Name + ": installing " + d.Install + ", in the sandbox with the network and without install scripts"
		err := m.app.Waiting(what, func() (err error) {
			got, err = client.Do(ctx, c, api.InstallMCP, d.Name, api.MCPSource{Source: d.Install})
			return err
		})
		if err != nil {
			m.app.Note("nothing was written to config.toml")
			return err
		}
		m.app.Note(d.Name + ": " + got.Source + " is installed; only this version runs")
		list[i].Install = got.Source
	}
	if err := m.write(path, home, before, list); err != nil {
		return err
	}
	if down != nil {
		for _, d := range list {
			m.app.Note("it is in config.toml; when hob runs, accept its tools with: hob mcp accept " + d.Name)
		}
		if m.app.JSON {
			return m.app.Document([]api.MCPServer{})
		}
		return nil
	}
	docs := []any{}
	var last error
	for _, d := range list {
		doc, err := m.try(ctx, c, d.Name, yes)
		if err != nil && len(list) > 1 {
			m.app.Note(d.Name + ": " + err.Error())
		}
		if err != nil {
			last = err
		}
		docs = append(docs, doc)
	}
	if m.app.JSON && last == nil {
		return m.app.Document(docs)
	}
	return last
}

// fits returns the config as it is, if the sections of the servers fit into it. A mistake leaves nothing behind.
func (m mcpCommands) fits(path string, list []mcpDraft) ([]byte, error) {
	before, err := config.FileContent(path)
	if err != nil {
		return nil, err
	}
	tree, err := document.Parse(before)
	if err != nil {
		return nil, &cli.Problem{Code: cli.ExitFailed, Text: "config.toml cannot be read as it is", Hint: "see: hob config validate"}
	}
	servers, _ := tree["mcp"].(map[string]any)
	servers, _ = servers["servers"].(map[string]any)
	var changes []document.Change
	for _, d := range list {
		if _, taken := servers[d.Name]; taken {
			return nil, &cli.Problem{Code: cli.ExitFailed, Text: "there is an MCP server " + d.Name + " already", Hint: "choose another name, or remove it with: hob mcp rm " + d.Name}
		}
		if source, err := config.ParseMCPSource(d.Install); err == nil { // the exact version is known after the installation
			source.Version = "0"
			d.Install = source.String()
		}
		changes = append(changes, d.changes()...)
	}
	_, err = document.Set(m.file.reference(), path, before, changes...)
	return before, configError(err)
}

// write puts the sections into config.toml, after the secrets that they refer to.
func (m mcpCommands) write(path, home string, before []byte, list []mcpDraft) error {
	var changes []document.Change
	for _, d := range list {
		if err := m.keep(home, d); err != nil {
			return err
		}
		changes = append(changes, d.changes()...)
		m.ignored(d)
		if len(d.Secrets()) > 0 {
			m.app.Note(d.Name + ": a secret is in its arguments or its address, and so in config.toml; if the server takes it from a variable or a header, put it there")
		}
	}
	next, err := document.Set(m.file.reference(), path, before, changes...)
	if err != nil {
		return configError(err)
	}
	return setup.Save(path, before, next)
}

// ignored says which keys of a block count for nothing.
func (m mcpCommands) ignored(d mcpDraft) {
	rest := slices.DeleteFunc(slices.Clone(d.Ignored), func(key string) bool { return key == "cwd" })
	if len(rest) < len(d.Ignored) && d.Cwd == "" {
		m.app.Note(d.Name + ": the block's cwd is left out, because the program may write to that folder; if it needs one, name it with --cwd")
	}
	if len(rest) > 0 {
		m.app.Note(console.Clean(fmt.Sprintf("%s: hob has no %s", d.Name, strings.Join(rest, ", "))))
	}
}

// secretFile is the name of the file that keeps a variable or a header of a server.
func secretFile(server, name string) string { return "mcp-" + server + "-" + name }

// keep moves the secrets of a server into files, and puts references in their place.
func (m mcpCommands) keep(home string, d mcpDraft) error {
	for _, values := range []map[string]string{d.Env, d.Headers} {
		for name, value := range values {
			if !config.SecretName(name) || secret.IsReference(value) || value == "" {
				continue
			}
			file, _, err := setup.KeepSecret(home, secretFile(d.Name, name), value)
			if err != nil {
				return err
			}
			values[name] = "file:" + file
			m.app.Note("the secret " + name + " is in " + filepath.Join(home, file))
		}
	}
	return nil
}

// try starts a server, shows what it offers, and accepts it after a yes. Without anybody to ask it stays as it is.
func (m mcpCommands) try(ctx context.Context, c *client.Client, name string, yes bool) (doc any, err error) {
	row := setup.Loaded(ctx, func(ctx context.Context) *api.MCPServer {
		row, err := client.Show(ctx, c, api.ShowMCP, name)
		if err != nil {
			return nil
		}
		return &row
	})
	if row == nil {
		return nil, &cli.Problem{Text: "the running hob has not taken " + name, Hint: "see why with: hob logs"}
	}
	offer, err := client.Do(ctx, c, api.TestMCP, name, api.None{})
	if err != nil {
		m.app.Note(name + " stays in config.toml, and is not used. Try it again with: hob mcp test " + name + "; then hob mcp accept " + name + ". Or remove it with: hob mcp rm " + name)
		return nil, err
	}
	switch {
	case m.app.JSON && yes:
		return client.Do(ctx, c, api.AcceptMCP, name, api.MCPHash{Hash: offer.Hash})
	case m.app.JSON:
		return offer, nil
	case yes || cli.IsTerminal(m.app.In) && cli.IsTerminal(m.app.Err):
		return nil, m.decide(ctx, c, offer, yes)
	}
	if err := m.show(offer); err != nil {
		return nil, err
	}
	m.app.Note("accept these tools with: hob mcp accept " + name + " " + offer.Hash[:12])
	return nil, nil
}
