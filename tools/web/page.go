package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/daemon/netguard"
	"hob/tools"
	"hob/tools/fs/document"
	"hob/tools/fs/picture"
)

// body returns an answer as text ("" if it is not text) and its media type, which is guessed if the
// server names none.
func body(contentType string, raw []byte) (text, kind string) {
	kind, contentType = kindOf(contentType, raw)
	if !textual(kind) {
		return "", kind
	}
	// A NUL in the decoded text means that the declared type is wrong.
	if text = document.Decode(contentType, raw); strings.ContainsRune(text, 0) {
		return "", kind
	}
	return text, kind
}

// kindOf returns the media type, without and with its parameters.
func kindOf(contentType string, raw []byte) (kind, full string) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind == "application/octet-stream" {
		// "application/octet-stream" says as little as no type at all. The guess follows the WHATWG MIME Sniffing standard.
		contentType = http.DetectContentType(raw)
		kind, _, _ = strings.Cut(contentType, ";")
	}
	return kind, contentType
}

// textual reports whether a media type is text for people (RFC 6838, RFC 6839).
func textual(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") && kind != "image/svg+xml" {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/yaml", "application/x-yaml", "application/toml", "application/x-ndjson",
		"application/jsonl", "application/graphql", "application/sql", "application/x-sh", "application/x-www-form-urlencoded":
		return true
	}
	return false
}

// maxRead limits the bytes of text that are made from one file.
const maxRead = 4 << 20

// read converts an answer into a page, or directly into a result if there is nothing to page
// through.
func (f *fetcher) read(ctx context.Context, answer netguard.Answer) (res tools.Result, p FetchOutput, err error) {
	raw := answer.Body
	kind, contentType := kindOf(answer.Header.Get("Content-Type"), raw)
	p = FetchOutput{URL: answer.Link, Type: kind, Bytes: len(raw)}
	// plain becomes true if the answer can be shown as text; an empty one can.
	plain := len(raw) == 0
	switch {
	case textual(kind):
		p.Text = document.Decode(contentType, raw)
		if plain = !strings.ContainsRune(p.Text, 0); plain && (kind == "text/html" || kind == "application/xhtml+xml") {
			p.Title, p.Text, err = f.markdown(ctx, answer.Link, contentType, raw, p.Text)
		}
	// Servers often send PDF files and pictures with a wrong type, so their first bytes decide.
	case bytes.HasPrefix(raw, []byte("%PDF-")):
		plain = true
		err = f.part(ctx, &p, raw, document.PDF, "")
	case f.Artifacts != nil && picture.Known(raw):
		res, err = f.picture(ctx, p, raw)
		return res, p, err
	}
	if ctx.Err() != nil {
		return res, p, ctx.Err()
	}
	if err != nil {
		return tools.Fail(tools.IO, "", "%s, %s, cannot be read: %v", answer.Link, kind, err), p, nil
	}
	p.Chars = utf8.RuneCountInString(p.Text)
	if !plain {
		res = tools.Result{Data: p, Content: fmt.Sprintf("%s is not text but %s, %s. It is not shown; exec can download it (curl).", p.URL, p.Type, sized(p.Bytes))}
	}
	return res, p, nil
}

// part lets the helper process extract the text of a file.
func (f *fetcher) part(ctx context.Context, p *FetchOutput, raw []byte, kind document.Kind, args ...string) error {
	return document.Read(ctx, f.Helper, bytes.NewReader(raw), func(o document.Opening, text io.Reader) error {
		// One byte over the limit shows that there is more.
		made, err := io.ReadAll(io.LimitReader(text, maxRead+1))
		if len(made) > maxRead {
			made = append(made[:maxRead:maxRead], "\n[cut: there is more]\n"...)
		}
		p.Pages, p.Title, p.Text = o.Pages, o.Title, strings.ToValidUTF8(string(made), "\uFFFD")
		return err
	}, kind, args...)
}

// markdown returns a web page as Markdown. If the helper process cannot convert it, it returns the
// bare text.
func (f *fetcher) markdown(ctx context.Context, link, contentType string, raw []byte, text string) (title, made string, err error) {
	var p FetchOutput
	// The helper process parses the page, because its author controls what the parser gets.
	err = f.part(ctx, &p, raw, document.Page, link, contentType)
	if err != nil && ctx.Err() == nil {
		return "", document.BareText(text), nil
	}
	return p.Title, p.Text, err
}

// picture shows an image as a part of the result that a model can look at.
func (f *fetcher) picture(ctx context.Context, p FetchOutput, raw []byte) (tools.Result, error) {
	fit, err := document.Show(ctx, f.Helper, bytes.NewReader(raw), document.Picture)
	if ctx.Err() != nil {
		return tools.Result{}, ctx.Err()
	}
	if err != nil {
		return tools.Fail(tools.IO, "", "%s, %s, cannot be shown: %v", p.URL, p.Type, err), nil
	}
	// The last element of the address names the artifact; the host is kept as its source.
	name, host := "picture", ""
	if u, err := url.Parse(p.URL); err == nil && path.Base(u.Path) != "/" {
		name, host = path.Base(u.Path), u.Host
	}
	part := event.Part{Kind: event.Image, Name: name, Size: int64(len(fit.Data)), MIME: fit.MIME}
	if part.Artifact, err = f.Artifacts.KeepForeign(ctx, name, "web: "+host, fit.Data); err != nil {
		return tools.Result{}, fmt.Errorf("keep the picture: %w", err)
	}
	p.Artifact = part.Artifact
	content := fmt.Sprintf("%s: %s, %d × %d pixels, %s", p.URL, p.Type, fit.From.Width, fit.From.Height, sized(p.Bytes))
	if fit.Changed() {
		content += fmt.Sprintf("; shown as %s, %d × %d", strings.TrimPrefix(fit.MIME, "image/"), fit.Width, fit.Height)
	}
	return tools.Result{Content: content, Data: p, Parts: []event.Part{part}}, nil
}
