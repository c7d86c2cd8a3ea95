package document

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"hob/daemon/sys"
)

// maxNotebook is the maximum size of a notebook in bytes, including its pictures.
const maxNotebook = 32 << 20

// notebook is the part of nbformat 4 that is shown. It also covers nbformat 3, whose cells are
// inside worksheets.
type notebook struct {
	Cells      []cell `json:"cells"`
	Worksheets []struct {
		Cells []cell `json:"cells"`
	} `json:"worksheets"`
	Format *int `json:"nbformat"`
}

// cell is one cell.
type cell struct {
	ID      string   `json:"id"`
	Type    string   `json:"cell_type"`
	Source  lines    `json:"source"`
	Input   lines    `json:"input"` // nbformat 3
	Count   *int     `json:"execution_count"`
	Outputs []output `json:"outputs"`
}

// output is one output of a cell.
type output struct {
	Type      string          `json:"output_type"`
	Name      string          `json:"name"` // name of a stream
	Text      lines           `json:"text"`
	Data      map[string]held `json:"data"` // by media type
	Error     string          `json:"ename"`
	Value     string          `json:"evalue"`
	Traceback []string        `json:"traceback"`
}

// held is a value as it is in the file. It refers to the file's bytes and is not a copy.
type held []byte

// UnmarshalJSON keeps the raw value.
func (h *held) UnmarshalJSON(raw []byte) error {
	*h = raw
	return nil
}

// lines is a text that is stored as one string or as a list of strings.
type lines string

// UnmarshalJSON reads both forms.
func (l *lines) UnmarshalJSON(raw []byte) error {
	var list []string
	if err := json.Unmarshal(raw, &list); err == nil {
		*l = lines(strings.Join(list, ""))
		return nil
	}
	return json.Unmarshal(raw, (*string)(l))
}

// escapes matches colour codes of terminals.
var escapes = sys.Regexp("\x1b\\[[0-9;?]*[A-Za-z]")

// readNotebook writes the text of a Jupyter notebook (nbformat 3 and 4): its cells with their
// outputs. Pictures in the outputs are only named. Errors: ErrBroken if it is not a notebook,
// ErrLarge above maxNotebook.
func readNotebook(j job) error {
	if j.size > maxNotebook {
		return fmt.Errorf("%w: the file has more than %d MB", ErrLarge, maxNotebook>>20)
	}
	raw := make([]byte, j.size)
	if _, err := io.ReadFull(io.NewSectionReader(j, 0, j.size), raw); err != nil {
		return broken(err)
	}
	var n notebook
	if err := json.Unmarshal(raw, &n); err != nil {
		return broken(err)
	}
	for _, w := range n.Worksheets {
		n.Cells = append(n.Cells, w.Cells...)
	}
	if n.Cells == nil && n.Format == nil {
		return fmt.Errorf("%w: it has no cells", ErrBroken)
	}
	if err := j.begin(Opening{Cells: len(n.Cells)}); err != nil {
		return err
	}
	p := page{w: j.w}
	for i, c := range n.Cells {
		p.add(c.title(i+1, len(n.Cells)), "\n", closed(string(c.Source+c.Input)))
		for _, o := range c.Outputs {
			p.add("--- output", o.title(), " ---\n", closed(o.text()))
		}
	}
	return p.end()
}

// title returns the line above a cell: its position, and the id that notebook_edit uses, which is
// its number from 0 if it has none.
func (c cell) title(i, all int) string {
	line := fmt.Sprintf("--- cell %d of %d: %s", i, all, word(c.Type))
	if c.ID != "" {
		line += ", id " + word(c.ID)
	} else {
		line += fmt.Sprintf(", id %d", i-1)
	}
	if c.Count != nil {
		line += fmt.Sprintf(", run as %d", *c.Count)
	}
	return line + " ---"
}

// title returns the label of an output.
func (o output) title() string {
	switch o.Type {
	case "stream":
		return ": " + word(o.Name)
	case "error", "pyerr":
		return ": error"
	}
	return ""
}

// text returns the text of an output, in its plainest form.
func (o output) text() string {
	if o.Error != "" || len(o.Traceback) > 0 {
		if len(o.Traceback) == 0 {
			return o.Error + ": " + o.Value
		}
		return escapes().ReplaceAllString(strings.Join(o.Traceback, "\n"), "")
	}
	if len(o.Data) == 0 {
		return escapes().ReplaceAllString(string(o.Text), "")
	}
	var shown, named []string
	for _, kind := range slices.Sorted(maps.Keys(o.Data)) {
		if strings.HasPrefix(kind, "image/") {
			named = append(named, pictureIn(kind, o.Data[kind]))
		}
	}
	for _, kind := range []string{"text/plain", "text/markdown", "text/latex", "text/html"} {
		var l lines
		if raw, ok := o.Data[kind]; ok && json.Unmarshal(raw, &l) == nil {
			shown = append(shown, escapes().ReplaceAllString(string(l), ""))
			break
		}
	}
	if len(shown)+len(named) == 0 {
		return "[" + word(strings.Join(slices.Sorted(maps.Keys(o.Data)), ", ")) + ": not shown]"
	}
	return strings.Join(append(shown, named...), "\n")
}

// pictureIn returns the text that replaces a picture.
func pictureIn(kind string, raw held) string {
	var l lines
	size := len(raw)
	if one := len(raw) - len(`""`) - bytes.Count(raw, []byte(`\n`))*len(`\n`); raw[0] == '"' && kind != "image/svg+xml" { // avoid decoding: it may be large
		size = base64.StdEncoding.DecodedLen(one)
	} else if json.Unmarshal(raw, &l) == nil {
		size = len(l)
		if kind != "image/svg+xml" {
			size = base64.StdEncoding.DecodedLen(len(strings.TrimRight(string(l), "=\n")) + len(l)%2)
		}
	}
	return fmt.Sprintf("[picture: %s, about %d KB, not shown]", word(kind), (size+1023)/1024)
}

// word shortens a name from a file and keeps it on one line.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// closed adds a line break at the end if there is none.
func closed(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
