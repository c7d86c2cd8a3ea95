package cli_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"hob/channels/channelstest"
	"hob/channels/cli"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// cabinet stores received files.
type cabinet struct {
	in       event.In
	contents []string
	err      error
}

func (c *cabinet) AcceptFiles(_ context.Context, in event.In, contents [][]byte) (event.Receipt, error) {
	c.in = in
	for _, b := range contents {
		c.contents = append(c.contents, string(b))
	}
	return event.Receipt{Event: 3, Inbox: 7, New: true}, c.err
}

func post(t *testing.T, c *cabinet, text string, files ...cli.File) (event.Receipt, error) {
	t.Helper()
	in := &channelstest.Inbox{}
	r, err := cli.New(in, c, sys.RealClock(), sys.RandomIDs(), "Sam").Post(t.Context(), text, "work", "id-1", files...)
	if len(in.Rows()) != 0 {
		t.Errorf("a message with files was stored without them: %+v", in.Rows())
	}
	return r, err
}

// The first bytes of files, as far as they identify the format (by its specification).
const (
	png  = "\x89PNG\r\n\x1a\n"
	jpeg = "\xff\xd8\xff\xe0"
	gif  = "GIF89a"
	webp = "RIFF\x10\x00\x00\x00WEBPVP8 "
	pdf  = "%PDF-1.7\n"
	blob = "\x00\x01\x02\x03"
)

func TestFilesAreParts(t *testing.T) {
	c := &cabinet{}
	r, err := post(t, c, "look\n", cli.File{Name: "x.png", Data: []byte(png)}, cli.File{Name: "notes.txt", Data: []byte("milk")})
	if err != nil || r.Inbox != 7 || r.Event != 3 || !r.New {
		t.Fatalf("receipt %+v, %v", r, err)
	}
	want := []event.Part{
		{Kind: event.Text, Text: "look"},
		{Kind: event.Image, Name: "x.png", MIME: "image/png", Size: int64(len(png))},
		{Kind: event.File, Name: "notes.txt", MIME: "text/plain", Size: 4},
	}
	if !reflect.DeepEqual(c.in.Parts, want) || fmt.Sprintf("%q", c.contents) != fmt.Sprintf("%q", []string{png, "milk"}) {
		t.Errorf("parts %+v of %q", c.in.Parts, c.contents)
	}
	if c.in.Session != "work" || c.in.ExtID != "id-1" || c.in.Kind != event.Message || c.in.Trust != event.Owner || !c.in.Typed {
		t.Errorf("row %+v", c.in)
	}
}

func TestFileNeedsNoText(t *testing.T) {
	for _, text := range []string{"", " \n"} {
		c := &cabinet{}
		_, err := post(t, c, text, cli.File{Name: "a", Data: []byte("x")})
		if err != nil || len(c.in.Parts) != 1 || c.in.Parts[0].Kind != event.File {
			t.Errorf("%q: %+v, %v", text, c.in.Parts, err)
		}
	}
}

func TestKindOfAFile(t *testing.T) {
	for _, c := range []struct {
		name, claim, data string
		kind              event.PartKind
		mime              string
	}{
		{"a.png", "", png, event.Image, "image/png"},
		{"a.jpg", "", jpeg, event.Image, "image/jpeg"},
		{"a.gif", "", gif, event.Image, "image/gif"},
		{"a.webp", "", webp, event.Image, "image/webp"},
		{"a.txt", "text/plain", png, event.Image, "image/png"}, // the bytes decide
		{"a.png", "image/png", "no image", event.File, "text/plain"},
		{"a.png", "image/png", blob, event.File, "application/octet-stream"},
		{"a.heic", "image/heic", blob, event.File, "image/heic"}, // no model sees it
		{"a.bmp", "", "BM" + blob, event.File, "image/bmp"},
		{"a.pdf", "image/png", pdf, event.File, "application/pdf"},
		{"a.md", "", "# Title\n", event.File, "text/markdown"},
		{"A.CSV", "", "a,b\n", event.File, "text/csv"},
		{"a.go", "", "package a\n", event.File, "text/plain"},
		{"a.md", "application/pdf", "# Title\n", event.File, "text/markdown"},
		{"a.md", "", pdf, event.File, "application/pdf"}, // a name makes no text
		{"page", "", "<!DOCTYPE html><p>", event.File, "text/html"},
		{"a.txt", "", "\xfe\xff\x00a", event.File, "text/plain; charset=utf-16be"},
		{"a.bin", "", blob, event.File, "application/octet-stream"},
		{"a.bin", "application/x-thing; v=1", blob, event.File, "application/x-thing"},
		{"a.bin", "text/plain", blob, event.File, "application/octet-stream"},
		{"a.bin", "nonsense", blob, event.File, "application/octet-stream"},
		{"a.bin", "a/b\nc: d", blob, event.File, "application/octet-stream"},
	} {
		got := &cabinet{}
		_, err := post(t, got, "", cli.File{Name: c.name, MIME: c.claim, Data: []byte(c.data)})
		if err != nil {
			t.Fatal(err)
		}
		if p := got.in.Parts[0]; p.Kind != c.kind || p.MIME != c.mime {
			t.Errorf("%s (%q) %.8q: %s %s, want %s %s", c.name, c.claim, c.data, p.Kind, p.MIME, c.kind, c.mime)
		}
	}
}

func TestNamesOfFiles(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"a.txt", "a.txt", "A.TXT", "a-2.txt"}, []string{"a.txt", "a-2.txt", "A-3.TXT", "a-2-2.txt"}},
		{[]string{"", ".", "..", " ", "/", "a/", `\`}, []string{"file", "file-2", "file-3", "file-4", "file-5", "file-6", "file-7"}},
		{[]string{"../../etc/passwd", `C:\Users\sam\x.png`, "/abs/y"}, []string{"passwd", "x.png", "y"}},
		{[]string{"a\nb\x00c\x7f.txt", "a\u202egpj.exe", "b\u2028c", "bad\xffbyte"}, []string{"abc.txt", "agpj.exe", "bc", "badbyte"}},
		{[]string{".env", "..x", "x.", "x. ", "a:b|c?"}, []string{"env", "x", "x-2", "x-3", "abc"}},
		{[]string{"für Änne 🎉.pdf"}, []string{"für Änne 🎉.pdf"}},
	} {
		got := &cabinet{}
		var files []cli.File
		for _, name := range c.names {
			files = append(files, cli.File{Name: name, Data: []byte("x")})
		}
		if _, err := post(t, got, "", files...); err != nil {
			t.Fatal(err)
		}
		for i, p := range got.in.Parts {
			if p.Name != c.want[i] {
				t.Errorf("%q of %q is called %q, want %q", c.names[i], c.names, p.Name, c.want[i])
			}
		}
	}
}

// A long name keeps its extension and is cut between characters; equal cut names stay different.
func TestLongNames(t *testing.T) {
	got := &cabinet{}
	long := strings.Repeat("ü", 300)
	_, err := post(t, got, "", cli.File{Name: long + ".png", Data: []byte("x")}, cli.File{Name: long + "x.png", Data: []byte("x")}, cli.File{Name: "a." + long, Data: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	p := got.in.Parts
	if p[0].Name != strings.Repeat("ü", 98)+".png" || p[1].Name != strings.Repeat("ü", 97)+"-2.png" {
		t.Errorf("names %q and %q", p[0].Name, p[1].Name)
	}
	if n := p[2].Name; len(n) > 200 || !utf8.ValidString(n) || !strings.HasPrefix(n, "a.ü") {
		t.Errorf("name %q", n)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	of := func(sizes ...int) (files []cli.File) {
		for _, n := range sizes {
			files = append(files, cli.File{Name: "f", Data: make([]byte, n)})
		}
		return files
	}
	ones := make([]int, 11)
	for i := range ones {
		ones[i] = 1
	}
	for name, c := range map[string]struct {
		files []cli.File
		kind  event.FaultKind
		says  string
	}{
		"ten":             {of(ones[:10]...), "", ""},
		"eleven":          {of(ones...), event.TooLarge, "at most 10 attachments, this one has 11"},
		"8 MB":            {of(8 << 20), "", ""},
		"more than 8 MB":  {of(1, 8<<20+1), event.TooLarge, "attachment 2 (f) is over 8 MB"},
		"20 MB":           {of(8<<20, 8<<20, 4<<20), "", ""},
		"more than 20 MB": {of(8<<20, 8<<20, 4<<20+1), event.TooLarge, "over 20 MB together"},
		"an empty one":    {of(1, 0), event.Invalid, "attachment 2 (f) is empty"},
	} {
		got := &cabinet{}
		_, err := post(t, got, "x", c.files...)
		f, _ := event.AsFault(err)
		if (err == nil) != (c.kind == "") || (len(got.contents) == 0) != (err != nil) {
			t.Errorf("%s: %v, %d stored", name, err, len(got.contents))
		}
		if err != nil && (f == nil || f.Kind != c.kind || !strings.Contains(f.Text, c.says) || f.Hint == "") {
			t.Errorf("%s: %+v, want %s: %s", name, f, c.kind, c.says)
		}
	}
	got := &cabinet{}
	if _, err := post(t, got, "/status", of(1)...); !errors.Is(err, cli.ErrCommand) || got.contents != nil {
		t.Errorf("a command with a file: %v", err)
	}
	full := &cabinet{err: channelstest.ErrFull}
	if _, err := post(t, full, "x", of(1)...); !errors.Is(err, channelstest.ErrFull) {
		t.Errorf("an error of the store came through as %v", err)
	}
}

// FuzzNames: any name of a sender becomes a plain name without a path.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"a.txt", "..", "../x", `a\b`, "\x00", "a\n]", strings.Repeat("ü", 300) + ".x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := &cabinet{}
		file := cli.File{Name: name, Data: []byte("x")}
		if _, err := post(t, got, "", file, file); err != nil {
			t.Fatal(err)
		}
		a, b := got.in.Parts[0].Name, got.in.Parts[1].Name
		for _, n := range []string{a, b} {
			if n == "" || strings.Trim(n, ". ") == "" || len(n) > 200 || !utf8.ValidString(n) || strings.ContainsAny(n, "/\\\x00\n\r\x1b") {
				t.Errorf("%q became %q", name, n)
			}
		}
		if strings.EqualFold(a, b) {
			t.Errorf("%q twice became %q and %q", name, a, b)
		}
	})
}
