package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/daemon/sys"
)

// Save writes the file. It refuses if someone else changed it meanwhile. An editor or another command may
// have written it since before was read; neither change may be lost.
func Save(path string, before, doc []byte) error {
	err := config.WriteFile(path, before, doc)
	if errors.Is(err, config.ErrChanged) {
		return &cli.Problem{Code: cli.ExitFailed, Text: err.Error(), Hint: "nothing was written; look at it and try again"}
	}
	// The file is written under another name first, so what matters is the folder.
	if bad := sys.Writable(filepath.Dir(path)); err != nil && bad != nil {
		err = bad
	}
	if text, hint := sys.NamedDiskProblem(err); hint != "" {
		return &cli.Problem{Code: cli.ExitFailed, Text: path + " cannot be written: " + text, Hint: hint}
	}
	return err
}

// reloadTimeout is how long a running daemon may take to reload its config.
const reloadTimeout = 5 * time.Second

// Loaded waits until the running daemon has loaded what was written; nil after reloadTimeout. look finds it.
func Loaded[R any](ctx context.Context, look func(context.Context) *R) *R {
	return within(ctx, reloadTimeout, look)
}

// within asks again and again until look finds something; nil after the time limit, or when ctx ends.
func within[R any](ctx context.Context, limit time.Duration, look func(context.Context) *R) *R {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	// Nothing tells this process when the daemon is that far.
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if r := look(ctx); r != nil {
			return r
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// LiteralSecret refuses a secret on the command line, where every user of the machine can read it.
func LiteralSecret(flag string) error {
	return cli.Usage("others can read a command line; name it by env:NAME, file:PATH, keyring:NAME or cmd:COMMAND, or write - and pipe it in", "%s takes a reference, not the secret itself", flag)
}

// SecretsFolder holds pasted secrets, below the home.
const SecretsFolder = "secrets"

// keep writes pasted secrets into files with mode 0600 and sets the keys to references to them. made are the files that are new.
func (d *sectionDraft) keep(home string) (made []string, err error) {
	for _, key := range slices.Sorted(maps.Keys(d.pasted)) {
		name, fresh, err := KeepSecret(home, d.name+"-"+key, d.pasted[key])
		if err != nil {
			return made, err
		}
		if fresh {
			made = append(made, filepath.Join(home, name))
		}
		d.values[key] = "file:" + name
		d.app.Note("the secret is in " + filepath.Join(home, name))
	}
	return made, nil
}

// KeepSecret writes a secret into a file, and returns its path within the home. fresh is false if the file was there with the same secret, as
// after a command that was killed.
func KeepSecret(home, name, text string) (path string, fresh bool, err error) {
	folder := filepath.Join(home, SecretsFolder)
	err = makeFolder(home, folder)
	if err == nil {
		name, fresh, err = createUnused(folder, name, text+"\n")
	}
	if err != nil {
		return "", false, fmt.Errorf("keep a secret: %w", err)
	}
	return SecretsFolder + "/" + name, fresh, nil
}

// createUnused writes a file under a new name, adding a number if the name is taken, and returns the name. An
// older secret of a channel with the same name stays: something else may still refer to it.
func createUnused(folder, name, text string) (free string, fresh bool, err error) {
	for n := 1; ; n++ {
		free = name
		if n > 1 {
			free = fmt.Sprintf("%s-%d", name, n)
		}
		// O_EXCL makes the check and the creation one step, so two commands never share a file.
		f, err := os.OpenFile(filepath.Join(folder, free), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			if has, err := os.ReadFile(filepath.Join(folder, free)); err == nil && string(has) == text {
				return free, false, nil
			}
			continue
		}
		if err != nil {
			return "", false, err
		}
		// Sync before the name is used: after a crash the config must not refer to an empty file.
		_, err = f.WriteString(text)
		if err = errors.Join(err, sys.Adopt(f, folder), f.Sync(), f.Close()); err != nil {
			return "", false, errors.Join(err, os.Remove(f.Name())) // the disk may be full: half a secret is none
		}
		return free, true, nil
	}
}

// makeFolder makes a folder of the home, for the home's owner.
func makeFolder(home, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(sys.Adopt(f, home), f.Close())
}
