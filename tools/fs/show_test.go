package fs_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/daemon/event"
	"hob/tools"
	"hob/tools/fs"
)

func pngOf(t testing.TB, w, h int) string {
	t.Helper()
	var b bytes.Buffer
	must(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))))
	return b.String()
}

func docxOf(t testing.TB, paragraphs ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("word/document.xml")
	must(t, err)
	body := ""
	for _, p := range paragraphs {
		body += "<w:p><w:r><w:t>" + p + "</w:t></w:r></w:p>"
	}
	_, err = fmt.Fprintf(w, `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>%s</w:body></w:document>`, body)
	must(t, err)
	must(t, z.Close())
	return b.String()
}

// pdfOf is a PDF file with a page for each text, written by hand.
func pdfOf(texts ...string) string {
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}
	kids := ""
	for i, text := range texts {
		program := "BT /F1 12 Tf 14 TL 72 720 Td (" + strings.ReplaceAll(text, "\n", ") Tj T* (") + ") Tj ET"
		if text == "" {
			program = "0 0 m"
		}
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
		objects = append(objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*i),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(program), program))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(texts), kids)
	var b, table strings.Builder
	b.WriteString("%PDF-1.4\n")
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	return fmt.Sprintf("%sxref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", b.String(), len(objects)+1, table.String(), len(objects)+1, b.Len())
}

// Documents are read as lines of text, with the limits that files of text have.
func TestReadDocuments(t *testing.T) {
	d := newFixture(t)
	d.put(t, "a.pdf", pdfOf("first page\nsecond line", "", "third page"))
	d.put(t, "a.docx", docxOf(t, "one", "two", "three"))
	d.put(t, "UPPER.DOCX", docxOf(t, "upper"))
	d.put(t, "a.ipynb", `{"nbformat": 4, "cells": [{"cell_type": "code", "source": ["a = 1\n", "a"], "outputs": [{"output_type": "execute_result", "data": {"text/plain": ["1"]}}]}]}`)
	d.put(t, "broken.ipynb", `{"cells": [`)
	d.put(t, "none.ipynb", "")
	for _, c := range []struct {
		args args
		want fs.ReadOutput
		end  string
	}{
		{args{"path": "a.pdf"}, fs.ReadOutput{Format: "pdf", Pages: 3, First: 1, Lines: 7, Text: "--- page 1 of 3 ---\nfirst page\nsecond line\n--- page 2 of 3 ---\n(no text on this page: it may be a picture of one)\n--- page 3 of 3 ---\nthird page"}, "(end of file)"},
		{args{"path": "a.pdf", "pages": "3,1"}, fs.ReadOutput{Format: "pdf", Pages: 3, First: 1, Lines: 5, Text: "--- page 3 of 3 ---\nthird page\n--- page 1 of 3 ---\nfirst page\nsecond line"}, "(end of file)"},
		{args{"path": "a.pdf", "offset": 1, "limit": 2}, fs.ReadOutput{Format: "pdf", Pages: 3, First: 2, Lines: 2, Next: 3, Text: "first page\nsecond line"}, "(2 lines shown of a PDF of 3 pages; continue with offset=3)"},
		{args{"path": "a.docx"}, fs.ReadOutput{Format: "docx", First: 1, Lines: 3, Text: "one\ntwo\nthree"}, "(end of file)"},
		{args{"path": "a.docx", "offset": 2}, fs.ReadOutput{Format: "docx", First: 3, Lines: 1, Text: "three"}, "     3\tthree\n(end of file)"},
		{args{"path": "UPPER.DOCX"}, fs.ReadOutput{Format: "docx", First: 1, Lines: 1, Text: "upper"}, "(end of file)"},
		{args{"path": "a.ipynb"}, fs.ReadOutput{Format: "notebook", First: 1, Lines: 5, Text: "--- cell 1 of 1: code, id 0 ---\na = 1\na\n--- output ---\n1"}, "(end of file)"},
		{args{"path": "broken.ipynb"}, fs.ReadOutput{Format: "text", First: 1, Lines: 1, Text: `{"cells": [`}, "(not a notebook: broken: unexpected end of JSON input)"},
		{args{"path": "none.ipynb"}, fs.ReadOutput{Format: "text"}, "(the file is empty)"},
	} {
		res := d.do(t, d.read, c.args)
		got, _ := res.Data.(fs.ReadOutput)
		c.want.Path, c.want.Size = got.Path, got.Size
		if diff := cmp.Diff(c.want, got); res.IsError || diff != "" || !strings.HasSuffix(res.Content, c.end) {
			t.Errorf("%v: %s\n%s", c.args, diff, res.Content)
		}
	}
}

func TestReadRefusesDocuments(t *testing.T) {
	d := newFixture(t)
	good := pdfOf("x")
	d.put(t, "a.pdf", good)
	d.put(t, "cut.pdf", good[:200])
	d.put(t, "locked.pdf", strings.Replace(good, "/Root 1 0 R", "/Root 1 0 R /ID [<00>] /Encrypt << /Filter /Standard /V 5 /R 6 /Length 128 >>", 1))
	d.put(t, "cut.docx", docxOf(t, "x")[:100])
	d.put(t, "a.docx", docxOf(t, "x"))
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": "a.pdf", "pages": "2"}, "pages: no such pages: page 2 is asked for, and it has 1"},
		{args{"path": "a.pdf", "pages": "0"}, "pages: no such pages"},
		{args{"path": "a.pdf", "offset": 9}, "a.pdf has only 2 lines\nhint: offset 1 shows"},
		{args{"path": "cut.pdf"}, "cut.pdf cannot be read: broken: its end is missing"},
		{args{"path": "locked.pdf"}, "locked.pdf cannot be read: encrypted with a password, or in a way that is not known\nhint: ask for a copy without a password"},
		{args{"path": "cut.docx"}, "cut.docx cannot be read: broken"},
		{args{"path": "a.docx", "pages": "1"}, "a.docx has no pages: only PDF files do\nhint: use offset and limit"},
	} {
		if res := d.do(t, d.read, c.args); res.Code != tools.Validation || !strings.Contains(res.Content, c.want) {
			t.Errorf("%v: %s", c.args, res.Content)
		}
	}
	plain := d
	plain.read = fs.NewRead(fs.ReadDeps{Guard: d.guard, Seen: fs.NewSeen()})
	if res := plain.do(t, plain.read, args{"path": "a.pdf"}); res.Code != tools.ConfigError {
		t.Errorf("%s", res.Content)
	}
}

func TestReadPictures(t *testing.T) {
	d := newFixture(t)
	small := pngOf(t, 30, 20)
	d.put(t, "small.png", small)
	d.put(t, "no name", small)
	d.put(t, "large.png", pngOf(t, 4000, 1000))
	for _, c := range []struct {
		path, content string
		picture       fs.Picture
	}{
		{"small.png", "small.png: PNG image, 30 × 20 pixels, ", fs.Picture{Width: 30, Height: 20, Shown: [2]int{30, 20}, MIME: "image/png", Artifact: "a1"}},
		{"no name", "no name: PNG image, 30 × 20 pixels, ", fs.Picture{Width: 30, Height: 20, Shown: [2]int{30, 20}, MIME: "image/png", Artifact: "a2"}},
		{"large.png", "; shown as PNG, 2000 × 500", fs.Picture{Width: 4000, Height: 1000, Shown: [2]int{2000, 500}, MIME: "image/png", Artifact: "a3"}},
	} {
		res := d.do(t, d.read, args{"path": c.path})
		p, _ := res.Data.(fs.ReadOutput)
		if res.IsError || p.Format != "image" || !strings.Contains(res.Content, c.content) || p.Picture == nil || *p.Picture != c.picture {
			t.Fatalf("%s: %s %+v", c.path, res.Content, p.Picture)
		}
		kept := d.artifactStore.kept[len(d.artifactStore.kept)-1]
		want := []event.Part{{Kind: event.Image, Artifact: c.picture.Artifact, Name: c.path, Size: int64(len(kept)), MIME: "image/png"}}
		if diff := cmp.Diff(want, res.Parts); diff != "" {
			t.Error(diff)
		}
	}
	if string(d.artifactStore.kept[0]) != small || fmt.Sprint(d.artifactStore.source) != "[  ]" {
		t.Errorf("sources %q", d.artifactStore.source)
	}
	d.artifactStore.err = errors.New("disk full")
	if res := d.do(t, d.read, args{"path": "small.png"}); res.Code != tools.IO || !strings.Contains(res.Content, "disk full") {
		t.Errorf("%s", res.Content)
	}
	plain := d
	plain.read = fs.NewRead(fs.ReadDeps{Guard: d.guard, Seen: fs.NewSeen()})
	if res := plain.do(t, plain.read, args{"path": "small.png"}); res.Code != tools.ConfigError {
		t.Errorf("%s", res.Content)
	}
}

// A picture made from a foreign file is stored as foreign.
func TestForeignPicturesStayForeign(t *testing.T) {
	d := newFixture(t)
	d.put(t, "mine.png", pngOf(t, 3, 3))
	d.put(t, "attachments/7/theirs.png", pngOf(t, 3, 3))
	must(t, os.WriteFile(filepath.Join(d.dir, "..", "outside.png"), []byte(pngOf(t, 3, 3)), 0o600))
	for _, c := range []struct {
		path    string
		tainted bool
		foreign string // of the path in the intent
		source  string
	}{
		{"mine.png", false, "", ""},
		{"mine.png", true, "", "a turn that had read foreign text"},
		{"attachments/7/theirs.png", false, "attachment", "attachment"},
		{"../outside.png", false, "outside the roots", "outside the roots"},
	} {
		call := d.call(t, args{"path": c.path})
		call.Tainted = c.tainted
		intent, err := d.read.Intent(t.Context(), call)
		must(t, err)
		res, err := d.read.Run(t.Context(), call, intent)
		must(t, err)
		if source := d.artifactStore.source[len(d.artifactStore.source)-1]; res.IsError || intent.Paths[0].Foreign != c.foreign || source != c.source {
			t.Errorf("%s: %s, path %q, source %q", c.path, res.Content, intent.Paths[0].Foreign, source)
		}
	}
}

// A document that was read counts as seen: a write does not wipe out a later change of it.
func TestADocumentThatWasReadIsSeen(t *testing.T) {
	d := newFixture(t)
	d.put(t, "n.ipynb", `{"cells": []}`)
	if res := d.do(t, d.read, args{"path": "n.ipynb"}); res.IsError {
		t.Fatal(res.Content)
	}
	d.put(t, "n.ipynb", `{"cells": [1]}`)
	if res := d.do(t, d.write, args{"path": "n.ipynb", "content": "{}"}); res.Code != tools.Conflict {
		t.Errorf("%s", res.Content)
	}
}

// Lines far into a large file are those that stand there, whichever block they begin in.
func TestReadFarIntoALargeFile(t *testing.T) {
	d := newFixture(t)
	const width = 17 // bytes of a line: no block of 4 MB begins where a line does, but for the first and each 17th
	var b bytes.Buffer
	for i := 0; b.Len() < 33<<20; i++ {
		fmt.Fprintf(&b, "%0*d\n", width-1, i)
	}
	all := b.Len() / width
	fmt.Fprint(&b, "the end") // has no line break
	d.put(t, "big", b.String())
	block := 4 << 20 / width
	for _, offset := range []int{1, block - 1, block, block + 1, 2*block - 1, 2 * block, 3*block + 7, 8*block - 1, 8 * block, all - 1} {
		res := d.do(t, d.read, args{"path": "big", "offset": offset, "limit": 1})
		p, _ := res.Data.(fs.ReadOutput)
		if want := fmt.Sprintf("%0*d", width-1, offset); p.Text != want || p.First != offset+1 || p.Next != offset+1 {
			t.Errorf("offset %d: %q, line %d, next %d: %.100s", offset, p.Text, p.First, p.Next, res.Content)
		}
	}
	if p, _ := d.do(t, d.read, args{"path": "big", "offset": all}).Data.(fs.ReadOutput); p.Text != "the end" || p.Next != 0 {
		t.Errorf("%q", p.Text)
	}
	if res := d.do(t, d.read, args{"path": "big", "offset": all + 1}); !strings.Contains(res.Content, fmt.Sprintf("offset %d shows its last line", all)) {
		t.Errorf("%s", res.Content)
	}
}

// A file that ends with a block, in the middle of a line, has that line.
func TestReadALargeFileThatEndsWithABlock(t *testing.T) {
	d := newFixture(t)
	const lines = 16 << 20 / 16
	d.put(t, "big", strings.Repeat("fifteen letters\n", lines-1)+"sixteen letters!")
	for _, offset := range []int{lines, lines + 5} {
		if res := d.do(t, d.read, args{"path": "big", "offset": offset}); !strings.Contains(res.Content, "has only 1,048,576 lines\nhint: offset 1048575") {
			t.Errorf("%s", res.Content)
		}
	}
	if p, _ := d.do(t, d.read, args{"path": "big", "offset": lines - 1}).Data.(fs.ReadOutput); p.Text != "sixteen letters!" {
		t.Errorf("%q", p.Text)
	}
}

func TestReadAndLsOnlyRead(t *testing.T) {
	d := newFixture(t)
	for _, tool := range []tools.Tool{d.read, d.ls} {
		var params struct{ Required []string }
		must(t, json.Unmarshal(tool.Spec().Parameters, &params))
		if s := tool.Spec(); !s.ReadOnly || !s.Core || len(s.Description) > 160 || fmt.Sprint(params.Required) != "[path]" {
			t.Errorf("%s: read only %v, core %v, %d characters, required %v", s.Name, s.ReadOnly, s.Core, len(s.Description), params.Required)
		}
	}
}

func FuzzReadParameters(f *testing.F) {
	d := newFixture(f)
	d.put(f, "a.docx", docxOf(f, "one", "two"))
	d.put(f, "a.ipynb", `{"cells": [{"cell_type": "code", "source": "a"}]}`)
	d.put(f, "a.txt", "one\ntwo\n")
	d.put(f, "a.png", pngOf(f, 3, 3))
	f.Add("a.docx", 1, 1, "")
	f.Add("a.ipynb", 0, 5, "1-3,7")
	f.Add("a.png", 9, 9, "-")
	f.Fuzz(func(t *testing.T, path string, offset, limit int, pages string) {
		res := d.do(t, d.read, args{"path": path, "offset": offset, "limit": limit, "pages": pages})
		if strings.Contains(res.Content, "internal error") || res.IsError == (res.Code == "") {
			t.Fatalf("%s", res.Content)
		}
	})
}
