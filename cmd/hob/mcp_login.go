package main

import (
	"context"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// mcpLoginCommand makes hob mcp login. The daemon runs the sign-in (OAuth with PKCE), and keeps the tokens.
func mcpLoginCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "login SERVER", Short: "Sign in to a server on the network", Args: cli.Exactly(1, "one SERVER"), ValidArgsFunction: cli.Complete(a, api.MCPServers),
		Long: "Sign in to a server on the network. The command prints an address; open it in a browser. If the browser runs on this machine, nothing else is\n" +
			"needed. Otherwise copy the address that the browser shows at the end, and paste it here. This also answers an open question in chat about the same\nsign-in.",
		Example: "  hob mcp login calendar",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			s, err := client.Do(cmd.Context(), c, api.BeginMCPLogin, args[0], api.None{})
			if err != nil {
				return err
			}
			server, err := login[api.MCPServer]{
				await: func(ctx context.Context) (api.MCPServer, error) {
					return client.Do(ctx, c, api.AwaitMCPLogin, args[0], api.None{})
				},
				finish: func(ctx context.Context, in api.SignInAddress) (api.MCPServer, error) {
					return client.Do(ctx, c, api.FinishMCPLogin, args[0], in)
				},
				cancel: func(ctx context.Context) (api.Done, error) {
					return client.Do(ctx, c, api.CancelMCPLogin, args[0], api.None{})
				},
			}.run(cmd.Context(), a, s)
			if err != nil {
				return err
			}
			said := "signed in to " + server.Name
			if server.Problem != "" {
				said += "; " + console.OneLine(server.Problem)
			}
			return a.Done(server, said)
		},
	}
}
