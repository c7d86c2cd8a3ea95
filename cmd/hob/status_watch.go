package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/console"
)

// watchInterval is the pause between two requests.
const watchInterval = time.Second

// watchStatus prints the status repeatedly until ctx ends, which is no failure. If the daemon stops meanwhile,
// it waits for it to return. The first request must succeed: a wrong --home or a missing daemon is an error at
// once.
func watchStatus(ctx context.Context, a *cli.App) error {
	s, doc, err := fetchStatus(ctx, a)
	if err != nil {
		return err
	}
	show := printStatusChanges(a)
	if !a.JSON && cli.IsTerminal(a.Out) {
		show = redrawStatus(a)
	}
	// There is no event for every value of the status, so it is read again each second.
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		if ctx.Err() != nil {
			return nil // the last request was cancelled
		}
		if err := show(s, doc, err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		s, doc, err = fetchStatus(ctx, a)
	}
}

// fetchStatus finds the daemon anew each time, because a restarted one may have another port.
func fetchStatus(ctx context.Context, a *cli.App) (s statusView, doc json.RawMessage, err error) {
	c, err := a.Client(ctx)
	if err != nil {
		return s, nil, err
	}
	s.Status, doc, err = cli.Row(ctx, c, api.ShowStatus, "")
	return s, doc, err
}

// redrawStatus draws over what was there: the cursor goes home, each line is cleared to its end as it is written, and what is left below
// is cleared last (ECMA-48: CUP, EL, ED), so that nothing flickers.
func redrawStatus(a *cli.App) func(statusView, json.RawMessage, error) error {
	return func(s statusView, _ json.RawMessage, lost error) error {
		// The width is read each time, because a window can be resized.
		p := layout{width: cli.Columns(a.Out)}
		text := ""
		if lost != nil {
			_, why, _ := cli.Explain(lost)
			text = p.line("hob does not answer: "+why) + "\n"
		} else {
			p.zone = cli.ZoneOrLocal(s.Zone)
			text = s.page(p)
		}
		return a.Text("\x1b[H" + strings.ReplaceAll(text, "\n", "\x1b[K\n") + "\x1b[J")
	}
}

// printStatusChanges prints a line, or a JSON document, each time the line changes. Pipes and logs get no line
// for a second in which nothing happened.
func printStatusChanges(a *cli.App) func(statusView, json.RawMessage, error) error {
	last := ""
	return func(s statusView, doc json.RawMessage, lost error) error {
		text := ""
		if lost != nil {
			_, why, _ := cli.Explain(lost)
			text, doc = "hob does not answer: "+why, nil
		} else {
			text = s.brief()
		}
		if text == last {
			return nil
		}
		last = text
		switch {
		case !a.JSON:
			return a.Text(console.InZone(time.Now(), cli.ZoneOrLocal(s.Zone), true) + " · " + text + "\n")
		case doc == nil:
			return a.Document(map[string]string{"error": text})
		}
		return a.Document(doc)
	}
}

// brief is the status on one line, without values that change constantly. It leaves out counters and times,
// else every second would count as a change.
func (s statusView) brief() string {
	p := layout{zone: cli.ZoneOrLocal(s.Zone)}
	parts := []string{s.word(), s.thread(), console.Plural(s.Questions, "question"), fmt.Sprintf("%d to be sent, %d held", s.Outbox.Ready, s.Outbox.Held), s.schedule(p)}
	for _, m := range s.Models {
		if m.Resting != nil || m.LastError != "" {
			parts = append(parts, "model "+modelText(m, p))
		}
	}
	for _, c := range s.Channels {
		// A channel without problems adds nothing to the line.
		if c.Receiving.State != "ok" || c.Sending.State != "ok" && c.Sending.State != "not tried" {
			parts = append(parts, c.Name+": receiving "+string(c.Receiving.State)+", sending "+string(c.Sending.State))
		}
	}
	if n := int64(len(s.Config)); n > 0 {
		parts = append(parts, console.Plural(n, "remark")+" on the config")
	}
	return console.OneLine(strings.Join(parts, " · "))
}
