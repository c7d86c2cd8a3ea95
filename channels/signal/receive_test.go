package signal_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
)

// texts returns the texts of all messages, each once.
func texts(list []channels.Message) []string {
	var all []string
	seen := map[string]bool{}
	for _, m := range list {
		if !seen[m.ID] {
			all = append(all, m.Text)
		}
		seen[m.ID] = true
	}
	return all
}

// TestCommitFailsAndHobDies: a crash after a failed commit. The cursor has not moved, and the daemon delivers
// the message again.
func TestCommitFailsAndHobDies(t *testing.T) {
	f, b := server(t), &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, open(t, f), b)
	f.Say(sam, "one")
	b.Came(t, 1)
	stop()
	f.Say(sam, "two")
	b.FailNext(1)
	if err := open(t, f).Run(t.Context(), b); !errors.Is(err, channelstest.ErrFull) {
		t.Fatalf("Run: %v", err)
	}
	channelstest.Keep(t, open(t, f), b)
	b.Came(t, 2)
	if got := texts(b.List()); !slices.Equal(got, []string{"one", "two"}) || len(b.Gaps()) != 0 {
		t.Errorf("received %q, gaps %q", got, b.Gaps())
	}
	if last := f.LastIDs(); last[0] != "" || last[1] == "" || last[2] != last[1] {
		t.Errorf("the daemon was asked for what comes after %q", last)
	}
}

// TestKeptForTheNextRun: a commit fails twice with a daemon that delivers nothing again.
func TestKeptForTheNextRun(t *testing.T) {
	f, b := server(t), (&channelstest.MessageInbox{}).FailNext(2)
	f.Plain()
	f.Say(sam, "one")
	stop := channelstest.Keep(t, open(t, f), b)
	b.Came(t, 1)
	if got := b.List(); len(got) != 1 || got[0].Text != "one" {
		t.Errorf("received %+v", got)
	}
	if errs := stop(); len(errs) != 2 || !errors.Is(errs[0], channelstest.ErrFull) || !errors.Is(errs[1], channelstest.ErrFull) {
		t.Errorf("Run: %v", errs)
	}
}

// TestGaps checks which events may be missing.
func TestGaps(t *testing.T) {
	for _, tc := range []struct {
		name  string
		plain bool
		away  func(f *channelstest.Signal) // while nobody reads
		want  string                       // "": none
	}{
		{"nothing happened", false, func(*channelstest.Signal) {}, ""},
		{"some messages", false, func(f *channelstest.Signal) { f.Say(sam, "x") }, ""},
		{"was restarted", false, func(f *channelstest.Signal) { f.Restart() }, "signal-cli was restarted"},
		{"more than it keeps", false, func(f *channelstest.Signal) { f.Skip(3) }, "1000 events"},
		{"more than it keeps for all of its accounts", false, func(f *channelstest.Signal) { several(f); f.Skip(1001) }, "1000 events"},
		{"other accounts had some", false, func(f *channelstest.Signal) { several(f); f.Skip(900) }, ""},
		{"an older version", true, func(*channelstest.Signal) {}, "does not deliver again"},
	} {
		f, b := server(t), &channelstest.MessageInbox{}
		if tc.plain {
			f.Plain()
		}
		stop := channelstest.Keep(t, open(t, f), b)
		f.Say(sam, "before")
		b.Came(t, 1)
		if len(b.Gaps()) != 0 {
			t.Errorf("%s: at the very first start: %q", tc.name, b.Gaps())
		}
		stop()
		f.CutStreams()
		tc.away(f)
		stop = channelstest.Keep(t, open(t, f), b)
		f.Listening(t.Context())
		f.Say(sam, "after")
		f.Say(sam, "and one more")
		for len(b.List()) == 0 || b.List()[len(b.List())-1].Text != "and one more" {
			b.Came(t, len(b.List())+1)
		}
		stop()
		gaps := b.Gaps()
		if tc.want == "" && len(gaps) != 0 || tc.want != "" && (len(gaps) != 1 || !strings.Contains(gaps[0], tc.want)) {
			t.Errorf("%s: gaps %q, want one with %q", tc.name, gaps, tc.want)
		}
	}
}

func several(f *channelstest.Signal) {
	f.Accounts(obj{"number": phone, "aci": own}, obj{"number": "+49000"})
}

// TestOneOfSeveral: with a daemon that has several accounts, hob gets its own messages, whatever the version
// makes of the query.
func TestOneOfSeveral(t *testing.T) {
	for _, tc := range []struct {
		name    string
		account string
		set     func(*channelstest.Signal)
		asked   int // times: by a name that is decoded once, and then by one that is decoded twice
	}{
		{"older", phone, func(f *channelstest.Signal) { f.Plain(); several(f) }, 2},
		{"newer", phone, several, 1},
		{"known by its account id", own, several, 1},
		{"the only one, which needs no name", phone, func(f *channelstest.Signal) { f.Plain(); f.Accounts(obj{"number": phone}) }, 1},
		{"the only one, known by its account id", own, func(f *channelstest.Signal) { f.Accounts(obj{"number": phone, "aci": own}) }, 1},
	} {
		f, b := server(t), &channelstest.MessageInbox{}
		tc.set(f)
		stop := channelstest.Keep(t, openAs(t, env(t), f, tc.account), b)
		f.Listening(t.Context())
		several(f) // from here on, whatever was there before
		f.Push(`{"account":"+49000","envelope":{"sourceUuid":"` + sam + `","dataMessage":{"timestamp":1,"message":"for another"}}}`)
		f.Say(sam, "for hob")
		b.Came(t, 1)
		if errs := stop(); len(errs) > 0 {
			t.Errorf("%s: Run: %v", tc.name, errs)
		}
		if got := texts(b.List()); !slices.Equal(got, []string{"for hob"}) {
			t.Errorf("%s: received %q", tc.name, got)
		}
		if n := f.Calls("events"); n != tc.asked {
			t.Errorf("%s: asked %d times, want %d", tc.name, n, tc.asked)
		}
	}
}

// TestHalfOpen: keep-alives keep a connection, silence ends it.
func TestHalfOpen(t *testing.T) {
	f, b := server(t), &channelstest.MessageInbox{}
	ch := open(t, f)
	ch.Quiet(300 * time.Millisecond)
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- ch.Run(t.Context(), b) }()
	f.Listening(t.Context())
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 12 {
		<-tick.C
		f.Alive()
	}
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "nothing heard") || time.Since(began) < 800*time.Millisecond {
			t.Errorf("Run after %s: %v", time.Since(began), err)
		}
	case <-time.After(20 * time.Second):
		t.Error("a dead connection was held")
	}
}

func TestBacklog(t *testing.T) {
	f, b := server(t), &channelstest.MessageInbox{}
	const n = 10_000
	for i := range n {
		f.Say(sam, fmt.Sprint(i))
	}
	channelstest.Keep(t, open(t, f), b)
	b.Came(t, n)
	for i, m := range b.List() {
		if m.Text != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, m.Text)
		}
	}
}

func TestWhatIsWrong(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   func(f *channelstest.Signal)
		want  string
		later bool
	}{
		{"no such account", func(f *channelstest.Signal) { f.Accounts(obj{"number": "+49000"}) }, "has no account " + phone, true},
		{"not that of signal-cli", func(f *channelstest.Signal) { f.Fail("listAccounts", channelstest.SignalFault{Status: 404}) }, "404", false},
		{"a page", func(f *channelstest.Signal) { f.Fail("events", channelstest.SignalFault{Raw: "<html>"}) }, "check url", false},
		{"no stream", func(f *channelstest.Signal) { f.Fail("events", channelstest.SignalFault{Status: 400}) }, "has no account", true},
		{"no stream among several", func(f *channelstest.Signal) {
			several(f)
			f.Fail("events", channelstest.SignalFault{Status: 400}, channelstest.SignalFault{Status: 400})
		}, "has no account", true},
		{"of another account", func(f *channelstest.Signal) { f.Push(`{"account":"+49000","envelope":{}}`) }, "serves the account +49000", false},
	} {
		f := server(t)
		tc.set(f)
		err := open(t, f).Run(t.Context(), &channelstest.MessageInbox{})
		later := (*channels.RetryAfter)(nil)
		if err == nil || !strings.Contains(err.Error(), tc.want) || errors.As(err, &later) != tc.later {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

// TestOwnIDIsAskedOnce: Signal limits questions about numbers.
func TestOwnIDIsAskedOnce(t *testing.T) {
	f, b := server(t), &channelstest.MessageInbox{}
	for i := range 3 {
		stop := channelstest.Keep(t, open(t, f), b)
		f.Say(sam, fmt.Sprint(i))
		b.Came(t, i+1)
		stop()
	}
	if n := f.Calls("getUserStatus"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	silent := server(t)
	silent.Anonymous()
	silent.Say(sam, "x")
	if got := channelstest.Received(t, open(t, silent), 1); got[0].Text != "x" {
		t.Errorf("without an answer: %+v", got)
	}
}
