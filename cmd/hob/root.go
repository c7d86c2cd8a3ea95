package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/daemon/control/console"
)

// The groups of hob help, by journey.
const (
	groupRun      = "run"
	groupSchedule = "schedule"
	groupChat     = "chat"
	groupLook     = "look"
)

func newRoot(a *app) *cobra.Command {
	cobra.EnableCommandSorting = false // the order below is that of a day with hob
	root := &cobra.Command{
		Use:           "hob",
		Short:         "A background daemon that does chores for one person",
		Version:       version().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuch,
		RunE:          func(cmd *cobra.Command, _ []string) error { return showState(cmd.Context(), a) },
	}
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run it:"},
		&cobra.Group{ID: groupSchedule, Title: "Schedule chores:"},
		&cobra.Group{ID: groupChat, Title: "Talk to it:"},
		&cobra.Group{ID: groupLook, Title: "Look into it:"},
	)
	f := root.PersistentFlags()
	f.StringVar(&a.home, "home", "", "hob's home folder (default $HOB_HOME, else ~/.hob)")
	f.BoolVar(&a.json, "json", false, "print one JSON document and nothing else")
	f.BoolVar(&a.quiet, "quiet", false, "print no remarks")
	f.BoolVar(&a.noColor, "no-color", false, "print no colours")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(a.help(root.HelpFunc()))
	root.SetHelpCommand(helpCommand(root))
	root.SetCompletionCommandGroupID(groupRun)
	root.SetHelpCommandGroupID(groupRun)
	add(root, groupRun, upCommand(a), serviceCommand(a), statusCommand(a), versionCommand(a), modelCommand(a), safeModeCommand(a), backupCommand(a))
	add(root, groupSchedule, cronCommand(a))
	add(root, groupChat, chatCommand(a), sendCommand(a), approvalsCommand(a), grantsCommand(a), sessionsCommand(a))
	add(root, groupLook, turnsCommand(a), boxCommand(a, inboxBox()), boxCommand(a, outboxBox()), whyCommand(a), budgetCommand(a), toolCommand(a))
	root.SetOut(a.out)
	root.SetErr(a.err)
	return root
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// family is a command that only holds others; without one of them it shows its help.
func family(use, short string, commands ...*cobra.Command) *cobra.Command {
	f := &cobra.Command{Use: use, Short: short, Args: noSuch, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	f.AddCommand(commands...)
	return f
}

// help shows help, which is no JSON document: with --json the command fails instead.
func (a *app) help(show func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		if !a.json {
			show(cmd, args)
			return
		}
		hint := "leave --json out to read the help"
		if cmd.HasAvailableSubCommands() && cmd.HasParent() {
			hint = "name one of its commands, or " + hint
		}
		a.lost = usage(hint, "%s has no JSON document to show", cmd.CommandPath())
	}
}

// noSuch refuses arguments of a command that only holds others, with the nearest name.
func noSuch(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	text := fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+args[0])
	if n := console.Nearest(args[0], names); n != "" {
		return usage("", "%s; did you mean %q?", text, cmd.CommandPath()+" "+n)
	}
	return usage("see: "+cmd.CommandPath()+" --help", "%s", text)
}

func flagError(cmd *cobra.Command, err error) error {
	see := "see: " + cmd.CommandPath() + " --help"
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return usage(see, "%v", err)
	}
	name := missing.GetSpecifiedName()
	var names []string
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
		set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	dashes := "--"
	if len(name) == 1 {
		dashes = "-"
	}
	if n := console.Nearest(name, names); n != "" {
		return usage("", "%s has no flag %q; did you mean %q?", cmd.CommandPath(), dashes+name, "--"+n)
	}
	return usage(see, "%s has no flag %q", cmd.CommandPath(), dashes+name)
}

func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 && cmd.HasSubCommands() {
				return noSuch(cmd, rest)
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// exactly is cobra.ExactArgs in hob's words; what names the arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return usage("see: "+cmd.CommandPath()+" --help", "%s needs %s", cmd.CommandPath(), what)
		default:
			return atMost(n, what)(cmd, args)
		}
	}
}

// atMost takes up to n arguments.
func atMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usage("quote a text of several words", "%s takes %s only; %q is too much", cmd.CommandPath(), what, args[n])
		}
		return nil
	}
}

// atLeast needs n arguments; the words of a text may follow unquoted.
func atLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n || joined(args[n-1:]) == "" {
			return usage("see: "+cmd.CommandPath()+" --help", "%s needs %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// none takes no arguments.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("see: "+cmd.CommandPath()+" --help", "%s takes no arguments; %q is too much", cmd.CommandPath(), args[0])
	}
	return nil
}
