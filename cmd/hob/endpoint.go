package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// endpointCommand makes hob endpoint. The daemon makes the tokens and keeps their hashes.
func endpointCommand(a *cli.App) *cobra.Command {
	return cli.Family("endpoint", "Let other programs talk to hob as to a model",
		endpointAddCommand(a),
		cli.List(a, cli.Listing[api.Endpoint]{
			Route: api.Endpoints, Whole: true, Short: "List the programs with a token", None: "no program has a token yet; make one with: hob endpoint add NAME",
			Head: []string{"ENDPOINT", "TRUST", "MADE", "LAST USED"},
			Row: func(e api.Endpoint, clock cli.Clock) []string {
				used := "never"
				if !e.Used.IsZero() {
					used = clock(e.Used)
				}
				return []string{e.Name, string(e.Trust), clock(e.Created), console.OrDash(used)}
			},
		}),
		endpointRemoveCommand(a),
	)
}

// endpointAddCommand makes hob endpoint add.
func endpointAddCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "add NAME", Short: "Make a token for a program; it is shown only once", Args: cli.Exactly(1, "one NAME"), ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Make a token for a program that speaks OpenAI's protocol or MCP. It is good for /v1/chat/completions, /v1/models and /mcp of hob's port and for nothing else.\n\n" +
			"What the program writes counts as a known person's text, not as yours, unless [endpoints.NAME] in config.toml says trust = \"owner\".",
		Example: "  hob endpoint add laptop\n  hob --json endpoint add editor",
		RunE: func(cmd *cobra.Command, args []string) error {
			made, err := client.Do(cmd.Context(), a, api.AddEndpoint, args[0], api.None{})
			if err != nil {
				return err
			}
			if a.Quiet && !a.JSON { // it is shown once: no flag may lose it
				return a.Text(made.Token + "\n")
			}
			return a.Done(made, fmt.Sprintf("endpoint %s: base URL %s, model hob, trust %s\ntoken: %s\ngive it to the program now: it is not shown again", made.Name, made.URL, made.Trust, made.Token))
		},
	}
}

// endpointRemoveCommand asks first, because a token that is taken away cannot be given back.
func endpointRemoveCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm NAME", Short: "Take the token of a program away", Args: cli.Exactly(1, "one NAME"), ValidArgsFunction: cli.Complete(a, api.Endpoints),
		Example: "  hob endpoint rm laptop\n  hob endpoint rm --yes laptop",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.Confirm(cmd.Context(), *yes, "this takes the token of "+args[0]+" away, and ends what hob does for it", "take it away?"); err != nil {
			return err
		}
		return cli.Do(cmd.Context(), a, api.RemoveEndpoint, args[0], api.None{}, "endpoint "+args[0]+" is removed: its token is no longer good")
	}
	return cmd
}
