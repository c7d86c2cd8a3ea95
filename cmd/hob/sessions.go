package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// The states of a session.
const (
	stateLive     = "live"
	stateArchived = "archived"
)

// sessionState is the state of a session; the API has only the instant at which it was archived.
func sessionState(s api.Session) string {
	if s.Archived.IsZero() {
		return stateLive
	}
	return stateArchived
}

// sessionsCommand makes hob sessions. A session is a conversation with its own transcript; its key, such as
// main, leads to the live session of that name.
func sessionsCommand(a *cli.App) *cobra.Command {
	return cli.Family("sessions", "Look at conversations and lead them",
		sessionsListCommand(a),
		withPrompt(a, cli.Show(a, api.ShowSession, "SESSION", "Show a conversation with every call and its arguments", nil)),
		sessionsSendCommand(a),
		exportCommand(a), compactCommand(a), sessionsSearchCommand(a), archiveCommand(a), unarchiveCommand(a), sessionsRemoveCommand(a),
	)
}

// sessionsSendCommand makes hob sessions send. A name that no session has is mostly a mistake in typing.
func sessionsSendCommand(a *cli.App) *cobra.Command {
	var fresh bool
	cmd := &cobra.Command{
		Use: "send SESSION TEXT", Short: "Write into a conversation without waiting for the answer", Args: cli.AtLeast(2, "a SESSION and a TEXT"),
		Example: `  hob sessions send garden "water the tomatoes at 8"`, ValidArgsFunction: cli.Complete(a, api.Sessions),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			if _, err := client.Show(cmd.Context(), c, api.ShowSession, args[0]); err != nil && !fresh && args[0] != "main" {
				code, text, hint := cli.Explain(err)
				return &cli.Problem{Code: code, Text: text, Hint: strings.TrimPrefix(hint+"; to begin a conversation of that name, add --new", "; ")}
			}
			return queue(cmd.Context(), a, client.Message{Session: args[0], Text: cli.Joined(args[1:])})
		},
	}
	cmd.Flags().BoolVar(&fresh, "new", false, "begin the conversation if there is none of that name")
	return cmd
}

// queue posts a message and prints its inbox row. It returns as soon as the row is committed. hob chat
// --no-wait uses it too.
func queue(ctx context.Context, a *cli.App, m client.Message) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if m.Session, err = sessionKey(ctx, c, m.Session); err != nil {
		return err
	}
	// The answer comes after the commit of the inbox row, so the message survives a crash from here on.
	r, err := c.Post(ctx, m)
	if err != nil {
		return err
	}
	return a.Done(r, fmt.Sprintf("queued as inbox row %d", r.Inbox))
}

// sessionKey returns the key of the session with this key or id; an archived one with the id is brought back. Any
// other name is the key of a new session. An id that is also the key of a session means the key.
func sessionKey(ctx context.Context, c *client.Client, name string) (string, error) {
	if _, err := strconv.ParseInt(name, 10, 64); err != nil {
		return name, nil
	}
	all, err := client.List(ctx, c, api.Sessions, client.Filter{Limit: 1000})
	if err != nil {
		return "", err
	}
	same := func(s api.Session) bool { return cli.ID(s.ID) == name }
	switch i := slices.IndexFunc(all, same); {
	// A session whose key is this number comes first.
	case i < 0 || slices.ContainsFunc(all, func(s api.Session) bool { return s.Key == name }):
		return name, nil
	case sessionState(all[i]) == stateArchived:
		_, err := client.Do(ctx, c, api.BringBack, name, api.None{})
		return all[i].Key, err
	default:
		return all[i].Key, nil
	}
}

// compactCommand makes hob sessions compact.
func compactCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "compact [SESSION] [WHAT MATTERS]", Short: "Go on with a summary instead of the whole conversation",
		Long: "The conversation is summarised before the next request to a model. Nothing is deleted: hob sessions show has all of it.\n" +
			"The words after the SESSION say what the summary must keep. Without a SESSION it is main. /compact does the same in a chat.",
		Example: "  hob sessions compact\n  hob sessions compact garden \"the dates of the harvest\"", ValidArgsFunction: cli.Complete(a, api.Sessions),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "" { // usually an unset variable of a script, which does not mean main
				return cli.Usage("leave it out for main; see: hob sessions list", "%s: the SESSION is empty", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			key := append(args, "main")[0]
			in := api.Compact{Matters: cli.Joined(args[min(1, len(args)):])}
			return cli.Do(cmd.Context(), a, api.CompactSession, key, in, fmt.Sprintf("session %s is summarised before its next request to a model", key))
		},
	}
}

// sessionsRemoveCommand makes hob sessions rm.
func sessionsRemoveCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm SESSION", Short: "Forget a conversation for good", Args: cli.Exactly(1, "one SESSION"), ValidArgsFunction: cli.Complete(a, api.Sessions),
		Long:    "Forget a conversation: what was said in it, its stored files, its summaries and its sub-agents go for good; its turns and their costs stay in the lists of turns, without a text. hob names the backups that still hold it. What is written to its name later begins a new one. To keep it out of the list only: hob sessions archive.",
		Example: "  hob sessions rm garden\n  hob sessions rm --yes garden",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return removeSession(cmd.Context(), a, args[0], *yes) }
	return cmd
}

// removeSession asks, and forgets a session.
func removeSession(ctx context.Context, a *cli.App, key string, yes bool) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	s, err := client.Show(ctx, c, api.ShowSession, key)
	if err != nil {
		return err
	}
	loss := fmt.Sprintf("this forgets the conversation %s with its %s for good", s.Key, console.Plural(s.Turns, "turn"))
	if err := a.Confirm(ctx, yes, loss, "forget it?"); err != nil {
		return err
	}
	done, err := client.Do(ctx, c, api.ForgetSession, key, api.None{})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("session %s is forgotten: %s", key, console.Plural(done.Items, "item"))
	if done.Files > 0 {
		text += ", " + console.Plural(done.Files, "file")
	}
	for _, b := range done.Backups {
		text += "\nthis backup may still hold it: " + b
	}
	if len(done.Backups) == 0 {
		text += "\nno backup in hob's folder holds it"
	}
	return a.Done(done, text)
}

// drawSession prints the transcript of a conversation. Texts are shown as a dialogue; calls and results have
// the name of their tool instead of a speaker.
func drawSession(ctx context.Context, a *cli.App, s api.SessionDetail) error {
	ends, err := unanswered(ctx, a, s)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s · %s · %s\n", console.OneLine(s.Key), sessionState(s.Session), console.OrDash(s.Kind), console.Plural(s.Turns, "turn"))
	if s.Title != "" {
		fmt.Fprintf(&b, "%s\n", console.OneLine(s.Title))
	}
	for n, i := range s.Transcript {
		// Only texts have a speaker.
		who := i.Role
		if i.Kind != "text" && i.Kind != "input" {
			who = strings.TrimSpace(i.Kind + " " + i.Tool)
		}
		text := strings.ReplaceAll(console.Clean(strings.TrimSpace(i.Text)), "\n", "\n    ")
		// Arguments of a call can be long JSON, so they are cut to one line.
		if i.Args != "" {
			text = strings.TrimSpace(text + " " + console.CellText(i.Args))
		}
		fmt.Fprintf(&b, "%s: %s\n", console.OneLine(who), text)
		if end := ends[n]; end != "" {
			fmt.Fprintf(&b, "(%s)\n", console.OneLine(end))
		}
	}
	return a.Text(b.String())
}

// unanswered says how the turns ended that gave no answer, such as "stopped by you", by the place of their last item in the transcript.
func unanswered(ctx context.Context, a *cli.App, s api.SessionDetail) (map[int]string, error) {
	last, ends := map[int64]int{}, map[int]string{}
	for n, i := range s.Transcript {
		last[i.Turn] = n
	}
	for _, state := range []string{"failed", "stopped", "dead"} {
		turns, err := client.List(ctx, a, api.Turns, client.Filter{Name: s.Key, State: state, Limit: 1000})
		if err != nil {
			return nil, err
		}
		for _, t := range turns {
			n, known := last[t.ID]
			switch why := console.ToYou(t.Why); {
			case !known: // a turn of an older conversation with this key
			case state == "stopped" && why != "":
				ends[n] = why
			default:
				ends[n] = strings.TrimSuffix(state+": "+why, ": ")
			}
		}
	}
	return ends, nil
}
