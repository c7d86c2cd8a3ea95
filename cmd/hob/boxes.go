package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/daemon/control/console"
)

type inboxRow struct {
	Seq      int64     `json:"seq"`
	Source   string    `json:"source"`
	Session  string    `json:"session"`
	Kind     string    `json:"kind"`
	State    string    `json:"state"`
	Received time.Time `json:"received"`
	Text     string    `json:"text"`
	Reason   string    `json:"reason"`
}

type outboxRow struct {
	ID         int64     `json:"id"`
	To         string    `json:"to"`
	Body       string    `json:"body"`
	State      string    `json:"state"`
	Created    time.Time `json:"created"`
	Deliveries []struct {
		Attempts int    `json:"attempts"`
		Error    string `json:"error"`
	} `json:"deliveries"`
}

// box is the inbox or the outbox: the same commands over different rows.
type box struct {
	name, short, row string
	list             func(a *app) *cobra.Command
	retried, dropped string
}

func inboxBox() box {
	return box{
		name: "inbox", short: "What came in", row: "SEQ",
		retried: "inbox row %s is tried again", dropped: "inbox row %s is dropped",
		list: func(a *app) *cobra.Command {
			return listCommand(a, listing[inboxRow]{
				resource: "inbox", short: "List what came in, newest first", none: "nothing has come in yet",
				head: []string{"SEQ", "STATE", "KIND", "SOURCE", "SESSION", "RECEIVED", "TEXT"},
				row: func(r inboxRow) []string {
					text := r.Text
					if r.Reason != "" {
						text = strings.TrimSpace("(" + r.Reason + ") " + text)
					}
					return []string{id(r.Seq), r.State, r.Kind, r.Source, r.Session, console.Clock(r.Received), text}
				},
			})
		},
	}
}

func outboxBox() box {
	return box{
		name: "outbox", short: "What goes out", row: "ID",
		retried: "message %s is tried again", dropped: "message %s is dropped",
		list: func(a *app) *cobra.Command {
			return listCommand(a, listing[outboxRow]{
				resource: "outbox", short: "List what goes out, newest first", none: "nothing has been sent yet",
				head: []string{"ID", "STATE", "TO", "CREATED", "TEXT"},
				row: func(r outboxRow) []string {
					text := r.Body
					for _, d := range r.Deliveries {
						if d.Error != "" {
							text = "(" + console.Plural(int64(d.Attempts), "attempt") + ": " + d.Error + ") " + r.Body
						}
					}
					return []string{id(r.ID), r.State, r.To, console.Clock(r.Created), text}
				},
			})
		},
	}
}

func boxCommand(a *app, b box) *cobra.Command {
	return family(b.name, b.short, b.list(a),
		showCommand(a, b.name, b.row, nil),
		verbCommand(a, b.name, "retry", b.row, "Try a failed one again", b.retried),
		verbCommand(a, b.name, "drop", b.row, "Give one up", b.dropped),
	)
}
