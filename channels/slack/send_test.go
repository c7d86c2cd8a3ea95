package slack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/slack-go/slack/slacktest"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/slack"
	"hob/daemon/event"
)

func delivery(body string) channels.Delivery {
	return channels.Delivery{Outbox: 1, Parts: 1, To: "slack:" + sam, Body: body, Nonce: "nonce-1", Attempts: 1, Tried: time.Now()}
}

func TestSendsMrkdwn(t *testing.T) {
	f := server(t)
	remote, err := open(t, f).Send(t.Context(), delivery("**bold** & <b> [a](https://a.example/?x=1&y=2)"))
	if err != nil {
		t.Fatal(err)
	}
	m := f.Sent()[0]
	if want := `*bold* &amp; &lt;b&gt; <https://a.example/?x=1&amp;y=2|a>`; m.Raw != want {
		t.Errorf("sent %q, want %q", m.Raw, want)
	}
	if m.Previews || m.Chat != private || m.Thread != "" || m.Buttons != nil || m.Nonce != "nonce-1" || remote != private+":"+m.TS {
		t.Errorf("sent %+v as %q", m, remote)
	}
}

func TestPlaces(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	for to, want := range map[event.Address]string{
		"slack:" + sam: private + " ", "slack:C001": "C001 ", "slack:C001/1700000000.000100": "C001 1700000000.000100",
	} {
		d := delivery("x")
		d.To = to
		if _, err := ch.Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if m := f.Sent()[len(f.Sent())-1]; m.Chat+" "+m.Thread != want {
			t.Errorf("%s: sent to %q, want %q", to, m.Chat+" "+m.Thread, want)
		}
	}
	if _, err := ch.Send(t.Context(), delivery("again")); err != nil || f.Calls("conversations.open") != 1 {
		t.Errorf("a private chat was opened %d times; %v", f.Calls("conversations.open"), err)
	}
}

func TestAddresses(t *testing.T) {
	for _, to := range []event.Address{"slack:", "slack:sam", "slack:@sam", "slack:#general", "slack:u042", "slack:U042/1700000000.000100", "slack:C001/", "slack:C001/17", "slack:C001/1700000000.000100/2", "slack:DU042", "slack: U042"} {
		f := server(t)
		d := delivery("x")
		d.To = to
		if _, err := open(t, f).Send(t.Context(), d); channelstest.Kind(err) != "permanent" || f.Calls("chat.postMessage")+f.Calls("conversations.open") != 0 {
			t.Errorf("%q: %v", to, err)
		}
	}
}

func TestButtons(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for _, tc := range []struct {
		name, body string
		choices    []channels.Choice
		buttons    string
		sections   int
	}{
		{"two", "Sure?", []channels.Choice{{Label: "Yes", Data: "/a 1"}, {Label: "No", Data: "/d 1"}}, "[{Yes /a 1} {No /d 1}]", 1},
		{"too long ones are left to the text", "Sure?", []channels.Choice{{Label: strings.Repeat("ä", 75), Data: long}, {Label: strings.Repeat("ä", 76), Data: "/b"}, {Label: "c", Data: long + "x"}, {Label: " ", Data: "/d"}, {Label: "e"}}, "[{" + strings.Repeat("ä", 75) + " " + long + "}]", 1},
		{"none is left", "Sure?", []channels.Choice{{Label: "e"}}, "[]", 0},
		{"below a long text", strings.Repeat("word ", 780), []channels.Choice{{Label: "Yes", Data: "/a"}}, "[{Yes /a}]", 2},
	} {
		f := server(t)
		d := delivery(tc.body)
		d.Choices = tc.choices
		if _, err := open(t, f).Send(t.Context(), d); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		m := f.Sent()[0]
		if got := fmt.Sprint(m.Buttons); got != tc.buttons || len(m.Sections) != tc.sections {
			t.Errorf("%s: %s below %d sections, want %s below %d", tc.name, got, len(m.Sections), tc.buttons, tc.sections)
		}
		if said := strings.Join(m.Sections, " "); tc.sections > 0 && len(strings.Fields(said)) != len(strings.Fields(tc.body)) || m.Text != strings.TrimSpace(tc.body) {
			t.Errorf("%s: it says %q", tc.name, said)
		}
	}
}

func TestClassesOfFailure(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault channelstest.SlackFault
		want  string
		says  string
	}{
		{"no such channel", channelstest.SlackFault{Error: "channel_not_found"}, "permanent", ""},
		{"not in the channel", channelstest.SlackFault{Error: "not_in_channel"}, "permanent", "write /invite"},
		{"archived", channelstest.SlackFault{Error: "is_archived"}, "permanent", ""},
		{"tokens revoked", channelstest.SlackFault{Error: "token_revoked"}, "plain", "create a new one"},
		{"a scope is missing", channelstest.SlackFault{Error: "missing_scope", Needed: "chat:write"}, "plain", "lacks chat:write"},
		{"another refusal", channelstest.SlackFault{Error: "message_limit_exceeded"}, "plain", ""},
		{"half done", channelstest.SlackFault{Error: "internal_error"}, "unknown", ""},
		{"too many", channelstest.SlackFault{Status: 429, RetryAfter: 9}, "later there", "9s"},
		{"too many, without a time", channelstest.SlackFault{Status: 429}, "plain there", ""},
		{"broken", channelstest.SlackFault{Status: 500}, "unknown", ""},
		{"behind a proxy", channelstest.SlackFault{Status: 502}, "plain", ""},
		{"a proxy that has waited", channelstest.SlackFault{Status: 504}, "unknown", ""},
		{"moved elsewhere", channelstest.SlackFault{Status: 302}, "plain", ""},
		{"cut", channelstest.SlackFault{Cut: "after"}, "unknown", ""},
		{"not to be read", channelstest.SlackFault{Raw: "<html>"}, "unknown", ""},
		{"says nothing", channelstest.SlackFault{Raw: "{}"}, "unknown", "check api_base"},
		{"names no message", channelstest.SlackFault{Raw: `{"ok":true,"channel":"C001"}`}, "unknown", "check api_base"},
	} {
		f := server(t)
		ch := open(t, f)
		f.Fail("chat.postMessage", tc.fault)
		_, err := ch.Send(t.Context(), delivery("x"))
		if got := channelstest.Kind(err); got != tc.want || f.Calls("chat.postMessage") != 1 || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v is %s after %d calls, want %s that says %q", tc.name, err, got, f.Calls("chat.postMessage"), tc.want, tc.says)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: a token is in %v", tc.name, err)
		}
		if !strings.Contains("cut, broken, half done", tc.name) { // those may have arrived; before the chat is open nothing has
			continue
		}
		other := server(t)
		other.Fail("conversations.open", tc.fault)
		if _, err := open(t, other).Send(t.Context(), delivery("x")); channelstest.Kind(err) != "plain" || len(other.Sent()) != 0 {
			t.Errorf("%s while the chat is opened: %v is %s, want plain", tc.name, err, channelstest.Kind(err))
		}
	}
}

func TestNoServer(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // nobody is there
	ch, err := slack.New(env(t), slack.Config{AppToken: "env:APP", BotToken: "env:BOT", APIBase: "http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	d := delivery("x")
	d.To = "slack:C001"
	if _, err := ch.Send(t.Context(), d); channelstest.Kind(err) != "plain" {
		t.Errorf("send: %v is %s, want an error to be tried again: nothing was written", err, channelstest.Kind(err))
	}
}

func TestFinds(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   func(t *testing.T, f *channelstest.Slack, ch *slack.Channel) channels.Delivery
		found bool
		kind  string
	}{
		{"nothing was said", func(*testing.T, *channelstest.Slack, *slack.Channel) channels.Delivery { return delivery("x") }, false, "ok"},
		{"it is there, behind much else", func(t *testing.T, f *channelstest.Slack, ch *slack.Channel) channels.Delivery {
			d := delivery("x")
			sends(t, ch, d)
			for i := range 500 {
				f.Say(sam, fmt.Sprint(i))
			}
			d.Body = "x (may be a repeat)"
			return d
		}, true, "ok"},
		{"in a thread", func(t *testing.T, f *channelstest.Slack, ch *slack.Channel) channels.Delivery {
			d := delivery("x")
			d.To = event.Address("slack:C001/" + f.Write(group, obj{"user": sam, "text": "a thread"}))
			sends(t, ch, d)
			return d
		}, true, "ok"},
		{"hob's clock is ahead", func(t *testing.T, _ *channelstest.Slack, ch *slack.Channel) channels.Delivery {
			d := delivery("x")
			sends(t, ch, d)
			d.Tried = d.Tried.Add(5 * time.Minute)
			return d
		}, true, "ok"},
		{"another one is there", func(t *testing.T, _ *channelstest.Slack, ch *slack.Channel) channels.Delivery {
			d := delivery("x")
			sends(t, ch, d)
			d.Nonce = "another"
			return d
		}, false, "ok"},
		{"somebody else says the same", func(_ *testing.T, f *channelstest.Slack, _ *slack.Channel) channels.Delivery {
			f.Write(private, obj{"user": sam, "text": "x", "metadata": obj{"event_type": "hob_delivery", "event_payload": obj{"nonce": "nonce-1"}}})
			return delivery("x")
		}, false, "ok"},
		{"Slack hides the marks", func(_ *testing.T, f *channelstest.Slack, _ *slack.Channel) channels.Delivery {
			f.Write(private, obj{"user": me, "bot_id": "B0HOB", "text": "x"})
			return delivery("x")
		}, false, "unknown"},
		{"a file", func(*testing.T, *channelstest.Slack, *slack.Channel) channels.Delivery {
			d := delivery("x")
			d.File = &channels.File{Name: "a"}
			return d
		}, false, "unknown"},
		{"a scope is missing", func(_ *testing.T, f *channelstest.Slack, _ *slack.Channel) channels.Delivery {
			f.Fail("conversations.history", channelstest.SlackFault{Error: "missing_scope"})
			return delivery("x")
		}, false, "unknown"},
		{"broken", func(_ *testing.T, f *channelstest.Slack, _ *slack.Channel) channels.Delivery {
			f.Fail("conversations.history", channelstest.SlackFault{Status: 502})
			return delivery("x")
		}, false, "plain"},
		{"too many requests", func(_ *testing.T, f *channelstest.Slack, _ *slack.Channel) channels.Delivery {
			f.Fail("conversations.history", channelstest.SlackFault{Status: 429, RetryAfter: 1000})
			return delivery("x")
		}, false, "later"},
	} {
		f := server(t)
		ch := open(t, f)
		d := tc.set(t, f, ch)
		remote, found, err := ch.Find(t.Context(), d)
		if found != tc.found || channelstest.Kind(err) != tc.kind || found && !strings.Contains(remote, f.Sent()[0].TS) {
			t.Errorf("%s: %q, %v, %v; want %v, %s", tc.name, remote, found, err, tc.found, tc.kind)
		}
	}
}

func sends(t *testing.T, ch *slack.Channel, d channels.Delivery) {
	t.Helper()
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func TestEditKeepsThePlace(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	d := delivery("…")
	d.To = "slack:C001/1700000000.000100"
	remote, err := ch.Send(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	d.Body, d.Choices = "**Sure?**", []channels.Choice{{Label: "Yes", Data: "/a"}}
	if err := ch.Edit(t.Context(), d, remote); err != nil {
		t.Fatal(err)
	}
	m := f.Sent()[0]
	if len(f.Sent()) != 1 || m.Raw != "*Sure?*" || m.Nonce != d.Nonce || m.Thread != "1700000000.000100" || len(m.Buttons) != 1 {
		t.Errorf("sent %+v", f.Sent())
	}
	f.Fail("chat.update", channelstest.SlackFault{Status: 429, RetryAfter: 3})
	if err := ch.Edit(t.Context(), d, remote); channelstest.Kind(err) != "later there" {
		t.Errorf("too many edits: %v", err)
	}
	d.File = &channels.File{}
	if err := ch.Edit(t.Context(), d, remote); channelstest.Kind(err) != "permanent" {
		t.Errorf("a file's words: %v", err)
	}
}

// closingReader is a file in memory.
type closingReader struct {
	*strings.Reader
	shut *bool
}

func (l closingReader) Close() error { *l.shut = true; return nil }

func TestFiles(t *testing.T) {
	for _, tc := range []struct {
		name, method string
		fault        channelstest.SlackFault
		content      string
		want         string
		sent         int
	}{
		{"all is well", "", channelstest.SlackFault{}, "abc", "ok", 1},
		{"empty", "", channelstest.SlackFault{}, "", "permanent", 0},
		{"C2: no right to send files", "files.getUploadURLExternal", channelstest.SlackFault{Error: "missing_scope", Needed: "files:write"}, "abc", "permanent", 0},
		{"C2: it knows no files", "files.getUploadURLExternal", channelstest.SlackFault{Error: "unknown_method"}, "abc", "permanent", 0},
		{"C2: refused in a way that hob does not know", "files.completeUploadExternal", channelstest.SlackFault{Error: "some_new_code"}, "abc", "permanent", 0},
		{"C2: not taken where it is to lie", "upload", channelstest.SlackFault{Status: 413}, "abc", "permanent", 0},
		{"the token is not taken", "files.getUploadURLExternal", channelstest.SlackFault{Error: "token_revoked"}, "abc", "plain", 0},
		{"busy", "files.getUploadURLExternal", channelstest.SlackFault{Error: "service_unavailable"}, "abc", "plain", 0},
		{"no place for it", "files.getUploadURLExternal", channelstest.SlackFault{Error: "file_too_large"}, "abc", "permanent", 0},
		{"cut while a place is asked for", "files.getUploadURLExternal", channelstest.SlackFault{Cut: "after"}, "abc", "plain", 0},
		{"on its way up", "upload", channelstest.SlackFault{Status: 502}, "abc", "plain", 0},
		{"cut at the end", "files.completeUploadExternal", channelstest.SlackFault{Cut: "after"}, "abc", "unknown", 1},
		{"too many", "files.completeUploadExternal", channelstest.SlackFault{Status: 429, RetryAfter: 3}, "abc", "later there", 0},
		{"says nothing", "files.completeUploadExternal", channelstest.SlackFault{Raw: `{"ok":true}`}, "abc", "unknown", 0},
	} {
		f := server(t)
		if tc.method != "" {
			f.Fail(tc.method, tc.fault)
		}
		shut := tc.content == ""
		d := delivery("**look**")
		d.To = "slack:C001/1700000000.000100"
		d.File = &channels.File{Name: "a b.txt", Size: int64(len(tc.content)), Open: func(context.Context) (io.ReadSeekCloser, error) {
			return closingReader{strings.NewReader(tc.content), &shut}, nil
		}}
		remote, err := open(t, f).Send(t.Context(), d)
		if channelstest.Kind(err) != tc.want || len(f.Sent()) != tc.sent || !shut {
			t.Errorf("%s: %v, %d arrived, closed: %v; want %s and %d", tc.name, err, len(f.Sent()), shut, tc.want, tc.sent)
		}
		if tc.want != "ok" {
			continue
		}
		m := f.Sent()[0]
		if m.Raw != "*look*" || m.File != "a b.txt" || string(m.Content) != "abc" || m.Chat != group || m.Thread != "1700000000.000100" || !strings.HasPrefix(remote, "C001:F") {
			t.Errorf("sent %+v as %q", m, remote)
		}
	}
	f := server(t)
	gone := errors.New("it is gone")
	d := delivery("x")
	d.File = &channels.File{Name: "a", Size: 1, Open: func(context.Context) (io.ReadSeekCloser, error) { return nil, gone }}
	if _, err := open(t, f).Send(t.Context(), d); !errors.Is(err, gone) || f.Calls("files.getUploadURLExternal") != 0 {
		t.Errorf("a file that cannot be opened: %v", err)
	}
}

// TestAgainstTheLibrarysServer sends to the library's own test server, an independent implementation, and
// reads buttons like Slack.
func TestAgainstTheLibrarysServer(t *testing.T) {
	s := slacktest.NewTestServer()
	s.Start()
	defer s.Stop()
	ch, err := slack.New(env(t), slack.Config{AppToken: "env:APP", BotToken: "env:BOT", APIBase: s.GetAPIURL()})
	if err != nil {
		t.Fatal(err)
	}
	d := delivery("hello **there**")
	d.To, d.Choices = "slack:C001", []channels.Choice{{Label: "Yes", Data: "/a"}}
	conn, _, err := websocket.Dial(t.Context(), s.GetWSURL(), nil) //nolint:bodyclose // the library does; who connects is shown what was sent
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	remote, err := ch.Send(t.Context(), d)
	if err != nil || !strings.HasPrefix(remote, "C001:") {
		t.Errorf("sent as %q: %v", remote, err)
	}
	for want := []string{`"hello *there*"`, `"type":"actions"`, `"value":"/a"`}; ; {
		_, raw, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), `"message"`) {
			for _, part := range want {
				if !strings.Contains(string(raw), part) {
					t.Errorf("it has read %s, want %s in it", raw, part)
				}
			}
			break
		}
	}
	if account, err := ch.Account(t.Context()); err != nil || !strings.Contains(account, "/") {
		t.Errorf("account %q, %v", account, err)
	}
}
