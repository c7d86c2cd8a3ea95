package slack_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/slack"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// TestMain looks for leaked goroutines; the library's test server does not end its own.
func TestMain(m *testing.M) {
	channelstest.Main(m, goleak.IgnoreTopFunction("github.com/slack-go/slack/slacktest.handlePendingMessages"))
}

const (
	appToken = "xapp-1-A0HOB-secretapp"
	botToken = "xoxb-1-secretbot"
	sam      = "U042" // the owner
	kim      = "U099" // a stranger
	group    = "C001"
)

func env(t testing.TB) channels.Env {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return channels.Env{
		Name: "slack", HTTP: &http.Client{Transport: tr, Timeout: 10 * time.Second}, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler), Secret: secret,
		Owner: owner,
	}
}

func owner() []event.Address { return []event.Address{"slack:" + sam} }

func secret(ref string) (string, error) {
	if s, ok := map[string]string{"env:APP": appToken + "\n", "env:BOT": botToken, "env:ODD": "xoxb-1/../x", "env:USER": "xoxp-1-2"}[ref]; ok {
		return s, nil
	}
	return "", fmt.Errorf("no secret %s", ref)
}

func server(t testing.TB) *channelstest.Slack {
	f, err := channelstest.NewSlack("", appToken, botToken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	furnish(f)
	return f
}

// furnish adds people and a channel to a workspace.
func furnish(f *channelstest.Slack) {
	f.Person(sam, "Sam")
	f.Person(kim, "Kim")
	f.Group(group, "family")
}

func open(t testing.TB, f *channelstest.Slack) *slack.Channel {
	t.Helper()
	return openIn(t, f, env(t))
}

func openIn(t testing.TB, f *channelstest.Slack, e channels.Env) *slack.Channel {
	t.Helper()
	return openWith(t, f, e, group)
}

func openWith(t testing.TB, f *channelstest.Slack, e channels.Env, groups ...string) *slack.Channel {
	t.Helper()
	ch, err := slack.New(e, slack.Config{AppToken: "env:APP", BotToken: "env:BOT", APIBase: f.URL() + "/api", Audience: channels.Audience{Groups: groups}})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func faults() map[channelstest.Failure]channelstest.SlackFault {
	return map[channelstest.Failure]channelstest.SlackFault{
		channelstest.Later: {Status: 429, RetryAfter: 7}, channelstest.Refused: {Error: "is_archived"}, channelstest.Broken: {Status: 503},
		channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
	}
}

func noise(f *channelstest.Slack) {
	for _, raw := range []string{
		`<html>`, `[]`, `{}`, `{"type":"pong"}`, `{"type":"events_api","envelope_id":"odd-1"}`, `{"type":"events_api","envelope_id":"odd-2","payload":{"event":7}}`,
		`{"type":"events_api","envelope_id":"odd-3","payload":{"event":{"type":"reaction_added","user":"U042","item":{"channel":"DU042"}}}}`,
		`{"type":"events_api","envelope_id":"odd-4","payload":{"event":{"type":"message","channel":"DU042","user":"U042","text":{"not":"a text"},"ts":"1.000001"}}}`,
		`{"type":"events_api","envelope_id":"odd-5","payload":{"event":{"type":"message","channel":"DU042","user":"U0HOB","bot_id":"B0HOB","text":"my own","ts":"1.000002"}}}`,
		`{"type":"events_api","envelope_id":"odd-6","payload":{"event":{"type":"message","subtype":"channel_join","channel":"C001","user":"U042","text":"<@U042> has joined, <@U0HOB>","ts":"1.000003"}}}`,
		`{"type":"interactive","envelope_id":"odd-7","payload":{"type":"view_submission","user":{"id":"U042"}}}`,
		`{"type":"interactive","envelope_id":"odd-8","payload":[]}`,
		`{"type":"slash_commands","envelope_id":"odd-9","payload":{"command":"/hob"}}`,
	} {
		f.Push(raw)
	}
}

func TestSuite(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		f := server(t)
		return world(f, func() channels.Channel { return open(t, f) })
	})
}

func TestStorm(t *testing.T) {
	channelstest.Storm(t, func(t *testing.T, n *channelstest.Network) channelstest.World {
		f := channelstest.SlackOn(n.Listen(), appToken, botToken)
		t.Cleanup(f.Close)
		furnish(f)
		e := n.Env(t, "slack", map[string]string{"env:APP": appToken, "env:BOT": botToken})
		e.Owner = owner
		return world(f, func() channels.Channel { return openIn(t, f, e) })
	})
}

const private = "D" + sam // the private chat with sam

// world is the private chat with the owner sam.
func world(f *channelstest.Slack, open func() channels.Channel) channelstest.World {
	ts := func(id string) string { _, ts, _ := strings.Cut(id, ":"); return ts }
	attached := func(file map[string]any) string {
		return private + ":" + f.Write(private, map[string]any{"user": sam, "text": "", "subtype": "file_share", "files": []any{file}})
	}
	roots := map[string]string{}
	sent := func() channelstest.SlackSent { return f.Sent()[len(f.Sent())-1] }
	return channelstest.World{
		Name: "slack", To: "slack:" + sam, None: "slack:U0NOBODY", Rules: channels.Rules{Owner: []string{sam}, Groups: []string{group}}, Open: open,
		Say:   func(text string) string { return private + ":" + f.Say(sam, text) },
		Again: func(id string) { f.Again(private, ts(id)) },
		Noise: func() { noise(f) },
		Fail:  func(k channelstest.Failure) { f.Fail("chat.postMessage", faults()[k]) },
		Sent: func() []string {
			var texts []string
			for _, m := range f.Sent() {
				texts = append(texts, m.Text)
			}
			return texts
		},
		Listening: f.Listening,
		People: channelstest.People{
			Edit:   func(id, text string) string { return id + "/" + f.Edit(private, ts(id), text) },
			Delete: func(id string) { f.Delete(private, ts(id)) },
			Attach: func(name string, content []byte) string {
				return attached(f.File("F1"+name, name, "image/png", content))
			},
			Lost: func(name string) string {
				return attached(map[string]any{"id": "FGONE", "name": name, "mimetype": "application/pdf", "url_private_download": f.URL() + "/files-pri/FGONE"})
			},
			Press: func(label string) string {
				m := sent()
				i := slices.IndexFunc(m.Buttons, func(b channelstest.SlackButton) bool { return b.Label == label })
				return m.Chat + ":" + m.TS + "/" + f.Press(sam, m.Chat, m.TS, m.Buttons[i].Value) + "/" + sam
			},
			Group: func(text string) string {
				return group + ":" + f.Write(group, map[string]any{"user": sam, "text": "<@" + channelstest.SlackUser + "> " + text})
			},
			Thread: func(name, text string) string {
				m := map[string]any{"user": sam, "text": "<@" + channelstest.SlackUser + "> " + text}
				if roots[name] != "" {
					m["thread_ts"] = roots[name]
				}
				at := f.Write(group, m)
				if roots[name] == "" {
					roots[name] = at
				}
				return group + ":" + at
			},
			Mix: func(first, second string) (string, string) {
				one, two := f.Mix(sam, first, second)
				return private + ":" + one, private + ":" + two
			},
		},
		Readers: channelstest.Readers{
			Text: func(id string) string {
				for _, m := range f.Sent() {
					if m.Chat+":"+m.TS == id {
						return m.Text
					}
				}
				return ""
			},
			Remove: func(id string) { f.Delete(private, ts(id)) },
			Refuse: func() {
				f.Fail("files.getUploadURLExternal", channelstest.SlackFault{Error: "missing_scope", Needed: "files:write"})
			},
			Buttons: func() []string {
				var labels []string
				for _, b := range sent().Buttons {
					labels = append(labels, b.Label)
				}
				return labels
			},
			Files: func() []channelstest.Shown {
				var list []channelstest.Shown
				for _, m := range f.Sent() {
					if m.File != "" {
						list = append(list, channelstest.Shown{Name: m.File, Caption: m.Text, Content: m.Content})
					}
				}
				return list
			},
		},
		Account: channelstest.Account{Revoke: f.Revoke, Drop: f.Drop},
	}
}

// position parses a cursor.
type position struct {
	Began          string
	Heard          int64
	Chats, Threads map[string]string
}

func stored(t *testing.T, b *channelstest.MessageInbox) (p position) {
	t.Helper()
	if err := json.Unmarshal([]byte(b.Stored().Value), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// listen runs a channel, and returns when it is connected.
func listen(t *testing.T, f *channelstest.Slack, b *channelstest.MessageInbox) (stop func() []error) {
	t.Helper()
	return keep(t, f, open(t, f), b)
}

// keep is listen for a given channel. After its stop the platform has no connection.
func keep(t *testing.T, f *channelstest.Slack, ch channels.Channel, b *channelstest.MessageInbox) (stop func() []error) {
	t.Helper()
	end := channelstest.Keep(t, ch, b)
	f.Listening(t.Context())
	return func() []error {
		errs := end()
		f.Left(t.Context())
		return errs
	}
}

// received changes something while a channel is connected, and returns the resulting n messages.
func received(t *testing.T, f *channelstest.Slack, n int, happen func()) []channels.Message {
	t.Helper()
	b := &channelstest.MessageInbox{}
	stop := listen(t, f, b)
	happen()
	b.Came(t, n)
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Run: %v", errs)
	}
	return b.List()
}
