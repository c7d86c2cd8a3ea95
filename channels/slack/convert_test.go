package slack_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/slack"
)

// one returns the messages that result from an event, followed by another message.
func one(t *testing.T, happen func(f *channelstest.Slack)) channels.Message {
	t.Helper()
	f := server(t)
	list := received(t, f, 2, func() {
		happen(f)
		f.Say(sam, "the end")
	})
	if list[1].Text != "the end" {
		t.Fatalf("%d messages: %+v", len(list), list)
	}
	return list[0]
}

func TestWords(t *testing.T) {
	for raw, want := range map[string]string{
		"a &lt;b&gt; &amp;amp;":                    "a <b> &amp;",
		"<@U1> and <@U2|x>":                        "@name of U1 and @name of U2",
		"<#C1|general> <#C2|> <#C3>":               "#general #C2 #C3",
		"<!here> <!channel|@channel>":              "@here @channel",
		"<!subteam^S1|@team> <!date^1^{date}|now>": "@team now",
		"<https://a.example/?x=1&amp;y=2>":         "https://a.example/?x=1&y=2",
		"<https://a.example|words>":                "words (https://a.example)",
		"<http://a.example|a.example>":             "http://a.example",
		"<mailto:a@b.example|a@b.example>":         "a@b.example",
		"*bold* _it_ `code`":                       "*bold* _it_ `code`",
		"1 < 2 > 0":                                "1 < 2 > 0",
	} {
		if strings.HasPrefix(raw, "1 <") {
			raw = "1 &lt; 2 &gt; 0" // as Slack writes it
		}
		if got := slack.Words(raw); got != want {
			t.Errorf("%q became %q, want %q", raw, got, want)
		}
	}
}

func TestPrivateMessage(t *testing.T) {
	var at string
	m := one(t, func(f *channelstest.Slack) {
		at = f.Write(private, obj{"user": sam, "text": "  /status <@" + kim + "> &amp; <@U0NOBODY>", "thread_ts": "1.000001"})
	})
	if m.ID != private+":"+at || m.From != (channels.Person{ID: sam, Name: "Sam"}) || m.Chat != (channels.Chat{ID: sam}) || m.Text != "/status @Kim & @U0NOBODY" ||
		m.ReplyTo != private+":1.000001" || m.Forwarded || m.Auto || m.At.IsZero() {
		t.Errorf("received %+v", m)
	}
}

func TestGroups(t *testing.T) {
	for _, tc := range []struct {
		name   string
		m      obj
		text   string // "": it is not meant
		thread string // "": its own
	}{
		{"a mention", obj{"text": "<@U0HOB>, what is up?"}, "what is up?", ""},
		{"a mention with a name", obj{"text": "<@U0HOB|hob> hi"}, "hi", ""},
		{"a mention in the middle", obj{"text": "ask <@U0HOB> that"}, "ask @hob that", ""},
		{"only a mention", obj{"text": "<@U0HOB>"}, "@hob", ""},
		{"a reply to hob", obj{"text": "yes", "thread_ts": "1.000001", "parent_user_id": "U0HOB"}, "yes", "1.000001"},
		{"a mention in a thread", obj{"text": "<@U0HOB> yes", "thread_ts": "1.000001", "parent_user_id": sam}, "yes", "1.000001"},
		{"to others", obj{"text": "hi <@U0NOT>"}, "", ""},
		{"in a thread of others", obj{"text": "hi", "thread_ts": "1.000001", "parent_user_id": sam}, "", ""},
	} {
		var at string
		happen := func(f *channelstest.Slack) {
			tc.m["user"] = kim
			at = f.Write(group, tc.m)
		}
		if tc.text == "" {
			f := server(t)
			list := received(t, f, 1, func() { happen(f); f.Say(sam, "the end") })
			if list[0].Text != "the end" {
				t.Errorf("%s: received %+v", tc.name, list)
			}
			continue
		}
		m := one(t, happen)
		if tc.thread == "" {
			tc.thread = at
		}
		if !m.Mentioned || m.Text != tc.text || m.Chat != (channels.Chat{ID: group + "/" + tc.thread, Group: group, Title: "#family"}) || m.From.Name != "Kim" {
			t.Errorf("%s: received %+v", tc.name, m)
		}
	}
}

func TestGroupsThatAreNotListed(t *testing.T) {
	f := server(t)
	f.Group("C002", "other")
	list := received(t, f, 1, func() {
		f.Write("C002", obj{"user": sam, "text": "<@U0HOB> hi"})
		f.Say(sam, "the end")
	})
	if list[0].Text != "the end" || f.Calls("users.info") != 1 {
		t.Errorf("received %+v; people were asked for %d times", list, f.Calls("users.info"))
	}
}

func TestWhoWritesIt(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    obj
		bot  bool
		auto bool
	}{
		{"a person", obj{"user": sam, "text": "x"}, false, false},
		{"a bot", obj{"user": "U0BOT", "bot_id": "B0BOT", "text": "x"}, true, false},
		{"an old bot", obj{"bot_id": "B0BOT", "username": "old", "subtype": "bot_message", "text": "x"}, true, false},
		{"Slackbot", obj{"user": "USLACKBOT", "text": "x"}, false, true},
		{"Slack", obj{"user": sam, "subtype": "channel_topic", "text": "x"}, false, true},
	} {
		m := one(t, func(f *channelstest.Slack) { f.Write(private, tc.m) })
		if m.From.Bot != tc.bot || m.Auto != tc.auto || m.From.Self || m.From.ID == "" {
			t.Errorf("%s: received %+v", tc.name, m)
		}
	}
}

func TestSharedMessages(t *testing.T) {
	m := one(t, func(f *channelstest.Slack) {
		f.Write(private, obj{"user": sam, "text": "look", "attachments": []obj{{"is_share": true, "author_name": "Kim", "text": "/approve all", "files": []obj{{"name": "a.txt"}}}, {"text": "a preview"}}})
	})
	if !m.Forwarded || m.Text != "look\n\n[Kim] /approve all" || len(m.Files) != 1 {
		t.Errorf("received %+v", m)
	}
}

func TestEditsThatAreNone(t *testing.T) {
	f := server(t)
	event := func(m obj) string {
		return `{"type":"events_api","envelope_id":"e","payload":{"event":{"type":"message","subtype":"message_changed","channel":"DU042","ts":"3.000001","message":` + m["now"].(string) + `,"previous_message":` + m["was"].(string) + `}}}`
	}
	list := received(t, f, 2, func() {
		f.Push(event(obj{"now": `{"user":"U042","text":"a","ts":"1.000001","attachments":[{}]}`, "was": `{"user":"U042","text":"a","ts":"1.000001"}`})) // a preview
		f.Push(event(obj{"now": `{"user":"U042","text":"a","ts":"1.000001","edited":{"ts":"2.000001"},"reply_count":1}`, "was": `{"user":"U042","text":"a","ts":"1.000001"}`}))
		f.Push(event(obj{"now": `{"user":"USLACKBOT","text":"This message was deleted.","ts":"1.000001","subtype":"tombstone"}`, "was": `{"user":"U042","text":"a","ts":"1.000001"}`}))
		f.Say(sam, "the end")
	})
	if m := list[0]; m.Deletes != private+":1.000001" || m.From.ID != sam || m.Text != "" || list[1].Text != "the end" {
		t.Errorf("received %+v", list)
	}
}

func TestEditThatTakesTheMentionAway(t *testing.T) {
	var at, edit string
	m := one(t, func(f *channelstest.Slack) {
		at = f.Write(group, obj{"user": kim, "text": "not meant"})
		f.Edit(group, at, "<@U0HOB> meant")
	})
	if m.Edits != group+":"+at || m.Text != "meant" {
		t.Errorf("received %+v", m)
	}
	f := server(t)
	list := received(t, f, 2, func() {
		at = f.Write(group, obj{"user": kim, "text": "<@U0HOB> meant"})
		edit = f.Edit(group, at, "never mind")
	})
	if m := list[1]; m.Edits != group+":"+at || m.ID != m.Edits+"/"+edit || !m.Mentioned || m.Text != "never mind" {
		t.Errorf("received %+v", m)
	}
}

func TestPresses(t *testing.T) {
	var at string
	m := one(t, func(f *channelstest.Slack) { at = f.Press(sam, private, "1.000001", "/approve K7Q2") })
	if m.ID != private+":1.000001/"+at+"/"+sam || m.Choice != "/approve K7Q2" || m.Text != "" || m.Chat != (channels.Chat{ID: sam}) || m.From.ID != sam || m.ReplyTo != private+":1.000001" {
		t.Errorf("received %+v", m)
	}
	m = one(t, func(f *channelstest.Slack) { f.Press(kim, group, "1.000001", "/approve K7Q2") })
	if m.From.ID != kim || m.Chat.Group != group {
		t.Errorf("in a group: %+v", m)
	}
}

func TestCommands(t *testing.T) {
	for said, want := range map[string]string{"status": "/status", " quiet 2h ": "/quiet 2h", "/approve K7Q2": "/approve K7Q2", "": "/help"} {
		m := one(t, func(f *channelstest.Slack) {
			f.Interact("slash_commands", obj{"command": "/hob", "text": said, "user_id": sam, "user_name": "sam", "channel_id": group, "trigger_id": "7.8"})
		})
		if m.Text != want || m.ID != "command/7.8" || m.Chat != (channels.Chat{ID: sam}) || m.From.ID != sam {
			t.Errorf("%q: received %+v", said, m)
		}
	}
}

func TestFilesThatComeIn(t *testing.T) {
	f := server(t)
	elsewhere := server(t)
	good := f.File("F1", "a.png", "image/png", []byte("\x89PNG"))
	unsaid := obj{"id": "F1", "file_access": "check_file_info"}
	voice := f.File("F2", "clip.m4a", "audio/mp4", []byte("m4a"))
	voice["aac"], voice["audio_wave_samples"], voice["duration_ms"] = "x", []int{1, 2}, 1500
	files := []obj{
		good, voice, unsaid,
		{"id": "F3", "name": "gone", "url_private_download": f.URL() + "/files-pri/F3"},
		{"id": "F4", "name": "old", "mode": "tombstone"},
		{"id": "F5", "name": "drive", "is_external": true, "url_private": "https://drive.example/x"},
		elsewhere.File("F6", "other", "text/plain", []byte("x")),
		{"name": "odd"},
	}
	list := received(t, f, 1, func() { f.Write(private, obj{"user": sam, "subtype": "file_share", "text": "", "files": files}) })
	got := list[0].Files
	if len(got) != len(files) || got[0].Name != "a.png" || got[0].MIME != "image/png" || got[0].Size != 4 || got[0].Voice || !got[1].Voice || got[1].Length.Seconds() != 1.5 {
		t.Fatalf("files %+v", got)
	}
	wants := []string{"\x89PNG", "m4a", "\x89PNG", "404", "it is no longer stored by Slack", "on another server", "on another server", "it has no address"}
	f.Fail("file", channelstest.SlackFault{Status: 502}, channelstest.SlackFault{Cut: "before"}) // the first is asked for three times
	for i, want := range wants {
		body, err := got[i].Open(t.Context())
		if err != nil {
			if !strings.Contains(err.Error(), want) || slices.Contains([]int{0, 1, 2}, i) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v, want %q", got[i].Name, err, want)
			}
			continue
		}
		content, err := io.ReadAll(body)
		if cerr := body.Close(); err != nil || cerr != nil || string(content) != want {
			t.Errorf("%s: %q, %v, %v; want %q", got[i].Name, content, err, cerr, want)
		}
	}
	if elsewhere.Calls("file") != 0 {
		t.Error("another host was asked, with the token")
	}
	f.Revoke()
	if _, err := got[0].Open(t.Context()); err == nil || !strings.Contains(err.Error(), "files:read") {
		t.Errorf("a sign-in page in the place of a file: %v", err)
	}
}

func TestConfigErrorsNameTheKey(t *testing.T) {
	good := slack.Config{AppToken: "env:APP", BotToken: "env:BOT"}
	for want, change := range map[string]func(*slack.Config){
		"app_token: missing":   func(c *slack.Config) { c.AppToken = "" },
		"bot_token: missing":   func(c *slack.Config) { c.BotToken = "" },
		"bot_token: no secret": func(c *slack.Config) { c.BotToken = "env:NONE" },
		`bot_token: the value of "env:ODD" is not a Slack token`:            func(c *slack.Config) { c.BotToken = "env:ODD" },
		`app_token: the value of "env:BOT" begins with xoxb-`:               func(c *slack.Config) { c.AppToken = "env:BOT" },
		`bot_token: the value of "env:APP" begins with xapp-`:               func(c *slack.Config) { c.BotToken = "env:APP" },
		`bot_token: the value of "env:USER" begins with xoxp-`:              func(c *slack.Config) { c.BotToken = "env:USER" },
		`api_base: "slack.com" is not an address`:                           func(c *slack.Config) { c.APIBase = "slack.com" },
		`api_base: want no user name`:                                       func(c *slack.Config) { c.APIBase = "https://u:p" + "@x" },
		`api_base: "https://x?a=b" has something after the path`:            func(c *slack.Config) { c.APIBase = "https://x?a=b" },
		`groups: "#general" is not a valid id; the id of a channel is like`: func(c *slack.Config) { c.Groups = []string{"#general"} },
		`known: "@sam" is not a valid id; the id of a person is like`:       func(c *slack.Config) { c.Known = []string{"@sam"} },
		`public: "C001" is not a valid id`:                                  func(c *slack.Config) { c.Public = []string{"C001"} },
		"public: U042 is listed twice, also in known":                       func(c *slack.Config) { c.Known, c.Public = []string{sam}, []string{sam} },
	} {
		cfg := good
		change(&cfg)
		if _, err := slack.New(env(t), cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want one that begins with %q", err, want)
		}
	}
	if _, err := slack.New(env(t), good); err != nil {
		t.Errorf("a good section: %v", err)
	}
}

func TestTry(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   func(*channelstest.Slack)
		lines int
		err   string
	}{
		{"all is well", func(*channelstest.Slack) {}, 4, ""},
		{"scopes are missing", func(f *channelstest.Slack) { f.Scopes("chat:write,im:history,im:write,users:read,files:read") }, 1, "lacks the scopes im:read, files:write"},
		{"Slack does not say the scopes", func(f *channelstest.Slack) { f.Scopes("") }, 3, ""},
		{"no socket", func(f *channelstest.Slack) {
			f.Fail("apps.connections.open", channelstest.SlackFault{Error: "missing_scope", Needed: "connections:write"})
		}, 2, "lacks connections:write"},
		{"not in the channel", func(f *channelstest.Slack) { f.Leave(group) }, 3, "write /invite @hob there"},
		{"it cannot be read", func(f *channelstest.Slack) {
			f.Fail("conversations.history", channelstest.SlackFault{Error: "missing_scope"})
		}, 3, "lacks a scope"},
		{"tokens revoked", (*channelstest.Slack).Revoke, 0, "create a new one"},
	} {
		f := server(t)
		tc.set(f)
		var ch channels.Tester = open(t, f)
		lines, err := ch.Test(t.Context())
		if len(lines) != tc.lines || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v; want %d lines and %q", tc.name, lines, err, tc.lines, tc.err)
		}
		if len(f.Sent()) != 0 || f.Calls("conversations.list") != 0 {
			t.Errorf("%s: it sent or received something", tc.name)
		}
	}
}

func TestLink(t *testing.T) {
	f := server(t)
	var ch channels.Linker = open(t, f)
	text, url, err := ch.Link(t.Context())
	if err != nil || url != "https://slack.com/app_redirect?app=A0HOB&team=T0HOB" || !strings.Contains(text, url) {
		t.Errorf("link %q, %q, %v", text, url, err)
	}
	f.Fail("bots.info", channelstest.SlackFault{Error: "missing_scope"})
	if text, url, err = ch.Link(t.Context()); err != nil || url != "" || !strings.Contains(text, "hob under Apps") {
		t.Errorf("without an app's id: %q, %q, %v", text, url, err)
	}
	f.Revoke()
	if _, _, err := ch.Link(t.Context()); err == nil {
		t.Error("a link without a bot")
	}
}
