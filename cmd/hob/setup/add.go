package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/config/schema"
	"hob/daemon/api/client"
)

// AddCommand makes hob channels add, with one command for each kind of channel and a flag for each of its keys. Both come from the config
// reference, so a new kind of channel needs nothing here.
func AddCommand(a *cli.App, ref config.Reference) *cobra.Command {
	var kinds []*cobra.Command
	for _, p := range channelKinds(ref) {
		kinds = append(kinds, channelKindCommand(a, p))
	}
	add := cli.Family("add", "Set a channel up, test it and pair your account", kinds...)
	add.Long = "Set a channel up. hob channels add KIND writes its section into config.toml; on a terminal hob asks for what is missing, and for the\n" +
		"kind if none is given. If a daemon runs, the channel is then tested, and your account there is paired."
	help := add.RunE
	add.RunE = func(cmd *cobra.Command, args []string) error {
		k := newAsker(a)
		if a.JSON || !k.terminal() {
			return help(cmd, args)
		}
		home, err := ownHome(cmd.Context(), a)
		if err != nil {
			return err
		}
		a.Print(a.Err, "Where do you want to write to hob?")
		parts := offeredKinds(ref)
		i, err := k.choose(cmd.Context(), "Which one", kindOffers(parts), -1)
		if err != nil {
			return errors.Join(err, errNothing())
		}
		return addChannel(cmd.Context(), &sectionDraft{app: a, part: parts[i], name: freeName(home, parts[i].Kind), values: map[string]string{}, pasted: map[string]string{}, asker: k}, home)
	}
	return add
}

// channelKinds are the parts of the reference that describe channels.
func channelKinds(ref config.Reference) []config.Part {
	return slices.DeleteFunc(ref.Parts(), func(p config.Part) bool { return p.Kind == "" })
}

// offeredKinds are the same for a choice: first those that a newcomer can have within minutes.
func offeredKinds(ref config.Reference) []config.Part {
	parts := channelKinds(ref)
	slices.SortStableFunc(parts, func(a, b config.Part) int {
		return slices.Index([]string{"ntfy", "telegram"}, b.Kind) - slices.Index([]string{"ntfy", "telegram"}, a.Kind)
	})
	return parts
}

// kindOffers are the kinds with what they are, for a choice.
func kindOffers(parts []config.Part) []string {
	var names []string
	for _, p := range parts {
		what, _, _ := strings.Cut(p.Doc, ". ")
		names = append(names, p.Kind+": "+lowerFirst(what))
	}
	return names
}

// kindNames are the kinds of parts.
func kindNames(parts []config.Part) []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.Kind)
	}
	return names
}

// ownHome is the home to set up, which must be a folder if it exists. For root that is the one of the system-wide hob if only that runs, as with
// the commands that need a daemon.
func ownHome(ctx context.Context, a *cli.App) (string, error) {
	home, named, err := a.HomeDir()
	if err != nil {
		return "", err
	}
	if !named && os.Geteuid() == 0 {
		if c, err := client.Find(ctx, home, true); err == nil && c.System {
			a.Note("this is the system-wide hob in " + client.SystemHome)
			return client.SystemHome, nil
		}
	}
	return home, cli.CheckHome(home)
}

// channelKindCommand makes the command for one kind. Flags that are given fill a sectionDraft; the draft checks
// itself and asks for the rest.
func channelKindCommand(a *cli.App, p config.Part) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: p.Kind, Short: "Add a channel of the kind " + p.Kind, Args: cli.None, Example: channelExample(p),
		Long: strings.ReplaceAll(p.Doc, "`", "") + "\n\nThe section is checked as a whole before it is written. On a terminal you are asked for what is missing; if a daemon runs, the channel\n" +
			"is then tested and paired. A secret is given by reference (env:NAME, file:PATH, keyring:NAME, cmd:COMMAND); with -, or where you are\n" +
			"asked for it, hob puts the secret itself into a file of its home that only you can read, and refers to that.",
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", p.Kind, "what to call it: its addresses begin with that")
	// A flag that was not given must stay out of the section, so each value is a pointer that is read only if
	// its flag has changed.
	given := map[string]*string{}
	for _, k := range p.Keys[1:] { // the first one is the kind
		given[k.Name] = addKeyFlag(f, p, k)
		if len(k.Words) > 0 {
			cli.CompleteFlag(cmd, keyFlagName(f, p, k), cli.Words(k.Words...))
		}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		home, err := ownHome(cmd.Context(), a)
		if err != nil {
			return err
		}
		d := &sectionDraft{app: a, part: p, name: name, values: map[string]string{}, pasted: map[string]string{}}
		for _, k := range p.Keys[1:] {
			if !f.Changed(keyFlagName(f, p, k)) {
				continue
			}
			if err := d.give(k, keyFlagName(f, p, k), *given[k.Name]); err != nil {
				return err
			}
		}
		if k := newAsker(a); !a.JSON && k.terminal() {
			d.asker = k
		}
		return addChannel(cmd.Context(), d, home)
	}
	return cmd
}

// keyFlagName is the flag of a key: its own name, or with the kind before it where that is taken.
func keyFlagName(f *pflag.FlagSet, p config.Part, k schema.Key) string {
	flag := strings.NewReplacer("_", "-", ".", "-").Replace(k.Name)
	if slices.Contains([]string{"name", "home", "json", "quiet", "no-color", "help"}, flag) {
		return p.Kind + "-" + flag
	}
	return flag
}

// addKeyFlag adds the flag for one key, with the description that the config reference has for it.
func addKeyFlag(f *pflag.FlagSet, p config.Part, k schema.Key) *string {
	usage := cmp.Or(strings.TrimSuffix(strings.ReplaceAll(k.Doc, "`", ""), "."), "the key "+k.Name)
	switch {
	case k.Secret():
		usage += " (a reference, or - to read it from standard input)"
	case k.Default != nil && k.Default != false && fmt.Sprint(k.Default) != "[]":
		usage += fmt.Sprintf(" (default %v)", k.Default)
	}
	// All values are texts here. The config's own check converts them, so that a mistake has the same words as
	// in the file.
	flag := keyFlagName(f, p, k)
	if k.Type != schema.Switch {
		return f.String(flag, "", lowerFirst(usage))
	}
	value := ""
	f.Var((*switchValue)(&value), flag, lowerFirst(usage))
	// The flag without a value means true.
	f.Lookup(flag).NoOptDefVal = "true"
	return &value
}

// switchValue is a boolean flag that keeps the typed text, so that the config's own check reports a wrong value.
type switchValue string

// String returns the typed text.
func (v *switchValue) String() string { return string(*v) }

// Set takes any text.
func (v *switchValue) Set(text string) error {
	*v = switchValue(text)
	return nil
}

// Type makes help show it as a flag that needs no value.
func (v *switchValue) Type() string { return "bool" }

// lowerFirst lowers the first letter of a key's description, as flag texts begin, unless it begins with a name.
func lowerFirst(text string) string {
	for _, article := range []string{"The ", "A ", "An ", "What ", "Where ", "How ", "Whether ", "Several ", "Listen ", "Only ", "Ids ", "People ", "Groups "} {
		if strings.HasPrefix(text, article) {
			return strings.ToLower(text[:1]) + text[1:]
		}
	}
	return text
}

// channelExample is an example with the keys that have no default.
func channelExample(p config.Part) string {
	line := "  hob channels add " + p.Kind
	if p.Named != "" && p.Named != p.Kind {
		line += " --name " + p.Named
	}
	for _, k := range p.Keys[1:] {
		// Examples are written as TOML. Only a quoted text without spaces can be used as a flag's value as it is.
		text, err := strconv.Unquote(k.Example)
		if err == nil && !k.Apart && k.Default == nil && k.Unset == "none" && !strings.Contains(k.Name, ".") && !strings.ContainsAny(text, " '\"") {
			line += " --" + keyFlagName(nil, p, k) + " " + text
		}
	}
	return line
}
