package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// maxServerModels is the most models of one server that are listed without --all.
const maxServerModels = 20

// modelCommand makes hob model.
func modelCommand(a *cli.App) *cobra.Command {
	return cli.Family("model", "See, try and choose the language models that think for hob",
		modelListCommand(a), modelShowCommand(a), modelTestCommand(a),
		&cobra.Command{
			Use: "use NAME", Short: "Ask another model first from now on",
			Long: "Ask another model first from now on, also after a restart. NAME is the NAME of a [models.NAME] in config.toml, or backend/model;\n" +
				"\"default\" goes back to [model], and \"builtin\" is the interpreter that needs no model.",
			Example: "  hob model use local\n  hob model use ollama/qwen3:8b\n  hob model use default", Args: cli.Exactly(1, "one NAME"), ValidArgsFunction: completeModel(a),
			RunE: func(cmd *cobra.Command, args []string) error { return useModel(cmd.Context(), a, args[0]) },
		},
		modelLoginCommand(a), modelLogoutCommand(a),
	)
}

// useModel asks the daemon to prefer another model. The choice is stored in the database and wins over the
// config.
func useModel(ctx context.Context, a *cli.App, name string) error {
	if strings.TrimSpace(name) == "" {
		return cli.Usage("hob model list shows them", "the NAME is empty")
	}
	done, err := client.Do(ctx, a, api.UseModel, name, api.None{})
	if err != nil {
		return err
	}
	return a.Done(done, done.Text)
}

// modelListCommand makes hob model list.
func modelListCommand(a *cli.App) *cobra.Command {
	var whole, offline bool
	cmd := &cobra.Command{
		Use: "list [WORD]", Short: "List the models of the config, and those that their servers have", Args: cli.AtMost(1, "one WORD"), ValidArgsFunction: cli.Words(),
		Long: "List the models that hob is set up with, in the order in which it asks them, then what each of their servers has, and the servers\n" +
			"that are found on this machine (LM Studio, ollama, llama.cpp, vLLM and others on their usual ports). WORD shows only models whose name has it.",
		Example: "  hob model list\n  hob model list qwen",
		RunE: func(cmd *cobra.Command, args []string) error {
			return listModels(cmd.Context(), a, modelFilter{word: cli.Joined(args), whole: whole, offline: offline})
		},
	}
	cmd.Flags().BoolVar(&whole, "all", false, fmt.Sprintf("all models of a server, not only %d", maxServerModels))
	cmd.Flags().BoolVar(&offline, "configured", false, "only what the config says: no server is asked")
	return cmd
}

// modelFilter holds the arguments of hob model list.
type modelFilter struct {
	word           string
	whole, offline bool
}

// listModels reads two routes: what the config has, and what the servers have. The second one asks servers over
// the network, so it can take seconds and can be left out.
func listModels(ctx context.Context, a *cli.App, f modelFilter) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	roster, rosterDoc, err := cli.Row(ctx, c, api.ShowRoster, "")
	if err != nil {
		return err
	}
	var servers []api.ModelServer
	var serversDoc json.RawMessage
	if !f.offline {
		if cli.IsTerminal(a.Err) {
			a.Note("asking the servers …")
		}
		if servers, serversDoc, err = cli.Row(ctx, c, api.ShowModelServers, ""); err != nil {
			return err
		}
	}
	if a.JSON {
		return modelsDocument(a, rosterDoc, serversDoc)
	}
	return printModels(a, roster, servers, f, cli.ListClock(ctx, c))
}

// modelsDocument joins the two answers: {"chosen", "models", "servers"}. The members are passed on as the
// daemon wrote them.
func modelsDocument(a *cli.App, roster, servers json.RawMessage) error {
	var doc struct {
		Chosen  string          `json:"chosen"`
		Models  json.RawMessage `json:"models"`
		Servers json.RawMessage `json:"servers,omitempty"`
	}
	if err := json.Unmarshal(roster, &doc); err != nil {
		return fmt.Errorf("the list of models is not understood: %w", err)
	}
	// With --configured no server was asked, and the member is left out.
	doc.Servers = servers
	return a.Document(doc)
}

// printModels prints the configured models in the order in which they are asked, then one table for each
// server.
func printModels(a *cli.App, r api.Roster, list []api.ModelServer, f modelFilter, clock cli.Clock) error {
	var cells [][]string
	for _, m := range r.Models {
		cells = append(cells, modelCells(m, clock))
	}
	if err := a.Table([]string{"ORDER", "NAME", "BACKEND", "MODEL", "CONTEXT", "PRICE IN/OUT", "STATE"}, cells); err != nil {
		return err
	}
	// The choice of hob model use is not in the config, so a person would look for it there in vain.
	if r.Chosen != "" {
		a.Say("\n%s was chosen instead of [model]; back to it: hob model use default", r.Chosen)
	}
	for _, s := range list {
		if err := printServer(a, s, f); err != nil {
			return err
		}
	}
	if len(list) == 0 && !f.offline {
		a.Say("\nNo model server is set up or found on this machine. Connect one with: hob setup")
	}
	return nil
}

// modelCells are the cells of a configured model. A fault explains more than "resting", and that more than
// what became of the last request.
func modelCells(m api.Model, clock cli.Clock) []string {
	order, state := "-", stateText(m)
	switch {
	// Order is the place among the models that are asked. 0 means that this one is not asked.
	case m.Order > 0:
		order = fmt.Sprint(m.Order)
	default:
		state = "not asked"
	}
	if m.Resting != nil {
		state = fmt.Sprintf("rests until %s: %s", clock(m.Resting.Until), m.Resting.Text)
	}
	if m.Fault != "" {
		state = m.Fault
	}
	context := contextText(m)
	if m.Few {
		context += " (few tools)"
	}
	return []string{order, m.Name, m.Backend, console.OrDash(m.Model), context, priceText(m.Local, m.Price.Input, m.Price.Output), state}
}

// stateText is what became of the last request to a model that is asked.
func stateText(m api.Model) string {
	if m.LastError != "" {
		return string(m.State) + ": " + m.LastError
	}
	return console.OrDash(string(m.State)) // an older hob does not say it
}

// contextText is the context window of a model; the built-in interpreter has none.
func contextText(m api.Model) string {
	if m.Backend == "builtin" {
		return "-"
	}
	return tokensText(m.Context)
}

// tokensText shows a number of tokens, "-" if it is not known.
func tokensText(n int) string {
	if n == 0 {
		return "-"
	}
	return console.Thousands(n)
}

// priceText shows prices of a million tokens. Prices are in the currency of the provider.
// in and out are millionths of it.
func priceText(free bool, in, out int64) string {
	switch {
	case free:
		return "free"
	case in == 0 && out == 0:
		return "-"
	default:
		return console.Money(in) + "/" + console.Money(out)
	}
}

// printServer shows what a server has. Large providers have hundreds of models, so only the first ones are
// shown.
func printServer(a *cli.App, s api.ModelServer, f modelFilter) error {
	head := fmt.Sprintf("\n%s at %s", s.Backend, s.BaseURL)
	// No model of the config uses this server.
	if len(s.Names) == 0 {
		head += " (found on this machine; try it with: hob model test " + s.Backend + "/MODEL)"
	}
	a.Say("%s", head)
	if s.Error != "" {
		a.Say("  %s", s.Error)
		if s.Hint != "" {
			a.Say("  %s", s.Hint)
		}
		return nil
	}
	var cells [][]string
	left := 0
	for _, m := range s.Models {
		switch {
		// Without a WORD the text is empty, and every name contains it.
		case !strings.Contains(strings.ToLower(m.ID), strings.ToLower(f.word)):
		// The rest is only counted.
		case len(cells) == maxServerModels && !f.whole:
			left++
		default:
			cells = append(cells, []string{m.ID, tokensText(m.Context), priceText(m.Free, m.Price.Input, m.Price.Output), yesNo(m.Tools), yesNo(m.Vision), yesNo(m.Loaded)})
		}
	}
	if len(cells) == 0 && f.word != "" {
		a.Say("none with %q", f.word)
		return nil
	}
	if len(cells) == 0 {
		a.Say("no models")
		return nil
	}
	if err := a.Table([]string{"MODEL", "CONTEXT", "PRICE IN/OUT", "TOOLS", "VISION", "LOADED"}, cells); err != nil {
		return err
	}
	if left > 0 {
		a.Say("and %s more: hob model list WORD, or --all", console.Thousands(int64(left)))
	}
	return nil
}

// yesNo shows an ability of a model, "-" if the server does not say.
func yesNo(b *bool) string {
	switch {
	case b == nil:
		return "-"
	case *b:
		return "yes"
	default:
		return "no"
	}
}

// completeModel offers the names of the config's models. Without a daemon it offers the two that always exist.
// Names of the servers' models are not offered, because asking the servers takes seconds.
func completeModel(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := []string{"default", "builtin"}
		if c, err := a.Client(cmd.Context()); err == nil {
			names = append(names, configuredModels(cmd.Context(), c)...)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// configuredModels are the names of [models.NAME] sections. The two names that always exist are added by the
// caller.
func configuredModels(ctx context.Context, c *client.Client) []string {
	r, err := client.Show(ctx, c, api.ShowRoster, "")
	if err != nil {
		return nil // completion offers less
	}
	var names []string
	for _, m := range r.Models {
		if m.Name != "default" && m.Name != "builtin" {
			names = append(names, m.Name)
		}
	}
	return names
}
