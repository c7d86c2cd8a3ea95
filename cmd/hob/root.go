package main

import (
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/daemon"
)

// The groups of hob help, by journey.
const (
	groupRun      = "run"
	groupChat     = "chat"
	groupSchedule = "schedule"
	groupAllow    = "allow"
	groupInspect  = "look"
	groupKeep     = "keep"
)

// newRoot makes the tree of all commands. Each command is one function in a file of its own name; to add one,
// write that function and name it in its group here. Tests compare the help of all commands with golden files.
//
// args are those of the command line. nil also makes the commands that need the config reference, which otherwise
// exist only where args may name them.
func newRoot(a *cli.App, args []string) *cobra.Command {
	reference := sync.OnceValue(func() config.Reference { return config.NewReference(daemon.ConfigSections()) })
	cobra.EnableCommandSorting = false // the order below is that of a day with hob
	root := &cobra.Command{
		Use:   "hob",
		Short: "A background daemon that does chores for one person",
		Long: "hob is a background daemon that does chores for one person.\n\n" +
			"Begin with hob up, talk to it with hob chat, and see what it did with hob turns list. Without a command hob prints a short " +
			"status and the next step. It then exits with 0 even if no daemon runs; hob status exits with 3.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no daemon is running, 4 not permitted, 5 waiting for approval.",
		Example:       "  hob up\n  hob chat \"remind me in 20m to stretch\"\n  hob cron add --name morning --when \"every weekday at 9\" \"Brief me.\"\n  hob why last",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.NoSuch,
	}
	asked := root.Flags().BoolP("version", "v", false, "print the version")
	// --version is a flag of hob alone; cobra's own version flag could not print JSON.
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *asked {
			return showVersion(a)
		}
		return showSummary(cmd.Context(), a)
	}
	// The titles speak to the person: hob help is read from top to bottom by somebody who is new.
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run it:"},
		&cobra.Group{ID: groupChat, Title: "Talk to it:"},
		&cobra.Group{ID: groupSchedule, Title: "Let it do chores:"},
		&cobra.Group{ID: groupAllow, Title: "Say what it may:"},
		&cobra.Group{ID: groupInspect, Title: "Look into it:"},
		&cobra.Group{ID: groupKeep, Title: "Set it up and keep it well:"},
	)
	f := root.PersistentFlags()
	f.StringVar(&a.Home, "home", "", "hob's home folder (default $HOB_HOME, else ~/.hob)")
	f.BoolVar(&a.JSON, "json", false, "print one JSON document and nothing else")
	f.BoolVar(&a.Quiet, "quiet", false, "print no remarks")
	f.BoolVar(&a.NoColor, "no-color", false, "print no colours")
	// Errors of parsing get the exit code and the hint that all other usage errors have.
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetHelpFunc(a.Help)
	root.SetHelpCommand(helpCommand(root))
	root.SetHelpCommandGroupID(groupRun)
	addGroup(root, groupRun, upCommand(a), statusCommand(a), serviceCommand(a))
	addGroup(root, groupChat, chatCommand(a), sendCommand(a), sessionsCommand(a), memoryCommand(a), channelsCommand(a, reference, args == nil || slices.Contains(args, "channels")), pairingCommand(a))
	addGroup(root, groupSchedule, cronCommand(a), watchCommand(a), hookCommand(a), tasksCommand(a), skillsCommand(a), toolCommand(a))
	addGroup(root, groupAllow, approvalsCommand(a), grantsCommand(a), trustCommand(a), budgetCommand(a))
	addGroup(root, groupInspect, turnsCommand(a), whyCommand(a), inboxCommand(a), outboxCommand(a), auditCommand(a), capabilitiesCommand(a), logsCommand(a))
	addGroup(root, groupKeep, modelCommand(a), configCommand(a, reference), doctorCommand(a), safeModeCommand(a), backupCommand(a), versionCommand(a))
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	nameShells(root)
	return root
}

// nameShells makes hob completion, which is cobra's, in hob's words. cobra adds its command only when it
// executes, so it is created early here.
func nameShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.GroupID = groupKeep
		c.Use, c.Short, c.Long = "completion", "Print a script that lets your shell complete commands and names", ""
		c.Example = "  source <(hob completion bash)\n  hob completion fish > ~/.config/fish/completions/hob.fish"
		c.Args, c.RunE = cli.NoSuch, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		// cobra has a command for each shell, with long texts of its own.
		for _, shell := range c.Commands() {
			shell.Short = "Print the script for " + shell.Name()
			shell.Example = "  hob completion " + shell.Name()
			shell.Args = cli.None
		}
	}
}

// addGroup adds commands below one heading of hob help.
func addGroup(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// subcommandNames names the commands of the one that args name. It offers the words after hob help.
func subcommandNames(root *cobra.Command, args []string, typed string) []string {
	cmd, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), typed) {
			names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return names
}

// helpCommand replaces cobra's help command, which accepts names that do not exist.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command", Example: "  hob help\n  hob help cron add",
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			return subcommandNames(root, args, typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 && cmd.HasSubCommands() {
				return cli.NoSuch(cmd, rest)
			}
			// cobra adds --help only to a command that is executed, and the help page lists it.
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
