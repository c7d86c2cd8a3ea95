package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/config"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// channelsCommand makes hob channels. reference knows the kinds of channels and their keys. kinds is false if args name another command: then
// hob channels add has no commands, which need the whole reference.
func channelsCommand(a *cli.App, reference func() config.Reference, kinds bool) *cobra.Command {
	add := cli.Family("add", "Set a channel up, test it and pair your account")
	if kinds {
		add = setup.AddCommand(a, reference())
	}
	return cli.Family("channels", "Look after the places that people write to hob in",
		channelsListCommand(a),
		add,
		channelsTestCommand(a),
		setup.RemoveCommand(a),
	)
}

// channelDirection is the state of receiving or sending, and since when if it does not work.
func channelDirection(d api.Direction, clock cli.Clock) string {
	if setup.Works(d) {
		return string(d.State)
	}
	return string(d.State) + " since " + clock(d.Since)
}

// channelOwner names the paired owner, or says how to pair one.
func channelOwner(r api.Channel) string {
	switch {
	// hob itself has another account there than at the time of the pairing, so the old ids may belong to
	// others.
	case len(r.Owner) == 0 && len(r.FormerOwners) > 0:
		return console.OneLine(fmt.Sprintf("nobody: %s was paired with another account of hob's; hob pairing start %s", strings.Join(r.FormerOwners, ", "), r.Name))
	case len(r.Owner) == 0 && r.Pairs:
		return "nobody: hob pairing start " + r.Name
	}
	return console.OrDash(console.OneLine(strings.Join(r.Owner, ", ")))
}

// channelKind is the kind, with the name of hob's account there.
func channelKind(r api.Channel) string {
	if r.Nick == "" {
		return r.Kind
	}
	return r.Kind + " as " + console.OneLine(r.Nick)
}

// channelsListCommand makes hob channels list. It shows the health that the host of the channels keeps for each
// direction.
func channelsListCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[api.Channel]{
		Route: api.Channels, Short: "List the channels, and how receiving and sending do", None: "there are no channels beside cli yet; make one with: hob channels add",
		Head: []string{"CHANNEL", "KIND", "RECEIVING", "SENDING", "OWNER", "GROUPS", "LAST ERROR"},
		Row: func(r api.Channel, clock cli.Clock) []string {
			return []string{r.Name, channelKind(r), channelDirection(r.Receiving, clock), channelDirection(r.Sending, clock), channelOwner(r), console.OrDash(console.OneLine(strings.Join(r.Groups, ", "))), setup.ChannelFault(r)}
		},
	})
}

// channelsTestCommand makes hob channels test. The daemon asks the loaded adapter to check itself, and with --send
// it queues a real message to the owner.
func channelsTestCommand(a *cli.App) *cobra.Command {
	var send bool
	cmd := &cobra.Command{
		Use: "test CHANNEL", Short: "Try out what a channel needs; nothing is sent without --send", Args: cli.Exactly(1, "one CHANNEL"),
		Example: "  hob channels test alerts\n  hob channels test alerts --send", ValidArgsFunction: cli.Complete(a, api.Channels),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			in := api.TestMessage{}
			if send {
				in.Send = "true"
			}
			t, err := client.Do(cmd.Context(), c, api.TestChannel, args[0], in)
			if err != nil {
				return err
			}
			return printChannelTest(a, t)
		},
	}
	cmd.Flags().BoolVar(&send, "send", false, "then send you \"hob can reach you here\"")
	return cmd
}

// printChannelTest says what works, and fails with what does not. A test that sent something has only queued
// it: the row of the outbox says later whether it arrived.
func printChannelTest(a *cli.App, t api.ChannelTest) error {
	switch err := setup.PrintTest(a, t); {
	case err != nil:
		return err
	case t.Outbox != 0:
		return a.Done(t, fmt.Sprintf("on its way to %s: hob outbox show %d", t.To, t.Outbox))
	case a.JSON:
		return a.Document(t)
	}
	return nil
}
