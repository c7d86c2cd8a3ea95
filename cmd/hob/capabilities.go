package main

import (
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
)

// capabilitiesCommand makes hob capabilities.
func capabilitiesCommand(a *cli.App) *cobra.Command {
	show := func(text api.Text) error {
		if a.JSON {
			return a.Document(text)
		}
		return a.Text(strings.TrimRight(text.Text, "\n") + "\n")
	}
	cmd := &cobra.Command{
		Use: "capabilities", Short: "Show the summary of what hob can do that its prompt holds", Args: cli.None, Example: "  hob capabilities\n  hob capabilities refresh",
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := client.Show(cmd.Context(), a, api.ShowCapabilities, "")
			if err != nil {
				return err
			}
			return show(text)
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "refresh", Short: "Write CAPABILITIES.md in the workspace again", Args: cli.None, Example: "  hob capabilities refresh",
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := client.Do(cmd.Context(), a, api.RefreshCapabilities, "", api.None{})
			if err != nil {
				return err
			}
			return show(text)
		},
	})
	return cmd
}
