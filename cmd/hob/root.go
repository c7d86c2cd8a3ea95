package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/doctor"
	"hob/cmd/hob/importer"
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
// args are those of the command line. If they name a command, only that one is made: all of them take a tenth of the time of a short
// command. nil also makes the commands that need the config reference, which otherwise exist only where args may name them.
func newRoot(a *cli.App, args []string) *cobra.Command {
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
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	addNamed(root, a, args, allCommands(args == nil || slices.Contains(args, "channels")))
	return root
}

// nameShells makes hob completion, which is cobra's, in hob's words. cobra adds its command only when it
// executes, so it is created early here.
func nameShells(a *cli.App, root *cobra.Command) {
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
			if script := shell.RunE; shell.Name() == "bash" {
				shell.Long = "Print the script for bash, which needs nothing else. To load it in every new shell, add the example to ~/.bashrc."
				shell.Example = "  source <(hob completion bash)"
				shell.RunE = func(cmd *cobra.Command, args []string) error {
					return errors.Join(a.Text(bashWords), script(cmd, args))
				}
			}
		}
	}
}

// bashWords takes the place of the package bash-completion where that is not installed: cobra's script uses its function to split the line into
// words. Bash itself would also split at colons, which addresses have.
const bashWords = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
_get_comp_words_by_ref() {
    local line=${COMP_LINE:0:COMP_POINT}
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    cword=$((${#words[@]} - 1))
    cur=${words[cword]}
    prev=${words[cword > 0 ? cword - 1 : 0]}
}
fi
`

// command is a command of hob: its heading in hob help, its name, and what makes it.
type command struct {
	group, name string
	build       func(*cli.App) *cobra.Command
}

// allCommands lists the commands in the order of hob help. withReference also makes those of channels that need the config reference.
func allCommands(withReference bool) []command {
	reference := sync.OnceValue(func() config.Reference { return config.NewReference(daemon.ConfigSections(nil)) })
	return []command{
		{groupRun, "setup", func(a *cli.App) *cobra.Command { return setupCommand(a, reference) }},
		{groupRun, "up", upCommand},
		{groupRun, "status", statusCommand},
		{groupRun, "service", serviceCommand},
		{groupChat, "chat", chatCommand},
		{groupChat, "send", sendCommand},
		{groupChat, "sessions", sessionsCommand},
		{groupChat, "memory", memoryCommand},
		{groupChat, "context", contextCommand},
		{groupChat, "channels", func(a *cli.App) *cobra.Command { return channelsCommand(a, reference, withReference) }},
		{groupChat, "pairing", pairingCommand},
		{groupSchedule, "cron", cronCommand},
		{groupSchedule, "watch", watchCommand},
		{groupSchedule, "hook", hookCommand},
		{groupSchedule, "tasks", tasksCommand},
		{groupSchedule, "skills", skillsCommand},
		{groupSchedule, "tool", toolCommand},
		{groupSchedule, "mcp", func(a *cli.App) *cobra.Command { return mcpCommand(a, reference) }},
		{groupAllow, "approvals", approvalsCommand},
		{groupAllow, "grants", grantsCommand},
		{groupAllow, "trust", trustCommand},
		{groupAllow, "endpoint", endpointCommand},
		{groupAllow, "account", accountCommand},
		{groupAllow, "budget", budgetCommand},
		{groupInspect, "turns", turnsCommand},
		{groupInspect, "why", whyCommand},
		{groupInspect, "inbox", inboxCommand},
		{groupInspect, "outbox", outboxCommand},
		{groupInspect, "audit", auditCommand},
		{groupInspect, "capabilities", capabilitiesCommand},
		{groupInspect, "logs", logsCommand},
		{groupInspect, "record", recordCommand},
		{groupKeep, "model", modelCommand},
		{groupKeep, "config", func(a *cli.App) *cobra.Command { return configCommand(a, reference) }},
		{groupKeep, "doctor", func(a *cli.App) *cobra.Command { return doctor.Command(a, built()) }},
		{groupKeep, "safe-mode", safeModeCommand},
		{groupKeep, "backup", backupCommand},
		{groupKeep, "import", importer.Command},
		{groupKeep, "upgrade", upgradeCommand},
		{groupKeep, "version", versionCommand},
	}
}

// addNamed adds the command that args name. If they name none, it adds all: help lists them, completion offers them, and a mistake in typing
// is compared with them.
func addNamed(root *cobra.Command, a *cli.App, args []string, all []command) {
	name := firstWord(args)
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i >= 0 {
		all = all[i : i+1]
	}
	for _, c := range all {
		made := c.build(a)
		made.GroupID = c.group
		root.AddCommand(made)
	}
	if i < 0 {
		nameShells(a, root)
	}
}

// firstWord returns the first of args that is neither a flag nor the value of one.
func firstWord(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--home":
			i++ // its value
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
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
			if err := cmd.Flags().Set("help", "true"); err != nil {
				return fmt.Errorf("show the help of %s: %w", cmd.CommandPath(), err)
			}
			return cmd.Help()
		},
	}
}
