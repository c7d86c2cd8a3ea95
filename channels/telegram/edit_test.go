package telegram_test

import (
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
)

var _ channels.Editor = (*telegram.Channel)(nil)

func TestEditsAMessage(t *testing.T) {
	f := server(t)
	f.Knows(sam)
	c := open(t, f)
	id, err := c.Send(t.Context(), delivery("**one**"))
	if err != nil {
		t.Fatal(err)
	}
	d := delivery("**one** two [a](https://a.example/?x=1&y=2)")
	d.Choices = []channels.Choice{{Label: "yes", Data: "/approve X"}}
	for range 2 { // the second time there is nothing to change, which is well
		if err := c.Edit(t.Context(), d, id); err != nil {
			t.Fatal(err)
		}
	}
	list := f.Sent()
	if len(list) != 1 || list[0].Text != "one two a" || list[0].Mode != "HTML" || strings.Join(list[0].Was, "|") != "one" {
		t.Errorf("there is %+v", list)
	}
	if want := `<b>one</b> two <a href="https://a.example/?x=1&amp;y=2">a</a>`; list[0].Raw != want {
		t.Errorf("sent %q, want %q", list[0].Raw, want)
	}
	if n := f.Calls("editMessageText"); n != 2 {
		t.Errorf("%d calls, want 2: what is there already goes no second time as plain text", n)
	}
}

func TestEditErrors(t *testing.T) {
	f := server(t)
	f.Knows(sam)
	c := open(t, f)
	id, err := c.Send(t.Context(), delivery("one"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		fault channelstest.TelegramFault
		id    string
		want  string
	}{
		"slowly":            {channelstest.TelegramFault{Status: 429, RetryAfter: 7}, id, "later there"},
		"server trouble":    {channelstest.TelegramFault{Status: 502}, id, "plain"},
		"cut off":           {channelstest.TelegramFault{Cut: "before"}, id, "plain"},
		"blocked":           {channelstest.TelegramFault{Status: 403}, id, "permanent"},
		"gone":              {channelstest.TelegramFault{}, "7001/42/999", "permanent"},
		"of another bot":    {channelstest.TelegramFault{}, strings.Replace(id, "7001/", "7002/", 1), "permanent"},
		"no message at all": {channelstest.TelegramFault{}, "", "permanent"},
		"not a number":      {channelstest.TelegramFault{}, "7001/42/x", "permanent"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.fault != (channelstest.TelegramFault{}) {
				f.Fail("editMessageText", tt.fault)
			}
			if got := channelstest.Kind(c.Edit(t.Context(), delivery("two"), tt.id)); got != tt.want {
				t.Errorf("it is %s, want %s", got, tt.want)
			}
		})
	}
	if m := f.Sent()[0]; m.Text != "one" {
		t.Errorf("it says %q", m.Text)
	}
}

// Text that Telegram rejects as HTML is sent as plain text.
func TestEditsPlainWhenTheFormIsNotTaken(t *testing.T) {
	f := server(t)
	f.Knows(sam)
	c := open(t, f)
	id, err := c.Send(t.Context(), delivery("one"))
	if err != nil {
		t.Fatal(err)
	}
	f.Fail("editMessageText", channelstest.TelegramFault{Status: 400})
	if err := c.Edit(t.Context(), delivery("**two**"), id); err != nil {
		t.Fatal(err)
	}
	if m := f.Sent()[0]; m.Text != "two" || m.Mode != "" {
		t.Errorf("there is %+v", m)
	}
}
