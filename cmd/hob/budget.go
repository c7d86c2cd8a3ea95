package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/control/console"
)

type budgetRow struct {
	Day      string `json:"day"`
	Currency string `json:"currency"`
	PerDay   int64  `json:"per_day_micros"`
	Used     int64  `json:"used_micros"`
	Reserved int64  `json:"reserved_micros"`
	Tokens   int64  `json:"tokens_per_day"`
	TokUsed  int64  `json:"tokens_used"`
	TokHeld  int64  `json:"tokens_reserved"`
}

// today is the budget in one line.
func (b budgetRow) today() string {
	unit := ""
	if b.Currency != "" {
		unit = " " + b.Currency
	}
	return fmt.Sprintf("%s%s of %s · %s of %s tokens", console.Money(b.Used+b.Reserved), unit, capped(b.PerDay, console.Money),
		console.Thousands(b.TokUsed+b.TokHeld), capped(b.Tokens, console.Thousands))
}

// capped shows a limit; 0 is none.
func capped(n int64, show func(int64) string) string {
	if n == 0 {
		return "no limit"
	}
	return show(n)
}

func budgetCommand(a *cli.App) *cobra.Command {
	return cli.Family("budget", "What thinking may cost per day",
		&cobra.Command{
			Use: "show", Short: "Show what is spent and what may be", Args: cli.None,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return a.Show(cmd.Context(), "budget", "", func(raw json.RawMessage) error {
					var b budgetRow
					if err := json.Unmarshal(raw, &b); err != nil {
						return fmt.Errorf("the budget is not understood: %w", err)
					}
					a.Say("%s: %s", b.Day, b.today())
					return nil
				})
			},
		},
		budgetSetCommand(a),
	)
}

func budgetSetCommand(a *cli.App) *cobra.Command {
	var perDay string
	var tokens int64
	cmd := &cobra.Command{
		Use: "set", Short: "Change what may be spent per day", Args: cli.None, Example: "  hob budget set --per-day 5.00",
		RunE: func(cmd *cobra.Command, _ []string) error {
			args := map[string]string{}
			if cmd.Flags().Changed("per-day") {
				if v, err := strconv.ParseFloat(perDay, 64); err != nil || !(v >= 0 && v < 1e9) {
					return cli.Usage("for example --per-day 5.00", "--per-day %q is not an amount", perDay)
				}
				args["per_day"] = perDay
			}
			if cmd.Flags().Changed("tokens-per-day") {
				if tokens < 0 {
					return cli.Usage("", "--tokens-per-day %d is less than nothing", tokens)
				}
				args["tokens_per_day"] = strconv.FormatInt(tokens, 10)
			}
			if len(args) == 0 {
				return cli.Usage("give --per-day, --tokens-per-day or both", "there is nothing to set")
			}
			return a.Act(cmd.Context(), "budget", "", "set", args, "the budget is changed")
		},
	}
	cmd.Flags().StringVar(&perDay, "per-day", "", "money per day, in the provider's currency")
	cmd.Flags().Int64Var(&tokens, "tokens-per-day", 0, "tokens per day, for models whose price is not known")
	return cmd
}
