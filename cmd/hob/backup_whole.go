package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// backupKeyFlags are the flags that say how a backup is encrypted.
type backupKeyFlags struct {
	passphraseFile, recipient, identity string
	plain                               bool
}

func (f *backupKeyFlags) passphrase(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.passphraseFile, "passphrase-file", "", "read the passphrase from the first line of this file; - is standard input")
}

// toRead adds the flags of a command that reads a backup.
func (f *backupKeyFlags) toRead(cmd *cobra.Command) {
	f.passphrase(cmd)
	cmd.Flags().StringVar(&f.identity, "identity", "", "the file with the age key of the backup's recipient")
}

// backupCreateCommand makes hob backup create.
func backupCreateCommand(a *cli.App) *cobra.Command {
	var key backupKeyFlags
	var secrets, database bool
	cmd := &cobra.Command{
		Use: "create [PATH]", Short: "Write a backup (default: into hob's own backups folder)", Args: cli.AtMost(1, "one PATH"), ValidArgsFunction: completeBackups(a),
		Example: "  hob backup create\n  hob backup create --secrets /mnt/usb/hob.tar.gz.age\n  hob backup create --database /mnt/usb/hob.db",
		Long: "Write one file with the config, the workspace and its memory, artifacts, skills and the database, while hob runs or not. It is encrypted\n" +
			"with a passphrase, which is asked for twice, or for a key of age; --plain leaves that out. Secrets are in it only with --secrets, but those\n" +
			"of webhooks, which are in the database, and those that config.toml itself contains are always in it.\n" +
			"--database copies the database alone, without encryption, as hob does each night.",
		RunE: func(cmd *cobra.Command, args []string) error {
			path := ""
			if len(args) == 1 {
				// The daemon has another current folder, so it gets an absolute path.
				var err error
				if path, err = filepath.Abs(args[0]); err != nil {
					return fmt.Errorf("find the folder: %w", err)
				}
			}
			if !database {
				return createWhole(cmd.Context(), a, key, daemon.WholeOptions{Path: path, Secrets: secrets, Version: version().Version})
			}
			if secrets || key != (backupKeyFlags{}) {
				return cli.Usage("leave out the other flags, or --database", "--database copies the database alone, and does not encrypt it")
			}
			return createBackup(cmd.Context(), a, api.BackupPath{Path: path})
		},
	}
	cmd.Flags().BoolVar(&secrets, "secrets", false, "include tokens, passwords and the files that the config names for them")
	cmd.Flags().BoolVar(&database, "database", false, "copy the database alone; hob must run")
	cmd.Flags().BoolVar(&key.plain, "plain", false, "do not encrypt")
	cmd.Flags().StringVar(&key.recipient, "recipient", "", "encrypt for this age recipient (age1…) instead of a passphrase")
	key.passphrase(cmd)
	return cmd
}

// forWriting returns the key of a new backup. On a terminal the passphrase is asked for twice.
func (f *backupKeyFlags) forWriting(ctx context.Context, a *cli.App) (k daemon.BackupKey, err error) {
	chosen := 0
	for _, set := range []bool{f.plain, f.recipient != "", f.passphraseFile != ""} {
		if set {
			chosen++
		}
	}
	const ways = "--passphrase-file FILE, --recipient age1…, or --plain"
	switch {
	case chosen > 1:
		return k, cli.Usage("choose one of "+ways, "a backup is protected in one way")
	case f.plain:
		return k, nil
	case f.recipient != "":
		return daemon.BackupKey{Recipient: f.recipient}, nil
	case f.passphraseFile != "":
		k.Passphrase, err = f.readPassphrase(a)
		return k, err
	case a.JSON || !cli.IsTerminal(a.In) || !cli.IsTerminal(a.Err):
		return k, cli.Usage("add "+ways, "the backup is to be encrypted, and nobody is here to type a passphrase")
	}
	a.Note("without this passphrase nobody can read the backup, and you cannot either: keep it apart from this machine")
	if k.Passphrase, err = setup.Hidden(ctx, a, "passphrase: "); err != nil {
		return k, err
	}
	again, err := setup.Hidden(ctx, a, "again: ")
	switch {
	case err != nil:
		return k, err
	case k.Passphrase == "":
		return k, cli.Usage("type one, or add --plain", "an empty passphrase protects nothing")
	case again != k.Passphrase:
		return k, cli.Usage("try again", "the two passphrases differ")
	}
	return k, nil
}

// readPassphrase reads the first line of the file that --passphrase-file names.
func (f *backupKeyFlags) readPassphrase(a *cli.App) (string, error) {
	in := a.In
	if f.passphraseFile != "-" {
		file, err := os.Open(f.passphraseFile)
		if err != nil {
			return "", cli.Usage("name a file that you can read", "the passphrase cannot be read: %s", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, 1<<16))
	if err != nil {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", cli.Usage("its first line is the passphrase", "the file of the passphrase is empty")
	}
	return line, nil
}

// open returns the key that a backup needs, and whether it is one of everything.
func (f *backupKeyFlags) open(ctx context.Context, a *cli.App, path string) (k daemon.BackupKey, whole bool, err error) {
	whole, passphrase, key, err := daemon.IsWhole(path)
	switch {
	case err != nil || !whole || !passphrase && !key:
		return k, whole, err
	case key && f.identity != "":
		text, err := os.ReadFile(f.identity)
		if err != nil {
			return k, whole, cli.Usage("name the file that age-keygen made", "the identity cannot be read: %s", err)
		}
		k.Identity = string(text)
	case passphrase && f.passphraseFile != "":
		k.Passphrase, err = f.readPassphrase(a)
	// Without a terminal the daemon's package says what is missing.
	case passphrase && !a.JSON && cli.IsTerminal(a.In) && cli.IsTerminal(a.Err):
		k.Passphrase, err = setup.Hidden(ctx, a, "passphrase: ")
	}
	return k, whole, err
}

// runningCopy returns the running daemon, and what asks it for a copy of its database. Both are nil if none runs.
func runningCopy(ctx context.Context, home string) (c *client.Client, copied func(ctx context.Context, path string) error, err error) {
	c, err = client.Find(ctx, home, false)
	if errors.Is(err, client.ErrNoDaemon) {
		return nil, nil, nil
	}
	return c, func(ctx context.Context, path string) error {
		_, err := client.Do(ctx, c, api.CreateBackup, "", api.BackupPath{Path: path})
		return err
	}, err
}

// createWhole writes a backup of everything.
func createWhole(ctx context.Context, a *cli.App, key backupKeyFlags, o daemon.WholeOptions) error {
	home, err := ownHome(a)
	if err != nil {
		return err
	}
	if o.Key, err = key.forWriting(ctx, a); err != nil {
		return err
	}
	if _, o.Database, err = runningCopy(ctx, home); err != nil {
		return err
	}
	defer noteIfSlow(a, "copying everything: a large home takes a while")()
	w, err := daemon.SaveWhole(ctx, home, o)
	if err != nil {
		return explainRunning(err)
	}
	return a.Done(w, fmt.Sprintf("wrote %s (%s)\n%s", w.Path, console.Size(w.Bytes), wholeContents(a, w)))
}

// wholeContents says what a backup of everything has, and what it has not.
func wholeContents(a *cli.App, w daemon.WholeBackup) string {
	text := fmt.Sprintf("it has the database (%s), and %s of config, workspace, artifacts and skills", backupContents(a, w.Database), console.Plural(int64(max(w.Files-1, 0)), "file"))
	switch {
	case w.Secrets && !w.Encrypted:
		text += "\nit contains secrets and is not encrypted: whoever reads the file has them"
	case w.Secrets:
		text += "\nit contains secrets, encrypted"
	}
	home, elsewhere := w.SecretsLeftOut()
	if len(home) > 0 {
		text += "\nit was made without --secrets, so these secrets are not in it: " + strings.Join(home, ", ")
	}
	if w.ConfigSecret {
		text += "\nconfig.toml is in it, which has a secret of its own or cannot be read"
	}
	if n := w.Database.HookSecrets; n > 0 {
		text += "\nthe database has the secrets of " + console.Plural(n, "webhook")
	}
	if len(elsewhere) > 0 {
		text += "\nconfig.toml names secrets outside of the home, which no backup contains: " + strings.Join(elsewhere, ", ")
	}
	if len(w.Changed) > 0 {
		text += fmt.Sprintf("\n%s changed while it was copied: %s", console.Plural(int64(len(w.Changed)), "file"), strings.Join(w.Changed[:min(len(w.Changed), 5)], ", "))
	}
	if len(w.Skipped) > 0 {
		text += fmt.Sprintf("\nleft out: %s (links and special files), such as %s", console.Plural(int64(len(w.Skipped)), "name"), w.Skipped[0])
	}
	return text
}

// backupVerifyCommand makes hob backup verify. It reads the copy in this process, so that a copy can be checked
// on a machine without a daemon.
func backupVerifyCommand(a *cli.App) *cobra.Command {
	var latest bool
	var key backupKeyFlags
	cmd := &cobra.Command{
		Use: "verify PATH|--latest", Short: "Look at a backup: is it whole, and what does it hold", Args: cli.AtMost(1, "one PATH"), ValidArgsFunction: completeBackups(a),
		Example: "  hob backup verify --latest\n  hob backup verify hob-2026-11-21.db\n  hob backup verify --passphrase-file ~/phrase hob.tar.gz.age",
		RunE: func(cmd *cobra.Command, args []string) error {
			// Exactly one of the two is needed: both, or neither, is a mistake.
			if latest == (len(args) == 1) {
				return cli.Usage("hob backup verify --latest, or: hob backup verify PATH", "name one PATH, or --latest")
			}
			var path string
			var err error
			if latest {
				path, err = newestBackup(a)
			} else {
				path, err = filepath.Abs(args[0])
			}
			if err != nil {
				return err
			}
			k, whole, err := key.open(cmd.Context(), a, path)
			if err != nil {
				return err
			}
			if whole {
				return verifyWhole(cmd.Context(), a, path, k)
			}
			return verifyCopy(cmd.Context(), a, path)
		},
	}
	cmd.Flags().BoolVar(&latest, "latest", false, "the newest copy in hob's own backups folder")
	key.toRead(cmd)
	return cmd
}

// verifyCopy looks at a copy of the database.
func verifyCopy(ctx context.Context, a *cli.App, path string) error {
	r, err := verifyBackup(ctx, a, path)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Document(r)
	}
	a.Say("%s is whole and sound: %s\nsize %s · schema %d · written by hob %s · instance %s\n%s",
		r.Path, backupContents(a, r), console.Size(r.Bytes), r.Schema, console.OrDash(r.Version), r.Instance, digestText(r))
	return nil
}

// verifyWhole looks at a backup of everything.
func verifyWhole(ctx context.Context, a *cli.App, path string, k daemon.BackupKey) error {
	defer noteIfSlow(a, "reading the whole backup: a large one takes a while")()
	w, err := daemon.VerifyWhole(ctx, path, k)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Document(w)
	}
	a.Say("%s is whole and sound, made %s by hob %s\n%s\nevery file matches its SHA-256", w.Path, a.Exact(w.Made), console.OrDash(w.Version), wholeContents(a, w))
	return nil
}

// restoreWhole replaces a home. Everything is extracted and checked before the question.
func restoreWhole(ctx context.Context, a *cli.App, path string, k daemon.BackupKey, yes bool) error {
	home, err := ownHome(a)
	if err != nil {
		return err
	}
	stop := noteIfSlow(a, "extracting the backup, and checking it: a large one takes a while")
	done, err := daemon.RestoreWhole(ctx, home, path, k, func(w daemon.WholeRestore) error {
		stop()
		loss := fmt.Sprintf("this puts the backup %s of %s in the place of config, workspace, artifacts, skills and database of %s\n%s\nwhat it replaces is kept in %s",
			path, a.Exact(w.Backup.Made), home, loses(a, w.Lost, w.Newer), w.Kept)
		return a.Confirm(ctx, yes, loss, "restore it?")
	})
	stop()
	if err != nil {
		return explainRunning(err)
	}
	text := fmt.Sprintf("restored %s: %s", path, backupContents(a, done.Backup.Database))
	if done.Kept != "" {
		text += "\nwhat was there before is kept in " + done.Kept
	}
	if done.Kept != "" && done.Lost.Damaged == "" {
		file := "before-" + filepath.Base(done.Kept) + ".tar.gz"
		text += fmt.Sprintf("\nto return to it: hob --home %s backup create --plain --secrets %s, then %s backup restore %s", cli.Quote(done.Kept), file, a.Hob(), file)
	}
	if missing := done.Backup.MissingSecrets(home); len(missing) > 0 {
		text += "\nthese secrets were not in it:\n  " + strings.Join(missing, "\n  ")
	}
	return a.Done(done, text+heldAndNext(done.Held))
}
