package document

import (
	"fmt"
	"io"
	"mime"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hob/daemon/sys"
	"hob/daemon/text"
)

// Limits of the work on one page.
const (
	maxElements = 50_000  // elements of a page that is searched for its main part
	maxMarkup   = 4 << 20 // bytes of HTML converted to Markdown
	maxTags     = 60_000  // tags and texts of a page; a larger page becomes bare text without being held in memory
	maxCells    = 50_000  // cells of a table that remains a table
)

// readPage writes a web page as Markdown.
func readPage(j job) error {
	at, err := url.Parse(j.args[0])
	if err != nil {
		return fmt.Errorf("read the address of a page: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(io.NewSectionReader(j, 0, j.size), maxMarkup))
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	title, page := markdown(at, Decode(j.args[1], raw))
	if err := j.begin(Opening{Title: title}); err != nil {
		return err
	}
	_, err = io.WriteString(j.w, page)
	return err
}

// Decode converts the body of an answer to text, by its type, a byte order mark, or what HTML and XML say about themselves.
func Decode(contentType string, body []byte) string {
	_, params, _ := mime.ParseMediaType(contentType)
	return text.Declared(params["charset"], strings.Contains(contentType, "html") || strings.Contains(contentType, "xml"), body)
}

// blanks matches two or more empty lines.
var blanks = sys.Regexp(`\n[ \t]*\n(?:[ \t]*\n)+`)

// markdown converts a page to Markdown: its main part if there is a clear one, else the whole page.
// A page that breaks the libraries, or exceeds their limits, becomes bare text.
func markdown(at *url.URL, page string) (title, text string) {
	// Count before parsing: a parsed page takes many times the memory of its text.
	if tags(page) > maxTags {
		return "", BareText(page)
	}
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil { // nested too deep
		return "", BareText(page)
	}
	title = strings.Join(strings.Fields(titleOf(doc)), " ")
	node := doc
	// The title of the article is usually better: <title> also names the site.
	if article, ok := mainPart(doc, at); ok {
		node = article.Node
		if t := strings.Join(strings.Fields(article.Title()), " "); t != "" && t != at.String() {
			title = t
		}
	}
	repair(node, at)
	text, err = converted(node)
	if err != nil {
		text = BareText(page)
	}
	return title, strings.TrimSpace(blanks().ReplaceAllString(text, "\n\n"))
}

// tags counts the tags and texts of a page, up to maxTags + 1.
func tags(page string) (n int) {
	z := html.NewTokenizer(strings.NewReader(page))
	for n <= maxTags && z.Next() != html.ErrorToken {
		n++
	}
	return n
}

// mainPart returns the readable part of a page. It must be a large part of the whole: in a list of
// links, a readable part is only a fragment.
func mainPart(doc *html.Node, at *url.URL) (article readability.Article, ok bool) {
	defer func() {
		if recover() != nil { // the page controls the input of this library
			article, ok = readability.Article{}, false
		}
	}()
	parser := readability.NewParser()
	parser.MaxElemsToParse = maxElements
	article, err := parser.ParseDocument(doc, at)
	if err != nil || article.Node == nil {
		return readability.Article{}, false
	}
	part, whole := letters(article.Node), letters(doc)
	return article, part >= 2000 || part > 0 && part*4 >= whole
}

// converted converts a part of a page to Markdown.
func converted(node *html.Node) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("convert the page: %v", p)
		}
	}()
	tables := table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)) // one long cell must not widen all others
	// Without backslash escapes: they help no reader here, and the check which are needed takes quadratic time.
	conv := converter.NewConverter(
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), tables), converter.WithEscapeMode(converter.EscapeModeDisabled),
	)
	out, err := conv.ConvertNode(node)
	if err != nil {
		return "", fmt.Errorf("convert the page: %w", err)
	}
	return string(out), nil
}

// repair makes links absolute. It removes embedded pictures, links that run scripts, and attributes
// that turn a small table into a large one.
func repair(node *html.Node, at *url.URL) {
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
	// Nodes are removed after the walk, because a removal would end it.
	for _, n := range gone {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
}

// cells returns the number of cells of a table if each row were as long as the longest.
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

// flatten turns a table into paragraphs.
func flatten(t *html.Node) {
	t.Data, t.DataAtom = "div", atom.Div
	for n := range t.Descendants() {
		switch n.DataAtom {
		case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
			n.Data, n.DataAtom = "div", atom.Div
		}
	}
}

// drop removes attributes.
func drop(n *html.Node, names ...string) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return slices.Contains(names, a.Key) })
}

// absolute makes an address attribute absolute. It removes an address outside the web, and returns
// false.
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

// titleOf returns the text of <title>.
func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Title && n.FirstChild != nil && n.Namespace == "" {
			return n.FirstChild.Data
		}
	}
	return ""
}

// letters counts the characters of the visible text below a node. White space counts as single spaces, so that indentation is not text.
func letters(node *html.Node) int {
	var b strings.Builder
	for n := range node.Descendants() {
		if n.Type == html.TextNode && n.Parent != nil && !silent(n.Parent.DataAtom) {
			b.WriteString(n.Data)
			b.WriteByte(' ')
		}
	}
	return utf8.RuneCountInString(strings.Join(strings.Fields(b.String()), " "))
}

// silent reports whether the text of an element is invisible.
func silent(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Title, atom.Noscript, atom.Template, atom.Textarea, atom.Iframe:
		return true
	}
	return false
}

// BareText returns a page without its markup. It uses no more memory than the page and its text.
func BareText(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	z.SetMaxBuf(maxMarkup)
	var b strings.Builder
	var inside atom.Atom
	for b.Len() < maxMarkup {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(blanks().ReplaceAllString(b.String(), "\n\n"))
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
	return strings.TrimSpace(blanks().ReplaceAllString(b.String(), "\n\n"))
}
