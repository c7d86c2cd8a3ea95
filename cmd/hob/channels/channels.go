// Package channels is the commands about the places that people write in: hob channels.
package channels

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/config"
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

// side is how receiving or sending does.
type side struct {
	State     string    `json:"state"`
	Since     time.Time `json:"since"`
	LastError string    `json:"last_error"`
}

// The states of a side that has no trouble, in the words of the API.
const (
	well    = "ok"
	untried = "not tried"
)

func (s side) told(clock cli.Clock) string {
	if s.State == well || s.State == untried {
		return s.State
	}
	return s.State + " since " + clock(s.Since)
}

// row is a channel.
type row struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Nick      string   `json:"nick"`
	Unfit     bool     `json:"unfit"`
	Receiving side     `json:"receiving"`
	Sending   side     `json:"sending"`
	Pairs     bool     `json:"pairs"`
	Owner     []string `json:"owner"`
	Lapsed    []string `json:"lapsed"`
	Groups    []string `json:"groups"`
}

// owner is who is bound, or what binds somebody.
func (r row) owner() string {
	switch {
	case len(r.Owner) == 0 && len(r.Lapsed) > 0:
		return console.OneLine(fmt.Sprintf("nobody: %s was paired with another account of hob's; hob pairing start %s", strings.Join(r.Lapsed, ", "), r.Name))
	case len(r.Owner) == 0 && r.Pairs:
		return "nobody: hob pairing start " + r.Name
	}
	return console.OrDash(console.OneLine(strings.Join(r.Owner, ", ")))
}

// kind is the kind, and what hob is called there.
func (r row) kind() string {
	if r.Nick == "" {
		return r.Kind
	}
	return r.Kind + " as " + console.OneLine(r.Nick)
}

// fault is what is wrong with what does not work now. What is over is no trouble any more; --json has it, with its time.
func (r row) fault() string {
	var list []string
	for _, s := range []side{r.Receiving, r.Sending} {
		if s.State != well && s.State != untried && !slices.Contains(list, s.LastError) {
			list = append(list, s.LastError)
		}
	}
	return console.OrDash(console.OneLine(strings.Join(list, "; ")))
}

func listCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[row]{
		Resource: resource, Short: "List the channels, and how receiving and sending do", None: "there are no channels beside cli yet; make one with: hob channels add",
		Head: []string{"CHANNEL", "KIND", "RECEIVING", "SENDING", "OWNER", "GROUPS", "LAST ERROR"},
		Row: func(r row, clock cli.Clock) []string {
			return []string{r.Name, r.kind(), r.Receiving.told(clock), r.Sending.told(clock), r.owner(), console.OrDash(console.OneLine(strings.Join(r.Groups, ", "))), r.fault()}
		},
	})
}

// trial is what a test of a channel came to.
type trial struct {
	Channel string   `json:"channel"`
	Works   []string `json:"works"`
	Fault   string   `json:"fault"`
	To      string   `json:"to"`
	Outbox  int64    `json:"outbox"`
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
	var t trial
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
