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

// show draws a part of a message for this model. An error means that ctx has ended.
func (s *server) show(ctx context.Context, p event.Part, left *fileBudget) (string, *media, error) {
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

// fragment is a text, or an image or a document behind it.
type fragment struct {
	text  string
	media *media
}

// writer makes the content of a message out of its parts.
type writer struct {
	text   strings.Builder // since the last image or file
	pieces []fragment
}

// add draws a part, and says whether it shows an image or a file.
func (w *writer) add(ctx context.Context, m *server, p event.Part, left *fileBudget) (bool, error) {
	text, shown, err := m.show(ctx, p, left)
	if err != nil {
		return false, err
	}
	w.say(text)
	if shown == nil {
		return false, nil
	}
	w.pieces = append(w.pieces, fragment{text: w.text.String()}, fragment{media: shown})
	w.text.Reset()
	return true, nil
}

// say adds a text on a line of its own.
func (w *writer) say(text string) {
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	w.text.WriteString(text)
}

// content is one piece of text, behind the envelope that stands around it, unless there is an image or a file.
func (w *writer) content(e *llm.Envelope) []fragment {
	if len(w.pieces) == 0 || w.text.Len() > 0 {
		w.pieces = append(w.pieces, fragment{text: w.text.String()})
	}
	if e != nil {
		w.pieces[0].text = e.Draw() + " " + w.pieces[0].text
	}
	return w.pieces
}

// unsighted turns the refusal of a request that held images or files into llm.NoImages, when they are what it is about. From
// then on they are named in words. Other errors stay what they are.
func (s *server) unsighted(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || !refusesImages(e, s.cfg.Model) {
		return err
	}
	s.blind.Store(true)
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
