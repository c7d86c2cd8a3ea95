package fs

import (
	"path/filepath"
	"strings"

	"hob/daemon/text"
	"hob/tools/fs/picture"
)

// sniffLen is how many bytes at the beginning of a file decide its type.
const sniffLen = 8 << 10

// signature identifies a file type by its first bytes, as its specification defines them.
type signature struct {
	at    int
	magic string
	kind  string
}

// signatures lists the known file types. The first match wins.
func signatures() []signature {
	return []signature{
		{0, "\x89PNG\r\n\x1a\n", "a PNG image"},
		{0, "\xff\xd8\xff", "a JPEG image"},
		{0, "GIF8", "a GIF image"},
		{8, "WEBP", "a WebP image"},
		// A magic of plain letters counts only in a file that is not text: a text may begin with the same letters.
		{0, "BM", "a BMP image"},
		{0, "II*\x00", "a TIFF image"},
		{0, "MM\x00*", "a TIFF image"},
		{0, "\x00\x00\x01\x00", "an icon"},
		// ISO base media files (ISO/IEC 14496-12) name their brand after "ftyp". The known brands come before the general case.
		{4, "ftypheic", "a HEIC image"},
		{4, "ftypavif", "an AVIF image"},
		{4, "ftyp", "an MP4 or similar media file"},
		{0, "%PDF-", "a PDF document"},
		{0, "PK\x03\x04", "a zip archive"},
		{0, "PK\x05\x06", "an empty zip archive"},
		{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Microsoft Office document"},
		{0, "\x1f\x8b", "gzip data"},
		{0, "BZh", "bzip2 data"},
		{0, "\xfd7zXZ\x00", "xz data"},
		{0, "\x28\xb5\x2f\xfd", "zstd data"},
		{0, "7z\xbc\xaf\x27\x1c", "a 7z archive"},
		{0, "Rar!\x1a\x07", "a rar archive"},
		// The ustar magic is at offset 257 of the header block (POSIX.1, pax: ustar Interchange Format).
		{257, "ustar", "a tar archive"},
		{0, "\x7fELF", "an ELF program"},
		{0, "\xcf\xfa\xed\xfe", "a Mach-O program"},
		{0, "\xca\xfe\xba\xbe", "a Mach-O program or Java class"},
		{0, "MZ", "a Windows program"},
		{0, "\x00asm", "a WebAssembly module"},
		{0, "SQLite format 3\x00", "an SQLite database"},
		{0, "ID3", "an MP3 file"},
		{0, "OggS", "an Ogg media file"},
		{0, "fLaC", "a FLAC file"},
		// RIFF files have their form type at offset 8, after "RIFF" and the size. WebP above is one of them.
		{8, "WAVE", "a WAV file"},
		{8, "AVI ", "an AVI video"},
		{0, "\x1aE\xdf\xa3", "a Matroska or WebM video"},
		{0, "wOFF", "a web font"},
		{0, "wOF2", "a web font"},
		{0, "OTTO", "a font"},
		{0, "\x00\x01\x00\x00", "a font"},
	}
}

// textual reports whether a magic consists of plain letters. Such a magic only counts if the rest
// of the file is not text.
func textual(magic string) bool {
	return magic != "%PDF-" && !strings.ContainsFunc(magic, func(c rune) bool { return c < 0x20 || c > 0x7e })
}

// formatOf decides how read shows a file. For a file that it cannot show, format is "" and kind
// describes the file. other says that it is text in another encoding than UTF-8.
func formatOf(name string, head []byte, other bool) (format, kind string) {
	kind = binaryKind(name, head, other || text.Legible(head))
	switch {
	// A notebook is JSON, so only its name distinguishes it from other text. An empty one is shown as text.
	case kind == "" && strings.EqualFold(filepath.Ext(name), ".ipynb") && len(head) > 0:
		return formatNotebook, kind
	case kind == "":
		return formatText, kind
	case kind == "a PDF document":
		return formatPDF, kind
	case kind == wordDocument:
		return formatWord, kind
	case picture.Known(head):
		return formatImage, kind
	}
	return "", kind
}

// wordDocument is the kind that leads to the text of a Word document.
const wordDocument = "a Word document"

// binaryKind describes a file that is not text, by its first bytes; "" for text. plain says that it looks like text.
func binaryKind(name string, head []byte, plain bool) string {
	for _, s := range signatures() {
		if len(head) < s.at+len(s.magic) || string(head[s.at:s.at+len(s.magic)]) != s.magic {
			continue
		}
		// A text may start with the letters of a magic, such as "BM".
		if plain && textual(s.magic) {
			continue
		}
		if s.kind == "a zip archive" {
			return zipKind(name)
		}
		return s.kind
	}
	if plain {
		return ""
	}
	return "a binary file"
}

// zipKind distinguishes the document formats that are zip archives, by their names.
func zipKind(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".docx", ".dotx", ".docm":
		return wordDocument
	case ".xlsx", ".xlsm":
		return "an Excel workbook"
	case ".pptx":
		return "a PowerPoint presentation"
	case ".odt", ".ods", ".odp":
		return "an OpenDocument file"
	case ".epub":
		return "an EPUB book"
	case ".jar", ".apk":
		return "a Java or Android archive"
	}
	return "a zip archive"
}
