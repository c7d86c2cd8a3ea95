package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/daemon/console"
)

// How wide help is: as the terminal, but lines of more than mostHelp cells are hard to read. Off a terminal it is plainHelp.
const (
	plainHelp = 80
	mostHelp  = 120
)

// Help shows help, which is no JSON document: with --json the command fails instead. cobra's help function
// cannot return an error, so the failure is kept in lost, and Exit reports it.
func (a *App) Help(cmd *cobra.Command, _ []string) {
	if a.JSON {
		hint := "leave --json out to read the help"
		if cmd.HasAvailableSubCommands() && cmd.HasParent() {
			hint = "name one of its commands, or " + hint
		}
		a.lost = Usage(hint, "%s has no JSON document to show", cmd.CommandPath())
		return
	}
	width := Columns(a.Out)
	if width <= 0 {
		width = plainHelp
	}
	if err := a.Text(HelpPage(cmd, min(width, mostHelp))); err != nil && a.lost == nil {
		a.lost = fmt.Errorf("print: %w", err)
	}
}

// HelpPage is the help of a command: what it does, how it is used, examples, its commands by journey, its
// flags. The page is also what docs/commands.md and the golden files have.
func HelpPage(cmd *cobra.Command, width int) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	b.WriteString(Wrap(about, "", width))
	fmt.Fprintf(&b, "\nUsage:\n  %s\n", Synopsis(cmd))
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	// Only hob itself has groups. The commands of a family are listed below one heading.
	for _, g := range cmd.Groups() {
		members(&b, g.Title, cmd, g.ID, width)
	}
	members(&b, "Commands:", cmd, "", width)
	flags := func(title, usages string) {
		if usages = strings.TrimRight(usages, "\n"); usages != "" {
			fmt.Fprintf(&b, "\n%s\n%s\n", title, usages)
		}
	}
	flags("Flags:", cmd.LocalFlags().FlagUsagesWrapped(width))
	flags("Flags of all commands:", cmd.InheritedFlags().FlagUsagesWrapped(width))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nMore: %s COMMAND --help\n", cmd.CommandPath())
	}
	return b.String()
}

// Synopsis is how a command is used: its path, its arguments, and whether it takes flags of its own.
func Synopsis(cmd *cobra.Command) string {
	line := cmd.CommandPath()
	if _, args, ok := strings.Cut(cmd.Use, " "); ok {
		line += " " + args
	}
	if cmd.HasAvailableSubCommands() && !strings.Contains(cmd.Use, " ") {
		line += " [COMMAND]"
	}
	return line + " [flags]"
}

// members lists the commands of a group.
func members(b *strings.Builder, title string, cmd *cobra.Command, group string, width int) {
	// The column is as wide as the longest name of all groups, so that the groups line up.
	var list []*cobra.Command
	wide := 0
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			wide = max(wide, len(c.Name()))
		}
		if c.GroupID == group && c.IsAvailableCommand() {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, c := range list {
		indent := strings.Repeat(" ", wide+4)
		b.WriteString(fmt.Sprintf("  %-*s  ", wide, c.Name()) + strings.TrimPrefix(Wrap(c.Short, indent, width), indent))
	}
}

// Wrap breaks a text into lines of a width, in cells, each behind an indent. Lines of the text that begin with a space stay as they are,
// and so do those before them; the others flow together.
func Wrap(text, indent string, width int) string {
	var b strings.Builder
	// flow collects the lines of a paragraph. A blank or an indented line ends it, and so does the end of the text.
	flow := ""
	flush := func() {
		line := indent
		// A word that is wider than a line gets a line of its own.
		for _, w := range strings.Fields(flow) {
			if line != indent && console.Cells(line+" "+w) > width {
				b.WriteString(line + "\n")
				line = indent
			}
			if line != indent {
				line += " "
			}
			line += w
		}
		if line != indent {
			b.WriteString(line + "\n")
		}
		flow = ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			b.WriteString(strings.TrimRight(indent+line, " ") + "\n")
			continue
		}
		flow += " " + line
	}
	flush()
	return b.String()
}
