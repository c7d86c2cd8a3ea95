package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	main "hob/cmd/hob"
	"hob/daemon/api"
)

// record is a conversation in which somebody else writes foreign wherever he can.
func record(foreign string) api.SessionDetail {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	item := func(kind, text, tool, args, id, sender string, foreign bool) api.Item {
		return api.Item{Kind: kind, Text: text, Tool: tool, Args: args, CallID: id, At: at, Sender: sender, Foreign: foreign}
	}
	return api.SessionDetail{
		Session: api.Session{Key: "mail-" + foreign, Created: at, Turns: 2},
		Transcript: []api.Item{
			item("input", "Read `notes.md`:\n```\nan open block", "", "", "", "Sam", false),
			item("reasoning", "not shown", "", "", "", "hob", false),
			item("call", "", "read", `{"path":"notes.md"}`, "1", "", false),
			item("result", "buy milk\nand bread", "read", "", "1", "", false),
			item("call", "", "exec", `{"command":"`+foreign+`"}`, "2", "", true),
			item("result", foreign, "exec", "", "2", "", true),
			item("call", "", "grep", "{}", "3", "", false),
			item("text", "**Milk** and bread.", "", "", "", "hob", false),
			item("input", foreign, "", "", "", foreign, true),
			item("text", "It says: "+foreign, "", "", "", "hob", true),
			item("summary", "Milk was bought.", "", "", "", "summary", false),
		},
	}
}

func TestExportAsMarkdown(t *testing.T) {
	t.Parallel()
	const want = "# Conversation ` mail-x `\n\nlive, 2 turns, since 2026-11-21 09:00\n" +
		"\n**` Sam `** · 2026-11-21 09:00\n\n> Read `notes.md`:\n> ```\n> an open block\n" +
		"\n- called ` read {\"path\":\"notes.md\"} `: ` buy milk and bread ` (18 bytes)\n- called ` exec {\"command\":\"x\"} `: ` x ` (1 byte)\n- called ` grep {} `, which has no result\n" +
		"\n**hob** · 2026-11-21 09:00\n\n> **Milk** and bread.\n" +
		"\n**` x `** · 2026-11-21 09:00 · foreign text\n\n> ```text\n> x\n> ```\n" +
		"\n**hob** · 2026-11-21 09:00 · foreign text\n\n> ```text\n> It says: x\n> ```\n" +
		"\n**hob, a summary of what stands above** · 2026-11-21 09:00\n\n> Milk was bought.\n"
	if got := main.Markdown(record("x")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Nothing that others write becomes a link, a picture, HTML or a heading, or changes where the next text begins.
func FuzzExportAsMarkdown(f *testing.F) {
	for _, s := range []string{
		"", "x", "[click](https://evil.test)", "![](https://evil.test/x.png)", "https://evil.test www.evil.test me@evil.test", "<img src=x><script>alert(1)</script><!--",
		"```\n# heading\n> quote\n", "~~~\n\n\n---\n", "````` [a](b) `````", "` [a](b)", "**", "a\nb\r\n# c\u2028# d\v\f", "&#91;a&#93;(b)", "\\` [a](b)", "[x]: https://evil.test\n[x]", "| a |\n|---|\n", "\x1b[2J\u202e", "- [ ] task", "    code", "<https://evil.test>", strings.Repeat("`", 400),
	} {
		f.Add(s)
	}
	shape := func(s string) (list []string) {
		doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader([]byte(s)))
		_ = ast.Walk(doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) { // it returns no error
			switch n.Kind() {
			case ast.KindLink, ast.KindAutoLink, ast.KindImage, ast.KindRawHTML, ast.KindHTMLBlock, ast.KindHeading, ast.KindBlockquote, ast.KindListItem, ast.KindFencedCodeBlock, ast.KindParagraph:
				if enter {
					list = append(list, n.Kind().String())
				}
			}
			return ast.WalkContinue, nil
		})
		return list
	}
	want := strings.Join(shape(main.Markdown(record("x"))), " ")
	f.Fuzz(func(t *testing.T, foreign string) {
		if strings.TrimSpace(foreign) == "" {
			return // a text without words is left out
		}
		doc := main.Markdown(record(foreign))
		if got := strings.Join(shape(doc), " "); got != want {
			t.Errorf("%q makes\n%s\ninstead of\n%s\n%s", foreign, got, want, doc)
		}
	})
}
