package gmail

import (
	"context"
	"fmt"
	"strings"

	"hob/daemon/text"
	"hob/tools"
)

// SearchInput is the input of gmail_search.
type SearchInput struct {
	Query string `json:"query" jsonschema:"Gmail's search syntax: from:anna is:unread newer_than:7d has:attachment" max:"500"`
	Limit int    `json:"limit,omitempty" jsonschema:"mails" default:"10" min:"1" max:"25"`
	Page  string `json:"page,omitempty" jsonschema:"next of the page before" max:"200"`
}

// SearchOutput is the output of gmail_search.
type SearchOutput struct {
	Mails []Item `json:"mails" jsonschema:"newest first"`
	Next  string `json:"next,omitempty" jsonschema:"page of the next mails"`
}

// Item is a mail in a result.
type Item struct {
	ID      string `json:"id" jsonschema:"for gmail_read"`
	Thread  string `json:"thread" jsonschema:"id of its conversation"`
	From    string `json:"from" jsonschema:"author"`
	To      string `json:"to,omitempty" jsonschema:"recipients"`
	Subject string `json:"subject" jsonschema:"subject"`
	When    string `json:"when" jsonschema:"in the owner's zone"`
	Snippet string `json:"snippet,omitempty" jsonschema:"begin of the text"`
	Unread  bool   `json:"unread,omitempty" jsonschema:"it is not read yet"`
}

func (h Hit) item(zone string) Item {
	return Item{h.ID, h.Thread, oneLine(h.From, maxLine), oneLine(h.To, maxLine), oneLine(h.Subject, maxLine), when(h.At, zone), oneLine(h.Snippet, maxLine), h.Unread}
}

// NewSearch builds the tool gmail_search.
func NewSearch(o tools.Account[Mailbox]) tools.Tool {
	intent := func(_ context.Context, _ tools.Call, in SearchInput) (tools.Intent, error) {
		raw, err := tools.CanonicalCall("gmail_search", in)
		return reading("search the mail for "+text.Shorten(in.Query, 100), raw), err
	}
	run := func(ctx context.Context, call tools.Call, in SearchInput, _ tools.Intent) (tools.Result, error) {
		box, err := o.Open(ctx)
		if err != nil {
			return tools.Result{}, err
		}
		page, err := box.SearchMail(ctx, Query{in.Query, in.Limit, in.Page})
		if err != nil {
			return tools.Result{}, err
		}
		out := SearchOutput{Mails: []Item{}, Next: page.Next}
		for _, h := range page.Hits {
			out.Mails = append(out.Mails, h.item(call.Zone))
		}
		return tools.Result{Content: out.text(), Data: out}, nil
	}
	return withAccount(tools.New[SearchInput, SearchOutput](tools.Spec{
		Name: "gmail_search", Group: Group, ReadOnly: true, Positional: "query", Example: "'is:unread newer_than:1d'",
		Description: "Search the owner's mail with Gmail's own syntax. Subjects and texts are somebody else's.",
	}, intent, run), o)
}

// text shows the page.
func (o SearchOutput) text() string {
	if len(o.Mails) == 0 && o.Next == "" {
		return "no mail was found"
	}
	var b strings.Builder
	for n, m := range o.Mails {
		fmt.Fprintf(&b, "%d. %s, from %s: %s", n+1, m.When, m.From, m.Subject)
		if m.Unread {
			b.WriteString(" (unread)")
		}
		if m.Snippet != "" {
			b.WriteString("; " + m.Snippet)
		}
		b.WriteString(" [" + m.ID + "]\n")
	}
	if o.Next != "" {
		b.WriteString("more: page " + o.Next + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
