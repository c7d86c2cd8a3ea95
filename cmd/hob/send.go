package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
)

// sendCommand makes hob send. The text becomes a row of the outbox at once, and is delivered like any other
// message; no model sees it.
func sendCommand(a *cli.App) *cobra.Command {
	var attach []string
	cmd := &cobra.Command{
		Use: "send TO [TEXT]", Short: "Send a text or files straight to a channel, without the model",
		Long:    "Send a text or files straight to a channel, without the model. Files follow the text; a channel that carries none, or not one of that size, names it instead.",
		Example: "  hob send owner \"the backup is done\"\n  hob send owner --attach report.pdf \"here it is\"", ValidArgsFunction: cli.Words("owner"),
		// With a file the text may be left out.
		Args: func(cmd *cobra.Command, args []string) error {
			if len(attach) > 0 {
				return cli.AtLeast(1, "an address (channel:address or owner)")(cmd, args)
			}
			return cli.AtLeast(2, "an address (channel:address or owner) and a TEXT")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			// The files are read before the daemon is asked, so that a missing one sends nothing.
			files, err := client.Attach(attach...)
			if err != nil {
				return err
			}
			sent, err := client.Do(cmd.Context(), a, api.SendText, "", api.Outgoing{To: args[0], Text: cli.Joined(args[1:]), Attachments: files})
			if err != nil {
				return err
			}
			// Whether it arrived is seen later, in the row of the outbox.
			return a.Done(sent, fmt.Sprintf("queued as message %d for %s", sent.Outbox, args[0]))
		},
	}
	cmd.Flags().StringArrayVar(&attach, "attach", nil, "send a `FILE` along; may be given up to 10 times")
	return cmd
}
