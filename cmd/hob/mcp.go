package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/config"
	"hob/config/document"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// mcpCommand makes hob mcp: servers whose tools hob uses, and hob's own tools for other programs.
func mcpCommand(a *cli.App, reference func() config.Reference) *cobra.Command {
	m := mcpCommands{a, configCommands{a, reference}}
	return cli.Family("mcp", "Use the tools of MCP servers, and share hob's with other programs",
		cli.List(a, cli.Listing[api.MCPServer]{
			Route: api.MCPServers, Whole: true, Noun: "MCP servers", Short: "List the servers whose tools hob can use", None: "there are no MCP servers yet; add one with: hob mcp add NAME -- COMMAND",
			Head: []string{"SERVER", "STATE", "TOOLS", "VERSION", "WHAT IT IS GIVEN GOES TO", "PROBLEM"},
			Row: func(s api.MCPServer, _ cli.Clock) []string {
				return []string{s.Name, s.State, strconv.Itoa(len(s.Tools)), console.OrDash(s.Version), s.Goes, console.OrDash(console.OneLine(mcpProblem(s)))}
			},
		}),
		m.addCommand(),
		m.removeCommand(),
		m.testCommand(),
		m.acceptCommand(),
		m.toolsCommand(),
		mcpLoginCommand(a),
		mcpServeCommand(a),
		mcpSystemInfoCommand(a),
	)
}

// mcpProblem says what is wrong with a server: also that flat = true does not hold for some of its tools, and that hob skips some of what it sends.
func mcpProblem(s api.MCPServer) string {
	if s.Problem != "" || len(s.Behind) == 0 {
		return cmp.Or(s.Problem, s.Skipped)
	}
	return "only through the tool \"tool\": " + strings.Join(s.Behind, "; ")
}

// mcpCommands are the commands about servers. The daemon starts them; the commands change config.toml, and show what the daemon says.
type mcpCommands struct {
	app  *cli.App
	file configCommands
}

// testCommand makes hob mcp test. Its exit code is not 0 if the server does not work or offers what was not accepted.
func (m mcpCommands) testCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test SERVER", Short: "Start a server, and compare what it offers with what you accepted", Args: cli.Exactly(1, "one SERVER"), ValidArgsFunction: cli.Complete(m.app, api.MCPServers),
		Long:    "Start a server, or connect to it, and compare what it offers with what you accepted. Nothing is changed.",
		Example: "  hob mcp test notes\n  hob --json mcp test notes",
		RunE: func(cmd *cobra.Command, args []string) error {
			offer, err := client.Do(cmd.Context(), m.app, api.TestMCP, args[0], api.None{})
			if err != nil {
				return err
			}
			if err := m.show(offer); err != nil || offer.Accepted {
				return err
			}
			return &cli.Problem{Text: "you have not accepted what " + args[0] + " offers", Hint: "accept it with: hob mcp accept " + args[0]}
		},
	}
}

// acceptCommand makes hob mcp accept.
func (m mcpCommands) acceptCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "accept SERVER [HASH]", Short: "Accept what a server offers now, and use it", ValidArgsFunction: cli.Complete(m.app, api.MCPServers),
		Long: "Show what a server offers now, or how that differs from what you accepted before, and use it after a yes. It counts as long as the server offers exactly\n" +
			"that, and its section of config.toml stays as it is. With HASH, of which the 12 digits that are shown are enough, there is no question: the server must\n" +
			"still offer what you have looked at.",
		Args:    cobra.MatchAll(cli.AtLeast(1, "a SERVER"), cli.AtMost(2, "a SERVER and a HASH")),
		Example: "  hob mcp accept notes\n  hob mcp accept notes 3f2a91c07b44\n  hob mcp accept --yes notes",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := m.app.Client(cmd.Context())
		if err != nil {
			return err
		}
		if len(args) == 2 {
			return m.accept(cmd.Context(), c, args[0], args[1])
		}
		offer, err := client.Do(cmd.Context(), c, api.TestMCP, args[0], api.None{})
		if err != nil {
			return err
		}
		return m.decide(cmd.Context(), c, offer, *yes)
	}
	return cmd
}

// decide shows an offer, asks about it, and accepts it.
func (m mcpCommands) decide(ctx context.Context, c *client.Client, offer api.MCPOffer, yes bool) error {
	if !m.app.JSON {
		if err := m.show(offer); err != nil || offer.Accepted {
			return err
		}
	}
	if err := m.app.Confirm(ctx, yes, "hob then uses these tools of "+offer.Server, "accept them?"); err != nil {
		return err
	}
	return m.accept(ctx, c, offer.Server, offer.Hash)
}

func (m mcpCommands) accept(ctx context.Context, c *client.Client, name, hash string) error {
	s, err := client.Do(ctx, c, api.AcceptMCP, name, api.MCPHash{Hash: hash})
	if err != nil {
		return err
	}
	if len(s.Tools) > 0 { // hob makes its set of tools anew; the next command may need it
		setup.Loaded(ctx, func(ctx context.Context) *api.ToolSpec {
			spec, err := client.Show(ctx, c, api.ShowTool, s.Tools[0].Name)
			if err != nil {
				return nil
			}
			return &spec
		})
	}
	return m.app.Done(s, fmt.Sprintf("%s is in use: %s (hash %s)", s.Name, console.Plural(len(s.Tools), "tool"), s.Hash[:12]))
}

// show prints what a server offers. Its own words are in quotes.
func (m mcpCommands) show(o api.MCPOffer) error {
	if m.app.JSON {
		return m.app.Document(o)
	}
	lines := []string{fmt.Sprintf("%s: %s (%s)", o.Server, o.Reach, o.Goes)}
	lines = append(lines, fmt.Sprintf("calls itself %s, speaks %s, answered in %d ms, hash %s", console.OrDash(o.Name), o.Protocol, o.MS, o.Hash[:12]))
	if o.Skipped != "" {
		lines = append(lines, o.Skipped)
	}
	for _, may := range o.Allows {
		lines = append(lines, "your config: "+may)
	}
	switch {
	case o.Accepted:
		lines = append(lines, "you have accepted all of it: "+console.Plural(len(o.Tools), "tool"))
	case len(o.Changes) == 0:
		lines = append(lines, "it offers no tools")
	}
	changes := o.Changes
	if cli.IsTerminal(m.app.Out) {
		changes = inShort(changes, o.Server)
	}
	return m.app.Text(console.Clean(strings.Join(append(lines, changes...), "\n")) + "\n")
}

// inShort shows new tools to a person: the first sentence of what the server says of each, without schemas. All other changes stay as they are.
func inShort(lines []string, server string) (short []string) {
	cut := false
	for _, line := range lines {
		if strings.HasPrefix(line, "    takes ") || strings.HasPrefix(line, "    returns ") {
			cut = true
			continue
		}
		if first, rest, more := strings.Cut(line, ". "); more && strings.HasPrefix(line, "- ") && strings.Contains(first, ": “") && rest != "" {
			line, cut = first+". …”", true
		}
		short = append(short, line)
	}
	if cut {
		short = append(short, "all that the model reads of them: hob --json mcp test "+server)
	}
	return short
}

// toolsCommand makes hob mcp tools.
func (m mcpCommands) toolsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "tools [SERVER]", Short: "List the tools that you have accepted", Args: cli.AtMost(1, "one SERVER"), ValidArgsFunction: cli.Complete(m.app, api.MCPServers),
		Long:    "List the tools that you have accepted, under the names by which hob calls them: a name that models cannot use is shown with the server's. With SERVER, --json has the schemas of their parameters and results too.",
		Example: "  hob mcp tools\n  hob --json mcp tools notes",
		RunE: func(cmd *cobra.Command, args []string) error {
			var list []api.MCPServer
			var err error
			if len(args) == 0 {
				list, err = client.List(cmd.Context(), m.app, api.MCPServers, client.Filter{})
			} else {
				list = make([]api.MCPServer, 1)
				list[0], err = client.Show(cmd.Context(), m.app, api.ShowMCP, args[0])
			}
			if err != nil {
				return err
			}
			return m.showTools(list)
		},
	}
}

func (m mcpCommands) showTools(list []api.MCPServer) error {
	all := []api.MCPTool{}
	var rows [][]string
	for _, s := range list {
		for _, t := range s.Tools {
			kind := "asks after foreign text"
			switch {
			case t.Tainted:
				kind = "never asks"
			case t.ReadOnly:
				kind = "reads"
			}
			says := console.CellText(t.Description)
			if t.Original != "" { // look-alike characters as code points
				says = "(it calls it " + strconv.QuoteToASCII(t.Original) + ") " + says
			}
			all, rows = append(all, t), append(rows, []string{t.Name, kind, s.State, says})
		}
	}
	switch {
	case m.app.JSON:
		return m.app.Document(all)
	case len(all) == 0:
		m.app.Say("you have accepted no tools; see: hob mcp list")
		return nil
	}
	return m.app.Table([]string{"TOOL", "PERMISSION", "SERVER IS", "WHAT THE SERVER SAYS OF IT"}, rows)
}

// removeCommand makes hob mcp rm.
func (m mcpCommands) removeCommand() *cobra.Command {
	return cli.Remove(m.app, cli.Removal[api.MCPServer]{
		Use: "rm SERVER", Short: "Take a server out of config.toml, and end its use", Example: "  hob mcp rm notes\n  hob mcp rm --yes notes", Args: cli.Exactly(1, "one SERVER"), Row: api.ShowMCP,
		Loss: func(s api.MCPServer) string {
			return fmt.Sprintf("this removes the MCP server %s (%s) with %s", s.Name, s.Reach, console.Plural(len(s.Tools), "accepted tool"))
		},
		Question: "remove it?",
		Remove: func(ctx context.Context, s api.MCPServer) error {
			return m.remove(ctx, s.Name)
		},
	})
}

// remove lets the daemon forget a server, as long as it knows the address of its tokens, and then takes the section out of config.toml with the
// files of secrets that add has written.
func (m mcpCommands) remove(ctx context.Context, name string) error {
	path, err := m.file.file()
	if err != nil {
		return err
	}
	before, err := config.FileContent(path)
	if err != nil {
		return err
	}
	section := []string{"mcp", "servers", name}
	next, err := document.Remove(before, section)
	if err != nil {
		return fmt.Errorf("remove [mcp.servers.%s]: %w (change it with: hob config edit)", name, err)
	}
	c, err := m.app.Client(ctx)
	if err != nil {
		return err
	}
	gone, err := client.Do(ctx, c, api.RemoveMCP, name, api.None{})
	if err != nil {
		return err
	}
	if err := setup.Save(path, before, next); err != nil {
		return err
	}
	if err := m.removeSecrets(before, name); err != nil {
		return err
	}
	setup.Loaded(ctx, func(ctx context.Context) *error { // so that the next command finds it gone
		if _, err := client.Show(ctx, c, api.ShowMCP, name); err != nil {
			return &err
		}
		return nil
	})
	text := "MCP server " + name + " is removed"
	if gone.Problem != "" {
		text += "; " + gone.Problem
	}
	return m.app.Done(gone, text)
}

// removeSecrets removes the files of secrets that hob mcp add has written for a server, as the config before names them.
func (m mcpCommands) removeSecrets(before []byte, name string) error {
	home, _, err := m.app.HomeDir()
	if err != nil {
		return err
	}
	tree, err := document.Parse(before)
	if err != nil {
		return err
	}
	for _, key := range []string{"mcp", "servers", name} {
		tree, _ = tree[key].(map[string]any)
	}
	for _, key := range []string{"env", "headers"} {
		values, _ := tree[key].(map[string]any)
		for variable, value := range values {
			text, _ := value.(string)
			number, own := strings.CutPrefix(text, "file:"+setup.SecretsFolder+"/"+secretFile(name, variable))
			if number != "" && !strings.HasPrefix(number, "-") || !own || strings.Trim(number, "-0123456789") != "" { // keepSecret numbers files of the same name
				continue
			}
			if err := os.Remove(filepath.Join(home, strings.TrimPrefix(text, "file:"))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove the secret %s: %w", variable, err)
			}
		}
	}
	return nil
}
