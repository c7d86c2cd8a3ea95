package channelstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/emersion/go-message"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// EmailSent is a mail that hob has sent.
type EmailSent struct {
	From, To string // of the envelope
	Raw      []byte
	Header   message.Header
	Text     string // the plain part, with lines ending in "\n"
	HTML     string
	Files    []Shown
}

// emailPost is one SMTP connection.
type emailPost struct {
	f        *Email
	conn     *smtp.Conn
	in       bool
	from, to string
	fault    EmailFault
}

func (f *Email) begin(c *smtp.Conn) (smtp.Session, error) { return &emailPost{f: f, conn: c}, nil }

// AuthMechanisms returns mechanisms that hob supports.
func (p *emailPost) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth accepts hob's user and password.
func (p *emailPost) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		p.f.mu.Lock()
		defer p.f.mu.Unlock()
		if p.f.revoked || user != EmailUser || password != EmailPassword {
			return smtp.ErrAuthFailed
		}
		p.in = true
		return nil
	}), nil
}

// Mail begins a mail.
func (p *emailPost) Mail(from string, _ *smtp.MailOptions) error {
	if !p.in {
		return smtp.ErrAuthRequired
	}
	p.from, p.fault = from, p.f.script.fault("send")
	return p.refuse("MAIL")
}

// Rcpt accepts a recipient.
func (p *emailPost) Rcpt(to string, _ *smtp.RcptOptions) error {
	p.to = to
	if strings.HasPrefix(to, "nobody@") {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	}
	return p.refuse("RCPT")
}

// refuse returns the scripted fault of a command.
func (p *emailPost) refuse(at string) error {
	switch {
	case p.fault.At != at:
		return nil
	case p.fault.Code == 0:
		_ = p.conn.Close() // that is the fault
		return nil
	}
	return &smtp.SMTPError{Code: p.fault.Code, EnhancedCode: smtp.EnhancedCode{p.fault.Code / 100, 0, 0}, Message: "scripted"}
}

// Data accepts the mail.
func (p *emailPost) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := p.refuse("DATA"); err != nil {
		return err
	}
	if p.fault.Cut != "before" {
		sent, err := readSent(raw)
		if err != nil {
			return err
		}
		sent.From, sent.To = p.from, p.to
		p.f.mu.Lock()
		p.f.sent = append(p.f.sent, sent)
		p.f.mu.Unlock()
		if p.f.opts.Files {
			p.f.put("Sent", raw)
		}
	}
	if p.fault.Cut != "" {
		_ = p.conn.Close() // that is the fault
	}
	return nil
}

// Reset drops an unfinished mail.
func (p *emailPost) Reset() {}

// Logout ends the connection.
func (p *emailPost) Logout() error { return nil }

// readSent parses a mail as its reader would see it.
func readSent(raw []byte) (EmailSent, error) {
	e, err := message.Read(bytes.NewReader(raw))
	if err != nil {
		return EmailSent{}, fmt.Errorf("read what hob has sent: %w", err)
	}
	s := EmailSent{Raw: raw, Header: e.Header}
	return s, s.part(e)
}

func (s *EmailSent) part(e *message.Entity) error {
	if parts := e.MultipartReader(); parts != nil {
		for {
			p, err := parts.NextPart()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read a part: %w", err)
			}
			if err := s.part(p); err != nil {
				return err
			}
		}
	}
	data, err := io.ReadAll(e.Body)
	if err != nil {
		return fmt.Errorf("read a part: %w", err)
	}
	kind, _, err := e.Header.ContentType()
	if err != nil {
		return fmt.Errorf("read the type of a part: %w", err)
	}
	disposition, params, _ := e.Header.ContentDisposition() // most parts have none
	switch {
	case disposition == "attachment":
		s.Files = append(s.Files, Shown{Name: params["filename"], MIME: kind, Content: data})
	case kind == "text/html":
		s.HTML = string(data)
	default:
		s.Text = strings.ReplaceAll(string(data), "\r\n", "\n")
	}
	return nil
}
