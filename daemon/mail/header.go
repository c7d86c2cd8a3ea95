package mail

import (
	"bytes"
	"io"
	"mime"
	netmail "net/mail"
	"slices"
	"strings"

	"github.com/emersion/go-message"

	"hob/daemon/sys"
	"hob/daemon/text"
)

// Fields returns a mail without the lines of its header that are no fields. clean: there were none but the first line of an mbox.
func Fields(raw []byte) (mail []byte, clean bool) {
	at, drop, clean := 0, true, true
	for line := range bytes.Lines(raw) {
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			break
		}
		if line[0] != ' ' && line[0] != '\t' { // otherwise it belongs to the line before
			name, _, ok := bytes.Cut(line, []byte(":"))
			name = bytes.TrimRight(name, " \t")
			drop = !ok || len(name) == 0 || slices.ContainsFunc(name, func(b byte) bool { return b <= ' ' || b > '~' })
		}
		if !drop {
			mail = append(mail, line...)
		} else if at > 0 || !bytes.HasPrefix(bytes.TrimPrefix(line, []byte(">")), []byte("From ")) {
			clean = false
		}
		at += len(line)
	}
	return append(mail, raw[at:]...), clean
}

// kindOf returns the type of a part, in lower case, and its parameters. What is malformed is read as far as it can be: without a type, the part is
// text.
func kindOf(h message.Header) (kind string, params map[string]string) {
	kind, params, err := h.ContentType()
	if err != nil {
		kind, params = loose(h.Get("Content-Type"))
	}
	if kind = strings.ToLower(kind); !strings.Contains(kind, "/") || strings.HasPrefix(kind, "multipart/") && params["boundary"] == "" {
		kind = ""
	}
	return kind, params
}

// dispositionOf returns how a part is meant to be shown, in lower case, and its parameters.
func dispositionOf(h message.Header) (kind string, params map[string]string) {
	kind, params, err := h.ContentDisposition()
	if err != nil {
		kind, params = loose(h.Get("Content-Disposition"))
	}
	return strings.ToLower(kind), params
}

var parameter = sys.Regexp(`([\w*-]+)\s*=\s*(?:"([^"]*)|'([^']*)'|([^;]*))`)

// loose reads a value with parameters (RFC 2045, section 5.1) that package mime refuses.
func loose(value string) (first string, params map[string]string) {
	first, rest, _ := strings.Cut(strings.TrimSpace(value), ";")
	first, more, _ := strings.Cut(first, " ")
	params = map[string]string{}
	for _, m := range parameter().FindAllStringSubmatch(more+";"+rest, -1) {
		if name := strings.ToLower(m[1]); params[name] == "" {
			params[name] = m[2] + m[3] + strings.TrimSpace(m[4])
		}
	}
	return first, params
}

// words decodes the encoded words of a header (RFC 2047), by the labels of browsers.
func words() *mime.WordDecoder { return &mime.WordDecoder{CharsetReader: text.Charset} }

// western is a label that package mime decodes by itself, without the letters that windows-1252 has in place of control characters.
var western = sys.Regexp(`(?i)=\?(?:iso-8859-1|us-ascii)(\*[a-z-]+)?\?`)

// named is an address in brackets behind a name that should have been quoted.
var named = sys.Regexp(`^([^<>@]*)<+\s*([^<>@\s,;:"()]+@[^<>@\s,;:"()]+)\s*>+\s*[,;]?$`)

// Addresses parses a list of addresses; a malformed list is empty, so that its author stays unknown. A malformed name before the only address is
// none.
func Addresses(value string) []*netmail.Address {
	value = strings.TrimSpace(text.Declared("", false, []byte(value)))
	parser := netmail.AddressParser{WordDecoder: words()}
	if list, err := parser.ParseList(western().ReplaceAllString(value, "=?windows-1252?")); err == nil {
		for _, a := range list {
			a.Name = Decoded(a.Name) // encoded words within quotation marks
		}
		return list
	}
	if m := named().FindStringSubmatch(value); m != nil {
		return []*netmail.Address{{Name: strings.Trim(Decoded(m[1]), `"' `), Address: m[2]}}
	}
	return nil
}

var encodedWord = sys.Regexp(`=\?([\w.:+-]+)(?:\*[\w-]*)?\?([bBqQ])\?([^?]*)\?=`)

// Decoded decodes the text of a header (RFC 2047). A malformed word is returned as it is. Words with only white space between them are one text,
// because some programs cut a character in two. Bytes that are not ASCII are read as those of a text.
func Decoded(value string) string {
	var out strings.Builder
	var word []byte // the bytes of the last words
	label, end := "", 0
	for _, m := range encodedWord().FindAllStringSubmatchIndex(value, -1) {
		raw, ok := decoded(value[m[4]:m[5]], value[m[6]:m[7]])
		next := strings.ToLower(value[m[2]:m[3]])
		if _, known := text.Labelled(next); !ok || !known {
			continue
		}
		between := value[end:m[0]]
		joins := label != "" && strings.TrimSpace(between) == ""
		if !joins || next != label {
			out.WriteString(text.Declared(label, false, word))
			word = nil
		}
		if !joins {
			out.WriteString(text.Declared("", false, []byte(between)))
		}
		word, label, end = append(word, raw...), next, m[1]
	}
	out.WriteString(text.Declared(label, false, word))
	out.WriteString(text.Declared("", false, []byte(value[end:])))
	return out.String()
}

// decoded returns the bytes of an encoded word.
func decoded(encoding, content string) ([]byte, bool) {
	if strings.EqualFold(encoding, "b") {
		content = strings.TrimRight(content, "=")
		content += strings.Repeat("=", (4-len(content)%4)%4)
	}
	var raw []byte
	d := mime.WordDecoder{CharsetReader: func(_ string, r io.Reader) (_ io.Reader, err error) {
		raw, err = io.ReadAll(r)
		return strings.NewReader(""), err
	}}
	_, err := d.Decode("=?bytes?" + encoding + "?" + content + "?=")
	return raw, err == nil
}
