package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/daemon/console"
)

// How wide help is: as the terminal, but lines of more than mostHelp cells are hard to read. Off a terminal it is plainHelp.
const (
	plainHelp = 80
	mostHelp  = 120
)

// Help shows help, with --json as a document. A script that has left out the subcommand must not take help for its answer: with --json the
// bare name of a family fails. cobra's help function cannot return an error, so a failure is kept in lost, and Exit reports it.
func (a *App) Help(cmd *cobra.Command, _ []string) {
	// "hob crn --help" asks for the help of something that is not there.
	if rest := cmd.Flags().Args(); len(rest) > 0 && cmd.HasSubCommands() {
		a.lost = NoSuch(cmd, rest)
		return
	}
	if a.JSON {
		if !cmd.Flags().Changed("help") {
			a.lost = Usage("name one of its commands, or read its help with: "+cmd.CommandPath()+" --help --json", "%s has no JSON document to show", cmd.CommandPath())
			return
		}
		if err := a.Document(helpDocument(cmd)); err != nil && a.lost == nil {
			a.lost = err
		}
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

// commandHelp is the JSON document of the help of a command.
type commandHelp struct {
	Command  string        `json:"command"`
	Usage    string        `json:"usage"`
	Short    string        `json:"short"`
	Long     string        `json:"long,omitempty"`
	Examples []string      `json:"examples,omitempty"`
	Flags    []flagHelp    `json:"flags"`
	Commands []commandHelp `json:"commands,omitempty"`
}

// flagHelp is a flag of a command.
type flagHelp struct {
	Name    string `json:"name"`
	Short   string `json:"short,omitempty"` // its one letter
	Type    string `json:"type"`
	Default string `json:"default,omitempty"`
	Doc     string `json:"doc"`
	Global  bool   `json:"global,omitempty"` // a flag of the commands above it, too
}

// helpDocument describes a command with all commands below it.
func helpDocument(cmd *cobra.Command) commandHelp {
	h := commandHelp{Command: cmd.CommandPath(), Usage: Synopsis(cmd), Short: cmd.Short, Long: cmd.Long, Flags: []flagHelp{}}
	for line := range strings.Lines(cmd.Example) {
		h.Examples = append(h.Examples, strings.TrimSpace(line))
	}
	add := func(global bool) func(*pflag.Flag) {
		return func(f *pflag.Flag) {
			if !f.Hidden {
				h.Flags = append(h.Flags, flagHelp{f.Name, f.Shorthand, f.Value.Type(), f.DefValue, f.Usage, global})
			}
		}
	}
	cmd.LocalFlags().VisitAll(add(false))
	cmd.InheritedFlags().VisitAll(add(true))
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			h.Commands = append(h.Commands, helpDocument(c))
		}
	}
	return h
}

// HelpPage is the help of a command: what it does, how it is used, examples, its commands by journey, its
// flags. The page is also what docs/commands.md and the golden files have.
func HelpPage(cmd *cobra.Command, width int) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	about := cmp.Or(cmd.Long, cmd.Short+".")
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
