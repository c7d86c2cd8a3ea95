package main

import (
	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/mcpserver"
)

// mcpServeCommand makes hob mcp serve. It speaks to the daemon, which lists the tools, judges the calls and runs them.
func mcpServeCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Offer hob's tools to a program that starts this command", Args: cli.None,
		Long: "Offer hob's tools over standard input and output, to a program that starts this command: an editor, a desktop app, another agent.\n\n" +
			"The program's model chooses the calls, and it may have read anything. So they count as yours after you have read foreign text: they may read; what writes, " +
			"runs commands or sends asks you first, and the program gets the number of the question.",
		Example: "  hob mcp serve\n  npx @modelcontextprotocol/inspector hob mcp serve",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			to, base, ok := c.Socket()
			if !ok {
				return &cli.Problem{Text: "hob has no socket here", Hint: "let the program use " + base + "/mcp with a token: hob endpoint add NAME"}
			}
			return mcpserver.Bridge(cmd.Context(), version().Version, a.In, a.Out, to, base+"/mcp")
		},
	}
}

// mcpSystemInfoCommand makes hob mcp system-info.
func mcpSystemInfoCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "system-info", Short: "Serve three tools that describe this machine", Args: cli.None,
		Long:    "Serve the tools system_info, disk_info and network_info over standard input and output. It needs no running hob, changes nothing, and uses no network.",
		Example: "  hob mcp system-info",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return mcpserver.SystemInfo(cmd.Context(), version().Version, a.In, a.Out)
		},
	}
}
