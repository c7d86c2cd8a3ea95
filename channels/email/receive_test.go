package email_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/email"
)

// texts returns the texts that arrived.
func (b *imapConn) texts() string {
	var all []string
	for _, m := range b.list {
		all = append(all, m.Text)
	}
	return strings.Join(all, "|")
}

// Mails from before the first start are not read; later ones are read once, by any process.
func TestWhereItBegins(t *testing.T) {
	f := server(t, channelstest.EmailOptions{})
	f.Say(sam, "old")
	b := &imapConn{}
	stop := run(t, open(t, config(f)), b)
	f.Listening(t.Context())
	f.Say(sam, "one")
	b.until(t, func() bool { return b.texts() == "one" })
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Run: %v", errs)
	}
	f.Say(sam, "two")
	stop = run(t, open(t, config(f)), b)
	b.until(t, func() bool { return b.texts() == "one|two" })
	stop()
	other := config(f)
	other.Folder = "Sent" // another folder has another cursor
	stop = run(t, open(t, other), b)
	b.until(t, func() bool { return strings.HasSuffix(b.cursor.Identity, " Sent") })
	stop()
	if len(b.gaps) != 0 || b.texts() != "one|two" {
		t.Errorf("received %q, gaps %q", b.texts(), b.gaps)
	}
	if marks, err := f.Flags("INBOX"); err != nil || fmt.Sprint(marks) != "[3 mails 3 unseen]" {
		t.Errorf("INBOX: %v, %v; want nothing deleted or marked", marks, err)
	}
}

// The cursor moves with a commit, never before it.
func TestTheCursorWaitsForTheInbox(t *testing.T) {
	f := server(t, channelstest.EmailOptions{})
	b := &imapConn{fail: 2}
	stop := run(t, open(t, config(f)), b)
	f.Listening(t.Context())
	before := b.value()
	f.Say(sam, "do not lose me")
	b.until(t, func() bool { return b.texts() == "do not lose me" })
	errs := stop()
	if len(errs) != 2 || !isErr(errs[0], channelstest.ErrFull) {
		t.Errorf("Run: %v, want two that the inbox took nothing", errs)
	}
	if before == "" || b.value() == before {
		t.Errorf("cursor %q, before it %q", b.value(), before)
	}
}

func (b *imapConn) value() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cursor == nil {
		return ""
	}
	return b.cursor.Value
}

func TestTheServerCountsAnew(t *testing.T) {
	f := server(t, channelstest.EmailOptions{})
	b := &imapConn{}
	stop := run(t, open(t, config(f)), b)
	f.Listening(t.Context())
	f.Say(sam, "one")
	b.until(t, func() bool { return b.texts() == "one" })
	stop()
	f.Renumber()
	f.Say(sam, "lost")
	stop = run(t, open(t, config(f)), b)
	b.until(t, func() bool { return len(b.gaps) == 1 })
	f.Listening(t.Context())
	f.Say(sam, "two")
	b.until(t, func() bool { return b.texts() == "one|two" })
	stop()
	if !strings.Contains(b.gaps[0], "has renumbered the mails of INBOX") {
		t.Errorf("gaps %q", b.gaps)
	}
}

func TestACursorThatCannotBeRead(t *testing.T) {
	f := server(t, channelstest.EmailOptions{})
	b := &imapConn{cursor: &channels.Cursor{Source: "email", Identity: channelstest.EmailUser + " " + f.IMAP() + " INBOX", Value: "{"}}
	stop := run(t, open(t, config(f)), b)
	f.Listening(t.Context())
	f.Say(sam, "one")
	b.until(t, func() bool { return b.texts() == "one" })
	stop()
	if len(b.gaps) != 0 {
		t.Errorf("gaps %q", b.gaps)
	}
}

// A large mail from a known sender is read completely; of a stranger's mail, and of a mail that is too large,
// only the beginning is read.
func TestLargeMails(t *testing.T) {
	f := server(t, channelstest.EmailOptions{})
	b := &imapConn{}
	stop := run(t, open(t, config(f)), b)
	f.Listening(t.Context())
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MB
	large := func(from string, n int) []byte {
		head := strings.TrimSuffix(mailOf(from, "", ""), "Content-Type: text/plain; charset=utf-8\r\n\r\n\r\n")
		part := "Content-Type: application/x-data; name=data\r\nContent-Transfer-Encoding: binary\r\n\r\n" + strings.Repeat(string(data), n)
		return []byte(head + "Content-Type: multipart/mixed; boundary=sep\r\n\r\n--sep\r\n\r\nABCD-EFGH\r\n--sep\r\n" + part + "\r\n--sep--\r\n")
	}
	f.Put(large(sam, 1))
	f.Put(large("eve@example.org", 1))
	f.Put(large(ana, 26))
	b.until(t, func() bool { return len(b.list) == 3 })
	stop()
	got := b.all()
	if len(got[0].Files) != 1 || got[0].Files[0].Size != 1<<20 || got[0].Text != "ABCD-EFGH" {
		t.Errorf("of the owner: %+v", got[0])
	}
	if r, err := got[0].Files[0].Open(t.Context()); err != nil {
		t.Error(err)
	} else if all, err := io.ReadAll(r); err != nil || !bytes.Equal(all, data) {
		t.Errorf("the file: %d bytes, %v", len(all), err)
	}
	if len(got[1].Files) != 0 || got[1].Text != "ABCD-EFGH" {
		t.Errorf("of a stranger: %+v", got[1])
	}
	if len(got[2].Files) != 0 || got[2].Text != "ABCD-EFGH\n\n[the rest of this mail was not kept: it has 26 MB]" {
		t.Errorf("one that is too large: %+v", got[2])
	}
}

// A refused password is reported with advice, and tried again slowly.
func TestAPasswordThatIsNotTaken(t *testing.T) {
	f := server(t, channelstest.EmailOptions{})
	f.Revoke()
	err := open(t, config(f)).Run(t.Context(), &imapConn{})
	later := (*channels.RetryAfter)(nil)
	if !asErr(err, &later) || later.After < time.Minute || !strings.Contains(err.Error(), "check user and password") {
		t.Errorf("%v", err)
	}
}

// FuzzMail: malformed mails never gain rights.
func FuzzMail(f *testing.F) {
	for _, seed := range []string{
		mailOf(sam, "hello\n> old", "Subject: =?utf-8?q?a=0d=0ab?=\r\nMessage-ID: <a@b>\r\n"),
		mixed("alternative", "Content-Type: text/html\r\n\r\n<p>x<blockquote>y"), mixed("mixed", "Content-Type: message/rfc822\r\n\r\nx"),
		"From: a@b, c@d\r\n\r\n", "\x00", "Authentication-Results: mx.hob.test; dmarc=pass (\r\nFrom: sam@example.org\r\n\r\n",
		strings.Replace(mailOf(sam, "x", "Content-Transfer-Encoding: base64\r\n"), "utf-8", "gb18030", 1),
	} {
		f.Add([]byte(seed))
	}
	ch := channel(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := ch.Read(raw)
		if err != nil {
			t.Fatal(err)
		}
		word := bytes.Contains(bytes.ToLower(raw), []byte("hob.test"))
		if !word && !strings.HasPrefix(m.From.ID, "unverified:") && m.ID != "" && !m.From.Self {
			t.Errorf("%q is believed without a word of the server", m.From.ID)
		}
		if strings.ContainsAny(m.ID+m.From.Name+m.ReplyTo, "\r\n\x00") || len(m.ID) > 2000 || !utf8.ValidString(m.ID) {
			t.Errorf("id %q, name %q, answers %q", m.ID, m.From.Name, m.ReplyTo)
		}
		for _, a := range m.Files {
			if a.Name == "" || strings.ContainsAny(a.Name, "/\x00\n") || a.MIME == "" || a.Open == nil {
				t.Errorf("file %+v", a)
			}
		}
	})
}

// FuzzResults parses anything that a server might write, including text that senders put there.
func FuzzResults(f *testing.F) {
	f.Add(`mx; dmarc=pass header.from=example.org`, "x")
	f.Add(`mx; spf=pass smtp.mailfrom=`, `"; dmarc=pass header.from=example.org`)
	f.Fuzz(func(t *testing.T, head, value string) {
		if strings.ContainsAny(head, "()\"\\") {
			return // it may stand in the middle of something
		}
		value = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)
		// correct quoting changes nothing
		with := email.Vouched([]string{head + ` reason="` + value + `"`}, "mx", "example.org")
		without := email.Vouched([]string{head + ` reason="x"`}, "mx", "example.org")
		if with != without {
			t.Errorf("%q with %q is vouched for: %v, without it: %v", head, value, with, without)
		}
	})
}
