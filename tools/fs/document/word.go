package document

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Limits of a Word document.
const (
	maxList  = 2 << 20  // bytes of the list of packed files
	maxXML   = 64 << 20 // bytes of one part, unpacked
	maxToken = 1 << 20  // bytes of one tag or text
	maxHeld  = 6 << 20  // bytes of unfinished paragraphs and table rows
	maxDepth = 400      // nesting depth of elements
)

// readWord writes the text of a .docx file (ECMA-376, WordprocessingML): headings with #, lists
// with -, tables with |, notes at the end. Errors: ErrBroken if it is not a .docx file, ErrLarge if
// it unpacks to too much.
func readWord(j job) error {
	if err := sized(j.size); err != nil {
		return err
	}
	b := &budget{r: j, left: maxList}
	z, err := zip.NewReader(b, j.size)
	if err != nil {
		return broken(err)
	}
	b.left = math.MaxInt64 // the parts have their own limits
	// The styles come first, because the paragraphs refer to them.
	heads, err := headings(z)
	if err != nil {
		return err
	}
	if err := j.begin(Opening{}); err != nil {
		return err
	}
	d := &docx{page: &page{w: j.w}, heads: heads}
	if err := d.part(z, "word/document.xml"); err != nil {
		return err
	}
	// Most documents have no notes, so a missing part is no error here.
	for _, notes := range []string{"word/footnotes.xml", "word/endnotes.xml"} {
		if err := d.part(z, notes); err != nil && !errors.Is(err, errNoPart) {
			return err
		}
	}
	return d.page.end()
}

// budget is a reader that returns only a limited number of bytes.
type budget struct {
	r    io.ReaderAt
	left int64
}

// ReadAt reads while the budget lasts.
func (b *budget) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fmt.Errorf("%w: too many files are packed into it", ErrLarge)
	}
	return b.r.ReadAt(p, at)
}

// errNoPart says that a part of the package does not exist.
var errNoPart = errors.New("a part is missing")

// visitor receives the tokens of a part. more may end the reading early, with or without an error.
type visitor struct {
	start func(xml.StartElement)
	end   func(string)
	text  func(string)
	more  func() (bool, error)
}

// walk reads a part of the package as XML, within the limits. Of alternatives it passes on the
// first, and of moved text only the new place.
func walk(z *zip.Reader, name string, v visitor) (err error) {
	at := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == name })
	if at < 0 {
		return fmt.Errorf("%w: %w: %s", ErrBroken, errNoPart, name)
	}
	f, err := z.File[at].Open()
	if err != nil {
		return broken(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	limited := &io.LimitedReader{R: f, N: maxXML}
	t := &token{r: bufio.NewReader(limited)}
	d := xml.NewDecoder(t)
	for depth, passed := 0, 0; ; { // passed: the depth of an element that is skipped
		// The limit is per token.
		t.size = 0
		token, err := d.Token()
		if errors.Is(err, io.EOF) && depth == 0 {
			return nil
		}
		if limited.N <= 0 {
			return fmt.Errorf("%w: %s has more than %d MB", ErrLarge, name, maxXML>>20)
		}
		if err != nil {
			return broken(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return fmt.Errorf("%w: more than %d elements in each other", ErrBroken, maxDepth)
			}
			if passed == 0 && (e.Name.Local == "Fallback" || e.Name.Local == "moveFrom") { // the same content follows in another form
				passed = depth
			}
			if passed == 0 {
				v.start(e)
			}
		case xml.EndElement:
			if passed == 0 {
				v.end(e.Name.Local)
			}
			if depth--; depth < passed {
				passed = 0
			}
		case xml.CharData:
			if passed == 0 {
				v.text(string(e))
			}
		}
		if more, err := v.more(); err != nil || !more {
			return err
		}
	}
}

// token limits the length of one tag or text, which the decoder holds in memory. The decoder reads
// it byte by byte, so that no byte of the next one is counted.
type token struct {
	r    *bufio.Reader
	size int
}

// ReadByte reads a byte while the limit lasts.
func (t *token) ReadByte() (byte, error) {
	if t.size++; t.size > maxToken {
		return 0, fmt.Errorf("%w: a tag or a stretch of text of more than %d KB", ErrLarge, maxToken>>10)
	}
	return t.r.ReadByte()
}

// Read reads a single byte.
func (t *token) Read(p []byte) (int, error) {
	c, err := t.ReadByte()
	if err != nil || len(p) == 0 {
		return 0, err
	}
	p[0] = c
	return 1, nil
}

// headings finds the paragraph styles that are headings, by their names, which are the same in
// every language of Word.
func headings(z *zip.Reader) (map[string]int, error) {
	heads, id := map[string]int{}, ""
	err := walk(z, "word/styles.xml", visitor{start: func(e xml.StartElement) {
		switch e.Name.Local {
		case "style":
			id = attr(e, "styleId")
		case "name":
			if n := level(attr(e, "val")); n > 0 && len(heads) < 1000 && len(id) < 1000 {
				heads[id] = n
			}
		}
	}, end: func(string) {}, text: func(string) {}, more: func() (bool, error) { return true, nil }})
	if errors.Is(err, errNoPart) {
		return heads, nil
	}
	return heads, err
}

// level returns the level of a heading by the name of its style, or 0.
func level(style string) int {
	style = strings.ToLower(strings.ReplaceAll(style, " ", ""))
	if style == "title" {
		return 1
	}
	if n, ok := strings.CutPrefix(style, "heading"); ok && len(n) == 1 && n[0] >= '1' && n[0] <= '9' {
		return int(n[0] - '0')
	}
	return 0
}

// attr returns an attribute by its local name.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// each is the memory of a paragraph or a cell besides its text, in bytes.
const each = 64

// docx collects the text of a document.
type docx struct {
	page   *page
	held   int // memory of everything unfinished, in bytes
	heads  map[string]int
	paras  []*para     // open paragraphs; nested if a text box is inside one
	tables []openTable // open tables, nested
	write  bool        // inside w:t
	note   string      // number of the note that starts with the next paragraph
}

// para is a paragraph under construction.
type para struct {
	text strings.Builder
	head int // level of a heading
	list int // depth in a list, from 1
}

// openTable is a table under construction: the cells of its current row, and the paragraphs of its
// current cell.
type openTable struct {
	row  []string
	cell []string
}

// part reads one part of the package.
func (d *docx) part(z *zip.Reader, name string) error {
	return walk(z, name, visitor{d.start, d.end, d.text, d.more})
}

// more reports whether there is room for more text. It refuses a document whose unfinished
// paragraphs and rows need too much memory.
func (d *docx) more() (bool, error) {
	if len(d.paras) == 0 && (len(d.tables) == 0 || len(d.tables) == 1 && len(d.tables[0].row)+len(d.tables[0].cell) == 0) {
		d.held = 0
	}
	if d.held > maxHeld {
		return false, fmt.Errorf("%w: a paragraph or a table row of more than %d MB", ErrLarge, maxHeld>>20)
	}
	return !d.page.full, d.page.err
}

// text handles the text of an element.
func (d *docx) text(s string) {
	if d.write {
		d.put(s)
	}
}

// put adds text to the innermost paragraph.
func (d *docx) put(s string) {
	if n := len(d.paras); n > 0 {
		d.paras[n-1].text.WriteString(s)
		d.held += len(s)
	}
}

// start handles the start of an element.
func (d *docx) start(e xml.StartElement) {
	switch e.Name.Local {
	case "p":
		d.paras = append(d.paras, &para{})
		d.held += each
	case "pStyle", "numPr", "ilvl", "numId":
		d.shape(e)
	case "t":
		d.write = true
	case "tab":
		if attr(e, "val") == "" { // otherwise it is a tab stop
			d.put("\t")
		}
	case "br", "cr":
		d.put("\n")
	case "noBreakHyphen":
		d.put("-")
	case "docPr":
		if words := attr(e, "descr"); words != "" {
			d.put("[picture: " + word(words) + "]")
		} else {
			d.put("[picture]")
		}
	case "footnoteReference", "endnoteReference":
		d.put("[^" + word(attr(e, "id")) + "]")
	case "footnote", "endnote":
		if attr(e, "type") == "" { // otherwise it is the line above the notes
			d.note = word(attr(e, "id"))
		}
	case "tbl":
		d.tables = append(d.tables, openTable{})
	}
}

// shape records the kind of a paragraph: heading or list.
func (d *docx) shape(e xml.StartElement) {
	if len(d.paras) == 0 {
		return
	}
	p := d.paras[len(d.paras)-1]
	switch e.Name.Local {
	case "pStyle":
		id := attr(e, "val")
		if p.head = d.heads[id]; p.head == 0 {
			p.head = level(id)
		}
	case "numPr":
		p.list = max(p.list, 1)
	case "ilvl":
		if v := attr(e, "val"); len(v) == 1 && v[0] >= '0' && v[0] <= '8' {
			p.list = int(v[0]-'0') + 1
		}
	case "numId":
		if attr(e, "val") == "0" { // removes the paragraph from the list of its style
			p.list = 0
		}
	}
}

// end handles the end of an element.
func (d *docx) end(name string) {
	switch name {
	case "t":
		d.write = false
	case "p":
		if n := len(d.paras); n > 0 {
			p := d.paras[n-1]
			d.paras = d.paras[:n-1]
			d.emit(p.line())
		}
	case "tc":
		if b := d.table(); b != nil {
			b.row, b.cell = append(b.row, strings.Join(b.cell, " / ")), nil
			d.held += each
		}
	case "tr":
		if b := d.table(); b != nil {
			row := "| " + strings.Join(b.row, " | ") + " |"
			b.row = nil
			d.pass(row)
		}
	case "tbl":
		if n := len(d.tables); n > 0 {
			d.tables = d.tables[:n-1]
		}
	}
}

// line formats a finished paragraph.
func (p *para) line() string {
	text := strings.Trim(p.text.String(), "\n ")
	switch {
	case text == "":
		return ""
	case p.head > 0:
		return strings.Repeat("#", p.head) + " " + text
	case p.list > 0:
		return strings.Repeat("  ", p.list-1) + "- " + text
	}
	return text
}

// table returns the innermost open table, or nil.
func (d *docx) table() *openTable {
	if len(d.tables) == 0 {
		return nil
	}
	return &d.tables[len(d.tables)-1]
}

// emit adds a finished paragraph to its cell or to the page.
func (d *docx) emit(line string) {
	if d.note != "" && line != "" {
		line, d.note = "[^"+d.note+"]: "+line, ""
	}
	if b := d.table(); b != nil {
		if line != "" {
			line = strings.NewReplacer("|", `\|`, "\n", " / ").Replace(line)
			b.cell = append(b.cell, line)
			d.held += len(line) + each
		}
		return
	}
	d.page.add(line, "\n")
}

// pass adds a finished row of the innermost table to the page, or to the cell around the table.
func (d *docx) pass(row string) {
	if n := len(d.tables); n > 1 {
		d.tables[n-2].cell = append(d.tables[n-2].cell, row)
		d.held += len(row) + each
		return
	}
	d.page.add(row, "\n")
}
