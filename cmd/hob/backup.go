package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/sys"
	"hob/daemon/text"
)

// backupCommand makes hob backup. It never opens the database itself: package daemon does.
func backupCommand(a *cli.App) *cobra.Command {
	// create asks the running daemon for the database, because only it may read it while it is open. list, verify and restore work on
	// files and need no daemon.
	list := &cobra.Command{
		Use: "list", Short: "List the copies in hob's own backups folder", Args: cli.None,
		RunE: func(*cobra.Command, []string) error { return printBackups(a) },
	}
	return cli.Family("backup", "Back up everything, or the database alone, and restore it", backupCreateCommand(a), backupVerifyCommand(a), list, backupRestoreCommand(a))
}

// noticeDelay is the time after which a waiting user gets a note that the operation takes long.
const noticeDelay = 2 * time.Second

// noteIfSlow prints text on a terminal unless stop is called within noticeDelay.
func noteIfSlow(a *cli.App, text string) (stop func() bool) {
	return time.AfterFunc(noticeDelay, func() {
		if cli.IsTerminal(a.Err) {
			a.Note(text)
		}
	}).Stop
}

// createBackup asks the daemon for a copy. The daemon writes it while it goes on working, reads every page of
// it again, and only then answers.
func createBackup(ctx context.Context, a *cli.App, in api.BackupPath) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	defer noteIfSlow(a, "copying the database, and looking at the copy: a large one takes a while")()
	made, err := client.Do(ctx, c, api.CreateBackup, "", in)
	if err != nil {
		return err
	}
	return a.Done(made, fmt.Sprintf("wrote %s (%s in %s): %s", made.Path, console.Size(made.Bytes), console.Span(made.MS), backupContents(a, made.BackupReport)))
}

// backupContents summarizes the contents of a copy.
func backupContents(a *cli.App, r daemon.BackupReport) string {
	return fmt.Sprintf("%s, %s, %s, up to %s", console.Plural(r.Messages, "input"), console.Plural(r.Turns, "turn"), console.Plural(r.Jobs, "job"), a.Exact(r.Newest))
}

// digestText says whether a checksum confirmed the content.
func digestText(r daemon.BackupReport) string {
	if r.Digest == "" {
		return "it has no checksum file: only its structure was checked"
	}
	return "its content matches its checksum: SHA-256 " + r.Digest
}

// verifyBackup reads every page of a copy and compares the checksum that was written beside it, if there is
// one.
func verifyBackup(ctx context.Context, a *cli.App, path string) (daemon.BackupReport, error) {
	defer noteIfSlow(a, "looking at every page of the copy: a large one takes a while")()
	return daemon.VerifyBackup(ctx, path)
}

// homeBackups lists the copies in the home of the caller.
// The list has the copies that hob makes by schedule and those that were made by hand.
func homeBackups(a *cli.App) (home string, list []daemon.BackupFile, err error) {
	// The backups are read as files, so no daemon has to run.
	if home, _, err = a.HomeDir(); err == nil {
		err = cli.CheckHome(home)
	}
	if err == nil {
		list, err = daemon.Backups(home)
	}
	// The home of a system-wide hob is closed to its users.
	if errors.Is(err, os.ErrPermission) {
		err = &cli.Problem{Code: cli.ExitFailed, Text: "the home " + home + " is closed to you", Hint: "only its owner may look into it"}
	}
	return home, list, err
}

// newestBackup returns the path of the newest copy in the home, for --latest.
func newestBackup(a *cli.App) (string, error) {
	home, list, err := homeBackups(a)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", &cli.Problem{Code: cli.ExitFailed, Text: "there is no backup in " + filepath.Join(home, "state", "backups"), Hint: "make one with: hob backup create"}
	}
	return daemon.NewestBackup(list).Path, nil
}

// completeBackups offers the copies in the backups folder, and lets the shell offer other files.
func completeBackups(a *cli.App) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// If the copies cannot be listed, the shell still offers its files.
		_, list, err := homeBackups(a)
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		var paths []string
		for _, f := range list {
			paths = append(paths, f.Path)
		}
		return console.Beginning(paths, typed), cobra.ShellCompDirectiveDefault
	}
}

// printBackups lists the copies, the newest first. It reads the folder itself, so it works while no daemon
// runs.
func printBackups(a *cli.App) error {
	home, list, err := homeBackups(a)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Document(list)
	}
	kept := filepath.Join(home, "state", "before-restore")
	restores, err := os.ReadDir(kept)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(restores) > 0 {
		defer a.Say("%s has what %s replaced", kept, console.Plural(len(restores), "restore"))
	}
	if len(list) == 0 {
		a.Say("there is no backup yet; make one with: hob backup create")
		return nil
	}
	var rows [][]string
	zone := a.Zone()
	for _, f := range list {
		rows = append(rows, []string{text.When(f.Made.In(zone), time.Now(), f.Made.Second() != 0), console.Size(f.Bytes), backupOrigin(f), f.Path})
	}
	return a.Table([]string{"MADE", "SIZE", "WHAT", "PATH"}, rows)
}

// backupOrigin says what a copy contains and how it was made.
func backupOrigin(f daemon.BackupFile) string {
	switch {
	case f.Whole:
		return "everything"
	case f.Auto:
		return "database, by schedule"
	case f.Upgrade > 0:
		return "database, before an upgrade"
	case f.Replaced:
		return "database, before a restore"
	}
	return "database, by hand"
}

// backupRestoreCommand makes hob backup restore.
func backupRestoreCommand(a *cli.App) *cobra.Command {
	var yes *bool
	var key backupKeyFlags
	cmd := &cobra.Command{
		Use: "restore PATH", Short: "Put a backup in the place of what is there, while hob does not run", Args: cli.Exactly(1, "the PATH of a backup"), ValidArgsFunction: completeBackups(a),
		Example: "  hob backup restore hob.tar.gz.age\n  hob --home /srv/hob backup restore hob.tar.gz.age\n  hob backup restore --yes hob-2026-11-21.db",
		Long: "Put a backup in the place of what is there. It is read to its end first. A backup of everything replaces config, workspace, artifacts,\n" +
			"skills and database. What it replaces is kept in a new folder in state/before-restore. A copy of the database replaces that alone. The old\n" +
			"database is kept in state/backups. hob must not run meanwhile. Messages and inputs that waited when the copy was made are held\n" +
			"afterwards: nobody can know whether they went out, or were answered, since.",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("find the backup: %w", err)
			}
			k, whole, err := key.open(cmd.Context(), a, path)
			if err != nil {
				return err
			}
			if whole {
				return restoreWhole(cmd.Context(), a, path, k, *yes)
			}
			return restoreBackup(cmd.Context(), a, path, *yes)
		},
	}
	yes = cli.YesFlag(cmd)
	key.toRead(cmd)
	return cmd
}

// restoreResult is the JSON document of a restore.
// Lost is computed before the question, Held by the restore itself.
type restoreResult struct {
	Backup daemon.BackupReport `json:"backup"`
	Lost   daemon.BackupLoss   `json:"lost"`
	Held   daemon.RestoreNote  `json:"held"`
	Kept   string              `json:"kept,omitempty"` // the database that was replaced
}

// restoreBackup replaces the database by a copy. It first verifies the copy, then says what would be lost
// since, then asks, and only then touches the home. Each step before the question leaves everything as it was.
func restoreBackup(ctx context.Context, a *cli.App, path string, yes bool) error {
	home, err := ownHome(a)
	if err != nil {
		return err
	}
	done := restoreResult{}
	if done.Backup, err = verifyBackup(ctx, a, path); err != nil {
		return err
	}
	// Without a checksum a copy can be changed without anyone noticing. That is worth a remark, but it is no
	// reason to refuse it.
	if done.Backup.Digest == "" {
		a.Note(digestText(done.Backup))
	}
	// This reads the database that is to be replaced. It fails with daemon.ErrRunning while a daemon holds it.
	if done.Lost, err = daemon.RestoreLoss(ctx, home, done.Backup); err != nil {
		return explainRunning(err)
	}
	loss := fmt.Sprintf("this puts the copy %s (%s) in the place of the database of %s\n%s", done.Backup.Path, backupContents(a, done.Backup), home, loses(a, done.Lost, 0))
	if err := a.Confirm(ctx, yes, loss, "restore it?"); err != nil {
		return err
	}
	defer noteIfSlow(a, "copying the database: a large one takes a while")()
	// A daemon may have started while the person read the question, so this can fail with daemon.ErrRunning too.
	if done.Held, done.Kept, err = daemon.RestoreBackup(ctx, home, path); err != nil {
		return explainRunning(err)
	}
	text := fmt.Sprintf("restored %s: %s", done.Backup.Path, backupContents(a, done.Backup))
	if done.Kept != "" {
		text += "\n" + wayBack(a, done.Kept, done.Lost)
	}
	return a.Done(done, text+heldAndNext(done.Held))
}

// wayBack says where a replaced database is kept, and how to return to it.
func wayBack(a *cli.App, kept string, l daemon.BackupLoss) string {
	if l.Damaged != "" {
		return "the damaged database is kept as " + kept
	}
	return "the old database is kept; to return to it: " + a.Hob() + " backup restore " + cli.Quote(kept)
}

// ownHome returns the home and refuses one that belongs to another user: its owner could not read files that root writes there.
func ownHome(a *cli.App) (string, error) {
	home, _, err := a.HomeDir()
	if err == nil {
		err = cli.CheckHome(home)
	}
	if err != nil {
		return "", err
	}
	// A home that does not exist yet will belong to the caller.
	uid, mine, err := sys.FileOwner(home)
	if errors.Is(err, os.ErrNotExist) || err == nil && mine {
		return home, nil
	}
	if err != nil {
		return "", fmt.Errorf("look at the home: %w", err)
	}
	return "", &cli.Problem{
		Code: cli.ExitFailed, Text: fmt.Sprintf("the home %s belongs to another user (%d)", home, uid),
		Hint: fmt.Sprintf("type it as that one: sudo -u '#%d' hob --home %s backup restore PATH", uid, cli.Quote(home)),
	}
}

// explainRunning adds a hint to the error that a daemon holds the database.
func explainRunning(err error) error {
	if errors.Is(err, daemon.ErrRunning) {
		return &cli.Problem{Code: cli.ExitFailed, Text: "hob is running: its database cannot be replaced", Hint: "stop it first: hob service stop, or Ctrl-D where hob up runs"}
	}
	return err
}

// loses says what the backup does not have: everything that happened after it was made. files are those of the home that changed since.
func loses(a *cli.App, l daemon.BackupLoss, files int64) string {
	changed := ""
	if files > 0 {
		changed = "\nalso not in it: what changed since in " + console.Plural(files, "file") + " of the home"
	}
	switch {
	// A database that cannot be read is a common reason for a restore.
	case l.Damaged != "":
		return "hob cannot tell what is not in it, because it cannot read the database there: " + l.Damaged + changed
	case l.Newest.IsZero() && files == 0:
		return "there is no database yet, so nothing is lost"
	case l.Newest.IsZero():
		return "there is no database yet" + changed
	// The copy and the database have different instance ids: they never were the same hob.
	case l.Foreign:
		return "the backup is of another hob: it has nothing that this one knows, up to " + a.Exact(l.Newest) + changed
	}
	return fmt.Sprintf("what happened since is not in it: %s, %s, %s sent, up to %s",
		console.Plural(l.Messages, "input"), console.Plural(l.Turns, "turn"), console.Plural(l.Sent, "message"), a.Exact(l.Newest)) + changed
}

// heldAndNext ends the text of a restore: what waits for the owner's decision, and how to start hob.
func heldAndNext(n daemon.RestoreNote) string {
	const next = "\nstart hob with: hob up, or hob service start"
	if n.Messages == 0 && n.Inputs == 0 {
		return next
	}
	return fmt.Sprintf("\nheld, because nobody can know whether they went out or were answered since: %s, %s; see hob outbox list --state held and hob inbox list --state held",
		console.Plural(n.Messages, "message"), console.Plural(n.Inputs, "input")) + next
}
