package account

import (
	"context"

	"hob/tools"
	"hob/tools/gmail"
)

var _ gmail.Mailbox = (*Service)(nil)

// Mail is what the mail tools need of an account, see gmail.Mailbox.
type Mail interface {
	SearchMail(ctx context.Context, q gmail.Query) (gmail.Page, error)
	ReadMail(ctx context.Context, id string) (gmail.Mail, error)
	PlanMail(ctx context.Context) (gmail.Plan, error)
	SendMail(ctx context.Context, d gmail.Draft) (gmail.Sent, error)
}

// Mailboxes returns the names of the accounts that may have mail. It looks only whether their files exist.
func (s *Service) Mailboxes() []string { return s.names(func(k Kind) bool { return k.Linked != nil }) }

// mail opens the account with mail. There is one at most.
func (s *Service) mail(ctx context.Context) (Mail, error) {
	for _, name := range s.Mailboxes() {
		return One[Mail]{s, name}.Open(ctx)
	}
	return nil, tools.Refuse(tools.ConfigError, "the owner adds one with: hob account add google", "there is no mail account")
}

// SearchMail returns a page of what a search finds.
func (s *Service) SearchMail(ctx context.Context, q gmail.Query) (gmail.Page, error) {
	m, err := s.mail(ctx)
	if err != nil {
		return gmail.Page{}, err
	}
	return m.SearchMail(ctx, q)
}

// ReadMail reads a mail.
func (s *Service) ReadMail(ctx context.Context, id string) (gmail.Mail, error) {
	m, err := s.mail(ctx)
	if err != nil {
		return gmail.Mail{}, err
	}
	return m.ReadMail(ctx, id)
}

// PlanMail says from where a mail would go.
func (s *Service) PlanMail(ctx context.Context) (gmail.Plan, error) {
	m, err := s.mail(ctx)
	if err != nil {
		return gmail.Plan{}, err
	}
	return m.PlanMail(ctx)
}

// SendMail sends a mail once.
func (s *Service) SendMail(ctx context.Context, d gmail.Draft) (gmail.Sent, error) {
	m, err := s.mail(ctx)
	if err != nil {
		return gmail.Sent{}, err
	}
	return m.SendMail(ctx, d)
}
