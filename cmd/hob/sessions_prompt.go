package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/console"
)

// withPrompt adds --prompt to hob sessions show: it prints what the requests of the session begin with.
func withPrompt(a *cli.App, show *cobra.Command) *cobra.Command {
	prompt := show.Flags().Bool("prompt", false, "print the system text and the tools that its requests begin with, and the tokens of each part")
	show.Example = "  hob sessions show main\n  hob sessions show main --prompt"
	show.RunE = func(cmd *cobra.Command, args []string) error {
		if !*prompt {
			return cli.ShowRow(cmd.Context(), a, api.ShowSession, args[0], func(s api.SessionDetail, _ json.RawMessage, _ cli.Clock) error {
				return drawSession(cmd.Context(), a, s)
			})
		}
		return showPrompt(cmd.Context(), a, args[0])
	}
	return show
}

// showPrompt prints the system text and the tools between two rules, so that they can be told from the rest, and the sizes below them.
func showPrompt(ctx context.Context, a *cli.App, session string) error {
	return cli.ShowRow(ctx, a, api.ShowPrompt, session, func(p api.SessionPrompt, _ json.RawMessage, _ cli.Clock) error {
		var b strings.Builder
		rule := strings.Repeat("─", 40)
		fmt.Fprintf(&b, "%s\n%s\n%s\n", rule, console.Clean(p.System), rule)
		for _, t := range p.Tools {
			line, err := json.Marshal(t)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s\n", console.Clean(string(line)))
		}
		fmt.Fprintln(&b, rule)
		rows := make([][]string, 0, len(p.Parts)+1)
		bytes := 0
		for _, part := range p.Parts {
			bytes += part.Bytes
			rows = append(rows, []string{part.Name, console.Thousands(part.Bytes), console.Thousands(part.Tokens)})
		}
		rows = append(rows, []string{"together", console.Thousands(bytes), console.Thousands(p.Tokens)})
		b.WriteString(console.Table([]string{"PART", "BYTES", "TOKENS"}, rows, cli.Columns(a.Out)))
		fmt.Fprintf(&b, "Tokens are estimated, four bytes each. %s\n", keptSentence(p))
		for _, text := range p.Problems {
			fmt.Fprintf(&b, "careful: %s\n", console.OneLine(text))
		}
		return a.Text(b.String())
	})
}

// keptSentence says how long the prompt stays as it is.
func keptSentence(p api.SessionPrompt) string {
	if !p.Stored {
		return "The next request takes this, and the session then keeps it."
	}
	return "The session keeps this until /new, /clean, /model, a change of the config or a compaction."
}
