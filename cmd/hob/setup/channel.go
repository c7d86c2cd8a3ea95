package setup

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/config/document"
	"hob/config/schema"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/sys"
)

// addChannel is hob channels add: it writes the section, and if a daemon of this home runs, it waits until that has loaded it. Where somebody
// can be asked, the test and the pairing follow.
func addChannel(ctx context.Context, d *sectionDraft, home string) error {
	c, down := client.Find(ctx, home, false)
	if down == nil && d.asker != nil {
		return untilItWorks(ctx, c, d, home)
	}
	if _, err := d.write(ctx, home); err != nil {
		return err
	}
	path := filepath.Join(home, "config.toml")
	// has stays nil without a daemon, and if the daemon does not load the channel in time.
	var has *api.Channel
	if down == nil {
		has = d.taken(ctx, c)
	}
	if d.app.JSON {
		return d.app.Document(map[string]string{"channel": d.name, "kind": d.part.Kind, "file": path})
	}
	if !d.app.Quiet {
		d.app.Say("channel %s (%s) is in %s", d.name, d.part.Kind, path)
	}
	switch {
	case down != nil: // nobody can load the section now
		d.app.Note("no hob runs that could try it; start hob with: hob up; then try the channel with: hob channels test " + d.name)
	case has != nil && has.Unfit: // as when the daemon's environment lacks what env: names, though the shell has it
		d.app.Note("the running hob has read it and cannot use it: " + ChannelFault(*has))
		return nil
	case has != nil:
		d.app.Note("the running hob has taken it; see how it does with: hob channels test " + d.name)
	default:
		d.app.Note("the running hob has not taken it yet; see why with: hob logs")
	}
	if d.pairs() {
		d.app.Note("make your account there known as yours with: hob pairing start " + d.name)
	}
	return nil
}

// pairs reports whether an owner can be found by pairing: only kinds whose senders can be told apart have a key "known".
func (d *sectionDraft) pairs() bool {
	return slices.ContainsFunc(d.part.Keys, func(k schema.Key) bool { return k.Name == "known" })
}

// untilItWorks writes the section, tests the channel and pairs its owner. If the test fails, the owner may answer again; the section and the
// secrets are then taken back first.
func untilItWorks(ctx context.Context, c *client.Client, d *sectionDraft, home string) error {
	given := *d // what the flags have said stays
	given.values, given.pasted = maps.Clone(d.values), maps.Clone(d.pasted)
	for {
		undo, err := d.write(ctx, home)
		if err != nil {
			return err
		}
		row, fault := proved(ctx, d.app, c, d)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if fault == nil {
			return settle(ctx, d.app, c, d.asker, row)
		}
		_, text, hint := cli.Explain(fault)
		d.app.Print(d.app.Err, console.Clean(text))
		if hint != "" {
			d.app.Print(d.app.Err, "  "+console.Clean(hint))
		}
		if !d.asker.terminal() {
			return keepsUnproved(d, fault)
		}
		again, err := d.asker.yes(ctx, "Answer its questions again?", true)
		if err != nil {
			return err
		}
		if !again {
			return keepsUnproved(d, fault)
		}
		if err := undo(); err != nil {
			return err
		}
		awaitGone(ctx, c, d.name) // its fault would otherwise be taken for that of the next answer
		*d = given
		d.values, d.pasted = maps.Clone(given.values), maps.Clone(given.pasted)
	}
}

// keepsUnproved says what becomes of a channel that failed its test: its section stays.
func keepsUnproved(d *sectionDraft, fault error) error {
	d.app.Note("the channel stays as it is; test it again with: hob channels test " + d.name + ", or take it out with: hob channels rm " + d.name)
	return &cli.Problem{Code: cli.ExitFailed, Text: fmt.Sprintf("channel %s does not work yet", d.name), Hint: "see above: " + console.OneLine(fault.Error())}
}

// proved waits until the daemon has loaded a channel, and tests it.
func proved(ctx context.Context, a *cli.App, c *client.Client, d *sectionDraft) (api.Channel, error) {
	row := d.taken(ctx, c)
	switch {
	case row == nil:
		return api.Channel{}, &cli.Problem{Code: cli.ExitFailed, Text: "the running hob has not loaded the channel", Hint: "see why with: hob logs"}
	case row.Unfit:
		return *row, &cli.Problem{Code: cli.ExitFailed, Text: "the running hob cannot use it: " + ChannelFault(*row)}
	}
	var t api.ChannelTest
	err := a.Waiting("testing channel "+d.name, func() (err error) {
		t, err = client.Do(ctx, c, api.TestChannel, d.name, api.TestMessage{})
		return err
	})
	if err != nil {
		return *row, err
	}
	return *row, PrintTest(a, t)
}

// PrintTest says what of a channel works, and returns what does not as an error.
func PrintTest(a *cli.App, t api.ChannelTest) error {
	if !a.JSON && !a.Quiet {
		for _, line := range t.Works {
			a.Say("ok: %s", console.OneLine(line))
		}
	}
	if t.Fault == "" {
		return nil
	}
	text, hint := testVerdict(t)
	return &cli.Problem{Code: cli.ExitFailed, Text: text, Hint: hint, Doc: t}
}

// settle pairs the owner of a channel that works, and sends the owner a message there.
func settle(ctx context.Context, a *cli.App, c *client.Client, k *asker, row api.Channel) error {
	if row.Pairs && len(row.Owner) == 0 {
		bound, err := pairOrSkip(ctx, a, c, k, row.Name)
		if err != nil || !bound {
			return err
		}
	}
	return greet(ctx, a, c, row.Name)
}

// pairOrSkip shows a code and waits until an account is bound. At a terminal Enter skips that.
func pairOrSkip(ctx context.Context, a *cli.App, c *client.Client, k *asker, channel string) (bound bool, err error) {
	later := "you can pair your account later with: hob pairing start " + channel
	wait, stop := context.WithCancel(ctx)
	defer stop()
	var typed <-chan line // never ready where nobody can press Enter
	if k.terminal() {
		a.Print(a.Err, "To do this later, press Enter.")
		typed = k.next()
	}
	ended := make(chan error, 1)
	sys.NewGroup(slog.New(slog.DiscardHandler), nil).Once("pair", func() error {
		ended <- pairWith(wait, a, c, channel)
		return nil
	})
	select {
	case err = <-ended:
	case <-typed: // what was typed belongs to this question, whatever it says
		k.pending = nil
		stop()
		if err := <-ended; err == nil {
			return true, nil // the code came at the same moment
		}
		a.Note(later)
		return false, ctx.Err()
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		_, text, hint := cli.Explain(err)
		a.Note(text)
		a.Note(hint)
		return false, nil
	}
	return true, nil
}

// sendTime is how long the message to the owner may take before the wizard goes on without it.
const sendTime = 30 * time.Second

// greet sends the owner a message, and waits until it has gone out.
func greet(ctx context.Context, a *cli.App, c *client.Client, channel string) error {
	t, err := client.Do(ctx, c, api.TestChannel, channel, api.TestMessage{Send: "true"})
	if err != nil || t.Fault != "" || t.Outbox == 0 {
		// A channel without an owner's address, such as a topic that anybody can write to, has nobody to greet.
		if err == nil && t.Fault != "" {
			a.Note(console.OneLine(t.Fault))
		}
		return err
	}
	row := within(ctx, sendTime, func(ctx context.Context) *api.OutboxRow {
		r, err := client.Show(ctx, c, api.ShowOutbox, cli.ID(t.Outbox))
		if err != nil || r.State == "ready" {
			return nil
		}
		return &r
	})
	switch {
	case row == nil:
		a.Note(fmt.Sprintf("a test message waits to be sent: hob outbox show %d", t.Outbox))
	case row.State == "done":
		a.Say("ok: hob has sent you a test message to %s", t.To)
	default:
		a.Note(fmt.Sprintf("the test message has not arrived (%s): hob outbox show %d", row.State, t.Outbox))
	}
	return ctx.Err()
}

// freeName is the name for a new channel: its kind, with a number if the config has such a section.
func freeName(home, kind string) string {
	doc, err := config.FileContent(filepath.Join(home, "config.toml"))
	if err != nil {
		return kind // the write says what is wrong with the file
	}
	tree, err := document.Parse(doc)
	if err != nil {
		return kind
	}
	has, _ := tree["channels"].(map[string]any)
	name := kind
	for n := 2; has[name] != nil; n++ {
		name = fmt.Sprintf("%s-%d", kind, n)
	}
	return name
}
