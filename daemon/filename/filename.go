// Package filename makes safe names for files that are received or sent, and detects their types. It is pure: it opens no file.
package filename

import (
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the longest name, in bytes, and so in characters too. File systems take 255 bytes.
const maxName = 200

// noName stands for a name of which nothing can be used.
const noName = "file"

// Name is a sender's name for a file as the name of one in a folder of ours: no path, nothing unseen, nothing that leads elsewhere. It is
// never empty, and at most 200 bytes long.
func Name(name string) string {
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

// Received is Name for a file that somebody has sent: there is nothing in it that ends the line in brackets by which a model is told of a file, or
// begins another one.
func Received(name string) string {
	return strings.NewReplacer(
		"[", "(", "]", ")", "［", "(", "］", ")", "【", "(", "】", ")", "〔", "(", "〕", ")", "〖", "(", "〗", ")", "⟦", "(", "⟧", ")", "⁅", "(", "⁆", ")", "❲", "(", "❳", ")", "〚", "(", "〛", ")", "·", "-",
	).Replace(Name(name))
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

// Own makes a name differ from those that are taken, also where a file system does not tell A from a, and takes it.
func Own(name string, taken map[string]bool) string {
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

// Type is the MIME type of a file, of which the first 512 bytes are enough. The bytes decide; the extension tells kinds of text apart,
// because that is all that does; the sender is believed only where the bytes say nothing, and never that something is a text or an image
// when the bytes are neither.
func Type(name, claim string, head []byte) string {
	seen, _, _ := strings.Cut(http.DetectContentType(head), "; charset=utf-8")
	claim, _, err := mime.ParseMediaType(claim)
	sound := err == nil && strings.HasPrefix(claim, "audio/")
	switch {
	case seen == anyText:
		return textKind(name)
	case sound && (seen == "application/ogg" || seen == "video/mp4" || seen == "video/webm"): // they hold films and sounds alike
		return claim
	case seen != anyBytes:
		return seen
	}
	if err != nil || !strings.Contains(claim, "/") || Picture(claim) || strings.HasPrefix(claim, "text/") {
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

// Picture names the kinds of images that models see. They are known by their first bytes.
func Picture(kind string) bool {
	return kind == "image/png" || kind == "image/jpeg" || kind == "image/gif" || kind == "image/webp"
}
