package text

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"hob/daemon/sys"
)

// Encoding is a character encoding of the Encoding Standard (https://encoding.spec.whatwg.org). The zero value is UTF-8.
type Encoding struct {
	name   string
	table  encoding.Encoding // nil: UTF-8
	mark   string            // the byte order mark at the beginning of the text
	others []Encoding        // credible readings that give another text
	lone   bool              // lines end in CR, as on the Macintosh of old
}

// The marks of UTF-8 and UTF-16 (RFC 3629, RFC 2781).
const (
	markUTF8 = "\xef\xbb\xbf"
	markLE   = "\xff\xfe"
	markBE   = "\xfe\xff"
)

// otherLabels are names that programs use for encodings of the standard, which does not list them.
func otherLabels() map[string]string {
	return map[string]string{
		"cp932": "shift_jis", "ms932": "shift_jis", "cp936": "gbk", "ms936": "gbk", "cp949": "euc-kr", "ms949": "euc-kr", "uhc": "euc-kr", // Windows, Java
		"cp950": "big5", "ms950": "big5", "iso-2022-jp-ms": "iso-2022-jp", "iso-2022-jp-1": "iso-2022-jp", // Postfix, Apple Mail
		"cp50220": "iso-2022-jp", "cp50221": "iso-2022-jp", "utf_8": "utf-8", "utf8mb4": "utf-8", "ansi": "windows-1252", // nkf, Python, MySQL
	}
}

// Labelled returns the encoding with a label, as a web browser understands it: iso-8859-1 is windows-1252. It is false for an unknown label.
func Labelled(label string) (Encoding, bool) {
	label = strings.ToLower(strings.Trim(label, " \t\r\n\f\"'"))
	if own, ok := otherLabels()[label]; ok {
		label = own
	}
	table, err := htmlindex.Get(label)
	if err != nil {
		return Encoding{}, false
	}
	name, err := htmlindex.Name(table)
	switch {
	case err != nil || name == "replacement": // labels of encodings that are a danger, such as HZ
		return Encoding{}, false
	case name == "utf-8":
		return Encoding{}, true
	case name == "big5" || name == "shift_jis":
		name = map[string]string{"big5": "Big5", "shift_jis": "Shift_JIS"}[name]
	case !strings.HasPrefix(name, "windows") && !strings.HasPrefix(name, "x-") && name != "gb18030" && name != "macintosh":
		name = strings.ToUpper(name)
	}
	if strings.HasPrefix(name, "UTF-16") { // a mark is data here: the caller keeps it
		order := map[bool]unicode.Endianness{true: unicode.LittleEndian, false: unicode.BigEndian}[name == "UTF-16LE"]
		return Encoding{name: "UTF-16", table: unicode.UTF16(order, unicode.IgnoreBOM)}, true
	}
	return Encoding{name: name, table: table}, true
}

// UTF8 reports whether the bytes are the text: it is UTF-8, and its lines do not end in CR.
func (e Encoding) UTF8() bool { return e.table == nil && !e.lone }

// String names the encoding for people, with the other readings if there are any.
func (e Encoding) String() string {
	name := cmp.Or(e.name, "UTF-8")
	for _, o := range e.others {
		name += ", or " + o.name
	}
	if e.lone {
		name += ", lines end in CR"
	}
	return name
}

// decoder decodes GBK by the table of GB 18030, as the standard demands.
func (e Encoding) decoder() *encoding.Decoder {
	switch {
	case e.table == nil:
		return encoding.Nop.NewDecoder()
	case e.name == "GBK":
		return simplifiedchinese.GB18030.NewDecoder()
	}
	return e.table.NewDecoder()
}

// Reader decodes to UTF-8, without a byte order mark. What cannot be decoded becomes the replacement character.
func (e Encoding) Reader(r io.Reader) io.Reader {
	if e.mark != "" {
		_, _ = io.ReadFull(r, make([]byte, len(e.mark))) // an error comes again with the next read
	}
	if r = e.decoder().Reader(r); e.lone {
		return breaks{r}
	}
	return r
}

// breaks replaces CR by LF.
type breaks struct{ io.Reader }

// Read implements io.Reader.
func (b breaks) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	for i, c := range p[:n] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// Decode is Reader for a whole text.
func (e Encoding) Decode(raw []byte) []byte {
	out, err := io.ReadAll(e.Reader(bytes.NewReader(raw)))
	if err != nil {
		return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	return out
}

// Exact is Decode for a text that will be written again. It is false if the bytes would not come back as they are.
func (e Encoding) Exact(raw []byte) ([]byte, bool) {
	out := e.Decode(raw)
	back, err := e.Encode(out, out)
	return out, err == nil && bytes.Equal(raw, back)
}

// Encode returns the bytes of a text, with the byte order mark. was is the text before the change: its characters have their bytes already. A new
// character must have one in the encoding, and the same one in each of its other readings. The error names the first that does not.
func (e Encoding) Encode(now, was []byte) ([]byte, error) {
	if e.lone {
		now = bytes.ReplaceAll(bytes.ReplaceAll(now, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r"))
	}
	if e.table == nil {
		ascii := func(b []byte) bool { return plainASCII(bytes.ToValidUTF8(b, nil)) }
		if !utf8.Valid(was) && ascii(was) && !ascii(now) {
			return nil, errors.New("it is not UTF-8 and its encoding is not known, so only ASCII can be written")
		}
		return now, nil
	}
	out, err := e.table.NewEncoder().Bytes(now)
	if err == nil && len(e.others) == 0 {
		return append([]byte(e.mark), out...), nil
	}
	had := map[rune]bool{}
	for _, r := range string(was) {
		had[r] = true
	}
	for _, r := range string(now) {
		if r < utf8.RuneSelf || had[r] && err == nil {
			continue
		}
		one, missing := e.table.NewEncoder().String(string(r))
		if missing != nil {
			return nil, fmt.Errorf("%q (U+%04X) cannot be written in %s", r, r, e)
		}
		for _, o := range e.others {
			if other, missing := o.table.NewEncoder().String(string(r)); !had[r] && (missing != nil || other != one) {
				return nil, fmt.Errorf("%q (U+%04X) has different bytes in %s and %s, and the text may be either", r, r, e.name, o.name)
			}
		}
	}
	return append([]byte(e.mark), out...), err
}

// Charset implements the CharsetReader of package mime.
func Charset(label string, r io.Reader) (io.Reader, error) {
	e, ok := Labelled(label)
	if !ok {
		return nil, fmt.Errorf("the encoding %q is unknown", Line(label, 40))
	}
	return e.Reader(r), nil
}

// Places where HTML and XML declare their encoding, within the first bytes.
const prescan = 8 << 10

var (
	comment     = sys.Regexp(`(?s)<!--.*?-->`)
	declaration = sys.Regexp(`(?i)(?:<meta[^>]*?[\s;"']charset\s*=\s*["']?|^\s*<\?xml[^>]*?\sencoding\s*=\s*["'])\s*([a-z0-9_.:-]+)`)
)

// Declared decodes a text from elsewhere, such as a mail or a web page, to valid UTF-8. A byte order mark wins over the label, and the label over
// what markup says about itself. An unknown label, or UTF-8 on other text, does not count. An undeclared text that is not UTF-8 is the one
// credible reading, or else windows-1252, as in browsers.
func Declared(label string, markup bool, raw []byte) string {
	e, known := Labelled(label)
	if found, ok := marked(raw); ok {
		e, known = found, true
	} else if head := raw[:min(len(raw), prescan)]; !known && markup {
		if m := declaration().FindSubmatch(comment().ReplaceAll(head, nil)); m != nil {
			if e, known = Labelled(string(m[1])); e.name == "UTF-16" { // it was read as ASCII
				e, known = Encoding{}, false
			}
		}
	}
	if (!known || e.UTF8()) && !mostlyUTF8(raw) {
		if e, known = Detect(raw, true); !known {
			e, _ = Labelled("windows-1252")
		}
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(e.Decode(raw)), "\uFFFD"), "\ufeff")
}

// mostlyUTF8 reports whether a text is UTF-8 that is cut off or has a wrong byte here and there.
func mostlyUTF8(raw []byte) bool {
	valid, wrong := 0, 0
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		switch {
		case r == utf8.RuneError && n == 1:
			wrong++
		case n > 1:
			valid++
		}
		raw = raw[n:]
	}
	return wrong == 0 || valid > wrong
}

// marked returns the encoding that a byte order mark names.
func marked(raw []byte) (Encoding, bool) {
	head := string(raw[:min(len(raw), 4)])
	for mark, label := range map[string]string{markUTF8: "utf-8", markLE: "utf-16le", markBE: "utf-16be"} {
		if strings.HasPrefix(head, mark) && head != markLE+"\x00\x00" { // that is UTF-32, which the standard does not know
			e, _ := Labelled(label)
			if e.table != nil {
				e.mark = mark
			}
			return e, true
		}
	}
	return Encoding{}, false
}
