package main

import (
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
		&cobra.Command{
			Use: "stop", Short: "End the recording, and name its file", Args: cli.None, Example: "  hob record stop",
			RunE: func(cmd *cobra.Command, _ []string) error {
				r, err := client.Do(cmd.Context(), a, api.StopRecord, "", api.None{})
				if err != nil {
					return err
				}
				return a.Done(r, recordText(r))
			},
		},
		&cobra.Command{
			Use: "show", Short: "Show the recording that runs, or the last one", Args: cli.None, Example: "  hob record show",
			Long: "Show the recording that runs, or the last one since hob was started. All files are in state/recordings of hob's home,\n" +
				"until you delete them.",
			RunE: func(cmd *cobra.Command, _ []string) error {
				r, err := client.Show(cmd.Context(), a, api.ShowRecording, "")
				if err != nil {
					return err
				}
				return a.Done(r, recordText(r))
			},
		},
		recordReplayCommand(a),
	)
}

// recordStartCommand makes hob record start.
func recordStartCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "start SUBJECT", Short: "Begin to write what is sent to a server and what comes from it",
		Args: cli.Exactly(1, "one SUBJECT"), ValidArgsFunction: cli.Words("model"),
		Long: "Begin to write what hob sends to a server and what comes from it, until hob record stop, for an hour and 32 MB at most.\n" +
			"SUBJECT is model, models.NAME, channels.NAME or mcp.NAME, as in config.toml. The file has what is said, in full: read it before\n" +
			"you give it away. Keys and other secrets that hob knows are replaced. Each body is cut at 1 MB. A restart of hob ends the recording.",
		Example: "  hob record start model\n  hob record start --yes mcp.notes",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		loss := "all that hob sends to " + args[0] + " and gets from it is written to a file, private text too, but no secret that hob knows"
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
		Long: "Give what a server has sent to hob's own parser again, and show what it reads: texts, calls, what it repaired, faults;\n" +
			"the tools of an MCP server, and what hob skips of its output. Of a channel, the exchanges are only listed. Nothing is sent, and no\n" +
			"daemon is needed.",
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
const maxReplayed = 300

// replayText is what was read, as a page.
func replayText(r daemon.Replayed) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.Subject)
	for _, part := range []string{r.Backend, r.Model, r.Kind} {
		if part != "" {
			fmt.Fprintf(&b, " · %s", part)
		}
	}
	fmt.Fprintf(&b, " · recorded by hob %s, %s\n", r.Version, r.Began.Format("2006-01-02 15:04:05"))
	line := func(name, said string) {
		if said != "" {
			fmt.Fprintf(&b, "   %-9s %s\n", name, strings.ReplaceAll(said, "\n", "\n             "))
		}
	}
	for i, h := range r.Read {
		fmt.Fprintf(&b, "%d  %s", i+1, h.Request)
		if h.Status != 0 {
			fmt.Fprintf(&b, " → %d, %s", h.Status, console.Size(int64(h.Bytes)))
		}
		fmt.Fprintln(&b)
		line("text", h.Text)
		if h.Thinking > 0 {
			line("thinking", console.Plural(h.Thinking, "character"))
		}
		for _, c := range h.Calls {
			line("call", c)
		}
		for _, c := range h.Repaired {
			line("repaired", c)
		}
		for _, m := range h.Messages {
			line("message", text.Shorten(m, maxReplayed))
		}
		line("fault", h.Fault)
	}
	for i, list := range [][]string{r.Tools, r.LeftOut, r.Skipped} {
		for _, one := range list {
			line([]string{"tool", "left out", "skipped"}[i], one)
		}
	}
	if len(r.Read) == 0 {
		fmt.Fprintln(&b, "it has no exchange")
	}
	if r.Kind != "" {
		fmt.Fprintln(&b, "these are the exchanges; the messages of a channel are not read again, because that needs its account")
	}
	if r.Cut {
		fmt.Fprintln(&b, "its last line is not complete: hob was ended, or the disk was full")
	}
	return b.String()
}
