package messaging_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/tools/fs/document"
	"hob/tools/messaging"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "read-file" {
		os.Exit(document.Helper(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// helper is the command that draws pictures.
func helper(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, "read-file"}
}

const hidden = `SECRET <script src=https://evil.example/></script>`

// chunk is a chunk of a PNG file.
func chunk(kind, data string) string {
	sum := crc32.ChecksumIEEE([]byte(kind + data))
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(data)))) + kind + data + string(binary.BigEndian.AppendUint32(nil, sum)) // #nosec G115 -- a chunk of a test is small
}

// gray is a PNG file of one grey row for each line of pixels, with further chunks.
func gray(t *testing.T, width, height int, pixels, before, after string) string {
	t.Helper()
	size := string(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(width)), uint32(height))) // #nosec G115 -- small
	var data bytes.Buffer
	w, err := zlib.NewWriterLevel(&data, zlib.NoCompression) // the pixels stand in the file as they are
	if err == nil {
		_, err = io.WriteString(w, pixels)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return "\x89PNG\r\n\x1a\n" + chunk("IHDR", size+"\x08\x00\x00\x00\x00") + before + chunk("IDAT", data.String()) + after + chunk("IEND", "")
}

// encoded is what an encoder of the standard library writes.
func encoded(t *testing.T, write func(w io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// T6: a picture that a tainted turn wrote goes unasked only as a copy that has its pixels and nothing else.
func TestPicturesOfTaintedTurns(t *testing.T) {
	row := "\x00" + hidden // a filter byte and pixels
	plain := gray(t, len(hidden), 1, row, "", "")
	frame := image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})
	jpg := encoded(t, func(w io.Writer) error { return jpeg.Encode(w, frame, nil) })
	segment := func(marker byte, data string) string {
		return string([]byte{0xff, marker}) + string(binary.BigEndian.AppendUint16(nil, uint16(len(data)+2))) + data // #nosec G115 -- short
	}
	// An EXIF segment whose only entry is orientation 6.
	turned := "Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00" + hidden
	two := encoded(t, func(w io.Writer) error {
		return gif.EncodeAll(w, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}})
	})
	texts, animation := chunk("tEXt", "Comment\x00"+hidden), chunk("acTL", "\x00\x00\x00\x02\x00\x00\x00\x00")
	for _, c := range []struct {
		name, file string
		sent       string // the name and the size of what goes
	}{
		{"a.png", plain, "a.png 50x1"},
		{"text.png", gray(t, len(hidden), 1, row, texts, chunk("eXIf", hidden)+chunk("teSt", hidden)), "text.png 50x1"},
		{"end.png", plain + hidden, "end.png 50x1"},
		{"zip.png", plain + "PK\x03\x04" + hidden, "zip.png 50x1"},
		{"apng.png", gray(t, len(hidden), 1, row, animation, chunk("fdAT", "\x00\x00\x00\x02"+hidden)), "apng.png 50x1"},
		{"A.JPG", jpg[:2] + segment(0xe1, turned) + segment(0xfe, hidden) + jpg[2:] + hidden, "A.jpg 2x3"},
		{"a.jpeg", jpg, "a.jpg 3x2"},
		{"other.jpg", plain, "other.png 50x1"},
		{"moving.gif", two + hidden, "moving.png 3x2"},
		{"wide.png", encoded(t, func(w io.Writer) error { return png.Encode(w, image.NewGray(image.Rect(0, 0, 4000, 3))) }), "wide.png 2000x2"},
		{"page.html", plain, ""},
		{"page.png.html", plain, ""},
		{"none", plain, ""},
		{"a.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>", ""},
		{"svg.png", "<svg xmlns='http://www.w3.org/2000/svg'/>", ""},
		{"script.gif", "GIF89a/*" + hidden + "*/=1", ""},
		{"head.png", plain[:33], ""},
		{"cut.png", plain[:len(plain)-40], ""},
		{"huge.png", gray(t, 60_000, 60_000, row, "", ""), ""},
		{"long.png", gray(t, 1<<30, 1, row, "", ""), ""},
		{"bomb.png", encoded(t, func(w io.Writer) error {
			return png.Encode(w, image.NewPaletted(image.Rect(0, 0, 9000, 9000), color.Palette{color.Black}))
		}), ""},
		{"empty.png", "", ""},
	} {
		g, kept := space(t), &cabinet{}
		path := filepath.Join(g.Workspace(), ".scratch", "main", c.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(c.file), 0o600)); err != nil {
			t.Fatal(err)
		}
		tool := messaging.NewMessage(directory{}, g, kept, helper(t))
		args := call(fmt.Sprintf(`{"to": "owner", "content": "here", "attachments": [%q]}`, path))
		intent, err := tool.Intent(t.Context(), args)
		if err != nil {
			t.Fatal(err)
		}
		if asks := intent.Confirm != ""; asks != (c.sent == "") {
			t.Errorf("%s: the question is %q", c.name, intent.Confirm)
			continue
		}
		for _, intent.Keep = range []any{intent.Keep, nil} { // as it was judged, and after a restart
			kept.kept = nil
			res, err := tool.Run(t.Context(), args, intent)
			if err != nil || len(kept.kept) != 1 {
				t.Fatalf("%s: %v %+v", c.name, err, res)
			}
			if c.sent == "" {
				if kept.kept[0] != c.file {
					t.Errorf("%s: what the owner allows is not what goes", c.name)
				}
				continue
			}
			img, _, err := image.Decode(strings.NewReader(kept.kept[0]))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if got := fmt.Sprintf("%s %dx%d", kept.names[len(kept.names)-1], img.Bounds().Dx(), img.Bounds().Dy()); got != c.sent {
				t.Errorf("%s goes as %s, want %s", c.name, got, c.sent)
			}
			if strings.Contains(kept.kept[0], "SECRET") || strings.Contains(kept.kept[0], "<script") || kept.kept[0] == c.file {
				t.Errorf("%s: something besides the pixels goes: %q", c.name, kept.kept[0])
			}
			if !strings.Contains(res.Content, "drawn anew") {
				t.Errorf("%s: it is not told: %s", c.name, res.Content)
			}
		}
	}
}
