package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/scheduler/filewatch"
)

// watchCommand makes hob watch. Like a job, a watch is changed by a tool that the model has too.
func watchCommand(a *cli.App) *cobra.Command {
	return cli.Family("watch", "Make and look after prompts that run when files change",
		watchAddCommand(a),
		watchListCommand(a),
		cli.Show(a, api.ShowWatch, "WATCH", "Show a watch with all that was said about it", nil),
		watchRemoveCommand(a),
		watchVerbCommand(a, "pause", "Stop a watch for now"),
		watchVerbCommand(a, "resume", "Let a paused watch go on; what changed meanwhile is told"),
		watchRunsCommand(a),
	)
}

// watchKinds are the changes that a watch can report. They come from package filewatch, so that the command
// line and the tool accept the same words.
// The order is that of filewatch.Kinds, and error messages have it too.
func watchKinds() []string {
	var list []string
	for _, k := range filewatch.Kinds() {
		list = append(list, string(k))
	}
	return list
}

// watchCall is a call of the watch tool. The flags are bound to its draft. triggerInput turns it into the input
// of the tool.
type watchCall struct {
	Action string
	filewatch.Draft
}

// flags declares the flags of hob watch add from the table of a watch's fields.
func (c *watchCall) flags(cmd *cobra.Command) {
	cli.FieldFlags(cmd, &c.Draft, filewatch.Fields())
	cli.CompleteFlag(cmd, "events", cli.Words(watchKinds()...))
}

// check refuses what the watch tool would refuse, with errors that name the flags.
func (c *watchCall) check(cmd *cobra.Command) error {
	if err := cli.Filled(cmd); err != nil {
		return err
	}
	if len(c.Paths) == 0 {
		return cli.Usage("for example --path ~/Downloads", "say what to watch: --path")
	}
	// Several kinds may be given, with commas between them.
	for _, k := range c.Events {
		if !slices.Contains(watchKinds(), k) {
			return cli.Usage("", "--events %q is not one of %s", k, strings.Join(watchKinds(), ", "))
		}
	}
	// Both are texts in the draft, because config and tool write them as texts too.
	for flag, text := range map[string]string{"settle": c.Settle, "poll": c.Poll} {
		if d, err := time.ParseDuration(text); text != "" && (err != nil || d <= 0) {
			return cli.Usage("for example --"+flag+" 30s", "--%s %q is not a time span", flag, text)
		}
	}
	return nil
}

// watchAddCommand makes hob watch add.
func watchAddCommand(a *cli.App) *cobra.Command {
	c := watchCall{Action: "add"}
	cmd := &cobra.Command{
		Use: "add PROMPT", Short: "Make a watch", Args: cli.AtLeast(1, "a PROMPT"),
		Example: "  hob watch add --name papers --path '~/Downloads/*.pdf' \"Tell me what the new paper is called.\"\n" +
			"  hob watch add --path ~/notes --include '*.md' --events create,write \"say: the notes have changed\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd); err != nil {
				return err
			}
			c.Prompt = cli.Joined(args)
			return changeWatch(cmd.Context(), a, c)
		},
	}
	c.flags(cmd)
	return cmd
}

// watchVerbCommand makes a command for an action of the watch tool that needs only the name.
func watchVerbCommand(a *cli.App, verb, short string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " WATCH", Short: short, Args: cli.Exactly(1, "one WATCH"), ValidArgsFunction: cli.Complete(a, api.Watches),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeWatch(cmd.Context(), a, watchCall{verb, filewatch.Draft{Name: args[0]}})
		},
	}
}

// watchRemoveCommand asks first, because a deleted watch cannot be restored.
func watchRemoveCommand(a *cli.App) *cobra.Command {
	return cli.Remove(a, cli.Removal[api.Watch]{
		Use: "rm WATCH", Short: "Delete a watch; what it ran stays on record", Example: "  hob watch rm papers\n  hob watch rm --yes papers", Args: cli.Exactly(1, "one WATCH"), Row: api.ShowWatch,
		Loss: func(w api.Watch) string {
			return fmt.Sprintf("this deletes the watch %s (%s: %s); what it ran stays on record", w.Name, strings.Join(w.Paths, ", "), console.CellText(w.Prompt))
		},
		Remove: func(ctx context.Context, w api.Watch) error {
			return changeWatch(ctx, a, watchCall{"remove", filewatch.Draft{Name: w.Name}})
		},
	})
}

// changeWatch calls the watch tool and prints the watch as it is now. Relative paths mean the folder of the
// caller, so it is sent along.
func changeWatch(ctx context.Context, a *cli.App, in watchCall) error {
	raw, err := triggerInput(in.Action, 0, in.Draft)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find this folder: %w", err)
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	out, err := cli.CallTool(ctx, a, c, "watch", client.ToolCall{Input: raw, Workdir: here})
	if err != nil {
		return err
	}
	if !out.Success {
		// The error names parameters of the tool, but a person has typed flags.
		p := cli.ToolFailure(out)
		p.Text, p.Hint = cli.InFlags(strings.TrimPrefix(p.Text, "watch add: "), filewatch.Fields(), map[string]string{"path": "path"}), watchHint(p.Hint, in.Action == "add")
		return p
	}
	var made struct {
		Watches []json.RawMessage `json:"watches"`
	}
	// The sentence of the tool is good enough for a person; only --json needs the row.
	if err := json.Unmarshal(out.Result, &made); err != nil || len(made.Watches) == 0 || !a.JSON {
		return a.Done(out, out.Message)
	}
	var watch filewatch.View
	if err := json.Unmarshal(made.Watches[0], &watch); err != nil {
		return fmt.Errorf("the watch is not understood: %w", err)
	}
	return a.Document(storedTrigger(ctx, c, api.ShowWatch, watch.Name, made.Watches[0]))
}

// watchHint replaces a hint that the tool writes for models by the matching command. adding is true for hob
// watch add. A hint for a model names an action or a parameter of the tool, which a person does not type.
func watchHint(hint string, adding bool) string {
	switch {
	case hint == "action list shows the watches" && adding:
		return "see: hob watch add --help"
	case hint == "action list shows the watches":
		return "list them with: hob watch list"
	case strings.HasPrefix(hint, "for example paths "), strings.HasPrefix(hint, "the parameters are: "):
		return "see: hob watch add --help"
	}
	return hint
}
