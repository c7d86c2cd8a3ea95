package openai

import (
	"bytes"
	"context"
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

// Limits of what is shown of files.
const (
	maxShown    = 8 << 20   // bytes of one message's images and files
	maxFileText = 200 << 10 // bytes of one text file; the rest is cut
)

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

// budget is how many bytes a message may still show.
type budget int

// show draws a part: the text that stands for it, and what is put behind the text when the model can look at the thing itself.
// The text always names a file, so that its artifact can be spoken of. An error means that ctx has ended.
func (m chat) show(ctx context.Context, p event.Part, left *budget) (string, *wirePart, error) {
	if p.Kind == event.Text {
		return p.Text, nil, nil
	}
	name := attachment(p)
	if m.cfg.Files == nil || p.Artifact == "" {
		return name, nil, nil
	}
	data, err := m.cfg.Files.Bytes(ctx, p.Artifact)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", nil, m.fault(ctx, ctx, llm.BadRequest, err)
	case err != nil:
		return because(name, reasonFor(err)), nil, nil
	}
	text, media, why := m.draw(p, name, data, left)
	if why != "" {
		return because(name, why), nil, nil
	}
	return text, media, nil
}

// draw shows a file's content behind its name, or says why it does not.
func (m chat) draw(p event.Part, name string, data []byte, left *budget) (text string, media *wirePart, why string) {
	kind, mediaType := formOf(p.MIME, data)
	cost := len(data)
	if kind == writing {
		cost = min(cost, maxFileText)
	}
	switch {
	case len(data) > maxShown:
		return "", nil, fmt.Sprintf("it has more than %d MB", maxShown>>20)
	case kind == unreadable:
		return "", nil, "it is neither text nor an image of a kind that models read"
	case kind == document && m.cfg.Provider != openAI && m.cfg.Provider != openRouter:
		return "", nil, "this server takes no PDF files"
	case kind != writing && m.blind.Load():
		return "", nil, "the model refuses to look at images and files"
	case cost > int(*left):
		return "", nil, fmt.Sprintf("with it the message would have more than %d MB of files", maxShown>>20)
	}
	*left -= budget(cost)
	switch kind {
	case picture:
		return name, &wirePart{Type: "image_url", ImageURL: &wireURL{URL: dataURL(mediaType, data)}}, ""
	case document:
		file := &wireFile{Filename: p.Name, FileData: dataURL(mediaType, data)}
		if file.Filename == "" {
			file.Filename = "document.pdf" // the protocol wants one
		}
		return name, &wirePart{Type: "file", File: file}, ""
	default:
		return name + "\n" + written(data), nil, ""
	}
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
	text := string(data)
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

// writer makes the content of a message out of its parts.
type writer struct {
	text  strings.Builder // since the last image or file
	parts []wirePart
}

// say adds a text on a line of its own.
func (w *writer) say(text string) {
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	w.text.WriteString(text)
}

// put adds an image or a file behind the text that names it.
func (w *writer) put(media wirePart) {
	w.parts = append(w.parts, wirePart{Type: "text", Text: w.text.String()}, media)
	w.text.Reset()
}

// content is a plain text, behind the envelope that stands around it, unless there is an image or a file.
func (w *writer) content(e *llm.Envelope) any {
	head := ""
	if e != nil {
		head = e.Draw() + " "
	}
	if len(w.parts) == 0 {
		return head + w.text.String()
	}
	w.parts[0].Text = head + w.parts[0].Text
	if w.text.Len() > 0 {
		w.parts = append(w.parts, wirePart{Type: "text", Text: w.text.String()})
	}
	return w.parts
}

// unsighted turns the refusal of a request that held images or files into llm.NoImages, when they are what it is about. From
// then on they are named in words. Other errors stay what they are.
func (m *server) unsighted(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || !refusesImages(e, m.cfg.Model) {
		return err
	}
	m.blind.Store(true)
	return &llm.Error{Fault: llm.NoImages, Status: e.Status, Text: e.Text, Err: e.Err}
}

// refusesImages reports whether a refusal is about images or files. The protocol has neither a status nor a code for it: servers
// say it with 400, 404, 415 or 422, some with 500 or with an error event in the stream, where the words must also say that
// such a thing is not supported. A model's name such as llava-vision says nothing.
func refusesImages(e *llm.Error, model string) bool {
	words, model := strings.ToLower(e.Text), strings.ToLower(model)
	if has(model, imageSigns()) {
		words = strings.ReplaceAll(words, model, "")
	}
	switch {
	case e.Fault == llm.BadRequest, e.Fault == llm.NotFound && (e.Status == 0 || e.Status >= http.StatusBadRequest):
		return has(words, imageSigns())
	case e.Fault == llm.Overloaded, e.Fault == llm.Broken:
		return has(words, imageSigns()) && has(words, []string{"support", "mmproj", "not allowed"})
	default:
		return false
	}
}

func imageSigns() []string {
	return []string{
		"image", "vision", "multimodal", "multi-modal", "modalit", "content must be a string", // Groq's word for it
		"pdf", "file_data", "file input", "file content", "type 'file'", `type "file"`, "type `file`", "`file`", `\"file\"`,
	}
}

func has(words string, signs []string) bool {
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(words, sign) })
}
