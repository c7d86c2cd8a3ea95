package main

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
)

// trustCommand makes hob trust. The daemon marks a file when a turn that has read foreign text writes it: what
// the file says may then come from a stranger, and reading it taints later turns. Accepting the file removes
// the mark.
func trustCommand(a *cli.App) *cobra.Command {
	return cli.Family("trust", "See which files count as foreign text, and say that you trust one",
		cli.List(a, cli.Listing[api.Mark]{
			Route: api.Marks, Short: "List the files that were written after foreign text had been read", None: "no file counts as foreign",
			Head: []string{"PATH", "HASH", "SINCE", "TURN", "WHY"},
			Row: func(m api.Mark, clock cli.Clock) []string {
				return []string{m.Path, cmp.Or(m.Hash[:min(12, len(m.Hash))], "-"), clock(m.At), cli.ID(m.Turn), m.Why}
			},
		}),
		&cobra.Command{
			Use: "accept PATH [HASH]", Short: "Say that you trust the content of a file or a folder", ValidArgsFunction: cli.Complete(a, api.Marks),
			Long: "Say that you trust the content of a file or a folder: the content that hob trust list showed last, or that was marked if there was no list yet. If\n" +
				"the content has changed since then, the command refuses. With HASH you name the content that you trust; the 12 digits of the list are enough.",
			Args:    cobra.MatchAll(cli.AtLeast(1, "a PATH"), cli.AtMost(2, "a PATH and a HASH")),
			Example: "  hob trust accept ~/.hob/workspace/AGENTS.md",
			RunE: func(cmd *cobra.Command, args []string) error {
				path, err := filepath.Abs(args[0])
				if err != nil {
					return err
				}
				file := api.MarkedFile{Path: path}
				// The hash says which content was looked at. Without it the daemon compares with what the list has shown.
				if len(args) > 1 {
					file.Hash = args[1]
				}
				return cli.Do(cmd.Context(), a, api.AcceptMark, "", file, path+" counts as yours")
			},
		},
	)
}
