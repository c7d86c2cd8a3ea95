package openai

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// show renders a part of a message for this model. An error means that ctx has ended.
func (s *server) show(ctx context.Context, p event.Part, left *fileBudget) (string, *media, error) {
	// Only the servers in this list accept a PDF file as a part of a message.
	v := viewer{
		Files: s.cfg.Files, Blind: s.blind.Load(),
		Documents: slices.Contains([]string{openAI, openRouter, codex}, s.cfg.Provider),
	}
	text, shown, err := v.Part(ctx, p, left)
	if err != nil {
		err = s.fault(ctx, ctx, llm.BadRequest, err)
	}
	return text, shown, err
}

// fragment is either a text or the image or document that follows it.
type fragment struct {
	text  string
	media *media
}

// writer builds the content of a message from its parts: texts are joined, and each image or document starts a new fragment.
type writer struct {
	text   strings.Builder // text since the last image or document
	pieces []fragment
}

// add renders a part and reports whether it shows an image or a document.
func (w *writer) add(ctx context.Context, m *server, p event.Part, left *fileBudget) (bool, error) {
	text, shown, err := m.show(ctx, p, left)
	if err != nil {
		return false, err
	}
	w.say(text)
	if shown == nil {
		return false, nil
	}
	// The text before it ends with the line that names the file.
	w.pieces = append(w.pieces, fragment{text: w.text.String()}, fragment{media: shown})
	w.text.Reset()
	return true, nil
}

// say adds a text on a new line.
func (w *writer) say(text string) {
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	w.text.WriteString(text)
}

// content returns the fragments, with the envelope's head before the first text. Without images and documents there is exactly one.
func (w *writer) content(e *llm.Envelope) []fragment {
	if len(w.pieces) == 0 || w.text.Len() > 0 {
		w.pieces = append(w.pieces, fragment{text: w.text.String()})
	}
	if e != nil {
		w.pieces[0].text = e.Draw() + " " + w.pieces[0].text
	}
	return w.pieces
}

// asNoImages turns the refusal of a request with images or files into llm.NoImages, if the refusal is about them. Later requests describe
// them in words instead. Other errors pass unchanged.
func (s *server) asNoImages(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || !refusesImages(e, s.cfg.Model) {
		return err
	}
	s.blind.Store(true)
	return &llm.Error{Fault: llm.NoImages, Status: e.Status, Text: e.Text, Err: e.Err}
}

// refusesImages reports whether a refusal is about images or files. The protocol has neither a status nor a code for this. Servers answer
// with 400, 404, 415 or 422, some with 500 or an error event in the stream; for these two the text must also say that images are not
// supported. The model's own name is ignored, since names such as llava-vision prove nothing.
func refusesImages(e *llm.Error, model string) bool {
	words, model := strings.ToLower(e.Text), strings.ToLower(model)
	// Without the name, an error such as "model llava-vision not found" says nothing about images.
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

// imageSigns are phrases of real refusals, in lower case.
func imageSigns() []string {
	return []string{
		"image", "vision", "multimodal", "multi-modal", "modalit", "content must be a string", // the last one is Groq's
		"pdf", "file_data", "file input", "file content", "type 'file'", `type "file"`, "type `file`", "`file`", `\"file\"`,
	}
}

// has reports whether a text contains one of the signs.
func has(words string, signs []string) bool {
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(words, sign) })
}
