package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// modelTestCommand makes hob model test.
func modelTestCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "test [NAME]", Short: "Put a model to a real trial: speed, tools, images", Args: cli.AtMost(1, "one NAME"),
		Long: "Put a model to a real trial, of four requests at most: a sentence, a tool's call, the use of its result, a small picture. It is paid for\n" +
			"like everything else. The exit code is 1 if the model cannot do chores: it must call tools and use their results. NAME is that of a [models.NAME], or backend/model; without it, the model that is asked first is tried.",
		Example: "  hob model test\n  hob model test ollama/qwen3:8b", ValidArgsFunction: completeModel(a),
		RunE: func(cmd *cobra.Command, args []string) error { return testModel(cmd.Context(), a, cli.Joined(args)) },
	}
	return cmd
}

// testModel asks the daemon to try a model, and prints the result. The exit code is 1 if the model cannot do chores.
func testModel(ctx context.Context, a *cli.App, name string) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if name == "" {
		// The API's name for the model that is asked first.
		name = "first"
	}
	if cli.IsTerminal(a.Err) {
		a.Note("asking the model, which may take a while …")
	}
	// The daemon makes the requests, with the keys and the budget that it has.
	t, err := client.Do(ctx, c, api.TestModel, name, api.None{})
	if err != nil {
		return err
	}
	able, verdict := setup.Verdict(t)
	if a.JSON {
		err = a.Document(t)
	} else {
		err = a.Text(modelTestText(t) + console.OneLine(verdict) + "\n")
	}
	if err == nil && !able {
		return &cli.Problem{Code: cli.ExitFailed} // all has been said
	}
	return err
}

// modelTestText is the result as a page: what works, and what the test has used.
func modelTestText(t api.ModelTest) string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-8s %s\n", name, console.OneLine(text)) }
	fmt.Fprintf(&b, "%s\n", console.OneLine(t.Provider+"/"+t.Model))
	line("text", textTestResult(t))
	line("tools", checkText(t.Call, "it calls tools", "it does not call tools"))
	line("results", checkText(t.Result, "it uses their results", "it does not use their results"))
	line("images", checkText(t.Vision, "it sees them", "it does not see them"))
	// A model without a known price has tokens but no cost.
	used, cost := fmt.Sprintf("%s in, %s out", console.Thousands(t.Usage.Input), console.Plural(t.Usage.Output, "token")), "cost unknown"
	if t.Usage.Priced {
		cost = fmt.Sprintf("%.6f in the provider's currency", float64(t.Usage.Cost)/1e6)
	}
	line("used", used+", "+cost+", "+console.Span(t.TookMS))
	return b.String()
}

// textTestResult describes the first request: the text that came, when its first piece came, and how fast the
// rest followed.
func textTestResult(t api.ModelTest) string {
	if t.Text.Outcome != "yes" {
		return checkText(t.Text.Check, "", "it gave no usable answer")
	}
	text := fmt.Sprintf("yes: %q, first piece after %s, all after %s", t.Text.Text, console.Span(t.Text.FirstMS), console.Span(t.Text.TookMS))
	if !t.Text.Streams {
		text += ", in one piece"
	}
	// 0 means that the speed could not be measured.
	if t.Text.Speed > 0 {
		text += fmt.Sprintf(", %.0f tokens/s", t.Text.Speed)
	}
	return text
}

// checkText describes the outcome of one check. Outcomes other than yes, no and skipped are kinds of errors,
// such as "wrong_arguments".
func checkText(c api.ModelCheck, yes, no string) string {
	switch c.Outcome {
	case "yes":
		return "yes: " + yes + ", " + console.Span(c.TookMS)
	case "skipped":
		return "not tried"
	case "no":
		return "no: " + strings.TrimSuffix(no+"; "+c.Error, "; ")
	default:
		return strings.ReplaceAll(string(c.Outcome), "_", " ") + ": " + c.Error
	}
}
