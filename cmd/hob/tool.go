package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

// toolCommand makes hob tool. cobra does not parse its flags (DisableFlagParsing), because they depend on the
// tool, and only the daemon knows the tools.
func toolCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "tool NAME [--field value …|--input JSON|-]", Short: "List, describe and run the tools that hob has",
		Long:               "Run a tool as hob would, with the same checks. You are asked right here when it needs your permission.",
		Example:            "  hob tool list\n  hob tool show read\n  hob tool read notes.md --limit 20",
		DisableFlagParsing: true,
		ValidArgsFunction:  completeTool(a),
		RunE:               func(cmd *cobra.Command, args []string) error { return runTool(a, cmd, args) },
	}
	cmd.AddCommand(
		listToolsCommand(a),
		&cobra.Command{
			Use: "show NAME", Short: "Describe a tool and its fields", Args: cli.Exactly(1, "one NAME"), ValidArgsFunction: cli.Complete(a, api.Tools),
			Example: "  hob tool show read",
			RunE:    func(cmd *cobra.Command, args []string) error { return showTool(cmd.Context(), a, args[0]) },
		},
	)
	return cmd
}

// everyTool is the list of the tools with those that cannot work here.
const everyTool = api.Tools + "?all=1"

// listToolsCommand makes hob tool list.
func listToolsCommand(a *cli.App) *cobra.Command {
	var every bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the tools", Args: cli.None, Example: "  hob tool list\n  hob tool list --all",
		RunE: func(cmd *cobra.Command, _ []string) error {
			l := cli.Listing[api.Tool]{
				Route: api.Tools, None: "there are no tools", Head: []string{"TOOL", "GROUP", "WHAT IT DOES"},
				Row: func(t api.Tool, _ cli.Clock) []string { return []string{t.Name, t.Group, t.Description} },
			}
			if every {
				l.Route, l.Head = everyTool, []string{"TOOL", "GROUP", "MISSING", "WHAT IT DOES"}
				l.Row = func(t api.Tool, _ cli.Clock) []string {
					return []string{t.Name, t.Group, t.Why, t.Description}
				}
			}
			return cli.ListRows(cmd.Context(), a, l, client.Filter{})
		},
	}
	cmd.Flags().BoolVar(&every, "all", false, "also the tools that cannot work here, and what they need")
	return cmd
}

// runTool runs a tool by name. Its flags come from the daemon's description of the tool. console.Form makes
// flags from the JSON Schema of the tool's parameters and turns the given ones into the input of the call. The
// call passes the same permission rules as a call of the model.
func runTool(a *cli.App, cmd *cobra.Command, args []string) error {
	name, err := toolName(a, args)
	if err != nil {
		return cli.FlagError(cmd, err)
	}
	if name == "" {
		return cmd.Help()
	}
	c, err := a.Client(cmd.Context())
	if err != nil {
		return err
	}
	spec, err := specOf(cmd.Context(), a, c, name)
	if err != nil {
		return err
	}
	form, err := console.NewForm(spec)
	if err != nil {
		return err
	}
	// Flags of hob may come before or behind those of the tool.
	globals(a, form.Set)
	input, err := form.Parse(args, a.In)
	if errors.Is(err, pflag.ErrHelp) {
		if a.JSON {
			return a.Document(spec)
		}
		return a.Text(form.Help())
	}
	if err != nil {
		if code, _, _ := cli.Explain(err); code != cli.ExitUsage {
			return err
		}
		// A usage error has the JSON document of a tool's own refusal, so that callers read one shape.
		return cli.Refused(err, "VALIDATION_ERROR")
	}
	// Relative paths in the input mean this folder, and the daemon has another one.
	wd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find this folder: %w", err)
	}
	out, err := cli.CallTool(cmd.Context(), a, c, name, client.ToolCall{Input: input, Workdir: wd, Approve: form.Approve})
	if err != nil {
		return err
	}
	return printOutcome(a, out)
}

// globals adds the global flags to the flags of a tool.
func globals(a *cli.App, set *pflag.FlagSet) {
	set.StringVar(&a.Home, "home", a.Home, "hob's home folder")
	set.BoolVar(&a.JSON, "json", a.JSON, "print one JSON document and nothing else")
	set.BoolVar(&a.Quiet, "quiet", a.Quiet, "print no remarks")
	set.BoolVar(&a.NoColor, "no-color", a.NoColor, "print no colours")
}

// toolName finds the first argument that is no flag, and reads the global flags wherever they stand:
// the home must be known before the daemon can be asked for the tool's own flags. "" when there is none.
func toolName(a *cli.App, args []string) (string, error) {
	set := pflag.NewFlagSet("tool", pflag.ContinueOnError)
	// The flags of the tool are not known yet; they are passed over here.
	set.ParseErrorsAllowlist.UnknownFlags = true
	// pflag would print a usage text of its own.
	set.Usage = func() {}
	// Without this flag pflag would answer --help with an error, before the tool is known.
	set.BoolP("help", "h", false, "")
	globals(a, set)
	rest, err := console.ParseFlags(set, args)
	if err != nil || len(rest) == 0 {
		return "", err
	}
	return rest[0], nil
}

// specOf asks for a tool's description; for one that does not exist it names the nearest.
func specOf(ctx context.Context, a *cli.App, c *client.Client, name string) (console.ToolSpec, error) {
	spec, err := client.Show(ctx, c, api.Show[console.ToolSpec](api.ShowTool), name)
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Kind != event.Missing {
		return spec, err
	}
	// The list of all tools has some 60 KB, so it is read only when the name is wrong.
	specs, err := client.List(ctx, c, api.List[console.ToolSpec](everyTool), client.Filter{})
	if err != nil {
		return console.ToolSpec{}, err
	}
	// The subcommands are candidates too: "hob tool lst" is no tool.
	names := []string{"list", "show"}
	for _, s := range specs {
		if s.Name == name && s.Missing != "" {
			return s, cli.Refused(&cli.Problem{Text: fmt.Sprintf("the tool %s cannot work here: %s", name, s.Missing)}, "CONFIG_ERROR")
		}
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if n := console.Nearest(name, names); n != "" {
		return console.ToolSpec{}, cli.Refused(cli.Usage("", "there is no tool %q; did you mean %q?", name, n), "NOT_FOUND")
	}
	if strings.Contains(name, "__") { // of an MCP server that is not in use
		return console.ToolSpec{}, cli.Refused(cli.Usage("see why with: hob mcp list", "there is no tool %q now", name), "NOT_FOUND")
	}
	return console.ToolSpec{}, cli.Refused(cli.Usage("list them with: hob tool list", "there is no tool %q", name), "NOT_FOUND")
}

// printOutcome prints what a tool answered; a failure is the exit code too. With --json it is the whole answer
// of the API.
func printOutcome(a *cli.App, out api.Outcome) error {
	if a.JSON {
		if out.Success {
			return a.Document(out)
		}
		p := cli.ToolFailure(out)
		p.Doc = out
		return p
	}
	if !out.Success {
		return cli.ToolFailure(out)
	}
	text := out.Message
	// A pipe gets the text unchanged, because a program may need every byte.
	if cli.IsTerminal(a.Out) {
		text = console.Clean(text)
	}
	return a.Text(strings.TrimRight(text, "\n") + "\n")
}

// showTool describes a tool, also one that cannot work here, with what it needs.
func showTool(ctx context.Context, a *cli.App, name string) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	spec, err := specOf(ctx, a, c, name)
	switch {
	case spec.Name == "":
		return err
	case err == nil:
		draw := func(spec console.ToolSpec, _ json.RawMessage, _ cli.Clock) error { return drawTool(a, spec) }
		return cli.ShowRow(ctx, a, api.Show[console.ToolSpec](api.ShowTool), name, draw)
	case a.JSON:
		return a.Document(spec)
	}
	a.Say("%s\n", err.Error())
	return drawTool(a, spec)
}

// drawTool describes a tool.
func drawTool(a *cli.App, spec console.ToolSpec) error {
	f, err := console.NewForm(spec)
	if err != nil {
		return err
	}
	return a.Text(f.Help())
}
