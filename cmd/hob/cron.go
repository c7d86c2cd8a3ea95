package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/text"
	"hob/scheduler"
)

// cronCommand makes hob cron. A job is made and changed by the cron tool, the same that the model calls, so
// permissions and checks exist once. Lists and details come from the API's routes for jobs.
func cronCommand(a *cli.App) *cobra.Command {
	return cli.Family("cron", "Make and look after recurring prompts and reminders",
		cronAddCommand(a),
		cronListCommand(a),
		cronShowCommand(a),
		cronUpdateCommand(a),
		cronRemoveCommand(a),
		cronVerbCommand(a, "run", "run", "Run a job now, beside its schedule"),
		cronVerbCommand(a, "pause", "pause", "Stop a job for now"),
		cronVerbCommand(a, "resume", "resume", "Let a paused job go on"),
		cronRunsCommand(a),
		cronNextCommand(a),
	)
}

// scheduleFields are the fields that say when a job runs, of which a job has one; others are the other fields.
func scheduleFields() []scheduler.Field {
	return slices.DeleteFunc(scheduler.JobFields(), func(f scheduler.Field) bool { return !isScheduleField(f) })
}

// otherFields are all fields of a job that are no schedule. An error about one of them can be traced to its
// flag by name.
func otherFields() []scheduler.Field {
	return slices.DeleteFunc(scheduler.JobFields(), isScheduleField)
}

// isScheduleField reports whether a field says when a job runs.
func isScheduleField(f scheduler.Field) bool { return f.Apart || f.Name == "when" }

// scheduleText is the schedule in the form of the cron tool; "" if no flag gives one.
func scheduleText(d scheduler.Draft) (string, error) {
	var given []string
	for _, w := range []struct{ before, text string }{{"", d.Cron}, {"every ", d.Every}, {"at ", d.At}, {"", d.When}} {
		if w.text != "" {
			given = append(given, w.before+strings.TrimPrefix(w.text, w.before)) // "--every 'every 30m'" says it twice
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

// cronCall is a call of the cron tool. The flags are bound to its draft, except for the limits, which the tool reads as one text.
// tools and maxTokens are the flags from which limits makes that text.
type cronCall struct {
	Action string
	ID     int64 // of a job that gets a new name
	scheduler.Draft

	tools, maxTokens string
}

// flags declares the flags of hob cron add and hob cron update from the table of a job's fields. A new field of
// a job gets its flag there.
func (c *cronCall) flags(cmd *cobra.Command, name string) {
	cli.FieldFlags(cmd, &c.Draft, scheduler.JobFields())
	cli.CompleteFlag(cmd, "tz", cli.Zones)
	f := cmd.Flags()
	f.Lookup("name").Usage = name
	// On the command line the limits are two flags; the tool has one text "tools=… tokens=…" for both.
	f.StringVar(&c.tools, "tools", "", "the only tools that its runs may call, with commas between them; all: no limit")
	f.StringVar(&c.maxTokens, "max-tokens", "", "how many tokens one run may use; none: no limit")
}

// complete checks the flags and converts them to the fields of the tool. The tool checks them too, but its errors name its parameters.
func (c *cronCall) complete(cmd *cobra.Command, prompt []string) (err error) {
	if c.When, err = scheduleText(c.Draft); err != nil {
		return err
	}
	if err := c.check(cmd); err != nil {
		return err
	}
	c.Limits, c.Prompt = c.limits(), cli.Joined(prompt)
	c.GateText, err = gateText(c.Draft)
	return err
}

// check refuses what the cron tool would refuse, with errors that name the flags.
func (c *cronCall) check(cmd *cobra.Command) error {
	if err := cli.Filled(cmd); err != nil {
		return err
	}
	if err := cli.CheckWords(cmd, scheduler.JobFields()); err != nil {
		return err
	}
	// The tool takes a time span, or one of two words.
	if c.MaxLate != "" && c.MaxLate != scheduler.NoMaxLate && c.MaxLate != "default" {
		if d, err := time.ParseDuration(c.MaxLate); err != nil || d <= 0 {
			return cli.Usage("for example --max-late 2h", "--max-late %q is not a time span", c.MaxLate)
		}
	}
	// "none" takes a limit away again.
	if n, err := strconv.ParseInt(c.maxTokens, 10, 64); c.maxTokens != "" && c.maxTokens != "none" && (err != nil || n < 1) {
		return cli.Usage("for example --max-tokens 20000", "--max-tokens %q is not a number of tokens", c.maxTokens)
	}
	if c.tools != "" && strings.ContainsAny(c.tools, " \t\n=") {
		return cli.Usage("for example --tools read,grep", "--tools %q is not a list of tools with commas between them", c.tools)
	}
	if err := checkGate(c.Draft); err != nil {
		return err
	}
	if c.Zone == "" {
		return nil
	}
	_, err := parseZone(c.Zone)
	return err
}

// limits are the limits of a run in the form of the cron tool.
func (c *cronCall) limits() string {
	var parts []string
	if c.tools != "" {
		parts = append(parts, "tools="+c.tools)
	}
	if c.maxTokens != "" {
		parts = append(parts, "tokens="+c.maxTokens)
	}
	return strings.Join(parts, " ")
}

// cronAddCommand makes hob cron add.
func cronAddCommand(a *cli.App) *cobra.Command {
	c := cronCall{Action: "add"}
	cmd := &cobra.Command{
		Use: "add PROMPT", Short: "Make a job", Args: cli.AtLeast(1, "a PROMPT"),
		Example: "  hob cron add --name morning --cron \"0 9 * * 1-5\" \"Brief me.\"\n" +
			"  hob cron add --at \"2026-12-24 17:00\" \"say: dinner!\"\n" +
			"  hob cron add --every 1h --gate-url https://example.org/feed.xml \"Tell me what is new there.\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.complete(cmd, args); err != nil {
				return err
			}
			if c.When == "" {
				return cli.Usage(`for example --when "every weekday at 9"`, "say when: --cron, --every, --at or --when")
			}
			return changeJob(cmd.Context(), a, c)
		},
	}
	c.flags(cmd, "what to call it (default: made from the prompt)")
	return cmd
}

// cronUpdateCommand makes hob cron update. Only the fields whose flags are given are sent, and all others stay.
func cronUpdateCommand(a *cli.App) *cobra.Command {
	c := cronCall{Action: "update"}
	cmd := &cobra.Command{
		Use: "update JOB [PROMPT]", Short: "Change a job", Args: cli.AtLeast(1, "a JOB"), ValidArgsFunction: cli.Complete(a, api.Jobs),
		Example: "  hob cron update tea --every 45m\n  hob cron update tea --name coffee \"say: coffee?\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.complete(cmd, args[1:]); err != nil {
				return err
			}
			if len(scheduler.Given(c.Draft)) == 0 {
				return cli.Usage("see: hob cron update --help", "nothing to change is given: a flag, or a new PROMPT")
			}
			return updateJob(cmd.Context(), a, args[0], c)
		},
	}
	c.flags(cmd, "a new name")
	return cmd
}

// updateJob changes a job. A call that sets a new name identifies the job by its id.
func updateJob(ctx context.Context, a *cli.App, job string, in cronCall) error {
	if in.Name == "" {
		in.Name = job
		return changeJob(ctx, a, in)
	}
	row, err := client.Show(ctx, a, api.ShowJob, job)
	if err != nil {
		return err
	}
	// The tool takes the name in the call as the new one if there is an id.
	in.ID = row.ID
	return changeJob(ctx, a, in)
}

// cronVerbCommand makes a command for an action of the cron tool that needs only the name of the job.
func cronVerbCommand(a *cli.App, use, action, short string) *cobra.Command {
	return &cobra.Command{
		Use: use + " JOB", Short: short, Args: cli.Exactly(1, "one JOB"), ValidArgsFunction: cli.Complete(a, api.Jobs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeJob(cmd.Context(), a, cronCall{Action: action, Draft: scheduler.Draft{Name: args[0]}})
		},
	}
}

// cronRemoveCommand asks first, because a deleted job cannot be restored.
func cronRemoveCommand(a *cli.App) *cobra.Command {
	return cli.Remove(a, cli.Removal[api.Job]{
		Use: "rm JOB", Short: "Delete a job; what it ran stays on record", Example: "  hob cron rm tea\n  hob cron rm --yes tea", Args: cli.Exactly(1, "one JOB"), Row: api.ShowJob,
		Loss: func(j api.Job) string {
			return fmt.Sprintf("this deletes the job %s (%s: %s); what it ran stays on record", j.Name, j.SpecText(), console.CellText(j.Prompt))
		},
		Remove: func(ctx context.Context, j api.Job) error {
			return changeJob(ctx, a, cronCall{Action: "remove", Draft: scheduler.Draft{Name: j.Name}})
		},
	})
}

// changeJob calls the cron tool and prints the job as it is now. The tool answers with texts for a model. They
// are rewritten in words of the command line: parameters become flags, hints become commands.
func changeJob(ctx context.Context, a *cli.App, in cronCall) error {
	raw, err := triggerInput(in.Action, in.ID, in.Draft)
	if err != nil {
		return err
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
		// The error names parameters of the tool, but a person has typed flags.
		p := cli.ToolFailure(out)
		p.Text, p.Hint = cronFlagText(p.Text), cronHint(in.Action, p.Hint)
		// The error is about one flag, so the help of the command is the best hint.
		if strings.HasPrefix(p.Text, "--") {
			p.Hint = cronHint(in.Action, "the parameters are: ")
		}
		return p
	}
	var made struct {
		Jobs []json.RawMessage `json:"jobs"`
	}
	// An action such as "run" answers without a job.
	if err := json.Unmarshal(out.Result, &made); err != nil || len(made.Jobs) == 0 {
		return a.Done(out, out.Message)
	}
	var job scheduler.View
	if err := json.Unmarshal(made.Jobs[0], &job); err != nil {
		return fmt.Errorf("the job is not understood: %w", err)
	}
	if !a.JSON {
		return a.Done(nil, jobSaid(job, out.Message, cli.IsTerminal(a.Out), time.Now()))
	}
	// --json prints the stored job instead of the tool's answer, so that all commands print a job in the same
	// shape.
	return a.Document(withNotes(storedTrigger(ctx, c, api.ShowJob, job.Name, made.Jobs[0]), job.Notes))
}

// jobSaid is what the tool says about a job. On a terminal its next times are as people say them.
func jobSaid(job scheduler.View, message string, terminal bool, now time.Time) string {
	head, rest, dated := strings.Cut(message, "\nnext: ")
	zone, err := scheduler.Zone(job.Zone)
	if !terminal || !dated || err != nil {
		return message
	}
	var times []string
	for _, t := range job.Next[:min(len(job.Next), 3)] {
		times = append(times, text.When(t.In(zone), now, t.Second() != 0))
	}
	_, rest, _ = strings.Cut(rest, "\n")
	return head + "\nnext: " + strings.Join(times, ", ") + "\n" + rest
}

// withNotes adds to a stored job the notes on defaults that the call assumed; they are not stored.
func withNotes(doc json.RawMessage, notes []string) json.RawMessage {
	var now scheduler.View
	// Notes are only a help: where they cannot be added, the job is printed without them.
	if json.Unmarshal(doc, &now) != nil || len(notes) == 0 || len(now.Notes) > 0 {
		return doc
	}
	list, err := json.Marshal(notes)
	if err != nil {
		return doc
	}
	// The document is edited as bytes, so that its members stay in the daemon's order.
	return slices.Concat(bytes.TrimSuffix(bytes.TrimSpace(doc), []byte("}")), []byte(`,"notes":`), list, []byte("}"))
}

// cronHint replaces a hint that the tool writes for models by the matching command.
func cronHint(action, hint string) string {
	switch {
	case strings.HasPrefix(hint, "the parameters are: "), hint == cronListHint && action == "add":
		return "see: hob cron " + strings.Replace(action, "remove", "rm", 1) + " --help"
	case hint == cronListHint:
		return "list them with: hob cron list"
	}
	return hint
}

// cronFlagText replaces the parameter at the beginning of an error of the cron tool by the flag.
func cronFlagText(text string) string {
	for _, before := range []string{"cron add: ", "cron update: "} {
		text = strings.TrimPrefix(text, before)
	}
	return cli.InFlags(text, otherFields(), map[string]string{"tools": "tools", "limits": "tools", "max_tokens": "max-tokens"})
}

// cronListHint is the tool's own hint.
// cronHint recognises it by its exact text.
const cronListHint = "action list shows the jobs"
