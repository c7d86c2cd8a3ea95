package main_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	main "hob/cmd/hob"
	"hob/cmd/hob/cli"
	"hob/daemon/console"
)

var update = flag.Bool("update", false, "write the pages that are expected anew")

// commands are all of them with the root first, in the order of help.
func commands(root *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			list = append(list, commands(c)...)
		}
	}
	return list
}

// TestEveryCommand holds for all of them: a sentence, an example that is right, flags that say what they are for, and names that a shell
// TestEveryCommand complete.
func TestEveryCommand(t *testing.T) {
	all := commands(main.NewRoot(cli.New(), nil))
	if len(all) < 60 {
		t.Fatalf("there are %d commands", len(all))
	}
	for _, c := range all {
		path := c.CommandPath()
		if s := c.Short; s == "" || s[:1] != strings.ToUpper(s[:1]) || strings.HasSuffix(s, ".") || len(s) > 66 {
			t.Errorf("%s: its sentence is %q", path, s)
		}
		if c.Example == "" {
			t.Errorf("%s has no example", path)
		}
		for line := range strings.Lines(c.Example) {
			tryExample(t, c, strings.TrimSuffix(line, "\n"))
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s says nothing", path, f.Name)
			}
		})
		_, args, _ := strings.Cut(c.Use, " ")
		if takesName(args) && c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
			t.Errorf("%s takes %s and completes nothing", path, args)
		}
		if args != "" && c.Args != nil && c.Name() != "chat" && c.ValidateArgs([]string{""}) == nil {
			t.Errorf("%s takes an empty argument", path)
		}
		if c.Args == nil && c.Name() != "help" && !c.DisableFlagParsing {
			t.Errorf("%s does not look at its arguments", path)
		}
	}
}

// TestWrongValuesOfFlags gives every flag of every command a value that nothing takes. The message names the flag first; it is hob's own, and not one of
// Go's library.
func TestWrongValuesOfFlags(t *testing.T) {
	refused := 0
	for _, c := range commands(main.NewRoot(cli.New(), nil)) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			err := c.ParseFlags([]string{"--" + f.Name + `=a"b`})
			if err == nil {
				return
			}
			refused++
			if code, text, _ := cli.Explain(c.FlagErrorFunc()(c, err)); code != cli.ExitUsage || !strings.HasPrefix(text, "--"+f.Name+` "a\"b" is not `) {
				t.Errorf("%s --%s: exit code %d, %s", c.CommandPath(), f.Name, code, text)
			}
		})
	}
	if refused < 50 {
		t.Errorf("%d flags refuse a value", refused)
	}
}

// takesName reports whether the first argument names something that a shell can know.
func takesName(args string) bool {
	first, _, _ := strings.Cut(strings.Trim(args, "[]"), " ")
	return args != "" && first != "COMMAND" && first != "PROMPT"
}

// tryExample parses an example as the command line that it is: it belongs to the command, and its flags and arguments are taken.
func tryExample(t *testing.T, c *cobra.Command, line string) {
	t.Helper()
	words := split(line)
	for len(words) > 0 && words[0] != "hob" {
		words = words[1:] // sudo, what is piped into it, or the shell around it
	}
	if !strings.HasPrefix(line, "  ") || len(words) == 0 {
		t.Errorf("%s: the example %q is not a line of hob", c.CommandPath(), line)
		return
	}
	root := main.NewRoot(cli.New(), nil)
	found, args, err := root.Find(words[1:])
	if err != nil || found.CommandPath() != c.CommandPath() && found.Root().CommandPath() != c.CommandPath() && !strings.HasPrefix(found.CommandPath(), c.CommandPath()+" ") {
		t.Errorf("%s: %q is an example of %s: %v", c.CommandPath(), line, found.CommandPath(), err)
		return
	}
	if found.DisableFlagParsing {
		return
	}
	if err := found.ParseFlags(args); err != nil {
		t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
	}
	if err := found.ValidateArgs(found.Flags().Args()); err != nil {
		t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
	}
}

// split takes a shell's line apart, as far as examples go: words, quotes, and what is done with the output.
func split(line string) []string {
	var words []string
	word, quote, open := "", rune(0), false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ' && (word != "" || open):
			words, word, open = append(words, word), "", false
		case r != ' ':
			word += string(r)
		}
	}
	for i, w := range words {
		switch {
		case w == ">":
			return words[:i]
		case strings.HasPrefix(w, "<("):
			inner := append([]string{w[2:]}, words[i+1:]...)
			inner[len(inner)-1] = strings.TrimSuffix(inner[len(inner)-1], ")")
			return inner
		}
	}
	return words
}

// golden compares a page with its file, or writes it with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	old := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(old) || line != old[i] {
			t.Fatalf("%s is stale from line %d on:\n%s\nlook at what changed, then: go test ./cmd/hob -update", path, i+1, line)
		}
	}
	t.Fatalf("%s is longer than what is made now", path)
}

// TestHelp is the help of every command, at two widths.
func TestHelp(t *testing.T) {
	for name, width := range map[string]int{"help-80.txt": 80, "help-200.txt": 200} {
		var b strings.Builder
		for _, c := range commands(main.NewRoot(cli.New(), nil)) {
			page := cli.HelpPage(c, width)
			b.WriteString("$ " + c.CommandPath() + " --help\n" + page + "\n")
			for line := range strings.Lines(page) {
				if n := console.Cells(strings.TrimSuffix(line, "\n")); n > width && !strings.HasPrefix(line, "  hob") {
					t.Errorf("%s: a line of %d cells in %d: %q", c.CommandPath(), n, width, line)
				}
			}
		}
		golden(t, filepath.Join("testdata", "golden", name), b.String())
	}
}

// TestExamplePrompts: without a model, hob reads a prompt that begins with "Say" as the command say.
func TestExamplePrompts(t *testing.T) {
	for _, c := range commands(main.NewRoot(cli.New(), nil)) {
		if strings.Contains(c.Example, `"Say `) {
			t.Errorf("%s: a prompt begins with Say: %s", c.CommandPath(), c.Example)
		}
	}
}
