package account

import (
	"context"

	"hob/tools"
	"hob/tools/gmail"
)

var _ gmail.Mailbox = Mails{}

// Mail is what the mail tools need of an account, see gmail.Mailbox.
type Mail interface {
	SearchMail(ctx context.Context, q gmail.Query) (gmail.Page, error)
	ReadMail(ctx context.Context, id string) (gmail.Mail, error)
	PlanMail(ctx context.Context) (gmail.Plan, error)
	SendMail(ctx context.Context, d gmail.Draft) (gmail.Sent, error)
}

// Mails is the mail of the accounts.
type Mails struct{ accounts *Service }

// Mails returns the mail of the accounts.
func (s *Service) Mails() Mails { return Mails{s} }

// Mailboxes returns the names of the accounts that may have mail. It looks only whether their files exist.
func (s Mails) Mailboxes() []string {
	return s.accounts.names(func(k Kind) bool { return k.Linked != nil })
}

// mail opens the account with mail. There is one at most.
func (s Mails) mail(ctx context.Context) (Mail, error) {
	for _, name := range s.Mailboxes() {
		return One[Mail]{s.accounts, name}.Open(ctx)
	}
	return nil, tools.Refuse(tools.ConfigError, "the owner adds one with: hob account add google", "there is no mail account")
}

// SearchMail returns a page of what a search finds.
func (s Mails) SearchMail(ctx context.Context, q gmail.Query) (gmail.Page, error) {
	m, err := s.mail(ctx)
	if err != nil {
		return gmail.Page{}, err
	}
	return m.SearchMail(ctx, q)
}

// ReadMail reads a mail.
func (s Mails) ReadMail(ctx context.Context, id string) (gmail.Mail, error) {
	m, err := s.mail(ctx)
	if err != nil {
		return gmail.Mail{}, err
	}
	return m.ReadMail(ctx, id)
}

// PlanMail says from where a mail would go.
func (s Mails) PlanMail(ctx context.Context) (gmail.Plan, error) {
	m, err := s.mail(ctx)
	if err != nil {
		return gmail.Plan{}, err
	}
	return m.PlanMail(ctx)
}

// SendMail sends a mail once.
func (s Mails) SendMail(ctx context.Context, d gmail.Draft) (gmail.Sent, error) {
	m, err := s.mail(ctx)
	if err != nil {
		return gmail.Sent{}, err
	}
	return m.SendMail(ctx, d)
}
