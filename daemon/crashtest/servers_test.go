//go:build linux

package crashtest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

// What hob signs in with on the chat servers.
const (
	telegramToken = "7001:secret"
	matrixToken   = "syt_secret"
	slackApp      = "xapp-1-A0HOB-secret"
	slackBot      = "xoxb-1-secret"
)

// chatServer is a chat server with the owner, a known person, a stranger, and a group that hob listens to. It goes on running when hob
// dies.
type chatServer struct {
	name    string           // of the section, and of its kind
	class   channels.Repeats // what is promised of what is sent there
	config  string           // the section
	owner   string           // the owner's id
	places  []string         // where hob may write to: the ids of the owner and of who is known, and the group's
	says    func(who speaker, text string) (extID string)
	again   func(extID string)                 // the platform delivers a message a second time
	cut     func(after bool) (due func() bool) // the connection of the next send ends before or after the platform has taken it; due: it has not come yet
	hears   func(ctx context.Context)          // until hob listens
	arrived func() []received                  // what hob has sent, in order
	messageActions
}

// speaker is who writes a message, and where.
type speaker string

const (
	owner    speaker = "owner"    // in his private chat
	known    speaker = "known"    // in a private chat
	stranger speaker = "stranger" // in a private chat
	called   speaker = "called"   // the owner in the group, and he means hob
	aside    speaker = "aside"    // the owner in the group, and he does not
)

// received is a message from hob as the server shows it now.
type received struct {
	id   string // as the adapter names it
	to   string // the id of the place
	text string
	file string // the name of a file; text is its caption
	grew bool   // it was edited
}

// allServers has a chat server of each delivery class: no protection against repeats, idempotency keys, look-up of sent messages.
var allServers = []string{"telegram", "matrix", "slack"}

// chatServers makes the chat servers of these names.
func chatServers(t *testing.T, names []string) (list []*chatServer) {
	t.Helper()
	for _, name := range names {
		open := map[string]func(*testing.T) *chatServer{"telegram": telegramServer, "matrix": matrixServer, "slack": slackServer}[name]
		list = append(list, open(t))
	}
	return list
}

// faultName is the fake's name for a cut connection.
func faultName(after bool) string {
	if after {
		return "after"
	}
	return "before"
}

// notCalledSince returns a function that reports whether a method has not been called since.
func notCalledSince(calls func(method string) int, method string) func() bool {
	before := calls(method)
	return func() bool { return calls(method) == before }
}

func telegramServer(t *testing.T) *chatServer {
	t.Helper()
	const sam, kim, eve, home = 42, 99, 66, -1001
	f, err := channelstest.NewTelegram("", telegramToken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	f.Knows(sam) // he has begun a chat before
	person := map[speaker]int64{owner: sam, known: kim, stranger: eve}
	said := map[string]int64{}
	return &chatServer{
		name: "telegram", class: channels.Marked, owner: "42", places: []string{"42", "99", "-1001"},
		config: fmt.Sprintf("[channels.telegram]\ntoken = \"env:RIG_TELEGRAM\"\napi_base = %q\nknown = [\"99\"]\ngroups = [\"-1001\"]\n", f.URL()),
		says: func(who speaker, text string) string {
			id, chat := int64(0), person[who]
			switch who {
			case called:
				chat = home
				mention := []map[string]any{{"type": "mention", "offset": 0, "length": len("@hob_test_bot")}}
				id = f.Write(map[string]any{"from": f.Person(sam, "Sam"), "chat": f.Group(home, "Home"), "text": "@hob_test_bot " + text, "entities": mention})
			case aside:
				chat = home
				id = f.Write(map[string]any{"from": f.Person(sam, "Sam"), "chat": f.Group(home, "Home"), "text": text})
			default:
				id = f.Say(chat, text)
			}
			ext := fmt.Sprintf("7001/%d/%d", chat, id)
			said[ext] = id
			return ext
		},
		again: func(ext string) { f.Again(said[ext]) },
		cut: func(after bool) func() bool {
			f.Fail("sendMessage", channelstest.TelegramFault{Cut: faultName(after)})
			return notCalledSince(f.Calls, "sendMessage")
		},
		hears:          f.Listening,
		messageActions: telegramActions(f, sam, kim, said),
		arrived: func() (list []received) {
			for _, s := range f.Sent() {
				a := received{id: fmt.Sprintf("7001/%d/%d", s.Chat, s.ID), to: fmt.Sprint(s.Chat), text: s.Text, grew: len(s.Was) > 0}
				if s.File != nil {
					a.text, a.file = s.File.Caption, s.File.Name
				}
				list = append(list, a)
			}
			return list
		},
	}
}

func matrixServer(t *testing.T) *chatServer {
	t.Helper()
	const me, sam, home = "@hob:hob.test", "@sam:hob.test", "!home:hob.test"
	rooms := map[speaker]string{owner: "!sam:hob.test", known: "!kim:hob.test", stranger: "!eve:hob.test", called: home, aside: home}
	person := map[speaker]string{owner: sam, known: "@kim:hob.test", stranger: "@eve:hob.test", called: sam, aside: sam}
	f, err := channelstest.NewMatrix("", me, matrixToken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	for _, who := range []speaker{owner, known, stranger} {
		f.Room(rooms[who], "", person[who])
	}
	f.Room(home, "Home", sam, "@eve:hob.test")
	chat := map[string]string{home: home, rooms[owner]: sam, rooms[known]: person[known], rooms[stranger]: person[stranger]}
	return &chatServer{
		name: "matrix", class: channels.ByKey, owner: sam, places: []string{sam, person[known], home},
		config: fmt.Sprintf("[channels.matrix]\ntoken = \"env:RIG_MATRIX\"\nhomeserver = %q\nknown = [%q]\ngroups = [%q]\n", f.URL(), person[known], home),
		says: func(who speaker, text string) string {
			content := map[string]any{"msgtype": "m.text", "body": text, "m.mentions": map[string]any{}}
			if who == called {
				content["m.mentions"] = map[string]any{"user_ids": []any{me}}
			}
			return rooms[who] + "/" + f.Write(rooms[who], person[who], content)
		},
		again: func(ext string) { _, event, _ := strings.Cut(ext, "/"); f.Again(event) },
		cut: func(after bool) func() bool {
			f.Fail("send", channelstest.MatrixFault{Cut: faultName(after)})
			return notCalledSince(f.Calls, "send")
		},
		hears:          f.Listening,
		messageActions: matrixActions(f, rooms, person),
		arrived: func() (list []received) {
			at := map[string]int{}
			for _, s := range f.Sent() {
				if to, ok := s.Content["m.relates_to"].(map[string]any); ok && to["rel_type"] == "m.replace" {
					fresh, _ := s.Content["m.new_content"].(map[string]any)
					if i, there := at[fmt.Sprint(to["event_id"])]; there {
						list[i].text, list[i].grew = fmt.Sprint(fresh["body"]), true
					}
					continue
				}
				at[s.ID] = len(list)
				file, _ := s.Content["filename"].(string)
				list = append(list, received{id: s.Room + "/" + s.ID, to: chat[s.Room], text: strings.TrimPrefix(s.Body(), file), file: file})
			}
			return list
		},
	}
}

func slackServer(t *testing.T) *chatServer {
	t.Helper()
	const sam, kim, eve, home = "U042", "U099", "U066", "C001"
	f, err := channelstest.NewSlack("", slackApp, slackBot)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	f.Person(sam, "Sam")
	f.Person(kim, "Kim")
	f.Person(eve, "Eve")
	f.Group(home, "Home")
	chats := map[speaker]string{owner: "D" + sam, known: "D" + kim, stranger: "D" + eve, called: home, aside: home}
	person := map[speaker]string{owner: sam, known: kim, stranger: eve, called: sam, aside: sam}
	return &chatServer{
		name: "slack", class: channels.ByLook, owner: sam, places: []string{sam, kim, home},
		config: fmt.Sprintf("[channels.slack]\napp_token = \"env:RIG_SLACK_APP\"\nbot_token = \"env:RIG_SLACK_BOT\"\napi_base = %q\nknown = [%q]\ngroups = [%q]\n", f.URL()+"/api", kim, home),
		says: func(who speaker, text string) string {
			if who == called {
				text = "<@" + channelstest.SlackUser + "> " + text
			}
			return chats[who] + ":" + f.Write(chats[who], map[string]any{"user": person[who], "text": text})
		},
		again: func(ext string) { chat, ts, _ := strings.Cut(ext, ":"); f.Again(chat, ts) },
		cut: func(after bool) func() bool {
			f.Fail("chat.postMessage", channelstest.SlackFault{Cut: faultName(after)})
			return notCalledSince(f.Calls, "chat.postMessage")
		},
		hears: f.Listening,
		arrived: func() (list []received) {
			for _, s := range f.Sent() {
				a := received{id: s.Chat + ":" + s.TS, to: strings.TrimPrefix(s.Chat, "D"), text: s.Text, file: s.File, grew: len(s.Was) > 0}
				if s.File != "" {
					a.id = s.Chat + ":" + s.FileID
				}
				if s.Thread != "" {
					a.to += "/" + s.Thread
				}
				list = append(list, a)
			}
			return list
		},
	}
}
