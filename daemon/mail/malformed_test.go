package mail_test

import (
	"slices"
	"strings"
	"testing"

	"hob/daemon/mail"
)

// A detail that is malformed does not cost the text: the type, its parameters, and lines of the header that are no fields. (11)
func TestReadMalformedHeaders(t *testing.T) {
	const gbk = "\xc4\xe3\xba\xc3"
	for _, c := range []struct{ name, raw, want string }{
		{"a quotation mark that is not closed", "Content-Type: text/plain; charset=\"iso-8859-1\r\n\r\n\x93hi\x94", "“hi”"},
		{"no semicolon", "Content-Type: text/plain charset=gbk\r\n\r\n" + gbk, "你好"},
		{"single quotation marks", "Content-Type: text/plain; charset='gbk'\r\n\r\n" + gbk, "你好"},
		{"a parameter without a name", "Content-Type: text/html; gbk; charset = gbk\r\n\r\n<p>" + gbk, "你好"},
		{"two charsets, the first counts", "Content-Type: text/plain; charset=gbk; charset=utf-8\r\n\r\n" + gbk, "你好"},
		{"the type of old Unix mail", "Content-Type: text\r\n\r\nhello", "hello"},
		{"an empty type", "Content-Type: \r\n\r\nhello", "hello"},
		{"an encoding with a full stop", "Content-Type: text/plain\r\nContent-Transfer-Encoding: 8bit.\r\n\r\nhello", "hello"},
		{"parts without a boundary", "Content-Type: multipart/mixed\r\n\r\n--x\r\n\r\nhello\r\n--x--", "--x\n\nhello\n--x--"},
		{"parts, and a parameter without a name", "Content-Type: multipart/mixed; utf-8; boundary=\"x\r\n\r\n--x\r\n\r\nhello\r\n--x--", "hello"},
		{"a type of parts with a space", "Content-Type: multipart/ mixed; boundary=b\r\n\r\nhello", "hello"},
		{"a type of parts with two strokes", "Content-Type: multipart/mixed/x; boundary=b\r\n\r\nhello", "hello"},
		{"the same in a part", "Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\nContent-Type: multipart/(mixed; boundary=b\r\n\r\nhello\r\n--a--", "hello"},
		{"the first line of an mbox", "From a@example.org Mon\r\nContent-Type: text/plain\r\n\r\nhi", "hi"},
		{"that line, quoted", ">From a@example.org Mon 10:00\r\n more\r\nContent-Type: text/html\r\n\r\n<p>hi", "hi"},
		{"a line that is no field", "Subject: x\r\nno field\r\n more of it\r\nContent-Type: text/html\r\n\r\n<p>hi", "hi"},
		{"a header only of such lines", "no field\r\n\r\nhi", "hi"},
		{"labels of Windows and Java", "Content-Type: text/plain; charset=CP932\r\n\r\n\x82\xb1", "こ"},
		{"Korea", "Content-Type: text/plain; charset=cp949\r\n\r\n\xb0\xa1", "가"},
		{"Postfix in Japan", "Content-Type: text/plain; charset=iso-2022-jp-ms\r\n\r\n\x1b$B$3$s\x1b(B", "こん"},
		{"MySQL's name", "Content-Type: text/plain; charset=utf8mb4\r\n\r\nü", "ü"},
	} {
		if got := mail.Read([]byte(c.raw)).Text; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A file keeps its name, and stays a file, when what names it is malformed.
func TestMalformedFileNames(t *testing.T) {
	for disposition, want := range map[string]string{
		"attachment; filename=the bill.txt": "the bill.txt", "attachment; filename=\"bill.txt": "bill.txt", "ATTACHMENT; filename='a b.txt'; size": "a b.txt",
		"attachment; filename=\"=?utf-8?B?w7w?=.txt\"": "ü.txt", "attachment; x; filename=../a.txt": "a.txt", "attachment; ;": "attachment.txt",
	} {
		b := mail.Read([]byte("Content-Type: text/plain\r\nContent-Disposition: " + disposition + "\r\n\r\nhello"))
		if len(b.Files) != 1 || b.Files[0].Name != want || b.Text != "" {
			t.Errorf("%s: %+v", disposition, b)
		}
	}
}

// Words that a program has cut wrongly are read as one text, and a word that is none stays.
func TestDecodedMalformed(t *testing.T) {
	for value, want := range map[string]string{
		"=?UTF-8?Q?=E4=BD?= =?utf-8?Q?=A0?=": "你", "=?utf-8?B?5L0=?=\r\n =?utf-8?B?oA?=": "你", "=?utf-8?B?w7w?=": "ü", "=?cp932?B?grE=?=": "こ",
		"=?utf-8?Q?a_?= =?utf-8?Q?b?= c": "a b c", "Re: =?utf-8?q?=C3=BC?=x": "Re: üx", "=?utf-8?Q?a?= =?gbk?B?xOM=?=": "a你", "=?utf-8?Q?a?= b =?utf-8?Q?c?=": "a b c",
		"=?utf-8?Q?a": "=?utf-8?Q?a", "=?utf-8?B?!?= x": "=?utf-8?B?!?= x", "=?none?Q?a?= =?utf-8?Q?b?=": "=?none?Q?a?= b", "": "",
	} {
		if got := mail.Decoded(value); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

// The only address behind a malformed name is the author's. With a second one, nobody is.
func TestMalformedAddresses(t *testing.T) {
	for value, want := range map[string]string{
		"Doe, Zoe <z@example.org>": "Doe, Zoe|z@example.org", "=?utf-8?Q?Zo=C3=AB,_A.?= <z@example.org>": "Zoë, A.|z@example.org", "Zo\xeb <z@example.org>": "Zoë|z@example.org",
		"Zoe [x] <z@example.org>;": "Zoe [x]|z@example.org", "Zoe <<z@example.org>>": "Zoe|z@example.org", `"=?utf-8?Q?Zo=C3=AB?=" <z@example.org>`: "Zoë|z@example.org",
		"Doe, a@example.org <z@example.org>": "", "Doe, Zoe <z@example.org> <a@example.org>": "", "a@example.org; <z@example.org>": "", "Doe, <x> <z@example.org>": "",
		"Doe, Zoe <z@example.org, a>": "", "Doe, (a@example.org) <z@example.org>": "", "Doe, Zoe z@example.org": "", "Doe, Zoe <z@@example.org>": "",
	} {
		var got []string
		for _, a := range mail.Addresses(value) {
			got = append(got, a.Name+"|"+a.Address)
		}
		if want := slices.DeleteFunc([]string{want}, func(s string) bool { return s == "" }); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

// Any bytes are read, and the fields of a header are kept as they are.
func FuzzFields(f *testing.F) {
	f.Add("From x\r\n y\r\nA: b\r\n c\r\n\r\nbody\r\n")
	f.Add("Content-Type: multipart/ mixed; boundary=b\r\n\r\n--b\r\n\r\nhello")
	f.Fuzz(func(t *testing.T, raw string) {
		_ = mail.Read([]byte(raw))
		_ = mail.Decoded(raw)
		kept, _ := mail.Fields([]byte(raw))
		again, clean := mail.Fields(kept)
		if (!clean || string(again) != string(kept)) && !strings.HasPrefix(string(kept), "\n") && !strings.HasPrefix(string(kept), "\r") {
			t.Errorf("%q became %q, and then %q", raw, kept, again)
		}
	})
}
