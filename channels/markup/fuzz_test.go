package markup_test

import (
	"strings"
	"testing"

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
		"| a | b |\n|:-|-:|\n| `x|` | [y](https://e.org) |", "***a** b* __c__ ~~d~~", "- [ ] a\n- [x]\n-\n1)\n", "a\\\nb  \nc", "&#0; &#x110000; &amp;amp;", "~~0~ 00",
	}
	return append(all, strings.Join(bits(), ""))
}
