package setup

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/config/document"
	"hob/daemon/api"
	"hob/daemon/api/client"
)

// RemoveCommand makes hob channels rm. It needs no daemon, because a channel is a section of config.toml.
func RemoveCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm CHANNEL", Short: "Remove a channel from config.toml", Args: cli.Exactly(1, "one CHANNEL"), ValidArgsFunction: cli.Complete(a, api.Channels),
		Long:    "Remove a channel from config.toml. hob then neither reads nor writes there. Pairings, messages and secrets stay: a channel of the same\nname finds them again.",
		Example: "  hob channels rm alerts\n  hob channels rm --yes alerts",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return removeChannel(cmd.Context(), a, args[0], *yes) }
	return cmd
}

// removeChannel asks, and takes the section of a channel out.
func removeChannel(ctx context.Context, a *cli.App, name string, yes bool) error {
	home, err := ownHome(ctx, a)
	if err != nil {
		return err
	}
	path := filepath.Join(home, "config.toml")
	before, err := config.FileContent(path)
	if err != nil {
		return err
	}
	tree, err := document.Parse(before)
	if err != nil {
		return &cli.Problem{Code: cli.ExitFailed, Text: "config.toml cannot be read as it is", Hint: "see: hob config validate"}
	}
	all, _ := tree["channels"].(map[string]any)
	section, ok := all[name].(map[string]any)
	if !ok {
		return &cli.Problem{Code: cli.ExitFailed, Text: fmt.Sprintf("there is no channel %s in config.toml", name), Hint: "see: hob channels list"}
	}
	c, down := client.Find(ctx, home, false)
	kept := []string{}
	if down == nil {
		kept = remains(ctx, c, name)
	}
	loss := fmt.Sprintf("this takes [channels.%s] out of %s", name, path)
	if len(kept) > 0 {
		loss += "; what stays: " + strings.Join(kept, ", ")
	}
	if err := a.Confirm(ctx, yes, loss, "remove it?"); err != nil {
		return err
	}
	next, err := document.Remove(before, []string{"channels", name})
	if err != nil {
		return fmt.Errorf("remove [channels.%s]: %w (change it with: hob config edit)", name, err)
	}
	if err := Save(path, before, next); err != nil {
		return err
	}
	if down == nil {
		awaitGone(ctx, c, name) // so that the next command finds it gone
	}
	if err := a.Done(map[string]any{"channel": name, "file": path, "stays": kept}, "channel "+name+" is removed"); err != nil {
		return err
	}
	for _, k := range kept {
		a.Note("what stays: " + k)
	}
	a.Note("to undo it: " + addAgain(name, section))
	return nil
}

// awaitGone waits until the running daemon has closed a channel that was taken out of the config.
func awaitGone(ctx context.Context, c *client.Client, name string) {
	Loaded(ctx, func(ctx context.Context) *bool {
		rows, err := client.List(ctx, c, api.Channels, client.Filter{})
		gone := err == nil && !slices.ContainsFunc(rows, func(r api.Channel) bool { return r.Name == name })
		if !gone {
			return nil
		}
		return &gone
	})
}

// maxRemains is how many rows are counted of what stays.
const maxRemains = 1000

// remains says what of a channel stays in the database: pairings and messages that are not sent.
func remains(ctx context.Context, c *client.Client, name string) []string {
	list := []string{}
	// A list that cannot be read leaves its line out; the removal does not depend on it.
	if rows, err := client.List(ctx, c, api.Pairings, client.Filter{State: string(api.PairingBound), Limit: maxRemains}); err == nil {
		rows = slices.DeleteFunc(rows, func(r api.Pairing) bool { return r.Channel != name })
		for _, r := range rows {
			list = append(list, fmt.Sprintf("the pairing of %s (hob pairing revoke %d)", PairedName(r), r.ID))
		}
	}
	if rows, err := client.List(ctx, c, api.Outbox, client.Filter{State: "ready", Limit: maxRemains}); err == nil {
		n := 0
		for _, r := range rows {
			if r.To.Channel() == name {
				n++
			}
		}
		if n > 0 {
			list = append(list, fmt.Sprintf("%d queued to be sent there (hob outbox list)", n))
		}
	}
	return list
}

// addAgain is the command that makes the section again. A key that no flag can give is left to the owner.
func addAgain(name string, section map[string]any) string {
	kind, ok := section["kind"].(string)
	if !ok {
		kind = name
	}
	line := "hob channels add " + kind
	if name != kind {
		line += " --name " + name
	}
	var keys []string
	for key := range section {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		text, ok := section[key].(string)
		on, toggle := section[key].(bool)
		switch {
		case key == "kind":
		case toggle:
			line += fmt.Sprintf(" --%s=%t", strings.ReplaceAll(key, "_", "-"), on)
		case ok && !strings.ContainsAny(text, " '\"\\$`!*?;&|<>()"):
			line += " --" + strings.ReplaceAll(key, "_", "-") + " " + text
		default:
			line += " --" + strings.ReplaceAll(key, "_", "-") + " …"
		}
	}
	return line
}
