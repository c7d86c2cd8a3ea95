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
	maxList  = 2 << 20  // bytes of the list of what is packed into it
	maxXML   = 64 << 20 // bytes of one of its parts, unpacked
	maxToken = 1 << 20  // bytes of one tag or stretch of text, which are held at once
	maxHeld  = 6 << 20  // bytes of the paragraphs and table rows that are not finished
	maxDepth = 400      // of elements in elements
)

// readWord writes the text of a .docx file (ECMA-376, WordprocessingML): headings with #, lists with -, tables with |, notes at the end.
// ErrBroken when it is none, ErrLarge when more is packed into it than is read.
func readWord(j job) error {
	if err := sized(j.size); err != nil {
		return err
	}
	b := &budget{r: j, left: maxList}
	z, err := zip.NewReader(b, j.size)
	if err != nil {
		return broken(err)
	}
	b.left = math.MaxInt64 // the parts have limits of their own
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
	for _, notes := range []string{"word/footnotes.xml", "word/endnotes.xml"} {
		if err := d.part(z, notes); err != nil && !errors.Is(err, errNoPart) {
			return err
		}
	}
	return d.page.end()
}

// budget is a reader that gives out only so many bytes.
type budget struct {
	r    io.ReaderAt
	left int64
}

func (b *budget) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fmt.Errorf("%w: too many files are packed into it", ErrLarge)
	}
	return b.r.ReadAt(p, at)
}

var errNoPart = errors.New("a part is missing")

// visitor is what reads the tokens of a part. more ends the reading early, with an error or without.
type visitor struct {
	start func(xml.StartElement)
	end   func(string)
	text  func(string)
	more  func() (bool, error)
}

// walk reads a part of the package as XML, within the limits. Of alternatives it hands on the first, of moved text the place
// where it is now.
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
	for depth, passed := 0, 0; ; { // passed: the depth of an element that is left out
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
			if passed == 0 && (e.Name.Local == "Fallback" || e.Name.Local == "moveFrom") { // what follows says it again
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

// token refuses a tag or a stretch of text that is too long to be held. The decoder reads it byte by byte, so that no byte of the next
// one is counted.
type token struct {
	r    *bufio.Reader
	size int
}

func (t *token) ReadByte() (byte, error) {
	if t.size++; t.size > maxToken {
		return 0, fmt.Errorf("%w: a tag or a stretch of text of more than %d KB", ErrLarge, maxToken>>10)
	}
	return t.r.ReadByte()
}

func (t *token) Read(p []byte) (int, error) {
	c, err := t.ReadByte()
	if err != nil || len(p) == 0 {
		return 0, err
	}
	p[0] = c
	return 1, nil
}

// headings finds which paragraph styles are headings, by their names, which are the same in every language of Word.
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

// level is the level of a heading by the name of its style, 0 when it is none.
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

// attr is an attribute by its local name.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// each is what a paragraph or a cell takes beside its text.
const each = 64

// docx collects the text of a document.
type docx struct {
	page  *page
	held  int // bytes of what is open, with what it takes to hold them
	heads map[string]int
	paras []*para // those that are open: one in another when a text box stands in it
	boxes []box   // table cells that are open, one in another
	write bool    // inside w:t
	note  string  // number of the note that the next paragraph begins
}

// para is a paragraph that is being read.
type para struct {
	text strings.Builder
	head int // level of a heading
	list int // depth in a list, from 1
}

// box is a table that is being read: the cells of its row, and the paragraphs of its cell.
type box struct {
	row  []string
	cell []string
}

func (d *docx) part(z *zip.Reader, name string) error {
	return walk(z, name, visitor{d.start, d.end, d.text, d.more})
}

// more says whether there is room for more text, and refuses a document whose unfinished paragraphs and rows are too much to hold.
func (d *docx) more() (bool, error) {
	if len(d.paras) == 0 && (len(d.boxes) == 0 || len(d.boxes) == 1 && len(d.boxes[0].row)+len(d.boxes[0].cell) == 0) {
		d.held = 0
	}
	if d.held > maxHeld {
		return false, fmt.Errorf("%w: a paragraph or a table row of more than %d MB", ErrLarge, maxHeld>>20)
	}
	return !d.page.full, d.page.err
}

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
		if attr(e, "val") == "" { // else it is a tab stop
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
		if attr(e, "type") == "" { // else a line that is drawn above notes
			d.note = word(attr(e, "id"))
		}
	case "tbl":
		d.boxes = append(d.boxes, box{})
	}
}

// shape notes what kind of paragraph it is.
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
		if attr(e, "val") == "0" { // takes a paragraph out of its style's list
			p.list = 0
		}
	}
}

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
		if n := len(d.boxes); n > 0 {
			d.boxes = d.boxes[:n-1]
		}
	}
}

// line is a finished paragraph.
func (p *para) line() string {
	text := strings.Trim(p.text.String(), "\n ")
	switch {
	case text == "":
		return ""
	case p.head > 0:
		return strings.Repeat("#", p.head) + " " + text
	case p.list > 0:
		return strings.Repeat("  ", p.list-1) + "- " + text
	default:
		return text
	}
}

// table is the innermost open table.
func (d *docx) table() *box {
	if len(d.boxes) == 0 {
		return nil
	}
	return &d.boxes[len(d.boxes)-1]
}

// emit puts a finished paragraph where it belongs: into its cell, or into the page.
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

// pass puts a finished row of the innermost table into the page, or into the cell that the table stands in.
func (d *docx) pass(row string) {
	if n := len(d.boxes); n > 1 {
		d.boxes[n-2].cell = append(d.boxes[n-2].cell, row)
		d.held += len(row) + each
		return
	}
	d.page.add(row, "\n")
}
