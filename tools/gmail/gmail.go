// Package gmail holds the tools for the owner's mail at Google: gmail_search, gmail_read and gmail_send. Package daemon/account connects to Google.
//
// Everything that a mailbox returns is text of others. No tool here deletes, labels or marks a mail, and none answers by itself.
package gmail

import (
	"context"
	"time"

	"hob/daemon/event"
	"hob/daemon/mail"
	"hob/daemon/netguard"
	"hob/tools"
)

// Group is the group of these tools.
const Group = "mail"

// Account is the name of the account with mail.
const Account = "google"

// Mailbox is the owner's mail. Errors for the model are those of tools.Refuse. It is safe for concurrent use.
type Mailbox interface {
	// SearchMail returns a page of what a search finds, newest first.
	SearchMail(ctx context.Context, q Query) (Page, error)
	// ReadMail reads a mail that a search has named.
	ReadMail(ctx context.Context, id string) (Mail, error)
	// PlanMail returns the account and the address from which a mail would be sent. It makes no request.
	PlanMail(ctx context.Context) (Plan, error)
	// SendMail sends a mail. With the same key, a draft is sent only once, even after a crash.
	SendMail(ctx context.Context, d Draft) (Sent, error)
}

// Query is a search in Gmail's own syntax.
type Query struct {
	Text  string
	Limit int
	Page  string // Next of the page before; "": the first
}

// Page is a page of a search.
type Page struct {
	Hits []Hit
	Next string // "": it is the last one
}

// Hit is a mail that was found. Its texts are those of others.
type Hit struct {
	ID, Thread        string
	From, To, Subject string
	At                time.Time
	Snippet           string
	Unread            bool
	Files             bool
}

// Mail is a mail as it arrived.
type Mail struct {
	Hit
	Cc   string
	Body mail.Body
}

// Draft is a mail to send.
type Draft struct {
	Key         string // the same for each try
	To, Cc, Bcc []string
	Subject     string
	Text        string
	Answers     string // id of the mail that it answers; "": none
	Now         time.Time
}

// Plan says from where a draft would be sent.
type Plan struct {
	Account string
	From    string // the owner's address there
}

// Sent is a mail that was sent.
type Sent struct {
	ID, Thread string
	Before     bool // an earlier try has sent it
}

// Known knows the addresses of the owner and of the people whom the config calls known.
type Known interface {
	Known(ctx context.Context) ([]event.Address, error)
}

// Artifacts stores the files of mails.
type Artifacts interface {
	KeepForeign(ctx context.Context, name, source string, data []byte) (id string, err error)
}

// withAccount returns a tool that exists only with an account.
func withAccount(t tools.Tool, o tools.Account[Mailbox]) tools.Tool {
	return tools.Needing(t, "there is no mail account; add one with: hob account add google", func() bool { return o != nil && o.Set() })
}

// reading is the intent of a call that reads.
func reading(summary string, canonical []byte) tools.Intent {
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.AccountRead}, Accounts: []string{Account}, Foreign: "mail: " + Account, Summary: summary, Canonical: canonical,
	}
}

// Limits of what is shown, in characters, and of files that are kept.
const (
	maxLine  = 200
	maxBody  = 24_000
	maxFiles = 20
)

// oneLine shows a text of others in one line.
func oneLine(s string, n int) string { return netguard.Visible(mail.Line(s, n)) }

// when shows a time in the owner's zone.
func when(t time.Time, zone string) string {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		loc = time.UTC // the daemon has checked the owner's zone
	}
	return t.In(loc).Format("Mon 2006-01-02 15:04 MST")
}
