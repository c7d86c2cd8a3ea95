package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/console"
)

// queueCommands describes the commands of the inbox or of the outbox, which differ in their rows and texts.
type queueCommands[R any] struct {
	short, row       string
	list             cli.Listing[R]
	show             api.Show[R]
	shown            string
	retry, drop      string
	retried, dropped string
	again, giveUp    api.Verb[api.None, api.Done]
}

func inboxCommands() queueCommands[api.InboxRow] {
	return queueCommands[api.InboxRow]{
		show: api.ShowInbox, again: api.RetryInbox, giveUp: api.DropInbox,
		short: "See what came in", row: "SEQ",
		shown: "Show a row: its text, where from, and what became of it",
		retry: "Serve a row again that was dropped, expired or given up", drop: "Give up a row that is queued or held; retry takes it back",
		retried: "inbox row %s is tried again", dropped: "inbox row %s is dropped",
		list: cli.Listing[api.InboxRow]{
			Route: api.Inbox, Short: "List what came in, newest first", None: "nothing has come in yet",
			States: []string{"queued", "held", "joined", "done", "dropped", "expired", "dead"},
			Head:   []string{"SEQ", "STATE", "KIND", "SOURCE", "SESSION", "RECEIVED", "TEXT"},
			Row: func(r api.InboxRow, clock cli.Clock) []string {
				text := r.Text
				if r.Reason != "" {
					text = strings.TrimSpace("(" + console.ToYou(r.Reason) + ") " + text)
				}
				return []string{cli.ID(r.Seq), r.State, r.Kind, r.Source, r.Session, clock(r.Received), text}
			},
		},
	}
}

func outboxCommands() queueCommands[api.OutboxRow] {
	return queueCommands[api.OutboxRow]{
		show: api.ShowOutbox, again: api.RetryOutbox, giveUp: api.DropOutbox,
		short: "See what goes out", row: "ID",
		shown: "Show a message with every try to deliver it",
		retry: "Send a message again that was held, expired, cancelled or given up", drop: "Cancel a message that is not sent yet; retry takes it back",
		retried: "message %s is tried again", dropped: "message %s is dropped",
		list: cli.Listing[api.OutboxRow]{
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
		},
	}
}

// remark explains the state of a message: what it waits for, its last error, or why it was given up.
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

func queueCommand[R any](a *cli.App, b queueCommands[R]) *cobra.Command {
	return cli.Family(b.list.Route.Name(), b.short, cli.List(a, b.list),
		cli.Show(a, b.show, b.row, b.shown, nil),
		cli.Verb(a, b.again, b.row, b.retry, b.retried),
		cli.Verb(a, b.giveUp, b.row, b.drop, b.dropped),
	)
}
