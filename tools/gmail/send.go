package gmail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	netmail "net/mail"
	"slices"
	"strings"

	"hob/daemon/event"
	"hob/daemon/mail"
	"hob/daemon/text"
	"hob/tools"
)

// SendInput is the input of gmail_send.
type SendInput struct {
	To      []string `json:"to" jsonschema:"mail addresses" min:"1" max:"20"`
	Cc      []string `json:"cc,omitempty" jsonschema:"further addresses" max:"20"`
	Bcc     []string `json:"bcc,omitempty" jsonschema:"addresses that the others do not see" max:"20"`
	Subject string   `json:"subject" jsonschema:"subject; of an answer Re: and the old one" min:"1" max:"300"`
	Text    string   `json:"text" jsonschema:"plain text" min:"1" max:"50000"`
	ReplyTo string   `json:"reply_to,omitempty" jsonschema:"id of the mail that it answers" max:"100"`
}

// SendOutput is the output of gmail_send.
type SendOutput struct {
	ID     string   `json:"id" jsonschema:"id of the sent mail"`
	Thread string   `json:"thread" jsonschema:"id of its conversation"`
	From   string   `json:"from" jsonschema:"the owner's address"`
	To     []string `json:"to" jsonschema:"everybody who gets it"`
}

// sender implements gmail_send.
type sender struct {
	account tools.Account[Mailbox]
	known   Known
}

// NewSend builds the tool gmail_send. Its calls may be repeated, because a mail is sent only once for the key of a call.
func NewSend(o tools.Account[Mailbox], k Known) tools.Tool {
	s := sender{o, k}
	return withAccount(tools.New[SendInput, SendOutput](tools.Spec{
		Name: "gmail_send", Group: Group, Example: "--to anna@example.org --subject Tea --text 'At four?'",
		Description: "Send a plain text mail from the owner's Gmail address, or answer a mail. The owner is asked, unless all recipients are known.",
	}, s.intent, s.run), o)
}

// planned holds what an approval covers: the whole mail.
type planned struct {
	Tool string `json:"tool"`
	Plan
	To      []string `json:"to"`
	Cc      []string `json:"cc,omitempty"`
	Bcc     []string `json:"bcc,omitempty"`
	Subject string   `json:"subject"`
	Answers string   `json:"answers,omitempty"`
	Text    string   `json:"text"`
}

// intent names each recipient as an address, so that the rules for messages apply: for an unknown recipient the owner is asked.
func (s sender) intent(ctx context.Context, call tools.Call, in SendInput) (tools.Intent, error) {
	d, err := in.draft(call)
	if err != nil {
		return tools.Intent{}, err
	}
	box, err := s.account.Open(ctx)
	if err != nil {
		return tools.Intent{}, err
	}
	plan, err := box.PlanMail(ctx)
	if err != nil {
		return tools.Intent{}, err
	}
	known, err := s.known.Known(ctx)
	if err != nil {
		return tools.Intent{}, err
	}
	everybody := slices.Concat(d.To, d.Cc, d.Bcc)
	var to []event.Address
	for _, a := range everybody {
		to = append(to, addressOf(a, plan, known))
	}
	raw, err := tools.Canonical(planned{"gmail_send", plan, d.To, d.Cc, d.Bcc, d.Subject, d.Answers, d.Text})
	return tools.Intent{
		Effect: tools.Keyed, Scopes: []tools.Scope{tools.AccountWrite, tools.Messages}, Accounts: []string{plan.Account}, Addresses: to, Canonical: raw, Keep: plan,
		Summary: fmt.Sprintf("send the mail %q from %s to %s", text.Shorten(d.Subject, 100), plan.From, text.Shorten(strings.Join(everybody, ", "), 300)),
	}, err
}

// addressOf returns the address on any channel under which the config knows a mail address. An unknown one becomes an address of the
// account.
func addressOf(a string, plan Plan, known []event.Address) event.Address {
	if strings.EqualFold(a, plan.From) {
		return event.ToOwner
	}
	for _, k := range known {
		if strings.EqualFold(k.Local(), a) {
			return k
		}
	}
	return event.Address(plan.Account + ":" + a)
}

// draft checks the input.
func (in SendInput) draft(call tools.Call) (d Draft, err error) {
	d = Draft{Subject: mail.Line(in.Subject, 300), Text: strings.ReplaceAll(strings.TrimRight(in.Text, " \r\n"), "\r\n", "\n"), Answers: in.ReplyTo, Now: call.Now}
	for _, f := range []struct {
		name string
		from []string
		to   *[]string
	}{{"to", in.To, &d.To}, {"cc", in.Cc, &d.Cc}, {"bcc", in.Bcc, &d.Bcc}} {
		for _, a := range f.from {
			one, err := netmail.ParseAddress(a)
			if err != nil || strings.ContainsAny(one.Address, " \t\r\n\":;,<>") || strings.ContainsFunc(one.Address, mail.Invisible) {
				return d, tools.Refuse(tools.Validation, "want anna@example.org", "%s: %q is not a mail address", f.name, text.Shorten(a, 80))
			}
			if !slices.Contains(*f.to, one.Address) {
				*f.to = append(*f.to, one.Address)
			}
		}
	}
	// The call's id is the same for each try. The arguments are part of the key, because a restored database may give an id again.
	sum := sha256.Sum256([]byte(call.ID + "\n" + call.Key + "\n" + string(call.Args)))
	d.Key = hex.EncodeToString(sum[:16])
	return d, nil
}

func (s sender) run(ctx context.Context, call tools.Call, in SendInput, _ tools.Intent) (tools.Result, error) {
	d, err := in.draft(call)
	if err != nil {
		return tools.Result{}, err
	}
	box, err := s.account.Open(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	plan, err := box.PlanMail(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	sent, err := box.SendMail(ctx, d)
	if err != nil {
		return tools.Result{}, err
	}
	out := SendOutput{ID: sent.ID, Thread: sent.Thread, From: plan.From, To: slices.Concat(d.To, d.Cc, d.Bcc)}
	said := fmt.Sprintf("sent from %s to %s: %s", out.From, strings.Join(out.To, ", "), d.Subject)
	if sent.Before {
		said += "\nit was sent before hob was interrupted, and not again"
	}
	return tools.Result{Content: said + "\nid: " + sent.ID, Data: out}, nil
}
