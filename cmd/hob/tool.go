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

	"hob/daemon/control/client"
	"hob/daemon/control/console"
)

func toolCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "tool NAME [--field value …|--input JSON|-]", Short: "List, describe and run the tools that hob has",
		Long:               "Run a tool as hob would, with the same checks. You are asked right here when it needs your permission.",
		Example:            "  hob tool list\n  hob tool show read\n  hob tool read notes.md --limit 20",
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, args []string) error { return runTool(a, cmd, args) },
	}
	cmd.AddCommand(
		listToolsCommand(a),
		&cobra.Command{
			Use: "show NAME", Short: "Describe a tool and its fields", Args: exactly(1, "one NAME"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.show(cmd.Context(), "tools", args[0], func(raw json.RawMessage) error { return drawTool(a, raw) })
			},
		},
	)
	return cmd
}

func listToolsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tools", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listRows(cmd.Context(), a, listing[console.ToolSpec]{
				resource: "tools", none: "there are no tools", head: []string{"TOOL", "GROUP", "WHAT IT DOES"},
				row: func(t console.ToolSpec) []string { return []string{t.Name, t.Group, t.Description} },
			}, client.Filter{})
		},
	}
}

// runTool runs one by name. Its flags are known only when the daemon has described it.
func runTool(a *app, cmd *cobra.Command, args []string) error {
	name := toolName(a, args)
	if name == "" {
		return cmd.Help()
	}
	c, err := a.client(cmd.Context())
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
	globals(a, form.Set)
	input, err := form.Parse(args, a.in)
	if errors.Is(err, pflag.ErrHelp) {
		if a.json {
			return a.document(spec)
		}
		return a.text(form.Help())
	}
	if err != nil {
		return err
	}
	wd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find this folder: %w", err)
	}
	out, err := callTool(cmd.Context(), a, c, name, client.ToolCall{Input: input, Workdir: wd, Approve: form.Approve})
	if err != nil {
		return err
	}
	return printOutcome(a, out)
}

// globals are the flags that every command has; a tool's own flags stand among them.
func globals(a *app, set *pflag.FlagSet) {
	set.StringVar(&a.home, "home", a.home, "hob's home folder")
	set.BoolVar(&a.json, "json", a.json, "print one JSON document and nothing else")
	set.BoolVar(&a.quiet, "quiet", a.quiet, "print no remarks")
	set.BoolVar(&a.noColor, "no-color", a.noColor, "print no colours")
}

// toolName finds the first argument that is no flag, and reads the global flags wherever they stand:
// the home must be known before the daemon can be asked for the tool's own flags.
func toolName(a *app, args []string) string {
	set := pflag.NewFlagSet("tool", pflag.ContinueOnError)
	set.ParseErrorsAllowlist.UnknownFlags = true
	set.Usage = func() {}
	set.BoolP("help", "h", false, "")
	globals(a, set)
	if err := set.Parse(args); err != nil {
		return ""
	}
	return set.Arg(0)
}

// specOf asks for a tool's description; for one that does not exist it names the nearest.
func specOf(ctx context.Context, a *app, c *client.Client, name string) (console.ToolSpec, error) {
	var specs []console.ToolSpec
	if err := c.List(ctx, "tools", client.Filter{}, &specs); err != nil {
		return console.ToolSpec{}, err
	}
	names := []string{"list", "show"}
	for _, s := range specs {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if n := console.Nearest(name, names); n != "" {
		return console.ToolSpec{}, usage("", "there is no tool %q; did you mean %q?", name, n)
	}
	return console.ToolSpec{}, usage("list them with: hob tool list", "there is no tool %q", name)
}

// printOutcome prints what a tool answered; a failure is the exit code too.
func printOutcome(a *app, out client.Outcome) error {
	if a.json {
		if out.Success {
			return a.document(out.Raw)
		}
		p := toolFailure(out)
		p.doc = out.Raw
		return p
	}
	if !out.Success {
		return toolFailure(out)
	}
	text := out.Message
	if isTerminal(a.out) {
		text = console.Clean(text)
	}
	return a.text(strings.TrimRight(text, "\n") + "\n")
}

func toolFailure(out client.Outcome) *problem {
	text := strings.TrimPrefix(out.Message, out.Error+": ")
	text = strings.TrimSuffix(text, "\nhint: "+out.Hint)
	p := &problem{code: exitFailed, text: text, hint: out.Hint}
	switch out.Error {
	case "VALIDATION_ERROR":
		p.code = exitUsage
	case "PERMISSION_DENIED":
		p.code = exitDenied
	}
	return p
}

// drawTool describes a tool.
func drawTool(a *app, raw json.RawMessage) error {
	var spec console.ToolSpec
	if err := json.Unmarshal(raw, &spec); err != nil {
		return fmt.Errorf("the tool is not understood: %w", err)
	}
	f, err := console.NewForm(spec)
	if err != nil {
		return err
	}
	return a.text(f.Help())
}
