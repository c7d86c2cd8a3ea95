package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/config"
	"hob/config/document"
	"hob/config/schema"
	"hob/daemon/api/client"
	"hob/daemon/secret"
)

// setCommand makes hob config set.
func (k configCommands) setCommand() *cobra.Command {
	var unset bool
	cmd := &cobra.Command{
		Use: "set KEY VALUE [KEY VALUE]…", Short: "Change keys of config.toml, and leave all else in it as it is",
		Long: "Change keys of config.toml. Comments, order and blank lines stay. VALUE is typed by its key: 80, true, 15m, a,b or [\"a\", \"b\"],\n" +
			"{ input = 3.0 }. - for a secret reads it from standard input into a file. Several pairs are one change. The file is checked as a whole first; a change that would bring a mistake into it is refused.",
		Example: "  hob config set turn.max_steps 80\n  hob config set model.backend openrouter model.model a/b model.api_key env:OPENROUTER_API_KEY\n" +
			"  hob config set channels.alerts.kind ntfy channels.alerts.topic my-topic\n  hob config set budget.per_day -- -1\n  hob config set --unset model.thinking",
		// The number of arguments depends on a flag, which cobra has parsed by the time it checks them.
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case unset && len(args) == 0:
				return cli.Usage("see: "+cmd.CommandPath()+" --help", "%s --unset needs a KEY", cmd.CommandPath())
			case !unset && (len(args) == 0 || len(args)%2 == 1):
				return cli.Usage("see: "+cmd.CommandPath()+" --help", "%s needs pairs of KEY and VALUE", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			// Every argument is a key then, and complete offers keys only at even places.
			if unset {
				args = nil
			}
			return k.complete(cmd, args, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return k.set(cmd, parseChanges(args, unset)) },
	}
	cmd.Flags().BoolVar(&unset, "unset", false, "take the KEYs out, so that their defaults hold")
	return cmd
}

// parseChanges turns arguments into changes: pairs of KEY and VALUE, or with --unset only KEYs.
func parseChanges(args []string, unset bool) []document.Change {
	var list []document.Change
	for i, arg := range args {
		switch {
		case unset:
			list = append(list, document.Change{Key: arg, Unset: true})
		case i%2 == 1:
			list = append(list, document.Change{Key: args[i-1], Value: arg})
		}
	}
	return list
}

// set changes the file and prints the values that are in force afterwards. These can differ from what was
// typed: a variable of the environment wins over the file.
func (k configCommands) set(cmd *cobra.Command, list []document.Change) error {
	path, err := k.file()
	if err != nil {
		return err
	}
	// The content is read once: document.Set edits it, and saveConfig compares it with the file before it writes.
	before, err := config.FileContent(path)
	if err != nil {
		return err
	}
	piped, text, err := k.readPiped(list)
	if err != nil {
		return err
	}
	next, err := document.Set(k.reference(), path, before, list...)
	if err != nil {
		return configError(refused(err))
	}
	undo := func() error { return nil }
	if piped >= 0 {
		file, fresh, err := setup.KeepSecret(filepath.Dir(path), secretFileOf(list[piped].Key), text)
		if err != nil {
			return err
		}
		if full := filepath.Join(filepath.Dir(path), filepath.FromSlash(file)); fresh {
			undo = func() error { return os.Remove(full) }
		}
		// The name may have got a number.
		list[piped].Value = "file:" + file
		if next, err = document.Set(k.reference(), path, before, list...); err != nil {
			return errors.Join(configError(refused(err)), undo())
		}
	}
	zone := k.zoneBefore(cmd.Context(), path, list)
	// A running daemon watches the file and loads the change from it.
	if err := setup.Save(path, before, next); err != nil {
		return errors.Join(err, undo())
	}
	for i, c := range list {
		switch {
		case i == piped:
			k.app.Note("the secret is in " + filepath.Join(filepath.Dir(path), filepath.FromSlash(strings.TrimPrefix(c.Value, "file:"))))
		case !c.Unset && c.Value != "" && isSecret(c.Key) && !secret.IsReference(c.Value):
			k.app.Note("others can read a command line, and config.toml now holds the secret itself; this keeps it in a file of its own: " + pipeInto(c.Key))
		}
	}
	now, err := k.inForce(path, list)
	if err != nil {
		return err
	}
	if k.app.JSON {
		return k.app.Document(now)
	}
	for _, s := range now {
		switch s.From {
		case config.FromDefault:
			k.app.Say("%s is not set any more; what holds is: %s", s.Key, s.Text())
		// The file has the new value, but a variable of this terminal is stronger.
		case config.FromEnvironment:
			k.app.Say("%s is set in the file, but what holds is: %s", s.Key, s.Text())
			k.app.Note(s.Variable + " of this terminal's environment holds over the file")
		default:
			k.app.Say("%s = %s", s.Key, s.Text())
		}
	}
	k.tell(cmd, slices.ContainsFunc(list, func(c document.Change) bool { return strings.HasPrefix(c.Key, "budget") }))
	return zone()
}

// zoneBefore reads the owner's zone before it is changed. What it returns says which jobs keep it.
func (k configCommands) zoneBefore(ctx context.Context, path string, list []document.Change) func() error {
	zoned := slices.ContainsFunc(list, func(c document.Change) bool { return c.Key == "owner.timezone" || c.Key == "owner" })
	c, err := client.Find(ctx, filepath.Dir(path), false)
	if !zoned || err != nil {
		return func() error { return nil }
	}
	zone := cli.OwnersZone(ctx, c).String()
	// The running hob takes a change of the file a little later.
	if now, err := k.inForce(path, []document.Change{{Key: "owner.timezone"}}); err == nil && len(now) == 1 && now[0].From != config.FromDefault {
		zone = now[0].Text()
	}
	return func() error {
		text, err := setup.KeptZone(ctx, c, zone)
		if text != "" && !slices.ContainsFunc(list, func(c document.Change) bool { return c.Value == zone }) {
			k.app.Note(text)
		}
		return err
	}
}

// refused takes what a mistake would switch off out of an error: the change was not made.
func refused(err error) error {
	var list config.Errors
	if errors.As(err, &list) {
		for i := range list {
			list[i].Fatal = false
		}
	}
	return err
}

// readPiped reads the secret whose value is "-" from standard input, and puts a reference to the file that will have it in its place. at is
// the number of that change; -1: there is none.
func (k configCommands) readPiped(list []document.Change) (at int, text string, err error) {
	at = -1
	for i, c := range list {
		if c.Unset || c.Value != "-" || !isSecret(c.Key) {
			continue
		}
		if at >= 0 {
			return at, "", cli.Usage("set one after the other", "standard input has only one secret")
		}
		at = i
	}
	if at >= 0 {
		text, err = cli.PipedSecret(k.app.In, "secret", "for example: "+pipeInto(list[at].Key))
		list[at].Value = "file:" + setup.SecretsFolder + "/" + secretFileOf(list[at].Key)
	}
	return at, text, err
}

// isSecret reports whether the value of a key is hidden.
func isSecret(key string) bool {
	names, err := config.SplitKey(key)
	return err == nil && len(names) > 0 && schema.Secret(names[len(names)-1])
}

// secretFileOf is the name of the file for a piped secret: the last two names of its key.
func secretFileOf(key string) string {
	names, err := config.SplitKey(key)
	if err != nil {
		names = []string{key}
	}
	name := strings.Join(names[max(0, len(names)-2):], "-")
	return strings.Trim(regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(name, "-"), "-")
}

// pipeInto is the command that pipes a secret into a key.
func pipeInto(key string) string {
	return "printf %s \"$SECRET\" | hob config set " + cli.Quote(key) + " -"
}

// inForce returns the changed keys with the values that are in force now. A section that is removed as a whole
// has no keys left to show.
func (k configCommands) inForce(path string, list []document.Change) ([]config.Setting, error) {
	var all []config.Setting
	for _, c := range list {
		// A key that was taken out may be unknown now, as in a section that is gone with it.
		now, err := k.reference().Look(path, environment(), c.Key)
		if err != nil && !c.Unset {
			return nil, configError(err)
		}
		all = append(all, now...)
	}
	return all, nil
}
