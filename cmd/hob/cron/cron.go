// Package cron is the commands about schedules: hob cron.
package cron

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
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// Command makes hob cron.
func Command(a *cli.App) *cobra.Command {
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

// wishes is what can be said about a job beside its schedule and prompt, by the cron tool's own names.
type wishes struct {
	name, tz, session, deliver, missed, maxLate, overlap, allow string

	tools, maxTokens string
	gate             gateFlags
}

func (w *wishes) flags(cmd *cobra.Command, name string) {
	f := cmd.Flags()
	f.StringVar(&w.name, "name", "", name)
	f.StringVar(&w.tz, "tz", "", "time zone, as in Europe/Berlin (default yours)")
	f.StringVar(&w.session, "session", "", "main or isolated (default main, with --allow isolated)")
	f.StringVar(&w.deliver, "deliver", "", "where the answer goes: owner, none or an address")
	f.StringVar(&w.missed, "missed", "", "what to do about missed times: once, skip, all or ask (default once)")
	f.StringVar(&w.maxLate, "max-late", "", "how late is too late, as in 2h; none: the default again, half the period and at most 2h")
	f.StringVar(&w.allow, "allow", "", "rights that it has without asking: exec, net, net:HOST, read:PATH, write:PATH, message:ADDRESS, with commas between them; its runs get a session of their own; none: no rights any more")
	f.StringVar(&w.overlap, "overlap", "", "when the last run is not done: fold or queue (default fold)")
	f.StringVar(&w.tools, "tools", "", "the only tools that its runs may call, with commas between them; all: no limit")
	f.StringVar(&w.maxTokens, "max-tokens", "", "how many tokens one run may use; none: no limit")
	w.gate.flags(cmd)
	for _, c := range w.choices() {
		cli.CompleteFlag(cmd, c.flag, cli.Words(c.words...))
	}
	cli.CompleteFlag(cmd, "deliver", cli.Words("owner", "none"))
}

// choice is a flag that takes one of a few words.
type choice struct {
	flag, said string
	words      []string
}

func (w wishes) choices() []choice {
	return []choice{
		{"session", w.session, []string{"main", "isolated"}},
		{"missed", w.missed, []string{"once", "skip", "all", "ask"}},
		{"overlap", w.overlap, []string{"fold", "queue"}},
	}
}

// check refuses what the cron tool would refuse, by the names of the flags.
func (w wishes) check(cmd *cobra.Command) error {
	if err := cli.Filled(cmd); err != nil {
		return err
	}
	for _, c := range w.choices() {
		if c.said != "" && !slices.Contains(c.words, c.said) {
			return cli.Usage("", "--%s %q is not one of %s", c.flag, c.said, strings.Join(c.words, ", "))
		}
	}
	if w.maxLate != "" && w.maxLate != "none" && w.maxLate != "default" {
		if d, err := time.ParseDuration(w.maxLate); err != nil || d <= 0 {
			return cli.Usage("for example --max-late 2h", "--max-late %q is not a time span", w.maxLate)
		}
	}
	if n, err := strconv.ParseInt(w.maxTokens, 10, 64); w.maxTokens != "" && w.maxTokens != "none" && (err != nil || n < 1) {
		return cli.Usage("for example --max-tokens 20000", "--max-tokens %q is not a number of tokens", w.maxTokens)
	}
	if w.tools != "" && strings.ContainsAny(w.tools, " \t\n=") {
		return cli.Usage("for example --tools read,grep", "--tools %q is not a list of tools with commas between them", w.tools)
	}
	if err := w.gate.check(); err != nil {
		return err
	}
	if w.tz == "" {
		return nil
	}
	_, err := zoneNamed(w.tz)
	return err
}

// limits are what a run may do at most, as the cron tool reads it.
func (w wishes) limits() string {
	var parts []string
	if w.tools != "" {
		parts = append(parts, "tools="+w.tools)
	}
	if w.maxTokens != "" {
		parts = append(parts, "tokens="+w.maxTokens)
	}
	return strings.Join(parts, " ")
}

func (w wishes) input(action, words, prompt string) (map[string]string, error) {
	gate, err := w.gate.words()
	in := map[string]string{"action": action}
	for key, v := range map[string]string{
		"name": w.name, "tz": w.tz, "session": w.session, "deliver": w.deliver, "missed": w.missed,
		"max_late": w.maxLate, "overlap": w.overlap, "allow": w.allow, "gate": gate, "limits": w.limits(), "schedule": words, "prompt": prompt,
	} {
		if v != "" {
			in[key] = v
		}
	}
	return in, err
}

func cronAddCommand(a *cli.App) *cobra.Command {
	var s schedule
	var w wishes
	cmd := &cobra.Command{
		Use: "add PROMPT", Short: "Make a job", Args: cli.AtLeast(1, "a PROMPT"),
		Example: "  hob cron add --name morning --cron \"0 9 * * 1-5\" \"Brief me.\"\n" +
			"  hob cron add --at \"2026-12-24 17:00\" \"say: dinner!\"\n" +
			"  hob cron add --every 1h --gate-url https://example.org/feed.xml \"Say what is new there.\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			words, err := s.words()
			if err != nil {
				return err
			}
			if err := w.check(cmd); err != nil {
				return err
			}
			if words == "" {
				return cli.Usage(`for example --when "every weekday at 9"`, "say when: --cron, --every, --at or --when")
			}
			in, err := w.input("add", words, cli.Joined(args))
			if err != nil {
				return err
			}
			return changeJob(cmd.Context(), a, in)
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
		Use: "update JOB [PROMPT]", Short: "Change a job", Args: cli.AtLeast(1, "a JOB"), ValidArgsFunction: cli.Complete(a, "jobs"),
		Example: "  hob cron update tea --every 45m\n  hob cron update tea --name coffee \"say: coffee?\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			words, err := s.words()
			if err != nil {
				return err
			}
			if err := w.check(cmd); err != nil {
				return err
			}
			in, err := w.input("update", words, cli.Joined(args[1:]))
			if err != nil {
				return err
			}
			if len(in) == 1 {
				return cli.Usage("see: hob cron update --help", "nothing to change is given: a flag, or a new PROMPT")
			}
			return updateJob(cmd.Context(), a, args[0], in)
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
		Use: use + " JOB", Short: short, Args: cli.Exactly(1, "one JOB"), ValidArgsFunction: cli.Complete(a, "jobs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeJob(cmd.Context(), a, map[string]string{"action": action, "name": args[0]})
		},
	}
}

// cronRemoveCommand asks: what a job was made of is gone for good.
func cronRemoveCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm JOB", Short: "Delete a job; what it ran stays on record", Args: cli.Exactly(1, "one JOB"), ValidArgsFunction: cli.Complete(a, "jobs"),
		Example: "  hob cron rm tea\n  hob cron rm --yes tea",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.Client(cmd.Context())
		if err != nil {
			return err
		}
		var job jobRow
		if err := c.Show(cmd.Context(), "jobs", args[0], &job); err != nil {
			return err
		}
		loss := fmt.Sprintf("this deletes the job %s (%s: %s); what it ran stays on record", job.Name, console.Period(job.Spec), console.Cut(job.Prompt))
		if err := a.Sure(cmd.Context(), *yes, loss, "delete it?"); err != nil {
			return err
		}
		return changeJob(cmd.Context(), a, map[string]string{"action": "remove", "name": job.Name})
	}
	return cmd
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
		p.Text, p.Hint = inFlags(p.Text), cronHint(in["action"], p.Hint)
		if strings.HasPrefix(p.Text, "--") {
			p.Hint = cronHint(in["action"], "the parameters are: ")
		}
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
	return a.Document(noted(stored(ctx, a, c, made.Jobs[0]), job.Notes))
}

// noted adds to a job what the call has taken because nobody said it: what is stored does not have it.
func noted(doc json.RawMessage, notes []string) json.RawMessage {
	var now jobRow
	if json.Unmarshal(doc, &now) != nil || len(notes) == 0 || len(now.Notes) > 0 {
		return doc
	}
	list, err := json.Marshal(notes)
	if err != nil {
		return doc
	}
	return slices.Concat(bytes.TrimSuffix(bytes.TrimSpace(doc), []byte("}")), []byte(`,"notes":`), list, []byte("}"))
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

// inFlags names the flag where the cron tool names its parameter: at the beginning of what it says.
func inFlags(text string) string {
	for _, before := range []string{"cron add: ", "cron update: "} {
		text = strings.TrimPrefix(text, before)
	}
	for parameter, flag := range map[string]string{"name": "--name", "deliver": "--deliver", "allow": "--allow", "max_late": "--max-late", "gate": "--gate", "tools": "--tools", "limits": "--tools", "max_tokens": "--max-tokens"} { // #nosec G101 -- names of flags
		for _, end := range []string{": ", " \""} {
			if rest, ok := strings.CutPrefix(text, parameter+end); ok {
				return flag + end + rest
			}
		}
	}
	return text
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
