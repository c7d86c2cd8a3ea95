package discord_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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

func delivery(body string) channels.Delivery {
	return channels.Delivery{Outbox: 1, Parts: 1, To: "discord:" + sam, Body: body, Nonce: "nonce", Attempts: 1, Tried: time.Now()}
}

func TestSendsDiscordsMarkdown(t *testing.T) {
	f := server(t)
	id, err := open(t, f).Send(t.Context(), delivery("**bold** @everyone <@42> [a](https://a.example)"))
	if err != nil {
		t.Fatal(err)
	}
	m := f.Sent()[0]
	if m.Channel != direct || m.Flags != 4 || len(m.Calls) != 0 || m.Nonce != "nonce" || m.ReplyTo != "" || m.Buttons != nil || id != direct+"/"+m.ID {
		t.Errorf("sent %+v as %q", m, id)
	}
	if !strings.HasPrefix(m.Text, "**bold** ") || !strings.Contains(m.Text, "[a](<https://a.example>)") || strings.Contains(m.Text, "@everyone") || strings.Contains(m.Text, "<@42>") {
		t.Errorf("sent %q", m.Text)
	}
}

func TestReplies(t *testing.T) {
	for _, tc := range []struct {
		to   event.Address
		ref  string
		part int
		want string
	}{
		{"discord:#2001", "2001/5", 0, "5"},
		{"discord:#2001", "2001/5/1700000000000", 0, "5"}, // an edit
		{"discord:#2001/3001", "3001/5", 0, "5"},
		{"discord:#2001", "2001/5", 1, ""},
		{"discord:#2001", "2002/5", 0, ""},
		{"discord:#2001/3001", "2001/5", 0, ""},
		{"discord:#2001", "pressed/5", 0, ""},
		{"discord:#2001", "", 0, ""},
		{"discord:42", direct + "/5", 0, ""}, // in a private chat everything is an answer
		{overtaken + "discord:42", direct + "/5", 0, "5"},
		{overtaken + "discord:42", direct + "/5", 1, ""},
		{overtaken + "discord:42", "2001/5", 0, ""},
	} {
		f := server(t)
		f.Thread(thread, group, "plans")
		d := delivery("x")
		to, after := strings.CutPrefix(string(tc.to), overtaken)
		d.To, d.ReplyRef, d.Part, d.Overtaken = event.Address(to), tc.ref, tc.part, after
		if _, err := open(t, f).Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got := f.Sent()[0].ReplyTo; got != tc.want {
			t.Errorf("%+v: reply to %q", tc, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, to := range []event.Address{"discord:", "discord:sam", "discord:0", "discord:#", "discord:#1/", "discord:1/2", "discord:#1/2/3", "discord:123456789012345678901", "discord: 1", "discord:<@1>"} {
		f := server(t)
		d := delivery("x")
		d.To = to
		if _, err := open(t, f).Send(t.Context(), d); channelstest.Kind(err) != "permanent" || len(f.Sent()) != 0 {
			t.Errorf("%q: %v", to, err)
		}
	}
}

func TestButtons(t *testing.T) {
	var many []channels.Choice
	for i := range 30 {
		many = append(many, channels.Choice{Label: fmt.Sprint(i), Data: fmt.Sprint("/", i)})
	}
	long := strings.Repeat("ä", 100)
	for _, tc := range []struct {
		name    string
		choices []channels.Choice
		want    string
	}{
		{"side by side", many[:2], "[[{0 /0} {1 /1}]]"},
		{"five in a row", many[:6], "[[{0 /0} {1 /1} {2 /2} {3 /3} {4 /4}] [{5 /5}]]"},
		{"only what fits", []channels.Choice{{Label: "a", Data: long}, {Label: "b", Data: long + "x"}, {Label: " ", Data: "/c"}, {Label: "d"}, {Label: long, Data: "/e"}, {Label: "f", Data: long}}, "[[{a " + long + "}]]"},
		{"none is left", []channels.Choice{{Label: "b", Data: long + "x"}}, "[]"},
	} {
		f := server(t)
		d := delivery("Sure?")
		d.Choices = tc.choices
		if _, err := open(t, f).Send(t.Context(), d); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got := fmt.Sprint(f.Sent()[0].Buttons); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	f := server(t)
	d := delivery("Sure?")
	d.Choices = many
	if _, err := open(t, f).Send(t.Context(), d); err != nil || len(f.Sent()[0].Buttons) != 5 {
		t.Errorf("thirty buttons: %v, %d rows; want as many as there is room for", err, len(f.Sent()[0].Buttons))
	}
}

func TestClassesOfFailure(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault channelstest.DiscordFault
		want  string
	}{
		{"cannot be taken", channelstest.DiscordFault{Status: 400, Code: 50035}, "permanent"},
		{"does not want messages", channelstest.DiscordFault{Status: 403, Code: 50007}, "permanent"},
		{"no such channel", channelstest.DiscordFault{Status: 404, Code: 10003}, "permanent"},
		{"a proxy's page", channelstest.DiscordFault{Status: 403}, "plain"},
		{"token revoked", channelstest.DiscordFault{Status: 401}, "plain"},
		{"too many", channelstest.DiscordFault{Status: 429, Code: 1, RetryAfter: 9}, "later there"},
		{"too many everywhere", channelstest.DiscordFault{Status: 429, Code: 1, RetryAfter: 9, Global: true}, "later"},
		{"too many, says the proxy", channelstest.DiscordFault{Status: 429, RetryAfter: 9}, "later"},
		{"too many, without a time", channelstest.DiscordFault{Status: 429}, "plain"},
		{"broken midway", channelstest.DiscordFault{Status: 500}, "unknown"},
		{"behind a proxy", channelstest.DiscordFault{Status: 502}, "plain"},
		{"not to be had", channelstest.DiscordFault{Status: 503}, "plain"},
		{"a proxy that has waited", channelstest.DiscordFault{Status: 504}, "unknown"},
		{"moved elsewhere", channelstest.DiscordFault{Status: 302}, "plain"},
		{"cut", channelstest.DiscordFault{Cut: "after"}, "unknown"},
		{"not to be read", channelstest.DiscordFault{Raw: "<html>"}, "unknown"},
		{"without an id", channelstest.DiscordFault{Raw: "{}"}, "unknown"},
	} {
		f := server(t)
		f.Fail("send", tc.fault)
		_, err := open(t, f).Send(t.Context(), delivery("x"))
		if got := channelstest.Kind(err); got != tc.want || f.Calls("send") != 1 {
			t.Errorf("%s: %v is %s after %d calls, want %s", tc.name, err, got, f.Calls("send"), tc.want)
		}
		if later := (*channels.RetryAfter)(nil); errors.As(err, &later) && later.After != 9*time.Second {
			t.Errorf("%s: retry after %s", tc.name, later.After)
		}
		if err != nil && strings.Contains(err.Error(), "secret-part") {
			t.Errorf("%s: the token is in %v", tc.name, err)
		}
	}
}

// If a private chat cannot be opened, nothing was delivered.
func TestNoPrivateChat(t *testing.T) {
	for want, fault := range map[string]channelstest.DiscordFault{"permanent": {Status: 403, Code: 50007}, "later there": {Status: 429, Code: 40003, RetryAfter: 2}, "plain": {Cut: "after"}} {
		f := server(t)
		f.Fail("dm", fault)
		ch := open(t, f)
		if _, err := ch.Send(t.Context(), delivery("x")); channelstest.Kind(err) != want || f.Calls("send") != 0 {
			t.Errorf("%+v: %v", fault, err)
		}
		for range 2 {
			if _, err := ch.Send(t.Context(), delivery("x")); err != nil {
				t.Error(err)
			}
		}
		if f.Calls("dm") != 2 {
			t.Errorf("asked for the chat %d times, want it kept", f.Calls("dm"))
		}
	}
}

func TestSentTwiceInMinutesArrivesOnce(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	f.Fail("send", channelstest.DiscordFault{Cut: "after"})
	if _, err := ch.Send(t.Context(), delivery("x")); channelstest.Kind(err) != "unknown" {
		t.Fatal(err)
	}
	if id, err := ch.Send(t.Context(), delivery("x")); err != nil || id != direct+"/"+f.Sent()[0].ID || len(f.Sent()) != 1 {
		t.Errorf("again: %q, %v; %d arrived", id, err, len(f.Sent()))
	}
}

func TestFind(t *testing.T) {
	ago := func(d time.Duration) func(*channels.Delivery) {
		return func(v *channels.Delivery) { v.Tried = time.Now().Add(-d) }
	}
	for _, tc := range []struct {
		name  string
		said  []obj
		d     func(*channels.Delivery)
		found bool
		err   string
	}{
		{"there it is", []obj{{"content": "**said** it"}, {"content": "and more"}}, ago(10 * time.Second), true, "ok"},
		{"with a mark", []obj{{"content": "**said** it\n\n(may be a repeat)"}}, ago(10 * time.Second), true, "ok"},
		{"more words", []obj{{"content": "**said** it again"}}, ago(10 * time.Second), false, "ok"},
		{"somebody else's", []obj{{"content": "**said** it", "author": obj{"id": sam}}}, ago(10 * time.Second), false, "ok"},
		{"an older one", []obj{{"content": "**said** it", "timestamp": time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)}}, ago(10 * time.Second), false, "ok"},
		{"with a file", []obj{{"content": "**said** it", "attachments": []obj{{"size": 5}}}}, ago(10 * time.Second), false, "ok"},
		{"the file", []obj{{"content": "**said** it", "attachments": []obj{{"size": 5}}}}, func(d *channels.Delivery) {
			ago(10 * time.Second)(d)
			d.File = &channels.File{Name: "x", Size: 5}
		}, true, "ok"},
		{"not yet", nil, ago(time.Second), false, "plain"},
	} {
		f := server(t)
		for _, m := range tc.said {
			m["channel_id"] = direct
			if m["author"] == nil {
				m["author"] = obj{"id": "7001", "bot": true}
			}
			f.Write(m)
		}
		d := delivery("**said** it")
		tc.d(&d)
		id, found, err := open(t, f).Find(t.Context(), d)
		if found != tc.found || channelstest.Kind(err) != tc.err || found != strings.HasPrefix(id, direct+"/") {
			t.Errorf("%s: %q, %v, %v", tc.name, id, found, err)
		}
	}
}

func TestWhatAnotherSendHasDeliveredIsNotFound(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	first, second := delivery("Done."), delivery("Done.")
	if _, err := ch.Send(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second.Nonce, second.Tried = "other", time.Now().Add(-10*time.Second)
	if _, found, err := ch.Find(t.Context(), second); found || err != nil {
		t.Errorf("another delivery's was found: %v, %v", found, err)
	}
}

func TestFindCannotTell(t *testing.T) {
	f := server(t)
	for i := range 1001 {
		f.Write(obj{"channel_id": direct, "content": fmt.Sprint(i)})
	}
	d := delivery("x")
	d.Tried = time.Now().Add(-time.Hour)
	if _, _, err := open(t, f).Find(t.Context(), d); channelstest.Kind(err) != "unknown" {
		t.Errorf("behind a thousand others: %v", err)
	}
	f.Forbid(direct)
	if _, _, err := open(t, f).Find(t.Context(), d); channelstest.Kind(err) != "unknown" {
		t.Errorf("where hob may not read: %v", err)
	}
	f.Fail("me", channelstest.DiscordFault{Cut: "before"})
	if _, _, err := open(t, f).Find(t.Context(), d); channelstest.Kind(err) != "later" {
		t.Errorf("without a connection: %v", err)
	}
}

func TestEdits(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	d := delivery("a")
	id, err := ch.Send(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	f.Fail("edit", channelstest.DiscordFault{Status: 429, Code: 1, RetryAfter: 3}, channelstest.DiscordFault{Status: 502}, channelstest.DiscordFault{Status: 403, Code: 50005})
	for _, want := range []string{"later there", "plain", "permanent", "ok"} {
		d.Body = want
		if err := ch.Edit(t.Context(), d, id); channelstest.Kind(err) != want {
			t.Errorf("edit: %v, want %s", err, want)
		}
	}
	if got := f.Text(id); got != "ok" {
		t.Errorf("there stands %q", got)
	}
	for _, odd := range []string{"", "5", "../5", "pressed/5"} {
		if err := ch.Edit(t.Context(), d, odd); channelstest.Kind(err) != "permanent" {
			t.Errorf("%q: %v", odd, err)
		}
	}
}

type file struct{ *strings.Reader }

func (file) Close() error { return nil }

func TestFileWithButtonsInAGroup(t *testing.T) {
	f := server(t)
	d := delivery("look")
	d.To, d.ReplyRef, d.Choices = "discord:#2001", "2001/5", []channels.Choice{{Label: "Yes", Data: "/y"}}
	d.File = &channels.File{Name: `a"b` + "\r\nX: y.txt", MIME: "text/plain", Size: 3, Open: func(context.Context) (io.ReadSeekCloser, error) {
		return file{strings.NewReader("one")}, nil
	}}
	if _, err := open(t, f).Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	m := f.Sent()[0]
	if len(m.Files) != 1 || m.Files[0].Name != `a"b%0D%0AX: y.txt` || string(m.Files[0].Content) != "one" || m.Files[0].MIME != "text/plain" || m.Text != "look" || m.ReplyTo != "5" || len(m.Buttons) != 1 || m.Flags != 4 || len(m.Calls) != 0 {
		t.Errorf("sent %+v", m)
	}
	if got := open(t, f).MaxFile(); got != 10<<20 {
		t.Errorf("files of %d bytes", got)
	}
}

// A name may contain any letters (RFC 7578, section 4.2).
func TestFileNameInAnyLetters(t *testing.T) {
	f := server(t)
	d := delivery("")
	d.File = channelstest.Enclosed("Überweisung ü 😀.txt", "text/plain", "one")
	if _, err := open(t, f).Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if m := f.Sent()[0]; len(m.Files) != 1 || m.Files[0].Name != "Überweisung ü 😀.txt" {
		t.Errorf("sent %+v", m)
	}
}

func TestConfigErrorsNameTheKey(t *testing.T) {
	for _, tc := range []struct {
		cfg  discord.Config
		want string
	}{
		{discord.Config{}, "token: missing; create an application"},
		{discord.Config{Token: "env:NONE"}, "token: no secret"},
		{discord.Config{Token: "env:ODD"}, `token: the value of "env:ODD" is not a bot token`},
		{discord.Config{Token: "env:TOKEN", Audience: channels.Audience{Groups: []string{"#general"}}}, `groups: "#general" is not a valid id; an id is a number`},
		{discord.Config{Token: "env:TOKEN", Audience: channels.Audience{Known: []string{"sam#1234"}}}, `known: "sam#1234" is not a valid id`},
		{discord.Config{Token: "env:TOKEN", Audience: channels.Audience{Public: []string{"-5"}}}, `public: "-5" is not a valid id`},
		{discord.Config{Token: "env:TOKEN", Audience: channels.Audience{Known: []string{"5"}, Public: []string{"5"}}}, "public: 5 is listed twice, also in known"},
	} {
		if _, err := discord.New(env(t, nil), tc.cfg); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: error %v, want one that begins with %q", tc.cfg, err, tc.want)
		}
	}
}

func TestTry(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   func(*channelstest.Discord)
		lines []string
		err   string
	}{
		{"all is well", func(*channelstest.Discord) {}, []string{"The token belongs to hob, bot 7001.", "Message Content Intent is on", "It can read the channel #home (2001)."}, ""},
		{"intent", (*channelstest.Discord).HideContent, []string{"The token belongs"}, "switch on Message Content Intent"},
		{"no access", func(f *channelstest.Discord) { f.Forbid(group) }, []string{"The token belongs", "Message Content Intent is on"}, "client_id=8001"},
		{"no token", (*channelstest.Discord).Revoke, nil, "press Reset Token"},
	} {
		f := server(t)
		tc.set(f)
		lines, err := open(t, f).Test(t.Context())
		if !slices.EqualFunc(lines, tc.lines, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", tc.name, lines, tc.lines)
		}
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
		if f.Calls("send") != 0 || len(f.Logins()) != 0 {
			t.Errorf("%s: it received or sent something", tc.name)
		}
	}
}

func TestLink(t *testing.T) {
	f := server(t)
	text, link, err := open(t, f).Link(t.Context())
	// permissions: view channels, send, attach files, read history, send in threads
	const invite = "https://discord.com/oauth2/authorize?client_id=8001&permissions=274878008320&scope=bot "
	if err != nil || link != "https://discord.com/users/7001" || !strings.Contains(text, link+",") || !strings.Contains(text, invite) {
		t.Errorf("link %q, %v", text, err)
	}
	f.Revoke()
	if text, _, err := open(t, f).Link(t.Context()); err == nil {
		t.Errorf("link %q without a bot", text)
	}
}

// Discord's clock counts, not hob's.
func TestFindByDiscordsClock(t *testing.T) {
	f := server(t)
	e := env(t, f)
	e.Clock = sys.ShiftedClock(func() time.Duration { return time.Hour })
	ch := openIn(t, e)
	f.Write(obj{"channel_id": direct, "author": obj{"id": "7001", "bot": true}, "content": "x"})
	d := delivery("x")
	d.Tried = e.Clock.Wall().Add(-time.Second)
	if _, found, err := ch.Find(t.Context(), d); !found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

// overtaken begins the recipient of an answer that other messages have come before (N26).
const overtaken = "overtaken "
