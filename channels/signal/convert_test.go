package signal_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
)

// one converts a dataMessage from sam.
func one(t *testing.T, f *channelstest.Signal, data obj) channels.Message {
	t.Helper()
	f.Write(sam, data)
	return channelstest.Received(t, open(t, f), 1)[0]
}

func TestPrivateMessage(t *testing.T) {
	m := one(t, server(t), obj{"timestamp": int64(1_700_000_000_123), "message": "hello", "quote": obj{"id": 7, "authorUuid": own}})
	if m.ID != sam+"/1700000000123" || m.ReplyTo != "7" || !m.At.Equal(time.UnixMilli(1_700_000_000_123)) {
		t.Errorf("ids and time: %+v", m)
	}
	if m.From != (channels.Person{ID: sam, Name: "Sam"}) || m.Chat != (channels.Chat{ID: sam}) {
		t.Errorf("from %+v in %+v", m.From, m.Chat)
	}
}

func TestNamesAreShownOnly(t *testing.T) {
	f := server(t)
	f.Envelope(sam, obj{"sourceName": nil, "sourceNumber": "+491707654321", "dataMessage": obj{"timestamp": 1, "message": "a"}})
	f.Envelope("", obj{"sourceUuid": nil, "sourceNumber": "+491707654321", "dataMessage": obj{"timestamp": 2, "message": "b"}})
	list := channelstest.Received(t, open(t, f), 2)
	if list[0].From != (channels.Person{ID: sam, Name: "+491707654321"}) || list[1].From.ID != "" {
		t.Errorf("a number became somebody: %+v", list)
	}
}

func TestGroupMentions(t *testing.T) {
	at := func(start int, uuid string) obj { return obj{"name": uuid, "uuid": uuid, "start": start, "length": 1} }
	for _, tc := range []struct {
		text     string
		mentions []obj
		quote    string
		want     string
		called   bool
	}{
		{"what now", nil, "", "what now", false},
		{"\uFFFC, what now", []obj{at(0, own)}, "", "what now", true},
		{"😀 \uFFFC what now", []obj{at(3, own)}, "", "😀 @hob what now", true}, // units, not characters
		{"\uFFFC \uFFFC what", []obj{at(2, other), at(0, own)}, "", "@" + other + " what", true},
		{"\uFFFC what", []obj{at(0, other)}, "", "@" + other + " what", false},
		{"\uFFFC", []obj{at(0, own)}, "", "@hob", true},
		{"by number \uFFFC", []obj{{"name": phone, "number": phone, "start": 10, "length": 1}}, "", "by number @hob", true},
		{"wild", []obj{at(-1, own), at(9, own), {"uuid": own, "start": 1, "length": 1 << 40}}, "", "wild", false},
		{"and you?", nil, own, "and you?", true},
		{"and you?", nil, other, "and you?", false},
	} {
		data := obj{"message": tc.text, "mentions": tc.mentions, "groupInfo": obj{"groupId": home, "groupName": "Home", "type": "DELIVER"}}
		if tc.quote != "" {
			data["quote"] = obj{"id": 5, "authorUuid": tc.quote}
		}
		m := one(t, server(t), data)
		if m.Text != tc.want || m.Mentioned != tc.called {
			t.Errorf("%q %v: %q, mentioned %v; want %q, %v", tc.text, tc.mentions, m.Text, m.Mentioned, tc.want, tc.called)
		}
		if m.Chat != (channels.Chat{ID: home, Group: home, Title: "Home"}) {
			t.Errorf("chat %+v", m.Chat)
		}
		if want := map[string]string{own: "5", other: other + "/5"}[tc.quote]; m.ReplyTo != want {
			t.Errorf("reply to %q, want %q", m.ReplyTo, want)
		}
	}
}

func TestEditsAndDeletions(t *testing.T) {
	f := server(t)
	first := f.Say(sam, "hullo")
	second := f.Edit(sam, first, obj{"message": "hello"})
	third := f.Write(sam, obj{"message": nil, "remoteDelete": obj{"timestamp": first}})
	list := channelstest.Received(t, open(t, f), 3)
	id := func(n int64) string { return fmt.Sprintf("%s/%d", sam, n) }
	if m := list[1]; m.ID != id(second) || m.Edits != id(first) || m.Text != "hello" {
		t.Errorf("edit %+v", m)
	}
	if m := list[2]; m.ID != id(third) || m.Deletes != id(first) || m.Text != "" {
		t.Errorf("deletion %+v", m)
	}
}

// An owner who lets hob use their own account talks to it in Note to Self; hob's answers there are not input.
func TestNotesToSelf(t *testing.T) {
	f := server(t)
	n := f.Note(own, obj{"message": "a note"})
	f.Note(other, obj{"message": "to somebody else"})
	f.Note(own, obj{"message": "to a group", "groupInfo": obj{"groupId": home}})
	f.Write(own, obj{"message": "my own"})
	f.Note(own, obj{"message": nil, "remoteDelete": obj{"timestamp": n}})
	f.Envelope(sam, obj{"syncMessage": obj{"sentMessage": obj{"destinationUuid": own, "timestamp": 9, "message": "not his to say"}}})
	f.Say(sam, "last")
	list := channelstest.Received(t, open(t, f), 4)
	if m := list[0]; m.ID != fmt.Sprintf("note/%d", n) || m.Text != "a note" || m.From.ID != own || m.From.Self || m.Chat.ID != own {
		t.Errorf("note %+v", m)
	}
	if !list[1].From.Self {
		t.Errorf("own message %+v", list[1])
	}
	if m := list[2]; m.Deletes != list[0].ID {
		t.Errorf("a note taken back: %+v", m)
	}
	if list[3].Text != "last" {
		t.Errorf("%+v", list)
	}
}

func TestAttachments(t *testing.T) {
	f := server(t)
	f.File("pic.jpg", base64.StdEncoding.EncodeToString([]byte("a picture")))
	f.File("odd", "%%%")
	f.Write(sam, obj{"message": "look", "groupInfo": obj{"groupId": home}, "attachments": []obj{
		{"id": "pic.jpg", "filename": "cat.jpg", "contentType": "image/jpeg", "size": 9}, {"id": "x.aac", "contentType": "audio/aac"}, {"id": "odd", "size": -1}, {"contentType": "text/plain"},
	}})
	f.Write(sam, obj{"message": nil, "sticker": obj{"packId": "a", "emoji": "🙂"}})
	list := channelstest.Received(t, open(t, f), 2)
	files := list[0].Files
	if len(files) != 3 || list[1].Text != "[sticker 🙂]" {
		t.Fatalf("%+v", list)
	}
	if a := files[0]; a.Name != "cat.jpg" || a.MIME != "image/jpeg" || a.Size != 9 || a.Voice {
		t.Errorf("picture %+v", a)
	}
	if a := files[1]; a.Name != "x.aac" || !a.Voice {
		t.Errorf("voice %+v", a)
	}
	if a := files[2]; a.MIME != "application/octet-stream" || a.Size != 0 {
		t.Errorf("unknown %+v", a)
	}
	body, err := files[0].Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(body); err != nil || string(got) != "a picture" {
		t.Errorf("%q, %v", got, err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	for _, a := range files[1:] {
		if _, err := a.Open(t.Context()); err == nil {
			t.Errorf("%s was opened", a.Name)
		}
	}
}
