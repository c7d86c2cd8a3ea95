package main

import (
	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/daemon/console"
)

// getCommand makes hob config get. It reads the file itself and needs no daemon, so it shows what the next
// start would use.
func (k configCommands) getCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get [KEY]", Short: "Print the value of a key that is in force, and where it comes from", Args: cli.AtMost(1, "one KEY"),
		Long: "Print the value of a KEY that is in force: what the environment says (that of this terminal, which a service does not have), else the file,\n" +
			"else the default. For a section, and without KEY, all keys with their values. A secret is shown as its reference; one that is in the file\n" +
			"itself as " + config.Hidden + ".",
		Example:           "  hob config get turn.max_steps\n  hob config get model\n  hob config get --json models.local.base_url",
		ValidArgsFunction: k.completeOne,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := k.file()
			if err != nil {
				return err
			}
			all, err := k.reference().Look(path, environment(), cli.Joined(args))
			if err != nil {
				return configError(err)
			}
			// A key gives its value alone; a section or a prefix gives a table, even if it has one key only.
			if len(args) == 1 && len(all) == 1 && all[0].Key == args[0] {
				return k.showOne(all[0])
			}
			return k.showAll(all)
		},
	}
}

// completeOne offers names for the one KEY of hob config get.
func (k configCommands) completeOne(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return k.complete(cmd, args, typed)
}

// showOne prints the value alone on the standard output, so that scripts can use it.
func (k configCommands) showOne(s config.Setting) error {
	if k.app.JSON {
		return k.app.Document(s)
	}
	// The origin goes to standard error, so that the output is the value and nothing else.
	k.app.Note(s.Origin())
	if s.Value == nil {
		k.app.Note("not set; what holds is: " + s.Unset)
		return nil
	}
	return k.app.Text(console.Clean(s.Text()) + "\n")
}

// showAll prints several keys as a table, with the origin of each value.
func (k configCommands) showAll(all []config.Setting) error {
	if k.app.JSON {
		return k.app.Document(all)
	}
	rows := make([][]string, len(all))
	for i, s := range all {
		rows[i] = []string{s.Key, s.Text(), s.Origin()}
	}
	return k.app.Table([]string{"KEY", "VALUE", "FROM"}, rows)
}
