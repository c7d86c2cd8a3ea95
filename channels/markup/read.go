package markup

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// read parses a Markdown text.
func read(markdown string) doc { return readFor(markdown, maxTable, false) }

// readFor parses a Markdown text for a line of so many columns: a wider table wraps its cells, if it may, or is shown row by row.
func readFor(markdown string, columns int, wraps bool) doc {
	src := []byte(cleaned(markdown))
	pc := parser.NewContext()
	root := markdownParser().Parse(text.NewReader(src), parser.WithContext(pc))
	r := &reader{src: src, columns: columns, wraps: wraps, used: map[string]bool{}}
	r.blocks(root, nil)
	r.unused(pc.References())
	r.out.settle()
	return r.out
}

// markdownParser is goldmark with bounds: an answer of a model must not cost more than linear time, whatever
// it contains.
func markdownParser() parser.Parser {
	marks := new(int)
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(bounded{parser.NewListParser()}, 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(bounded{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewHTMLBlockParser(), 900),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(rationed{parser.NewCodeSpanParser(), marks}, 100),
			util.Prioritized(rationed{parser.NewLinkParser(), marks}, 200),
			util.Prioritized(rationed{parser.NewAutoLinkParser(), marks}, 300),
			util.Prioritized(rationed{parser.NewRawHTMLParser(), marks}, 400),
			util.Prioritized(rationed{parser.NewEmphasisParser(), marks}, 500),
			util.Prioritized(rationed{extension.NewStrikethroughParser(), marks}, 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(fewReferences{parser.LinkReferenceParagraphTransformer}, 100),
			util.Prioritized(smallTables{extension.NewTableParagraphTransformer()}, 200),
		),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

// maxDepth limits the quotes and list items around one block.
const maxDepth = 8

// bounded opens no quote or list beyond maxDepth.
type bounded struct{ parser.BlockParser }

// Open counts the containers above the new block.
func (p bounded) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if n.Kind() == ast.KindBlockquote || n.Kind() == ast.KindListItem {
			depth++
		}
	}
	if depth >= maxDepth {
		return nil, parser.NoChildren
	}
	return p.BlockParser.Open(parent, reader, pc)
}

// maxMarks limits the characters of one paragraph that are tried as marks; further ones are text. Some tries
// scan the whole paragraph.
const maxMarks = 1000

// rationed stops after maxMarks tries. All parsers of a text share the count; one goroutine parses a text.
type rationed struct {
	parser.InlineParser
	marks *int
}

// Parse tries a mark if the ration allows it.
func (p rationed) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if *p.marks >= maxMarks {
		return nil
	}
	*p.marks++
	before := block.PrecendingCharacter()
	line, _ := block.PeekLine()
	n := p.InlineParser.Parse(parent, block, pc)
	if d, ok := n.(*parser.Delimiter); ok {
		text := utf8.AppendRune(nil, before)
		if unicode.Is(unicode.Variation_Selector, before) {
			text = block.Source()[:d.Segment.Start]
		}
		after := '\n'
		if rest := line[d.OriginalLength:]; len(rest) > 0 {
			after, _ = utf8.DecodeRune(rest)
		}
		flank(d, text, after)
	}
	return n
}

// CloseBlock resets the count at the end of a paragraph.
func (p rationed) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	*p.marks = 0
	if c, ok := p.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// fewReferences skips paragraphs that are too long to be link references: each reference moves all lines
// after it.
type fewReferences struct{ parser.ParagraphTransformer }

// Transform skips long paragraphs.
func (t fewReferences) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if node.Lines().Len() <= 500 {
		t.ParagraphTransformer.Transform(node, reader, pc)
	}
}

// smallTables skips tables with far more cells than letters: short rows are filled up to the width of the
// first one.
type smallTables struct{ parser.ParagraphTransformer }

// Transform skips tables that would become too large.
func (t smallTables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	widest, letters := 0, 0
	for i := range lines.Len() {
		line := lines.At(i)
		widest = max(widest, bytes.Count(line.Value(reader.Source()), []byte("|")))
		letters += line.Len()
	}
	if widest*lines.Len() <= 4*letters+1000 {
		t.ParagraphTransformer.Transform(node, reader, pc)
	}
}

// reader converts a parsed text to a doc.
type reader struct {
	src     []byte
	columns int  // the widest table that is shown as one
	wraps   bool // cells of wider tables are wrapped
	out     doc
	ids     int
	used    map[string]bool // addresses that links use, as they were written
}

// next returns a new id for a container or a list.
func (r *reader) next() int {
	r.ids++
	return r.ids
}

// add appends a block that shows something.
func (r *reader) add(l leaf) {
	if l.kind == heading || l.kind == para {
		l.runs = tidy(l.runs)
	}
	if !l.blank() {
		r.out = append(r.out, l)
	}
}

// blocks converts the children of a block. maxDepth limits the recursion.
func (r *reader) blocks(parent ast.Node, path []container) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Blockquote:
			r.blocks(n, within(path, container{id: r.next(), number: -1}))
		case *ast.List:
			r.list(n, path)
		case *ast.Heading:
			r.heading(n, path)
		case *ast.ThematicBreak:
			r.add(leaf{kind: rule, path: path})
		case *ast.FencedCodeBlock:
			r.code(path, language(string(n.Language(r.src))), n.Lines())
		case *ast.CodeBlock:
			r.code(path, "", n.Lines())
		case *ast.HTMLBlock:
			r.html(n, path)
		case *extast.Table:
			r.table(n, path)
		default: // a paragraph, or the text of a tight item
			runs := r.inlines(n)
			if mark, alone := r.checkBox(n); alone {
				runs = []run{{text: strings.TrimSpace(container{number: -1, task: mark}.marker())}}
			}
			r.add(leaf{path: path, runs: runs})
		}
	}
}

// heading converts a heading to one line. A heading with a check box becomes a task in bold.
func (r *reader) heading(n *ast.Heading, path []container) {
	l := leaf{kind: heading, level: n.Level, path: path, runs: r.inlines(n)}
	mark, _ := r.checkBox(n)
	for i := range l.runs {
		l.runs[i].text = strings.ReplaceAll(l.runs[i].text, "\n", " ")
		if mark != noTask {
			l.kind = para
			l.runs[i].style |= bold
		}
	}
	r.add(l)
}

// within returns a path with one more container. It copies, because siblings share the path.
func within(path []container, b container) []container {
	return append(path[:len(path):len(path)], b)
}

// list converts a list. The items keep their list's id, so that a cut list continues with the next number.
func (r *reader) list(n *ast.List, path []container) {
	list, number := r.next(), -1
	if n.IsOrdered() {
		number = n.Start
	}
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		b := container{id: r.next(), list: list, number: number, task: r.task(item), tight: n.IsTight}
		before := len(r.out)
		inside := within(path, b)
		r.blocks(item, inside)
		if len(r.out) == before {
			r.out = append(r.out, leaf{path: inside, runs: []run{{text: gap}}}) // keeps the item visible wherever the text is cut
		}
		if number >= 0 && number < 999_999_999 { // CommonMark numbers have at most nine digits
			number++
		}
	}
}

// task returns the state of an item's check box. A check box without text is shown as a symbol.
func (r *reader) task(item ast.Node) task {
	first := item.FirstChild()
	if first == nil {
		return noTask
	}
	mark, alone := r.checkBox(first)
	if alone {
		return noTask
	}
	return mark
}

// checkBox returns the check box at the beginning of a paragraph, and whether the paragraph has nothing else.
func (r *reader) checkBox(block ast.Node) (mark task, alone bool) {
	n, ok := block.FirstChild().(*extast.TaskCheckBox)
	switch {
	case !ok:
		return noTask, false
	case n.IsChecked:
		mark = done
	default:
		mark = undone
	}
	return mark, leaf{runs: tidy(r.inlines(block))}.blank()
}

// code converts a code block.
func (r *reader) code(path []container, lang string, lines *text.Segments) {
	words := undirected(strings.TrimSuffix(string(lines.Value(r.src)), "\n"))
	r.add(leaf{kind: code, lang: lang, path: path, runs: []run{{text: words}}})
}

// html shows HTML as text.
func (r *reader) html(n *ast.HTMLBlock, path []container) {
	words := string(n.Lines().Value(r.src))
	if n.HasClosure() {
		words += string(n.ClosureLine.Value(r.src))
	}
	r.add(leaf{path: path, runs: []run{{text: words}}})
}

// language returns a valid name of a language, or "".
func language(info string) string {
	for _, c := range info {
		if c >= 0x80 || !alphanumeric(c) && !strings.ContainsRune("+-#_.", c) {
			return ""
		}
	}
	if len(info) > 20 {
		return ""
	}
	return info
}

// alphanumeric reports whether a character is an ASCII letter or digit.
func alphanumeric(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// unused shows the addresses of references that are not used: models list their sources that way.
func (r *reader) unused(refs []parser.Reference) {
	for _, ref := range refs {
		if r.used[string(ref.Destination())] {
			continue
		}
		label := "[" + unescaped(string(ref.Label())) + "] "
		r.add(leaf{runs: append([]run{{text: label}}, r.link(unescaped(string(ref.Destination())), "", 0)...)})
	}
}
