package markup_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hob/channels/markup"
)

func TestSettled(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"a paragraph":                     "",
		"one\n\ntwo":                      "one\n\n",
		"one\n\n- a\n\n- b":               "one\n\n",
		"- a\n\n- b\n\n  more\n\nend":     "- a\n\n- b\n\n  more\n\n",
		"1. a\n\n2":                       "",
		"```go\na\n\nb\n\nc":              "",
		"```go\na\n\nb\n```\n\nend":       "```go\na\n\nb\n```\n\n",
		"````\n```\n\nx\n\n````\n\nafter": "````\n```\n\nx\n\n````\n\n",
		"> q\n\n**bold** text":            "> q\n\n",
	} {
		if got := text[:markup.Settled(text)]; got != want {
			t.Errorf("of %q %q is settled, want %q", text, got, want)
		}
	}
}

// TestSettledBlocks: an answer that is shown block by block while it grows ends as it is shown at once.
func TestSettledBlocks(t *testing.T) {
	form := markup.Terminal(markup.Screen{Width: 30, UTF8: true})
	rapid.Check(t, func(t *rapid.T) {
		blocks := []string{"some text of a paragraph", "- a\n- b", "- a\n\n- b\n\n  more", "1. x\n2. y", "```go\na\n\nb\n```", "# head", "> quote\n> more", "| a | b |\n|-|-|\n| c | d |", "**bold** text"}
		whole := strings.Join(rapid.SliceOfN(rapid.SampledFrom(blocks), 1, 8).Draw(t, "blocks"), "\n\n")
		var shown []string
		text := ""
		for _, c := range whole {
			text += string(c)
			if n := markup.Settled(text); n > 0 {
				shown = append(shown, form.Render(text[:n]).Text)
				text = text[n:]
			}
		}
		shown = append(shown, form.Render(text).Text)
		got, want := strings.Join(shown, "\n\n"), form.Render(whole).Text
		// Two lists that follow each other are one for Markdown; between them an empty line more may be seen.
		if got != want {
			t.Errorf("block by block:\n%s\nat once:\n%s", got, want)
		}
	})
}
