package main

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
)

type markRow struct {
	Path string    `json:"path"`
	Why  string    `json:"why"`
	Turn int64     `json:"turn"`
	At   time.Time `json:"at"`
}

func trustCommand(a *cli.App) *cobra.Command {
	return cli.Family("trust", "See which files count as foreign text, and say that you trust one",
		cli.List(a, cli.Listing[markRow]{
			Resource: "marks", Short: "List the files that were written after foreign text had been read", None: "no file counts as foreign",
			Head: []string{"PATH", "SINCE", "TURN", "WHY"},
			Row: func(m markRow, clock cli.Clock) []string {
				return []string{m.Path, clock(m.At), cli.ID(m.Turn), m.Why}
			},
		}),
		&cobra.Command{
			Use: "accept PATH", Short: "Say that you trust what a file, or a folder, holds", Args: cli.Exactly(1, "a PATH"), ValidArgsFunction: cli.Complete(a, "marks"),
			Example: "  hob trust accept ~/.hob/workspace/AGENTS.md",
			RunE: func(cmd *cobra.Command, args []string) error {
				path, err := filepath.Abs(args[0])
				if err != nil {
					return err
				}
				return a.Act(cmd.Context(), "marks", "", "accept", map[string]string{"path": path}, path+" counts as yours")
			},
		},
	)
}
