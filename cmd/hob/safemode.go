package main

import (
	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
)

// safeModeCommand makes hob safe-mode. After repeated crashes without a single culprit, hob starts in safe mode: it
// answers as usual, but runs no jobs, gates and watches until the owner has looked and leaves it.
func safeModeCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "safe-mode", Short: "Show whether hob is in safe mode", Args: cli.NoSuch, Example: "  hob safe-mode\n  hob safe-mode off",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := client.Show(cmd.Context(), a, api.ShowStatus, "")
			if err != nil {
				return err
			}
			// Of the whole status only this part is printed.
			if a.JSON {
				return a.Document(map[string]any{"on": s.SafeMode.On, "why": s.SafeMode.Why})
			}
			if !s.SafeMode.On {
				a.Say("safe mode is off")
				return nil
			}
			a.Say("safe mode is on: %s\nleave it with: hob safe-mode off", s.SafeMode.Why)
			return nil
		},
	}
	// Leaving is always the owner's decision: hob does not leave safe mode by itself.
	cmd.AddCommand(&cobra.Command{
		Use: "off", Short: "Leave safe mode", Args: cli.None, Example: "  hob safe-mode off",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Do(cmd.Context(), a, api.LeaveSafeMode, "", api.None{}, "safe mode is off")
		},
	})
	return cmd
}
