package discord_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/discord"
	"hob/daemon/event"
	"hob/daemon/sys"
)

func TestMain(m *testing.M) { channelstest.Main(m) }

const (
	token  = "MTk4.Cl2FMQ.secret-part_of-it"
	sam    = "42" // the owner
	group  = "2001"
	thread = "3001"
	direct = "9000042" // the private chat with sam
)

func server(t testing.TB) *channelstest.Discord {
	f, err := channelstest.NewDiscord("", token)
	if err != nil {
		t.Fatal(err)
	}
	f.Group(group, "home")
	f.Direct(sam)
	t.Cleanup(f.Close)
	return f
}

func env(t testing.TB, f *channelstest.Discord) channels.Env {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	web := &http.Client{Transport: tr, Timeout: 10 * time.Second}
	if f != nil {
		web = f.Client(web)
	}
	return channels.Env{
		Name: "discord", HTTP: web, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
		Owner: owner,
		Secret: func(ref string) (string, error) {
			switch ref {
			case "env:TOKEN":
				return token + "\n", nil
			case "env:ODD":
				return "MTk4 x", nil
			}
			return "", fmt.Errorf("no secret %s", ref)
		},
	}
}

func open(t testing.TB, f *channelstest.Discord) *discord.Channel { return openIn(t, env(t, f)) }

func openIn(t testing.TB, e channels.Env) *discord.Channel {
	t.Helper()
	ch, err := discord.New(e, discord.Config{Token: "env:TOKEN", Audience: channels.Audience{Groups: []string{group}}})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestSuite(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		f := server(t)
		return world(f, func() channels.Channel { return open(t, f) })
	})
}

func TestStorm(t *testing.T) {
	channelstest.Storm(t, func(t *testing.T, n *channelstest.Network) channelstest.World {
		f := channelstest.DiscordOn(n.Listen(), token)
		f.Group(group, "home")
		f.Direct(sam)
		t.Cleanup(f.Close)
		e := n.Env(t, "discord", map[string]string{"env:TOKEN": token})
		e.HTTP, e.Owner = f.Client(e.HTTP), owner
		return world(f, func() channels.Channel { return openIn(t, e) })
	})
}

func owner() []event.Address { return []event.Address{"discord:" + sam} }

// world is the private chat with the owner sam, and a group.
func world(f *channelstest.Discord, open func() channels.Channel) channelstest.World {
	faults := map[channelstest.Failure]channelstest.DiscordFault{
		channelstest.Later: {Status: 429, Code: 20028, RetryAfter: 7.25}, channelstest.Refused: {Status: 403, Code: 50007}, channelstest.Broken: {Status: 502},
		channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
	}
	w := channelstest.World{
		Name: "discord", To: "discord:" + sam, None: "discord:" + channelstest.DiscordNobody, Rules: channels.Rules{Owner: []string{sam}, Groups: []string{group}},
		Open: open, Say: func(text string) string { return f.Say(sam, text) }, Again: f.Again, Noise: func() { noise(f) },
		Fail: func(k channelstest.Failure) { f.Fail("send", faults[k]) }, Listening: f.Listening,
		People: people(f), Account: channelstest.Account{Revoke: f.Revoke, Drop: f.Drop},
	}
	w.Sent = func() []string {
		var texts []string
		for _, m := range f.Sent() {
			texts = append(texts, plain(m.Text))
		}
		return texts
	}
	w.Readers = channelstest.Readers{
		Text: func(id string) string { return plain(f.Text(id)) }, Remove: f.Delete, Signs: func() int { return len(f.Signs()) },
		Buttons: func() []string {
			var labels []string
			for _, row := range f.Sent()[len(f.Sent())-1].Buttons {
				for _, b := range row {
					labels = append(labels, b.Label)
				}
			}
			return labels
		},
		Files: func() []channelstest.Shown {
			var files []channelstest.Shown
			for _, m := range f.Sent() {
				files = append(files, m.Files...)
			}
			return files
		},
	}
	return w
}

// people returns what people can do there.
func people(f *channelstest.Discord) channelstest.People {
	threads := map[string]string{}
	called := func(channel, text string) string {
		return f.Write(obj{"channel_id": channel, "content": "<@7001> " + text, "mentions": []obj{{"id": "7001"}}})
	}
	return channelstest.People{
		Edit: func(id, text string) string { return id + "/" + f.Edit(id, text) }, Delete: f.Delete,
		Attach: func(name string, content []byte) string {
			return f.Write(obj{"attachments": []obj{{"filename": name, "size": len(content), "url": f.File(name, content)}}})
		},
		Lost: func(name string) string {
			return f.Write(obj{"attachments": []obj{{"filename": name, "size": 3, "url": "https://cdn.discordapp.com/attachments/none"}}})
		},
		Press: func(label string) string {
			last := f.Sent()[len(f.Sent())-1]
			for _, row := range last.Buttons {
				for _, b := range row {
					if b.Label == label {
						return "pressed/" + f.Press(sam, last.ID, b.Data)
					}
				}
			}
			return "no such button"
		},
		Group: func(text string) string { return called(group, text) },
		Thread: func(name, text string) string {
			if threads[name] == "" {
				threads[name] = fmt.Sprint(3001 + len(threads))
				f.Thread(threads[name], group, name)
			}
			return called(threads[name], text)
		},
	}
}

// noise sends malformed and meaningless data.
func noise(f *channelstest.Discord) {
	f.Frame("null")
	f.Frame("<html>")
	f.Frame(`{"op":"x"}`)
	f.Frame(`{"op":0,"t":7}`)
	f.Frame(`{"op":99,"d":{}}`)
	for _, kind := range []string{"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK", "INTERACTION_CREATE", "GUILD_CREATE"} {
		f.Push(kind, "null")
		f.Push(kind, `{"id":7,"author":[]}`)
	}
	f.Push("MESSAGE_CREATE", `{"id":"5","channel_id":"9000042","author":{"id":"7001","bot":true},"content":"my own"}`)
	f.Push("MESSAGE_CREATE", `{"id":"6","channel_id":"9000042","author":{"id":"42"},"type":6,"content":""}`)
	f.Push("INTERACTION_CREATE", `{"id":"8","token":"t","type":2,"channel_id":"9000042","user":{"id":"42"},"data":{"name":"status"}}`)
	f.Push("MESSAGE_CREATE", `{"id":"9","channel_id":"555","guild_id":"6001","author":{"id":"42"},"content":"in a channel that is not listed"}`)
	f.Fail("history", channelstest.DiscordFault{Raw: "<html>"})
	f.End(4000)
}

// plain removes the backslashes of Discord's Markdown.
func plain(text string) string { return strings.ReplaceAll(text, `\`, "") }

// position parses a cursor.
type position struct {
	Session string
	Seq     int
	Heard   int64
	Newest  map[string]string
	Directs map[string]string
}

func stored(t *testing.T, b *channelstest.MessageInbox) (p position) {
	t.Helper()
	if err := json.Unmarshal([]byte(b.Stored().Value), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// settled waits until everything from the gateway was processed: later messages arrive as events only.
func settled(t *testing.T, f *channelstest.Discord, b *channelstest.MessageInbox) {
	t.Helper()
	f.Listening(t.Context())
	b.Until(t, func() bool {
		session, seq := f.Position()
		return b.Stored().Value != "" && stored(t, b).Session == session && stored(t, b).Seq >= seq
	})
}

// has waits for a message with a text.
func has(t *testing.T, b *channelstest.MessageInbox, text string) {
	t.Helper()
	b.Until(t, func() bool { return slices.Contains(texts(b), text) })
}

// texts returns the texts of messages that are not hob's.
func texts(b *channelstest.MessageInbox) []string {
	var list []string
	for _, m := range b.List() {
		if !m.From.Self {
			list = append(list, m.Text)
		}
	}
	return list
}

// one converts an event.
func one(t *testing.T, f *channelstest.Discord, m obj) channels.Message {
	t.Helper()
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, open(t, f), b)
	settled(t, f, b)
	id := f.Write(m)
	b.Came(t, 1)
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Run: %v", errs)
	}
	if got := b.List()[0]; got.ID == id {
		return got
	}
	t.Fatalf("received %+v, want %s", b.List(), id)
	return channels.Message{}
}

type obj = map[string]any
