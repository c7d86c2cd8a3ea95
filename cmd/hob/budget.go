package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/text"
)

// budgetLine is the budget in one line. A model request reserves its highest possible cost before it starts,
// and the real cost replaces the reservation when it ends. What is reserved therefore counts as spent here.
func budgetLine(b api.Budget) string {
	money, tokens := spentText(b.Used.Micros(), b.ReservedMicros, b.UsedTokens), console.Thousands(b.UsedTokens+b.ReservedTokens)+" tokens"
	return money + " " + capText(b.PerDayMicros, text.Money) + moneyPercent(b) + " · " +
		// Models without a known price are limited by tokens instead of money.
		tokens + " " + capText(b.PerDayTokens, text.Thousands) + percentText(b.UsedTokens+b.ReservedTokens, b.PerDayTokens)
}

// moneyPercent is how much of the cap is used and reserved, in percent; nothing if that is unknown.
func moneyPercent(b api.Budget) string {
	if unpriced(b.Used.Micros(), b.ReservedMicros, b.UsedTokens) {
		return ""
	}
	return percentText(b.Used.Micros()+b.ReservedMicros, b.PerDayMicros)
}

// unpriced reports whether only tokens without a known price were used.
func unpriced(used, reserved, tokens int64) bool { return used+reserved == 0 && tokens > 0 }

// spentText is the money used and reserved. It is unknown if only tokens without a known price were used.
func spentText(used, reserved, tokens int64) string {
	if unpriced(used, reserved, tokens) {
		return "unknown"
	}
	return console.Money(used + reserved)
}

// capText shows a cap as [budget] means it: below 0 there is none, and 0 spends nothing.
func capText(most int64, show func(int64) string) string {
	switch {
	case most < 0:
		return "without a cap"
	case most == 0:
		return "where nothing may be spent"
	}
	return "of " + show(most)
}

// budgetPage is the budget with what each source spent.
func budgetPage(b api.Budget, p layout) string {
	var out strings.Builder
	fmt.Fprintln(&out, b.Day)
	row := func(name, used, reserved, most, percent string) {
		fmt.Fprintln(&out, p.line(fmt.Sprintf("%-7s %s used · %s reserved · %s%s", name, used, reserved, most, percent)))
	}
	row("money", spentText(b.Used.Micros(), 0, b.UsedTokens), console.Money(b.ReservedMicros), capText(b.PerDayMicros, text.Money), moneyPercent(b))
	row("tokens", console.Thousands(b.UsedTokens), console.Thousands(b.ReservedTokens), capText(b.PerDayTokens, text.Thousands), percentText(b.UsedTokens+b.ReservedTokens, b.PerDayTokens))
	fmt.Fprintln(&out, p.line("tokens count only if the price is unknown, never for local lmstudio and ollama"))
	// Stored caps hide those of the config, which a person who edits the config would otherwise wonder about.
	if b.Set {
		fmt.Fprintln(&out, p.line("these caps were set by hob budget set; back to those of the config: hob budget set --config"))
	}
	if len(b.Sources) == 0 {
		return out.String()
	}
	var rows [][]string
	// A source is "jobs", the key of a session, or "model test".
	for _, s := range b.Sources {
		rows = append(rows, []string{spentText(s.Used.Micros(), 0, s.UsedTokens), console.Money(s.ReservedMicros), console.Thousands(s.UsedTokens), console.Thousands(s.ReservedTokens), s.Source})
	}
	return out.String() + "\n" + console.Table([]string{"MONEY", "RESERVED", "TOKENS", "RESERVED", "FOR"}, rows, p.width)
}

// budgetCommand makes hob budget.
// The budget is a cap per day on what model requests may cost, in money and in tokens.
func budgetCommand(a *cli.App) *cobra.Command {
	return cli.Family("budget", "See and set what thinking may cost per day",
		&cobra.Command{
			Use: "show", Short: "Show what is spent today, for whom, and what may be", Args: cli.None, Example: "  hob budget show",
			RunE: func(cmd *cobra.Command, _ []string) error {
				return cli.ShowRow(cmd.Context(), a, api.ShowBudget, "", func(b api.Budget, _ json.RawMessage, _ cli.Clock) error {
					return a.Text(budgetPage(b, layout{width: cli.Columns(a.Out)}))
				})
			},
		},
		budgetSetCommand(a),
	)
}

// budgetSetCommand makes hob budget set. The new caps are stored in the database and win over those of the
// config until --config removes them.
func budgetSetCommand(a *cli.App) *cobra.Command {
	var perDay string
	var tokens int64
	var config bool
	cmd := &cobra.Command{
		Use: "set", Short: "Change what may be spent per day", Args: cli.None, Example: "  hob budget set --per-day 5.00",
		Long: "Change what may be spent per day. 0 spends nothing, -1 takes the cap away.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var args api.BudgetChange
			if cmd.Flags().Changed("per-day") {
				// This only checks the amount; the daemon gets the text and converts it to millionths.
				if v, err := strconv.ParseFloat(perDay, 64); err != nil || !(v >= 0 && v < 1e9 || v == -1) {
					return cli.Usage("for example --per-day 5.00; -1 takes the cap away", "--per-day %q is not an amount", perDay)
				}
				// The fields are pointers: nil leaves a cap as it is.
				args.PerDay = &perDay
			}
			if cmd.Flags().Changed("tokens-per-day") {
				if tokens < -1 {
					return cli.Usage("-1 takes the cap away", "--tokens-per-day %d is less than nothing", tokens)
				}
				text := strconv.FormatInt(tokens, 10)
				args.TokensPerDay = &text
			}
			// Going back to the config and setting a cap contradict each other.
			if config && args != (api.BudgetChange{}) {
				return cli.Usage("", "--config excludes --per-day and --tokens-per-day")
			}
			if config {
				args.Config = "true"
			}
			if args == (api.BudgetChange{}) {
				return cli.Usage("give --per-day, --tokens-per-day or both, or --config", "there is nothing to set")
			}
			return setBudget(cmd.Context(), a, args)
		},
	}
	cmd.Flags().StringVar(&perDay, "per-day", "", "money per day, in the provider's currency; 0: spend nothing, -1: no cap")
	cmd.Flags().Int64Var(&tokens, "tokens-per-day", 0, "tokens per day, for models whose price is not known; 0: spend nothing, -1: no cap")
	cmd.Flags().BoolVar(&config, "config", false, "go back to the caps of the config")
	return cmd
}

// setBudget changes the caps and shows what holds now.
func setBudget(ctx context.Context, a *cli.App, args api.BudgetChange) error {
	b, err := client.Do(ctx, a, api.SetBudget, "", args)
	if err != nil {
		return err
	}
	return a.Done(b, "from now on: "+budgetLine(b))
}
