package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/tools"
	"hob/tools/fs/document"
	"hob/tools/fs/picture"
)

// Picture describes how an image was shown.
type Picture struct {
	Width    int    `json:"width" jsonschema:"pixels of the file's picture"`
	Height   int    `json:"height" jsonschema:"pixels of the file's picture"`
	Shown    [2]int `json:"shown" jsonschema:"width and height of what is shown"`
	MIME     string `json:"mime" jsonschema:"media type of what is shown"`
	Artifact string `json:"artifact" jsonschema:"id under which it is kept"`
}

// picture shows an image as a part of the result that a model can look at.
func (r reader) picture(ctx context.Context, call tools.Call, in ReadInput, p fsguard.Place, f *os.File, s pageView) (tools.Result, error) {
	if r.deps.Artifacts == nil {
		return tools.Fail(tools.ConfigError, "", "%s is an image, and there is no place to store the picture", tools.ShownPath(in.Path)), nil
	}
	fit, err := document.Show(ctx, r.deps.Helper, f, document.Picture)
	if errors.Is(err, picture.ErrFormat) || errors.Is(err, picture.ErrLarge) {
		return tools.Fail(tools.Validation, "", "%s cannot be shown: %v", tools.ShownPath(in.Path), err), nil
	}
	if failed, ok := unreadable(in.Path, err); ok {
		return failed, nil
	}
	if err != nil {
		return tools.Result{}, err
	}
	// The transcript holds the id of the picture; its bytes are an artifact.
	part := event.Part{Kind: event.Image, Name: filepath.Base(p.Path), Size: int64(len(fit.Data)), MIME: fit.MIME}
	if part.Artifact, err = r.keep(ctx, call, p, part.Name, fit.Data); err != nil {
		return tools.Result{}, fmt.Errorf("keep the picture: %w", err)
	}
	s.Picture = &Picture{fit.From.Width, fit.From.Height, [2]int{fit.Width, fit.Height}, fit.MIME, part.Artifact}
	content := fmt.Sprintf("%s: %s image, %d × %d pixels, %s", tools.ShownPath(in.Path), strings.ToUpper(fit.From.Format), fit.From.Width, fit.From.Height, sized(s.Size))
	if fit.Changed() {
		content += fmt.Sprintf("; shown as %s, %d × %d", strings.ToUpper(strings.TrimPrefix(fit.MIME, "image/")), fit.Width, fit.Height)
	}
	return tools.Result{Content: content, Data: s.ReadOutput, Parts: []event.Part{part}}, nil
}

// keep stores a picture. It counts as foreign if its file is, or if the turn has read foreign text.
func (r reader) keep(ctx context.Context, call tools.Call, p fsguard.Place, name string, data []byte) (string, error) {
	switch {
	case p.Foreign != "":
		return r.deps.Artifacts.KeepForeign(ctx, name, p.Foreign, data)
	case call.Tainted:
		return r.deps.Artifacts.KeepForeign(ctx, name, "a turn that had read foreign text", data)
	}
	return r.deps.Artifacts.Keep(ctx, name, data)
}

// document shows a document as text. Offset and limit count the lines of that text.
func (r reader) document(ctx context.Context, in ReadInput, f *os.File, s pageView) (res tools.Result, err error) {
	kind, args := document.Notebook, []string(nil)
	switch s.Format {
	case formatPDF:
		kind, args = document.PDF, []string{in.Pages}
	case formatWord:
		kind = document.Word
	}
	// The helper streams the text. from takes the requested lines and ends the reading, so a large document is not converted to its end.
	err = document.Read(ctx, r.deps.Helper, f, func(o document.Opening, text io.Reader) (err error) {
		s.Pages = o.Pages
		s.what = map[document.Kind]string{
			document.PDF: "a PDF of " + count(o.Pages, "page"), document.Word: "the text of a Word document", document.Notebook: "a notebook of " + count(o.Cells, "cell"),
		}[kind]
		res, err = s.from(ctx, in, text, 0)
		return err
	}, kind, args...)
	// A broken notebook is still text, and the model may be about to repair it.
	if kind == document.Notebook && errors.Is(err, document.ErrBroken) {
		return r.asText(ctx, in, f, s, err)
	}
	if failed, ok := unreadable(in.Path, err); ok {
		return failed, nil
	}
	return res, err
}

// asText shows a broken notebook as text, so that it can be repaired.
func (r reader) asText(ctx context.Context, in ReadInput, f *os.File, s pageView, why error) (tools.Result, error) {
	s.Format, s.note = formatText, fmt.Sprintf("not a notebook: %v", why)
	return r.text(ctx, in, f, s)
}

// unreadable returns the refusal of a document that cannot be shown; false for other errors.
func unreadable(path string, err error) (tools.Result, bool) {
	code, hint := tools.Validation, ""
	switch {
	case errors.Is(err, document.ErrPages):
		return tools.Fail(code, "", "pages: %v", err), true
	case errors.Is(err, document.ErrEncrypted):
		hint = "ask for a copy without a password"
	case errors.Is(err, document.ErrTime):
		code, hint = tools.Timeout, "ask for a part of it, or have a command convert it"
	case errors.Is(err, document.ErrHelper):
		code = tools.ConfigError
	case errors.Is(err, document.ErrLarge):
		hint = "have a command make it smaller, or text of it"
	case !errors.Is(err, document.ErrBroken):
		return tools.Result{}, false
	}
	return tools.Fail(code, hint, "%s cannot be read: %v", tools.ShownPath(path), err), true
}
