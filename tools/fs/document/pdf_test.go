package document_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/tools/fs/document"
)

// TestMain is also the helper: the tests start this very program again.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "read-file" {
		os.Exit(document.Helper(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 4 && os.Args[1] == "measured" {
		os.Exit(measured(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

// helper is the command that reads documents. A program with the race detector would sleep for a second when it ends.
func helper(t testing.TB) []string {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	if env, err := exec.LookPath("env"); err == nil {
		return []string{env, "GORACE=atexit_sleep_ms=0", self, "read-file"}
	}
	return []string{self, "read-file"}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// file is a PDF file that is written by hand: its objects, numbered from 1, and its trailer's entries beside Size and Root.
type file struct {
	version string
	objects []string
	trailer string
}

// stream is an object with a stream.
func stream(entries, data string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(data), entries, data)
}

func packed(entries, data string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write([]byte(data)); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return stream("/Filter /FlateDecode "+entries, b.String())
}

// bytes is the file, with a cross-reference table.
func (f file) bytes() string {
	var b strings.Builder
	b.WriteString(f.version + "\n")
	at := make([]int, len(f.objects))
	for i, o := range f.objects {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, f.trailer, table)
	return b.String()
}

// bookOf is a file with a page for each program. Its objects are 1 the catalogue, 2 the pages, 3 a font, 4 what extra says,
// 5 and on a page and its program in turn.
func bookOf(font, extra string, programs ...string) file {
	kids := ""
	for i := range programs {
		kids += fmt.Sprintf("%d 0 R ", 5+2*i)
	}
	f := file{version: "%PDF-1.4", objects: []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(programs), kids), font, extra,
	}}
	for i, p := range programs {
		f.objects = append(f.objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> /XObject << /X 4 0 R >> >> >>", 6+2*i), p)
	}
	return f
}

const (
	helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
	none      = "null"
)

func program(text string) string { return stream("", text) }

// outcome is what reading a file came to.
type outcome struct {
	pages int
	text  string
}

func readPDF(t testing.TB, ctx context.Context, content, pages string) (outcome, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.pdf")
	must(t, os.WriteFile(path, []byte(content), 0o600))
	f, err := os.Open(path)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	var o outcome
	err = document.Read(ctx, helper(t), f, func(n document.Opening, r io.Reader) error {
		raw, err := io.ReadAll(r)
		o = outcome{n.Pages, string(raw)}
		return err
	}, document.PDF, pages)
	return o, err
}

// What the pages of these files show was thought out, not copied.
func TestPDFText(t *testing.T) {
	cmap := `/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def
1 begincodespacerange <0000> <ffff> endcodespacerange
2 beginbfchar <0001> <0047> <0002> <00fc> endbfchar
2 beginbfrange <0010> <0012> <0061> <0020> <0021> [<007a> <D83DDE00>] endbfrange
endcmap CMapName currentdict /CMap defineresource pop end end`
	type0 := "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 4 0 R /DescendantFonts [<< /Subtype /CIDFontType2 /DW 500 /W [1 [600 600] 16 18 400] >>] >>"
	differences := "<< /Type /Font /Subtype /Type1 /BaseFont /X /FirstChar 1 /Widths [500 500] /Encoding << /Differences [1 /fi /germandbls] >> >>"
	form := stream("/Type /XObject /Subtype /Form /Matrix [1 0 0 1 0 -100] /Resources << /Font << /F1 3 0 R >> >>", "BT /F1 10 Tf 50 700 Td (in a form) Tj ET")
	for _, c := range []struct {
		name, font, extra, program, want string
	}{
		{"one string", helvetica, none, "BT /F1 12 Tf 72 720 Td (Hello world) Tj ET", "Hello world"},
		{"lines", helvetica, none, "BT /F1 12 Tf 14 TL 72 720 Td (one) Tj T* (two) Tj (three) ' ET", "one\ntwo\nthree"},
		{"spacing and a line by one operator", helvetica, none, `BT /F1 12 Tf 14 TL 72 720 Td (one) Tj 1 2 (two) " ET`, "one\ntwo"},
		{"a paragraph", helvetica, none, "BT /F1 12 Tf 72 720 Td (one) Tj 0 -40 TD (two) Tj ET", "one\n\ntwo"},
		{"letters put one by one", helvetica, none, "BT /F1 10 Tf 72 720 Td [(W) 80 (o) -10 (r) 5 (d) -300 (t) 20 (wo)] TJ ET", "Word two"},
		{"words put one by one", helvetica, none, "BT /F1 10 Tf 1 0 0 1 72 700 Tm (left) Tj 1 0 0 1 200 700 Tm (right) Tj ET", "left right"},
		{"a raised letter", helvetica, none, "BT /F1 10 Tf 72 720 Td (x) Tj 3 Ts (2) Tj ET", "x2"},
		{"turned by a quarter", helvetica, none, "BT /F1 10 Tf 0 1 -1 0 72 100 Tm (up) Tj ( there) Tj 0 1 -1 0 92 100 Tm (next) Tj ET", "up there\nnext"},
		{"scaled", helvetica, none, "q 0.1 0 0 0.1 0 0 cm BT /F1 100 Tf 720 7200 Td (a) Tj 0 -120 Td (b) Tj ET Q", "a\nb"},
		{"escapes", helvetica, none, `BT /F1 12 Tf 72 720 Td (\(a\) \101\\) Tj ET`, `(a) A\`},
		{"WinAnsi", helvetica, none, "BT /F1 12 Tf 72 720 Td (\xe4\x80) Tj ET", "ä€"},
		{"joined letters", differences, none, "BT /F1 10 Tf 72 720 Td <0102> Tj ET", "fiß"},
		{"codes of two bytes", type0, stream("", cmap), "BT /F1 10 Tf 72 720 Td <000100020010001100120020> Tj <0021> Tj ET", "Güabcz😀"},
		{"a form", helvetica, form, "BT /F1 10 Tf 50 700 Td (on the page) Tj ET /X Do", "on the page\n\nin a form"},
		{"nothing", helvetica, none, "0 0 m 10 10 l S", "(no text on this page: it may be a picture of one)"},
		{"control characters", helvetica, none, `BT /F1 12 Tf 72 720 Td (a\000\033b) Tj ET`, "ab"},
		{"broken in the middle", helvetica, none, `BT /F1 12 Tf 72 720 Td (kept) Tj > (lost) Tj ET`, "kept\n(the rest of this page cannot be read: unexpected delimiter '>')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, p := range map[string]string{"plain": stream("", c.program), "packed": packed("", c.program)} {
				got, err := readPDF(t, t.Context(), bookOf(c.font, c.extra, p).bytes(), "")
				want := "--- page 1 of 1 ---\n" + c.want + "\n"
				if err != nil || got.pages != 1 || got.text != want {
					t.Errorf("%s: %v\n%q, want\n%q", how, err, got.text, want)
				}
			}
		})
	}
}

func TestPDFPages(t *testing.T) {
	var programs []string
	for i := range 12 {
		programs = append(programs, program(fmt.Sprintf("BT /F1 12 Tf 72 720 Td (text %d) Tj ET", i+1)))
	}
	content := bookOf(helvetica, none, programs...).bytes()
	for _, c := range []struct{ pages, want string }{
		{"", "1 2 3 4 5 6 7 8 9 10 11 12"},
		{"3", "3"},
		{"1-3,7", "1 2 3 7"},
		{"11-", "11 12"},
		{" 2 - 3 , 1 ", "2 3 1"},
		{"12-99", "12"},
	} {
		got, err := readPDF(t, t.Context(), content, c.pages)
		want := ""
		for n := range strings.FieldsSeq(c.want) {
			want += fmt.Sprintf("--- page %s of 12 ---\ntext %s\n", n, n)
		}
		if err != nil || got.text != want || got.pages != 12 {
			t.Errorf("%q: %v %q", c.pages, err, got.text)
		}
	}
	if _, err := readPDF(t, t.Context(), content, "13"); !errors.Is(err, document.ErrPages) || !strings.Contains(err.Error(), "page 13 is asked for, and it has 12") {
		t.Error(err)
	}
}

// The ends of a file may have what the library would not take.
func TestPDFEnds(t *testing.T) {
	f := bookOf(helvetica, none, program("BT /F1 12 Tf 72 720 Td (text) Tj ET"))
	plain := f.bytes()
	f.version = "%PDF-2.0"
	newer := f.bytes()
	f.version = "%PDF-1.4 a comment"
	for name, content := range map[string]string{
		"as it is": plain, "version 2": newer, "a comment": f.bytes(), "no last line break": strings.TrimRight(plain, "\n"),
		"bytes behind the end": plain + strings.Repeat("\x00", 500),
	} {
		if got, err := readPDF(t, t.Context(), content, ""); err != nil || got.text != "--- page 1 of 1 ---\ntext\n" {
			t.Errorf("%s: %v %q", name, err, got.text)
		}
	}
}

// Files that are wrong, and files that are made to hurt: each is an error of its kind, and the caller goes on.
func TestPDFRefuses(t *testing.T) {
	good := bookOf(helvetica, none, program("BT (x) Tj ET"))
	locked := func(encrypt string) string {
		f := good
		f.trailer = "/Encrypt " + encrypt + " /ID [<00> <00>]"
		return f.bytes()
	}
	key := strings.Repeat("00", 32)
	empty := file{version: "%PDF-1.4", objects: []string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 0 /Kids [] >>"}}
	many := empty
	many.objects = []string{empty.objects[0], "<< /Type /Pages /Count 99999999999 /Kids [] >>"}
	for _, c := range []struct {
		name, content string
		kind          error
		want          string
	}{
		{"nothing", "", document.ErrBroken, "does not begin like"},
		{"text", "hello", document.ErrBroken, "does not begin like"},
		{"only a beginning", "%PDF-1.4\n", document.ErrBroken, "its end is missing"},
		{"cut off", good.bytes()[:300], document.ErrBroken, "its end is missing"},
		{"no table", "%PDF-1.4\n%%EOF", document.ErrBroken, "broken"},
		{"a table that is elsewhere", "%PDF-1.4\n" + strings.Repeat(" ", 200) + "\nstartxref\n7\n%%EOF", document.ErrBroken, "cross-reference"},
		{"no pages", empty.bytes(), document.ErrBroken, "it has no pages"},
		{"pages without end", many.bytes(), document.ErrBroken, "claims to have 99999999999 pages"},
		{"a password", locked("<< /Filter /Standard /V 1 /R 2 /O <" + key + "> /U <" + key + "> /P -1 >>"), document.ErrEncrypted, "encrypted with a password"},
		{"AES of 256 bits", locked("<< /Filter /Standard /V 5 /R 6 /Length 128 >>"), document.ErrEncrypted, "encrypted"},
		{"a table of ten thousand million", "%PDF-1.5\n1 0 obj\n<< /Type /XRef /Size 10000000000 /W [1 1 1] /Root 1 0 R /Length 0 >>\nstream\n\nendstream\nendobj\nstartxref\n9\n%%EOF", document.ErrBroken, "broken"},
		{"a table of twenty gigabytes", "%PDF-1.5\n1 0 obj\n<< /Type /XRef /Size 500000000 /W [1 1 1] /Root 1 0 R /Length 0 >>\nstream\n\nendstream\nendobj\nstartxref\n9\n%%EOF", document.ErrBroken, "broken"},
		{"an object in itself", inItself(), document.ErrBroken, "gave up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := readPDF(t, t.Context(), c.content, "")
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q %v", got.text, err)
			}
		})
	}
}

// inItself is a file with its catalogue in an object stream that contains itself: a naive reader never ends.
func inItself() string {
	body := "%PDF-1.5\n"
	at := len(body)
	row := "\x02\x01\x00" // object 1 is the first one in object 1
	data := "\x00\x00\x00" + row
	body += "2 0 obj\n" + stream("/Type /XRef /Size 2 /W [1 1 1] /Root 1 0 R", data) + "\nendobj\n"
	return body + fmt.Sprintf("startxref\n%d\n%%%%EOF\n", at)
}

// What never ends by itself is ended.
func TestAPDFThatNeverEnds(t *testing.T) {
	previous := bookOf(helvetica, none, program("BT (x) Tj ET"))
	previous.trailer = fmt.Sprintf("/Prev %d", strings.Index(previous.bytes(), "xref\n0"))
	for name, content := range map[string]string{
		"a table that follows itself":       previous.bytes(),
		"a string of digits without an end": bookOf(helvetica, none, program("BT /F1 12 Tf <41")).bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if got, err := readPDF(t, ctx, content, ""); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%q %v", got.text, err)
			}
		})
	}
}

// Who has enough ends the reading: the rest of a long file is never made.
func TestPDFIsReadAsFarAsItIsWanted(t *testing.T) {
	long := program("BT /F1 12 Tf 1 TL 72 720 Td " + strings.Repeat("(a line of the page) ' ", 2000) + "ET")
	path := filepath.Join(t.TempDir(), "f.pdf")
	must(t, os.WriteFile(path, []byte(bookOf(helvetica, none, long, long, long, long).bytes()), 0o600))
	f, err := os.Open(path)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	first := make([]byte, 19)
	err = document.Read(t.Context(), helper(t), f, func(_ document.Opening, r io.Reader) error {
		_, err := io.ReadFull(r, first)
		return err
	}, document.PDF, "")
	if err != nil || string(first) != "--- page 1 of 4 ---" {
		t.Errorf("%q %v", first, err)
	}
	stop := errors.New("enough")
	err = document.Read(t.Context(), helper(t), f, func(document.Opening, io.Reader) error { return stop }, document.PDF, "")
	if !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestPDFWithoutAHelper(t *testing.T) {
	f, err := os.Open(os.DevNull)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	use := func(document.Opening, io.Reader) error { return nil }
	for _, command := range [][]string{nil, {filepath.Join(t.TempDir(), "nothing")}, {"true"}} {
		if err := document.Read(t.Context(), command, f, use, document.PDF, ""); !errors.Is(err, document.ErrHelper) {
			t.Errorf("%v: %v", command, err)
		}
	}
}

// Whatever a file holds, the answer is its text or an error of a known kind, and it comes in time.
func FuzzPDF(f *testing.F) {
	good := bookOf(helvetica, none, program("BT /F1 12 Tf 72 720 Td [(te) -300 (xt)] TJ ET"))
	f.Add([]byte(good.bytes()), "")
	f.Add([]byte(bookOf(helvetica, none, packed("", "BT /F1 9 Tf (a) Tj ET")).bytes()), "1-3,7")
	f.Fuzz(func(t *testing.T, content []byte, pages string) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := readPDF(t, ctx, string(content), pages)
		for _, known := range []error{nil, document.ErrBroken, document.ErrEncrypted, document.ErrPages, document.ErrLarge, context.DeadlineExceeded} {
			if errors.Is(err, known) {
				return
			}
		}
		t.Error(err)
	})
}
