package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// Bounds of the work on one page.
const (
	maxElements = 50_000  // of a page in which the readable part is looked for
	maxMarkup   = 4 << 20 // bytes of HTML that become Markdown
	maxTags     = 60_000  // tags and texts of such a page: those of a larger one are not held at once, and become bare text
	maxCells    = 50_000  // of a table that stays a table
)

// readPage writes a web page as Markdown.
func readPage(j job) error {
	at, err := url.Parse(j.args[0])
	if err != nil {
		return fmt.Errorf("read the address of a page: %w", err)
	}
	r, err := decoder(io.NewSectionReader(j, 0, j.size), j.args[1])
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxMarkup))
	if err != nil {
		return fmt.Errorf("decode the text: %w", err)
	}
	title, text := markdown(at, whole8(raw))
	if err := j.begin(Opening{Title: title}); err != nil {
		return err
	}
	_, err = io.WriteString(j.w, text)
	return err
}

// Decode turns bytes into text: by the declared character set, by a mark at the beginning or in the page, else as UTF-8 where it
// is that (https://encoding.spec.whatwg.org).
func Decode(contentType string, body []byte) (string, error) {
	_, params, err := mime.ParseMediaType(contentType)
	markup := strings.Contains(contentType, "html") || strings.Contains(contentType, "xml")
	if (err != nil || params["charset"] == "") && !markup && utf8.Valid(body) {
		return strings.TrimPrefix(string(body), "\ufeff"), nil
	}
	r, err := decoder(bytes.NewReader(body), contentType)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return "", fmt.Errorf("decode the text: %w", err)
	}
	return whole8(text), nil
}

func decoder(r io.Reader, contentType string) (io.Reader, error) {
	d, err := charset.NewReader(r, contentType)
	if errors.Is(err, io.EOF) {
		return strings.NewReader(""), nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the character set: %w", err)
	}
	return d, nil
}

// whole8 is a text in whole UTF-8, without the mark at its beginning.
func whole8(text []byte) string {
	return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\uFFFD"), "\ufeff")
}

// blanks are more empty lines than a reader needs.
var blanks = regexp.MustCompile(`\n[ \t]*\n(?:[ \t]*\n)+`)

// markdown is a page as Markdown: the part that people read, where one stands out, else all of it. A page that breaks the
// libraries, or is too much for them, is shown as its bare text.
func markdown(at *url.URL, page string) (title, text string) {
	if tags(page) > maxTags {
		return "", BareText(page)
	}
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil { // nested too deep
		return "", BareText(page)
	}
	title = strings.Join(strings.Fields(titleOf(doc)), " ")
	node := doc
	if article, ok := mainPart(doc, at); ok {
		node = article.Node
		if t := strings.Join(strings.Fields(article.Title), " "); t != "" && t != at.String() {
			title = t
		}
	}
	mend(node, at)
	text, err = converted(node)
	if err != nil {
		text = BareText(page)
	}
	return title, strings.TrimSpace(blanks.ReplaceAllString(text, "\n\n"))
}

// tags is how many tags and texts a page has, at most one more than maxTags.
func tags(page string) (n int) {
	z := html.NewTokenizer(strings.NewReader(page))
	for n <= maxTags && z.Next() != html.ErrorToken {
		n++
	}
	return n
}

// mainPart is the part of a page that people read. It must be a good part of the whole: of a list of links, a readable part is only a piece.
func mainPart(doc *html.Node, at *url.URL) (article readability.Article, ok bool) {
	defer func() {
		if recover() != nil { // the page decides what this library meets
			article, ok = readability.Article{}, false
		}
	}()
	parser := readability.NewParser()
	parser.MaxElemsToParse = maxElements
	article, err := parser.ParseDocument(doc, at)
	if err != nil || article.Node == nil {
		return readability.Article{}, false
	}
	whole := len(strings.Join(strings.Fields(visible(doc)), " "))
	return article, article.Length >= 2000 || article.Length > 0 && article.Length*4 >= whole
}

// converted is a part of a page as Markdown.
func converted(node *html.Node) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("convert the page: %v", p)
		}
	}()
	tables := table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)) // one long cell must not make all long
	// Without backslashes before signs: they help no reader here, and finding out which of them are needed costs the square of the page.
	conv := converter.NewConverter(
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), tables), converter.WithEscapeMode(converter.EscapeModeDisabled),
	)
	out, err := conv.ConvertNode(node)
	if err != nil {
		return "", fmt.Errorf("convert the page: %w", err)
	}
	return string(out), nil
}

// mend makes links whole, and takes out pictures that are in the page itself, links that are programs, and what makes a small table
// a large one.
func mend(node *html.Node, at *url.URL) {
	var gone []*html.Node
	for n := range node.Descendants() {
		switch n.DataAtom {
		case atom.A:
			absolute(n, "href", at)
		case atom.Img:
			if !absolute(n, "src", at) {
				gone = append(gone, n)
			}
		case atom.Svg, atom.Template:
			gone = append(gone, n)
		case atom.Td, atom.Th:
			drop(n, "colspan", "rowspan")
		case atom.Table:
			if cells(n) > maxCells {
				flatten(n)
			}
		}
	}
	for _, n := range gone {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
}

// cells is how many cells a table would have when each row were as long as the longest.
func cells(t *html.Node) int {
	rows, row, longest := 0, 0, 0
	for n := range t.Descendants() {
		switch n.DataAtom {
		case atom.Tr:
			rows, row = rows+1, 0
		case atom.Td, atom.Th:
			row++
			longest = max(longest, row)
		}
	}
	return rows * longest
}

// flatten makes a table paragraphs.
func flatten(t *html.Node) {
	t.Data, t.DataAtom = "div", atom.Div
	for n := range t.Descendants() {
		switch n.DataAtom {
		case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
			n.Data, n.DataAtom = "div", atom.Div
		}
	}
}

func drop(n *html.Node, names ...string) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return slices.Contains(names, a.Key) })
}

// absolute makes an attribute a whole address; one that is none of the web's is taken out, and reported.
func absolute(n *html.Node, name string, at *url.URL) bool {
	for i, a := range n.Attr {
		if a.Key != name {
			continue
		}
		u, err := at.Parse(strings.TrimSpace(a.Val))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
			n.Attr = append(n.Attr[:i], n.Attr[i+1:]...)
			return false
		}
		n.Attr[i].Val = u.String()
		return true
	}
	return false
}

// titleOf is the text of <title>.
func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Title && n.FirstChild != nil && n.Namespace == "" {
			return n.FirstChild.Data
		}
	}
	return ""
}

// visible is the text of a page outside of its programs.
func visible(doc *html.Node) string {
	var b strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode && n.Parent != nil && !silent(n.Parent.DataAtom) {
			b.WriteString(n.Data)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// silent are the elements whose text nobody sees.
func silent(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Title, atom.Noscript, atom.Template, atom.Textarea, atom.Iframe:
		return true
	}
	return false
}

// BareText is a page without its markup. It holds no more than the page and its text.
func BareText(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	z.SetMaxBuf(maxMarkup)
	var b strings.Builder
	var inside atom.Atom
	for b.Len() < maxMarkup {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(blanks.ReplaceAllString(b.String(), "\n\n"))
		case html.StartTagToken:
			name, _ := z.TagName()
			inside = atom.Lookup(name)
		case html.EndTagToken:
			inside = 0
			b.WriteByte('\n')
		case html.TextToken:
			if !silent(inside) {
				b.Write(z.Text())
			}
		}
	}
	return strings.TrimSpace(blanks.ReplaceAllString(b.String(), "\n\n"))
}
