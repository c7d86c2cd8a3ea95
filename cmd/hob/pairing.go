package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// The states of a pairing that commands ask about.
const (
	pairingOpen   = api.PairingOpen
	pairingBound  = api.PairingBound
	pairingLapsed = api.PairingLapsed
)

// pairingCommand makes hob pairing.
func pairingCommand(a *cli.App) *cobra.Command {
	return cli.Family("pairing", "Make your account on a channel known as yours",
		pairingStartCommand(a),
		pairingListCommand(a),
		pairingRevokeCommand(a),
	)
}

// pairedName is bound, as he called himself and by the platform's id.
func pairedName(r api.Pairing) string {
	if r.Name == "" || r.Name == r.Person {
		return console.OneLine(r.Person)
	}
	return fmt.Sprintf("%s (%s)", console.OneLine(r.Name), console.OneLine(r.Person))
}

// pairingState is the state, with the next step for a pairing that lapsed.
func pairingState(r api.Pairing) string {
	if r.State == pairingLapsed {
		return "lapsed: hob has another account there now; hob pairing start " + r.Channel
	}
	return string(r.State)
}

func pairingListCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[api.Pairing]{
		Route: api.Pairings, Short: "List the pairings, newest first", None: "nobody has been paired yet; begin with: hob pairing start CHANNEL",
		States: []string{string(pairingOpen), string(pairingBound), string(pairingLapsed), "over", "revoked"},
		Head:   []string{"PAIRING", "CHANNEL", "STATE", "BEGUN", "OWNER"},
		Row: func(r api.Pairing, clock cli.Clock) []string {
			return []string{cli.ID(r.ID), r.Channel, pairingState(r), clock(r.Created), console.OrDash(pairedName(r))}
		},
	})
}

// pairingRevokeCommand asks first, because hob then ignores that account.
func pairingRevokeCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke PAIRING", Short: "Take a pairing back: that account is a stranger again", Args: onePairing, ValidArgsFunction: cli.Complete(a, api.Pairings),
		Example: "  hob pairing revoke 3\n  hob pairing revoke --yes 3",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.Client(cmd.Context())
		if err != nil {
			return err
		}
		r, err := client.Show(cmd.Context(), c, api.ShowPairing, args[0])
		if err != nil {
			return err
		}
		loss, done := fmt.Sprintf("this ends pairing %d of %s: its code is not taken any more", r.ID, r.Channel), fmt.Sprintf("pairing %d is revoked", r.ID)
		if r.State == pairingBound {
			loss, done = fmt.Sprintf("this makes %s a stranger on %s, to whom hob does not listen", pairedName(r), r.Channel), fmt.Sprintf("%s is a stranger on %s from now on", pairedName(r), r.Channel)
		}
		if err := a.Confirm(cmd.Context(), *yes, loss, "revoke it?"); err != nil {
			return err
		}
		return cli.Do(cmd.Context(), a, api.RevokePairing, cli.ID(r.ID), api.None{}, done)
	}
	return cmd
}

func onePairing(cmd *cobra.Command, args []string) error {
	if err := cli.Exactly(1, "one PAIRING")(cmd, args); err != nil {
		return err
	}
	if n, err := strconv.ParseInt(args[0], 10, 64); err != nil || n < 1 {
		return cli.Usage("see: hob pairing list", "%q is not the id of a pairing", args[0])
	}
	return nil
}
