package document_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/tools/fs/document"
	"hob/tools/fs/picture"
)

// measured runs a helper as its only child and writes the most memory that it had, in kilobytes, into a file. It is a small process, so
// that what it has itself does not count as the child's.
func measured(into string, argv []string) int {
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...) // #nosec G702 -- the helper under test
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, []string{}
	err := cmd.Run()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || os.WriteFile(into, []byte(strconv.FormatInt(usage.Maxrss, 10)), 0o600) != nil {
		return 99
	}
	if err != nil {
		return cmd.ProcessState.ExitCode()
	}
	return 0
}

// peak reads a file by a helper and returns how many megabytes that had at most.
func peak(t *testing.T, raw []byte, kind document.Kind, args ...string) (mb int64, text string, err error) {
	t.Helper()
	dir := t.TempDir()
	path, note := filepath.Join(dir, "f"), filepath.Join(dir, "peak")
	must(t, os.WriteFile(path, raw, 0o600))
	f, err := os.Open(path)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	self, err := os.Executable()
	must(t, err)
	err = document.Read(t.Context(), []string{self, "measured", note, self, "read-file"}, f, func(_ document.Opening, r io.Reader) error {
		var b strings.Builder
		_, err := io.Copy(&b, r)
		text = b.String()
		return err
	}, kind, args...)
	kb, readErr := os.ReadFile(note)
	must(t, readErr)
	n, parseErr := strconv.ParseInt(string(kb), 10, 64)
	must(t, parseErr)
	return n * 1024 / 1_000_000, text, err
}

// blank is a PNG of zeroes: 4 channels of depth bits, interlaced or not.
func blank(t *testing.T, w, h uint32, depth, colour, interlaced byte) []byte {
	t.Helper()
	var data bytes.Buffer
	z, err := zlib.NewWriterLevel(&data, 9)
	must(t, err)
	line := make([]byte, 1+int(w)*int(depth)/8*map[byte]int{0: 1, 2: 3, 6: 4}[colour])
	for range h {
		_, err := z.Write(line)
		must(t, err)
	}
	must(t, z.Close())
	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, body []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(body))) // #nosec G115 -- a small one
		out = append(append(out, kind...), body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(append([]byte(kind), body...)))
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	chunk("IHDR", append(head, depth, colour, 0, 0, interlaced))
	chunk("IDAT", data.Bytes())
	chunk("IEND", nil)
	return out
}

// TestMemoryIsBounded (S7) reads files that are made to take much memory: each ends in a text, a picture or an error that says why, and
// the process that reads it stays below 96 MB, of which a helper that is hob's own program has 25 before it begins.
func TestMemoryIsBounded(t *testing.T) {
	word := func(inner ...io.Reader) []byte {
		all := append([]io.Reader{strings.NewReader("<w:document " + space + "><w:body>")}, inner...)
		return packedWord(t, "word/document.xml", append(all, strings.NewReader("</w:body></w:document>"))...)
	}
	page := func(one string, n int) []byte { return []byte("<html><body>" + strings.Repeat(one, n)) }
	fonts := strings.Builder{}
	for i := range 400 {
		fmt.Fprintf(&fonts, "<font size=%d>", i)
	}
	link := []string{"https://x/", "text/html"}
	base, _, err := peak(t, page("x", 1), document.Page, link...)
	must(t, err)
	for _, c := range []struct {
		name  string
		raw   []byte
		kind  document.Kind
		args  []string
		fails error // nil: there is a text
		long  bool  // takes seconds
	}{
		{"PNG of 5000², 16 bits", blank(t, 5000, 5000, 16, 6, 0), document.Picture, nil, picture.ErrLarge, false},
		{"PNG of 8192 × 6144", blank(t, 8192, 6144, 8, 6, 0), document.Picture, nil, picture.ErrLarge, false},
		{"PNG of 5120 × 2880", blank(t, 5120, 2880, 8, 6, 0), document.Picture, nil, nil, true},
		{"PNG of 3500², 8 bits", blank(t, 3500, 3500, 8, 6, 0), document.Picture, nil, nil, true},
		{"PNG of 2600², 16 bits, interlaced in its header only", blank(t, 2000, 2500, 8, 6, 1), document.Picture, nil, picture.ErrFormat, false},
		{"PNG of 400000 × 30", blank(t, 400_000, 30, 8, 6, 0), document.Picture, nil, picture.ErrLarge, false},
		{"docx of 500000 paragraphs", word(repeated("<w:p><w:r><w:t>a</w:t></w:r></w:p>", 500_000)), document.Word, nil, nil, true},
		{"docx with a text of 300 MB", word(strings.NewReader("<w:p><w:r><w:t>"), repeated(strings.Repeat("x", 1<<20), 300)), document.Word, nil, document.ErrLarge, false},
		{"docx with a paragraph of many texts", word(strings.NewReader("<w:p>"), repeated("<w:r><w:t>"+strings.Repeat("x", 1<<19)+"</w:t></w:r>", 100)), document.Word, nil, document.ErrLarge, false},
		{"docx with a comment of 60 MB", word(strings.NewReader("<!--"), repeated(strings.Repeat("<", 1<<20), 60)), document.Word, nil, document.ErrLarge, false},
		{"docx with an endless row", word(strings.NewReader("<w:tbl><w:tr>"), repeated("<w:tc><w:p/></w:tc>", 1_000_000)), document.Word, nil, document.ErrLarge, false},
		{"HTML of 2 million <p>", page("<p>a", 2_000_000), document.Page, link, nil, false},
		{"HTML of 1.2 million <a>", page("<a>", 1_200_000), document.Page, link, nil, false},
		{"HTML of 1.5 million <td>", page("<td>x", 1_500_000), document.Page, link, nil, false},
		{"HTML of 50000 <p>", page("<p>a", 29_000), document.Page, link, nil, true},
		{"HTML of 29000 <td>", page("<td>x", 29_000), document.Page, link, nil, true},
		{"HTML that repeats its fonts", page(fonts.String()+strings.Repeat("<p>a", 25_000), 1), document.Page, link, nil, false},
		{"HTML that repeats its address", page("<a href=x>y</a>", 15_000), document.Page, []string{"https://x/" + strings.Repeat("y", 8000) + "/", "text/html"}, document.ErrLarge, true},
		{"notebook of 9 million cells", []byte(`{"cells":[` + strings.Repeat("{},", 9_000_000) + `{}]}`), document.Notebook, nil, document.ErrLarge, false},
		{"notebook with a picture of 24 MB", []byte(`{"cells":[{"cell_type":"code","outputs":[{"data":{"image/png":"` + strings.Repeat("A", 24_000_000) + `"}}]}]}`), document.Notebook, nil, nil, false},
		{"PDF of one large stream", []byte(bookOf(helvetica, none, packed("", "BT /F1 12 Tf (a) Tj ET"+strings.Repeat(" ", 100_000_000))).bytes()), document.PDF, []string{""}, nil, true},
		{"PDF of much text", []byte(bookOf(helvetica, none, packed("", "BT /F1 12 Tf 1 TL "+strings.Repeat("(aaaaaaaaaaaaaaa) ' ", 1_000_000)+"ET")).bytes()), document.PDF, []string{""}, nil, true},
	} {
		if c.long && testing.Short() {
			continue
		}
		start := time.Now()
		mb, text, err := peak(t, c.raw, c.kind, c.args...)
		t.Logf("%s: %d MB, %d bytes of it, %.1f s, %v", c.name, mb, len(text), time.Since(start).Seconds(), err)
		if mb-base > 72 && !raced {
			t.Errorf("%s: %d MB over the %d of an idle helper", c.name, mb-base, base)
		}
		// The limit of time holds as well; which of the two ends the reading depends on the machine.
		if c.long && errors.Is(err, document.ErrTime) {
			continue
		}
		if !errors.Is(err, c.fails) || err == nil && text == "" && !strings.Contains(c.name, "<a>") {
			t.Errorf("%s: %v, %d bytes of text", c.name, err, len(text))
		}
	}
}
