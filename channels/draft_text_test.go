package channels_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hob/channels"
	"hob/channels/markup"
)

func TestDraftText(t *testing.T) {
	const note = "*Working…*"
	for name, tt := range map[string]struct{ said, note, want string }{
		"nothing yet":             {"", note, note},
		"words":                   {"Hello", "", "Hello"},
		"words and a note":        {"Hello", note, "Hello\n\n" + note},
		"a fence is closed":       {"```go\na := 1", note, "```go\na := 1\n```\n\n" + note},
		"an open mark is text":    {"this is **bold", note, "this is \\*\\*bold\n\n" + note},
		"a list goes on":          {"- a\n- b", note, "- a\n- b\n\n" + note},
		"the start of silence":    {"NO_RE", "", ""},
		"silence":                 {" NO_REPLY\n", note, note},
		"the other silence":       {"HEARTBEAT", note, note},
		"more than silence":       {"NO_REPLY because", "", "NO\\_REPLY because"},
		"spaces":                  {" \n", note, note},
		"it begins like silence":  {"Nothing", "", "Nothing"},
		"what looks like a quote": {"> a", note, "> a\n\n" + note},
	} {
		t.Run(name, func(t *testing.T) {
			got := channels.DraftText(tt.said, tt.note, markup.Telegram())
			form := markup.Telegram()
			if want := form.Render(tt.want).Text; form.Render(got).Text != want {
				t.Errorf("shows %q, want %q", form.Render(got).Text, want)
			}
		})
	}
}

// The draft of any text is one message on every platform, with room for the marks, and ends with the note as
// a separate paragraph.
func TestADraftTextIsOneMessage(t *testing.T) {
	forms := []markup.Form{markup.Telegram(), markup.Slack(), markup.Discord(), markup.Matrix(), markup.Signal(), limited(markup.Plain(), leastLimit)}
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"word ", "\n", "\n\n", "```\n", "- item\n", "> ", "**", "`", "[a](https://a.example)", "| a | b |\n|---|---|\n", "😀", "שלום ", "a&b<c>", strings.Repeat("long", 60)})
		said := strings.Join(rapid.SliceOfN(piece, 0, 200).Draw(t, "said"), "")
		form := rapid.SampledFrom(forms).Draw(t, "form")
		note := rapid.SampledFrom([]string{"", "*Working…*", "*Working…* (`read notes.md`)"}).Draw(t, "note")
		got := channels.DraftText(said, note, form)
		piece0 := form.Render(got + "\n\n(may be a repeat)")
		if size := form.Size(piece0); form.Limit > 0 && size > form.Limit {
			t.Fatalf("%d units of %d: %q", size, form.Limit, got)
		}
		if note != "" {
			if want := form.Render(note).Text; !strings.HasSuffix(strings.TrimSpace(form.Render(got).Text), strings.TrimSpace(want)) {
				t.Fatalf("%s: %q does not end with %q", form.Name, form.Render(got).Text, want)
			}
		}
	})
}
