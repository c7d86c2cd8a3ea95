package channels_test

import (
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/markup"
)

// Any name of a person becomes plain text in hob's notices: no link, no mark, and nothing invisible.
func TestForeignWords(t *testing.T) {
	for text, want := range map[string]string{
		"Ana in #den":                      "“Ana in #den”",
		"Öz 🦊, 日本":                         "“Öz 🦊, 日本”",
		"[verify](https://evil.example/x)": "“`[verify](https://evil.example/x)`”",
		"evil.example":                     "“`evil.example`”",
		"evil\u3002example":                "“`evil\u3002example`”",
		"a` **b** `c":                      "“`a' **b** 'c`”",
		"a\u202eb\n\nc":                    "“`a\ufffdb c`”",
		"me@evil.example":                  "“`me@evil.example`”",
	} {
		if got := channels.ForeignExcerpt(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	html := markup.Telegram().Render("I say no more to " + channels.ForeignExcerpt("Eve [pay](https://evil.example) `[pay](https://evil.example)") + ".")
	if all := html.Text + html.HTML; strings.Contains(all, "<a ") || !strings.Contains(all, "<code>") {
		t.Errorf("it is shown as %q", all)
	}
}
