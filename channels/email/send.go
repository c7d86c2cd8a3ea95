package email

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/textproto"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/wneessen/go-mail"

	"hob/channels"
	"hob/daemon/fail"
	hobmail "hob/daemon/mail"
)

// Timeouts of sending.
const (
	sendTime = 3 * time.Minute  // for the server to accept a mail
	keepTime = 20 * time.Second // for the copy in the folder for sent mail
	later    = 2 * time.Minute  // before a server that says "not now" is asked again: greylisting needs some minutes
)

// Send sends one part as a mail. When the server has accepted it, a copy goes to the folder for sent mail,
// where Find looks. If the connection breaks between the last byte and the answer, the result is unknown.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (string, error) {
	to, err := c.target(d.To)
	if err != nil {
		return "", err
	}
	raw, err := c.compose(ctx, to, d)
	if err != nil {
		return "", fmt.Errorf("write a mail to %s: %w", to, err)
	}
	if err := c.deliver(ctx, to, raw); err != nil {
		return "", fmt.Errorf("send to %s: %w", d.To, err)
	}
	fail.Point("sending.answered")
	// The mail is delivered now; an error of the copy must not cause a second one.
	id := c.messageID(d)
	c.storeCopy(ctx, id, raw)
	return id, nil
}

// messageID derives the Message-ID from the nonce: it is the same for each try, and unique.
func (c *Channel) messageID(d channels.Delivery) string {
	sum := sha256.Sum256([]byte(d.Nonce))
	return "<hob." + hex.EncodeToString(sum[:16]) + "@" + domain(c.cfg.Address) + ">"
}

// Replies reports that an answer can refer to the message it answers.
func (c *Channel) Replies() bool { return true }

// compose writes a mail. Text from outside enters a header only after it was parsed, or put on one line.
func (c *Channel) compose(ctx context.Context, to string, d channels.Delivery) ([]byte, error) {
	piece := c.Form().Render(d.Body)
	about := readRef(d.ReplyRef)
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := m.FromFormat("hob", c.cfg.Address); err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	if err := m.To(to); err != nil {
		return nil, fmt.Errorf("%w: %w", channels.ErrPermanent, err)
	}
	// The Message-ID is known before sending, so that Find can look for it.
	m.SetMessageIDWithValue(strings.Trim(c.messageID(d), "<>"))
	m.SetDateWithValue(c.clock.Wall())
	m.SetGenHeader("X-Auto-Response-Suppress", "All") // Exchange's own header for the same purpose
	if d.ReplyRef == "" {
		m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834, section 5
	} else {
		m.SetGenHeader("Auto-Submitted", "auto-replied")
	}
	// The answer continues the thread of the mail (RFC 5322, section 3.6.4).
	if about.id != "" {
		m.SetGenHeaderPreformatted("In-Reply-To", about.id)
		m.SetGenHeaderPreformatted("References", about.references())
	}
	m.Subject(subject(about, piece.Text, d))
	m.SetBodyString(mail.TypeTextPlain, piece.Text)
	if piece.HTML != "" {
		m.AddAlternativeString(mail.TypeTextHTML, piece.HTML)
	}
	if d.File != nil {
		if err := attach(ctx, m, d.File); err != nil {
			return nil, err
		}
	}
	var raw bytes.Buffer
	if _, err := m.WriteTo(&raw); err != nil {
		return nil, fmt.Errorf("put it together: %w", err)
	}
	return raw.Bytes(), nil
}

// subject returns "Re: " and the subject of the answered mail, otherwise the beginning of the text.
func subject(about threadRef, text string, d channels.Delivery) string {
	if s := about.answer(); s != "" {
		return s
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if first == "" && d.File != nil {
		first = d.File.Name
	}
	if first = hobmail.Line(first, maxBegin); first == "" {
		return "hob"
	}
	return first
}

// maxBegin limits the part of a text that becomes the subject, in characters.
const maxBegin = 70

// attach adds a file. Its content is read completely before the mail is sent.
func attach(ctx context.Context, m *mail.Msg, f *channels.File) error {
	in, err := f.Whole(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	if f.Size > maxFile {
		return fmt.Errorf("%s has more than %d MB: %w", f.Name, maxFile>>20, channels.ErrPermanent)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	kind, _, err := mime.ParseMediaType(f.MIME)
	if err != nil || strings.ContainsFunc(kind, hobmail.Invisible) {
		kind = "application/octet-stream"
	}
	name := cmp.Or(hobmail.Line(f.Name, maxSubject), "file")
	return m.AttachReader(name, bytes.NewReader(data), mail.WithFileContentType(mail.ContentType(kind)))
}

// deliver hands a mail to the server (RFC 5321, section 3.3).
func (c *Channel) deliver(ctx context.Context, to string, raw []byte) error {
	// Each mail has its own connection: mails are rare, and idle connections die.
	p, err := c.openSMTP(ctx)
	if err != nil {
		return err
	}
	defer p.end()
	if err := p.UpdateDeadline(sendTime); err != nil {
		return fmt.Errorf("set the time for it: %w", err)
	}
	if err := p.Mail("<" + c.cfg.Address + ">"); err != nil {
		return classify(err)
	}
	if err := p.Rcpt("<" + to + ">"); err != nil {
		return classifyRecipient(err)
	}
	w, err := p.Data()
	if err != nil {
		return classify(err)
	}
	if _, err := w.Write(raw); err != nil {
		return fmt.Errorf("write it: %w", err) // without its end mark, the server discards the mail
	}
	fail.Point("sending.written")
	// From here on the server may have the whole mail.
	err = w.Close()
	if said := (*textproto.Error)(nil); err != nil && !errors.As(err, &said) {
		return fmt.Errorf("%w: no answer to it: %w", channels.ErrUnknown, err)
	}
	return classify(err)
}

// classify classifies a refusal by its first digit (RFC 5321, section 4.2.1); nil for none. A refused log-in
// says nothing about the mail, which is therefore tried again.
func classify(err error) error {
	var said *textproto.Error
	switch {
	case !errors.As(err, &said):
		return err
	case said.Code/100 == 4:
		return &channels.RetryAfter{After: later, Err: err}
	case said.Code == 530 || said.Code == 534 || said.Code == 535 || said.Code == 538:
		return refusedLogin(err)
	case said.Code/100 == 5:
		return fmt.Errorf("%w: %w", channels.ErrPermanent, err)
	}
	return err
}

// classifyRecipient is classify for the answer to RCPT. A temporary refusal (greylisting, a full mailbox) concerns this recipient only,
// unless the server is shutting down (421).
func classifyRecipient(err error) error {
	var said *textproto.Error
	if errors.As(err, &said) && said.Code/100 == 4 && said.Code != 421 {
		err = fmt.Errorf("%w: %w", channels.ErrAddress, err)
	}
	return classify(err)
}

// refusedLogin adds advice if the server refused the log-in.
func refusedLogin(err error) error {
	var said *textproto.Error
	if errors.As(err, &said) && said.Code >= 530 && said.Code <= 538 {
		return fmt.Errorf("%w; %s", err, noLogin)
	}
	return err
}

// storeCopy stores a copy in the folder for sent mail, unless the server already did. The mail has been sent, so
// an error is only logged.
func (c *Channel) storeCopy(ctx context.Context, id string, raw []byte) {
	ctx, cancel := context.WithTimeoutCause(ctx, keepTime, fmt.Errorf("no copy within %s", keepTime))
	defer cancel()
	if err := c.putCopy(ctx, id, raw); err != nil {
		c.log.Warn("a mail was sent, but no copy could be stored in the folder for sent mail", "channel", c.name, "id", id, "err", err)
	}
}

// putCopy appends the mail to the folder for sent mail, marked as read. Some servers store a copy by
// themselves; then it is there already.
func (c *Channel) putCopy(ctx context.Context, id string, raw []byte) error {
	b, err := c.openIMAP(ctx)
	if err != nil {
		return err
	}
	defer b.end()
	folder, err := b.sentFolder()
	if err != nil {
		return err
	}
	if folder == "" {
		return errors.New("the mailbox has no such folder")
	}
	if there, err := b.hasMessage(folder, id); err != nil || there {
		return err
	}
	put := b.Append(folder, int64(len(raw)), &imap.AppendOptions{Flags: []imap.Flag{imap.FlagSeen}, Time: c.clock.Wall()})
	if _, err := put.Write(raw); err != nil {
		return fmt.Errorf("write to %s: %w", folder, err)
	}
	if err := put.Close(); err != nil {
		return fmt.Errorf("write to %s: %w", folder, err)
	}
	if _, err := put.Wait(); err != nil {
		return fmt.Errorf("write to %s: %w", folder, err)
	}
	return nil
}

// Find looks for a mail in the folder for sent mail. If it is there, the server accepted it. If it is not,
// the result is unknown, because the copy is stored after sending.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (string, bool, error) {
	b, err := c.openIMAP(ctx)
	if err != nil {
		return "", false, err
	}
	defer b.end()
	folder, err := b.sentFolder()
	if err != nil {
		return "", false, err
	}
	if folder == "" {
		return "", false, fmt.Errorf("the mailbox has no folder for sent mail: %w", channels.ErrUnknown)
	}
	id := c.messageID(d)
	there, err := b.hasMessage(folder, id)
	switch {
	case err != nil:
		return "", false, err
	case !there:
		return "", false, fmt.Errorf("there is no copy in %s: %w", folder, channels.ErrUnknown)
	}
	return id, true, nil
}
