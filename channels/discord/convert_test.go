package discord_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/discord"
)

func TestPrivateMessage(t *testing.T) {
	f := server(t)
	m := one(t, f, obj{"id": "1573836494005600299", "content": "<@7001> hello <@43>", "mentions": []obj{{"id": "43", "username": "kim"}, {"id": "7001"}}, "timestamp": "2026-11-21T22:00:00.500000+00:00"})
	if m.ID != direct+"/1573836494005600299" || m.Text != "hello @kim" || m.Chat != (channels.Chat{ID: sam}) || m.ReplyTo != "" || !m.At.Equal(time.Date(2026, 11, 21, 22, 0, 0, 5e8, time.UTC)) {
		t.Errorf("received %+v", m)
	}
	if m.From != (channels.Person{ID: sam, Name: "Sam"}) || m.Auto || m.Forwarded {
		t.Errorf("from %+v", m)
	}
}

func TestGroups(t *testing.T) {
	called := []obj{{"id": "7001"}}
	for _, tc := range []struct {
		name      string
		m         obj
		text      string
		chat      channels.Chat
		mentioned bool
	}{
		{"called", obj{"content": "<@7001>, hi", "mentions": called}, "hi", channels.Chat{ID: "#2001", Group: "2001", Title: "home"}, true},
		{"called by its nick", obj{"content": " <@!7001>: hi", "mentions": called}, "hi", channels.Chat{ID: "#2001", Group: "2001", Title: "home"}, true},
		{"only called", obj{"content": "<@7001>", "mentions": called}, "@hob", channels.Chat{ID: "#2001", Group: "2001", Title: "home"}, true},
		{"not called", obj{"content": "hi all"}, "hi all", channels.Chat{ID: "#2001", Group: "2001", Title: "home"}, false},
		{"its name written", obj{"content": "<@7001> quoted", "mentions": nil}, "quoted", channels.Chat{ID: "#2001", Group: "2001", Title: "home"}, false},
		{"an answer to it", obj{"content": "yes", "type": 19, "message_reference": obj{"message_id": "4"}, "referenced_message": obj{"author": obj{"id": "7001"}}}, "yes", channels.Chat{ID: "#2001", Group: "2001", Title: "home"}, true},
		{"in a thread", obj{"channel_id": thread, "content": "<@7001> hi", "mentions": called}, "hi", channels.Chat{ID: "#2001/3001", Group: "2001", Title: "plans"}, true},
	} {
		f := server(t)
		f.Thread(thread, group, "plans")
		if tc.m["channel_id"] == nil {
			tc.m["channel_id"] = group
		}
		if tc.name == "only called" {
			tc.m["mentions"] = []obj{{"id": "7001", "username": "hob"}}
		}
		m := one(t, f, tc.m)
		if m.Text != tc.text || m.Chat != tc.chat || m.Mentioned != tc.mentioned {
			t.Errorf("%s: %+v", tc.name, m)
		}
	}
}

func TestElsewhereNobodyIsHeard(t *testing.T) {
	f := server(t)
	f.Group("2002", "another channel")
	f.Thread("3002", "2002", "its thread")
	b := &channelstest.MessageInbox{}
	channelstest.Keep(t, open(t, f), b)
	settled(t, f, b)
	for _, channel := range []string{"2002", "3002", "5555"} {
		f.Push("MESSAGE_CREATE", `{"id":"5","channel_id":"`+channel+`","guild_id":"6001","author":{"id":"42"},"content":"<@7001> hi","mentions":[{"id":"7001"}]}`)
		f.Push("MESSAGE_UPDATE", `{"id":"5","channel_id":"`+channel+`","guild_id":"6001","author":{"id":"42"},"edited_timestamp":"2026-11-21T22:00:00Z","content":"hi"}`)
		f.Push("MESSAGE_DELETE", `{"id":"5","channel_id":"`+channel+`","guild_id":"6001"}`)
		f.Push("INTERACTION_CREATE", `{"id":"5","token":"t","type":3,"channel_id":"`+channel+`","guild_id":"6001","member":{"user":{"id":"42"}},"data":{"custom_id":"/stop"}}`)
	}
	f.Say(sam, "here")
	has(t, b, "here")
	if len(b.List()) != 1 || len(f.Answered()) != 0 {
		t.Errorf("received %+v, answered %q", b.List(), f.Answered())
	}
}

func TestWhoseWords(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    obj
		ok   func(channels.Message) bool
	}{
		{"passed on", obj{"message_reference": obj{"type": 1, "message_id": "4"}, "message_snapshots": []obj{{"message": obj{"content": "/stop"}}}}, func(m channels.Message) bool {
			return m.Forwarded && m.Text == "/stop" && m.ReplyTo == ""
		}},
		{"an answer", obj{"content": "x", "type": 19, "message_reference": obj{"message_id": "4"}}, func(m channels.Message) bool { return m.ReplyTo == direct+"/4" && !m.Mentioned }},
		{"pinned", obj{"type": 6}, func(m channels.Message) bool { return m.Auto }},
		{"of Discord", obj{"author": obj{"id": sam, "system": true}}, func(m channels.Message) bool { return m.Auto }},
		{"a program", obj{"author": obj{"id": sam, "bot": true}}, func(m channels.Message) bool { return m.From.Bot }},
		{"a web hook", obj{"webhook_id": "8", "author": obj{"id": sam, "username": "Sam"}}, func(m channels.Message) bool { return m.From.Bot && m.From.Name == "Sam" }},
		{"hob itself", obj{"author": obj{"id": "7001", "bot": true}, "channel_id": direct}, func(m channels.Message) bool { return m.From.Self }},
		{"a nick", obj{"author": obj{"id": sam, "username": "sam1", "global_name": "Sam"}, "member": obj{"nick": "Boss"}, "channel_id": group}, func(m channels.Message) bool { return m.From.Name == "Boss" }},
		{"a sticker", obj{"sticker_items": []obj{{"name": "Wave"}}}, func(m channels.Message) bool { return m.Text == "[sticker Wave]" }},
		{"a poll", obj{"poll": obj{"question": obj{"text": "When?"}}}, func(m channels.Message) bool { return m.Text == "[poll: When?]" }},
	} {
		if m := one(t, server(t), tc.m); !tc.ok(m) {
			t.Errorf("%s: %+v", tc.name, m)
		}
	}
}

func TestFiles(t *testing.T) {
	f := server(t)
	url := f.File("voice-message.ogg", []byte("OggS"))
	m := one(t, f, obj{"flags": 1 << 13, "attachments": []obj{
		{"filename": "voice-message.ogg", "content_type": "audio/ogg", "size": 4, "url": url, "duration_secs": 1.5},
		{"url": "https://evil.example/x"},
		{"url": "https://cdn.discordapp.com.evil.example/x"},
		{"url": "http://cdn.discordapp.com/x"},
		{"url": "https://u:p" + "@cdn.discordapp.com/x"},
	}})
	if len(m.Files) != 5 {
		t.Fatalf("files %+v", m.Files)
	}
	a := m.Files[0]
	if a.Name != "voice-message.ogg" || a.MIME != "audio/ogg" || a.Size != 4 || !a.Voice || a.Length != 1500*time.Millisecond {
		t.Errorf("file %+v", a)
	}
	body, err := a.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(body)
	if err != nil || string(content) != "OggS" || body.Close() != nil {
		t.Errorf("content %q, %v", content, err)
	}
	for _, a := range m.Files[1:] {
		if _, err := a.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "not on one of Discord's own hosts") {
			t.Errorf("a file of another host: %v", err)
		}
	}
	if leaks := f.Leaks(); len(leaks) != 0 {
		t.Errorf("the token went to %q", leaks)
	}
}

func TestSnowflakes(t *testing.T) {
	// the documentation's example: 175928847299117063 was created on 2016-04-30 11:18:25.796
	at := time.Date(2016, 4, 30, 11, 18, 25, 796e6, time.UTC)
	if got := discord.Since(at); got != "175928847298985984" { // without what stands in the lower 22 bits
		t.Errorf("id %s", got)
	}
	if got := discord.Since(time.Unix(0, 0)); got != "0" {
		t.Errorf("before Discord: %s", got)
	}
	for _, pair := range [][2]string{{"9", "10"}, {"", "1"}, {"175928847298985984", "175928847299117063"}} {
		if discord.Newer(pair[0], pair[1]) != pair[1] || discord.Newer(pair[1], pair[0]) != pair[1] {
			t.Errorf("%q", pair)
		}
	}
}
