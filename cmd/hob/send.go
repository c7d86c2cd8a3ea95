package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
)

func sendCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "send TO TEXT", Short: "Send a text straight to a channel, without the model", Args: cli.AtLeast(2, "an address (channel:address or owner) and a TEXT"),
		Example: `  hob send owner "the backup is done"`, ValidArgsFunction: cli.Words("owner"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.Send(cmd.Context(), args[0], cli.Joined(args[1:]), &raw); err != nil {
				return err
			}
			var made struct {
				Outbox int64 `json:"outbox"`
			}
			if err := json.Unmarshal(raw, &made); err != nil {
				return fmt.Errorf("the answer is not understood: %w", err)
			}
			return a.Done(raw, fmt.Sprintf("queued as message %d for %s", made.Outbox, args[0]))
		},
	}
}
