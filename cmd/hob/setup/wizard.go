package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/config/document"
	"hob/config/schema"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/secret"
)

// Program is what the wizard needs of the rest of the command line.
type Program struct {
	Reference func() config.Reference
	Version   string
	Self      string // hob's own executable
	// Service reports whether the service of a home is installed; the error says why this machine has none.
	Service func(ctx context.Context, home string) (installed bool, err error)
	Install func(ctx context.Context, home string) error
}

// answers are the flags of hob setup.
type answers struct {
	yes, noTest         bool
	model, baseURL, key string
	name, zone          string
	channel, service    string
	channelKeys         []string
}

// wizard is one run of hob setup.
type wizard struct {
	app   *cli.App
	prog  Program
	given answers
	flags map[string]bool // those that were given
	home  string
	ref   config.Reference
	host  *host
	ask   *asker
}

// Command makes hob setup.
func Command(a *cli.App, prog Program) *cobra.Command {
	w := &wizard{app: a, prog: prog, ask: newAsker(a), flags: map[string]bool{}}
	cmd := &cobra.Command{
		Use: "setup", Short: "Set hob up: model, your name, a channel, the service", Args: cli.None,
		Long: "Ask for what hob needs, one step after the other: a model, your name and time zone, a channel with its test and pairing, the service.\n" +
			"Enter keeps what is set; every step can be skipped and done later. It changes only what you answer, and you can run it again at any time.\n" +
			"Each answer is also a flag; with --yes nothing is asked, and what no flag answers stays as it is. Secrets go into files of hob's home that\n" +
			"only you can read, never into config.toml. Without a terminal the answers are read from standard input, a line each.",
		Example: "  hob setup\n  hob setup --yes --model openrouter/anthropic/claude-sonnet-4.5 --api-key env:OPENROUTER_API_KEY\n" +
			"  hob setup --yes --name Sam --zone Europe/Berlin --channel telegram --channel-key token=env:TELEGRAM_TOKEN",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"model", "base-url", "api-key", "name", "zone", "channel", "channel-key", "service"} {
				w.flags[name] = cmd.Flags().Changed(name)
			}
			return w.run(cmd.Context())
		},
	}
	f, g := cmd.Flags(), &w.given
	f.BoolVar(&g.yes, "yes", false, "ask nothing: what no flag answers stays as it is")
	f.BoolVar(&g.noTest, "no-test", false, "do not try the model and the channel out, and do not pair")
	f.StringVar(&g.model, "model", "", "the model, as BACKEND/NAME; none: the interpreter that needs no model")
	f.StringVar(&g.baseURL, "base-url", "", "the address of the model's server, for the backend compatible")
	f.StringVar(&g.key, "api-key", "", "the key of the model (a reference, or - to read it from standard input)")
	f.StringVar(&g.name, "name", "", "your name, as hob calls you")
	f.StringVar(&g.zone, "zone", "", "your time zone, like Europe/Berlin")
	f.StringVar(&g.channel, "channel", "", "the kind of a channel to add; none: no channel")
	f.StringArrayVar(&g.channelKeys, "channel-key", nil, "a key of that channel, as KEY=VALUE (several times)")
	f.StringVar(&g.service, "service", "", "install your own service (user), or none")
	cli.CompleteFlag(cmd, "service", cli.Words("user", "none"))
	cli.CompleteFlag(cmd, "zone", cli.Zones)
	cli.CompleteFlag(cmd, "model", w.completeModel)
	return cmd
}

// run takes the steps. A step that fails for a reason of its own does not undo those before it: each has written what it was told. With --yes the steps
// after it are taken too.
func (w *wizard) run(ctx context.Context) (err error) {
	if w.app.JSON {
		return cli.Usage("leave --json out", "hob setup has no JSON document to show")
	}
	if w.flags["service"] && !slices.Contains([]string{"user", "none"}, w.given.service) {
		return cli.Usage("want user or none; the service of the whole machine has a home of its own: hob service install --system", "--service %q is not known", w.given.service)
	}
	if w.home, err = ownHome(ctx, w.app); err != nil {
		return err
	}
	w.ref = w.prog.Reference()
	// A file with mistakes is not touched: what would be asked next depends on what is in it.
	if problems, err := w.ref.CheckFile(w.path(), nil); err != nil || !config.Valid(problems) {
		return &cli.Problem{Code: cli.ExitFailed, Text: "config.toml has a mistake, so hob setup does not change it", Hint: "see: hob config validate"}
	}
	if w.host, err = hosted(ctx, w.home, w.prog.Version, w.prog.Self); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.host.stop()) }()
	w.app.Note("the home is " + w.home)
	var failed error
	for _, step := range []struct {
		title string
		take  func(context.Context) error
	}{{"Model", w.model}, {"You", w.owner}, {"Channel", w.channel}, {"Service", w.service}} {
		w.title(step.title)
		err := step.take(ctx)
		switch {
		case errors.Is(err, errEnded), err != nil && ctx.Err() != nil:
			return &cli.Problem{Code: cli.ExitFailed, Text: "stopped: what you answered before is set", Hint: "go on with: hob setup"}
		case err != nil && !w.given.yes:
			return err
		case err != nil && failed != nil:
			w.say(err.Error())
		case err != nil:
			failed = err
		}
	}
	if failed != nil {
		return failed
	}
	w.title("Done")
	if w.host.own {
		w.app.Say("Start hob with: hob up")
	} else {
		w.app.Say("Talk to hob with: hob chat")
	}
	return nil
}

// path is the path of config.toml.
func (w *wizard) path() string { return filepath.Join(w.home, "config.toml") }

// title begins a step, where somebody is asked.
func (w *wizard) title(text string) {
	if !w.given.yes && !w.app.Quiet {
		w.app.Print(w.app.Err, "\n"+text)
	}
}

// say explains something before a question.
func (w *wizard) say(text string) { w.app.Print(w.app.Err, console.Clean(text)) }

// value is what the file says for a key, "" if it says nothing.
func (w *wizard) value(key string) string {
	list, err := w.ref.Look(w.path(), nil, key)
	if err != nil || len(list) != 1 || list[0].From != config.FromFile || list[0].Value == nil {
		return ""
	}
	return list[0].Text()
}

// change writes keys of config.toml, in one write. A key with an empty value is taken out. It returns what takes the change back, and writes
// nothing if the file has all values already.
func (w *wizard) change(values map[string]string) (undo func() error, changed bool, err error) {
	before, err := config.FileContent(w.path())
	if err != nil {
		return nil, false, err
	}
	var list []document.Change
	for _, key := range slices.Sorted(maps.Keys(values)) {
		has := w.value(key)
		switch {
		case has == values[key]:
		case values[key] == "":
			list = append(list, document.Change{Key: key, Unset: true})
		default:
			list = append(list, document.Change{Key: key, Value: values[key]})
		}
	}
	if len(list) == 0 {
		return func() error { return nil }, false, nil
	}
	next, err := document.Set(w.ref, w.path(), before, list...)
	if err != nil {
		return nil, false, err
	}
	return func() error { return Save(w.path(), next, before) }, true, Save(w.path(), before, next)
}

// owner asks for the owner's name and time zone.
func (w *wizard) owner(ctx context.Context) error {
	before := w.value("owner.timezone") // the daemon takes a change of the file a little later
	if before == "" {
		status, err := client.Show(ctx, w.host.client, api.ShowStatus, "")
		if err != nil {
			return err
		}
		before = status.Zone
	}
	for _, q := range []struct{ flag, key, given, question, none string }{
		{"name", "owner.name", w.given.name, "Your name, as hob calls you", "none"},
		{"zone", "owner.timezone", w.given.zone, "Your time zone, like Europe/Berlin", "this machine's"},
	} {
		if w.flags[q.flag] {
			if _, _, err := w.change(map[string]string{q.key: q.given}); err != nil {
				return flagMistake(err)
			}
			continue
		}
		if w.given.yes {
			continue
		}
		if err := w.ownerKey(ctx, q.key, q.question, q.none); err != nil {
			return err
		}
	}
	return w.moveJobs(ctx, before)
}

// ownerKey asks for a key of the section owner until it is right. Enter keeps what is set.
func (w *wizard) ownerKey(ctx context.Context, key, question, none string) error {
	for {
		has := cmp.Or(w.value(key), none)
		text, err := w.ask.ask(ctx, fmt.Sprintf("%s [%s]: ", question, has))
		if err != nil || text == "" {
			return err
		}
		_, _, err = w.change(map[string]string{key: text})
		var list config.Errors
		if !errors.As(err, &list) {
			return err
		}
		if key == "owner.timezone" && w.cityZone(text) {
			return nil
		}
		w.say(list[0].Text)
		if !w.ask.terminal() {
			return flagMistake(err)
		}
	}
}

// cityZone takes the zone of a city that was named without its area, or in lower case, and says which zone that is.
func (w *wizard) cityZone(city string) bool {
	name := []rune(strings.ReplaceAll(strings.ToLower(city), " ", "_"))
	for i := range name {
		if i == 0 || name[i-1] == '_' || name[i-1] == '/' {
			name[i] = unicode.ToUpper(name[i])
		}
	}
	// The areas of the IANA time zone database that have cities.
	for _, area := range []string{"", "Europe/", "America/", "Asia/", "Africa/", "Australia/", "Pacific/", "Atlantic/", "Indian/"} {
		if _, _, err := w.change(map[string]string{"owner.timezone": area + string(name)}); err == nil {
			w.say("Your time zone is " + area + string(name) + ".")
			return true
		}
	}
	return false
}

// flagMistake makes an error of the command line of a mistake in a value.
func flagMistake(err error) error {
	var list config.Errors
	if errors.As(err, &list) && len(list) > 0 {
		return cli.Usage(list[0].Hint, "%s", list[0].Text)
	}
	return err
}

// channel adds a channel, or pairs the owner of one that was added before.
func (w *wizard) channel(ctx context.Context) error {
	rows, err := client.List(ctx, w.host.client, api.Channels, client.Filter{})
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r api.Channel) bool { return r.Kind == "cli" })
	parts := offeredKinds(w.ref)
	if w.flags["channel"] {
		return w.flaggedChannel(ctx, parts, rows)
	}
	if w.given.yes {
		return nil
	}
	return w.chosenChannel(ctx, parts, rows)
}

// chosenChannel asks which channel is to be added. Those that wait for their pairing come first.
func (w *wizard) chosenChannel(ctx context.Context, parts []config.Part, rows []api.Channel) error {
	var names []string
	var unpaired []api.Channel
	for _, r := range rows {
		if r.Pairs && len(r.Owner) == 0 {
			unpaired = append(unpaired, r)
			names = append(names, "pair your account on "+r.Name)
			continue
		}
		w.say(fmt.Sprintf("%s (%s) is set up.", r.Name, r.Kind))
	}
	names = append(append(names, kindOffers(parts)...), "skip")
	otherwise := len(names) - 1
	if len(unpaired) > 0 {
		otherwise = 0
	}
	w.say("Where do you want to write to hob?")
	i, err := w.ask.choose(ctx, "Which one", names, otherwise)
	switch {
	case err != nil:
		return err
	case i == len(names)-1:
		w.say("Later: hob channels add")
		return nil
	case i < len(unpaired):
		return settle(ctx, w.app, w.host.client, w.ask, unpaired[i])
	}
	d, err := w.draft(parts[i-len(unpaired)])
	if err != nil {
		return err
	}
	d.asker = w.ask
	if w.given.noTest {
		_, err := d.write(ctx, w.home)
		return flagMistake(err)
	}
	err = untilItWorks(ctx, w.host.client, d, w.home)
	var p *cli.Problem
	if errors.As(err, &p) && ctx.Err() == nil { // the other steps do not depend on this one
		w.say(p.Text)
		w.say("Later: hob channels add")
		return nil
	}
	return err
}

// draft begins the section of a channel, with what the flags say.
func (w *wizard) draft(p config.Part) (*sectionDraft, error) {
	d := &sectionDraft{app: w.app, part: p, name: freeName(w.home, p.Kind), values: map[string]string{}, pasted: map[string]string{}}
	for _, pair := range w.given.channelKeys {
		name, value, ok := strings.Cut(pair, "=")
		k := slices.IndexFunc(p.Keys[1:], func(k schema.Key) bool { return k.Name == name })
		if !ok || k < 0 {
			return nil, cli.Usage("see: hob channels add "+p.Kind+" --help", "--channel-key %q is not KEY=VALUE with a key of %s", name, p.Kind)
		}
		if err := d.give(p.Keys[k+1], "channel-key "+name, value); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// flaggedChannel adds the channel of the flags. One of that kind that exists already stays as it is.
func (w *wizard) flaggedChannel(ctx context.Context, parts []config.Part, rows []api.Channel) error {
	if w.given.channel == "none" {
		return nil
	}
	i := slices.Index(kindNames(parts), w.given.channel)
	if i < 0 {
		return cli.Usage("the kinds are: "+strings.Join(kindNames(parts), ", "), "--channel %q is not a kind of channel", w.given.channel)
	}
	if j := slices.IndexFunc(rows, func(r api.Channel) bool { return r.Name == parts[i].Kind }); j >= 0 {
		w.app.Say("channel %s is set up already", rows[j].Name)
		return w.pairLater(rows[j])
	}
	d, err := w.draft(parts[i])
	if err != nil {
		return err
	}
	if !w.given.yes {
		d.asker = w.ask
	}
	if d.asker != nil && !w.given.noTest {
		return untilItWorks(ctx, w.host.client, d, w.home)
	}
	if _, err := d.write(ctx, w.home); err != nil {
		return flagMistake(err)
	}
	if w.given.noTest {
		return w.pairLater(api.Channel{Name: d.name, Pairs: d.pairs()})
	}
	row, err := proved(ctx, w.app, w.host.client, d)
	if err != nil {
		return err
	}
	return w.pairLater(row)
}

// pairLater says how to pair an account where nobody is asked.
func (w *wizard) pairLater(r api.Channel) error {
	if r.Pairs && len(r.Owner) == 0 {
		w.app.Say("make your account on %s known as yours with: hob pairing start %s", r.Name, r.Name)
	}
	return nil
}

// service installs the service, or says how to do it later.
func (w *wizard) service(ctx context.Context) error {
	installed, err := w.prog.Service(ctx, w.home)
	switch {
	case w.given.service == "none":
		return nil
	case err != nil:
		_, text, hint := cli.Explain(err)
		if w.flags["service"] {
			return err
		}
		if !w.given.yes {
			w.say("This machine cannot run hob as a service: " + text)
			w.say(hint)
		}
		return nil
	case !w.flags["service"] && installed:
		w.app.Note("the service is installed; see: hob service status")
		return nil
	case !w.flags["service"] && w.given.yes:
		return nil
	}
	if !w.flags["service"] {
		yes, err := w.ask.yes(ctx, "Install hob as a service, so that it runs in the background and after a restart of the machine?", true)
		if err != nil {
			return err
		}
		if !yes {
			w.say("Later: hob service install")
			return nil
		}
	}
	// The service needs the home, which the daemon of this process holds.
	if err := w.host.stop(); err != nil {
		return err
	}
	w.host.stop, w.host.own = func() error { return nil }, false
	return w.prog.Install(ctx, w.home)
}

// readKey reads the key of a flag: a reference, or "-" for standard input.
func (w *wizard) readKey(value string) (ref, literal string, err error) {
	switch {
	case value == "" || secret.IsReference(value):
		return value, "", nil
	case value != "-":
		return "", "", LiteralSecret("--api-key")
	}
	literal, err = cli.PipedSecret(w.ask.in, "key", "for example: printf %s \"$KEY\" | hob setup --yes --model … --api-key -")
	return "", literal, err
}
