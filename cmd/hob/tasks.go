package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
	"hob/scheduler"
)

// tasksCommand makes hob tasks. Tasks are changed by the tools task_add and task_update, the same that the
// model calls; lists and details come from the API.
func tasksCommand(a *cli.App) *cobra.Command {
	return cli.Family("tasks", "Give hob tasks for later, and see what became of them",
		tasksAddCommand(a),
		tasksListCommand(a),
		cli.Show(a, api.ShowTask, "TASK", "Show a task with what it came to", nil),
		tasksCancelCommand(a),
		tasksRetryCommand(a),
	)
}

// tasksListCommand makes hob tasks list.
func tasksListCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[api.Task]{
		Route: api.Tasks, Short: "List the tasks: the open ones as they will run, then the others", None: "there are no tasks; add one with: hob tasks add",
		States: []string{"open", "blocked", "queued", "held", "running", "parked", "done", "failed", "cancelled"},
		Head:   []string{"TASK", "STATE", "PRIORITY", "AFTER", "NOT BEFORE", "TITLE", "RESULT"}, Row: taskCells,
	})
}

// taskCells are the cells of a task: what it waits for, and what came of it.
func taskCells(r api.Task, clock cli.Clock) []string {
	after, before := "-", "-"
	if len(r.BlockedBy) > 0 {
		words := make([]string, len(r.BlockedBy))
		for i, id := range r.BlockedBy {
			words[i] = cli.ID(id)
		}
		after = strings.Join(words, ",")
	}
	if !r.NotBefore.IsZero() {
		before = clock(r.NotBefore)
	}
	return []string{cli.ID(r.ID), string(r.State) + event.PlainMark(r.Plain && !r.State.Over()), strconv.Itoa(r.Priority), after, before, r.Title, console.OrDash(console.OneLine(console.ToYou(r.Result)))}
}

// tasksAddCommand makes hob tasks add.
func tasksAddCommand(a *cli.App) *cobra.Command {
	var title, at string
	var after []int64
	var priority int
	var plain bool
	cmd := &cobra.Command{
		Use: "add PROMPT", Short: "Add a task; it runs by itself when nothing blocks it", Args: cli.AtLeast(1, "a PROMPT"),
		Example: "  hob tasks add \"Sort ~/Pictures/in by month\"\n" +
			"  hob tasks add --title report --after 1,2 --not-before 17:00 --priority 5 \"Write down what was found.\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			// The names are those of the tool's parameters.
			in := map[string]any{"prompt": cli.Joined(args)}
			// The tool has defaults of its own for fields that are left out, so only given flags are sent.
			set := func(flag, key string, v any) {
				if cmd.Flags().Changed(flag) {
					in[key] = v
				}
			}
			set("title", "title", title)
			set("after", "blocked_by", after)
			set("not-before", "not_before", at)
			set("priority", "priority", priority)
			set("plain", "plain", plain)
			return changeTask(cmd.Context(), a, "task_add", in)
		},
	}
	f := cmd.Flags()
	f.StringVar(&title, "title", "", "a few words (default: the first line of the prompt)")
	f.Int64SliceVar(&after, "after", nil, "`tasks` that must be done first, as in 1,2; their summaries are handed in")
	f.StringVar(&at, "not-before", "", `when it may run at the earliest: 17:00, "2026-12-24 17:00" or 2h`)
	f.IntVar(&priority, "priority", 0, "from -100 to 100: the higher runs first")
	f.BoolVar(&plain, "plain", false, scheduler.PlainField("task").Flag)
	cli.CompleteFlag(cmd, "after", cobra.NoFileCompletions)
	return cmd
}

// tasksCancelCommand cancels a task. If its turn runs, stopping the turn cancels the task. A task that has not
// begun is only a row, which task_update changes.
func tasksCancelCommand(a *cli.App) *cobra.Command {
	return taskVerb(a, "cancel", "Cancel a task; one that runs is stopped", "  hob tasks cancel 3", func(ctx context.Context, c *client.Client, id int64) error {
		row, err := client.Show(ctx, c, api.ShowTask, cli.ID(id))
		if err != nil {
			return err
		}
		// The turn owns the task while it works on it, and cancels the task when it is stopped.
		if row.State == "running" || row.State == "parked" {
			return cli.Do(ctx, a, api.StopTurn, cli.ID(row.Turn), api.None{}, fmt.Sprintf("turn %d is stopped, and task %d cancelled", row.Turn, id))
		}
		return changeTask(ctx, a, "task_update", map[string]any{"id": id, "state": "cancelled"})
	})
}

// tasksRetryCommand makes hob tasks retry. "blocked" makes the daemon look again at what the task waits for;
// without open blockers it is queued.
func tasksRetryCommand(a *cli.App) *cobra.Command {
	return taskVerb(a, "retry", "Run a task again that failed or was cancelled", "  hob tasks retry 3", func(ctx context.Context, _ *client.Client, id int64) error {
		return changeTask(ctx, a, "task_update", map[string]any{"id": id, "state": "blocked"})
	})
}

// taskVerb makes a command that does something to the task with a number.
func taskVerb(a *cli.App, use, short, example string, do func(ctx context.Context, c *client.Client, id int64) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " TASK", Short: short, Example: example, Args: cli.Named(api.Tasks.Name(), "TASK"), ValidArgsFunction: cli.Complete(a, api.Tasks),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return cli.Usage("see: hob tasks list", "%q is not the id of a task", args[0])
			}
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			return do(cmd.Context(), c, id)
		},
	}
}

// changeTask calls a tool for tasks and prints the changed task. Errors and hints are rewritten in words of the
// command line.
func changeTask(ctx context.Context, a *cli.App, tool string, in map[string]any) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode the call: %w", err)
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	out, err := cli.CallTool(ctx, a, c, tool, client.ToolCall{Input: raw})
	if err != nil {
		return err
	}
	if !out.Success {
		p := cli.ToolFailure(out)
		p.Text, p.Hint = taskFlagText(p.Text), taskHint(p.Hint)
		return p
	}
	if !a.JSON {
		return a.Done(nil, out.Message)
	}
	// The tool answers with a list, of which the first row is the changed task.
	var made struct {
		Tasks []json.RawMessage `json:"tasks"`
	}
	if err := json.Unmarshal(out.Result, &made); err != nil || len(made.Tasks) == 0 {
		return fmt.Errorf("the task is not understood: %w", err)
	}
	return a.Document(made.Tasks[0])
}

// taskFlagText replaces the parameter at the beginning of a tool's error by the flag. Only these parameters
// have flags of their own here.
func taskFlagText(text string) string {
	for parameter, flag := range map[string]string{"blocked_by": "--after", "not_before": "--not-before", "priority": "--priority", "title": "--title"} {
		if rest, ok := strings.CutPrefix(text, parameter+": "); ok {
			return flag + ": " + rest
		}
	}
	return text
}

// taskHint replaces a hint that a tool writes for models by the matching command.
// It recognises the tools' hints by their exact texts.
func taskHint(hint string) string {
	if slices.Contains([]string{"task_list shows them", "leave one of them out of blocked_by"}, hint) {
		return "see: hob tasks list"
	}
	if strings.HasPrefix(hint, "the parameters are: ") {
		return "see: hob tasks add --help"
	}
	return hint
}
