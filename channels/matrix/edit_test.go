package matrix_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/matrix"
)

var _ channels.Editor = (*matrix.Channel)(nil)

func TestEditsAMessage(t *testing.T) {
	f := server(t)
	f.Room(home, "Home", sam, eve)
	c := open(t, f)
	d := delivery("one")
	d.To = "matrix:" + home
	id, err := c.Send(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"**two**", "one", "**two**"} { // also what was there before
		d.Body = text
		if err := c.Edit(t.Context(), d, id); err != nil {
			t.Fatal(err)
		}
	}
	list := f.Sent()
	if len(list) != 4 {
		t.Fatalf("%d events, want 4: each edit is a transaction of its own", len(list))
	}
	for i, want := range []string{"two", "one", "two"} {
		m := list[i+1]
		to, _ := m.Content["m.relates_to"].(map[string]any)
		fresh, _ := m.Content["m.new_content"].(map[string]any)
		if m.Room != home || to["rel_type"] != "m.replace" || home+"/"+to["event_id"].(string) != id {
			t.Errorf("edit %d is %+v", i, m)
		}
		if m.Body() != "* "+want || fresh["body"] != want || fresh["msgtype"] != "m.text" || fresh["m.relates_to"] != nil {
			t.Errorf("edit %d says %+v", i, m.Content)
		}
	}
	fresh := list[1].Content["m.new_content"].(map[string]any)
	if html, _ := fresh["formatted_body"].(string); !strings.Contains(html, "<strong>two</strong>") || fresh["format"] != "org.matrix.custom.html" {
		t.Errorf("the new content is %+v", fresh)
	}
}

func TestEditErrors(t *testing.T) {
	f := server(t)
	f.Room(home, "Home", sam, eve)
	c := open(t, f)
	d := delivery("one")
	d.To = "matrix:" + home
	id, err := c.Send(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		fault channelstest.MatrixFault
		id    string
		want  string
	}{
		"slowly":            {channelstest.MatrixFault{Status: 429, Code: "M_LIMIT_EXCEEDED", RetryMS: 7000}, id, "later"},
		"server trouble":    {channelstest.MatrixFault{Status: 502}, id, "plain"},
		"cut off":           {channelstest.MatrixFault{Cut: "before"}, id, "plain"},
		"not allowed":       {channelstest.MatrixFault{Status: 403, Code: "M_FORBIDDEN"}, id, "permanent"},
		"no room":           {channelstest.MatrixFault{}, "nonsense", "permanent"},
		"no message at all": {channelstest.MatrixFault{}, "", "permanent"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.fault != (channelstest.MatrixFault{}) {
				f.Fail("send", tt.fault)
			}
			if got := channelstest.Kind(c.Edit(t.Context(), d, tt.id)); got != tt.want {
				t.Errorf("it is %s, want %s", got, tt.want)
			}
		})
	}
	if n := len(f.Sent()); n != 1 {
		t.Errorf("%d events", n)
	}
}

// TestEditsOfTheLargestTexts edits drafts to the largest parts, with characters that need most space in JSON
// and HTML: the homeserver accepts them, and the text is complete. Clients without support for edits get the
// beginning.
func TestEditsOfTheLargestTexts(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("plain words ", 8000), strings.Repeat("<&> ", 8000), strings.Repeat("**\u2028<**\n\n", 8000), strings.Repeat("\U0001F600 ", 8000),
		strings.Repeat("\"\\ ", 8000), "```\n" + strings.Repeat("a <- b && c\n", 4000) + "```",
	} {
		f := server(t)
		f.Room(home, "Home", sam, eve)
		c := open(t, f)
		parts := c.Form().Split(text)
		if len(parts) < 2 {
			t.Fatalf("%.10q is no large text: %d parts", text, len(parts))
		}
		d := delivery("draft")
		d.To = "matrix:" + home
		id, err := c.Send(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		d.Body, d.Nonce = parts[0], "whole"
		if _, err := c.Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := c.Edit(t.Context(), d, id); err != nil {
			t.Fatalf("%.10q: %v", text, err)
		}
		whole, edit := f.Sent()[1].Content, f.Sent()[2]
		fresh, _ := edit.Content["m.new_content"].(obj)
		if fresh["body"] != whole["body"] || fresh["formatted_body"] != whole["formatted_body"] || len(edit.Body()) < 300 {
			t.Errorf("%.10q: it says %d bytes, not what was to be said", text, len(fresh["body"].(string)))
		}
		if edit.Content["formatted_body"] != nil || edit.Content["format"] != nil || utf8.RuneCountInString(edit.Body()) > 302 || !strings.HasPrefix(edit.Body(), "* "+whole["body"].(string)[:20]) || !strings.HasSuffix(edit.Body(), "…") {
			t.Errorf("%.10q: programs that know no edits show %q", text, edit.Body())
		}
	}
}
