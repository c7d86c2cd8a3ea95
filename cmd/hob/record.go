package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/text"
)

// recordCommand makes hob record.
func recordCommand(a *cli.App) *cobra.Command {
	return cli.Family("record", "Write the raw exchange with a server into a file, for a report",
		recordStartCommand(a),
		recordStateCommand(a, "stop", "End the recording, and name its file", "", func(ctx context.Context) (api.Recording, error) {
			return client.Do(ctx, a, api.StopRecord, "", api.None{})
		}),
		recordStateCommand(a, "show", "Show the recording that runs, or the last one",
			"Show the recording that runs, or the last one since hob was started. All files are in state/recordings of hob's home,\n"+
				"until you delete them.", func(ctx context.Context) (api.Recording, error) { return client.Show(ctx, a, api.ShowRecording, "") }),
		recordReplayCommand(a),
	)
}

// recordStateCommand makes a command that ends with the state of the recording.
func recordStateCommand(a *cli.App, use, short, long string, do func(context.Context) (api.Recording, error)) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Long: long, Args: cli.None, Example: "  hob record " + use, RunE: func(cmd *cobra.Command, _ []string) error {
		r, err := do(cmd.Context())
		if err != nil {
			return err
		}
		return a.Done(r, recordText(r))
	}}
}

// recordStartCommand makes hob record start.
func recordStartCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "start SUBJECT", Short: "Begin to write what is sent to a server and what comes from it",
		Args: cli.Exactly(1, "one SUBJECT"), ValidArgsFunction: cli.Words("model"),
		Long: "Begin to write what hob sends to a server and what comes from it, until hob record stop, for an hour and 32 MB at most.\n" +
			"SUBJECT is model, models.NAME, channels.NAME or mcp.NAME, as in config.toml. Channels of the kinds email and irc cannot be recorded.\n" +
			"The other channels connect anew when a recording of them begins. The file has what was said, also private text: read it before you give it away.\n" +
			"Keys and other secrets that hob knows are replaced, but not the name of an ntfy topic: anybody who knows that of a public topic can\n" +
			"read it. Each body is cut at 1 MB. A restart of hob ends the recording.",
		Example: "  hob record start model\n  hob record start --yes mcp.notes",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		loss := "all that hob sends to " + args[0] + " and gets from it is written to a file, private text too, but no secret that hob knows"
		if strings.HasPrefix(args[0], "channels.") {
			loss += "\nthe file of an ntfy channel has the name of its topic: anybody who knows that of a public topic can read it"
		}
		if err := a.Confirm(cmd.Context(), *yes, loss, "record it?"); err != nil {
			return err
		}
		r, err := client.Do(cmd.Context(), a, api.StartRecord, args[0], api.None{})
		if err != nil {
			return err
		}
		return a.Done(r, recordText(r)+"\nend it with: hob record stop")
	}
	return cmd
}

// recordText describes a recording.
func recordText(r api.Recording) string {
	switch {
	case r.Subject == "":
		return "nothing was recorded since hob was started"
	case r.Ended.IsZero():
		r.Subject += " is being recorded"
	case r.Why != "":
		r.Subject += " was recorded, until it ended by itself: " + r.Why
	default:
		r.Subject += " was recorded"
	}
	return fmt.Sprintf("%s: %s, %s\n%s", console.OneLine(r.Subject), console.Plural(r.Exchanges, "exchange"), console.Size(r.Bytes), r.File)
}

// recordReplayCommand makes hob record replay.
func recordReplayCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "replay FILE", Short: "Read a recording as hob reads the server",
		Args: cli.Exactly(1, "one FILE"), ValidArgsFunction: cli.Files("jsonl"),
		Long: "Parse the answers in a recording again, and show what hob reads: texts, calls, what it repaired, faults;\n" +
			"the tools of an MCP server, and what hob skips of its output; the messages of a channel. Requests that send an answer to a channel\n" +
			"are only listed. Nothing is sent, no program is started, and no daemon is needed.",
		Example: "  hob record replay model-20260102-150405.000000.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := daemon.Replay(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return a.Document(r)
			}
			return a.Text(console.Clean(replayText(r)))
		},
	}
}

// maxReplayed is how many characters of a message a page shows; --json has all.
const maxReplayed = 1000

// replayText is what was read, as a page.
func replayText(r daemon.Replayed) string {
	var b strings.Builder
	fmt.Fprint(&b, r.Subject)
	for _, part := range []string{r.Backend, r.Model, r.Kind} {
		if part != "" {
			fmt.Fprintf(&b, " · %s", part)
		}
	}
	fmt.Fprintf(&b, " · recorded by hob %s, %s\n", r.Version, r.Began.Format("2006-01-02 15:04:05"))
	lines := func(name string, list ...string) {
		for _, one := range list {
			if one != "" {
				fmt.Fprintf(&b, "   %-9s %s\n", name, strings.ReplaceAll(one, "\n", "\n             "))
			}
		}
	}
	for i, h := range r.Read {
		fmt.Fprintf(&b, "%d  %s", i+1, h.Request)
		if h.Status != 0 {
			fmt.Fprintf(&b, " → %d, %s", h.Status, console.Size(int64(h.Bytes)))
		}
		fmt.Fprintln(&b)
		lines("text", h.Text)
		if h.Thinking > 0 {
			lines("thinking", console.Plural(h.Thinking, "character"))
		}
		lines("call", h.Calls...)
		lines("repaired", h.Repaired...)
		for _, m := range h.Messages {
			lines("message", text.Shorten(m, maxReplayed))
		}
		lines("fault", h.Fault)
	}
	lines("tool", r.Tools...)
	lines("left out", r.LeftOut...)
	lines("skipped", r.Skipped...)
	switch {
	case r.Cut != "":
		fmt.Fprintf(&b, "its last line is not complete: hob was ended, or the disk was full. It begins with:\n%s\n", r.Cut)
	case len(r.Read) == 0:
		fmt.Fprintln(&b, "it has no exchange")
	}
	return b.String()
}
