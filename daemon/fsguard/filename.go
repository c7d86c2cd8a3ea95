package fsguard

import (
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the longest name in bytes. File systems allow 255.
const maxName = 200

// noName replaces a name of which nothing is usable.
const noName = "file"

// SafeName turns a sender's file name into a safe name for a file in one of hob's folders: without path, invisible characters, or anything
// that leads elsewhere. It is never empty and at most 200 bytes long.
func SafeName(name string) string {
	name = strings.ToValidUTF8(name, "")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || strings.ContainsRune(`:*?"<>|`, r) { // some systems forbid these in names
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

// ReceivedName is SafeName for a file that somebody sent. It also replaces brackets, because the model is told about a file in a bracketed line,
// which the name must not end or imitate.
func ReceivedName(name string) string {
	return strings.NewReplacer(
		"[", "(", "]", ")", "［", "(", "］", ")", "【", "(", "】", ")", "〔", "(", "〕", ")", "〖", "(", "〗", ")", "⟦", "(", "⟧", ")", "⁅", "(", "⁆", ")", "❲", "(", "❳", ")", "〚", "(", "〛", ")", "·", "-",
	).Replace(SafeName(name))
}

// withTail inserts tail between a name and its extension and shortens the name if the result would be too long.
// It cuts whole characters. A very long extension is treated as a part of the name.
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

// UniqueName makes a name differ from the taken ones, also on file systems that ignore case, and adds it to them.
// The keys of taken are in lower case. The caller passes the same map for all files of a message.
func UniqueName(name string, taken map[string]bool) string {
	own := name
	for n := 2; taken[strings.ToLower(own)]; n++ {
		own = withTail(name, "-"+strconv.Itoa(n))
	}
	taken[strings.ToLower(own)] = true
	return own
}

// The types that say only "bytes" and "text".
const (
	anyBytes = "application/octet-stream"
	anyText  = "text/plain"
)

// FileType returns the MIME type of a file. head needs its first 512 bytes. The bytes decide; the extension distinguishes kinds of text,
// because nothing else does. The sender's claim counts only if the bytes say nothing, and never makes a text or an image of bytes that
// are neither.
// Detection follows the WHATWG's MIME Sniffing Standard, as net/http implements it.
func FileType(name, claim string, head []byte) string {
	seen, _, _ := strings.Cut(http.DetectContentType(head), "; charset=utf-8")
	claim, _, err := mime.ParseMediaType(claim)
	sound := err == nil && strings.HasPrefix(claim, "audio/")
	switch {
	case seen == anyText:
		return textKind(name)
	case sound && (seen == "application/ogg" || seen == "video/mp4" || seen == "video/webm"): // these containers hold video or audio
		return claim
	case seen != anyBytes:
		return seen
	}
	if err != nil || !strings.Contains(claim, "/") || IsPicture(claim) || strings.HasPrefix(claim, "text/") {
		return anyBytes
	}
	return claim
}

// textKind returns the MIME type of a text by the extension of its name (IANA's types where they exist).
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
	}
	return anyText
}

// IsPicture reports whether a type is an image that models accept. These types are detected from the first bytes.
func IsPicture(kind string) bool {
	return kind == "image/png" || kind == "image/jpeg" || kind == "image/gif" || kind == "image/webp"
}
