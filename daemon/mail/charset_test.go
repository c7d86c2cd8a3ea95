package mail_test

import (
	"strings"
	"testing"

	"hob/daemon/mail"
)

// A part is decoded by its label as browsers do, by what its HTML says, or by what is credible. (11.1)
func TestReadCharsets(t *testing.T) {
	for _, c := range []struct{ name, kind, body, want string }{
		{"11.1, Outlook Express", "text/plain; charset=iso-8859-1", "\x93hi\x94 \x80 5", "“hi” € 5"},
		{"Eudora", "text/plain; charset=us-ascii", "it\x92s", "it’s"},
		{"Foxmail", "text/plain; charset=gb2312", "\xc4\xe3\xba\xc3", "你好"},
		{"Becky, Japan", "text/plain; charset=iso-2022-jp", "\x1b$B$3$s\x1b(B", "こん"},
		{"Outlook, Korea", "text/plain; charset=ks_c_5601-1987", "\xb0\xa1", "가"},
		{"The Bat, Russia", `text/plain; charset="koi8-r"`, "\xf0\xd2\xc9\xd7\xc5\xd4", "Привет"},
		{"cron on a Latin-1 machine, without a label", "text/plain", "gr\xfc\xdfe", "grüße"},
		{"a PHP form, wrong label", "text/plain; charset=utf-8", "gr\xfc\xdfe", "grüße"},
		{"a mailer with a label of its own", "text/plain; charset=unknown-8bit", "\xc4\xe3\xba\xc3", "你好"},
		{"HTML that says it itself", "text/html", "<meta charset=windows-1251><p>\xcf\xf0", "Пр"},
		{"HTML of Outlook", "text/html; charset=Windows-1252", "<p>\x80 5", "€ 5"},
	} {
		got := mail.Read([]byte("Content-Type: " + c.kind + "\r\n\r\n" + c.body)).Text
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The words of a header are decoded by the same labels.
func TestDecodedCharsets(t *testing.T) {
	for value, want := range map[string]string{
		"=?iso-8859-1?Q?=93hi=94_=80?=": "“hi” €", "=?ISO-8859-1*en?Q?=96?=": "–", "=?gb2312?B?xOO6ww==?=": "你好", "=?ks_c_5601-1987?B?sKE=?=": "가",
		"=?utf-8?Q?=C3=BC?=": "ü", "plain": "plain", "gr\xfc\xdfe": "grüße", "=?nothing?Q?x?=": "=?nothing?Q?x?=",
	} {
		if got := mail.Decoded(value); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
	if list := mail.Addresses("=?iso-8859-1?Q?Zo=EB_=96?= <z@example.org>"); len(list) != 1 || list[0].Name != "Zoë –" {
		t.Error(list)
	}
}

// Lines that the sender's program broke are joined (RFC 3676). (11.2)
func TestReadFlowed(t *testing.T) {
	const flowed, deleted = "text/plain; format=flowed", "text/plain; charset=utf-8; format=flowed; delsp=yes"
	for _, c := range []struct{ name, kind, body, want string }{
		{"11.2, Apple Mail", deleted, "This is one long para \r\ngraph that flows.", "This is one long paragraph that flows."},
		{"Thunderbird", flowed, "one \r\ntwo \r\nthree\r\nnext", "one two three\nnext"},
		{"mutt, quotes of two depths", flowed, "> a \r\n> b\r\n>> c \r\n> d\r\ne", "> a b\n>> c \n> d\ne"},
		{"Apple Mail, Chinese", deleted, "你好 \r\n世界", "你好世界"},
		{"a space that belongs to the text", deleted, "one  \r\ntwo", "one two"},
		{"stuffed: From, > and a space", flowed, " From me\r\n > no quote\r\n  indented", "From me\n> no quote\n indented"},
		{"the signature line", flowed, "bye \r\n-- \r\nA \r\nB", "bye \n-- \nA B"},
		{"a quoted signature line", flowed, "> bye\r\n> -- \r\n> A", "> bye\n> -- \n> A"},
		{"a blank line ends a paragraph", flowed, "a \r\n\r\nb", "a \nb"},
		{"FORMAT=FLOWED of Opera", `text/plain; FORMAT="Flowed"; DelSp="Yes"`, "a \r\nb", "ab"},
		{"not flowed", "text/plain", "a \r\nb\r\n > c", "a \nb\n > c"},
		{"format=fixed", "text/plain; format=fixed", "a \r\nb", "a \nb"},
		{"only line feeds", flowed, "a \nb", "a b"},
	} {
		got := mail.Read([]byte("Content-Type: " + c.kind + "\r\n\r\n" + c.body)).Text
		if got != c.want && got != strings.TrimSpace(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Any body, cut at any byte, is read without a panic, and with all its letters.
func FuzzFlowed(f *testing.F) {
	f.Add("a \r\n> b \r\n>> c\r\n-- \r\n  d", true)
	f.Fuzz(func(t *testing.T, body string, delsp bool) {
		kind := map[bool]string{true: "; delsp=yes"}[delsp]
		for cut := range body {
			plain := mail.Read([]byte("Content-Type: text/plain; format=flowed" + kind + "\r\n\r\n" + body[:cut])).Text
			if strings.Count(plain, "a") < strings.Count(body[:cut], "a") {
				t.Errorf("%q of %q", plain, body[:cut])
			}
		}
	})
}
