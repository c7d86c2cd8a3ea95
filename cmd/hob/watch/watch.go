// Package watch is the commands about file watches: hob watch.
package watch

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
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// resource is the watches, as the API calls them.
const resource = "watches"

// Command makes hob watch.
func Command(a *cli.App) *cobra.Command {
	return cli.Family("watch", "Make and look after prompts that run when files change",
		addCommand(a),
		listCommand(a),
		showCommand(a),
		removeCommand(a),
		verbCommand(a, "pause", "Stop a watch for now"),
		verbCommand(a, "resume", "Let a paused watch go on; what changed meanwhile is told"),
		runsCommand(a),
	)
}

// kinds are the changes that a watch can tell of.
func kinds() []string { return []string{"create", "write", "remove", "rename"} }

// wishes is what can be said about a watch beside its prompt, by the watch tool's own names.
type wishes struct {
	Name      string   `json:"name,omitempty"`
	Paths     []string `json:"paths,omitempty"`
	Include   []string `json:"include,omitempty"`
	Events    []string `json:"events,omitempty"`
	Settle    string   `json:"settle,omitempty"`
	Deliver   string   `json:"deliver,omitempty"`
	Flat      bool     `json:"flat,omitempty"`
	Gitignore bool     `json:"gitignore,omitempty"`
	Own       bool     `json:"own,omitempty"`
	Poll      string   `json:"poll,omitempty"`
	Allow     string   `json:"allow,omitempty"`
}

func (w *wishes) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&w.Name, "name", "", "what to call it (default: made from the prompt)")
	f.StringArrayVar(&w.Paths, "path", nil, "a file, a folder or a glob in quotes; several times for several")
	f.StringArrayVar(&w.Include, "include", nil, "only files below a folder that match this glob, as in '*.pdf'; several times for several")
	f.StringSliceVar(&w.Events, "events", nil, "the changes that count: "+strings.Join(kinds(), ", ")+" (default all)")
	f.StringVar(&w.Settle, "settle", "", "how long a file must rest before it is told (default 2s)")
	f.StringVar(&w.Deliver, "deliver", "", "where the answer goes: owner, none or an address")
	f.BoolVar(&w.Flat, "flat", false, "leave subfolders out")
	f.BoolVar(&w.Gitignore, "gitignore", false, "leave out what .gitignore leaves out")
	f.BoolVar(&w.Own, "own", false, "what hob's own file tools write counts too")
	f.StringVar(&w.Poll, "poll", "", "look this often instead of waiting for events, as in 30s")
	f.StringVar(&w.Allow, "allow", "", "rights that it has without asking beside reading what is watched: net, net:HOST, read:PATH, message:ADDRESS, with commas between them")
	cli.CompleteFlag(cmd, "events", cli.Words(kinds()...))
	cli.CompleteFlag(cmd, "deliver", cli.Words("owner", "none"))
}

// check refuses what the watch tool would refuse, by the names of the flags.
func (w wishes) check(cmd *cobra.Command) error {
	if err := cli.Filled(cmd); err != nil {
		return err
	}
	if len(w.Paths) == 0 {
		return cli.Usage("for example --path ~/Downloads", "say what to watch: --path")
	}
	for _, k := range w.Events {
		if !slices.Contains(kinds(), k) {
			return cli.Usage("", "--events %q is not one of %s", k, strings.Join(kinds(), ", "))
		}
	}
	for flag, text := range map[string]string{"settle": w.Settle, "poll": w.Poll} {
		if d, err := time.ParseDuration(text); text != "" && (err != nil || d <= 0) {
			return cli.Usage("for example --"+flag+" 30s", "--%s %q is not a time span", flag, text)
		}
	}
	return nil
}

func addCommand(a *cli.App) *cobra.Command {
	var w wishes
	cmd := &cobra.Command{
		Use: "add PROMPT", Short: "Make a watch", Args: cli.AtLeast(1, "a PROMPT"),
		Example: "  hob watch add --name papers --path '~/Downloads/*.pdf' \"Say what the new paper is called.\"\n" +
			"  hob watch add --path ~/notes --include '*.md' --events create,write \"say: the notes have changed\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(cmd); err != nil {
				return err
			}
			return change(cmd.Context(), a, struct {
				Action string `json:"action"`
				wishes
				Prompt string `json:"prompt"`
			}{"add", w, cli.Joined(args)})
		},
	}
	w.flags(cmd)
	return cmd
}

// one is a call about one watch.
type one struct {
	Action string `json:"action"`
	Name   string `json:"name"`
}

func verbCommand(a *cli.App, verb, short string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " WATCH", Short: short, Args: cli.Exactly(1, "one WATCH"), ValidArgsFunction: cli.Complete(a, resource), Example: "  hob watch " + verb + " papers",
		RunE: func(cmd *cobra.Command, args []string) error {
			return change(cmd.Context(), a, one{verb, args[0]})
		},
	}
}

// removeCommand asks: what a watch was made of is gone for good.
func removeCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm WATCH", Short: "Delete a watch; what it ran stays on record", Args: cli.Exactly(1, "one WATCH"), ValidArgsFunction: cli.Complete(a, resource),
		Example: "  hob watch rm papers\n  hob watch rm --yes papers",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.Client(cmd.Context())
		if err != nil {
			return err
		}
		var w row
		if err := c.Show(cmd.Context(), resource, args[0], &w); err != nil {
			return err
		}
		loss := fmt.Sprintf("this deletes the watch %s (%s: %s); what it ran stays on record", w.Name, strings.Join(w.Paths, ", "), console.Cut(w.Prompt))
		if err := a.Sure(cmd.Context(), *yes, loss, "delete it?"); err != nil {
			return err
		}
		return change(cmd.Context(), a, one{"remove", w.Name})
	}
	return cmd
}

// change calls the watch tool and prints the watch as it is now.
func change(ctx context.Context, a *cli.App, call any) error {
	raw, err := json.Marshal(call)
	if err != nil {
		return fmt.Errorf("encode the call: %w", err)
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
		p := cli.ToolFailure(out)
		_, other := call.(one)
		p.Text, p.Hint = inFlags(p.Text), inCommands(p.Hint, !other)
		return p
	}
	var made struct {
		Watches []json.RawMessage `json:"watches"`
	}
	if err := json.Unmarshal(out.Result, &made); err != nil || len(made.Watches) == 0 || !a.JSON {
		return a.Done(out.Raw, out.Message)
	}
	return a.Document(stored(ctx, c, made.Watches[0]))
}

// stored is a watch as the daemon lists it; one that is gone is shown as the tool last saw it.
func stored(ctx context.Context, c *client.Client, w json.RawMessage) json.RawMessage {
	var named row
	var now json.RawMessage
	if json.Unmarshal(w, &named) != nil || c.Show(ctx, resource, named.Name, &now) != nil {
		return w
	}
	return now
}

// inFlags names the flag where the watch tool names its parameter: at the beginning of what it says.
func inFlags(text string) string {
	text = strings.TrimPrefix(text, "watch add: ")
	for parameter, flag := range map[string]string{"name": "--name", "deliver": "--deliver", "settle": "--settle", "poll": "--poll", "path": "--path", "paths": "--path", "include": "--include", "allow": "--allow"} {
		for _, end := range []string{": ", " \""} {
			if rest, ok := strings.CutPrefix(text, parameter+end); ok {
				return flag + end + rest
			}
		}
	}
	return text
}

// inCommands turns what the tool advises a model to do into the command that does it. adding: a watch was to be made.
func inCommands(hint string, adding bool) string {
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
