package matrix_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/matrix"
	"hob/daemon/sys"
)

func since(t *testing.T, b *channelstest.MessageInbox) string {
	t.Helper()
	var p struct{ Since string }
	if err := json.Unmarshal([]byte(b.Stored().Value), &p); err != nil {
		t.Fatal(err)
	}
	return p.Since
}

func TestSyncsBehindTheCommitOnly(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	b := &channelstest.MessageInbox{}
	stop := listening(t, f, b)
	before := f.Sinces()
	b.FailNext(2)
	b.Each(func(list []channels.Message) {
		if s := f.Sinces(); len(list) > 0 && s[len(s)-1] != before[len(before)-1] {
			t.Errorf("asked with the tokens %q while a message is being committed: something was acknowledged too early", s)
		}
		if len(f.Notes()) > 0 {
			t.Errorf("shown as read before it is committed: %q", f.Notes())
		}
	})
	f.Say(chat, sam, "one")
	b.Until(t, func() bool { return len(b.List()) == 1 })
	for s := f.Sinces(); s[len(s)-1] == before[len(before)-1]; s = f.Sinces() {
		f.Listening(t.Context())
	}
	if errs := stop(); len(errs) != 2 || !errors.Is(errs[0], channelstest.ErrFull) {
		t.Errorf("errors of Run: %v, want the inbox's twice", errs)
	}
	if s := f.Sinces(); since(t, b) != s[len(s)-1] || since(t, b) == before[len(before)-1] {
		t.Errorf("the cursor is %q, the last token %q", since(t, b), s[len(s)-1])
	}
}

func TestCursorIsOfOneAccountAndDevice(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	listening(t, f, b)()
	if want := hob + " DEV " + f.URL(); b.Stored().Source != "matrix" || b.Stored().Identity != want {
		t.Errorf("cursor %+v, want it tied to %q", b.Stored(), want)
	}
}

func TestWhatWasSaidBeforeIsNoNews(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	f.Say(chat, sam, "long ago")
	m := one(t, f, func() { f.Say(chat, sam, "now") })
	if m.Text != "now" {
		t.Errorf("received %q", m.Text)
	}
}

func TestACursorThatCannotBeReadStartsAnew(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	b := channelstest.MessageInboxAt(channels.Cursor{Source: "matrix", Identity: hob + " DEV " + f.URL(), Value: "nonsense"})
	listening(t, f, b)
	f.Say(chat, sam, "one")
	b.Until(t, func() bool { return len(b.List()) == 1 })
}

func TestBacklog(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	b := &channelstest.MessageInbox{}
	listening(t, f, b)()
	const n = 10_000
	for i := range n {
		f.Say(chat, sam, fmt.Sprint(i))
	}
	stop := channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return len(b.List()) >= n })
	stop()
	for i, m := range b.List() {
		if m.Text != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, m.Text)
		}
	}
	if len(b.Gaps()) != 0 {
		t.Errorf("told %q", b.Gaps())
	}
}

func TestWhatIsLeftOutAndCannotBeHadIsAGap(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	f.Room("!other:hob.test", "", sam, eve)
	b := &channelstest.MessageInbox{}
	listening(t, f, b)()
	for _, room := range []string{"!other:hob.test", chat} { // the first is none of hob's business
		for i := range 200 {
			f.Say(room, sam, fmt.Sprint(i))
		}
	}
	no := channelstest.MatrixFault{Status: 403, Code: "M_FORBIDDEN"}
	f.Fail("messages", no, channelstest.MatrixFault{}, no)
	stop := channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return len(b.List()) > 0 })
	stop()
	if len(b.Gaps()) != 1 || !strings.Contains(b.Gaps()[0], "in the room "+chat+" so many were written that not all could be read (the homeserver says 403") {
		t.Fatalf("told %q", b.Gaps())
	}
	var texts []string
	for _, m := range b.List() {
		if m.Chat.Group == "" {
			texts = append(texts, m.Text)
		}
	}
	if len(texts) != 50 && len(texts) != 150 || texts[len(texts)-1] != "199" {
		t.Errorf("%d messages, the last %q; want those that could be had", len(texts), texts[len(texts)-1])
	}
}

func TestATroubleOfTheConnectionLeavesNothingOut(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	b := &channelstest.MessageInbox{}
	listening(t, f, b)()
	for i := range 200 {
		f.Say(chat, sam, fmt.Sprint(i))
	}
	f.Fail("messages", channelstest.MatrixFault{Cut: "before"}, channelstest.MatrixFault{Status: 502}, channelstest.MatrixFault{Status: 429, RetryMS: 1}, channelstest.MatrixFault{Raw: "<html>"})
	stop := channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return len(b.List()) > 0 })
	if errs := stop(); len(b.List()) != 200 || len(b.Gaps()) != 0 || len(errs) < 3 { // net/http itself repeats what was cut
		t.Errorf("%d messages, told %q, errors %v", len(b.List()), b.Gaps(), errs)
	}
}

func TestAnUnknownTokenIsAGap(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	b := &channelstest.MessageInbox{}
	listening(t, f, b)
	f.Forget()
	b.Until(t, func() bool {
		return len(b.Gaps()) == 1 && b.Stored().Value != "" && strings.Contains(b.Stored().Value, "s1_")
	})
	f.Say(chat, sam, "after")
	b.Until(t, func() bool { return len(b.List()) == 1 })
	if !strings.Contains(b.Gaps()[0], "no longer knows what hob has read") || len(b.Gaps()) != 1 {
		t.Errorf("told %q", b.Gaps())
	}
}

// TestRefusedSyncs refuses a sync with a token: if the token is the reason, hob continues from now and
// reports one gap; otherwise it is an error, and nothing is skipped.
func TestRefusedSyncs(t *testing.T) {
	for _, tc := range []struct {
		code, why string
		lost      bool
	}{
		{"M_UNKNOWN_POS", "Connection is not known to the server", true},
		{"M_INVALID_PARAM", "malformed sync token", true},
		{"M_INVALID_ARGUMENT_VALUE", "malformed sync token", true},
		{"M_UNKNOWN", "Invalid stream token: 's1_0'", true},
		{"M_UNKNOWN", "Parameter since is wrong", true},
		{"M_UNKNOWN", "something has happened", false},
		{"M_BAD_JSON", "the filter is none", false},
		{"M_MISSING_PARAM", "token", false},
	} {
		f := server(t)
		f.Room(chat, "", sam)
		b := &channelstest.MessageInbox{}
		listening(t, f, b)()
		again := f.Calls("sync") + 2 // with a token that the server knows
		if tc.lost {
			again++
		}
		f.Fail("sync", channelstest.MatrixFault{Status: 400, Code: tc.code, Why: tc.why})
		stop := channelstest.Keep(t, open(t, f), b)
		waitFor(t, "the next sync", func() bool { return f.Calls("sync") >= again && f.Caught() })
		f.Say(chat, sam, "after")
		b.Until(t, func() bool { return len(b.List()) == 1 })
		errs := stop()
		if told := len(b.Gaps()) == 1; told != tc.lost || (len(errs) == 0) != tc.lost || !tc.lost && !strings.Contains(errs[0].Error(), "sync: the homeserver says 400 ("+tc.code) {
			t.Errorf("%s (%s): told %q, errors %v", tc.code, tc.why, b.Gaps(), errs)
		}
		if anew := slices.Contains(f.Sinces()[1:], ""); anew != tc.lost {
			t.Errorf("%s (%s): asked with the tokens %q", tc.code, tc.why, f.Sinces())
		}
	}
}

// TestAServerThatKnowsNoToken refuses every token, even new ones: hob reports one gap, each further refusal
// is an error of Run, and the position stays. After an hour a new gap is reported.
func TestAServerThatKnowsNoToken(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	b := &channelstest.MessageInbox{}
	listening(t, f, b)()
	no, calls := channelstest.MatrixFault{Status: 400, Code: "M_UNKNOWN", Why: "Invalid stream token"}, f.Calls("sync")
	f.Fail("sync", no, channelstest.MatrixFault{}, no, no, no, no, no)
	stop := channelstest.Keep(t, open(t, f), b)
	waitFor(t, "the last refusal", func() bool { return f.Calls("sync") >= calls+8 && f.Caught() })
	f.Say(chat, sam, "after")
	b.Until(t, func() bool { return len(b.List()) == 1 })
	errs := stop()
	if len(errs) != 5 || len(b.Gaps()) != 1 {
		t.Fatalf("errors %v, told %q; want 5, and once", errs, b.Gaps())
	}
	for _, err := range errs {
		if !strings.Contains(err.Error(), "sync: the homeserver says 400") || !strings.Contains(err.Error(), "check the homeserver: it has lost hob's position twice") {
			t.Errorf("error %v", err)
		}
	}
	c := b.Stored()
	var p map[string]any
	if err := json.Unmarshal([]byte(c.Value), &p); err != nil {
		t.Fatal(err)
	}
	for lost, gaps := range map[time.Duration]int{59 * time.Minute: 0, 61 * time.Minute: 1} {
		p["lost"] = time.Now().Add(-lost).Unix()
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again := channelstest.MessageInboxAt(channels.Cursor{Source: c.Source, Identity: c.Identity, Value: string(raw)})
		f.Fail("sync", no)
		calls := f.Calls("sync")
		stop := channelstest.Keep(t, open(t, f), again)
		waitFor(t, "the next sync", func() bool { return f.Calls("sync") >= calls+2+gaps && f.Caught() })
		stop()
		if len(again.Gaps()) != gaps {
			t.Errorf("lost again after %s: told %q, want it %d times", lost, again.Gaps(), gaps)
		}
	}
}

var errDeaf = errors.New("nobody listens")

type deaf struct{ *channelstest.MessageInbox }

func (*deaf) Gap(context.Context, time.Time, time.Time, string) error { return errDeaf }

func TestGapIsKeptUntilStored(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	b := &channelstest.MessageInbox{}
	listening(t, f, b)()
	old := b.Stored().Value
	f.Put(chat, obj{"sender": sam, "type": "m.room.encrypted", "content": obj{}})
	f.Say(chat, sam, "behind it")
	if err := open(t, f).Run(t.Context(), &deaf{b}); !errors.Is(err, errDeaf) {
		t.Fatalf("Run: %v", err)
	}
	f.Forget()
	if err := open(t, f).Run(t.Context(), &deaf{b}); !errors.Is(err, errDeaf) {
		t.Fatalf("Run: %v", err)
	}
	if len(b.List()) != 0 || b.Stored().Value != old {
		t.Errorf("received %+v, cursor %+v; want nothing taken", b.List(), b.Stored())
	}
}

func TestEncryptedRoomsAreSaidOnce(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	f.Room(home, "Home", sam, eve)
	f.Room("!other:hob.test", "", sam, eve)
	b := &channelstest.MessageInbox{}
	stop := listening(t, f, b)
	secret := func(room string) { f.Put(room, obj{"sender": sam, "type": "m.room.encrypted", "content": obj{}}) }
	secret("!other:hob.test")
	secret(chat)
	secret(chat)
	secret(home)
	b.Until(t, func() bool {
		return len(b.Gaps()) == 2 && b.Stored().Value != "" && strings.Contains(b.Stored().Value, home)
	})
	stop()
	listening(t, f, b)
	secret(chat)
	f.Say(chat, sam, "in the clear")
	b.Until(t, func() bool { return len(b.List()) == 1 })
	got := slices.Sorted(slices.Values(b.Gaps()))
	if len(got) != 2 || !strings.Contains(got[0]+got[1], "the private chat with "+sam+" is encrypted") || !strings.Contains(got[0]+got[1], `the room “Home” (`+home+`) is encrypted`) {
		t.Errorf("told %q", b.Gaps())
	}
}

func TestReadReceiptsForThoseWhoAreListenedTo(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	f.Room(home, "Home", sam, eve)
	f.Room("!eve:hob.test", "", eve)
	b := &channelstest.MessageInbox{}
	listening(t, f, b)
	f.Say("!eve:hob.test", eve, "hello?")
	f.Say(home, sam, "to the others")
	called := f.Say(home, eve, "hob, you there?")
	f.Say(home, sam, "to the others again")
	own := f.Say(chat, sam, "x")
	b.Until(t, func() bool { return len(b.List()) == 5 })
	want := []string{"read " + called + " in " + home, "read " + own + " in " + chat}
	for limit := time.After(10 * time.Second); len(f.Notes()) < 2; {
		select {
		case <-limit:
			t.Fatalf("shown: %q", f.Notes())
		case <-time.After(time.Millisecond):
		}
	}
	if got := slices.Sorted(slices.Values(f.Notes())); !slices.Equal(got, want) {
		t.Errorf("shown: %q, want %q", got, want)
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   func(*channelstest.Matrix)
		want  string
		after time.Duration
	}{
		{"token revoked", (*channelstest.Matrix).Revoke, "the server does not accept the token", 5 * time.Minute},
		{"too many requests", fails("sync", channelstest.MatrixFault{Status: 429, RetryMS: 33_000}), "429", 33 * time.Second},
		{"too many requests, by the header", fails("sync", channelstest.MatrixFault{Status: 429, RetryMS: 1, RetryAfter: "34"}), "429", 34 * time.Second},
		{"too many requests, without a time", fails("sync", channelstest.MatrixFault{Status: 429}), "429", 0},
		{"broken", fails("sync", channelstest.MatrixFault{Status: 502}), "502", 0},
		{"another server", fails("whoami", channelstest.MatrixFault{Status: 404, Code: "M_UNRECOGNIZED"}), ".well-known/matrix/client", 0},
		{"no Matrix", fails("whoami", channelstest.MatrixFault{Raw: "<html>welcome</html>"}), "check homeserver", 0},
		{"nobody", fails("whoami", channelstest.MatrixFault{Raw: "{}"}), "check homeserver", 0},
		{"no token of a place", fails("sync", channelstest.MatrixFault{Raw: "{}"}), "no next_batch", 0},
		{"cut", fails("sync", channelstest.MatrixFault{Cut: "before"}, channelstest.MatrixFault{Cut: "before"}), "sync: ", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := server(t)
			tc.set(f)
			err := open(t, f).Run(t.Context(), &channelstest.MessageInbox{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want one that says %q", err, tc.want)
			}
			later := (*channels.RetryAfter)(nil)
			if errors.As(err, &later) != (tc.after > 0 || strings.Contains(tc.name, "too many")) || later != nil && later.After != tc.after {
				t.Errorf("error %#v, want to come back after %s", err, tc.after)
			}
			if strings.Contains(err.Error(), token) {
				t.Errorf("the token is in %v", err)
			}
		})
	}
}

func fails(endpoint string, faults ...channelstest.MatrixFault) func(*channelstest.Matrix) {
	return func(f *channelstest.Matrix) { f.Fail(endpoint, faults...) }
}

func TestHalfOpenConnectionIsFoundWithinAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go dumbAfterOneSync(theirs)
			return ours, nil
		}}
		defer tr.CloseIdleConnections()
		e := channels.Env{
			Name: "matrix", HTTP: &http.Client{Transport: tr, Timeout: 10 * time.Second}, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
			Secret: func(string) (string, error) { return token, nil },
		}
		ch, err := matrix.New(e, matrix.Config{Homeserver: "http://matrix.test", Token: "env:TOKEN"})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = ch.Run(t.Context(), &channelstest.MessageInbox{})
		if took := time.Since(began); took <= 30*time.Second || took > time.Minute {
			t.Errorf("found after %s, want it after the long poll and within a minute", took)
		}
		if err == nil || !strings.Contains(err.Error(), "nothing heard for 50s") {
			t.Errorf("Run: %v", err)
		}
	})
}

// dumbAfterOneSync answers requests up to the first sync, and then stays silent.
func dumbAfterOneSync(conn net.Conn) {
	defer func() { _ = conn.Close() }() // the other side has gone
	r := bufio.NewReader(conn)
	for synced := false; !synced; {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		synced = strings.HasSuffix(req.URL.Path, "/sync")
		body := `{"user_id":"@hob:hob.test","device_id":"D","next_batch":"s1"}`
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, r) // until the other side gives up
}

func TestReconnectsLeaveNothingBehind(t *testing.T) {
	f := server(t)
	channelstest.Keep(t, open(t, f), &channelstest.MessageInbox{})
	f.Listening(t.Context())
	before := runtime.NumGoroutine()
	const n = 1000
	f.Fail("sync", slices.Repeat([]channelstest.MatrixFault{{Cut: "before"}}, n)...)
	for f.Calls("sync") < n {
		f.Listening(t.Context())
	}
	f.Listening(t.Context())
	if after := runtime.NumGoroutine(); after > before+5 {
		t.Errorf("%d goroutines after %d reconnects, %d before", after, n, before)
	}
}
