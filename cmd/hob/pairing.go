package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/daemon/api"
	"hob/daemon/console"
)

// pairingCommand makes hob pairing. A pairing proves that an account on a platform belongs to the owner: only the
// person at this terminal sees the code, and sends it from that account.
func pairingCommand(a *cli.App) *cobra.Command {
	return cli.Family("pairing", "Make your account on a channel known as yours",
		setup.PairCommand(a),
		pairingListCommand(a),
		pairingRevokeCommand(a),
	)
}

// pairingState is the state in words, with the next step for a pairing that lapsed.
func pairingState(r api.Pairing) string {
	switch r.State {
	case api.PairingLapsed:
		return "lapsed: hob has another account there now; hob pairing start " + r.Channel
	case api.PairingOver:
		return "ended: no account was paired"
	}
	return string(r.State)
}

// pairingListCommand makes hob pairing list.
func pairingListCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[api.Pairing]{
		Route: api.Pairings, Short: "List the pairings, newest first", None: "nobody has been paired yet; begin with: hob pairing start CHANNEL",
		States: []string{string(api.PairingOpen), string(api.PairingBound), string(api.PairingLapsed), "ended", "revoked"}, Stored: map[string]string{"ended": string(api.PairingOver)},
		Head: []string{"PAIRING", "CHANNEL", "STATE", "BEGUN", "OWNER"},
		Row: func(r api.Pairing, clock cli.Clock) []string {
			return []string{cli.ID(r.ID), r.Channel, pairingState(r), clock(r.Created), console.OrDash(setup.PairedName(r))}
		},
	})
}

// pairingRevokeCommand asks first, because hob then ignores that account.
func pairingRevokeCommand(a *cli.App) *cobra.Command {
	return cli.Remove(a, cli.Removal[api.Pairing]{
		Use: "revoke PAIRING", Short: "Take a pairing back: that account is a stranger again", Example: "  hob pairing revoke 3\n  hob pairing revoke --yes 3",
		Args: onePairing, Row: api.ShowPairing, Question: "revoke it?",
		// An open pairing loses its code, a bound one its account.
		Loss: func(r api.Pairing) string {
			if r.State == api.PairingBound {
				return fmt.Sprintf("this makes %s a stranger on %s, to whom hob does not listen", setup.PairedName(r), r.Channel)
			}
			return fmt.Sprintf("this ends pairing %d of %s: its code is no longer valid", r.ID, r.Channel)
		},
		Remove: func(ctx context.Context, r api.Pairing) error {
			done := fmt.Sprintf("pairing %d is revoked", r.ID)
			if r.State == api.PairingBound {
				done = fmt.Sprintf("%s is a stranger on %s from now on", setup.PairedName(r), r.Channel)
			}
			return cli.Do(ctx, a, api.RevokePairing, cli.ID(r.ID), api.None{}, done)
		},
	})
}

// onePairing accepts the number of one pairing.
func onePairing(cmd *cobra.Command, args []string) error {
	if err := cli.Exactly(1, "one PAIRING")(cmd, args); err != nil {
		return err
	}
	if n, err := strconv.ParseInt(args[0], 10, 64); err != nil || n < 1 {
		return cli.Usage("see: hob pairing list", "%q is not the id of a pairing", args[0])
	}
	return nil
}
