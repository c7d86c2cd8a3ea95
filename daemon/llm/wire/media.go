package wire

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

// Limits for files in a request, in bytes.
const (
	MaxFiles FileBudget = 10 << 20 // all images and files of a transcript; leaves room for the text below the limit of a request
	maxFile             = 8 << 20  // one image or file
)

// Media is an image or a document. It follows the line of text that names it.
type Media struct {
	Image bool   // otherwise a document
	Type  string // its media type
	Name  string // of a document; never empty
	Data  []byte
}

// Base64 returns the content in base64.
func (m Media) Base64() string { return base64.StdEncoding.EncodeToString(m.Data) }

// URL returns the content as a data URL (RFC 2397).
func (m Media) URL() string { return "data:" + m.Type + ";base64," + m.Base64() }

// viewer decides which files a model can see.
type viewer struct {
	Files     llm.Files // opens artifacts; nil: files are only named
	Documents bool      // the server accepts PDF files
	Blind     bool      // the model has refused images and files before
	MostImage int       // bytes of one image; 0: as any file
	MostText  int       // bytes of one text file; the rest is cut
}

// form is the way in which a file is shown. The content decides before the declared type: a server that receives another format under an
// image's type refuses the whole request.
type form int

const (
	unreadable form = iota // no model can read it
	picture
	document
	writing
)

// formOf returns the form of a file and the media type to declare.
func formOf(declared string, data []byte) (form, string) {
	seen := mediaType(http.DetectContentType(data))
	switch seen {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return picture, seen
	case "application/pdf":
		return document, seen
	}
	// For the rest the declared type is more exact, because most text formats look alike.
	if named := mediaType(declared); named != "" && named != "application/octet-stream" {
		seen = named
	}
	// A declared text must also be text: a zero byte or invalid UTF-8 shows a binary file.
	if textual(seen) && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return writing, seen
	}
	return unreadable, seen
}

// mediaType returns a media type in lower case and without parameters, or "" for an invalid one.
func mediaType(s string) string {
	t, _, err := mime.ParseMediaType(s)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return t
}

// textual reports whether a media type is text.
func textual(t string) bool {
	ends := func(suffix string) bool { return strings.HasSuffix(t, suffix) }
	return strings.HasPrefix(t, "text/") || slices.ContainsFunc([]string{"+json", "+xml", "+yaml"}, ends) || slices.Contains([]string{
		"application/json", "application/jsonl", "application/x-ndjson", "application/xml", "application/csv",
		"application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/graphql",
		"application/javascript", "application/x-javascript", "application/typescript", "application/x-sh",
	}, t)
}

// FileBudget is the number of bytes of files that a transcript may still show. Earlier messages spend it first, so a new message never
// changes how an earlier one is rendered, and the provider's cache stays valid.
type FileBudget int

// Part renders a file: a text, and the image or document that follows it when the model can see it. The text always names the file, so that
// the model can refer to its artifact. An error means that ctx has ended.
func (v viewer) Part(ctx context.Context, p event.Part, left *FileBudget) (string, *Media, error) {
	name := FileLine(p)
	// Voice messages are transcribed elsewhere; here the model gets the file's name only.
	if v.Files == nil || p.Artifact == "" || p.Voice {
		return name, nil, nil
	}
	// Only the end of ctx is an error. A file that cannot be opened is described instead, and the request goes on.
	data, err := v.Files.Bytes(ctx, p.Artifact)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", nil, err
	case err != nil:
		return because(name, reasonFor(err)), nil, nil
	}
	kind, mediaType := formOf(p.MIME, data)
	// A file that does not fit is named with the reason, so that the model can tell the user.
	if why := v.against(kind, len(data), left); why != "" {
		return because(name, why), nil, nil
	}
	switch kind {
	case picture:
		return name, &Media{Image: true, Type: mediaType, Data: data}, nil
	case document:
		return name, &Media{Type: mediaType, Name: cmp.Or(p.Name, "document.pdf"), Data: data}, nil
	default:
		return name + "\n" + v.written(data, p.Name), nil, nil
	}
}

// against returns the reason that a file is not shown. For a file that is shown it returns "" and takes its size off left.
func (v viewer) against(kind form, size int, left *FileBudget) string {
	// A text costs only the part that is sent.
	cost := size
	if kind == writing {
		cost = min(cost, v.MostText)
	}
	switch {
	case size > maxFile:
		return fmt.Sprintf("it has more than %d MB", maxFile>>20)
	case kind == picture && v.MostImage > 0 && size > v.MostImage:
		return fmt.Sprintf("this server takes images of at most %.1f MB", float64(v.MostImage)/(1<<20))
	case kind == unreadable:
		return "it is neither text nor an image of a kind that models read"
	case kind == document && !v.Documents:
		return "this server takes no PDF files"
	case kind != writing && v.Blind:
		return "the model refuses to look at images and files"
	case cost > int(*left):
		return fmt.Sprintf("with it the conversation would have more than %d MB of files", MaxFiles>>20)
	}
	*left -= FileBudget(cost)
	return ""
}

// FileLine returns the line of text that names a file.
func FileLine(p event.Part) string {
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
	if p.Transcribed {
		line += "; its transcript follows"
	}
	return line + "]"
}

// facts lists the type, length and size of a file, as far as they are known.
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

// written returns a text file's content and a line that marks its end. Of a file that is cut, the line tells where the rest is: a name with
// a folder is a path in the workspace.
func (v viewer) written(data []byte, name string) string {
	whole := len(data)
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	end := "[end of the file]"
	if len(data) > v.MostText {
		cut := v.MostText
		// Cut before a character, never inside one.
		for !utf8.RuneStart(data[cut]) {
			cut--
		}
		data = data[:cut]
		end = fmt.Sprintf("[cut here: %d KB of %d KB are shown]", v.MostText>>10, (whole+1023)>>10)
		if strings.Contains(name, "/") {
			end = strings.TrimSuffix(end, "]") + "; read the rest in " + name + "]"
		}
	}
	text := llm.Quoted(string(data))
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + end
}

// because adds to a file's line the reason that it is not shown.
func because(name, why string) string {
	return strings.TrimSuffix(name, "]") + "; not shown: " + why + "]"
}

// reasonFor returns the reason that a file could not be opened. It repeats only texts written for people, so that the same file gives the
// same bytes in every request.
func reasonFor(err error) string {
	if f, ok := event.AsFault(err); ok {
		return f.Text
	}
	return "it cannot be opened"
}
