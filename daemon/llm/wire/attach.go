package wire

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// Show renders a part of a message for this model. An error means that ctx has ended.
func (s *Server) Show(ctx context.Context, p event.Part, left *FileBudget) (string, *Media, error) {
	if p.Kind == event.Text {
		return p.Text, nil, nil
	}
	v := viewer{Files: s.Config.Files, Blind: s.blind.Load(), Documents: s.Documents, MostImage: s.MostImage, MostText: s.Info().FileText()}
	text, shown, err := v.Part(ctx, p, left)
	if err != nil {
		err = s.fault(ctx, ctx, llm.BadRequest, err)
	}
	return text, shown, err
}

// Fragment is either a text or the image or document that follows it.
type Fragment struct {
	Text  string
	Media *Media
}

// Writer builds the content of a message from its parts: texts are joined, and each image or document starts a new fragment.
type Writer struct {
	text   strings.Builder // text since the last image or document
	pieces []Fragment
}

// Fragments renders the parts of a message, and reports whether they show an image or a document.
func (s *Server) Fragments(ctx context.Context, parts []event.Part, e *llm.Envelope, left *FileBudget) (list []Fragment, shows bool, err error) {
	w := Writer{}
	for _, p := range parts {
		shown, err := w.add(ctx, s, p, left)
		if err != nil {
			return nil, false, err
		}
		shows = shows || shown
	}
	return w.Content(e), shows, nil
}

// add renders a part and reports whether it shows an image or a document.
func (w *Writer) add(ctx context.Context, m *Server, p event.Part, left *FileBudget) (bool, error) {
	text, shown, err := m.Show(ctx, p, left)
	if err != nil {
		return false, err
	}
	w.Say(text)
	if shown == nil {
		return false, nil
	}
	// The text before it ends with the line that names the file.
	w.pieces = append(w.pieces, Fragment{Text: w.text.String()}, Fragment{Media: shown})
	w.text.Reset()
	return true, nil
}

// Say adds a text on a new line.
func (w *Writer) Say(text string) {
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	w.text.WriteString(text)
}

// Content returns the fragments, with the envelope's head before the first text. Without images and documents there is exactly one.
func (w *Writer) Content(e *llm.Envelope) []Fragment {
	if len(w.pieces) == 0 || w.text.Len() > 0 {
		w.pieces = append(w.pieces, Fragment{Text: w.text.String()})
	}
	if e != nil {
		w.pieces[0].Text = e.Draw() + " " + w.pieces[0].Text
	}
	return w.pieces
}

// AsNoImages turns the refusal of a request with images or files into llm.NoImages, if the refusal is about them. Later requests describe
// them in words instead. Other errors pass unchanged.
func (s *Server) AsNoImages(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || !refusesImages(e, s.Config.Model) {
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

// TextOf joins the parts of a message after its envelope's head. Each file becomes one line that names it.
func TextOf(msg llm.Message) string {
	text := ""
	for _, p := range msg.Parts {
		piece := p.Text
		if p.Kind != event.Text {
			piece = FileLine(p)
		}
		if text != "" {
			text += "\n"
		}
		text += piece
	}
	if msg.Envelope != nil {
		return msg.Envelope.Draw() + " " + text
	}
	return text
}
