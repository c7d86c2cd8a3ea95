package google

import (
	"bytes"
	"context"
	"encoding/base64"
	netmail "net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/daemon/mail"
	"hob/daemon/text"
	"hob/tools"
	"hob/tools/gmail"
)

// message is a mail as the interface has it.
type message struct {
	ID           string   `json:"id"`
	ThreadID     string   `json:"threadId"`
	LabelIDs     []string `json:"labelIds"`
	Snippet      string   `json:"snippet"`
	InternalDate string   `json:"internalDate"` // milliseconds
	Raw          string   `json:"raw"`          // with format=raw: RFC 2822 in base64url
	Payload      struct {
		Headers []struct{ Name, Value string } `json:"headers"`
	} `json:"payload"`
}

func (m message) header(name string) string {
	for _, h := range m.Payload.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

func (m message) at() time.Time {
	n, _ := strconv.ParseInt(m.InternalDate, 10, 64) // a missing date is 1970
	return time.UnixMilli(n)
}

func (m message) hit(header func(string) string) gmail.Hit {
	return gmail.Hit{
		ID: m.ID, Thread: m.ThreadID, From: mail.Decoded(header("From")), To: mail.Decoded(header("To")), Subject: mail.Decoded(header("Subject")), At: m.at(),
		Snippet: m.Snippet, Unread: slices.Contains(m.LabelIDs, "UNREAD"),
	}
}

// Mailbox is the mail of an account.
type Mailbox struct {
	s        Settings
	c        *rest
	journals journals
}

// granted reports whether the owner has granted mail, and with send to send it.
func (a Mailbox) granted(send bool) error {
	switch {
	case send && a.s.Mail != Send:
		return withoutAccess("--mail send", "not send mail")
	case a.s.Mail == None:
		return withoutAccess("--mail read", "not read mail")
	}
	return nil
}

// SearchMail returns a page of what a search finds. Google's list has only ids, so each mail is asked for.
func (a Mailbox) SearchMail(ctx context.Context, q gmail.Query) (page gmail.Page, err error) {
	if err := a.granted(false); err != nil {
		return page, err
	}
	var list struct {
		Messages      []message `json:"messages"`
		NextPageToken string    `json:"nextPageToken"`
	}
	ask := url.Values{"q": {q.Text}, "maxResults": {strconv.Itoa(q.Limit)}}
	if q.Page != "" {
		ask.Set("pageToken", q.Page)
	}
	if err := a.c.get(ctx, mailAPI(), "/messages", ask, scopeMail, &list); err != nil {
		return page, err
	}
	page.Next = list.NextPageToken
	for _, m := range list.Messages[:min(len(list.Messages), q.Limit)] {
		var one message
		err := a.c.get(ctx, mailAPI(), "/messages/"+url.PathEscape(m.ID), url.Values{"format": {"metadata"}, "metadataHeaders": {"From", "To", "Subject"}}, scopeMail, &one)
		if status(err) == 404 {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return page, err
		}
		page.Hits = append(page.Hits, one.hit(one.header))
	}
	return page, nil
}

// ReadMail reads a mail.
func (a Mailbox) ReadMail(ctx context.Context, id string) (gmail.Mail, error) {
	if err := a.granted(false); err != nil {
		return gmail.Mail{}, err
	}
	var m message
	if err := a.c.get(ctx, mailAPI(), "/messages/"+url.PathEscape(id), url.Values{"format": {"raw"}}, scopeMail, &m); err != nil {
		return gmail.Mail{}, err
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(m.Raw, "="))
	if err != nil {
		return gmail.Mail{}, tools.Refuse(tools.IO, "look at it at Google", "the mail %s cannot be read", text.Shorten(id, 40))
	}
	m.Raw = ""
	out := gmail.Mail{Hit: m.hit(func(string) string { return "" }), Body: mail.Read(raw)}
	if head, err := netmail.ReadMessage(bytes.NewReader(raw[:min(len(raw), mail.MaxHead)])); err == nil {
		out.Hit, out.Cc = m.hit(head.Header.Get), mail.Decoded(head.Header.Get("Cc"))
	}
	return out, nil
}

// PlanMail says from where a mail would go.
func (a Mailbox) PlanMail(context.Context) (gmail.Plan, error) {
	err := a.granted(true)
	if err == nil && a.s.Address == "" {
		err = incomplete()
	}
	return gmail.Plan{Account: Name, From: a.s.Address}, err
}
