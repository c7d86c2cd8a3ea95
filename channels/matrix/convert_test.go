package matrix_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestPrivateMessage(t *testing.T) {
	f := server(t)
	f.Room(chat, "named all the same", sam)
	m := one(t, f, func() {
		f.Put(chat, obj{"sender": sam, "type": "m.room.message", "event_id": "$7", "origin_server_ts": int64(1_700_000_000_123), "content": obj{
			"msgtype": "m.text", "body": "hello", "m.relates_to": obj{"m.in_reply_to": obj{"event_id": "$3"}},
		}})
	})
	if m.ID != chat+"/$7" || m.ReplyTo != chat+"/$3" || !m.At.Equal(time.UnixMilli(1_700_000_000_123)) || m.Text != "hello" {
		t.Errorf("message %+v", m)
	}
	if m.From != (channels.Person{ID: sam, Name: "The sam"}) || m.Chat != (channels.Chat{ID: sam}) || m.Mentioned || m.Auto || m.Edits+m.Deletes != "" {
		t.Errorf("from %+v in %+v", m.From, m.Chat)
	}
}

func TestOnlyTwoAreAPrivateChat(t *testing.T) {
	for _, tc := range []struct {
		name, room string
		third      string // membership of somebody else
		private    bool
	}{
		{"two", chat, "", true},
		{"a third", chat, "join", false},
		{"a third who is invited", chat, "invite", false},
		{"a third who has left", chat, "leave", true},
		{"two in a listed room", home, "", false},
	} {
		f := server(t)
		f.Room(tc.room, "", sam)
		if tc.third != "" {
			f.Member(tc.room, eve, tc.third)
		}
		m := one(t, f, func() { f.Say(tc.room, sam, "x") })
		if (m.Chat.Group == "") != tc.private || m.Chat.Group != "" && (m.Chat.Group != tc.room || m.Chat.ID != tc.room) {
			t.Errorf("%s: %+v", tc.name, m.Chat)
		}
	}
}

func TestARoomChangesWhileHobIsInIt(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	b := &channelstest.MessageInbox{}
	listening(t, f, b)
	f.Say(chat, sam, "alone")
	b.Until(t, func() bool { return len(b.List()) == 1 })
	f.Member(chat, eve, "join")
	f.Say(chat, sam, "no more")
	b.Until(t, func() bool { return len(b.List()) == 2 })
	if b.List()[0].Chat.Group != "" || b.List()[1].Chat.Group != chat {
		t.Errorf("received %+v", b.List())
	}
}

func TestContents(t *testing.T) {
	relates := func(kind, id string) obj { return obj{"rel_type": kind, "event_id": id} }
	for _, tc := range []struct {
		name string
		c    obj
		ok   func(channels.Message) bool
	}{
		{"by name, as the program says", obj{"body": "Hob Goblin: hi", "m.mentions": obj{"user_ids": []string{hob}}}, func(m channels.Message) bool { return m.Mentioned && m.Text == "hi" }},
		{"by id", obj{"body": hob + " hi"}, func(m channels.Message) bool { return m.Mentioned && m.Text == "hi" }},
		{"by the name of its server", obj{"body": "HOB, hi"}, func(m channels.Message) bool { return m.Mentioned && m.Text == "hi" }},
		{"in the middle", obj{"body": "ask hob!"}, func(m channels.Message) bool { return m.Mentioned && m.Text == "ask hob!" }},
		{"by a link", obj{"body": "Goblin: hi", "formatted_body": `<a href="https://matrix.to/#/` + hob + `">Goblin</a>: hi`}, func(m channels.Message) bool { return m.Mentioned }},
		{"by a link with escapes", obj{"body": "x", "formatted_body": `<a href="https://matrix.to/#/%40hob%3Ahob.test">x</a>`}, func(m channels.Message) bool { return m.Mentioned }},
		{"about it", obj{"body": "hob is slow"}, func(m channels.Message) bool { return m.Mentioned && m.Text == "hob is slow" }},
		{"only a part of a word", obj{"body": "a hobby"}, func(m channels.Message) bool { return !m.Mentioned }},
		{"somebody else, as the program says", obj{"body": "hob: hi", "m.mentions": obj{}}, func(m channels.Message) bool { return !m.Mentioned }},
		{"everybody", obj{"body": "@room hi", "m.mentions": obj{"room": true}}, func(m channels.Message) bool { return !m.Mentioned }},
		{"only called", obj{"body": "hob:"}, func(m channels.Message) bool { return m.Text == "hob:" }},
		{
			"a reply to hob by an old program",
			obj{"body": "> <" + hob + "> are you\n> sure?\n\nyes", "m.relates_to": obj{"m.in_reply_to": obj{"event_id": "$q"}}},
			func(m channels.Message) bool { return m.Mentioned && m.Text == "yes" && m.ReplyTo == home+"/$q" },
		},
		{
			"a reply to somebody else",
			obj{"body": "> <@eve:far.test> x\n\nyes", "m.relates_to": obj{"m.in_reply_to": obj{"event_id": "$q"}}},
			func(m channels.Message) bool { return !m.Mentioned && m.Text == "yes" },
		},
		{"a quote of one's own", obj{"body": "> <@eve:far.test> x\n\nyes"}, func(m channels.Message) bool { return strings.HasPrefix(m.Text, "> <@eve") }},
		{
			"a quote in a reply",
			obj{"body": "> wise words\n\nyes", "m.relates_to": obj{"m.in_reply_to": obj{"event_id": "$q"}}},
			func(m channels.Message) bool { return strings.HasPrefix(m.Text, "> wise") },
		},
		{"in a thread", obj{"body": "x", "m.relates_to": relates("m.thread", "$root")}, func(m channels.Message) bool { return m.Chat.ID == home+"/$root" && m.Chat.Group == home }},
		{
			"in a thread, for old programs",
			obj{"body": "x", "m.relates_to": obj{"rel_type": "m.thread", "event_id": "$root", "is_falling_back": true, "m.in_reply_to": obj{"event_id": "$l"}}},
			func(m channels.Message) bool { return m.ReplyTo == "" },
		},
		{
			"an edit",
			obj{"body": "* hob: new", "m.new_content": obj{"msgtype": "m.text", "body": "hob: new"}, "m.relates_to": relates("m.replace", "$old")},
			func(m channels.Message) bool {
				return m.Edits == home+"/$old" && m.Text == "new" && m.Mentioned && m.ID != m.Edits
			},
		},
		{"a machine's", obj{"msgtype": "m.notice", "body": "hob: x"}, func(m channels.Message) bool { return m.Auto }},
		{"in the third person", obj{"msgtype": "m.emote", "body": "waves"}, func(m channels.Message) bool { return m.Text == "* The ana waves" }},
		{"a place", obj{"msgtype": "m.location", "body": "Here", "geo_uri": "geo:1,2"}, func(m channels.Message) bool { return m.Text == "[location: 1,2] Here" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := server(t)
			f.Room(home, "Home", ana, eve)
			if tc.c["msgtype"] == nil {
				tc.c["msgtype"] = "m.text"
			}
			m := one(t, f, func() { f.Write(home, ana, tc.c) })
			if !tc.ok(m) || m.Chat.Title != "Home" {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestDeletions(t *testing.T) {
	for name, e := range map[string]obj{
		"up to room version 10": {"redacts": "$old", "content": obj{}},
		"since":                 {"content": obj{"redacts": "$old"}},
	} {
		f := server(t)
		f.Room(chat, "", sam)
		e["sender"], e["type"] = sam, "m.room.redaction"
		if m := one(t, f, func() { f.Put(chat, e) }); m.Deletes != chat+"/$old" || m.Text != "" || m.From.ID != sam {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestFiles(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    obj
		text string
		file channels.Attachment
	}{
		{
			"a picture",
			obj{"msgtype": "m.image", "body": "cat.png", "url": "mxc://hob.test/f1", "info": obj{"mimetype": "image/png", "size": 4}},
			"",
			channels.Attachment{Name: "cat.png", MIME: "image/png", Size: 4},
		},
		{
			"with a caption",
			obj{"msgtype": "m.file", "body": "look", "filename": "a.pdf", "url": "mxc://hob.test/f1"},
			"look",
			channels.Attachment{Name: "a.pdf", MIME: "application/octet-stream"},
		},
		{
			"spoken",
			obj{"msgtype": "m.audio", "body": "v.ogg", "url": "mxc://hob.test/f1", "info": obj{"mimetype": "audio/ogg"}, "org.matrix.msc3245.voice": obj{}},
			"",
			channels.Attachment{Name: "v.ogg", MIME: "audio/ogg", Voice: true},
		},
	} {
		f := server(t)
		f.Room(chat, "", sam)
		f.File("f1", []byte("data"))
		ch := open(t, f)
		b := &channelstest.MessageInbox{}
		channelstest.Keep(t, ch, b)
		f.Listening(t.Context())
		f.Write(chat, sam, tc.c)
		b.Until(t, func() bool { return len(b.List()) == 1 })
		m := b.List()[0]
		if len(m.Files) != 1 || m.Text != tc.text {
			t.Fatalf("%s: %+v", tc.name, m)
		}
		got := m.Files[0]
		if got.Name != tc.file.Name || got.MIME != tc.file.MIME || got.Size != tc.file.Size || got.Voice != tc.file.Voice {
			t.Errorf("%s: %+v", tc.name, got)
		}
		body, err := got.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(body)
		if cerr := body.Close(); err != nil || cerr != nil || string(data) != "data" {
			t.Errorf("%s: read %q, %v, %v", tc.name, data, err, cerr)
		}
	}
}

func TestFilesThatCannotBeHad(t *testing.T) {
	for _, at := range []string{"https://hob.test/f1", "mxc://hob.test/gone", "mxc://hob.test/../../v3/sync", "mxc://hob.test/", "mxc:f1"} {
		f := server(t)
		f.Room(chat, "", sam)
		m := one(t, f, func() { f.Write(chat, sam, obj{"msgtype": "m.file", "body": "x", "url": at}) })
		if body, err := m.Files[0].Open(t.Context()); err == nil {
			_ = body.Close()
			t.Errorf("%s was opened", at)
		}
	}
}
