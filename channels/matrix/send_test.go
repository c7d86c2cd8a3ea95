package matrix_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/matrix"
	"hob/daemon/event"
)

func delivery(body string) channels.Delivery {
	return channels.Delivery{Outbox: 1, Parts: 1, To: "matrix:" + sam, Body: body, Nonce: "nonce", Attempts: 1}
}

func TestSendsBothForms(t *testing.T) {
	f := server(t)
	f.Room(home, "Home", sam, eve)
	d := delivery("**bold** <b>")
	d.To = "matrix:" + home
	id, err := open(t, f).Send(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	m := f.Sent()[0]
	raw, err := json.Marshal(m.Content)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"body":"bold \u003cb\u003e","format":"org.matrix.custom.html","formatted_body":"\u003cstrong\u003ebold\u003c/strong\u003e \u0026lt;b\u0026gt;","m.mentions":{},"msgtype":"m.text"}`
	if got := strings.NewReplacer(`\u003cp\u003e`, "", `\u003c/p\u003e`, "").Replace(string(raw)); got != want || m.Txn != "nonce" || m.Room != home {
		t.Errorf("sent %s as %q in %s, want %s", got, m.Txn, m.Room, want)
	}
	if id != home+"/"+m.ID {
		t.Errorf("id %q, want it as a reply to it names it", id)
	}
}

func TestTheServerKnowsARepeat(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	f.Direct(sam, chat)
	ch := open(t, f)
	var keyed channels.Keyed = ch
	f.Fail("send", channelstest.MatrixFault{Cut: "after"})
	_, first := ch.Send(t.Context(), delivery("x"))
	id, again := ch.Send(t.Context(), delivery("x"))
	if channelstest.Kind(first) != "unknown" || again != nil || len(f.Sent()) != 1 || id != chat+"/"+f.Sent()[0].ID || !keyed.DedupsByNonce() {
		t.Errorf("%v, then %v: %d arrived", first, again, len(f.Sent()))
	}
}

func TestRelations(t *testing.T) {
	thread := func(falls bool, to string) string {
		return fmt.Sprintf(`{"event_id":"$root","is_falling_back":%v,"m.in_reply_to":{"event_id":%q},"rel_type":"m.thread"}`, falls, to)
	}
	for _, tc := range []struct {
		to, ref string
		part    int
		want    string
	}{
		{home, home + "/$q", 0, `{"m.in_reply_to":{"event_id":"$q"}}`},
		{home, home + "/$q", 1, "null"},
		{home, chat + "/$q", 0, "null"},
		{home, "", 0, "null"},
		{home + "/$root", "", 0, thread(true, "$root")},
		{home + "/$root", home + "/$q", 1, thread(true, "$root")},
		{home + "/$root", home + "/$q", 0, strings.Replace(thread(true, "$q"), `"is_falling_back":true,`, "", 1)},
		{sam, chat + "/$q", 0, "null"}, // in a private chat everything is an answer
		{overtaken + sam, chat + "/$q", 0, `{"m.in_reply_to":{"event_id":"$q"}}`},
		{overtaken + sam, chat + "/$q", 1, "null"},
		{overtaken + sam, home + "/$q", 0, "null"},
		{overtaken + sam, "", 0, "null"},
	} {
		f := server(t)
		f.Room(home, "", sam, eve)
		f.Room(chat, "", sam)
		f.Direct(sam, chat)
		d := delivery("x")
		to, after := strings.CutPrefix(tc.to, overtaken)
		d.To, d.ReplyRef, d.Part, d.Overtaken = event.Address("matrix:"+to), tc.ref, tc.part, after
		if _, err := open(t, f).Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(f.Sent()[0].Content["m.relates_to"]); err != nil || string(got) != tc.want {
			t.Errorf("to %s, part %d of an answer to %q: %s, want %s", tc.to, tc.part, tc.ref, got, tc.want)
		}
	}
}

func TestPrivateChats(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(*channelstest.Matrix)
		want string // "made": a new room; else the room, or the kind of error
	}{
		{"there is one", func(f *channelstest.Matrix) { f.Room(chat, "", sam); f.Direct(sam, chat) }, chat},
		{"there is none", func(*channelstest.Matrix) {}, "made"},
		{"somebody else has come in", func(f *channelstest.Matrix) { f.Room(chat, "", sam, eve); f.Direct(sam, chat) }, "made"},
		{"somebody else is invited", func(f *channelstest.Matrix) {
			f.Room(chat, "", sam)
			f.Member(chat, eve, "invite")
			f.Direct(sam, chat)
		}, "made"},
		{"somebody else has left", func(f *channelstest.Matrix) {
			f.Room(chat, "", sam, eve)
			f.Member(chat, eve, "leave")
			f.Direct(sam, chat)
		}, chat},
		{"it is encrypted", func(f *channelstest.Matrix) { f.Room(chat, "", sam); lock(f, chat); f.Direct(sam, chat) }, "made"},
		{"an older one is not", func(f *channelstest.Matrix) {
			f.Room(chat, "", sam)
			f.Room("!new:hob.test", "", sam)
			lock(f, "!new:hob.test")
			f.Direct(sam, "!new:hob.test", chat)
		}, chat},
		{"hob is not in it", func(f *channelstest.Matrix) { f.Member(chat, sam, "join"); f.Direct(sam, chat) }, "made"},
		{"the person has left", func(f *channelstest.Matrix) { f.Room(chat, "", sam); f.Member(chat, sam, "leave"); f.Direct(sam, chat) }, "permanent"},
		{"the server is broken", func(f *channelstest.Matrix) {
			f.Room(chat, "", sam)
			f.Direct(sam, chat)
			f.Fail("state", channelstest.MatrixFault{Status: 500})
		}, "plain"},
		{"the server does not say which", fails("account_data", channelstest.MatrixFault{Status: 500}), "plain"},
		{"none can be made", fails("createRoom", channelstest.MatrixFault{Status: 400, Code: "M_INVALID_PARAM"}), "permanent"},
		{"making one is cut", fails("createRoom", channelstest.MatrixFault{Cut: "after"}), "plain"},
		{"no more for now", fails("createRoom", channelstest.MatrixFault{Status: 429, Code: "M_LIMIT_EXCEEDED", RetryMS: 9000}), "later"},
	} {
		f := server(t)
		tc.set(f)
		ch := open(t, f)
		_, err := ch.Send(t.Context(), delivery("x"))
		got := channelstest.Kind(err)
		if err == nil {
			got = f.Sent()[0].Room
		}
		if strings.HasPrefix(got, "!made") {
			got = "made"
			if _, err := ch.Send(t.Context(), channels.Delivery{To: "matrix:" + sam, Body: "y", Nonce: "other"}); err != nil || f.Calls("createRoom") != 1 || f.Sent()[1].Room != f.Sent()[0].Room {
				t.Errorf("%s: the second one: %v, %+v", tc.name, err, f.Sent())
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s (%v), want %s", tc.name, got, err, tc.want)
		}
	}
}

func lock(f *channelstest.Matrix, room string) {
	f.State(room, sam, "m.room.encryption", "", obj{"algorithm": "m.megolm.v1.aes-sha2"})
}

func TestNothingInTheClearInAnEncryptedRoom(t *testing.T) {
	f := server(t)
	f.Room(home, "", sam, eve)
	lock(f, home)
	d := delivery("x")
	d.To = "matrix:" + home
	if _, err := open(t, f).Send(t.Context(), d); channelstest.Kind(err) != "permanent" || !strings.Contains(err.Error(), "is encrypted") || len(f.Sent()) != 0 {
		t.Errorf("%v; sent %+v", err, f.Sent())
	}
}

func TestClassesOfFailure(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault channelstest.MatrixFault
		want  string
	}{
		{"not allowed", channelstest.MatrixFault{Status: 403, Code: "M_FORBIDDEN"}, "permanent"},
		{"a proxy's no", channelstest.MatrixFault{Status: 404, Code: "M_UNRECOGNIZED"}, "plain"},
		{"too large", channelstest.MatrixFault{Status: 413, Code: "M_TOO_LARGE"}, "permanent"},
		{"bad", channelstest.MatrixFault{Status: 400, Code: "M_BAD_JSON"}, "permanent"},
		{"token revoked", channelstest.MatrixFault{Status: 401, Code: "M_UNKNOWN_TOKEN"}, "plain"},
		{"too many", channelstest.MatrixFault{Status: 429, Code: "M_LIMIT_EXCEEDED", RetryMS: 9000}, "later"},
		{"too many, by the header", channelstest.MatrixFault{Status: 429, Code: "M_LIMIT_EXCEEDED", RetryAfter: "9", RetryMS: 1}, "later"},
		{"too many, without a time", channelstest.MatrixFault{Status: 429, Code: "M_LIMIT_EXCEEDED"}, "plain"},
		{"broken", channelstest.MatrixFault{Status: 500}, "plain"},
		{"a proxy that has waited", channelstest.MatrixFault{Status: 504}, "unknown"},
		{"cut", channelstest.MatrixFault{Cut: "after"}, "unknown"},
		{"not to be read", channelstest.MatrixFault{Raw: "<html>"}, "unknown"},
		{"without an id", channelstest.MatrixFault{Raw: "{}"}, "unknown"},
	} {
		f := server(t)
		f.Room(chat, "", sam)
		f.Direct(sam, chat)
		f.Fail("send", tc.fault)
		_, err := open(t, f).Send(t.Context(), delivery("x"))
		if got := channelstest.Kind(err); got != tc.want || f.Calls("send") != 1 {
			t.Errorf("%s: %v is %s, want %s", tc.name, err, got, tc.want)
		}
		if later := (*channels.RetryAfter)(nil); errors.As(err, &later) && later.After != 9*time.Second {
			t.Errorf("%s: retry after %s", tc.name, later.After)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, to := range []event.Address{"matrix:", "matrix:sam", "matrix:@sam", "matrix:@sam:", "matrix:!", "matrix:#home:hob.test", "matrix:!a:b/root", "matrix:!a:b/$r/x", "matrix: @sam:hob.test", "matrix:@sam:hob.test/$r"} {
		f := server(t)
		d := delivery("x")
		d.To = to
		if _, err := open(t, f).Send(t.Context(), d); channelstest.Kind(err) != "permanent" || f.Calls("send")+f.Calls("createRoom") != 0 {
			t.Errorf("%q: %v", to, err)
		}
	}
	f := server(t)
	f.Direct(ana)
	d := delivery("x")
	d.To = "matrix:" + hob
	if _, err := open(t, f).Send(t.Context(), d); channelstest.Kind(err) != "permanent" {
		t.Errorf("to itself: %v", err)
	}
}

func TestTyping(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	f.Room(home, "", sam, eve)
	f.Direct(sam, chat)
	var ch channels.Typer = open(t, f)
	for _, to := range []event.Address{"matrix:" + sam, "matrix:" + home + "/$root", "matrix:" + ana} {
		if err := ch.Typing(t.Context(), to); err != nil {
			t.Errorf("%s: %v", to, err)
		}
	}
	if got := fmt.Sprint(f.Notes()); got != "[typing in "+chat+" typing in "+home+"]" || f.Calls("createRoom") != 0 {
		t.Errorf("signs %s", got)
	}
	if err := ch.Typing(t.Context(), "matrix:sam"); channelstest.Kind(err) != "permanent" {
		t.Errorf("an address that cannot be: %v", err)
	}
}

func TestConfigErrorsNameTheKey(t *testing.T) {
	at := func(change func(*matrix.Config)) matrix.Config {
		c := matrix.Config{Homeserver: "https://hob.test", Token: "env:TOKEN"}
		change(&c)
		return c
	}
	for _, tc := range []struct {
		cfg  matrix.Config
		want string
	}{
		{matrix.Config{Token: "env:TOKEN"}, "homeserver: missing; want the address"},
		{at(func(c *matrix.Config) { c.Homeserver = "hob.test" }), "homeserver: \"hob.test\" is not an address"},
		{at(func(c *matrix.Config) { c.Homeserver = "https://u:p" + "@x" }), "homeserver: want no user name"},
		{at(func(c *matrix.Config) { c.Homeserver = "https://x/?a=b" }), "homeserver: \"https://x/?a=b\" has something after the path"},
		{at(func(c *matrix.Config) { c.Token = "" }), "token: missing; create an account"},
		{at(func(c *matrix.Config) { c.Token = "env:NONE" }), "token: no secret"},
		{at(func(c *matrix.Config) { c.Token = "env:ODD" }), "token: the value of \"env:ODD\" is not an access token"},
		{at(func(c *matrix.Config) { c.Groups = []string{"#home:hob.test"} }), `groups: "#home:hob.test" is not a valid id; the id of a room is like`},
		{at(func(c *matrix.Config) { c.Known = []string{"sam"} }), `known: "sam" is not a valid id; the id of a person is like`},
		{at(func(c *matrix.Config) { c.Public = []string{"@sam"} }), `public: "@sam" is not a valid id`},
		{at(func(c *matrix.Config) { c.Known, c.Public = []string{sam}, []string{sam} }), "public: " + sam + " is listed twice, also in known"},
	} {
		if _, err := matrix.New(env(t), tc.cfg); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: error %v, want one that begins with %q", tc.cfg, err, tc.want)
		}
	}
}

func TestTry(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   func(*channelstest.Matrix)
		lines int
		err   string
	}{
		{"all is well", func(f *channelstest.Matrix) { f.Room(home, "", eve) }, 4, ""},
		{"not in the group", func(*channelstest.Matrix) {}, 3, "invite " + hob + " there"},
		{"an encrypted group", func(f *channelstest.Matrix) { f.Room(home, "", eve); lock(f, home) }, 3, "is encrypted"},
		{"no token", (*channelstest.Matrix).Revoke, 0, "a new access token"},
	} {
		f := server(t)
		tc.set(f)
		var ch channels.Tester = open(t, f)
		lines, err := ch.Test(t.Context())
		if len(lines) != tc.lines || tc.lines > 0 && lines[0] != "The token belongs to "+hob+", device DEV." {
			t.Errorf("%s: %q", tc.name, lines)
		}
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
		if f.Calls("sync")+f.Calls("send")+f.Calls("join") != 0 {
			t.Errorf("%s: it received, sent or joined something", tc.name)
		}
	}
}

// overtaken begins the recipient of an answer that other messages have come before (N26).
const overtaken = "overtaken "
