// Package mail reads mails as people read them: their text, without the history of an answer, and their files. Anybody can send a mail, so sizes,
// depths and charsets are bounded. The package fetches nothing and sends nothing.
package mail

import (
	"bytes"
	"cmp"
	"io"
	"mime"
	"path"
	"strings"
	"unicode"

	"github.com/emersion/go-message"

	"hob/daemon/text"
)

// Limits for reading a mail: anybody can send one.
const (
	maxDepth = 10        // nesting of parts
	maxParts = 200       // parts in total
	MaxText  = 1 << 20   // bytes of text
	MaxHead  = 256 << 10 // bytes of a part's header
)

// maxName is how many characters of a file's name are kept.
const maxName = 200

// Body is the text and the files of a mail.
type Body struct {
	Text  string
	Files []File
}

// File is a file in a mail.
type File struct {
	Name, MIME string
	Data       []byte
	Err        error // it could not be decoded up to its end
}

// Read parses a mail. A mail that is malformed or cut off is read as far as possible.
func Read(raw []byte) Body {
	fields, _ := Fields(raw)
	e, err := message.ReadWithOptions(bytes.NewReader(fields), &message.ReadOptions{MaxHeaderBytes: MaxHead})
	if e == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return Body{}
	}
	r := &bodyReader{left: maxParts}
	var texts []string
	for _, p := range r.part(e, 0) {
		if plain := strings.TrimSpace(p.plain()); plain != "" {
			texts = append(texts, plain)
		}
	}
	return Body{Text: strings.Join(texts, "\n\n"), Files: r.files}
}

// bodyReader collects the parts of one mail.
type bodyReader struct {
	left  int // parts that may still be read
	files []File
}

// textPart is a text part.
type textPart struct {
	raw  string
	html bool
}

// plain returns the part as plain text with "\n" line ends.
func (w textPart) plain() string {
	if w.html {
		return HTMLText(w.raw)
	}
	return strings.ReplaceAll(w.raw, "\r\n", "\n")
}

// part reads a part with everything in it. Of alternatives, the plain text is used if there is one.
func (r *bodyReader) part(e *message.Entity, depth int) []textPart {
	if r.left--; r.left < 0 || depth > maxDepth {
		return nil
	}
	kind, params := kindOf(e.Header)
	if !strings.HasPrefix(kind, "multipart/") {
		return r.leaf(e, kind, params)
	}
	if _, _, err := e.Header.ContentType(); err != nil {
		e.Header.SetContentType(kind, params)
		e, _ = message.New(e.Header, e.Body) // only a text can have an unknown charset
	}
	parts := e.MultipartReader()
	if parts == nil { // not even loosely read it is the type of parts
		return r.leaf(e, "", params)
	}
	var list []textPart
	for r.left > 0 {
		p, err := parts.NextPart()
		if p == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			break
		}
		list = append(list, r.part(p, depth+1)...)
	}
	if kind != "multipart/alternative" {
		return list
	}
	// HTML is used only if there is no plain text, because the plain part was meant for programs like hob.
	var plain []textPart
	for _, w := range list {
		if !w.html && strings.TrimSpace(w.raw) != "" {
			plain = append(plain, w)
		}
	}
	if len(plain) > 0 {
		return plain
	}
	return list
}

// leaf reads a part without parts: a text or a file.
func (r *bodyReader) leaf(e *message.Entity, kind string, params map[string]string) []textPart {
	// Text with a file name, or marked as attachment, is a file.
	disposition, how := dispositionOf(e.Header)
	name := filename(cmp.Or(how["filename"], params["name"]))
	readable := kind == "" || kind == "text/plain" || kind == "text/html"
	switch {
	case readable && name == "" && disposition != "attachment":
		raw, _ := io.ReadAll(io.LimitReader(e.Body, MaxText)) // a malformed text ends at the fault
		part := textPart{raw: text.Declared(params["charset"], kind == "text/html", raw), html: kind == "text/html"}
		if !part.html && strings.EqualFold(params["format"], "flowed") {
			part.raw = flowed(part.raw, strings.EqualFold(params["delsp"], "yes"))
		}
		return []textPart{part}
	case kind == "application/pgp-signature" || kind == "application/pkcs7-signature" || kind == "application/x-pkcs7-signature":
		return nil // useful only to programs that check signatures
	}
	data, err := io.ReadAll(e.Body)
	if len(data) == 0 {
		return nil
	}
	kind = cmp.Or(kind, "application/octet-stream")
	if name == "" {
		name = "attachment" + ending(kind)
	}
	r.files = append(r.files, File{name, kind, data, err})
	return nil
}

// filename returns a file's name without a path, "" if there is none.
func filename(name string) string {
	name = Line(strings.ReplaceAll(Decoded(name), `\`, "/"), maxName)
	if name = path.Base(name); name == "." || name == ".." || name == "/" {
		return ""
	}
	return name
}

// ending returns the usual file name extension of a content type.
func ending(kind string) string {
	switch kind {
	case "message/rfc822":
		return ".eml"
	case "text/calendar":
		return ".ics"
	case "image/jpeg":
		return ".jpg"
	case "text/plain":
		return ".txt"
	}
	if list, err := mime.ExtensionsByType(kind); err == nil && len(list) > 0 {
		return list[0]
	}
	return ""
}

// Line returns a text on one line, without Invisible characters, cut to most characters.
func Line(words string, most int) string {
	words = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(words, "\uFFFD"), func(r rune) bool { return unicode.IsSpace(r) || Invisible(r) }), " ")
	if runes := []rune(words); len(runes) > most {
		words = strings.TrimSpace(string(runes[:most-1])) + "…"
	}
	return words
}

// Invisible reports control characters, and characters that reverse or hide text.
func Invisible(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200B || r == 0xFEFF
}
