package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/config"
	"hob/config/document"
	"hob/config/schema"
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
	next, err := document.Set(k.reference(), path, before, list...)
	if err != nil {
		return configError(refused(err))
	}
	piped, err := k.keepPiped(filepath.Dir(path), list)
	if err == nil && piped {
		next, err = document.Set(k.reference(), path, before, list...)
	}
	if err != nil {
		return configError(err)
	}
	// A running daemon watches the file and loads the change from it.
	if err := setup.Save(path, before, next); err != nil {
		return err
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
	k.tell(cmd)
	return nil
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

// keepPiped writes a secret whose value is "-" from standard input into a file, and puts a reference to that file in its place. It also
// says what is wrong with a secret on the command line.
func (k configCommands) keepPiped(home string, list []document.Change) (piped bool, err error) {
	for i, c := range list {
		section, name, _ := strings.Cut(c.Key, ".")
		if at := strings.LastIndexByte(c.Key, '.'); at > 0 {
			section, name = c.Key[:at], c.Key[at+1:]
		}
		if c.Unset || !schema.Secret(name) || c.Value == "" || secret.IsReference(c.Value) {
			continue
		}
		pipe := "printf %s \"$SECRET\" | hob config set " + c.Key + " -"
		if c.Value != "-" {
			k.app.Note("others can read a command line, and config.toml now holds the secret itself; this keeps it in a file of its own: " + pipe)
			continue
		}
		text, err := cli.PipedSecret(k.app.In, "secret", "for example: "+pipe)
		if err != nil {
			return false, err
		}
		file, err := setup.KeepSecret(home, section[strings.LastIndexByte(section, '.')+1:]+"-"+name, text)
		if err != nil {
			return false, err
		}
		list[i].Value, piped = "file:"+file, true
		k.app.Note("the secret is in " + filepath.Join(home, filepath.FromSlash(file)))
	}
	return piped, nil
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
