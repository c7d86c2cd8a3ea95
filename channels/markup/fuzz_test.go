package markup_test

import (
	"strings"
	"testing"
	"time"

	"hob/channels/markup"
)

func FuzzSplit(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed, 256)
		f.Add(seed, 0)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if len(text) > 10_000 {
			return
		}
		for _, form := range forms() {
			form.Limit = limit % 5000
			check(t, form, text)
		}
	})
}

func FuzzRender(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		again := markup.Rewrite(text)
		for _, form := range forms() {
			p := form.Render(text)
			checkPiece(t, form, p, text)
			if got := form.Render(again); said(got.Text) != said(p.Text) {
				t.Fatalf("%s: written again as %q it says\n     %q\nnot  %q\ntext %q", form.Name, again, got.Text, p.Text, text)
			}
		}
	})
}

func seeds() []string {
	all := []string{
		"", "plain", "```go\nx\n", "~~~~\n```\n~~~\n~~~~", "- a\n  1. b\n     > c\n\n     d\n- e", "[a](<b c>) ![](x) <https://e.org> [r]\n\n[r]: https://f.org",
		"😀👩‍👩‍👧‍👦🇩🇪", "\u202Eאב\u2067ג", "a\x00b", "\xff\xfe", strings.Repeat("a", 3000), strings.Repeat("> ", 40) + "deep", strings.Repeat("- ", 40) + "deep",
		"| a | b |\n|:-|-:|\n| `x|` | [y](https://e.org) |", "***a** b* __c__ ~~d~~", "- [ ] a\n- [x]\n-\n1)\n", "a\\\nb  \nc", "&#0; &#x110000; &amp;amp;",
	}
	return append(all, strings.Join(bits(), ""))
}

// What makes a reader of Markdown slow: each of these took minutes, or all memory, if some step looked at the whole text for each of its letters.
func TestLargeTextsAreRead(t *testing.T) {
	if testing.Short() {
		t.Skip("reads many megabytes")
	}
	const size = 1 << 20
	for _, unit := range []string{
		"a", ">", "> ", "- ", "1. ", "*a ", "*_~~a", "[", "![", "[a](", "]", "`a", "<", "<a ", "<!--", "&", "|a|b\n", "a\n", "a\n\n", "- a\n", "[a]: b\n", "[a]",
		"\u0301", "\u202Ea", "😀", "```\n", "\\", "a@", "www.", "http://a.",
	} {
		text := strings.Repeat(unit, size/len(unit))
		began := time.Now()
		markup.Telegram().Render(text)
		parts := markup.Telegram().Split(text)
		for _, part := range parts {
			if p := markup.Telegram().Render(part); markup.Telegram().Size(p) > 4096 {
				t.Errorf("%q: a part is too large", unit)
			}
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("1 MB of %q took %v", unit, took)
		}
	}
}
