package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// inboxCommand makes hob inbox: the rows that came in, from channels, triggers and the command line. A row is
// stored before its sender gets an acknowledgement, so everything that hob has accepted is in this list. The
// agent's thread takes the queued rows, the ones with the best rank first.
func inboxCommand(a *cli.App) *cobra.Command {
	return cli.Family("inbox", "See what came in",
		cli.List(a, cli.Listing[api.InboxRow]{
			Route: api.Inbox, Short: "List what came in, newest first", None: "nothing has come in yet; say something with: hob chat",
			States: []string{"queued", "held", "joined", "done", "dropped", "expired", "dead"},
			Head:   []string{"SEQ", "STATE", "KIND", "SOURCE", "SESSION", "RECEIVED", "TEXT"},
			// The reason says why a row was dropped, held or given up; it comes before the text, which may be
			// long.
			Row: func(r api.InboxRow, clock cli.Clock) []string {
				text := r.Text
				if r.Reason != "" {
					text = strings.TrimSpace("(" + console.ToYou(r.Reason) + ") " + text)
				}
				return []string{cli.ID(r.Seq), r.State, r.Kind, r.Source, r.Session, clock(r.Received), text}
			},
		}),
		cli.Show(a, api.ShowInbox, "SEQ", "Show a row: its text, where from, and what became of it", nil),
		cli.Verb(a, api.RetryInbox, "SEQ", "Serve a row again that was dropped, expired or given up", "inbox row %s is tried again"),
		cli.Verb(a, api.DropInbox, "SEQ", "Give up a row that is queued or held; retry takes it back", "inbox row %s is dropped"),
	)
}

// outboxCommand makes hob outbox: the messages to channels, with every attempt to deliver them. A row is stored
// before anything is sent. The channel of its address sends it, and notes each attempt as a delivery.
func outboxCommand(a *cli.App) *cobra.Command {
	return cli.Family("outbox", "See what goes out",
		cli.List(a, cli.Listing[api.OutboxRow]{
			Route: api.Outbox, Short: "List what goes out, newest first", None: "nothing has been sent yet",
			States: []string{"draft", "held", "ready", "done", "cancelled", "expired", "dead"},
			Head:   []string{"ID", "STATE", "TO", "CREATED", "TEXT"},
			Row: func(r api.OutboxRow, clock cli.Clock) []string {
				text := r.Body
				if remark := remark(r, time.Now(), clock); remark != "" {
					text = "(" + remark + ") " + text
				}
				return []string{cli.ID(r.ID), r.State, string(r.To), clock(r.Created), text}
			},
		}),
		cli.Show(a, api.ShowOutbox, "ID", "Show a message with every try to deliver it", nil),
		cli.Verb(a, api.RetryOutbox, "ID", "Send a message again that was held, expired, cancelled or given up", "message %s is tried again"),
		cli.Verb(a, api.DropOutbox, "ID", "Cancel a message that is not sent yet; retry takes it back", "message %s is dropped"),
	)
}

// remark explains the state of a message: what it waits for, its last error, or why it was given up. The order
// of the cases is that of a message's life: written, waiting for its time, failing, ended.
func remark(r api.OutboxRow, now time.Time, clock cli.Clock) string {
	left := r.NotBefore.Sub(now)
	switch {
	case r.State == "draft":
		return fmt.Sprintf("an answer that is still being written; hob outbox drop %d stops it", r.ID)
	case r.State == "ready" && left > 0 && r.Waits == "hold":
		return fmt.Sprintf("goes in %s; hob outbox drop %d stops it", max(left.Round(time.Second), time.Second), r.ID)
	case r.State == "ready" && left > 0 && r.Waits == "quiet":
		return "waits while it is quiet, until " + clock(r.NotBefore)
	case r.State == "ready" && left > 0:
		return "waits until " + clock(r.NotBefore)
	}
	// The newest attempt is the last one. A long message has several deliveries, so the first error from the
	// end counts.
	for _, d := range slices.Backward(r.Deliveries) {
		if d.Error != "" {
			return console.Plural(int64(d.Attempts), "attempt") + ": " + d.Error
		}
	}
	if r.State == "ready" || r.State == "done" {
		return ""
	}
	return console.ToYou(r.Reason)
}

// sayUnsent says how many messages were tried and have not gone out, and why the newest of them has not.
func sayUnsent(ctx context.Context, a *cli.App) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	rows, err := client.List(ctx, c, api.Outbox, client.Filter{State: "ready"})
	if err != nil {
		return err
	}
	tried, why := 0, ""
	for _, r := range rows {
		failed := slices.IndexFunc(r.Deliveries, func(d api.Delivery) bool { return d.Error != "" })
		if failed >= 0 {
			tried++
			why = cmp.Or(why, r.Deliveries[failed].Error)
		}
	}
	if tried > 0 {
		introduce(a, fmt.Sprintf("%s could not be sent yet: %s. See: hob outbox list --state ready", console.Plural(tried, "message"), console.OneLine(why)))
	}
	return nil
}
