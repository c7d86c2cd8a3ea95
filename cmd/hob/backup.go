package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/control/console"
)

func backupCommand(a *cli.App) *cobra.Command {
	return cli.Family("backup", "Copies of hob's database", &cobra.Command{
		Use: "create [PATH]", Short: "Write a copy (default: into hob's own backups folder)", Args: cli.AtMost(1, "one PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]string{}
			if len(args) == 1 {
				path, err := filepath.Abs(args[0])
				if err != nil {
					return fmt.Errorf("find the folder: %w", err)
				}
				in["path"] = path
			}
			return createBackup(a, cmd, in)
		},
	})
}

func createBackup(a *cli.App, cmd *cobra.Command, in map[string]string) error {
	c, err := a.Client(cmd.Context())
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.Act(cmd.Context(), "backup", "", "create", in, &raw); err != nil {
		return err
	}
	var made struct {
		Path  string `json:"path"`
		Bytes int64  `json:"bytes"`
		MS    int64  `json:"ms"`
	}
	if err := json.Unmarshal(raw, &made); err != nil {
		return fmt.Errorf("the answer is not understood: %w", err)
	}
	return a.Done(raw, fmt.Sprintf("wrote %s (%s in %s)", made.Path, console.Size(made.Bytes), console.Span(made.MS)))
}
