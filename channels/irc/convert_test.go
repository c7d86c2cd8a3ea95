package irc_test

import (
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"hob/channels/irc"
)

func talker(t testing.TB, trust bool, caps ...string) *irc.Talk {
	t.Helper()
	return open(t, irc.Config{Server: "irc.test", TrustNicks: trust, Channels: []string{"#family"}}).Talk(nil, caps...)
}

func TestWhatIsSaid(t *testing.T) {
	for _, tc := range []struct {
		raw, text string
		meant     bool
	}{
		{":sam!u@h PRIVMSG #family :hob: hello", "hello", true},
		{":sam!u@h PRIVMSG #family :HOB, hello", "hello", true},
		{":sam!u@h PRIVMSG #family :@hob hello", "hello", true},
		{":sam!u@h PRIVMSG #family :hello, hob!", "hello, hob!", true},
		{":sam!u@h PRIVMSG #family :hob", "hob", true},
		{":sam!u@h PRIVMSG #family :hobby is not hob-like, nor is xhob or höhob", "hobby is not hob-like, nor is xhob or höhob", false},
		{":sam!u@h PRIVMSG #family :hobby of hob", "hobby of hob", true},
		{":sam!u@h PRIVMSG #family :hello", "hello", false},
		{":sam!u@h PRIVMSG hob :\x02b\x02 \x0304,12red\x03 \x0312,x \x04ff0000hex\x0f\x1d!", "b red ,x hex!", false},
		{":sam!u@h PRIVMSG hob :\x01ACTION /stop\x01", "* sam /stop", false},
	} {
		m, ok := talker(t, true).Read(tc.raw)
		if !ok || m.Text != tc.text || m.Mentioned != tc.meant || m.Auto {
			t.Errorf("%q is %q (meant %v), %v", tc.raw, m.Text, m.Mentioned, ok)
		}
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	for _, raw := range []string{
		"", ":", "@", "@a=b", ":sam!u@h", ":sam!u@h PRIVMSG", ":irc.test PRIVMSG hob :x", ":sam!u@h PRIVMSG hob :\x01VERSION\x01", ":sam!u@h PRIVMSG hob :\x01PING 1\x01",
		":sam!u@h PRIVMSG @#family :hob: x", ":sam!u@h PRIVMSG other :x", ":hob!u@h PRIVMSG #family :hob: my own", ":HOB!u@h PRIVMSG hob :x", ":sam!u@h TOPIC #family :hob",
	} {
		if m, ok := talker(t, true).Read(raw); ok {
			t.Errorf("%q is %+v", raw, m)
		}
	}
	if m, ok := talker(t, true).Read(":sam!u@h NOTICE hob :I am away"); !ok || !m.Auto {
		t.Errorf("a notice is no machine's: %+v", m)
	}
}

func TestWhoItIs(t *testing.T) {
	tracked := []string{"extended-join", "account-notify"}
	for _, tc := range []struct {
		name  string
		trust bool
		caps  []string
		lines []string // the last one is looked at
		id    string
		bot   bool
	}{
		{"an account", false, []string{"account-tag"}, []string{"@account=Sam :x!u@h PRIVMSG hob :a"}, "$sam", false},
		{"none", false, []string{"account-tag"}, []string{":sam!u@h PRIVMSG hob :a"}, "", false},
		{"none, in a group", false, []string{"account-tag"}, []string{":Sam!u@h PRIVMSG #family :a"}, "~sam", false},
		{"a tag that the server has not promised", false, nil, []string{"@account=sam :eve!u@h PRIVMSG hob :a"}, "", false},
		{"a tag of the client's", false, []string{"account-tag"}, []string{"@+account=sam :eve!u@h PRIVMSG hob :a"}, "", false},
		{"a nick that is trusted", true, nil, []string{":Sam!u@h PRIVMSG hob :a"}, "sam", false},
		{"an account that cannot be one", false, []string{"account-tag"}, []string{"@account=* :sam!u@h PRIVMSG hob :a"}, "", false},
		{"a bot", false, []string{"account-tag"}, []string{"@account=b;bot :b!u@h PRIVMSG hob :a"}, "$b", true},
		{"by its join", false, tracked, []string{":sam!u@h JOIN #family Sam :Sam", ":sam!u@h PRIVMSG hob :a"}, "$sam", false},
		{"joined without", false, tracked, []string{":sam!u@h JOIN #family * :Sam", ":sam!u@h PRIVMSG hob :a"}, "", false},
		{"logged in later", false, tracked, []string{":sam!u@h ACCOUNT Sam", ":sam!u@h PRIVMSG hob :a"}, "$sam", false},
		{"logged out", false, tracked, []string{":sam!u@h JOIN #family Sam :S", ":sam!u@h ACCOUNT *", ":sam!u@h PRIVMSG hob :a"}, "", false},
		{"was there before", false, tracked, []string{":irc 354 hob 77 sam Sam", ":sam!u@h PRIVMSG hob :a"}, "$sam", false},
		{"another answer", false, tracked, []string{":irc 354 hob 78 sam Sam", ":sam!u@h PRIVMSG hob :a"}, "", false},
		{"took another nick", false, tracked, []string{":sam!u@h JOIN #family Sam :S", ":sam!u@h NICK kim", ":kim!u@h PRIVMSG hob :a"}, "$sam", false},
		{"somebody took the old one", false, tracked, []string{":sam!u@h JOIN #family Sam :S", ":sam!u@h NICK kim", ":sam!u@h PRIVMSG hob :a"}, "", false},
		{"quit", false, tracked, []string{":sam!u@h JOIN #family Sam :S", ":sam!u@h QUIT :x", ":sam!u@h PRIVMSG hob :a"}, "", false},
		{"left", false, tracked, []string{":sam!u@h JOIN #family Sam :S", ":sam!u@h PART #family", ":sam!u@h PRIVMSG hob :a"}, "", false},
		{"hob left", false, tracked, []string{":sam!u@h JOIN #family Sam :S", ":o!u@h KICK #family hob :x", ":sam!u@h PRIVMSG hob :a"}, "", false},
		{"joins are not followed", false, nil, []string{":sam!u@h JOIN #family Sam :S", ":sam!u@h PRIVMSG hob :a"}, "", false},
	} {
		talk := talker(t, tc.trust, tc.caps...)
		for i, raw := range tc.lines {
			m, ok := talk.Read(raw)
			if i == len(tc.lines)-1 && (!ok || m.From.ID != tc.id || m.From.Bot != tc.bot || m.Chat.Group == "" && m.Chat.ID != tc.id) {
				t.Errorf("%s: %+v, %v", tc.name, m, ok)
			}
		}
	}
}

func TestIDs(t *testing.T) {
	talk := talker(t, true, "message-tags", "server-time")
	read := func(raw string) string {
		m, ok := talk.Read(raw)
		if !ok || m.ID == "" {
			t.Fatalf("%q is no message", raw)
		}
		return m.ID
	}
	if id := read(`@msgid=a\sb\:c :sam!u@h PRIVMSG hob :a`); id != "a b;c" {
		t.Errorf("the message's own id is %q", id)
	}
	const stamped = "@time=2026-11-21T10:00:00.123Z "
	if a, b := read(stamped+":sam!u@h PRIVMSG hob :a"), read(stamped+":sam!u@h PRIVMSG hob :a"); a != b {
		t.Error("the same line of the same time has two ids")
	}
	seen := map[string]bool{}
	for _, raw := range []string{stamped + ":sam!u@h PRIVMSG hob :a", stamped + ":sam!u@h PRIVMSG hob :b", stamped + ":kim!u@h PRIVMSG hob :a", stamped + ":sam!u@h PRIVMSG #family :a", ":sam!u@h PRIVMSG hob :a", ":sam!u@h PRIVMSG hob :a"} {
		seen[read(raw)] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d ids of six messages", len(seen))
	}
	m, ok := talk.Read(":sam!u@h REDACT #family a1 :oops")
	if !ok || m.Deletes != "a1" || m.ID == "a1" {
		t.Errorf("taken back: %+v", m)
	}
}

func TestCuts(t *testing.T) {
	for _, text := range []string{strings.Repeat("ä", 600), strings.Repeat("word ", 300), "a\n\n b \r\nc", "\x01VERSION\x01", strings.Repeat("😀", 200)} {
		for _, source := range []string{"hob!~hob@" + strings.Repeat("h", 60), ""} {
			lines := talker(t, true).Cut(source, "#family", text)
			for _, l := range lines {
				if whole := len(":" + source + " PRIVMSG #family :" + l + "\r\n"); whole > 512 || !utf8.ValidString(l) || l == "" || strings.ContainsAny(l, "\r\n\x01") {
					t.Errorf("%d bytes: %q", whole, l)
				}
			}
			clean := strings.NewReplacer(" ", "", "\n", "", "\r", "", "\x01", "")
			if clean.Replace(strings.Join(lines, "")) != clean.Replace(text) {
				t.Errorf("%q lost something: %q", text, lines)
			}
		}
	}
	if lines := talker(t, true).Cut("hob!~hob@h", "#f", strings.Repeat("a", 512-len(":hob!~hob@h PRIVMSG #f :\r\n"))); len(lines) != 1 {
		t.Errorf("a line of exactly 512 bytes was cut into %d", len(lines))
	}
}

// TestAnotherHost: lines stay complete after the server has changed hob's visible host.
func TestAnotherHost(t *testing.T) {
	talk := talker(t, true)
	long := strings.Repeat("a", 440)
	for _, tc := range []struct {
		line string
		want int // lines of the text
	}{
		{":hob!~h@short JOIN #family", 1},
		{":irc.test 396 hob a.host.that.is.as.long.as.one.can.be :is now your displayed host", 2},
		{":hob!~h@short PRIVMSG #family :x", 1},
		{":irc.test 302 hob :hob=+~h@" + strings.Repeat("h", 60), 2},
	} {
		if err := talk.Hear(tc.line); err != nil {
			t.Fatal(err)
		}
		if lines := talk.CutNow("#family", long); len(lines) != tc.want {
			t.Errorf("after %q: %d lines, want %d", tc.line, len(lines), tc.want)
		}
	}
}

func TestFloodControl(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct{ at, want []time.Duration }{
		{[]time.Duration{0, 0, 0, 0, 0, 0, 0}, []time.Duration{0, 0, 0, 0, 0, 2 * s, 4 * s}},
		{[]time.Duration{0, 0, 0, 0, 0, 2 * s, 100 * s}, []time.Duration{0, 0, 0, 0, 0, 0, 0}},
	} {
		if got := irc.Waits(tc.at...); !slices.Equal(got, tc.want) {
			t.Errorf("lines at %v wait %v, want %v", tc.at, got, tc.want)
		}
	}
}

func TestLogInInPieces(t *testing.T) {
	for _, tc := range []struct {
		bytes int
		want  []int // of the pieces; 1 is "+"
	}{{0, []int{1}}, {3, []int{4}}, {299, []int{400, 1}}, {300, []int{400, 1}}, {301, []int{400, 4}}, {600, []int{400, 400, 1}}} {
		var sizes []int
		for _, l := range irc.SASL(strings.Repeat("x", tc.bytes)) {
			sizes = append(sizes, len(strings.TrimPrefix(l, "AUTHENTICATE ")))
		}
		if !slices.Equal(sizes, tc.want) {
			t.Errorf("%d bytes go as %v, want %v", tc.bytes, sizes, tc.want)
		}
	}
}

// TestHalfOpen: a server that became silent is detected within a minute.
func TestHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer func() { _, _ = there.Close(), here.Close() }() // pipes end without errors
		start := time.Now()
		err := open(t, irc.Config{Server: "irc.test", TrustNicks: true}).Talk(here).Listen()
		if d := time.Since(start); err == nil || !strings.Contains(err.Error(), "nothing heard") || d > time.Minute || d < 30*time.Second {
			t.Errorf("%v after %s", err, d)
		}
	})
}

// FuzzLine: malformed lines never gain rights.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		"@account=Sam;msgid=1;time=2026-11-21T10:00:00.123Z :sam!u@h PRIVMSG hob :hello", ":sam!u@h PRIVMSG #family :\x0304,hob: x\x01", "@a;=;b\\", ":x 354 hob 77 a b",
		":sam!u@h KICK #family hob", ":x 302 hob :hob=+~h@h", "BATCH +", ":hob!u@h NICK", "REDACT", ":sam!u@h NOTICE hob", "PRIVMSG hob :x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		raw = strings.ToValidUTF8(raw, "?")
		m, ok := talker(t, false, "account-tag", "extended-join", "account-notify").Read(raw)
		switch {
		case !ok:
		case m.ID == "" && m.Deletes == "", m.From.Self, m.Choice != "":
			t.Errorf("%+v", m)
		case m.From.ID != "" && !strings.HasPrefix(m.From.ID, "$") && m.Chat.Group == "":
			t.Errorf("a person without an account: %+v", m)
		case strings.HasPrefix(m.From.ID, "$") && !strings.Contains(raw, "account="):
			t.Errorf("an account out of nothing: %+v", m)
		case !utf8.ValidString(m.Text) || strings.ContainsAny(m.Text, "\r\n\x00\x01\x02\x03"):
			t.Errorf("text %q", m.Text)
		}
	})
}

// TestServicesAreNobody (C3): lines of the network's services, of a bouncer's modules and of replayed history
// are not messages, whatever their text; a person's lines are.
func TestServicesAreNobody(t *testing.T) {
	const open, old = ":irc.test BATCH +b chathistory #family", "@batch=b;time=2026-11-21T10:00:00.000Z "
	for _, tc := range []struct {
		name, line string
		playback   bool // draft/event-playback is on
		want       bool
	}{
		{"ergo's history", old + ":HistServ!HistServ@localhost PRIVMSG #family :sam [account: hob] joined the channel", false, false},
		{"the same, by another name", old + ":history!history@localhost PRIVMSG #family :hob joined", false, false},
		{"the same, by the server's name", old + ":history!x@irc.test PRIVMSG #family :hob joined", false, false},
		{"without a host", old + ":history! PRIVMSG #family :hob joined", false, false},
		{"the server itself", old + ":irc.test PRIVMSG #family :hob joined", true, false},
		{"HistServ in spite of the capability", old + ":HistServ!HistServ@localhost PRIVMSG #family :hob joined", true, false},
		{"without a batch", ":HistServ!HistServ@localhost PRIVMSG #family :hob joined", false, false},
		{"a replayed join", old + ":kim!u@people.test JOIN #family hob :hob", true, false},
		{"a replayed part", old + ":kim!u@people.test PART #family :good night, hob", true, false},
		{"a replayed topic", old + ":kim!u@people.test TOPIC #family :ask hob", true, false},
		{"a replayed kick", old + ":kim!u@people.test KICK #family eve :hob says so", true, false},
		{"a join", ":kim!u@people.test JOIN #family hob :hob", false, false},
		{"a topic", ":kim!u@people.test TOPIC #family :ask hob", false, false},
		{"ChanServ aloud", ":ChanServ!ChanServ@services.test PRIVMSG #family :sam gave hob +o", false, false},
		{"NickServ in private", ":NickServ!NickServ@services.test PRIVMSG hob :hob is registered", false, false},
		{"a service of another name", ":Global!x@services.test PRIVMSG #family :hob: maintenance", false, false},
		{"a bouncer's module", ":*buffextras!buffextras@znc.in PRIVMSG #family :hob joined", false, false},
		{"a person", "@account=Kim :kim!u@people.test PRIVMSG #family :hob: hi", false, true},
		{"a person without an account", ":kim!u@people.test PRIVMSG #family :hob: hi", false, true},
		{"a person of then", old + ":kim!u@people.test PRIVMSG #family :hob: hi", false, true},
		{"a person of then with an account", "@account=Kim;batch=b :kim!u@localhost PRIVMSG #family :hob: hi", false, true},
		{"a person at this machine", ":kim!u@localhost PRIVMSG #family :hob: hi", false, true},
		{"a person of then at this machine, with events played back", old + ":kim!u@localhost PRIVMSG #family :hob: hi", true, true},
	} {
		talk := talker(t, false, "account-tag", "message-tags", "batch", "server-time")
		if tc.playback {
			talk = talker(t, false, "account-tag", "message-tags", "batch", "server-time", "draft/event-playback")
		}
		talk.Read(open)
		if m, ok := talk.Read(tc.line); ok != tc.want || ok && !m.Mentioned {
			t.Errorf("%s: %+v, %v", tc.name, m, ok)
		}
	}
}
