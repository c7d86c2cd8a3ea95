package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// Limits of what is shown of files, in bytes.
const (
	maxFiles    fileBudget = 10 << 20  // of all images and files of a transcript: with what else is in it, less than a request may have
	maxFile                = 8 << 20   // of one of them
	maxFileText            = 200 << 10 // of one text file; the rest is cut
)

// media is an image or a document that is put behind the text that names it.
type media struct {
	Image bool   // else a document
	Type  string // its media type
	Name  string // of a document, never empty
	Data  []byte
}

// URL is the whole as a data URL (RFC 2397).
func (m media) URL() string {
	return "data:" + m.Type + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
}

// viewer is what a model can look at.
type viewer struct {
	Files     llm.Files // nil: everything is named in words
	Documents bool      // its server takes PDF files
	Blind     bool      // it has refused to look at images and files
}

// What is shown of a file, decided by its bytes first: a server that gets something else under an image's name refuses
// the whole request.
type form int

const (
	unreadable form = iota // by a model
	picture
	document
	writing
)

// formOf decides how a file is shown, and under which media type.
func formOf(declared string, data []byte) (form, string) {
	seen := mediaType(http.DetectContentType(data))
	switch seen {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return picture, seen
	case "application/pdf":
		return document, seen
	}
	if named := mediaType(declared); named != "" && named != "application/octet-stream" {
		seen = named
	}
	if textual(seen) && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return writing, seen
	}
	return unreadable, seen
}

// mediaType is a media type in lower case and without parameters, "" when it is none.
func mediaType(s string) string {
	t, _, err := mime.ParseMediaType(s)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return t
}

// textual reports whether a media type is one of texts.
func textual(t string) bool {
	if strings.HasPrefix(t, "text/") {
		return true
	}
	for _, suffix := range []string{"+json", "+xml", "+yaml"} {
		if strings.HasSuffix(t, suffix) {
			return true
		}
	}
	return slices.Contains([]string{
		"application/json", "application/jsonl", "application/x-ndjson", "application/xml", "application/csv",
		"application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/graphql",
		"application/javascript", "application/x-javascript", "application/typescript", "application/x-sh",
	}, t)
}

// fileBudget is how many bytes of files a transcript may still show. It is spent in the order of the messages: what one of them becomes
// depends on nothing behind it.
type fileBudget int

// Part draws a part: the text that stands for it, and what is put behind the text when the model can look at the thing itself.
// The text always names a file, so that its artifact can be spoken of. An error means that ctx has ended.
func (v viewer) Part(ctx context.Context, p event.Part, left *fileBudget) (string, *media, error) {
	if p.Kind == event.Text {
		return p.Text, nil, nil
	}
	name := fileLine(p)
	if v.Files == nil || p.Artifact == "" || p.Voice {
		return name, nil, nil
	}
	data, err := v.Files.Bytes(ctx, p.Artifact)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", nil, err
	case err != nil:
		return because(name, reasonFor(err)), nil, nil
	}
	kind, mediaType := formOf(p.MIME, data)
	if why := v.against(kind, len(data), left); why != "" {
		return because(name, why), nil, nil
	}
	switch kind {
	case picture:
		return name, &media{Image: true, Type: mediaType, Data: data}, nil
	case document:
		return name, &media{Type: mediaType, Name: cmp.Or(p.Name, "document.pdf"), Data: data}, nil
	default:
		return name + "\n" + written(data), nil, nil
	}
}

// against says why a file is not shown; when it is, its bytes are taken off what is left.
func (v viewer) against(kind form, size int, left *fileBudget) string {
	cost := size
	if kind == writing {
		cost = min(cost, maxFileText)
	}
	switch {
	case size > maxFile:
		return fmt.Sprintf("it has more than %d MB", maxFile>>20)
	case kind == unreadable:
		return "it is neither text nor an image of a kind that models read"
	case kind == document && !v.Documents:
		return "this server takes no PDF files"
	case kind != writing && v.Blind:
		return "the model refuses to look at images and files"
	case cost > int(*left):
		return fmt.Sprintf("with it the conversation would have more than %d MB of files", maxFiles>>20)
	}
	*left -= fileBudget(cost)
	return ""
}

// fileLine is the line that stands for a file.
func fileLine(p event.Part) string {
	line := "[attached " + string(p.Kind)
	if p.Voice {
		line = "[attached voice note"
	}
	if p.Name != "" {
		line += " " + p.Name
	}
	if facts := facts(p); facts != "" {
		line += " (" + facts + ")"
	}
	if p.Artifact != "" {
		line += ", artifact " + p.Artifact
	}
	if p.Heard {
		line += "; what is said in it follows"
	}
	return line + "]"
}

// facts are the type of a file, its length and its size, as far as they are known.
func facts(p event.Part) string {
	var list []string
	if p.MIME != "" {
		list = append(list, p.MIME)
	}
	if p.Seconds > 0 {
		list = append(list, p.Length())
	}
	if p.Size > 0 {
		list = append(list, fmt.Sprintf("%d bytes", p.Size))
	}
	return strings.Join(list, ", ")
}

// written is a text file's content with a line that ends it.
func written(data []byte) string {
	whole := len(data)
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	end := "[end of the file]"
	if len(data) > maxFileText {
		cut := maxFileText
		for !utf8.RuneStart(data[cut]) {
			cut--
		}
		data = data[:cut]
		end = fmt.Sprintf("[cut here: %d KB of %d KB are shown]", maxFileText>>10, (whole+1023)>>10)
	}
	text := llm.Quoted(string(data))
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + end
}

// because adds to a file's name why it is not shown.
func because(name, why string) string {
	return strings.TrimSuffix(name, "]") + "; not shown: " + why + "]"
}

// reasonFor says why a file could not be opened. Only words that were made for people are repeated: the same file must give
// the same bytes in every request.
func reasonFor(err error) string {
	if f, ok := event.AsFault(err); ok {
		return f.Text
	}
	return "it cannot be opened"
}
