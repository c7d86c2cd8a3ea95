package cli

import (
	"cmp"
	"context"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// YesFlag adds --yes to a command that asks before it does what cannot be undone.
func YesFlag(cmd *cobra.Command) *bool { return cmd.Flags().Bool("yes", false, "do not ask") }

// Removal describes a command that takes a row away for good.
type Removal[R any] struct {
	Use, Short, Example string
	Args                cobra.PositionalArgs
	Row                 api.Show[R]
	Loss                func(R) string // what will be gone, for the question
	Question            string         // default: "delete it?"
	Remove              func(ctx context.Context, row R) error
}

// Remove makes a command that reads a row, says what its removal loses, asks, and then removes it. --yes leaves the question out.
func Remove[R any](a *App, r Removal[R]) *cobra.Command {
	cmd := &cobra.Command{Use: r.Use, Short: r.Short, Example: r.Example, Args: r.Args, ValidArgsFunction: complete(a, r.Row.Resource())}
	yes := YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		row, err := client.Show(cmd.Context(), a, r.Row, args[0])
		if err != nil {
			return err
		}
		if err := a.Confirm(cmd.Context(), *yes, r.Loss(row), cmp.Or(r.Question, "delete it?")); err != nil {
			return err
		}
		return r.Remove(cmd.Context(), row)
	}
	return cmd
}

// Confirm prints what will be lost and asks. It returns nil after a yes, or if --yes was given. Without a terminal, a missing --yes is a usage
// error.
func (a *App) Confirm(ctx context.Context, yes bool, loss, question string) error {
	switch {
	case yes:
		return nil
	// Nobody can answer, and a script must not hang.
	case a.JSON || !IsTerminal(a.In) || !IsTerminal(a.Err):
		return Usage("add --yes", "%s, and nobody is here to be asked", strings.ReplaceAll(loss, "\n", "; "))
	}
	a.Print(a.Err, console.Clean(loss))
	ok, err := a.askYesNo(ctx, question)
	if err != nil {
		a.Print(a.Err, "") // end the line of the prompt
	}
	if ok {
		return nil
	}
	// An interrupt at the question counts as no.
	return &Problem{Code: ExitFailed, Text: "nothing was changed"}
}

// askYesNo asks a question; every answer but yes is no.
func (a *App) askYesNo(ctx context.Context, question string) (bool, error) {
	// A killed conversation may have left the terminal in raw mode, in which Enter does not end a line.
	if err := a.RestoreTerminal(); err != nil {
		return false, err
	}
	line, err := console.NewPrompter(a.In, a.Err, slog.New(slog.DiscardHandler)).Ask(ctx, question+" [y/N] ")
	word := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (word == "y" || word == "yes"), err
}
