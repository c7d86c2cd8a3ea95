package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	main "hob/cmd/hob"
	"hob/cmd/hob/cli"
)

// TestManPages makes the man pages: one of each command. They go to the folder HOB_MAN, where packaging/release looks for them. Without it
// the test only makes sure that they can be made, and read.
func TestManPages(t *testing.T) {
	dir := os.Getenv("HOB_MAN")
	if dir == "" {
		dir = t.TempDir()
	}
	epoch := time.Unix(0, 0)
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		epoch = time.Unix(seconds, 0)
	}
	var files []string
	for _, c := range commands(main.NewRoot(cli.New(), nil)) {
		file := filepath.Join(dir, manName(c)+".1")
		files = append(files, file)
		if err := os.WriteFile(file, []byte(manPage(c, epoch.UTC().Format(time.DateOnly))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(files) < 100 {
		t.Errorf("there are %d man pages", len(files))
	}
	if mandoc, err := exec.LookPath("mandoc"); err == nil {
		args := append([]string{"-T", "lint", "-W", "warning"}, files...)
		if out, err := exec.CommandContext(t.Context(), mandoc, args...).CombinedOutput(); err != nil { //nolint:gosec // files of this test
			t.Errorf("mandoc: %v\n%s", err, out)
		}
	}
}

// TestManPageText is what a page has, and that nothing of it is a command to the formatter.
func TestManPageText(t *testing.T) {
	parent := &cobra.Command{Use: "hob"}
	c := &cobra.Command{
		Use: "try NAME", Short: "Try a thing", Long: "Try a thing.\n.so /etc/passwd\n'quoted' C:\\dir --flag\n  hob try x",
		Example: "  hob try --dry-run \"a\\nb\"\n  .hidden", RunE: func(*cobra.Command, []string) error { return nil },
	}
	c.Flags().Bool("dry-run", false, "change nothing")
	parent.AddCommand(c)
	page := manPage(c, "2026-01-02")
	for _, want := range []string{
		`.TH "HOB\-TRY" "1" "2026-01-02"`, `hob\-try \- Try a thing`, `\fBhob try NAME [flags]\fR`, "\\&.so /etc/passwd\n", "\\&'quoted' C:\\edir \\-\\-flag\n",
		`\fB\-\-dry\-run\fR`, "change nothing\n", "hob try \\-\\-dry\\-run \"a\\enb\"\n\\&.hidden\n", `\fBhob\fR(1)`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q:\n%s", want, page)
		}
	}
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is the page of a command, in the macros of man(7).
func manPage(c *cobra.Command, date string) string {
	var b strings.Builder
	name := manName(c)
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"%s\" \"hob\" \"hob manual\"\n", roff(strings.ToUpper(name)), date)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fR\n", roff(cli.Synopsis(c)))
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	paragraph := ""
	for line := range strings.Lines(about) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
			paragraph = ".PP\n"
			continue
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
			fmt.Fprintf(&b, ".PP\n.RS 4\n.nf\n%s\n.fi\n.RE\n", roff(strings.TrimSpace(line)))
		default:
			b.WriteString(paragraph + roff(line) + "\n")
		}
		paragraph = ""
	}
	c.InitDefaultHelpFlag()
	manFlags(&b, "OPTIONS", c.LocalFlags())
	manFlags(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for line := range strings.Lines(c.Example) {
			b.WriteString(roff(strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ")) + "\n")
		}
		b.WriteString(".fi\n")
	}
	var others []string
	if c.HasParent() {
		others = append(others, manName(c.Parent()))
	}
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			others = append(others, manName(child))
		}
	}
	for i, other := range others {
		others[i] = `\fB` + roff(other) + `\fR(1)`
	}
	if len(others) > 0 {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(others, ",\n") + "\n")
	}
	return b.String()
}

// manFlags lists flags, each with what it does.
func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString(".SH " + title + "\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			value, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(b, ".TP\n\\fB%s\\fR %s\n%s\n", roff(flagName(f)), roff(value), roff(usage+defaultOf(f)))
		}
	})
}

// roff is a text in which the formatter finds no command of its own: groff_char(7) for the signs, man(7) for a dot or a quote that begins a line.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
