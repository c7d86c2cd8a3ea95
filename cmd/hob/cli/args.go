package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/daemon/console"
)

// Family makes a command that only groups others and shows its help. A subcommand without an example gets one; the examples of the family
// are those of its first three subcommands.
func Family(use, short string, commands ...*cobra.Command) *cobra.Command {
	f := &cobra.Command{Use: use, Short: short, Args: NoSuch, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	f.AddCommand(commands...)
	var first []string
	for _, c := range commands {
		if c.Example == "" {
			c.Example = "  hob " + use + " " + sample(c.Use)
		}
		line, _, _ := strings.Cut(c.Example, "\n")
		first = append(first, line)
	}
	f.Example = strings.Join(first[:min(len(first), 3)], "\n")
	return f
}

// sample is a use line with something to try in the place of what is to be named; what may be left out is.
func sample(use string) string {
	// Example values by placeholder. Words that are not listed stay as they are.
	said := map[string]string{"JOB": "tea", "WATCH": "papers", "HOOK": "deploys", "TURN": "last", "SESSION": "garden", "CODE": "7K2M", "SEQ": "last", "ID": "last", "GRANT": "2", "TASK": "3", "CHANNEL": "alerts", "PAIRING": "3", "NAME": "read", "TEXT": `"by eight, please"`}
	var words []string
	for _, w := range strings.Fields(use) {
		if strings.HasPrefix(w, "[") {
			continue
		}
		if s, ok := said[w]; ok {
			w = s
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
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
	if args[0] == "" { // usually an unset variable of a script
		return Usage("see: "+cmd.CommandPath()+" --help", "the name of the command is empty")
	}
	text := fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+args[0])
	if said := Synonyms()[strings.ToLower(args[0])]; said != "" && !cmd.HasParent() {
		return Usage("", "%s; did you mean %q?", text, "hob "+said)
	}
	if same := sameVerb(cmd, strings.ToLower(args[0])); same != "" {
		return Usage("", "%s; did you mean %q?", text, cmd.CommandPath()+" "+same)
	}
	if n := console.Nearest(args[0], append(names, "show")); n != "" {
		if i := slices.Index(names, "get"); n == "show" && !slices.Contains(names, "show") && i >= 0 {
			n = names[i] // what other families call show
		}
		if slices.Contains(names, n) {
			return Usage("", "%s; did you mean %q?", text, cmd.CommandPath()+" "+n)
		}
	}
	return Usage("see: "+cmd.CommandPath()+" --help", "%s", text)
}

// sameVerb returns the command of a family that does what another word for it says, "" if there is none.
func sameVerb(cmd *cobra.Command, word string) string {
	for _, group := range []string{"rm delete remove del unset forget revoke cancel", "add new create install", "update edit change modify"} {
		words := strings.Fields(group)
		if !slices.Contains(words, word) {
			continue
		}
		for _, c := range cmd.Commands() {
			switch {
			case !c.Hidden && slices.Contains(words, c.Name()):
				return c.Name()
			case words[0] == "rm" && c.Flags().Lookup("unset") != nil:
				return c.Name() + " --unset"
			}
		}
	}
	return ""
}

// Synonyms are words that other programs use, with the command of hob that does it.
func Synonyms() map[string]string {
	commands := map[string]string{
		"up":                "start serve daemon gateway launch boot",
		"service stop":      "stop kill shutdown down quit exit",
		"service restart":   "restart reload",
		"service install":   "install enable autostart",
		"setup":             "init onboard onboarding wizard configure connect begin",
		"status":            "ps top info state health ping web ui dashboard",
		"upgrade":           "update",
		"chat":              "ask say talk message prompt agent repl tui",
		"cron add":          "schedule remind reminder timer alarm every at",
		"cron list":         "jobs job reminders schedules crons",
		"tasks":             "todo todos task",
		"watch list":        "watches watchers",
		"hook list":         "hooks webhook webhooks",
		"channels list":     "channel",
		"channels add":      "telegram signal slack discord matrix email irc ntfy",
		"pairing start":     "pair link",
		"model list":        "models llm",
		"model login":       "login auth signin",
		"model use":         "switch",
		"memory":            "remember recall notes",
		"skills":            "skill plugins plugin extensions",
		"tool list":         "tools functions",
		"tool exec":         "run exec shell bash sh",
		"turns list":        "turn runs history activity",
		"sessions list":     "conversations conversation session threads thread",
		"approvals list":    "approve approval allow permissions permission",
		"approvals deny":    "deny",
		"grants list":       "grant rights",
		"budget show":       "usage cost costs money spend",
		"logs":              "log tail journal",
		"config":            "settings setting set get edit preferences options",
		"doctor":            "check diagnose fix repair",
		"backup restore":    "restore",
		"backup create":     "save snapshot",
		"outbox list":       "sent queue",
		"inbox list":        "received messages",
		"service uninstall": "uninstall remove",
	}
	all := map[string]string{}
	for command, words := range commands {
		for _, w := range strings.Fields(words) {
			all[w] = command
		}
	}
	return all
}

// FlagError says what is wrong with a flag, with the nearest name. Global flags are candidates too.
func FlagError(cmd *cobra.Command, err error) error {
	see := "see: " + cmd.CommandPath() + " --help"
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return flagValueError(see, err)
	}
	name := missing.GetSpecifiedName()
	var names []string
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
		set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	// pflag gives the name without its dashes. A name of one letter is a shorthand.
	dashes := "--"
	if len(name) == 1 {
		dashes = "-"
	}
	for _, zone := range []string{"tz", "zone"} { // commands that make something have --tz, and setup has --zone, as in its question
		if slices.Contains([]string{"tz", "zone", "timezone", "time-zone"}, name) && slices.Contains(names, zone) {
			return Usage("", "%s has no flag %q; did you mean %q?", cmd.CommandPath(), dashes+name, "--"+zone)
		}
	}
	if n := console.Nearest(name, names); n != "" {
		return Usage("", "%s has no flag %q; did you mean %q?", cmd.CommandPath(), dashes+name, "--"+n)
	}
	if name[0] >= '0' && name[0] <= '9' {
		see = "a value that begins with - comes after --, as in: " + cmd.CommandPath() + " … -- -" + name
	}
	return Usage(see, "%s has no flag %q", cmd.CommandPath(), dashes+name)
}

// flagValueError says what is wrong with the value of a flag, in words of the command line.
func flagValueError(see string, err error) error {
	var bad *pflag.InvalidValueError
	var none *pflag.ValueRequiredError
	switch {
	case errors.As(err, &bad):
		// pflag names types as Go does, and its messages are those of Go's library. For types that are not listed, its own message is shown.
		want := map[string]string{
			"int": "a whole number", "int64": "a whole number", "bool": "true or false", "boolfunc": "true or false", "float64": "a number", "duration": "a time span such as 90s, 10m or 720h",
			"int64Slice": "a list of whole numbers with commas between them", "stringSlice": "a list with commas between its parts",
		}[bad.GetFlag().Value.Type()]
		if want != "" {
			return Usage(see, "--%s %q is not %s", bad.GetFlag().Name, bad.GetValue(), want)
		}
	case errors.As(err, &none):
		return Usage(see, "--%s needs a value", none.GetFlag().Name)
	}
	return Usage(see, "%v", err)
}

// Exactly is cobra.ExactArgs with hob's error messages; what names the arguments.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return Usage("see: "+cmd.CommandPath()+" --help", "%s needs %s", cmd.CommandPath(), what)
		}
		return AtMost(n, what)(cmd, args)
	}
}

// AtMost takes up to n arguments. A text that was not quoted arrives as several arguments; the hint says so.
func AtMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return Usage(cmp.Or(meantFlag(cmd, args), "quote a text of several words"), "%s takes %s only; %q is too much", cmd.CommandPath(), what, args[n])
		}
		return filledArgs(cmd, args)
	}
}

// filledArgs refuses an argument without a text. It is usually an unset variable of a script. In the path of a request it would name another route.
func filledArgs(cmd *cobra.Command, args []string) error {
	// The use line names the arguments in their order.
	names := strings.Fields(cmd.Use)
	for i, arg := range args {
		if strings.TrimSpace(arg) == "" {
			name, _, _ := strings.Cut(strings.Trim(names[min(i+1, len(names)-1)], "[]."), "|")
			return Usage("see: "+cmd.CommandPath()+" --help", "%s: %s is empty", cmd.CommandPath(), name)
		}
	}
	return nil
}

// AtLeast needs n arguments; the words of a text may follow unquoted. Of them, only the first n may not be empty.
func AtLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		// An empty last text counts as missing. It is usually an unset variable of a script.
		if len(args) < n || Joined(args[n-1:]) == "" {
			return Usage("see: "+cmd.CommandPath()+" --help", "%s needs %s", cmd.CommandPath(), what)
		}
		if strings.HasSuffix(cmd.Use, "...") { // all of them are names
			n = len(args)
		}
		return filledArgs(cmd, args[:n])
	}
}

// None takes no arguments.
func None(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage(cmp.Or(meantFlag(cmd, args), "see: "+cmd.CommandPath()+" --help"), "%s takes no arguments; %q is too much", cmd.CommandPath(), args[0])
	}
	return nil
}

// meantFlag is the hint for arguments of which one is the name of a flag without its dashes; "" if there is none.
func meantFlag(cmd *cobra.Command, args []string) string {
	for _, arg := range args {
		if f := cmd.Flag(arg); f != nil && !f.Hidden {
			return "did you mean --" + arg + "?"
		}
	}
	return ""
}

// Filled refuses a flag with an empty text: "--gate $TEST" with an unset TEST would make a job without a gate.
func Filled(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		// pflag prints an empty list as [].
		if text := f.Value.String(); text == "" || text == "[]" {
			err = Usage("leave the flag out, or say what it is to be", "--%s is empty", f.Name)
		}
	})
	return err
}
