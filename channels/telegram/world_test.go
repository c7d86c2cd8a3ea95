package telegram_test

import (
	"fmt"
	"slices"
	"strconv"
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
		f, open := stormy(t, n, token)
		w := world(f, open)
		w.Account.Other = func() channels.Channel {
			_, open := stormy(t, channelstest.NewNetwork(), "7002:another")
			return open()
		}
		return w
	})
}

// stormy is a bot's server on a simulated network, with adapters for it.
func stormy(t *testing.T, n *channelstest.Network, token string) (*channelstest.Telegram, func() channels.Channel) {
	t.Helper()
	f, err := channelstest.TelegramOn(n.Listen(), token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	e := n.Env(t, "telegram", map[string]string{"env:TOKEN": token})
	return f, func() channels.Channel { return openWith(t, e, f) }
}

// world is the private chat with the owner sam.
func world(f *channelstest.Telegram, open func() channels.Channel) channelstest.World {
	faults := map[channelstest.Failure]channelstest.TelegramFault{
		channelstest.Later: {Status: 429, RetryAfter: 7}, channelstest.Refused: {Status: 403}, channelstest.Broken: {Status: 502},
		channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
	}
	f.Knows(sam)
	return channelstest.World{
		Name: "telegram", To: "telegram:42", None: "telegram:4711", Rules: channels.Rules{Owner: []string{"42"}, Groups: []string{"-1001"}},
		Open:  open,
		Say:   func(text string) string { return fmt.Sprintf("7001/42/%d", f.Say(sam, text)) },
		Again: func(id string) { f.Again(numberOf(id)) },
		Noise: func() { noise(f) },
		Fail:  func(k channelstest.Failure) { f.Fail("sendMessage", faults[k]) },
		Sent: func() []string {
			var texts []string
			for _, m := range f.Sent() {
				texts = append(texts, m.Text)
			}
			return texts
		},
		Listening: f.Listening,
		People:    people(f),
		Readers:   readers(f),
		Account: channelstest.Account{
			Revoke: f.Revoke, Drop: f.Drop,
			Rival: func() { f.Fail("getUpdates", slices.Repeat([]channelstest.TelegramFault{{Status: 409}}, 3)...) },
		},
	}
}

// numberOf returns the number at the end of an id.
func numberOf(id string) int64 {
	n, err := strconv.ParseInt(id[strings.LastIndex(id, "/")+1:], 10, 64)
	if err != nil {
		panic(err) // a test's own mistake
	}
	return n
}

// people returns what people can do in Telegram's apps.
func people(f *channelstest.Telegram) channelstest.People {
	send := func(m obj) string {
		m["from"] = f.Person(sam, "Sam")
		n := f.Write(m)
		chat, _ := m["chat"].(map[string]any)
		return fmt.Sprintf("7001/%v/%d", chat["id"], n)
	}
	called := func(text string, more obj) string {
		m := obj{"chat": f.Group(group, "Home"), "text": "@hob_test_bot " + text, "entities": []obj{entity("mention", 0, 13)}}
		for k, v := range more {
			m[k] = v
		}
		return send(m)
	}
	topics := map[string]int{}
	return channelstest.People{
		Edit: func(id, text string) string { return fmt.Sprintf("%s/%d", id, f.Edit(numberOf(id), text)) },
		Attach: func(name string, content []byte) string {
			f.File(name, content)
			return send(obj{"document": obj{"file_id": name, "file_name": name, "file_size": len(content)}})
		},
		Lost: func(name string) string { return send(obj{"document": obj{"file_id": name, "file_name": name}}) },
		Press: func(label string) string {
			sent := f.Sent()
			for _, row := range sent[len(sent)-1].Buttons {
				for _, b := range row {
					if b.Text == label {
						return "7001/callback/" + f.Press(sam, sent[len(sent)-1].ID, b.Data)
					}
				}
			}
			return "no such button"
		},
		Group: func(text string) string { return called(text, nil) },
		Thread: func(name, text string) string {
			if topics[name] == 0 {
				topics[name] = len(topics) + 2
			}
			return called(text, obj{"message_thread_id": topics[name], "is_topic_message": true})
		},
	}
}

// readers returns what people see in Telegram's apps.
func readers(f *channelstest.Telegram) channelstest.Readers {
	return channelstest.Readers{
		Text: func(id string) string {
			for _, m := range f.Sent() {
				if m.ID == numberOf(id) {
					return m.Text
				}
			}
			return ""
		},
		Remove: func(id string) { f.Remove(numberOf(id)) },
		Signs:  func() int { return len(f.Signs()) },
		Buttons: func() []string {
			var labels []string
			sent := f.Sent()
			for _, row := range sent[len(sent)-1].Buttons {
				for _, b := range row {
					labels = append(labels, b.Text)
				}
			}
			return labels
		},
		Refuse: func() { f.Fail("sendDocument", channelstest.TelegramFault{Status: 403}) },
		Files:  func() []channelstest.Shown { return shown(f) },
	}
}

// noise sends data that is not a message.
func noise(f *channelstest.Telegram) {
	f.Fail("getUpdates", channelstest.TelegramFault{Raw: "<html>"}, channelstest.TelegramFault{Status: 502}, channelstest.TelegramFault{Cut: "before"},
		channelstest.TelegramFault{Raw: `{"ok":true,"result":[{"update_id":`}, channelstest.TelegramFault{Raw: `{}`})
	f.Push(`{"update_id":%d,"message":{"message_id":"x"}}`)
	f.Push(`{"update_id":%d}`)
	f.Push(`{"update_id":%d,"message":{"message_id":5,"chat":{"id":42,"type":"private"},"from":{"id":42},"pinned_message":{}}}`)
	f.Push(`{"update_id":%d,"message":{"message_id":6,"chat":{"id":42,"type":"private"},"from":{"id":7001,"is_bot":true},"text":"my own"}}`)
	f.Push(`{"update_id":%d,"callback_query":{"id":"1","from":{"id":42},"data":"/status"}}`)
}

// TestTable checks the row of docs/channels.md.
func TestTable(t *testing.T) {
	f := server(t)
	channelstest.Table(t, "telegram", world(f, func() channels.Channel { return open(t, f) }))
}
