package telegram_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
	"hob/daemon/event"
)

func delivery(body string) channels.Delivery {
	return channels.Delivery{Outbox: 1, Parts: 1, To: "telegram:42", Body: body, Nonce: "nonce", Attempts: 1}
}

func TestSendsHTML(t *testing.T) {
	f := server(t)
	f.Knows(sam)
	id, err := open(t, f).Send(t.Context(), delivery("**bold** & <b> [a](https://a.example/?x=1&y=2)\n\n```go\na < b\n```"))
	if err != nil {
		t.Fatal(err)
	}
	m := f.Sent()[0]
	if m.Mode != "HTML" || m.Previews || m.Chat != sam || m.Thread != 0 || m.ReplyTo != 0 || m.Buttons != nil {
		t.Errorf("sent %+v", m)
	}
	if want := `<b>bold</b> &amp; &lt;b&gt; <a href="https://a.example/?x=1&amp;y=2">a</a>`; !strings.HasPrefix(m.Raw, want) {
		t.Errorf("sent %q, want it to begin with %q", m.Raw, want)
	}
	if m.Text != "bold & <b> a\n\na < b" {
		t.Errorf("arrived %q", m.Text)
	}
	if want := fmt.Sprintf("7001/42/%d", m.ID); id != want {
		t.Errorf("id %q, want %q: as a reply to it names it", id, want)
	}
}

func TestPlainWhenTheFormIsNotTaken(t *testing.T) {
	f := server(t)
	f.Knows(group)
	d := delivery("**a** [b](https://b.example)")
	d.To, d.ReplyRef, d.Choices = "telegram:-1001/9", "7001/-1001/5", []channels.Choice{{Label: "yes", Data: "/approve X"}}
	f.Fail("sendMessage", channelstest.TelegramFault{Status: 400})
	if _, err := open(t, f).Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	m := f.Sent()[0]
	if m.Mode != "" || m.Text != "a b (https://b.example)" || m.Thread != 9 || m.Previews || m.ReplyTo != 0 || m.Buttons != nil {
		t.Errorf("sent %+v, want plain text to the same place", m)
	}
}

func TestPlainFitsAlways(t *testing.T) {
	f := server(t)
	f.Knows(sam)
	link := "[w](https://" + strings.Repeat("long", 40) + ".example) "
	f.Fail("sendMessage", channelstest.TelegramFault{Status: 400})
	if _, err := open(t, f).Send(t.Context(), delivery(strings.Repeat(link, 100))); err != nil {
		t.Fatal(err)
	}
	if got, want := f.Sent()[0].Text, strings.TrimSpace(strings.Repeat("w ", 100)); got != want {
		t.Errorf("sent %q, want the words without the addresses", got)
	}
}

func TestReplies(t *testing.T) {
	for _, tc := range []struct {
		to   event.Address
		ref  string
		part int
		want int64
	}{
		{"telegram:-1001", "7001/-1001/5", 0, 5},
		{"telegram:-1001/9", "7001/-1001/5", 0, 5},
		{"telegram:-1001", "7001/-1001/5/1017", 0, 5}, // an edit
		{"telegram:-1001", "7001/-1001/5", 1, 0},
		{"telegram:-1001", "7001/-1002/5", 0, 0},
		{"telegram:-1001", "8001/-1001/5", 0, 0}, // another bot's
		{"telegram:-1001", "7001/callback/5", 0, 0},
		{"telegram:-1001", "7001/-1001/x", 0, 0},
		{"telegram:-1001", "", 0, 0},
		{"telegram:42", "7001/42/5", 0, 0}, // in a private chat everything is an answer
		{overtaken + "telegram:42", "7001/42/5", 0, 5},
		{overtaken + "telegram:42", "7001/42/5", 1, 0},
		{overtaken + "telegram:42", "7001/-1001/5", 0, 0},
	} {
		f := server(t)
		f.Knows(sam)
		f.Knows(group)
		d := delivery("x")
		to, after := strings.CutPrefix(string(tc.to), overtaken)
		d.To, d.ReplyRef, d.Part, d.Overtaken = event.Address(to), tc.ref, tc.part, after
		if _, err := open(t, f).Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got := f.Sent()[0].ReplyTo; got != tc.want {
			t.Errorf("%+v: reply to %d", tc, got)
		}
	}
}

func TestKeyboards(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, tc := range []struct {
		name    string
		choices []channels.Choice
		want    string
	}{
		{"short ones stand side by side", []channels.Choice{{Label: "Yes", Data: "/a 1"}, {Label: "No", Data: "/d 1"}}, "[[{Yes /a 1} {No /d 1}]]"},
		{"long ones below each other", []channels.Choice{{Label: "Yes", Data: "/a"}, {Label: "No, not today", Data: "/d"}}, "[[{Yes /a}] [{No, not today /d}]]"},
		{"many below each other", make5(), "[[{0 /0}] [{1 /1}] [{2 /2}] [{3 /3}] [{4 /4}]]"},
		{"64 bytes are the most", []channels.Choice{{Label: "a", Data: long}, {Label: "b", Data: long + "x"}, {Label: " ", Data: "/c"}, {Label: "d"}}, "[[{a " + long + "}]]"},
		{"none is left", []channels.Choice{{Label: "b", Data: long + "x"}}, "[]"},
	} {
		f := server(t)
		f.Knows(sam)
		d := delivery("Sure?")
		d.Choices = tc.choices
		if _, err := open(t, f).Send(t.Context(), d); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got := fmt.Sprint(f.Sent()[0].Buttons); got != tc.want || f.Calls("sendMessage") != 1 {
			t.Errorf("%s: %s after %d calls, want %s", tc.name, got, f.Calls("sendMessage"), tc.want)
		}
	}
}

func make5() []channels.Choice {
	var list []channels.Choice
	for i := range 5 {
		list = append(list, channels.Choice{Label: fmt.Sprint(i), Data: fmt.Sprint("/", i)})
	}
	return list
}

func TestClassesOfFailure(t *testing.T) {
	twice := func(s int) []channelstest.TelegramFault {
		return []channelstest.TelegramFault{{Status: s}, {Status: s}}
	}
	for _, tc := range []struct {
		name   string
		faults []channelstest.TelegramFault
		want   string
		calls  int
	}{
		{"chat not found", twice(400), "permanent", 2},
		{"blocked", twice(403), "permanent", 1},
		{"token revoked", twice(401), "plain", 1},
		{"token malformed", twice(404), "plain", 1},
		{"too many", []channelstest.TelegramFault{{Status: 429, RetryAfter: 9}}, "later there", 1},
		{"too many, without a time", twice(429), "plain there", 1},
		{"broken", twice(500), "plain", 1},
		{"behind a proxy", twice(502), "plain", 1},
		{"a proxy that has waited", twice(504), "unknown", 1},
		{"moved elsewhere", twice(302), "plain", 1},
		{"cut", []channelstest.TelegramFault{{Cut: "after"}}, "unknown", 1},
		{"not to be read", []channelstest.TelegramFault{{Raw: "<html>"}}, "unknown", 1},
		{"says nothing", []channelstest.TelegramFault{{Raw: "{}"}}, "unknown", 1},
		{"without a number", []channelstest.TelegramFault{{Raw: `{"ok":true,"result":{}}`}}, "unknown", 1},
		{"another result", []channelstest.TelegramFault{{Raw: `{"ok":true,"result":[]}`}}, "unknown", 1},
		{"a refusal with 200", []channelstest.TelegramFault{{Raw: `{"ok":false,"error_code":403,"description":"x"}`}}, "permanent", 1},
	} {
		f := server(t)
		f.Knows(sam)
		f.Fail("sendMessage", tc.faults...)
		_, err := open(t, f).Send(t.Context(), delivery("x"))
		if got := channelstest.Kind(err); got != tc.want || f.Calls("sendMessage") != tc.calls {
			t.Errorf("%s: %v is %s after %d calls, want %s after %d", tc.name, err, got, f.Calls("sendMessage"), tc.want, tc.calls)
		}
		if later := (*channels.RetryAfter)(nil); errors.As(err, &later) && later.After != 9*time.Second {
			t.Errorf("%s: retry after %s", tc.name, later.After)
		}
		if err != nil && strings.Contains(err.Error(), "AAsecret") {
			t.Errorf("%s: the token is in %v", tc.name, err)
		}
	}
}

func TestGroupThatHasMoved(t *testing.T) {
	f := server(t)
	f.Knows(-1099)
	d := delivery("**x**")
	d.To, d.ReplyRef = "telegram:-1001/9", "7001/-1001/5"
	f.Fail("sendMessage", channelstest.TelegramFault{Status: 400, MigrateTo: -1099})
	id, err := open(t, f).Send(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	m := f.Sent()[0]
	if m.Chat != -1099 || m.Thread != 0 || m.ReplyTo != 0 || m.Mode != "HTML" || id != fmt.Sprintf("7001/-1099/%d", m.ID) {
		t.Errorf("sent %+v as %q", m, id)
	}
}

func TestAddresses(t *testing.T) {
	for _, to := range []event.Address{"telegram:", "telegram:sam", "telegram:@sam", "telegram:0", "telegram:-0", "telegram:1/", "telegram:1/0", "telegram:1/2/3", "telegram:99999999999999999999", "telegram: 1"} {
		f := server(t)
		d := delivery("x")
		d.To = to
		if _, err := open(t, f).Send(t.Context(), d); channelstest.Kind(err) != "permanent" || f.Calls("sendMessage") != 0 {
			t.Errorf("%q: %v", to, err)
		}
	}
}

func TestTyping(t *testing.T) {
	f := server(t)
	f.Knows(sam)
	f.Knows(group)
	var ch channels.Typer = open(t, f)
	for _, to := range []event.Address{"telegram:42", "telegram:-1001/9"} {
		if err := ch.Typing(t.Context(), to); err != nil {
			t.Errorf("%s: %v", to, err)
		}
	}
	if got := fmt.Sprint(f.Signs()); got != "[typing in 42/0 typing in -1001/9]" {
		t.Errorf("signs %s", got)
	}
	if err := ch.Typing(t.Context(), "telegram:sam"); channelstest.Kind(err) != "permanent" {
		t.Errorf("an address that cannot be: %v", err)
	}
}

func TestConfigErrorsNameTheKey(t *testing.T) {
	for _, tc := range []struct {
		cfg  telegram.Config
		want string
	}{
		{telegram.Config{}, "token: missing; @BotFather"},
		{telegram.Config{Token: "env:NONE"}, "token: no secret"},
		{telegram.Config{Token: "env:ODD"}, "token: the value of \"env:ODD\" is not a bot token"},
		{telegram.Config{Token: "env:WORD"}, "token: the value of \"env:WORD\" is not a bot token"},
		{telegram.Config{Token: "env:TOKEN", APIBase: "api.telegram.org"}, "api_base: "},
		{telegram.Config{Token: "env:TOKEN", APIBase: "ftp://x"}, "api_base: "},
		{telegram.Config{Token: "env:TOKEN", APIBase: "https://u:p" + "@x"}, "api_base: want no user name"},
		{telegram.Config{Token: "env:TOKEN", APIBase: "https://x/?a=b"}, "api_base: "},
		{telegram.Config{Token: "env:TOKEN", Audience: channels.Audience{Groups: []string{"1001"}}}, `groups: "1001" is not a valid id; the id of a group is a negative number`},
		{telegram.Config{Token: "env:TOKEN", Audience: channels.Audience{Known: []string{"@sam"}}}, `known: "@sam" is not a valid id; the id of a person is a number`},
		{telegram.Config{Token: "env:TOKEN", Audience: channels.Audience{Public: []string{"-5"}}}, `public: "-5" is not a valid id`},
		{telegram.Config{Token: "env:TOKEN", Audience: channels.Audience{Known: []string{"5"}, Public: []string{"5"}}}, "public: 5 is listed twice, also in known"},
	} {
		if _, err := telegram.New(env(t), tc.cfg); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: error %v, want one that begins with %q", tc.cfg, err, tc.want)
		}
	}
}

func TestTry(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   func(*channelstest.Telegram)
		lines int
		last  string
		err   string
	}{
		{"all is well", func(*channelstest.Telegram) {}, 3, "Privacy mode is on", ""},
		{"without privacy mode", (*channelstest.Telegram).ReadsAll, 3, "Privacy mode is off", ""},
		{"web hook", func(f *channelstest.Telegram) { f.Webhook("https://o.example") }, 1, "The token belongs to @hob_test_bot (Hob), bot 7001.", "web hook https://o.example"},
		{"no token", (*channelstest.Telegram).Revoke, 0, "", "set token to the one that @BotFather shows"},
	} {
		f := server(t)
		tc.set(f)
		var ch channels.Tester = open(t, f)
		lines, err := ch.Test(t.Context())
		if len(lines) != tc.lines || len(lines) > 0 && !strings.HasPrefix(lines[len(lines)-1], tc.last) {
			t.Errorf("%s: %q", tc.name, lines)
		}
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
		if f.Calls("getUpdates")+f.Calls("sendMessage") != 0 {
			t.Errorf("%s: it received or sent something", tc.name)
		}
	}
}

func TestLink(t *testing.T) {
	f := server(t)
	var ch channels.Linker = open(t, f)
	if text, url, err := ch.Link(t.Context()); err != nil || url != "https://t.me/hob_test_bot" || !strings.Contains(text, url+" ") {
		t.Errorf("link %q, %q, %v", text, url, err)
	}
	var who channels.Accounted = open(t, f)
	if id, err := who.Account(t.Context()); err != nil || id != "7001" {
		t.Errorf("account %q, %v", id, err)
	}
	f.Revoke()
	if id, err := who.Account(t.Context()); err == nil {
		t.Errorf("account %q without a bot", id)
	}
	if text, _, err := ch.Link(t.Context()); err == nil {
		t.Errorf("link %q without a bot", text)
	}
}

// overtaken begins the recipient of an answer that other messages have come before (N26).
const overtaken = "overtaken "
