package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

// sessionsListCommand makes hob sessions list: without the archived conversations, unless a flag asks for them.
func sessionsListCommand(a *cli.App) *cobra.Command {
	cmd := cli.List(a, cli.Listing[api.Session]{
		Route: api.Sessions, Short: "List the conversations, newest first", None: "there is no conversation here; hob chat begins one, and hob sessions list --archived shows those that were put away",
		States: []string{stateLive, stateArchived}, State: stateLive,
		Head: []string{"ID", "SESSION", "STATE", "KIND", "HOLDS", "CREATED", "TURNS", "TITLE"},
		Row: func(s api.Session, clock cli.Clock) []string {
			return []string{cli.ID(s.ID), s.Key, sessionState(s), s.Kind, sessionTrust(s), clock(s.Created), console.Thousands(s.Turns), s.Title}
		},
	})
	archived := cmd.Flags().Bool("archived", false, "only those that are archived, as --state archived")
	states := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if *archived {
			if cmd.Flags().Changed("state") {
				return cli.Usage("", "--archived and --state exclude each other")
			}
			if err := cmd.Flags().Set("state", stateArchived); err != nil {
				return fmt.Errorf("read --archived: %w", err)
			}
		}
		return states(cmd, args)
	}
	return cmd
}

// sessionTrust says in words whose text a conversation holds. The API has the least trusted of its inputs.
func sessionTrust(s api.Session) string {
	switch s.Trust {
	case event.Owner:
		return "your own text"
	case event.Known:
		return "known people's text"
	case event.Public, event.Machine:
		return "foreign text"
	}
	return console.OrDash(string(s.Trust))
}

// archiveCommand makes hob sessions archive.
func archiveCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "archive SESSION...", Short: "Take conversations out of the list until they go on", Args: cli.AtLeast(1, "a SESSION"), ValidArgsFunction: completeSessions(a, stateLive),
		Long:    "Archive conversations: they leave the list. The next message in an archived one brings it back, as hob sessions unarchive does.",
		Example: "  hob sessions archive garden\n  hob sessions archive garden 12 14",
		RunE: func(cmd *cobra.Command, args []string) error {
			return eachSession(cmd.Context(), a, api.PutAwaySession, args, "archived")
		},
	}
}

// unarchiveCommand makes hob sessions unarchive.
func unarchiveCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "unarchive SESSION...", Short: "Bring archived conversations back into the list", Args: cli.AtLeast(1, "a SESSION"), ValidArgsFunction: completeSessions(a, stateArchived),
		Example: "  hob sessions unarchive garden\n  hob sessions unarchive 12 14",
		RunE: func(cmd *cobra.Command, args []string) error {
			return eachSession(cmd.Context(), a, api.BringBack, args, "back in the list")
		},
	}
}

// eachSession carries out a verb for each of several sessions. The first failure ends it, and names what was done before.
func eachSession(ctx context.Context, a *cli.App, verb api.Verb[api.None, api.Done], args []string, done string) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, name := range args {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if _, err := client.Do(ctx, c, verb, name, api.None{}); err != nil {
			if i > 0 {
				a.Note(sessionsAre(names[:i], done))
			}
			return err
		}
	}
	return a.Done(api.Done{OK: true}, sessionsAre(names, done))
}

// sessionsAre is the sentence for sessions that were changed: "session garden is archived", "sessions garden and 12 are archived".
func sessionsAre(names []string, done string) string {
	if len(names) == 1 {
		return fmt.Sprintf("session %s is %s", names[0], done)
	}
	last := len(names) - 1
	return fmt.Sprintf("sessions %s and %s are %s", strings.Join(names[:last], ", "), names[last], done)
}

// completeSessions offers the sessions in a state that the command does not have yet: live ones by key, archived ones by id, because several can have one key.
func completeSessions(a *cli.App, state string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if cmd.Context() == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.Quiet = true // a note would appear in the line that is being typed
		rows, err := client.List(cmd.Context(), a, api.Sessions, client.Filter{State: state})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var list []string
		for _, s := range rows {
			name, about := s.Key, s.Title
			if state == stateArchived {
				name, about = cli.ID(s.ID), s.Key+" "+s.Title
			}
			if strings.HasPrefix(name, typed) && !slices.Contains(args, name) {
				list = append(list, cobra.CompletionWithDesc(name, console.CellText(about)))
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}
