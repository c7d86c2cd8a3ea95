package google

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"hob/daemon/fail"
	"hob/daemon/sys"
	"hob/tools"
	"hob/tools/gmail"
)

// journal says how far a mail has come. It is committed before each step that cannot be taken back, so that a repeated call goes on where the first
// one was interrupted.
type journal struct {
	Draft  string    `json:"draft"` // id of the draft; Google deletes it when it is sent
	Thread string    `json:"thread"`
	Begun  time.Time `json:"begun"`
	Sent   string    `json:"sent,omitempty"` // id of the sent mail
}

// keepJournal is how long the journal of a mail is kept: far longer than a call is repeated after a crash.
const keepJournal = 30 * 24 * time.Hour

// SendMail makes a draft, commits its id, and sends the draft. Google consumes a draft by sending it, so it goes out once: a draft that is gone was sent.
func (a Mailbox) SendMail(ctx context.Context, d gmail.Draft) (gmail.Sent, error) {
	if err := a.granted(true); err != nil {
		return gmail.Sent{}, err
	}
	j, err := a.journals.read(d.Key)
	switch {
	case err != nil:
		return gmail.Sent{}, err
	case j.Sent != "":
		return gmail.Sent{ID: j.Sent, Thread: j.Thread, Before: true}, nil
	case j.Draft == "":
		if j, err = a.draft(ctx, d); err != nil {
			return gmail.Sent{}, err
		}
		fail.Point("gmail.drafted")
		if err := a.journals.commit(d.Key, j); err != nil {
			return gmail.Sent{}, err
		}
	default:
		// An earlier try was cut off before its answer.
		err := a.c.get(ctx, mailAPI(), "/drafts/"+url.PathEscape(j.Draft), url.Values{"format": {"minimal"}}, scopeCompose, &struct{}{})
		switch {
		case status(err) == http.StatusNotFound:
			return a.wasSent(ctx, d, j)
		case err != nil:
			return gmail.Sent{}, unknown(ctx, err)
		}
	}
	fail.Point("gmail.committed")
	var m message
	err = a.c.call(ctx, http.MethodPost, mailAPI(), "/drafts/send", nil, map[string]string{"id": j.Draft}, scopeCompose, &m)
	fail.Point("gmail.sent")
	if err == nil {
		return a.done(d, j, gmail.Sent{ID: m.ID, Thread: m.ThreadID})
	}
	// The turn must tell the truth also if hob is being stopped.
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookAgain)
	defer cancel()
	return a.afterFault(look, d, j, err)
}

// done commits that a mail was sent.
func (a Mailbox) done(d gmail.Draft, j journal, s gmail.Sent) (gmail.Sent, error) {
	j.Sent, j.Thread = s.ID, s.Thread
	return s, a.journals.commit(d.Key, j)
}

// afterFault finds out what became of a draft whose sending has failed. If it can still be deleted, it was not sent, and never will be.
func (a Mailbox) afterFault(ctx context.Context, d gmail.Draft, j journal, cause error) (gmail.Sent, error) {
	err := a.c.call(ctx, http.MethodDelete, mailAPI(), "/drafts/"+url.PathEscape(j.Draft), nil, nil, scopeCompose, nil)
	switch {
	case err == nil:
		if err := os.Remove(a.journals.path(d.Key)); err != nil {
			return gmail.Sent{}, fmt.Errorf("remove the journal of a mail: %w", err)
		}
		code, _, hint, ok := tools.Refusal(cause)
		if !ok {
			code = tools.Cancelled
		}
		return gmail.Sent{}, tools.Refuse(code, hint, "the mail was not sent: %s", tools.Sentence(cause))
	case status(err) == http.StatusNotFound:
		return a.wasSent(ctx, d, j)
	}
	return gmail.Sent{}, unknown(ctx, cause)
}

// unknown is the error of a mail that may have been sent. A look-up that hob's own end cuts off is repeated after the restart.
func unknown(ctx context.Context, cause error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return cause
	}
	return tools.Refuse(tools.OutcomeUnknown, "look into Drafts and Sent before you try again", "it is not known whether the mail was sent: %s", tools.Sentence(cause))
}

// wasSent looks a mail up whose draft is gone, in its conversation. The owner may have deleted the draft by hand: then nothing there was sent since.
func (a Mailbox) wasSent(ctx context.Context, d gmail.Draft, j journal) (gmail.Sent, error) {
	var thread struct{ Messages []message }
	err := a.c.get(ctx, mailAPI(), "/threads/"+url.PathEscape(j.Thread), url.Values{"format": {"minimal"}}, scopeMail, &thread)
	if err != nil && status(err) != http.StatusNotFound {
		return gmail.Sent{}, unknown(ctx, err)
	}
	for _, m := range thread.Messages {
		if slices.Contains(m.LabelIDs, "SENT") && m.at().After(j.Begun.Add(-time.Minute)) {
			return a.done(d, j, gmail.Sent{ID: m.ID, Thread: m.ThreadID, Before: true})
		}
	}
	return gmail.Sent{}, tools.Refuse(tools.OutcomeUnknown, "look into Sent before you try again", "the draft of the mail is gone, and its conversation has no sent mail: it may have been deleted by hand")
}

// draft makes a draft at Google. One whose answer is lost stays there unsent.
func (a Mailbox) draft(ctx context.Context, d gmail.Draft) (journal, error) {
	var m struct {
		Raw      string `json:"raw"`
		ThreadID string `json:"threadId,omitempty"`
	}
	var answered message
	if d.Answers != "" {
		err := a.c.get(ctx, mailAPI(), "/messages/"+url.PathEscape(d.Answers), url.Values{"format": {"metadata"}, "metadataHeaders": {"Message-ID", "References"}}, scopeMail, &answered)
		if err != nil {
			return journal{}, err
		}
		m.ThreadID = answered.ThreadID
	}
	raw, err := a.compose(d, answered)
	if err != nil {
		return journal{}, fmt.Errorf("write the mail: %w", err)
	}
	m.Raw = base64.URLEncoding.EncodeToString(raw)
	var made struct {
		ID      string
		Message message
	}
	if err := a.c.call(ctx, http.MethodPost, mailAPI(), "/drafts", nil, map[string]any{"message": m}, scopeCompose, &made); err != nil {
		return journal{}, err
	}
	if made.ID == "" || made.Message.ThreadID == "" {
		return journal{}, tools.Refuse(tools.IO, "try again later", "Google's answer names no draft")
	}
	return journal{Draft: made.ID, Thread: made.Message.ThreadID, Begun: d.Now}, nil
}

// messageID is the form of a message id that goes into a header (RFC 5322, section 3.6.4).
const messageID = `<[!-;=?-~]{1,250}>`

// maxReferences is how many ids References has: the first and the newest ones.
const maxReferences = 20

// compose writes a mail (RFC 5322). Gmail adds Message-ID and Date.
func (a Mailbox) compose(d gmail.Draft, answered message) ([]byte, error) {
	var b bytes.Buffer
	add := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + value + "\r\n")
		}
	}
	add("From", a.s.Address)
	add("To", strings.Join(d.To, ",\r\n "))
	add("Cc", strings.Join(d.Cc, ",\r\n "))
	add("Bcc", strings.Join(d.Bcc, ",\r\n "))
	add("Subject", mime.QEncoding.Encode("utf-8", d.Subject))
	id := regexp.MustCompile(messageID)
	if parent := id.FindString(answered.header("Message-ID")); parent != "" {
		list := append(id.FindAllString(answered.header("References"), -1), parent)
		if len(list) > maxReferences {
			list = append(list[:1:1], list[len(list)-maxReferences+1:]...)
		}
		add("In-Reply-To", parent)
		add("References", strings.Join(list, "\r\n "))
	}
	add("MIME-Version", "1.0")
	add("Content-Type", "text/plain; charset=utf-8")
	add("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, err := w.Write([]byte(strings.ReplaceAll(d.Text, "\n", "\r\n") + "\r\n"))
	return b.Bytes(), errors.Join(err, w.Close())
}

// journals is the folder of the journals of sent mails.
type journals string

func (f journals) path(key string) string { return filepath.Join(string(f), key) }

// read reads the journal of a mail; the zero value: there is none.
func (f journals) read(key string) (j journal, err error) {
	raw, err := os.ReadFile(f.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &j)
	}
	if err != nil {
		return j, fmt.Errorf("read the journal of a mail: %w", err)
	}
	return j, nil
}

// commit writes the journal of a mail atomically and durably, and removes old ones.
func (f journals) commit(key string, j journal) error {
	raw, err := json.Marshal(j)
	if err == nil {
		err = os.MkdirAll(string(f), 0o700)
	}
	if err == nil {
		err = durable(string(f), key, raw)
	}
	if err != nil {
		return fmt.Errorf("write the journal of a mail: %w", err)
	}
	list, err := os.ReadDir(string(f))
	if err != nil {
		return fmt.Errorf("look for old journals: %w", err)
	}
	for _, e := range list {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > keepJournal {
			_ = os.Remove(f.path(e.Name())) // the next commit tries again
		}
	}
	return nil
}

// durable replaces a file, so that a crash leaves the old content or the new one.
func durable(dir, name string, raw []byte) error {
	f, err := os.CreateTemp(dir, name+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return sys.SyncFolder(dir)
}
