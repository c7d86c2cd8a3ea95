package email_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/email"
)

func TestWhoIsVouchedFor(t *testing.T) {
	const id = "mx.hob.test"
	for _, tc := range []struct {
		headers []string
		want    bool
	}{
		{nil, false},
		{[]string{id + "; dmarc=pass header.from=example.org"}, true},
		{[]string{"MX.hob.TEST 1; spf=pass smtp.mailfrom=x; DMARC=Pass (p=REJECT) header.from=Example.ORG"}, true},
		{[]string{id + ";\r\n dkim=pass header.d=example.org header.s=s1 header.b=\"a=b==\"; dmarc=pass action=none header.from=example.org;compauth=pass reason=100"}, true},
		{[]string{id + "; dmarc=pass header.from=evil.org"}, false},
		{[]string{id + "; dmarc=pass"}, false},
		{[]string{id + "; dmarc=fail header.from=example.org; dkim=pass header.d=example.org"}, false},
		{[]string{id + "; dmarc=pass header.from=example.org; dmarc=pass header.from=example.org"}, false},
		{[]string{id + "; dkim=pass header.d=example.org"}, true},
		{[]string{id + "; dmarc=none header.from=example.org; dkim=pass header.i=@example.org header.s=x"}, true},
		{[]string{id + "; dkim=fail header.d=example.org; dkim=pass header.d=other.org"}, false},
		{[]string{id + "; dkim=pass header.d=sub.example.org"}, false},
		{[]string{id + "; dkim=pass header.d=evil.org header.i=@example.org"}, false},
		{[]string{id + "; spf=pass smtp.mailfrom=example.org"}, false},
		{[]string{id + "; none"}, false},
		{[]string{id}, false},
		{[]string{"other.test; dmarc=pass header.from=example.org"}, false},
		{[]string{"other.test; dmarc=fail", id + "; dmarc=pass header.from=example.org"}, true},
		// of two headers with the same name, the lower one came from outside
		{[]string{id + "; dmarc=fail header.from=example.org", id + "; dmarc=pass header.from=example.org"}, false},
		{[]string{id + "; none", id + "; dmarc=pass header.from=example.org"}, false},
		{[]string{id + " (open; dmarc=fail", id + "; dmarc=pass header.from=example.org"}, false},
		// text that somebody put into a value is not a result
		{[]string{id + `; spf=pass smtp.mailfrom="x; dmarc=pass header.from=example.org"`}, false},
		{[]string{id + `; spf=pass (of x; dmarc=pass header.from=example.org) smtp.mailfrom=y`}, false},
		{[]string{id + `; spf=pass (a \) ; dmarc=pass header.from=example.org) smtp.mailfrom=y`}, false},
		{[]string{id + `; dmarc=fail reason="\"; dmarc=pass header.from=example.org"`}, false},
		{[]string{id + `; dmarc=pass header.from=evil.org header.from=example.org`}, false},
		{[]string{id + `; x=dmarc=pass header.from=example.org`}, false},
		{[]string{"mx.hob.te\u017ft; dmarc=pass header.from=example.org"}, false},
		{[]string{"evil.test (" + id + "); dmarc=pass header.from=example.org"}, false},
	} {
		if got := email.Vouched(tc.headers, id, "example.org"); got != tc.want {
			t.Errorf("%q: vouched %v, want %v", tc.headers, got, tc.want)
		}
	}
	if email.Vouched([]string{"; dmarc=pass header.from=example.org"}, "", "example.org") {
		t.Error("without trust_results somebody is vouched for")
	}
}

// channel returns a channel without a connection.
func channel(t testing.TB) *email.Channel {
	t.Helper()
	return open(t, email.Config{IMAP: "imap.hob.test", SMTP: "smtp.hob.test", Address: channelstest.EmailUser, Password: "env:PASSWORD", TrustResults: channelstest.EmailTrust, Known: []string{ana}})
}

func read(t testing.TB, raw string) channels.Message {
	t.Helper()
	m, err := channel(t).Read([]byte(strings.ReplaceAll(strings.ReplaceAll(raw, "\r\n", "\n"), "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAMail(t *testing.T) {
	m := read(t, mailOf(sam, "hello\n\nyou", "Message-ID: <m1@example.org>\r\nSubject: =?iso-8859-1?q?Gr=FC=DFe?=\r\n =?utf-8?q?_from_Sam?=\r\n"))
	want := channels.Message{
		ID: "<m1@example.org> <m1@example.org> Grüße from Sam", From: channels.Person{ID: sam, Name: sam}, Chat: channels.Chat{ID: sam, Thread: "<m1@example.org>"},
		Text: "Subject: Grüße from Sam\n\nhello\n\nyou", At: time.Unix(1, 0),
	}
	if fmt.Sprint(m) != fmt.Sprint(want) {
		t.Errorf("%+v, want\n%+v", m, want)
	}
	answer := read(t, mailOf(sam, "yes", "Message-ID: <m3@example.org>\r\nIn-Reply-To: <hob.x@hob.test>\r\nReferences: <m1@example.org>\r\n <hob.x@hob.test>\r\nSubject: Re: Grüße\r\n"))
	if answer.Text != "yes" || answer.ReplyTo != "<hob.x@hob.test>" || answer.Chat.Thread != "<m1@example.org>" || answer.ID != "<m3@example.org> <m1@example.org><hob.x@hob.test> Re: Grüße" {
		t.Errorf("an answer: %+v", answer)
	}
	if m := read(t, mailOf(sam, "x", "")); m.ID != "uid:3:7 uid:3:7" {
		t.Errorf("a mail without an id is %q", m.ID)
	}
}

func TestWhoseMailItIs(t *testing.T) {
	const to = "To: hob <" + channelstest.EmailUser + ">\r\n"
	ok := "Authentication-Results: " + channelstest.EmailTrust + "; dmarc=pass header.from=example.org\r\n"
	for _, tc := range []struct {
		name, header, id string
		auto, forwarded  bool
	}{
		{"plain", ok + to + "From: Sam <" + sam + ">\r\n", sam, false, false},
		{"in capitals", ok + to + "From: \"eve@evil.org\" <SAM@Example.ORG>\r\n", sam, false, false},
		{"no word of the server", to + "From: " + sam + "\r\n", "unverified:" + sam, false, true},
		{"a word for another domain", strings.Replace(ok, "from=example", "from=evil", 1) + to + "From: " + sam + "\r\n", "unverified:" + sam, false, true},
		{"a name that looks like one", ok + to + "From: \"sam@example.org\" <eve@evil.org>\r\n", "unverified:eve@evil.org", false, true},
		{"two in From", ok + to + "From: " + sam + ", eve@example.org\r\n", "unverified:", false, true},
		{"two From", ok + to + "From: eve@example.org\r\nFrom: " + sam + "\r\n", "unverified:", false, true},
		{"a line that is no field", ok + to + "no field\r\nFrom: " + sam + "\r\n", "unverified:" + sam, false, true},
		{"a name that should have quotation marks", ok + to + "From: Doe, Sam <" + sam + ">\r\n", sam, false, false},
		{"such a name with another address", ok + to + "From: " + sam + ", Eve <eve@evil.org> x\r\n", "unverified:", false, true},
		{"no From", ok + to, "unverified:", false, true},
		{"letters that look alike", ok + to + "From: sаm@example.org\r\n", "unverified:", false, true},
		{"a letter that folds to one", ok + to + "From: =?utf-8?q?x?= <\u212aim@example.org>\r\n", "unverified:", false, true},
		{"passed on with its signature", ok + "To: bob@example.org\r\nFrom: " + sam + "\r\n", sam, false, true},
		{"in copy", ok + "To: bob@example.org\r\nCc: " + channelstest.EmailUser + "\r\nFrom: " + sam + "\r\n", sam, false, false},
		{"passed on under a second To", ok + to + "To: bob@example.org\r\nFrom: " + sam + "\r\n", "unverified:" + sam, false, true},
		{"passed on under a second subject", ok + to + "Subject: pay Eve\r\nSubject: pay nobody\r\nFrom: " + sam + "\r\n", "unverified:" + sam, false, true},
		{"passed on with a Cc that was not signed", signs("from:to:subject") + ok + "To: bob@example.org\r\nCc: " + channelstest.EmailUser + "\r\nFrom: " + sam + "\r\n", sam, false, true},
		{"passed on with two signatures", signs("from:to:cc") + signs("from:to") + ok + "To: bob@example.org\r\nCc: " + channelstest.EmailUser + "\r\nFrom: " + sam + "\r\n", sam, false, true},
		{"in copy, and signed so", signs("from : to:\r\n Cc:subject") + ok + "To: bob@example.org\r\nCc: " + channelstest.EmailUser + "\r\nFrom: " + sam + "\r\n", sam, false, false},
		{"signed on the way by somebody else", strings.Replace(signs("from:to"), "d=example", "d=lists.other", 1) + ok + "To: bob@example.org\r\nCc: " + channelstest.EmailUser + "\r\nFrom: " + sam + "\r\n", sam, false, false},
		{"forwarded", ok + to + "Subject: Fwd: look\r\nFrom: " + sam + "\r\n", sam, false, true},
		{"an auto-reply", ok + to + "Auto-Submitted: Auto-Replied; x\r\nFrom: " + sam + "\r\n", sam, true, false},
		{"no auto-reply", ok + to + "Auto-Submitted: no\r\nFrom: " + sam + "\r\n", sam, false, false},
		{"a list", ok + to + "List-Id: <l>\r\nFrom: " + sam + "\r\n", sam, true, false},
		{"in bulk", ok + to + "Precedence: Bulk\r\nFrom: " + sam + "\r\n", sam, true, false},
		{"a holiday note", ok + to + "X-Autoreply: yes\r\nFrom: " + sam + "\r\n", sam, true, false},
		{"no answers wanted", ok + to + "X-Auto-Response-Suppress: All\r\nFrom: " + sam + "\r\n", sam, true, false},
		{"a bounce", "Return-Path: <>\r\n" + ok + to + "From: " + sam + "\r\n", sam, true, false},
		{"a report", ok + to + "Content-Type: multipart/report; boundary=x\r\nFrom: " + sam + "\r\n", sam, true, false},
		{"the mail system", ok + to + "From: MAILER-DAEMON@example.org\r\n", "mailer-daemon@example.org", true, false},
		{"nobody to answer", ok + to + "From: no-reply@example.org\r\n", "no-reply@example.org", true, false},
		{"somebody of a like name", ok + to + "From: noreplyson@example.org\r\n", "noreplyson@example.org", false, false},
	} {
		m := read(t, tc.header+"\r\nx\r\n")
		if m.From.ID != tc.id || m.Auto != tc.auto || m.Forwarded != tc.forwarded || m.From.Self {
			t.Errorf("%s: %+v", tc.name, m)
		}
		if (m.Auto || strings.HasPrefix(tc.id, "unverified")) && m.Text != "" {
			t.Errorf("%s: it was read: %q", tc.name, m.Text)
		}
	}
	if m := read(t, "From: Hob <HOB@hob.test>\r\n"+to+"\r\nx\r\n"); !m.From.Self {
		t.Errorf("its own: %+v", m)
	}
}

// signs returns a signature of the owner's domain over some headers.
func signs(headers string) string {
	return "DKIM-Signature: v=1; a=rsa-sha256; d=example.org; s=k;\r\n\th=" + headers + "; bh=eA==; b=eA==\r\n"
}

func TestWords(t *testing.T) {
	quote := "\n\nOn Mon, 1 Nov 2026 at 10:00, hob\n<hob@hob.test> wrote:\n> do you\n> agree?\n>\n"
	for _, tc := range []struct {
		name, text, want string
		quotes           bool
	}{
		{"a line", "yes", "yes", false},
		{"with what is answered below", "yes" + quote, "yes", false},
		{"on one line", "my words\nSam wrote:\n> x", "my words", false},
		{"in German", "ja\n\nAm 1.11.2026 um 10:00 schrieb hob:\n\n> gut?\n", "ja", false},
		{"by Outlook", "yes\n\n-----Original Message-----\nFrom: hob\nSent: Monday\n\nagree?", "yes", false},
		{"by a newer one", "yes\n\n________________________________\nFrom: hob\nSent: Monday\nTo: me\nSubject: x\n\nagree?", "yes", false},
		{"answered one by one", "> agree?\nyes\n> and?\nno", "> agree?\nyes\n> and?\nno", true},
		{"a quote alone", "> agree?", "> agree?", true},
		{"Outlook's quote alone", "From: Eve <eve@evil.org>\nSent: Monday\nTo: Sam\n\npay me", "From: Eve <eve@evil.org>\nSent: Monday\nTo: Sam\n\npay me", true},
		{"Outlook's quote below a signature alone", "-- \nSam\n\nFrom: Eve\nSent: Monday\n\npay me", "--\nSam\n\nFrom: Eve\nSent: Monday\n\npay me", true},
		{
			"by Outlook in another language", "please do\n\nOd: Eve <eve@evil.org>\nWysłano: 1.11.2026\nDo: Sam\nTemat: x\n\npay me",
			"please do\n\nOd: Eve <eve@evil.org>\nWysłano: 1.11.2026\nDo: Sam\nTemat: x\n\npay me", true,
		},
		{"a list of one's own", "one: 1\ntwo: 2\nthree: 3\nfour: 4", "one: 1\ntwo: 2\nthree: 3\nfour: 4", false},
		{"a signature", "yes\n-- \nSam\nDirector", "yes", false},
		{"a phone", "yes\n\nSent from my iPhone", "yes", false},
		{"a phone and what is answered", "yes\n\nSent from my iPhone" + quote, "yes", false},
		{"a phone alone", "Sent from my iPhone", "Sent from my iPhone", false},
		{"a rule in the text", "one\n\n---\n\ntwo", "one\n\n---\n\ntwo", false},
		{"passed on", "look\n\n---------- Forwarded message ---------\nFrom: x\n\nhi", "look\n\n---------- Forwarded message ---------\nFrom: x\n\nhi", true},
		{"a colon at the end", "do this:\n\n- one", "do this:\n\n- one", false},
	} {
		got, quotes := email.Own(tc.text, false)
		if got != tc.want || quotes != tc.quotes {
			t.Errorf("%s: %q, quotes %v; want %q, %v", tc.name, got, quotes, tc.want, tc.quotes)
		}
	}
	if got, quotes := email.Own("x\n\n-----Original Message-----\nhi", true); !strings.HasSuffix(got, "hi") || !quotes {
		t.Errorf("of a mail that is passed on, %q is left, quotes %v", got, quotes)
	}
}

// A command is never combined with the subject; a stranger's code must be in the first line.
func TestCommandsAndCodes(t *testing.T) {
	eve := "eve@example.org"
	for _, tc := range []struct{ from, text, more, want string }{
		{sam, "/status", "Subject: hi\r\n", "/status"},
		{sam, "ABCD-EFGH", "Subject: my code\r\n", "ABCD-EFGH"},
		{sam, "Call mama", "Subject: today\r\n", "Subject: today\n\nCall mama"},
		{sam, "", "Subject: /status\r\n", "/status"},
		{eve, "ABCD-EFGH\n\nSent from my phone", "Subject: hi\r\n", "ABCD-EFGH"},
		{eve, "", "Subject: ABCD-EFGH\r\n", "ABCD-EFGH"},
	} {
		if m := read(t, mailOf(tc.from, tc.text, tc.more)); m.Text != tc.want || m.Forwarded {
			t.Errorf("%s writes %q with %q: %+v, want %q", tc.from, tc.text, tc.more, m, tc.want)
		}
	}
}

func TestHTML(t *testing.T) {
	for _, tc := range []struct{ html, want string }{
		{"<p>Hello <b>you</b>,</p><p>it is <i>late</i>.</p>", "Hello you,\n\nit is late."},
		{"one<br>two<br><br><br>three", "one\ntwo\n\nthree"},
		{"<style>p{}</style><script>x</script><head><title>t</title></head><body>words</body>", "words"},
		{"<head><style>x</style><body>words", "words"},
		{"<ul><li>one</li><li>two</li></ul>after", "- one\n- two\n\nafter"},
		{`<a href="https://x.test/a?b=1&amp;c">here</a> and <a href="https://x.test">x.test</a> <a href="javascript:x">no</a>`, "here (https://x.test/a?b=1&c) and x.test no"},
		{"answer<div>On Monday you wrote:<blockquote><div>old</div><blockquote>older</blockquote></blockquote></div>", "answer\nOn Monday you wrote:\n> old\n> > older"},
		{"<pre>a\n  b</pre>", "a\n  b"},
		{"<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>", "1 2\n3"},
		{`<img src="https://t.test/pixel"><img alt="a cat" src="cid:1">`, "[a cat]"},
		{"1 &lt; 2 &amp;&nbsp;3", "1 < 2 & 3"},
		{"", ""},
		{strings.Repeat("<blockquote>", 100_000) + "deep", "> > > > > deep"},
	} {
		if got := email.HTMLText(tc.html); got != tc.want {
			t.Errorf("%.200q: %q, want %q", tc.html, got, tc.want)
		}
	}
}

// mixed returns a mail with parts; bodies are complete parts with headers.
func mixed(kind string, parts ...string) string {
	head := strings.TrimSuffix(mailOf(sam, "", ""), "Content-Type: text/plain; charset=utf-8\r\n\r\n\r\n")
	return head + "Content-Type: multipart/" + kind + "; boundary=sep\r\n\r\n--sep\r\n" + strings.Join(parts, "\r\n--sep\r\n") + "\r\n--sep--\r\n"
}

func TestParts(t *testing.T) {
	const plain, html = "Content-Type: text/plain\r\n\r\nplain words", "Content-Type: text/html\r\n\r\n<p>shown words</p>"
	pdf := "Content-Type: application/pdf; name=x.pdf\r\nContent-Disposition: attachment; filename*=utf-8''r%C3%A9sum%C3%A9.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString([]byte("%PDF"))
	deep := plain
	for i := range 50 {
		deep = fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n%s\r\n--b%d--\r\n", i, i, deep, i)
	}
	for _, tc := range []struct {
		name, raw, text string
		files           []string
	}{
		{"alternatives", mixed("alternative", plain, html), "plain words", nil},
		{"alternatives, the plain one empty", mixed("alternative", "Content-Type: text/plain\r\n\r\n \r\n", html), "shown words", nil},
		{"HTML alone", mixed("mixed", html), "shown words", nil},
		{"words around a file", mixed("mixed", html, pdf, plain), "shown words\n\nplain words", []string{"résumé.pdf application/pdf %PDF"}},
		{"a text as a file", mixed("mixed", plain, "Content-Type: text/plain\r\nContent-Disposition: attachment; filename=\"../../etc/x\\\\a.txt\"\r\n\r\nnotes"), "plain words", []string{"a.txt text/plain notes"}},
		{"a mail in a mail", mixed("mixed", plain, "Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\nhi"), "plain words", []string{"attachment.eml message/rfc822 Subject: inner\r\n\r\nhi"}},
		{"a signature", mixed("signed", plain, "Content-Type: application/pgp-signature; name=signature.asc\r\n\r\nxxx"), "plain words", nil},
		{"too deep", mixed("mixed", deep, plain), "plain words", nil},
		{"without an end", strings.Split(mixed("mixed", plain), "--sep--")[0], "plain words", nil},
		{"a charset that lies", mixed("mixed", "Content-Type: text/plain\r\n\r\nGr\xfc\xdfe"), "Grüße", nil},
		{"a charset of Japan", mixed("mixed", "Content-Type: text/plain; charset=iso-2022-jp\r\n\r\n\x1b$B$3$s\x1b(B"), "こん", nil},
		{"a charset that is none", mixed("mixed", "Content-Type: text/plain; charset=x-none\r\n\r\nwords"), "words", nil},
		{"an encoding that is none", mixed("mixed", "Content-Type: text/plain\r\nContent-Transfer-Encoding: x-none\r\n\r\nwords"), "words", nil},
		{"base64 that breaks off", mixed("mixed", "Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\nd29yZHM"), "wor", nil},
	} {
		m := read(t, tc.raw)
		var files []string
		for _, f := range m.Files {
			r, err := f.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(r)
			if err != nil || int64(len(data)) != f.Size {
				t.Errorf("%s: %d bytes, said %d, %v", tc.name, len(data), f.Size, err)
			}
			files = append(files, f.Name+" "+f.MIME+" "+string(data))
		}
		if m.Text != tc.text || !slices.Equal(files, tc.files) {
			t.Errorf("%s: %q with %q, want %q with %q", tc.name, m.Text, files, tc.text, tc.files)
		}
	}
}

// Malicious mails are read up to the limits.
func TestHostileMail(t *testing.T) {
	many := make([]string, 5000)
	for i := range many {
		many[i] = "Content-Type: application/x\r\n\r\nx"
	}
	if m := read(t, mixed("mixed", many...)); len(m.Files) > 200 {
		t.Errorf("%d files were taken", len(m.Files))
	}
	head := strings.Repeat("X-Bomb: "+strings.Repeat("x", 900)+"\r\n", 2000)
	if m, err := channel(t).Read([]byte(mailOf(sam, "behind a bomb", head))); err != nil || m.Text != "" {
		t.Errorf("behind a header of 2 MB: %q, %v", m.Text, err)
	}
	if m := read(t, mailOf(sam, strings.Repeat("long ", 1<<20), "")); len(m.Text) > 1<<20 {
		t.Errorf("a text of %d bytes", len(m.Text))
	}
	if m := read(t, mailOf(sam, "x", "Subject: "+strings.Repeat("s", 5000)+"\x00\x1b[2J\u202e\r\n")); len(m.ID) > 700 || strings.ContainsAny(m.ID, "\x00\x1b\u202e") {
		t.Errorf("id %q", m.ID)
	}
}
