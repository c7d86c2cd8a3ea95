package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// upgradeCheck is the JSON document of hob upgrade --check.
type upgradeCheck struct {
	Installed string                  `json:"installed"`         // the version of this binary
	Running   string                  `json:"running,omitempty"` // that of the daemon; "": none runs
	Database  daemon.UpgradeRehearsal `json:"database"`
}

// upgradeCommand makes hob upgrade. hob does not replace its own binary: a package manager or its owner does.
func upgradeCommand(a *cli.App) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use: "upgrade", Short: "Try on a copy what a newer hob changes in the database", Args: cli.None, Example: "  hob upgrade --check",
		Long: "Compare the hob that runs with the one that is installed, and migrate a copy of the database with the installed one. Nothing is changed.\n" +
			"The upgrade itself happens when the new hob starts; it keeps the database of before as a backup.\n" +
			"The exit code is 1 if that start would be refused because the disk is too full.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !check {
				return cli.Usage("try it first with: hob upgrade --check", "hob is upgraded by installing the new binary and starting it")
			}
			return checkUpgrade(cmd.Context(), a)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "change nothing: migrate a copy, and say what happened")
	return cmd
}

// checkUpgrade rehearses the upgrade that the next start of this binary makes.
func checkUpgrade(ctx context.Context, a *cli.App) error {
	home, err := ownHome(a)
	if err != nil {
		return err
	}
	r := upgradeCheck{Installed: version().Version}
	running, copied, err := runningCopy(ctx, home)
	if err != nil {
		return err
	}
	if running != nil {
		s, err := client.Show(ctx, running, api.ShowStatus, "")
		if err != nil {
			return err
		}
		r.Running = s.Version
	}
	defer noteIfSlow(a, "copying the database, and migrating the copy: a large one takes a while")()
	if r.Database, err = daemon.RehearseUpgrade(ctx, home, copied); err != nil {
		return explainRunning(err)
	}
	if a.JSON {
		err = a.Document(r)
	} else {
		a.Say("%s", r.text())
	}
	if err == nil && r.refused() {
		return &cli.Problem{Code: cli.ExitFailed} // all has been said
	}
	return err
}

// refused reports whether the new hob would not start, because the disk has no room for the upgrade.
func (r upgradeCheck) refused() bool {
	return r.Database.From != r.Database.To && r.Database.Free < r.Database.Needs
}

// text says what would happen at the next start.
func (r upgradeCheck) text() string {
	running := "no hob runs"
	if r.Running != "" {
		running = "running: hob " + r.Running
		if r.Running == r.Installed && r.Database.From == r.Database.To { // two builds without a version have the same name
			running += ", the same"
		}
	}
	text := fmt.Sprintf("installed: hob %s; %s\n", r.Installed, running)
	d := r.Database
	if d.From == d.To {
		return text + fmt.Sprintf("the database has schema %d, the newest that this hob knows: a start changes nothing in it", d.From)
	}
	text += fmt.Sprintf("the database goes from schema %d to %d (%s); on a copy this took %s, and the copy is sound\n", d.From, d.To, console.Plural(int64(len(d.Steps)), "step"), console.Span(d.MS))
	for _, s := range d.Steps {
		text += "  " + s + "\n"
	}
	text += fmt.Sprintf("it needs %s of free space, and %s are free", console.Size(d.Needs), console.Size(d.Free))
	if r.refused() {
		return text + ": free some space before you start the new hob"
	}
	return text + "\nthe database of before is kept: hob backup list shows it, hob backup restore PATH goes back to it"
}
