package matrix_test

import (
	"slices"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestSuite(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		f := server(t)
		return world(f, func() channels.Channel { return open(t, f) })
	})
}

func TestStorm(t *testing.T) {
	channelstest.Storm(t, func(t *testing.T, n *channelstest.Network) channelstest.World {
		f, open := stormy(t, n, hob)
		w := world(f, open)
		w.Account.Other = func() channels.Channel {
			_, open := stormy(t, channelstest.NewNetwork(), "@other:hob.test")
			return open()
		}
		return w
	})
}

// stormy is a homeserver on a simulated network, with adapters for an account on it.
func stormy(t *testing.T, n *channelstest.Network, me string) (*channelstest.Matrix, func() channels.Channel) {
	t.Helper()
	f := channelstest.MatrixOn(n.Listen(), me, token)
	t.Cleanup(f.Close)
	e := n.Env(t, "matrix", map[string]string{"env:TOKEN": token})
	return f, func() channels.Channel { return openWith(t, e, f) }
}

// world is the private chat with the owner sam.
func world(f *channelstest.Matrix, open func() channels.Channel) channelstest.World {
	f.Room(chat, "", sam)
	f.Room(home, "Home", sam, eve)
	f.Direct(sam, chat)
	faults := map[channelstest.Failure]channelstest.MatrixFault{
		channelstest.Later:   {Status: 429, Code: "M_LIMIT_EXCEEDED", RetryMS: 7000},
		channelstest.Refused: {Status: 403, Code: "M_FORBIDDEN"}, channelstest.Broken: {Status: 502},
		channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
	}
	return channelstest.World{
		Name: "matrix", To: "matrix:" + sam, Rules: channels.Rules{Owner: []string{sam}, Groups: []string{home}},
		Open:  open,
		Say:   func(text string) string { return chat + "/" + f.Say(chat, sam, text) },
		Again: func(id string) { f.Again(eventOf(id)) },
		Noise: func() { noise(f) },
		Fail:  func(k channelstest.Failure) { f.Fail("send", faults[k]) },
		Sent: func() []string {
			var texts []string
			for _, m := range f.Sent() {
				if m.Content["m.new_content"] == nil {
					texts = append(texts, m.Body())
				}
			}
			return texts
		},
		Listening: f.Listening,
		People:    people(f),
		Readers: channelstest.Readers{
			Text:  func(id string) string { return stands(f, eventOf(id)) },
			Files: func() []channelstest.Shown { return shown(f) },
			Signs: func() int {
				return len(slices.DeleteFunc(f.Notes(), func(n string) bool { return !strings.HasPrefix(n, "typing") }))
			},
		},
		Account: channelstest.Account{Revoke: f.Revoke, Lose: f.Forget, Drop: f.Drop},
	}
}

// eventOf returns the event in a message's id.
func eventOf(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// stands returns the text of a message after all edits.
func stands(f *channelstest.Matrix, event string) string {
	text := ""
	for _, m := range f.Sent() {
		relates, _ := m.Content["m.relates_to"].(obj)
		if m.ID == event {
			text = m.Body()
		}
		if replaced, ok := m.Content["m.new_content"].(obj); ok && relates["rel_type"] == "m.replace" && relates["event_id"] == event {
			text, _ = replaced["body"].(string)
		}
	}
	return text
}

// people returns what people can do in Matrix clients.
func people(f *channelstest.Matrix) channelstest.People {
	write := func(room string, content obj) string { return room + "/" + f.Write(room, sam, content) }
	called := func(text string, more obj) string {
		content := obj{"msgtype": "m.text", "body": "hob: " + text, "m.mentions": obj{"user_ids": []string{hob}}}
		for k, v := range more {
			content[k] = v
		}
		return write(home, content)
	}
	file := func(name string, size int) string {
		return write(chat, obj{"msgtype": "m.file", "body": name, "url": "mxc://hob.test/" + name, "info": obj{"size": size}})
	}
	return channelstest.People{
		Edit: func(id, text string) string {
			return write(chat, obj{
				"msgtype": "m.text", "body": "* " + text, "m.new_content": obj{"msgtype": "m.text", "body": text},
				"m.relates_to": obj{"rel_type": "m.replace", "event_id": eventOf(id)},
			})
		},
		Delete: func(id string) {
			f.Put(chat, obj{"sender": sam, "type": "m.room.redaction", "content": obj{"redacts": eventOf(id)}})
		},
		Attach: func(name string, content []byte) string {
			f.File(name, content)
			return file(name, len(content))
		},
		Lost:  func(name string) string { return file(name, 0) },
		Group: func(text string) string { return called(text, nil) },
		Thread: func(name, text string) string {
			return called(text, obj{"m.relates_to": obj{"rel_type": "m.thread", "event_id": "$root-of-" + name}})
		},
	}
}

// noise sends data that is not a message.
func noise(f *channelstest.Matrix) {
	f.Fail("sync", channelstest.MatrixFault{Raw: "<html>"}, channelstest.MatrixFault{Status: 502}, channelstest.MatrixFault{Cut: "before"},
		channelstest.MatrixFault{Raw: `{"rooms":{"join":`}, channelstest.MatrixFault{Raw: `{}`})
	f.Put(chat, obj{"sender": sam, "type": "m.room.message", "content": "x"})
	f.Put(chat, obj{"sender": sam, "type": "m.room.message", "content": obj{}}) // redacted
	f.Put(chat, obj{"sender": 5, "type": "m.room.message"})
	f.Put(chat, obj{"sender": sam, "type": "m.reaction", "content": obj{"body": "no text"}})
	f.State(chat, sam, "m.room.message", "", obj{"msgtype": "m.text", "body": "state"})
	f.Say(chat, hob, "my own")
	f.Write(chat, sam, obj{"msgtype": "m.notice", "body": "a machine's"})
}

// TestTable checks the row of docs/channels.md.
func TestTable(t *testing.T) {
	f := server(t)
	channelstest.Table(t, "matrix", world(f, func() channels.Channel { return open(t, f) }))
}
