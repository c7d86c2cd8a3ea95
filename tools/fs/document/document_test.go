package document_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"hob/tools/fs/document"
)

func TestParsePages(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{"", "[]"},
		{"  ", "[]"},
		{"1", "[{1 1}]"},
		{"1-3,7", "[{1 3} {7 7}]"},
		{" 2 - 4 , 9 ", "[{2 4} {9 9}]"},
		{"12-", "[{12 0}]"},
		{"5-5", "[{5 5}]"},
		{strings.Repeat("1,", 49) + "1", "[" + strings.TrimSuffix(strings.Repeat("{1 1} ", 50), " ") + "]"},
	} {
		if got, err := document.ParsePages(c.text); err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%q: %v %v", c.text, got, err)
		}
	}
	for _, text := range []string{"0", "-1", "-", "3-1", "1-2-3", "a", "1,", ",", "1;2", "+1", "1.5", "99999999999", "1-99999999999", "٣", strings.Repeat("1,", 50) + "1"} {
		if got, err := document.ParsePages(text); !errors.Is(err, document.ErrPages) {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
}

func FuzzParsePages(f *testing.F) {
	f.Add("1-3,7")
	f.Add("12-")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := document.ParsePages(text)
		if err != nil && !errors.Is(err, document.ErrPages) {
			t.Fatal(err)
		}
		for _, r := range list {
			if r.From < 1 || r.To != 0 && r.To < r.From {
				t.Fatalf("%q: %v", text, list)
			}
		}
	})
}

const space = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:wp="urn:wp"`

// wordFile is a .docx file with a body and other parts, given as name and content in turn.
func wordFile(t testing.TB, body string, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	parts = append(parts, "word/document.xml", "<w:document "+space+"><w:body>"+body+"</w:body></w:document>")
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		must(t, err)
		_, err = io.WriteString(w, parts[i+1])
		must(t, err)
	}
	must(t, z.Close())
	return b.Bytes()
}

// said is a paragraph.
func said(text string) string { return "<w:p><w:r><w:t>" + text + "</w:t></w:r></w:p>" }

func TestWord(t *testing.T) {
	styles := `<w:styles ` + space + `><w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="Text"><w:name w:val="Body"/></w:style></w:styles>`
	notes := `<w:footnotes ` + space + `><w:footnote w:type="separator" w:id="-1">` + said("") + `</w:footnote><w:footnote w:id="2">` + said("as said") + `</w:footnote></w:footnotes>`
	cell := func(paras ...string) string { return "<w:tc>" + strings.Join(paras, "") + "</w:tc>" }
	row := func(cells ...string) string { return "<w:tr>" + strings.Join(cells, "") + "</w:tr>" }
	table := func(rows ...string) string { return "<w:tbl>" + strings.Join(rows, "") + "</w:tbl>" }
	list := func(level, text string) string {
		return `<w:p><w:pPr><w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="3"/></w:numPr></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
	}
	for _, c := range []struct{ name, body, want string }{
		{"paragraphs", said("one") + said("two &amp; three"), "one\ntwo & three\n"},
		{"an empty paragraph", said("one") + said("") + said("two"), "one\n\ntwo\n"},
		{"runs", `<w:p><w:r><w:t>un</w:t></w:r><w:r><w:t xml:space="preserve">broken </w:t></w:r><w:hyperlink><w:r><w:t>link</w:t></w:r></w:hyperlink></w:p>`, "unbroken link\n"},
		{"tab, break, hyphen", `<w:p><w:pPr><w:tabs><w:tab w:val="left" w:pos="1"/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r></w:p>`, "a\tb\nc-d\n"},
		{"a heading", `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Top</w:t></w:r></w:p>`, "# Top\n"},
		{"a heading of a German Word", `<w:p><w:pPr><w:pStyle w:val="berschrift2"/></w:pPr><w:r><w:t>Zwei</w:t></w:r></w:p>`, "## Zwei\n"},
		{"no heading", `<w:p><w:pPr><w:pStyle w:val="Text"/></w:pPr><w:r><w:t>Text</w:t></w:r></w:p>`, "Text\n"},
		{"a list", list("0", "a") + list("1", "b") + list("0", "c"), "- a\n  - b\n- c\n"},
		{"taken out of a list", `<w:p><w:pPr><w:numPr><w:numId w:val="0"/></w:numPr></w:pPr><w:r><w:t>plain</w:t></w:r></w:p>`, "plain\n"},
		{"a table", table(row(cell(said("a")), cell(said("b|c"))), row(cell(said("1"), said("2")), cell(said("")))), "| a | b\\|c |\n| 1 / 2 |  |\n"},
		{"a table in a table", table(row(cell(said("out"), table(row(cell(said("in"))))))), "| out / | in | |\n"},
		{"deleted and inserted text", `<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>`, "new\n"},
		{"moved text", `<w:p><w:moveFrom><w:r><w:t>it</w:t></w:r></w:moveFrom></w:p><w:p><w:moveTo><w:r><w:t>it</w:t></w:r></w:moveTo></w:p>`, "\nit\n"},
		{"a text box with its older form", `<w:p><w:r><w:t>around</w:t><mc:AlternateContent><mc:Choice><w:txbxContent>` + said("box") + `</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>` + said("box") + `</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r></w:p>`, "box\naround\n"},
		{"a picture", `<w:p><w:r><w:drawing><wp:docPr id="1" descr="a cat"/></w:drawing></w:r></w:p>`, "[picture: a cat]\n"},
		{"a field's code", `<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>7</w:t></w:r></w:p>`, "7\n"},
		{"a note", `<w:p><w:r><w:t>claim</w:t><w:footnoteReference w:id="2"/></w:r></w:p>`, "claim[^2]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := wordFile(t, c.body, "word/styles.xml", styles, "word/footnotes.xml", notes)
			got, err := document.WordText(bytes.NewReader(raw), int64(len(raw)))
			if want := c.want + "\n[^2]: as said\n"; err != nil || got != want {
				t.Errorf("%v\n%q, want\n%q", err, got, want)
			}
		})
	}
}

// repeated is a reader of the same text over and over.
func repeated(text string, n int) io.Reader {
	list := make([]io.Reader, n)
	for i := range list {
		list[i] = strings.NewReader(text)
	}
	return io.MultiReader(list...)
}

// packedWord is a .docx file whose document is large and packs well.
func packedWord(t testing.TB, name string, parts ...io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	must(t, err)
	_, err = io.Copy(w, io.MultiReader(parts...))
	must(t, err)
	must(t, z.Close())
	return b.Bytes()
}

func TestWordRefuses(t *testing.T) {
	good := wordFile(t, said("x"))
	var crowd bytes.Buffer
	z := zip.NewWriter(&crowd)
	for i := range 60_000 {
		_, err := z.CreateRaw(&zip.FileHeader{Name: strings.Repeat("n", 100) + fmt.Sprint(i)})
		must(t, err)
	}
	must(t, z.Close())
	for _, c := range []struct {
		name string
		raw  []byte
		kind error
		want string
	}{
		{"nothing", nil, document.ErrBroken, "broken"},
		{"no zip archive", []byte("PK\x03\x04 hello"), document.ErrBroken, "not a valid zip"},
		{"cut off", good[:len(good)-30], document.ErrBroken, "broken"},
		{"another archive", packedWord(t, "x.txt", strings.NewReader("x")), document.ErrBroken, "word/document.xml"},
		{"no XML", packedWord(t, "word/document.xml", strings.NewReader("<w:p")), document.ErrBroken, "broken"},
		{"elements in each other", packedWord(t, "word/document.xml", repeated("<a>", 500)), document.ErrBroken, "more than 400 elements"},
		{"a long tag", packedWord(t, "word/document.xml", strings.NewReader("<a"), repeated(` b=""`, 1<<18)), document.ErrLarge, "a tag or a stretch of text"},
		{"sixty thousand files", crowd.Bytes(), document.ErrLarge, "too many files"},
	} {
		got, err := document.WordText(bytes.NewReader(c.raw), int64(len(c.raw)))
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.50q %v", c.name, got, err)
		}
	}
	if _, err := document.WordText(bytes.NewReader(good), 300<<20); !errors.Is(err, document.ErrLarge) {
		t.Error(err)
	}
}

// A small file in which a large one is packed is not unpacked to its end.
func TestWordBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("unpacks 64 MB")
	}
	raw := packedWord(t, "word/document.xml", strings.NewReader("<w:document "+space+"><w:body>"), repeated("<a/>"+strings.Repeat(" ", 1<<19), 140))
	if _, err := document.WordText(bytes.NewReader(raw), int64(len(raw))); !errors.Is(err, document.ErrLarge) || !strings.Contains(err.Error(), "more than 64 MB") {
		t.Error(err)
	}
}

// More text than is shown is cut, and that is said.
func TestWordIsCut(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 40 MB of XML")
	}
	para := "<w:p><w:r><w:t>" + strings.Repeat("x", 1<<19) + "</w:t></w:r></w:p>"
	raw := packedWord(t, "word/document.xml", strings.NewReader("<w:document "+space+"><w:body>"), repeated(para, 80), strings.NewReader("</w:body></w:document>"))
	got, err := document.WordText(bytes.NewReader(raw), int64(len(raw)))
	if err != nil || len(got) > 33<<20 || !strings.HasSuffix(got, "\n[cut: there is more than 32 MB of text]\n") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func FuzzWord(f *testing.F) {
	f.Add(said("text") + `<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>`)
	f.Add(`<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:p></w:tc></w:tr></w:tbl>`)
	f.Add(`<w:p><w:p><w:t>a</w:p></w:t></w:p>`)
	f.Fuzz(func(t *testing.T, body string) {
		raw := wordFile(t, body)
		got, err := document.WordText(bytes.NewReader(raw), int64(len(raw)))
		if err != nil && !errors.Is(err, document.ErrBroken) && !errors.Is(err, document.ErrLarge) || err == nil && len(got) > 2*len(body)+1000 {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	})
}

func FuzzWordArchive(f *testing.F) {
	f.Add(wordFile(f, said("text")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := document.WordText(bytes.NewReader(raw), int64(len(raw))); err != nil && !errors.Is(err, document.ErrBroken) && !errors.Is(err, document.ErrLarge) {
			t.Fatal(err)
		}
	})
}

func TestNotebook(t *testing.T) {
	image := base64.StdEncoding.EncodeToString(make([]byte, 3000))
	for _, c := range []struct {
		name, json, want string
		cells            int
	}{
		{"no cells", `{"cells": [], "nbformat": 4}`, "", 0},
		{"text and code", `{"nbformat": 4, "cells": [{"cell_type": "markdown", "id": "ab12", "source": ["# Title\n", "text"]}, {"cell_type": "code", "execution_count": 3, "source": "1 + 1", "outputs": []}]}`, "--- cell 1 of 2: markdown, id ab12 ---\n# Title\ntext\n--- cell 2 of 2: code, id 1, run as 3 ---\n1 + 1\n", 2},
		{"what was printed", `{"cells": [{"cell_type": "code", "source": "p()", "outputs": [{"output_type": "stream", "name": "stderr", "text": ["a\n", "\u001b[31mb\u001b[0m"]}]}]}`, "--- cell 1 of 1: code, id 0 ---\np()\n--- output: stderr ---\na\nb\n", 1},
		{"the plainest form", `{"cells": [{"cell_type": "code", "source": "x", "outputs": [{"output_type": "execute_result", "data": {"text/html": "<b>2</b>", "text/plain": ["2"]}}]}]}`, "--- cell 1 of 1: code, id 0 ---\nx\n--- output ---\n2\n", 1},
		{"a picture", `{"cells": [{"cell_type": "code", "source": "x", "outputs": [{"output_type": "display_data", "data": {"image/png": "` + image + `", "text/plain": "<Figure>"}}]}]}`, "--- cell 1 of 1: code, id 0 ---\nx\n--- output ---\n<Figure>\n[picture: image/png, about 3 KB, not shown]\n", 1},
		{"something else", `{"cells": [{"cell_type": "code", "source": "x", "outputs": [{"output_type": "display_data", "data": {"application/x": {"a": 1}}}]}]}`, "--- cell 1 of 1: code, id 0 ---\nx\n--- output ---\n[application/x: not shown]\n", 1},
		{"an error", `{"cells": [{"cell_type": "code", "source": "x", "outputs": [{"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u001b[0;31mE\u001b[0m", "line 1"]}]}]}`, "--- cell 1 of 1: code, id 0 ---\nx\n--- output: error ---\nE\nline 1\n", 1},
		{"an error without its way", `{"cells": [{"cell_type": "code", "source": "x", "outputs": [{"output_type": "error", "ename": "E", "evalue": "v"}]}]}`, "--- cell 1 of 1: code, id 0 ---\nx\n--- output: error ---\nE: v\n", 1},
		{"nbformat 3", `{"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["a\n", "b"], "outputs": []}]}]}`, "--- cell 1 of 1: code, id 0 ---\na\nb\n", 1},
		{"a name with a line break", `{"cells": [{"cell_type": "x\n--- cell 9", "source": "a"}]}`, "--- cell 1 of 1: x --- cell 9, id 0 ---\na\n", 1},
	} {
		got, cells, err := document.NotebookText(strings.NewReader(c.json), int64(len(c.json)))
		if err != nil || got != c.want || cells != c.cells {
			t.Errorf("%s: %v, %d cells\n%q, want\n%q", c.name, err, cells, got, c.want)
		}
	}
	for name, raw := range map[string]string{"cut off": `{"cells": [`, "something else": `{"a": 1}`, "a list": `[]`, "another type": `{"cells": 3}`, "nothing": "", "deep": `{"cells": ` + strings.Repeat("[", 20000)} {
		if _, _, err := document.NotebookText(strings.NewReader(raw), int64(len(raw))); !errors.Is(err, document.ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := document.NotebookText(strings.NewReader(""), 65<<20); !errors.Is(err, document.ErrLarge) {
		t.Error(err)
	}
}

func FuzzNotebook(f *testing.F) {
	f.Add(`{"cells": [{"cell_type": "code", "source": ["a"], "outputs": [{"data": {"image/png": "AAAA"}}, {"text": "b", "traceback": []}]}]}`)
	f.Add(`{"worksheets": [{"cells": [{"input": "\ud800"}]}]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		got, _, err := document.NotebookText(strings.NewReader(raw), int64(len(raw)))
		if err != nil && !errors.Is(err, document.ErrBroken) || !utf8.ValidString(got) {
			t.Fatalf("%q %v", got, err)
		}
	})
}
