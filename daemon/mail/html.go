package mail

import (
	"cmp"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// HTMLText converts an HTML mail to plain text: lines and paragraphs, lists, the addresses of links after
// their text, and ">" before quotes. It works on tokens, so that deep nesting costs no memory, and it fetches
// nothing.
func HTMLText(source string) string {
	w := &textWriter{}
	tokens := html.NewTokenizer(strings.NewReader(source))
	for w.out.Len() < MaxText {
		switch tokens.Next() {
		case html.ErrorToken:
			return w.out.String() // the end, or a malformed tag
		case html.TextToken:
			w.words(string(tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			w.begin(tokens.Token())
		case html.EndTagToken:
			w.end(tokens.Token().Data)
		}
	}
	return w.out.String()
}

// textWriter collects the text between tags.
type textWriter struct {
	out    strings.Builder
	breaks int    // newlines due before the next word
	space  bool   // a space is due before the next word
	quote  int    // nesting of quotes
	unread string // the current element whose text is not shown
	pre    bool
	link   string // address of the open link
	since  int    // where the text of the link begins
}

// words writes the text between two tags.
func (w *textWriter) words(text string) {
	if w.unread != "" {
		return
	}
	if w.pre {
		for i, l := range strings.Split(text, "\n") {
			if i > 0 {
				w.breaks++
			}
			w.word(strings.TrimRight(l, "\r"))
		}
		return
	}
	for i, word := range strings.FieldsFunc(text, unicode.IsSpace) {
		w.space = w.space || i > 0 || startsWithSpace(text)
		w.word(word)
		w.space = false
	}
	if last := len(text) - 1; last >= 0 && strings.ContainsRune(" \t\r\n", rune(text[last])) {
		w.space = true
	}
}

// startsWithSpace reports whether a text between two tags begins with white space.
func startsWithSpace(text string) bool { return strings.ContainsRune(" \t\r\n", rune(text[0])) }

// word writes a word, after the due newlines or space.
func (w *textWriter) word(word string) {
	if word == "" {
		return
	}
	switch {
	case w.out.Len() == 0:
		w.out.WriteString(w.prefix())
	case w.breaks > 0:
		w.out.WriteString(strings.Repeat("\n"+w.prefix(), w.breaks))
	case w.space:
		w.out.WriteByte(' ')
	}
	w.breaks, w.space = 0, false
	w.out.WriteString(word)
}

// prefix returns the quote marks of a line. Deeper quotes are not distinguished.
func (w *textWriter) prefix() string { return strings.Repeat("> ", min(w.quote, 5)) }

// due requests at least n newlines before the next word.
func (w *textWriter) due(n int) { w.breaks = max(w.breaks, n) }

// begin handles a start tag: it requests breaks, opens quotes and links, and hides Invisible elements.
func (w *textWriter) begin(t html.Token) {
	switch t.Data {
	case "script", "style", "head", "title", "template", "noscript":
		w.unread = cmp.Or(w.unread, t.Data)
	case "body":
		w.unread = "" // the head may have no end tag
	case "br":
		w.breaks = min(w.breaks+1, 2)
	case "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "hr":
		w.due(2)
	case "div", "tr", "dt", "dd", "section", "article", "header", "footer":
		w.due(1)
	case "td", "th":
		w.space = true
	case "li":
		w.due(1)
		w.word("- ")
	case "blockquote":
		w.due(1)
		w.quote++
	case "pre":
		w.due(1)
		w.pre = true
	case "a":
		w.link, w.since = attr(t, "href"), w.out.Len()
	case "img":
		if alt := strings.TrimSpace(attr(t, "alt")); alt != "" && w.unread == "" {
			w.word("[" + alt + "]")
		}
	}
}

// end handles an end tag.
func (w *textWriter) end(tag string) {
	if tag == w.unread {
		w.unread = ""
	}
	switch tag {
	case "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table":
		w.due(2)
	case "div", "tr", "li", "section", "article", "header", "footer":
		w.due(1)
	case "blockquote":
		w.due(1)
		w.quote = max(0, w.quote-1)
	case "pre":
		w.due(1)
		w.pre = false
	case "a":
		w.target()
	}
}

// target writes the address of a link, unless the link's text already shows it. A reader must see where a
// link leads.
func (w *textWriter) target() {
	said := strings.TrimSpace(w.out.String()[min(w.since, w.out.Len()):])
	web := strings.HasPrefix(w.link, "https://") || strings.HasPrefix(w.link, "http://")
	if web && said != "" && said != w.link && w.link != "https://"+said && w.link != "http://"+said {
		w.space = true
		w.word("(" + strings.Map(visible, w.link) + ")")
	}
	w.link = ""
}

// visible drops white space and Invisible characters from an address.
func visible(r rune) rune {
	if Invisible(r) || unicode.IsSpace(r) {
		return -1
	}
	return r
}

// attr returns an attribute of a tag, "" if it is missing.
func attr(t html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
