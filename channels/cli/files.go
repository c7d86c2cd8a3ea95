package cli

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/channels"
	"hob/daemon/event"
)

// Limits of what comes with one message.
const (
	MaxFiles     = 10
	MaxFile      = 8 << 20  // bytes of one
	MaxFileBytes = 20 << 20 // bytes of all
)

// File is something that comes with a message.
type File struct {
	Name string // as its sender calls it
	MIME string // what its sender takes it for; "" when he does not say
	Data []byte
}

// Inbox commits inputs.
type Inbox interface {
	// Accept commits the inputs; a pair (source, id) that is there already is passed over.
	Accept(ctx context.Context, ins []event.In, c *channels.Cursor) ([]event.Receipt, error)
}

// Files commits an input together with the files that came with it.
type Files interface {
	// AcceptFiles stores contents, one for each part of in that is no text and in their order, and commits the input. A pair
	// (source, id) that is there already is passed over. After an error nothing is stored.
	AcceptFiles(ctx context.Context, in event.In, contents [][]byte) (event.Receipt, error)
}

// checkFiles holds what comes with a message against the limits. Its errors are of the kind *event.Fault.
func checkFiles(files []File) error {
	if len(files) > MaxFiles {
		return event.NewFault(event.TooLarge, "send the rest with another message", "a message takes at most %d attachments, this one has %d", MaxFiles, len(files))
	}
	all := 0
	for i, f := range files {
		what := fmt.Sprintf("attachment %d (%s)", i+1, safeName(f.Name))
		if len(f.Data) == 0 {
			return event.NewFault(event.Invalid, "attach a file that holds something", "%s is empty", what)
		}
		if len(f.Data) > MaxFile {
			return event.NewFault(event.TooLarge, "put it into the workspace and name the file", "%s is over %d MB", what, MaxFile>>20)
		}
		all += len(f.Data)
	}
	if all > MaxFileBytes {
		return event.NewFault(event.TooLarge, "send some of them with another message", "the attachments of a message are over %d MB together", MaxFileBytes>>20)
	}
	return nil
}

// partsOf describes files as parts of a message, each under a name of its own.
func partsOf(files []File) []event.Part {
	parts := make([]event.Part, 0, len(files))
	taken := map[string]bool{}
	for _, f := range files {
		p := event.Part{Kind: event.File, Name: ownName(safeName(f.Name), taken), MIME: kindOf(f), Size: int64(len(f.Data))}
		if isImage(p.MIME) {
			p.Kind = event.Image
		}
		parts = append(parts, p)
	}
	return parts
}

// maxName is the longest name, in bytes, and so in characters too. File systems take 255 bytes.
const maxName = 200

// noName stands for a name of which nothing can be used.
const noName = "file"

// safeName is a sender's name for a file as the name of one in a folder of ours: no path, nothing unseen, nothing that leads elsewhere.
func safeName(name string) string {
	name = strings.ToValidUTF8(name, "")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || strings.ContainsRune(`:*?"<>|`, r) { // the latter cannot stand in a name everywhere
			return -1
		}
		return r
	}, name)
	name = strings.Trim(strings.TrimSpace(name), ". ") // neither hidden nor a folder
	if name == "" {
		return noName
	}
	return withTail(name, "")
}

// withTail puts something between a name and its extension; the name is cut so that the whole is not too long.
func withTail(name, tail string) string {
	ext := path.Ext(name)
	if len(ext) > maxName/2 {
		ext = ""
	}
	base := strings.TrimSuffix(name, ext)
	for cut := maxName - len(tail) - len(ext); len(base) > cut; {
		_, size := utf8.DecodeLastRuneInString(base)
		base = base[:len(base)-size]
	}
	return base + tail + ext
}

// ownName makes a name differ from those that are taken, also where a file system does not tell A from a.
func ownName(name string, taken map[string]bool) string {
	own := name
	for n := 2; taken[strings.ToLower(own)]; n++ {
		own = withTail(name, "-"+strconv.Itoa(n))
	}
	taken[strings.ToLower(own)] = true
	return own
}

// The types that say nothing but "bytes" and "text".
const (
	anyBytes = "application/octet-stream"
	anyText  = "text/plain"
)

// kindOf is the MIME type of a file. The bytes decide; the extension tells kinds of text apart, because that is all that does; the
// sender is believed only where the bytes say nothing, and never that something is a text or an image when the bytes are neither.
func kindOf(f File) string {
	seen, _, _ := strings.Cut(http.DetectContentType(f.Data), "; charset=utf-8")
	switch {
	case seen == anyText:
		return textKind(f.Name)
	case seen != anyBytes:
		return seen
	}
	claim, _, err := mime.ParseMediaType(f.MIME)
	if err != nil || !strings.Contains(claim, "/") || isImage(claim) || strings.HasPrefix(claim, "text/") {
		return anyBytes
	}
	return claim
}

// textKind is the MIME type of a text by the extension of its name (IANA's names, where there are any).
func textKind(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return "text/markdown" // RFC 7763
	case ".csv":
		return "text/csv" // RFC 7111
	case ".tsv":
		return "text/tab-separated-values"
	case ".html", ".htm":
		return "text/html"
	case ".xml":
		return "text/xml"
	case ".css":
		return "text/css"
	case ".js", ".mjs":
		return "text/javascript" // RFC 9239
	case ".ics":
		return "text/calendar" // RFC 5545
	case ".vcf":
		return "text/vcard" // RFC 6350
	default:
		return anyText
	}
}

// isImage names the kinds of images that models see. They are known by their first bytes.
func isImage(kind string) bool {
	return kind == "image/png" || kind == "image/jpeg" || kind == "image/gif" || kind == "image/webp"
}
