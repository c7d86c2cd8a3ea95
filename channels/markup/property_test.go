package markup_test

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hob/channels/markup"
)

func forms() []markup.Form {
	return []markup.Form{
		markup.Telegram(), markup.Slack(), markup.Discord(), markup.Signal(), markup.Matrix(), markup.Mail(), markup.IRC(), markup.Plain(),
	}
}

// bits are parts of answers, and texts that break careless writers.
func bits() []string {
	return []string{
		"word", "two words", " ", "  ", "\n", "\n\n", "\n\n", "**", "*", "_", "~~", "`", "``", "```", "\n```go\n", "\n```\n", "~~~\n", "# ", "\n## Title\n",
		"\n- ", "\n  - ", "\n    * ", "\n1. ", "\n7) ", "\n   3. ", "\n> ", "\n> > ", "> ", "- [ ] ", "\n- [x] ", "\n---\n", "\n===\n", "[", "](", ")", "[label](https://example.org/a_b)",
		"![alt](https://example.org/i.png)", "<https://example.org>", "https://example.org/x?a=1&b=2", "a@example.org", "[bank.example](https://evil.example)",
		"[x](javascript:alert(1))", "\n[r]: https://example.net\n", "[r]", "<b>", "</b>", "<!-- c -->", "\n<div>\n", "&amp;", "&#42;", "&lt;", "&nbsp;", "\\", "\\*", "|", "\n| a | b |\n|---|:-:|\n| 1 | *2* |\n",
		"@everyone", "<@123>", "<!channel>", "😀", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "é", "e\u0301", "שלום", "重要（注意）：", "文", "한", "」", "”", "\ufe01", "\u202Eabc", "\u2067", "\u2069", "\u202C", "\x00", "\xff", "\t", "    ", "\r\n", "\u2028", "\u200b",
		"!", ".", "(", "\"", ":", "1.", "www.example.org", "-", "+", "=", strings.Repeat("long", 90), strings.Repeat("some words ", 40),
	}
}

// said returns the words of a text, without additions of a cut: quotes and directions that are closed and
// opened again.
func said(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '>' || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.FieldsFunc(text, unicode.IsSpace), "")
}

type failer interface{ Fatalf(string, ...any) }

// check checks all guarantees of Split and Render for a form.
func check(t failer, f markup.Form, text string) {
	parts := f.Split(text)
	limit := f.Limit
	if limit > 0 {
		limit = max(limit, 256)
	}
	var joined strings.Builder
	for _, part := range parts {
		p := f.Render(part)
		if size := f.Size(p); limit > 0 && size > limit {
			t.Fatalf("%s: a part has %d of %d\n part %q\n text %q", f.Name, size, limit, part, text)
		}
		checkPiece(t, f, p, text)
		words := markup.Plain().Render(part).Text
		if strings.TrimSpace(words) == "" {
			t.Fatalf("%s: part %q shows nothing, text %q", f.Name, part, text)
		}
		joined.WriteString(said(words))
	}
	if got, want := joined.String(), said(markup.Plain().Render(text).Text); got != want {
		t.Fatalf("%s, limit %d: the parts do not say what the whole says\n got %q\nwant %q\nparts %q\n text %q", f.Name, f.Limit, got, want, parts, text)
	}
}

func checkPiece(t failer, f markup.Form, p markup.Piece, text string) {
	if !utf8.ValidString(p.Text) || !utf8.ValidString(p.HTML) {
		t.Fatalf("%s: not UTF-8: %q", f.Name, p.Text+p.HTML)
	}
	switch f.Name {
	case "telegram":
		wellFormed(t, p.Text, "b i s a code pre blockquote")
	case "matrix", "mail":
		wellFormed(t, p.HTML, "h1 h2 h3 h4 h5 h6 p br hr a ul ol li blockquote pre code strong em del")
	case "slack":
		for _, call := range []string{"<!", "<@", "<#"} {
			if strings.Contains(p.Text, call) {
				t.Fatalf("slack: calls people: %q", p.Text)
			}
		}
	case "discord":
		for _, call := range []string{"@everyone", "@here", "<@", "<#"} {
			if strings.Contains(p.Text, call) {
				t.Fatalf("discord: calls people: %q", p.Text)
			}
		}
	case "irc":
		if strings.ContainsAny(p.Text, "\x00\x01\r") {
			t.Fatalf("irc: control characters in %q", p.Text)
		}
		for line := range strings.SplitSeq(p.Text, "\n") {
			for _, code := range []string{"\x02", "\x1d", "\x1e", "\x11"} {
				if strings.Count(line, code)%2 != 0 {
					t.Fatalf("irc: line %q does not end its marks", line)
				}
			}
		}
	}
	end := 0
	for _, r := range utf16Of(p.Text) {
		end += r
	}
	for i, s := range p.Styles {
		if s.Start < 0 || s.Length <= 0 || s.Start+s.Length > end || i > 0 && s.Start < p.Styles[i-1].Start {
			t.Fatalf("%s: styles %v over %d units, text %q", f.Name, p.Styles, end, text)
		}
	}
}

func utf16Of(s string) []int {
	var all []int
	for _, r := range s {
		all = append(all, utf8.RuneLen(r)/4+1)
	}
	return all
}

// wellFormed parses HTML strictly as XML; only the given tags are allowed, code contains no tags, and
// Telegram's quotes do not nest.
func wellFormed(t failer, html, tags string) {
	dec := xml.NewDecoder(strings.NewReader("<x>" + html + "</x>"))
	allowed := append(strings.Fields(tags), "x")
	depth := map[string]int{}
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("not well-formed: %v: %q", err, html)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			name := tok.Name.Local
			depth[name]++
			telegram := !slices.Contains(allowed, "p")
			if !slices.Contains(allowed, name) || telegram && depth["code"] > 0 && name != "code" || telegram && name == "blockquote" && depth[name] > 1 {
				t.Fatalf("tag %s where it may not be: %q", name, html)
			}
		case xml.EndElement:
			depth[tok.Name.Local]--
		}
	}
}

func TestPartsSayTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits()), 0, 60).Draw(t, "bits"), "")
		limit := rapid.SampledFrom([]int{0, 256, 300, 500, 2000}).Draw(t, "limit")
		for _, f := range forms() {
			f.Limit = limit
			check(t, f, text)
		}
	})
}

// The Markdown that Split writes has the same meaning in every form, not only in plain text.
func TestRewrittenTextIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits()), 0, 30).Draw(t, "bits"), "")
		again := markup.Rewrite(text)
		for _, f := range forms() {
			got, want := f.Render(again), f.Render(text)
			if got.Text != want.Text || got.HTML != want.HTML || !slices.Equal(got.Styles, want.Styles) {
				t.Fatalf("%s:\n got %+q\nwant %+q\nwritten %q\n text %q", f.Name, got.Text+got.HTML, want.Text+want.HTML, again, text)
			}
		}
	})
}
