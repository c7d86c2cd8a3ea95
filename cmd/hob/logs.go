package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/logfile"
)

// logsFlags are the command line's words for a logfile.Query. level and since are texts here; query converts
// them.
type logsFlags struct {
	follow       bool
	turn         int64
	limit        int
	level, since string
}

// logsCommand makes hob logs.
func logsCommand(a *cli.App) *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use: "logs", Short: "Show what hob has logged", Args: cli.None, Example: "  hob logs -f --level warn",
		Long: "Show the newest lines of hob's log, oldest first. It needs no running hob.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query(cmd, time.Now())
			if err != nil {
				return err
			}
			return showLogs(cmd.Context(), a, q, f.follow)
		},
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with what is logged, until Ctrl-C")
	cmd.Flags().Int64Var(&f.turn, "turn", 0, "only lines about this turn")
	cmd.Flags().IntVarP(&f.limit, "lines", "n", 50, "at most this many lines, the newest; 0: all")
	cmd.Flags().StringVar(&f.level, "level", "debug", "only lines of this level and above: debug, info, warn, error")
	cmd.Flags().StringVar(&f.since, "since", "", "only lines since a time span ago (1h, 30m) or an instant (2026-11-21T09:00:00Z)")
	cli.CompleteFlag(cmd, "level", cli.Words("debug", "info", "warn", "error"))
	return cmd
}

// query checks the flags and converts them. The same query is evaluated by the daemon, or here if no daemon
// runs.
func (f logsFlags) query(cmd *cobra.Command, now time.Time) (logfile.Query, error) {
	q := logfile.Query{Limit: f.limit, Turn: f.turn}
	if cmd.Flags().Changed("turn") && f.turn < 1 {
		return q, cli.Usage("see: hob turns list", "--turn %d is not the id of a turn", f.turn)
	}
	if f.limit < 0 {
		return q, cli.Usage("", "--lines %d is less than nothing", f.limit)
	}
	// slog would also accept levels such as INFO+2, so the words are checked first.
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, f.level) || q.Level.UnmarshalText([]byte(f.level)) != nil {
		return q, cli.Usage("the levels are: debug, info, warn, error", "there is no level %q", f.level)
	}
	if f.since == "" {
		return q, nil
	}
	// A time span counts back from now; anything else must be an instant.
	if d, err := time.ParseDuration(f.since); err == nil && d >= 0 {
		q.Since = now.Add(-d)
		return q, nil
	}
	at, err := time.Parse(time.RFC3339, f.since)
	if err != nil {
		return q, cli.Usage("for example --since 1h, or --since 2026-11-21T09:00:00Z", "--since %q is neither a time span nor an instant", f.since)
	}
	q.Since = at
	return q, nil
}

// showLogs reads the log from the daemon, or from the file if no daemon runs. Following ends when the daemon stops.
// Both ways print the same lines, because the daemon reads the same file. Asking it also works for the group hob of a
// system-wide service, whose members may not read the home.
func showLogs(ctx context.Context, a *cli.App, q logfile.Query, follow bool) error {
	w := logWriter{color: !a.JSON && a.Color(a.Out), zone: a.Zone()}
	said := follow // something was printed, or will be
	each := func(line []byte) error {
		said = true
		if a.JSON {
			return a.Text(string(line) + "\n")
		}
		return a.Text(w.line(line) + "\n")
	}
	// The daemon is asked first. Only if none runs is the file read directly.
	c, err := a.Client(ctx)
	switch {
	case errors.Is(err, client.ErrNoDaemon):
		home, _, err := a.HomeDir()
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(home, "state", "log", "hob.log")); errors.Is(err, fs.ErrNotExist) {
			note := "there is no log yet in " + home + ": hob has not run there"
			if follow {
				note += "; waiting for one, until Ctrl-C"
			}
			a.Note(note)
			said = true
		}
		// The file is read in this process, so the caller needs the permission to read the home.
		err = logfile.Follow(ctx, filepath.Join(home, "state", "log", "hob.log"), q, follow, nil, each)
		if err == nil && !said {
			a.Note(noLines(q))
		}
		return err
	case err != nil:
		return err
	}
	err = c.Logs(ctx, q, follow, each)
	if err == nil && !said {
		a.Note(noLines(q))
	}
	if follow && (ctx.Err() != nil || errors.Is(err, client.ErrStreamEnded)) {
		return nil // Ctrl-C, or hob has stopped: there is no more to come
	}
	return err
}

// noLines says that no line was selected, and where else to look.
func noLines(q logfile.Query) string {
	if q.Turn != 0 {
		return fmt.Sprintf("the log has no such line about turn %d\n  most turns log nothing; what it did: hob turns show %d", q.Turn, q.Turn)
	}
	return "the log has no such line\n  without --level and --since there are more: hob logs"
}

// logWriter writes a line of the log for people. It is pure, so that tests compare its lines.
type logWriter struct {
	color bool
	zone  *time.Location
}

// line formats time, level, message and the other attributes in their order. The error is last, because it is
// long. A line that is no JSON object is printed as it is, without control characters.
func (w logWriter) line(raw []byte) string {
	list, ok := console.Members(raw)
	if !ok {
		return console.Clean(string(raw))
	}
	var at, level, msg, turn, fault string
	var rest []string
	for _, m := range list {
		// The attributes that every line has get a place of their own; the rest follows as "key value".
		switch text := unquoteJSON(m.Value); m.Key {
		case slog.TimeKey:
			at = w.instant(text)
		case slog.LevelKey:
			level = text
		case slog.MessageKey:
			msg = text
		case "turn":
			turn = "turn " + text
		case "err":
			fault = text
		default:
			rest = append(rest, m.Key+" "+shortSpan(text))
		}
	}
	if turn != "" {
		rest = slices.Insert(rest, 0, turn)
	}
	text := at + "  " + w.level(level) + "  " + console.Clean(msg)
	if len(rest) > 0 {
		text += console.Clean(" · " + strings.Join(rest, " · "))
	}
	if fault != "" {
		text += w.paint("31", console.Clean(": "+fault))
	}
	// A stack trace has several lines; the indent shows that they belong together.
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// shortSpan rounds a time span as Go writes it: 262.312286ms becomes 262ms. Other texts stay.
func shortSpan(text string) string {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || !strings.Contains(text, "."):
		return text
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// instant shows a time in the zone of this terminal, to the millisecond.
func (w logWriter) instant(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return t.In(w.zone).Format("2006-01-02 15:04:05.000 MST")
}

// level is padded to one width, and coloured where it matters.
func (w logWriter) level(level string) string {
	text := fmt.Sprintf("%-5s", console.OneLine(level))
	switch level {
	case "ERROR":
		return w.paint("31", text)
	case "WARN":
		return w.paint("33", text)
	}
	return text
}

// paint colours a text (ECMA-48, SGR) if the output is a terminal. 31 is red and 33 is yellow in the colours of
// the terminal.
func (w logWriter) paint(color, text string) string {
	if !w.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// unquoteJSON returns a JSON string without quotes, and any other value unchanged.
func unquoteJSON(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
