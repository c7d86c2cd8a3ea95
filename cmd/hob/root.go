package main

import (
	"github.com/spf13/cobra"

	"hob/cmd/hob/backup"
	"hob/cmd/hob/cli"
	"hob/cmd/hob/config"
	"hob/cmd/hob/cron"
	"hob/cmd/hob/doctor"
	"hob/cmd/hob/look"
	"hob/cmd/hob/model"
	"hob/daemon"
)

// The groups of hob help, by journey.
const (
	groupRun      = "run"
	groupSchedule = "schedule"
	groupChat     = "chat"
	groupLook     = "look"
)

func newRoot(a *cli.App) *cobra.Command {
	cobra.EnableCommandSorting = false // the order below is that of a day with hob
	root := &cobra.Command{
		Use:           "hob",
		Short:         "A background daemon that does chores for one person",
		Version:       version().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.NoSuch,
		RunE:          func(cmd *cobra.Command, _ []string) error { return look.ShowState(cmd.Context(), a) },
	}
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run it:"},
		&cobra.Group{ID: groupSchedule, Title: "Schedule chores:"},
		&cobra.Group{ID: groupChat, Title: "Talk to it:"},
		&cobra.Group{ID: groupLook, Title: "Look into it:"},
	)
	f := root.PersistentFlags()
	f.StringVar(&a.Home, "home", "", "hob's home folder (default $HOB_HOME, else ~/.hob)")
	f.BoolVar(&a.JSON, "json", false, "print one JSON document and nothing else")
	f.BoolVar(&a.Quiet, "quiet", false, "print no remarks")
	f.BoolVar(&a.NoColor, "no-color", false, "print no colours")
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetHelpFunc(a.Help(root.HelpFunc()))
	root.SetHelpCommand(helpCommand(root))
	root.SetCompletionCommandGroupID(groupRun)
	root.SetHelpCommandGroupID(groupRun)
	add(root, groupRun, upCommand(a), serviceCommand(a), look.Status(a), doctor.Command(a), versionCommand(a), model.Command(a), config.Command(a, daemon.ConfigSections()), look.SafeMode(a), backup.Command(a))
	add(root, groupSchedule, cron.Command(a))
	add(root, groupChat, chatCommand(a), sendCommand(a), approvalsCommand(a), grantsCommand(a), sessionsCommand(a))
	add(root, groupLook, look.Turns(a), boxCommand(a, inboxBox()), boxCommand(a, outboxBox()), look.Why(a), look.Logs(a), look.Audit(a), look.Budget(a), toolCommand(a))
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	return root
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 && cmd.HasSubCommands() {
				return cli.NoSuch(cmd, rest)
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
