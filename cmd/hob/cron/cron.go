// Package cron is the commands about schedules: hob cron.
package cron

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/control/client"
	"hob/daemon/control/console"
)

// Command makes hob cron.
func Command(a *cli.App) *cobra.Command {
	return cli.Family("cron", "Recurring prompts and reminders",
		cronAddCommand(a),
		cronListCommand(a),
		cronShowCommand(a),
		cronUpdateCommand(a),
		cronVerbCommand(a, "rm", "remove", "Delete a job; what it ran stays on record"),
		cronVerbCommand(a, "run", "run", "Run a job now, beside its schedule"),
		cronVerbCommand(a, "pause", "pause", "Stop a job for now"),
		cronVerbCommand(a, "resume", "resume", "Let a paused job go on"),
		cronRunsCommand(a),
		cronNextCommand(a),
	)
}

// schedule is the flags that say when; one of them at a time.
type schedule struct{ cron, every, at, when string }

func (s *schedule) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.cron, "cron", "", `cron fields, as in "0 9 * * 1-5", or @daily and its like`)
	f.StringVar(&s.every, "every", "", "a period, as in 30m")
	f.StringVar(&s.at, "at", "", `one time, as in "2026-12-24 17:00"`)
	f.StringVar(&s.when, "when", "", `in words, as in "every weekday at 9"`)
}

// words is the schedule as the cron tool reads it; "" when none is given.
func (s schedule) words() (string, error) {
	var given []string
	for _, w := range []struct{ before, text string }{{"", s.cron}, {"every ", s.every}, {"at ", s.at}, {"", s.when}} {
		if w.text != "" {
			given = append(given, w.before+w.text)
		}
	}
	switch len(given) {
	case 0:
		return "", nil
	case 1:
		return given[0], nil
	}
	return "", cli.Usage("", "--cron, --every, --at and --when exclude each other")
}

// wishes is what can be said about a job beside its schedule and prompt, by the cron tool's own names.
type wishes struct{ name, tz, session, deliver, missed, maxLate, overlap string }

func (w *wishes) flags(cmd *cobra.Command, name string) {
	f := cmd.Flags()
	f.StringVar(&w.name, "name", "", name)
	f.StringVar(&w.tz, "tz", "", "time zone, as in Europe/Berlin (default yours)")
	f.StringVar(&w.session, "session", "", "main or isolated (default main)")
	f.StringVar(&w.deliver, "deliver", "", "where the answer goes: owner, none or an address")
	f.StringVar(&w.missed, "missed", "", "what to do about missed times: once, skip, all or ask (default once)")
	f.StringVar(&w.maxLate, "max-late", "", "how late is too late, as in 2h")
	f.StringVar(&w.overlap, "overlap", "", "when the last run is not done: fold or queue (default fold)")
}

func (w wishes) input(action, words, prompt string) map[string]string {
	in := map[string]string{"action": action}
	for key, v := range map[string]string{
		"name": w.name, "tz": w.tz, "session": w.session, "deliver": w.deliver, "missed": w.missed,
		"max_late": w.maxLate, "overlap": w.overlap, "schedule": words, "prompt": prompt,
	} {
		if v != "" {
			in[key] = v
		}
	}
	return in
}

func cronAddCommand(a *cli.App) *cobra.Command {
	var s schedule
	var w wishes
	cmd := &cobra.Command{
		Use: "add PROMPT", Short: "Make a job", Args: cli.AtLeast(1, "a PROMPT"),
		Example: "  hob cron add --name morning --cron \"0 9 * * 1-5\" \"Brief me.\"\n" +
			"  hob cron add --at \"2026-12-24 17:00\" \"say: dinner!\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			words, err := s.words()
			if err != nil {
				return err
			}
			if words == "" {
				return cli.Usage(`for example --when "every weekday at 9"`, "say when: --cron, --every, --at or --when")
			}
			return changeJob(cmd.Context(), a, w.input("add", words, cli.Joined(args)))
		},
	}
	s.flags(cmd)
	w.flags(cmd, "what to call it (default: made from the prompt)")
	return cmd
}

func cronUpdateCommand(a *cli.App) *cobra.Command {
	var s schedule
	var w wishes
	cmd := &cobra.Command{
		Use: "update JOB [PROMPT]", Short: "Change a job", Args: cli.AtLeast(1, "a JOB"),
		RunE: func(cmd *cobra.Command, args []string) error {
			words, err := s.words()
			if err != nil {
				return err
			}
			return updateJob(cmd.Context(), a, args[0], w.input("update", words, cli.Joined(args[1:])))
		},
	}
	s.flags(cmd)
	w.flags(cmd, "a new name")
	return cmd
}

// updateJob changes a job; with a new name the old one is told by its id.
func updateJob(ctx context.Context, a *cli.App, job string, in map[string]string) error {
	if in["name"] == "" {
		in["name"] = job
		return changeJob(ctx, a, in)
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	var row jobRow
	if err := c.Show(ctx, "jobs", job, &row); err != nil {
		return err
	}
	return changeJobID(ctx, a, in, row.ID)
}

func cronVerbCommand(a *cli.App, use, action, short string) *cobra.Command {
	return &cobra.Command{
		Use: use + " JOB", Short: short, Args: cli.Exactly(1, "one JOB"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeJob(cmd.Context(), a, map[string]string{"action": action, "name": args[0]})
		},
	}
}

func changeJob(ctx context.Context, a *cli.App, in map[string]string) error {
	return changeJobID(ctx, a, in, 0)
}

// changeJobID calls the cron tool and prints the job as it is now.
func changeJobID(ctx context.Context, a *cli.App, in map[string]string, id int64) error {
	input := map[string]any{}
	for k, v := range in {
		input[k] = v
	}
	if id != 0 {
		input["id"] = id
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return fmt.Errorf("encode the call: %w", err)
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	out, err := cli.CallTool(ctx, a, c, "cron", client.ToolCall{Input: raw})
	if err != nil {
		return err
	}
	if !out.Success {
		p := cli.ToolFailure(out)
		p.Hint = cronHint(in["action"], p.Hint)
		return p
	}
	var made struct {
		Jobs []json.RawMessage `json:"jobs"`
	}
	if err := json.Unmarshal(out.Result, &made); err != nil || len(made.Jobs) == 0 {
		return a.Done(out.Raw, out.Message)
	}
	var job jobRow
	if err := json.Unmarshal(made.Jobs[0], &job); err != nil {
		return fmt.Errorf("the job is not understood: %w", err)
	}
	if !a.JSON {
		return a.Done(nil, strings.Replace(out.Message, job.Spec, console.Period(job.Spec), 1))
	}
	return a.Document(stored(ctx, a, c, made.Jobs[0]))
}

// cronHint turns what the tool advises a model to do into the command that does it.
func cronHint(action, hint string) string {
	switch {
	case strings.HasPrefix(hint, "the parameters are: "), hint == toolList && action == "add":
		return "see: hob cron " + strings.Replace(action, "remove", "rm", 1) + " --help"
	case hint == toolList:
		return "list them with: hob cron list"
	}
	return hint
}

// toolList is the tool's own hint.
const toolList = "action list shows the jobs"

// stored is a job as the daemon lists it; one that is gone is shown as the tool last saw it.
func stored(ctx context.Context, a *cli.App, c *client.Client, job json.RawMessage) json.RawMessage {
	var row jobRow
	var now json.RawMessage
	if json.Unmarshal(job, &row) != nil || c.Show(ctx, "jobs", row.Name, &now) != nil {
		return job
	}
	return now
}
