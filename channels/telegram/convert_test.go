package telegram_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

// one converts an update.
func one(t *testing.T, f *channelstest.Telegram, m map[string]any) channels.Message {
	t.Helper()
	if m["from"] == nil {
		m["from"] = f.Person(sam, "Sam")
	}
	f.Write(m)
	return channelstest.Received(t, open(t, f), 1)[0]
}

func entity(kind string, offset, length int) map[string]any {
	return map[string]any{"type": kind, "offset": offset, "length": length}
}

type obj = map[string]any

func TestPrivateMessage(t *testing.T) {
	f := server(t)
	m := one(t, f, obj{"text": "hello", "message_id": int64(7), "date": int64(1_700_000_000), "reply_to_message": obj{"message_id": 3}})
	if m.ID != "7001/42/7" || m.ReplyTo != "7001/42/3" || m.At.Unix() != 1_700_000_000 {
		t.Errorf("ids and time: %+v", m)
	}
	if m.From != (channels.Person{ID: "42", Name: "Sam"}) || m.Chat != (channels.Chat{ID: "42"}) {
		t.Errorf("from %+v in %+v", m.From, m.Chat)
	}
	if m.Forwarded || m.Auto || m.Edits != "" || m.Mentioned || m.Text != "hello" {
		t.Errorf("message %+v", m)
	}
}

func TestWhoseWords(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    obj
		ok   func(channels.Message) bool
	}{
		{"forwarded", obj{"forward_origin": obj{"type": "user"}}, func(m channels.Message) bool { return m.Forwarded && m.From.ID == "42" }},
		{"forwarded, before Bot API 7", obj{"forward_date": 1}, func(m channels.Message) bool { return m.Forwarded }},
		{"made by another bot", obj{"via_bot": obj{"id": 9, "is_bot": true}}, func(m channels.Message) bool { return m.Forwarded }},
		{"a bot", obj{"from": obj{"id": 9, "is_bot": true, "username": "nine"}}, func(m channels.Message) bool { return m.From.Bot && m.From.Name == "nine" }},
		{"hob itself", obj{"from": obj{"id": 7001, "is_bot": true}}, func(m channels.Message) bool { return m.From.Self }},
		{"both names", obj{"from": obj{"id": 5, "first_name": "A", "last_name": "B"}}, func(m channels.Message) bool { return m.From.Name == "A B" }},
		{
			"an anonymous administrator",
			obj{"from": obj{"id": 1087968824, "is_bot": true}, "sender_chat": obj{"id": -1001, "title": "Home"}},
			func(m channels.Message) bool { return m.From == channels.Person{ID: "-1001", Name: "Home"} },
		},
		{"somebody as his channel", obj{"sender_chat": obj{"id": -100500, "title": "News"}}, func(m channels.Message) bool { return m.From.ID == "-100500" && !m.Auto }},
		{"a channel's post", obj{"from": obj{"id": 777000}, "sender_chat": obj{"id": -100500}, "is_automatic_forward": true}, func(m channels.Message) bool { return m.Auto }},
		{"nobody", obj{"from": nil, "sender_chat": nil}, func(m channels.Message) bool { return m.From.ID == "" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := server(t)
			m := obj{"text": "x", "chat": f.Group(group, "Home"), "from": f.Person(sam, "Sam")}
			for k, v := range tc.m {
				m[k] = v
			}
			f.Write(m)
			if got := channelstest.Received(t, open(t, f), 1)[0]; !tc.ok(got) {
				t.Errorf("from %+v, forwarded %v, automatic %v", got.From, got.Forwarded, got.Auto)
			}
		})
	}
}

func TestMentions(t *testing.T) {
	bot := obj{"id": 7001, "is_bot": true}
	for _, tc := range []struct {
		name string
		m    obj
		text string
		call bool
	}{
		{"nothing", obj{"text": "hello all"}, "hello all", false},
		{"the name without an entity", obj{"text": "@hob_test_bot hello"}, "@hob_test_bot hello", false},
		{"at the beginning", obj{"text": "@Hob_Test_Bot, hello", "entities": []obj{entity("mention", 0, 13)}}, "hello", true},
		{"in the middle", obj{"text": "dear @hob_test_bot hello", "entities": []obj{entity("mention", 5, 13)}}, "dear @hob_test_bot hello", true},
		{"behind an emoji", obj{"text": "😀 @hob_test_bot", "entities": []obj{entity("mention", 3, 13)}}, "😀 @hob_test_bot", true},
		{"only the name", obj{"text": "@hob_test_bot", "entities": []obj{entity("mention", 0, 13)}}, "@hob_test_bot", true},
		{"somebody else", obj{"text": "@hob_test_bots hello", "entities": []obj{entity("mention", 0, 14)}}, "@hob_test_bots hello", false},
		{"without a name", obj{"text": "Hob hello", "entities": []obj{{"type": "text_mention", "offset": 0, "length": 3, "user": bot}}}, "hello", true},
		{"another without a name", obj{"text": "Bob hello", "entities": []obj{{"type": "text_mention", "offset": 0, "length": 3, "user": obj{"id": 8}}}}, "Bob hello", false},
		{"a command for it", obj{"text": "/status@hob_test_bot now", "entities": []obj{entity("bot_command", 0, 20)}}, "/status now", true},
		{"a command for another", obj{"text": "/status@other_bot", "entities": []obj{entity("bot_command", 0, 17)}}, "/status@other_bot", false},
		{"a command for whoever", obj{"text": "/status", "entities": []obj{entity("bot_command", 0, 7)}}, "/status", false},
		{"entities that cannot be", obj{"text": "x", "entities": []obj{entity("mention", -1, 5), entity("mention", 0, 99), entity("mention", 9, 1), entity("mention", 0, -1)}}, "x", false},
		{"a reply to it", obj{"text": "yes", "reply_to_message": obj{"message_id": 3, "from": bot}}, "yes", true},
		{"a reply to another", obj{"text": "yes", "reply_to_message": obj{"message_id": 3, "from": obj{"id": 8}}}, "yes", false},
		{"in a topic that it opened", obj{
			"text": "yes", "is_topic_message": true, "message_thread_id": 9,
			"reply_to_message": obj{"message_id": 9, "from": bot, "forum_topic_created": obj{"name": "T"}},
		}, "yes", false},
		{"in a caption", obj{"caption": "@hob_test_bot look", "caption_entities": []obj{entity("mention", 0, 13)}}, "look", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := server(t)
			tc.m["chat"] = f.Group(group, "Home")
			m := one(t, f, tc.m)
			if m.Text != tc.text || m.Mentioned != tc.call {
				t.Errorf("text %q, mentioned %v; want %q, %v", m.Text, m.Mentioned, tc.text, tc.call)
			}
			if m.Chat.Group != "-1001" || m.Chat.Title != "Home" {
				t.Errorf("chat %+v", m.Chat)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    obj
		want channels.Chat
	}{
		{"a group", obj{}, channels.Chat{ID: "-1001", Group: "-1001", Title: "Home"}},
		{"a topic", obj{"message_thread_id": 9, "is_topic_message": true}, channels.Chat{ID: "-1001/9", Group: "-1001", Title: "Home"}},
		{"a line of replies", obj{"message_thread_id": 9}, channels.Chat{ID: "-1001", Group: "-1001", Title: "Home"}},
	} {
		f := server(t)
		tc.m["chat"], tc.m["text"] = f.Group(group, "Home"), "x"
		if got := one(t, f, tc.m).Chat; got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestStart(t *testing.T) {
	for text, want := range map[string]string{"/start": "/help", "/start ABCD-EFGH": "ABCD-EFGH", "/starting": "/starting", "/start@hob_test_bot": "/help"} {
		f := server(t)
		m := obj{"text": text}
		if strings.Contains(text, "@") {
			m["entities"] = []obj{entity("bot_command", 0, len(text))}
		}
		if got := one(t, f, m); got.Text != want || got.Forwarded {
			t.Errorf("%q became %q, forwarded %v; want %q", text, got.Text, got.Forwarded, want)
		}
	}
}

// Anybody can make a link with words that another person sends by pressing START. These are not that person's
// own words.
func TestWordsOfALink(t *testing.T) {
	for _, text := range []string{"/start pay_eve_100_euros", "/start yes", "/start /stop"} {
		if got := one(t, server(t), obj{"text": text}); !got.Forwarded || got.Text != text[len("/start "):] {
			t.Errorf("%q became %q, forwarded %v", text, got.Text, got.Forwarded)
		}
	}
}

func TestEdits(t *testing.T) {
	f := server(t)
	id := f.Say(sam, "five")
	f.Edit(id, "six")
	f.Edit(id, "seven")
	got := channelstest.Received(t, open(t, f), 3)
	if got[0].Edits != "" || got[1].Edits != got[0].ID || got[2].Edits != got[0].ID || got[2].Text != "seven" {
		t.Errorf("edits of %q, %q, %q", got[0].Edits, got[1].Edits, got[2].Edits)
	}
	if got[1].ID == got[0].ID || got[2].ID == got[1].ID {
		t.Errorf("ids %q, %q, %q: each must be its own", got[0].ID, got[1].ID, got[2].ID)
	}
}

// The steps of a live location are edits without an author. None is a message; a message of the same poll
// gets the newest position.
func TestLiveLocations(t *testing.T) {
	f := server(t)
	share := func() int64 {
		return f.Write(obj{"from": f.Person(sam, "Sam"), "location": obj{"latitude": 52.5, "longitude": 13.4, "live_period": 900}})
	}
	first := share()
	f.Move(first, 52.6, 13.5, false)
	f.Move(first, 52.7, 13.6, true)
	b := &channelstest.MessageInbox{}
	channelstest.Keep(t, open(t, f), b)
	b.Came(t, 1)
	second := share()
	b.Came(t, 2)
	f.Move(second, 52.8, 13.7, false)
	last := f.Move(second, 52.9, 13.8, true)
	f.Edit(f.Say(sam, "an"), "end")
	b.Came(t, 4)
	var got []string
	for _, m := range b.List() {
		got = append(got, m.Text)
	}
	if want := []string{"[location: 52.70000, 13.60000]", "[location: 52.50000, 13.40000]", "an", "end"}; !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
	if at := offset(t, b); at <= last {
		t.Errorf("offset %d, want it behind the steps", at)
	}
}

func TestButtons(t *testing.T) {
	f := server(t)
	f.Press(sam, 77, "/approve K7Q2")
	ch := open(t, f)
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, ch, b)
	b.Until(t, func() bool { return len(b.List()) == 1 })
	f.Listening(t.Context())
	stop()
	m := b.List()[0]
	if m.Choice != "/approve K7Q2" || m.Text != "" || m.From.ID != "42" || m.From.Self || m.Chat != (channels.Chat{ID: "42"}) || m.ReplyTo != "7001/42/77" {
		t.Errorf("pressed: %+v", m)
	}
	if answered := f.Answered(); len(answered) != 1 || m.ID != "7001/callback/"+answered[0] {
		t.Errorf("answered %q to %q", answered, m.ID)
	}
}

func TestAButtonIsAnsweredBehindItsCommit(t *testing.T) {
	f := server(t)
	f.Press(sam, 77, "/status")
	b := (&channelstest.MessageInbox{}).FailNext(1)
	b.Each(func([]channels.Message) {
		if n := f.Calls("answerCallbackQuery"); n != 0 {
			t.Errorf("answered before it was stored")
		}
	})
	f.Fail("answerCallbackQuery", channelstest.TelegramFault{Status: 400})
	stop := channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return len(b.List()) == 1 })
	f.Listening(t.Context())
	if errs := stop(); len(errs) != 1 {
		t.Errorf("errors of Run: %v, want only the inbox's: an answer that is too late is no trouble", errs)
	}
}

func TestFiles(t *testing.T) {
	pic := func(id string, w, h int) obj { return obj{"file_id": id, "width": w, "height": h, "file_size": w * h} }
	for _, tc := range []struct {
		name  string
		m     obj
		want  channels.Attachment
		id    string
		words string
	}{
		{"a picture", obj{"photo": []obj{pic("s", 90, 60), pic("l", 1280, 800), pic("m", 320, 200)}, "caption": "see"}, channels.Attachment{Name: "photo.jpg", MIME: "image/jpeg", Size: 1280 * 800}, "l", "see"},
		{"a voice note", obj{"voice": obj{"file_id": "v", "mime_type": "audio/ogg", "file_size": 9}}, channels.Attachment{Name: "voice.ogg", MIME: "audio/ogg", Size: 9, Voice: true}, "v", ""},
		{"music", obj{"audio": obj{"file_id": "a", "file_name": "song.flac", "mime_type": "audio/flac"}}, channels.Attachment{Name: "song.flac", MIME: "audio/flac"}, "a", ""},
		{"a film", obj{"video": obj{"file_id": "f"}}, channels.Attachment{Name: "video.mp4", MIME: "video/mp4"}, "f", ""},
		{"a round film", obj{"video_note": obj{"file_id": "n"}}, channels.Attachment{Name: "video-note.mp4", MIME: "video/mp4"}, "n", ""},
		{"a paper", obj{"document": obj{"file_id": "d", "file_name": "a b.pdf", "mime_type": "application/pdf", "file_size": 3}}, channels.Attachment{Name: "a b.pdf", MIME: "application/pdf", Size: 3}, "d", ""},
		{"an animation, which is a document too", obj{"animation": obj{"file_id": "g", "file_name": "g.mp4"}, "document": obj{"file_id": "g", "file_name": "g.mp4"}}, channels.Attachment{Name: "g.mp4", MIME: "video/mp4"}, "g", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := server(t)
			f.File(tc.id, []byte("content of "+tc.id))
			m := one(t, f, tc.m)
			if len(m.Files) != 1 || m.Text != tc.words {
				t.Fatalf("%d files, text %q", len(m.Files), m.Text)
			}
			a := m.Files[0]
			if a.Name != tc.want.Name || a.MIME != tc.want.MIME || a.Size != tc.want.Size || a.Voice != tc.want.Voice {
				t.Errorf("file %+v, want %+v", a, tc.want)
			}
			if tc.id == "l" {
				f.Fail("file", channelstest.TelegramFault{Status: 502}) // and once more
			}
			body, err := a.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = body.Close() }()
			if content, err := io.ReadAll(body); err != nil || string(content) != "content of "+tc.id {
				t.Errorf("content %q, %v", content, err)
			}
		})
	}
}

func TestFilesThatCannotBeHad(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(*channelstest.Telegram)
		want string
	}{
		{"gone", func(*channelstest.Telegram) {}, "invalid file_id"},
		{"too large for the public server", func(f *channelstest.Telegram) { f.File("x", make([]byte, 20<<20+1)) }, "file is too big"},
		{"on the server's own disk", fails("getFile", channelstest.TelegramFault{Raw: `{"ok":true,"result":{"file_path":"/var/lib/x"}}`}), "start it without --local"},
		{"a path that leaves the folder", fails("getFile", channelstest.TelegramFault{Raw: `{"ok":true,"result":{"file_path":"a/../../../etc"}}`}), "start it without --local"},
	} {
		f := server(t)
		tc.set(f)
		_, err := one(t, f, obj{"document": obj{"file_id": "x"}}).Files[0].Open(t.Context())
		if err == nil || !strings.Contains(err.Error(), tc.want) || f.Calls("getFile") != 1 {
			t.Errorf("%s: %v after %d calls, want %q at the first", tc.name, err, f.Calls("getFile"), tc.want)
		}
	}
}

func TestAlbumsAreMeantAsAWhole(t *testing.T) {
	f := server(t)
	photo := func(album, caption string, from int64) {
		m := obj{"from": f.Person(from, "P"), "chat": f.Group(group, "Home"), "media_group_id": album, "photo": []obj{{"file_id": "p", "width": 1}}}
		if caption != "" {
			m["caption"], m["caption_entities"] = caption, []obj{entity("mention", 0, 13)}
		}
		f.Write(m)
	}
	photo("a", "@hob_test_bot these", sam)
	photo("a", "", sam)
	photo("a", "", 43) // cannot be of it
	photo("b", "", sam)
	want := []bool{true, true, false, false}
	for i, m := range channelstest.Received(t, open(t, f), 4) {
		if m.Mentioned != want[i] {
			t.Errorf("picture %d: mentioned %v, want %v", i, m.Mentioned, want[i])
		}
	}
}

func TestWhatHasNoText(t *testing.T) {
	for want, m := range map[string]obj{
		"[sticker 😀]":                    {"sticker": obj{"emoji": "😀"}},
		"[sticker]":                      {"sticker": obj{}},
		"[location: 52.50000, 13.40000]": {"location": obj{"latitude": 52.5, "longitude": 13.4}},
		"[place: Bar, Street 1]":         {"venue": obj{"title": "Bar", "address": "Street 1"}, "location": obj{}},
		"[contact: A B, +49 1]":          {"contact": obj{"first_name": "A", "last_name": "B", "phone_number": "+49 1"}},
		"[dice 🎲 4]":                     {"dice": obj{"emoji": "🎲", "value": 4}},
		"[poll: Where to?]":              {"poll": obj{"id": "1", "question": "Where to?", "options": []obj{{"text": "here", "voter_count": 0}}}},
		"[story]":                        {"story": obj{"id": 3, "chat": obj{"id": 8, "type": "private"}}},
		"[checklist: Buy; milk; bread]":  {"checklist": obj{"title": "Buy", "tasks": []obj{{"id": 1, "text": "milk", "completion_date": 9}, {"id": 2, "text": "bread"}}}},
		"":                               {"giveaway": obj{"winner_count": 3}},
	} {
		if got := one(t, server(t), m).Text; got != want {
			t.Errorf("text %q, want %q", got, want)
		}
	}
}
