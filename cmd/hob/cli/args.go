package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/daemon/control/console"
)

// Family is a command that only holds others; without one of them it shows its help.
func Family(use, short string, commands ...*cobra.Command) *cobra.Command {
	f := &cobra.Command{Use: use, Short: short, Args: NoSuch, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	f.AddCommand(commands...)
	return f
}

// Help shows help, which is no JSON document: with --json the command fails instead.
func (a *App) Help(show func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		if !a.JSON {
			show(cmd, args)
			return
		}
		hint := "leave --json out to read the help"
		if cmd.HasAvailableSubCommands() && cmd.HasParent() {
			hint = "name one of its commands, or " + hint
		}
		a.lost = Usage(hint, "%s has no JSON document to show", cmd.CommandPath())
	}
}

// NoSuch refuses arguments of a command that only holds others, with the nearest name.
func NoSuch(cmd *cobra.Command, args []string) error {
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
		return Usage("", "%s; did you mean %q?", text, cmd.CommandPath()+" "+n)
	}
	return Usage("see: "+cmd.CommandPath()+" --help", "%s", text)
}

// FlagError says what is wrong with a flag, with the nearest name.
func FlagError(cmd *cobra.Command, err error) error {
	see := "see: " + cmd.CommandPath() + " --help"
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return Usage(see, "%v", err)
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
		return Usage("", "%s has no flag %q; did you mean %q?", cmd.CommandPath(), dashes+name, "--"+n)
	}
	return Usage(see, "%s has no flag %q", cmd.CommandPath(), dashes+name)
}

// Exactly is cobra.ExactArgs in hob's words; what names the arguments.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return Usage("see: "+cmd.CommandPath()+" --help", "%s needs %s", cmd.CommandPath(), what)
		default:
			return AtMost(n, what)(cmd, args)
		}
	}
}

// AtMost takes up to n arguments.
func AtMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return Usage("quote a text of several words", "%s takes %s only; %q is too much", cmd.CommandPath(), what, args[n])
		}
		return nil
	}
}

// AtLeast needs n arguments; the words of a text may follow unquoted.
func AtLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n || Joined(args[n-1:]) == "" {
			return Usage("see: "+cmd.CommandPath()+" --help", "%s needs %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// None takes no arguments.
func None(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage("see: "+cmd.CommandPath()+" --help", "%s takes no arguments; %q is too much", cmd.CommandPath(), args[0])
	}
	return nil
}
