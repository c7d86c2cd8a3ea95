package main_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/channels/channelstest"
)

// The people and the groups of the journey. hob is told of the family; the other group is not listed.
const (
	sam     = "sam"
	mallory = "mallory"
	family  = "family"
	other   = "other"
)

// stage is a platform: what people do there, and what they see.
type stage interface {
	address(who string) string                // of a person or a group, without the channel's name
	enters(who string)                        // opens a private chat, and waits until hob is there
	says(who, where, text string)             // where: a group, or "" for the private chat; in a group a text that begins with "hob: " calls hob
	picks(who string, m message, word string) // presses the button for that word where there is one, else types it
	heard(where string) []message             // all that hob has said to a person or in a group, as it stands now
}

// courier is a stage whose people can send files.
type courier interface {
	brings(who, name, content, text string)
}

// message is one of hob's.
type message struct {
	id, text string
	file     *channelstest.SentFile
	buttons  []channelstest.TelegramButton
}

// scene is a stage, and how it is set up.
type scene struct {
	stage
	flags []string // of hob channels add
	grows bool     // an answer can be seen while it is written
}

// onTelegram is a bot of Telegram's. Groups are supergroups, whose ids are negative.
func onTelegram(t *testing.T) scene {
	f, err := channelstest.NewTelegram("", "42:secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	s := telegramStage{f}
	return scene{s, []string{"--token", "env:TELEGRAM_TOKEN", "--api-base", f.URL(), "--groups", s.address(family)}, true}
}

type telegramStage struct{ *channelstest.Telegram }

func (s telegramStage) id(of string) int64 {
	return map[string]int64{sam: 7, mallory: 66, family: -1001, other: -1002}[of]
}

func (s telegramStage) address(of string) string { return strconv.FormatInt(s.id(of), 10) }

func (s telegramStage) enters(string) {}

func (s telegramStage) says(who, where, text string) {
	m := map[string]any{"from": s.Person(s.id(who), who)}
	if where != "" {
		m["chat"] = s.Group(s.id(where), where)
	}
	const name = "@hob_test_bot"
	if call, ok := strings.CutPrefix(text, "hob: "); ok {
		text = name + " " + call
		m["entities"] = []map[string]any{{"type": "mention", "offset": 0, "length": len(name)}}
	}
	m["text"] = text
	s.Write(m)
}

func (s telegramStage) picks(who string, m message, word string) {
	for _, b := range m.buttons {
		if b.Data == word || strings.HasSuffix(b.Data, " #"+word) {
			id, _ := strconv.ParseInt(m.id, 10, 64) // it was made from a number
			s.Press(s.id(who), id, b.Data)
		}
	}
}

func (s telegramStage) brings(who, name, content, text string) {
	s.File(name, []byte(content))
	s.Write(map[string]any{
		"from": s.Person(s.id(who), who), "caption": text,
		"document": map[string]any{"file_id": name, "file_name": name, "mime_type": "text/plain", "file_size": len(content)},
	})
}

func (s telegramStage) heard(where string) (list []message) {
	for _, m := range s.Sent() {
		if m.Chat == s.id(where) {
			list = append(list, message{strconv.FormatInt(m.ID, 10), m.Text, m.File, slices.Concat(m.Buttons...)})
		}
	}
	return list
}

// onMatrix is an account on a homeserver. hob is in both groups.
func onMatrix(t *testing.T) scene {
	f, err := channelstest.NewMatrix("", "@hob:hob.test", "secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	s := matrixStage{f, t}
	for _, group := range []string{family, other} {
		f.Room(s.room(group), group, s.address(sam), s.address(mallory))
	}
	return scene{s, []string{"--homeserver", f.URL(), "--token", "env:MATRIX_TOKEN", "--groups", s.address(family)}, true}
}

type matrixStage struct {
	*channelstest.Matrix
	t *testing.T
}

// room is a group, or the private chat of a person.
func (s matrixStage) room(of string) string { return "!" + of + ":hob.test" }

func (s matrixStage) address(of string) string {
	if of == sam || of == mallory {
		return "@" + of + ":hob.test"
	}
	return s.room(of)
}

func (s matrixStage) enters(who string) {
	s.Invite(s.room(who), s.address(who), true)
	if !soon(func() bool { return s.Joined(s.room(who)) }) {
		s.t.Fatalf("hob does not come into the room of %s", who)
	}
}

func (s matrixStage) says(who, where, text string) {
	content := map[string]any{"msgtype": "m.text", "body": text}
	if strings.HasPrefix(text, "hob: ") {
		content["m.mentions"] = map[string]any{"user_ids": []string{"@hob:hob.test"}}
	}
	s.Write(s.room(cmp.Or(where, who)), s.address(who), content)
}

func (s matrixStage) picks(who string, _ message, word string) { s.says(who, "", word) }

func (s matrixStage) brings(who, name, content, text string) {
	s.File(name, []byte(content))
	s.Write(s.room(who), s.address(who), map[string]any{
		"msgtype": "m.file", "body": text, "filename": name, "url": "mxc://hob.test/" + name, "info": map[string]any{"mimetype": "text/plain", "size": len(content)},
	})
}

// heard are the messages with what has taken their place since.
func (s matrixStage) heard(where string) (list []message) {
	uploads := s.Uploads()
	for _, m := range s.Sent() {
		if m.Room != s.room(where) {
			continue
		}
		relates, _ := m.Content["m.relates_to"].(map[string]any)
		whole, edits := m.Content["m.new_content"].(map[string]any)
		at := slices.IndexFunc(list, func(h message) bool { return edits && h.id == relates["event_id"] })
		if at >= 0 {
			list[at].text = fmt.Sprint(whole["body"])
			continue
		}
		h := message{id: m.ID, text: m.Body()}
		if m.Content["url"] != nil && len(uploads) > 0 {
			h.file = &uploads[len(uploads)-1]
		}
		list = append(list, h)
	}
	return list
}

// onIRC is a network with accounts and a history.
func onIRC(t *testing.T) scene {
	f, err := channelstest.NewIRC(channelstest.IRCOptions{Caps: channelstest.IRCModern(), Account: "hob", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	s := ircStage{f}
	f.Person(sam, sam)
	f.Person(mallory, mallory)
	return scene{s, []string{
		"--server", f.Addr(), "--fingerprint", f.Fingerprint(), "--account", "hob", "--password", "env:IRC_PASSWORD", "--channels", s.address(family),
	}, false}
}

type ircStage struct{ *channelstest.IRC }

func (s ircStage) address(of string) string {
	if of == sam || of == mallory {
		return "$" + of
	}
	return "#" + of
}

func (s ircStage) enters(string) {}

func (s ircStage) says(who, where, text string) {
	switch where {
	case "":
		s.Say(who, "hob", text)
	case other: // which hob has not joined: a server that sends it all the same
		s.Push(fmt.Sprintf("@account=%[1]s;msgid=%[3]d :%[1]s!u@people.test PRIVMSG #other :%[2]s", who, text, time.Now().UnixNano()))
	default:
		s.Say(who, s.address(where), text)
	}
}

func (s ircStage) picks(who string, _ message, word string) { s.says(who, "", word) }

func (s ircStage) heard(where string) (list []message) {
	target := strings.TrimPrefix(s.address(where), "$") // the nick is the account's
	for i, m := range s.Sent() {
		if m.Target == target {
			list = append(list, message{id: strconv.Itoa(i), text: m.Text})
		}
	}
	return list
}
