package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/config/document"
	"hob/config/schema"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/secret"
)

// channelsAddCommand makes one command for each kind of channel, with a flag for each of its keys. Both come from the config reference, so a
// new kind of channel needs nothing here.
func channelsAddCommand(a *cli.App, ref config.Reference) *cobra.Command {
	var kinds []*cobra.Command
	for _, p := range ref.Parts() {
		if p.Kind != "" {
			kinds = append(kinds, channelKindCommand(a, ref, p))
		}
	}
	return cli.Family("add", "Write a channel's section into config.toml", kinds...)
}

// channelKindCommand makes the command for one kind. Flags that are given fill a sectionDraft; the draft checks
// itself and asks for the rest.
func channelKindCommand(a *cli.App, ref config.Reference, p config.Part) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: p.Kind, Short: "Add a channel of the kind " + p.Kind, Args: cli.None, Example: channelExample(p),
		Long: strings.ReplaceAll(p.Doc, "`", "") + "\n\nThe section is checked as a whole before it is written. On a terminal you are asked for what is missing. A secret is given by reference\n" +
			"(env:NAME, file:PATH, keyring:NAME, cmd:COMMAND); with -, or where you are asked for it, hob puts the secret itself into a file of its home\n" +
			"that only you can read, and refers to that.",
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
		d := &sectionDraft{app: a, ref: ref, part: p, name: name, values: map[string]string{}, pasted: map[string]string{}}
		for _, k := range p.Keys[1:] {
			if !f.Changed(keyFlagName(f, p, k)) {
				continue
			}
			if err := d.give(k, keyFlagName(f, p, k), *given[k.Name]); err != nil {
				return err
			}
		}
		return d.write(cmd.Context())
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
	usage := strings.TrimSuffix(strings.ReplaceAll(k.Doc, "`", ""), ".")
	if usage == "" {
		usage = "the key " + k.Name
	}
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

// sectionDraft is a section of config.toml that is being filled in.
// Its way: give for each flag, then write, which calls free, complete, keep and done in this order.
type sectionDraft struct {
	app    *cli.App
	ref    config.Reference
	part   config.Part
	name   string
	values map[string]string // by the key's name in the section
	pasted map[string]string // secrets to be written into files, by key
}

// maxSecret is the most that is read of a secret, in bytes.
const maxSecret = 64 << 10

// give sets a key from a flag. A literal secret is refused, because every user of the machine can read a command line.
func (d *sectionDraft) give(k schema.Key, flag, value string) error {
	switch {
	case !k.Secret() || value == "" || secret.IsReference(value):
		d.values[k.Name] = value
		return nil
	case value != "-":
		return literalSecretError("--" + flag)
	}
	// The value is "-": the secret is piped in.
	text, err := io.ReadAll(io.LimitReader(d.app.In, maxSecret))
	if err != nil {
		return fmt.Errorf("read the secret: %w", err)
	}
	return d.paste(k, string(text))
}

// paste keeps a literal secret, which is written into a file once the section is valid.
func (d *sectionDraft) paste(k schema.Key, text string) error {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, "\r\n") {
		return cli.Usage("", "%s: want one line with the secret", k.Name)
	}
	d.pasted[k.Name] = text
	// The file does not exist yet. The reference lets the section pass its check until keep writes the file.
	d.values[k.Name] = "file:" + filepath.ToSlash(filepath.Join(secretsFolder, d.name+"-"+k.Name))
	return nil
}

// write checks the section, asks for missing keys, writes the secrets and then the config.
func (d *sectionDraft) write(ctx context.Context) error {
	// The name becomes a TOML key, the beginning of addresses and a part of file names, so few characters are allowed.
	if !regexp.MustCompile(`^[A-Za-z0-9][-_A-Za-z0-9]*$`).MatchString(d.name) {
		return cli.Usage("for example --name "+d.part.Named, "--name %q: want letters, digits, - and _", d.name)
	}
	home, _, err := d.app.HomeDir()
	if err != nil {
		return err
	}
	if err := cli.CheckHome(home); err != nil {
		return err
	}
	path := filepath.Join(home, "config.toml")
	// before is what this command has read. saveConfig refuses to write if the file has another content by
	// then.
	before, err := config.FileContent(path)
	if err != nil {
		return err
	}
	if err := d.free(before); err != nil {
		return err
	}
	// next is the whole document with the new section. Nothing is written yet.
	next, err := d.complete(ctx, path, before)
	if err != nil {
		return err
	}
	if len(d.pasted) > 0 {
		// The secrets are written before the config that refers to them. keep may have had to choose other file
		// names, so the document is made again.
		if err := d.keep(home); err != nil {
			return err
		}
		if next, err = document.Set(d.ref, path, before, d.changes()...); err != nil {
			return err
		}
	}
	if err := saveConfig(path, before, next); err != nil {
		return err
	}
	return d.done(ctx, home, path)
}

// free refuses a name that another channel has.
func (d *sectionDraft) free(doc []byte) error {
	var tree struct {
		Channels map[string]any `toml:"channels"`
	}
	if err := toml.Unmarshal(bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf")), &tree); err != nil {
		return &cli.Problem{Code: cli.ExitFailed, Text: "config.toml cannot be read as it is", Hint: "see: hob config validate"}
	}
	if _, taken := tree.Channels[d.name]; taken {
		return &cli.Problem{Code: cli.ExitFailed, Text: fmt.Sprintf("there is a channel %s already", d.name), Hint: "choose another --name, or change it with: hob config set " + d.key("KEY") + " VALUE"}
	}
	return nil
}

// key is the full name of a key of the section.
func (d *sectionDraft) key(name string) string {
	return config.KeyText(append([]string{"channels", d.name}, strings.Split(name, ".")...))
}

// changes are the keys to set, the kind first.
// The kind decides the types of the other keys (typedValue), so it has to be in the document before them.
func (d *sectionDraft) changes() []document.Change {
	list := []document.Change{{Key: d.key("kind"), Value: d.part.Kind}}
	for _, k := range d.part.Keys[1:] {
		if v, ok := d.values[k.Name]; ok {
			list = append(list, document.Change{Key: d.key(k.Name), Value: v})
		}
	}
	return list
}

// done reports the result and the next step. It waits for a running daemon to load the channel, because the next command needs it.
func (d *sectionDraft) done(ctx context.Context, home, path string) error {
	c, down := client.Find(ctx, home, false)
	// has stays nil if the daemon does not load the channel in time.
	var has *api.Channel
	if down == nil {
		has = d.taken(ctx, c)
	}
	if d.app.JSON {
		return d.app.Document(map[string]string{"channel": d.name, "kind": d.part.Kind, "file": path})
	}
	if !d.app.Quiet {
		d.app.Say("channel %s (%s) stands in %s", d.name, d.part.Kind, path)
	}
	switch {
	// Without a daemon there is nobody to load the section now.
	case down != nil:
		d.app.Note("it holds from the next start of hob on")
	case has != nil && has.Unfit: // as when the daemon's environment lacks what env: names, though the shell has it
		d.app.Note("the running hob has read it and cannot use it: " + channelFault(*has))
		return nil
	case has != nil:
		d.app.Note("the running hob has taken it; see how it does with: hob channels test " + d.name)
	default:
		d.app.Note("the running hob has not taken it yet; see why with: hob logs")
	}
	// Only kinds whose senders can be told apart have a key "known". Their owner is found by pairing.
	if slices.ContainsFunc(d.part.Keys, func(k schema.Key) bool { return k.Name == "known" }) {
		d.app.Note("make your account there known as yours with: hob pairing start " + d.name)
	}
	return nil
}

// reloadTimeout is how long a running daemon may take to reload its config.
const reloadTimeout = 5 * time.Second

// taken waits until the running daemon has the channel; nil after reloadTimeout.
func (d *sectionDraft) taken(ctx context.Context, c *client.Client) *api.Channel {
	return loaded(ctx, func(ctx context.Context) *api.Channel {
		rows, err := client.List(ctx, c, api.Channels, client.Filter{})
		if i := slices.IndexFunc(rows, func(r api.Channel) bool { return r.Name == d.name }); err == nil && i >= 0 {
			return &rows[i]
		}
		return nil
	})
}

// loaded waits until the running daemon has loaded what was written; nil after reloadTimeout. look finds it.
func loaded[R any](ctx context.Context, look func(context.Context) *R) *R {
	ctx, stop := context.WithTimeout(ctx, reloadTimeout)
	defer stop()
	// The daemon watches the file; nothing tells this process when it has loaded it, so it looks again and
	// again.
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if r := look(ctx); r != nil {
			return r
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}
