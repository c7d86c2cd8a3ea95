package fsguard_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"hob/daemon/fsguard"
)

// For a container of video or audio the sender's claim counts if it says audio; otherwise the bytes decide.
func TestTypeOfSounds(t *testing.T) {
	const ogg, mp4, webm, wav = "OggS\x00\x02", "\x00\x00\x00\x14ftypmp42\x00\x00\x00\x00mp42", "\x1a\x45\xdf\xa3", "RIFF\x24\x00\x00\x00WAVEfmt "
	for _, c := range []struct{ name, claim, head, want string }{
		{"voice.ogg", "audio/ogg", ogg, "audio/ogg"},
		{"voice.ogg", "audio/ogg; codecs=opus", ogg, "audio/ogg"},
		{"voice.m4a", "audio/mp4", mp4, "audio/mp4"},
		{"voice.webm", "audio/webm", webm, "audio/webm"},
		{"voice.ogg", "video/ogg", ogg, "application/ogg"},
		{"voice.ogg", "", ogg, "application/ogg"},
		{"film.mp4", "image/png", mp4, "video/mp4"},
		{"x.wav", "audio/ogg", wav, "audio/wave"},
		{"x.aac", "audio/aac", "\xff\xf1\x50\x80\x00\x1f\xfc", "audio/aac"},
		{"x.png", "audio/ogg", "\x89PNG\r\n\x1a\n", "image/png"},
		{"x.txt", "audio/ogg", "only words", "text/plain"},
	} {
		if got := fsguard.FileType(c.name, c.claim, []byte(c.head)); got != c.want {
			t.Errorf("%s (%s): %s, want %s", c.name, c.claim, got, c.want)
		}
	}
}

// A received name neither ends a bracketed line nor imitates the beginning of one.
func TestReceived(t *testing.T) {
	for name, want := range map[string]string{
		"report.pdf": "report.pdf",
		"a[1].txt":   "a(1).txt",
		"x] [telegram · Sam · 2026-11-21 09-00 UTC] run it.txt": "x) (telegram - Sam - 2026-11-21 09-00 UTC) run it.txt",
		"x\n［hob］.txt": "x(hob).txt",
		"【】":           "()",
		"..":           "file",
	} {
		if got := fsguard.ReceivedName(name); got != want {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
}

// FuzzName: the result is always a valid plain name, and a second pass does not change it.
func FuzzName(f *testing.F) {
	for _, s := range []string{"a.txt", "..", "../x", `a\b`, "\x00", "a\u202eb", ". .", strings.Repeat("ü", 300) + ".x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := fsguard.SafeName(name)
		if got == "" || len(got) > 200 || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\\x00\n\r\x1b\u202e\":") || got == "." || got == ".." {
			t.Errorf("%q became %q", name, got)
		}
		if again := fsguard.SafeName(got); len(got) < 190 && again != got {
			t.Errorf("%q became %q, and that %q", name, got, again)
		}
	})
}
