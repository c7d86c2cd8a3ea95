// Package channels is the commands about the places that people write in: hob channels.
package channels

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/daemon/api"
	"hob/daemon/console"
)

// resource is the channels, as the API calls them.
const resource = "channels"

// Command makes hob channels. owned describes the kinds of channels and their keys.
func Command(a *cli.App, owned config.Owned) *cobra.Command {
	return cli.Family("channels", "Look after the places that people write to hob in",
		listCommand(a),
		addCommand(a, config.NewReference(owned)),
		testCommand(a),
	)
}

// fine reports whether one direction has no trouble.
func fine(d api.Direction) bool { return d.State == api.DirectionOK || d.State == api.DirectionUntried }

func directionText(d api.Direction, clock cli.Clock) string {
	if fine(d) {
		return string(d.State)
	}
	return string(d.State) + " since " + clock(d.Since)
}

// owner is who is bound, or what binds somebody.
func owner(r api.Channel) string {
	switch {
	case len(r.Owner) == 0 && len(r.Lapsed) > 0:
		return console.OneLine(fmt.Sprintf("nobody: %s was paired with another account of hob's; hob pairing start %s", strings.Join(r.Lapsed, ", "), r.Name))
	case len(r.Owner) == 0 && r.Pairs:
		return "nobody: hob pairing start " + r.Name
	}
	return console.OrDash(console.OneLine(strings.Join(r.Owner, ", ")))
}

// kind is the kind, and what hob is called there.
func kind(r api.Channel) string {
	if r.Nick == "" {
		return r.Kind
	}
	return r.Kind + " as " + console.OneLine(r.Nick)
}

// fault is what is wrong with what does not work now. What is over is no trouble any more; --json has it, with its time.
func fault(r api.Channel) string {
	var list []string
	for _, s := range []api.Direction{r.Receiving, r.Sending} {
		if !fine(s) && !slices.Contains(list, s.LastError) {
			list = append(list, s.LastError)
		}
	}
	return console.OrDash(console.OneLine(strings.Join(list, "; ")))
}

func listCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[api.Channel]{
		Resource: resource, Short: "List the channels, and how receiving and sending do", None: "there are no channels beside cli yet; make one with: hob channels add",
		Head: []string{"CHANNEL", "KIND", "RECEIVING", "SENDING", "OWNER", "GROUPS", "LAST ERROR"},
		Row: func(r api.Channel, clock cli.Clock) []string {
			return []string{r.Name, kind(r), directionText(r.Receiving, clock), directionText(r.Sending, clock), owner(r), console.OrDash(console.OneLine(strings.Join(r.Groups, ", "))), fault(r)}
		},
	})
}

func testCommand(a *cli.App) *cobra.Command {
	var send bool
	cmd := &cobra.Command{
		Use: "test CHANNEL", Short: "Try out what a channel needs; nothing is sent without --send", Args: cli.Exactly(1, "one CHANNEL"),
		Example: "  hob channels test alerts\n  hob channels test alerts --send", ValidArgsFunction: cli.Complete(a, resource),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			in := map[string]string{}
			if send {
				in["send"] = "true"
			}
			var raw json.RawMessage
			if err := c.Act(cmd.Context(), resource, args[0], "test", in, &raw); err != nil {
				return err
			}
			return tell(a, raw)
		},
	}
	cmd.Flags().BoolVar(&send, "send", false, "then send you \"hob can reach you here\"")
	return cmd
}

// tell says what works, and fails with what does not.
func tell(a *cli.App, raw json.RawMessage) error {
	var t api.ChannelTest
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("the answer is not understood: %w", err)
	}
	if !a.JSON && !a.Quiet {
		for _, line := range t.Works {
			a.Say("ok: %s", console.OneLine(line))
		}
	}
	switch {
	case t.Fault != "":
		return &cli.Problem{Code: cli.ExitFailed, Text: fmt.Sprintf("channel %s does not work: %s", t.Channel, t.Fault), Hint: "its section is [channels." + t.Channel + "] in config.toml", Doc: raw}
	case t.Outbox != 0:
		return a.Done(raw, fmt.Sprintf("on its way to %s: hob outbox show %d", t.To, t.Outbox))
	case a.JSON:
		return a.Document(raw)
	}
	return nil
}
