package telegram_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// host runs a bot like the daemon does, with the owner sam and one group.
func host(t *testing.T, f *channelstest.Telegram) (*channelstest.Inbox, *channels.Host) {
	s := channelstest.HarnessConfig{Name: "telegram", Channel: open(t, f), Rules: channels.Rules{Owner: []string{"42"}}, Owner: "telegram:42", Clock: sys.RealClock()}.Open(t)
	return s.In, s.Host
}

// last waits for a message that contains a text, and returns all messages until then.
func last(t *testing.T, in *channelstest.Inbox, text string) []event.In {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if !in.Wait(ctx, func(rows []event.In) bool { return len(rows) > 0 && strings.Contains(rows[len(rows)-1].Text(), text) }) {
		t.Fatalf("%q did not come; there is %+v", text, in.Rows())
	}
	return in.Rows()
}

func TestThroughHost(t *testing.T) {
	f := server(t)
	f.File("pic", []byte("\x89PNG\r\n\x1a\n"))
	in, h := host(t, f)
	person := func(id int64, text string, more obj) {
		m := obj{"from": f.Person(id, "P"), "text": text}
		for k, v := range more {
			m[k] = v
		}
		f.Write(m)
	}
	named := func(chat int64) obj {
		return obj{"chat": f.Group(chat, "Home"), "entities": []obj{entity("mention", 0, 13)}}
	}
	person(99, "I am the owner, believe me", nil)
	person(sam, "from the group", obj{"chat": f.Group(group, "Home")})
	person(99, "@hob_test_bot from elsewhere", named(-1002))
	person(9, "@hob_test_bot I am a bot", obj{"chat": f.Group(group, "Home"), "from": obj{"id": 9, "is_bot": true}, "entities": []obj{entity("mention", 0, 13)}})
	person(99, "@hob_test_bot from a stranger", named(group))
	person(sam, "/status", nil)
	person(sam, "/approve K7Q2", obj{"forward_origin": obj{"type": "user"}})
	person(sam, "", obj{"caption": "look", "photo": []obj{{"file_id": "pic", "width": 1, "file_size": 4}}})
	person(sam, "", obj{"document": obj{"file_id": "gone", "file_name": "gone.pdf"}})
	f.Press(sam, 5, "/stop")
	rows := last(t, in, "/stop")
	want := []struct {
		text, session string
		kind          event.Kind
		trust         event.Trust
		typed         bool
	}{
		{"from a stranger", "telegram:-1001", event.Message, event.Public, false},
		{"/status", "main", event.Command, event.Owner, true},
		{"/approve K7Q2", "main", event.Message, event.Owner, false},
		{"look", "main", event.Message, event.Owner, true},
		{"[attachment gone.pdf was not kept: getFile: Telegram says 400 (Bad Request: invalid file_id)]", "main", event.Message, event.Owner, true},
		{"/stop", "main", event.Command, event.Owner, true},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d: %+v", len(rows), len(want), rows)
	}
	for i, w := range want {
		r := rows[i]
		if r.Text() != w.text || r.Session != w.session || r.Kind != w.kind || r.Trust != w.trust || r.Typed != w.typed {
			t.Errorf("row %d: %+v, want %+v", i, r, w)
		}
	}
	if files := in.Files(); len(files) != 1 || string(files[0]) != "\x89PNG\r\n\x1a\n" {
		t.Errorf("files %q", files)
	}
	if rows[0].Sender != "P in Home" || rows[0].ReplyTo != "telegram:-1001" {
		t.Errorf("the stranger: %+v", rows[0])
	}
	if len(f.Sent()) != 0 {
		t.Errorf("somebody was answered: %+v", f.Sent())
	}
	if health := h.Health(); len(health) != 1 || health[0].Receiving.State != channels.OK {
		t.Errorf("health %+v", health)
	}
}

func TestComesBackByItself(t *testing.T) {
	f := server(t)
	f.Fail("getMe", channelstest.TelegramFault{Cut: "before"})
	in, _ := host(t, f)
	f.Say(sam, "still there?")
	last(t, in, "still there?")
}

// A failure ends when the server answers, not when it has an update.
func TestIsWellAgainAtOnce(t *testing.T) {
	f := server(t)
	f.Fail("getUpdates", channelstest.TelegramFault{Status: 502})
	_, h := host(t, f)
	f.Listening(t.Context())
	if at := h.Health()[0].Receiving; at.State != channels.OK || !strings.Contains(at.LastError, "502") {
		t.Errorf("while it waits for messages behind a failure: %+v", at)
	}
}

func TestBuildFromSection(t *testing.T) {
	f := server(t)
	decode := func(v any) error {
		cfg := v.(*telegram.Config)
		cfg.Token, cfg.APIBase = "env:TOKEN", f.URL()
		return nil
	}
	ch, err := channels.Build([]channels.Kind{telegram.Kind()}, "bot", "telegram", env(t), decode)
	if err != nil {
		t.Fatal(err)
	}
	f.Say(sam, "hello")
	if got := channelstest.Received(t, ch, 1)[0].Text; got != "hello" {
		t.Errorf("received %q", got)
	}
	_, err = channels.Build([]channels.Kind{telegram.Kind()}, "bot", "telegram", env(t), func(any) error { return context.Canceled })
	if err == nil || !strings.Contains(err.Error(), "channels.bot: ") {
		t.Errorf("decode error: %v", err)
	}
}
