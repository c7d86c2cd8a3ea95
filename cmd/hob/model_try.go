package main

import (
	"cmp"
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
	name = cmp.Or(name, "first") // the API's name for the model that is asked first
	m, err := client.Show(ctx, c, api.ShowModel, name)
	if err != nil {
		return err
	}
	if m.Backend == "builtin" {
		_, err := client.Do(ctx, c, api.TestModel, name, api.None{})
		return err // it says why this is no model to test
	}
	// The daemon makes the requests, with the keys and the budget that it has.
	t, err := setup.TryModel(ctx, a, c, name, m.Backend+"/"+m.Model.Model)
	if err != nil {
		return err
	}
	able, verdict, _ := setup.Judge(t) // the page shows the error
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

// modelShowCommand makes hob model show.
func modelShowCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "show [NAME]", Short: "Show a model, and what its server does in its own way", Args: cli.AtMost(1, "one NAME"),
		Long: "Show a model: its state, its limits, what its server has refused by name since hob started and what is sent instead, and what hob had to\n" +
			"repair in its latest answers. NAME is that of a [models.NAME], or backend/model; without it, the model that is asked first is shown.",
		Example: "  hob model show\n  hob model show ollama/qwen3:8b", ValidArgsFunction: completeModel(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showPage(cmd.Context(), a, api.ShowModel, cmp.Or(cli.Joined(args), "first"), modelPage)
		},
	}
}

// modelPage is a model as a page.
func modelPage(m api.ModelDetail, p layout) string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-9s %s\n", name, console.OneLine(text)) }
	cells := modelCells(m.Model, p.at)
	fmt.Fprintf(&b, "%s\n", console.OneLine(cells[1]))
	line("model", strings.TrimSuffix(cells[2]+"/"+cells[3], "/-"))
	if m.BaseURL != "" {
		line("server", m.BaseURL)
	}
	line("state", cells[6])
	if m.Backend != "builtin" {
		line("request", contextText(m.Model)+" tokens at most, an answer "+tokensText(m.MaxOutput))
	}
	if m.Few {
		line("tools", fewTools)
	}
	line("price", cells[5])
	for _, what := range m.Learned {
		line("learned", what)
	}
	line("answers", fmt.Sprintf("%s in the last %s turns", console.Thousands(m.Answers), console.Thousands(m.Turns)))
	for _, r := range m.Repaired {
		line("repaired", fmt.Sprintf("%s (%s)", r.What, console.Plural(r.Answers, "answer")))
	}
	return b.String()
}

// fewTools says what a model with few tools gets.
const fewTools = "requests describe few tools, and the others are found by search (tools = \"all\" in its section changes that)"

// modelTestText is the result as a page: what works, and what the test has used.
func modelTestText(t api.ModelTest) string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-8s %s\n", name, console.OneLine(text)) }
	fmt.Fprintf(&b, "%s\n", console.OneLine(t.Provider+"/"+t.Model))
	line("text", textTestResult(t))
	if t.Text.Outcome != "yes" && t.Call.Outcome == "skipped" && t.Usage.Input == 0 {
		return b.String() // the trial ended there
	}
	line("tools", checkText(t.Call, "it calls tools", "it does not call tools"))
	line("results", checkText(t.Result, "it uses their results", "it does not use their results"))
	line("images", checkText(t.Vision, "it sees them", "it does not see them"))
	if t.Context > 0 { // the model could be made
		line("window", tokensText(t.Context)+" tokens")
	}
	if t.Few {
		line("few", fewTools)
	}
	// A model without a known price has tokens but no cost.
	used, cost := fmt.Sprintf("%s in, %s out", console.Thousands(t.Usage.Input), console.Plural(t.Usage.Output, "token")), "cost unknown"
	if t.Usage.Priced {
		cost = fmt.Sprintf("%.6f in the provider's currency", float64(t.Usage.Cost)/1e6)
	}
	line("used", used+", "+cost+", "+console.Span(t.TookMS))
	for _, what := range t.Dialect {
		line("dialect", what)
	}
	for _, what := range t.Learned {
		line("learned", what)
	}
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
