package irc_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/irc"
	"hob/daemon/sys"
)

// conversation runs a channel on a server in memory that offers caps, in the bubble of the test; f holds a
// burst of lines.
func conversation(t *testing.T, caps []string) (*channelstest.IRC, *irc.Channel, *channelstest.MessageInbox) {
	t.Helper()
	n := channelstest.NewNetwork()
	f, cfg := inMemory(t, n, channelstest.IRCOptions{Caps: caps})
	ch, b := openWith(t, n.Env(t, "irc", nil), cfg), &channelstest.MessageInbox{}
	channelstest.Keep(t, ch, b)
	f.Listening(t.Context())
	b.Until(t, func() bool { return b.Stored().Value != "" })
	<-time.After(time.Minute)
	return f, ch, b
}

// without returns the capabilities of a modern server, except some.
func without(names ...string) []string {
	return slices.DeleteFunc(channelstest.IRCModern(), func(name string) bool { return slices.Contains(names, name) })
}

// TestAnswersInTime: in a quick conversation, hob sends little more than its answers, and waits only for
// flood control (five lines at once, then one every two seconds).
func TestAnswersInTime(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct {
		name  string
		caps  []string
		asked int // lines about who it is
		want  []time.Duration
	}{
		{"watched", channelstest.IRCModern(), 2, []time.Duration{0, 2 * s, 4 * s, 4 * s, 4 * s, 4 * s}},
		{"not watched", without("extended-monitor"), 0, []time.Duration{0, 0, 2 * s, 4 * s, 4 * s, 4 * s}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, ch, b := conversation(t, tc.caps)
			var took []time.Duration
			for i := range 6 {
				f.Say("sam", "hob", fmt.Sprint("question ", i))
				b.Came(t, i+1)
				began := time.Now()
				if _, err := ch.Send(t.Context(), delivery("irc:$sam", "one\ntwo")); err != nil {
					t.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			if !slices.Equal(took, tc.want) {
				t.Errorf("%s: the answers took %v, want %v", tc.name, took, tc.want)
			}
			if n := f.Calls("WHOIS") + f.Calls("MONITOR"); n != tc.asked {
				t.Errorf("%s: asked %d times who it is that has just written, want %d", tc.name, n, tc.asked)
			}
		})
	}
}

// TestAskedAgain checks the validity of an answer about a nick: if the server watches the nick, until it
// reports a change.
func TestAskedAgain(t *testing.T) {
	for _, tc := range []struct {
		name string
		caps []string
		want []int // WHOIS in all after sends at 0 s, 9 s, 11 s and an hour
	}{
		{"watched", channelstest.IRCModern(), []int{1, 1, 1, 1}},
		{"not watched", without("extended-monitor"), []int{1, 1, 2, 3}},
		{"log-outs are not told", without("account-notify"), []int{1, 1, 2, 3}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, ch, _ := conversation(t, tc.caps)
			var got []int
			for _, pause := range []time.Duration{0, 9 * time.Second, 2 * time.Second, time.Hour} {
				<-time.After(pause)
				if _, err := ch.Send(t.Context(), delivery("irc:$sam", "news")); err != nil {
					t.Fatal(err)
				}
				got = append(got, f.Calls("WHOIS"))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s: asked %v times, want %v", tc.name, got, tc.want)
			}
		})
	}
}

// TestAfterSleep: after a long silence, for example a suspended machine, changes may not have arrived yet.
func TestAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := channelstest.NewNetwork()
		f, cfg := inMemory(t, n, channelstest.IRCOptions{Caps: channelstest.IRCModern()})
		e := n.Env(t, "irc", nil)
		var slept atomic.Int64
		e.Clock = sys.ShiftedClock(func() time.Duration { return time.Duration(slept.Load()) })
		ch, b := openWith(t, e, cfg), &channelstest.MessageInbox{}
		channelstest.Keep(t, ch, b)
		f.Listening(t.Context())
		b.Until(t, func() bool { return b.Stored().Value != "" })
		for _, sleep := range []time.Duration{0, 40 * time.Second, time.Minute} {
			slept.Add(int64(sleep))
			if _, err := ch.Send(t.Context(), delivery("irc:$sam", "news")); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{false: 1, true: 2}[sleep == time.Minute]; f.Calls("WHOIS") != want || f.Calls("MONITOR") != 1 {
				t.Errorf("after a sleep of %s: asked %d times, want %d", sleep, f.Calls("WHOIS"), want)
			}
		}
	})
}

// TestNeverToSomebodyElse: whatever happens to the nick that hob has just written to, a message for sam
// reaches sam.
func TestNeverToSomebodyElse(t *testing.T) {
	for name, caps := range map[string][]string{"watched": channelstest.IRCModern(), "not watched": without("extended-monitor")} {
		for what, change := range map[string]func(*channelstest.IRC){
			"left":                func(f *channelstest.IRC) { f.Leave("sam") },
			"left and taken":      func(f *channelstest.IRC) { f.Leave("sam"); f.Person("sam", "Eve") },
			"taken by nobody":     func(f *channelstest.IRC) { f.Leave("sam"); f.Person("sam", "") },
			"logged out":          func(f *channelstest.IRC) { f.Person("sam", "") },
			"logged in otherwise": func(f *channelstest.IRC) { f.Person("sam", "Eve") },
		} {
			synctest.Test(t, func(t *testing.T) {
				f, ch, _ := conversation(t, caps)
				if _, err := ch.Send(t.Context(), delivery("irc:$sam", "hello")); err != nil {
					t.Fatal(err)
				}
				change(f)
				if name == "not watched" {
					<-time.After(10 * time.Second)
				}
				synctest.Wait()
				_, err := ch.Send(t.Context(), delivery("irc:$sam", "secret"))
				if err == nil || errors.Is(err, channels.ErrUnknown) || errors.Is(err, channels.ErrPermanent) || len(f.Sent()) != 1 {
					t.Errorf("%s, %s: %v, sent %q", name, what, err, f.Sent())
				}
				f.Person("sam", "Sam") // back again
				if _, err := ch.Send(t.Context(), delivery("irc:$sam", "welcome")); err != nil || len(f.Sent()) != 2 {
					t.Errorf("%s, %s: back again: %v", name, what, err)
				}
			})
		}
	}
}

// TestLeavesInTheMiddle: while the lines of a part are being sent, none reaches a new user of the nick.
func TestLeavesInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, ch, _ := conversation(t, channelstest.IRCModern())
		f.Say("sam", "hob", "tell me all")
		synctest.Wait()
		time.AfterFunc(3*time.Second, func() { // two that ask and three lines are out at once, a fourth after two seconds
			f.Leave("sam")
			f.Person("sam", "Eve")
		})
		_, err := ch.Send(t.Context(), delivery("irc:$sam", "1\n2\n3\n4\n5\n6\n7\n8\n9"))
		if !errors.Is(err, channels.ErrUnknown) || len(f.Sent()) != 4 {
			t.Errorf("%v, sent %q: want it unknown after four lines", err, f.Sent())
		}
	})
}

// TestWhoIsBehind checks what each line of a server says about the nick of an account.
func TestWhoIsBehind(t *testing.T) {
	const online, whois = ":irc.test 730 hob :sam!u@h", ":irc.test 330 hob sam Sam :is logged in as"
	for _, tc := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"nothing", nil, ""},
		{"nothing of it", []string{":irc.test NOTICE hob :welcome"}, ""},
		{"an answer", []string{whois}, "sam"},
		{"without an account", []string{":irc.test 330 hob sam * :?"}, ""},
		{"another one's", []string{":irc.test 330 hob sam Eve :is logged in as"}, ""},
		{"under another nick, who has not written", []string{":irc.test 330 hob away Sam :is logged in as"}, ""},
		{"under another nick", []string{"@account=Sam :away!u@h PRIVMSG hob :x"}, "away"},
		{"who wrote without an account since", []string{whois, ":sam!u@h PRIVMSG hob :x"}, ""},
		{"what somebody said then", []string{":irc.test BATCH +b chathistory hob", "@batch=b;account=Sam :sam!u@h PRIVMSG hob :x"}, ""},
		{"came anew", []string{whois, online}, ""},
		{"watched", []string{online, whois}, "sam"},
		{"gone", []string{online, whois, ":irc.test 731 hob :eve,SAM"}, ""},
		{"nobody there", []string{whois, ":irc.test 401 hob sam :No such nick"}, ""},
		{"logged out", []string{online, whois, ":sam!u@h ACCOUNT *"}, ""},
		{"logged in", []string{online, ":sam!u@h ACCOUNT Sam"}, "sam"},
		{"quit", []string{whois, ":sam!u@h QUIT :x"}, ""},
		{"has another nick", []string{whois, ":sam!u@h NICK kim"}, ""},
		{"somebody has the nick", []string{whois, ":eve!u@h NICK sam"}, ""},
		{"somebody joins under it", []string{whois, ":sam!u@h JOIN #family Eve :Eve"}, ""},
		{"in a channel", []string{":sam!u@h JOIN #family Sam :S"}, "sam"},
		{"in a channel, under another nick", []string{":zoe!u@h JOIN #family Sam :S", ":away!u@h JOIN #family Sam :S"}, "away"},
		{"in a channel, and gone", []string{":sam!u@h JOIN #family Sam :S", ":irc.test 731 hob :sam"}, ""},
		{"in a channel, and watched", []string{":sam!u@h JOIN #family Sam :S", online}, "sam"},
	} {
		talk := talker(t, false, "account-tag", "extended-join", "account-notify", "extended-monitor")
		for _, raw := range tc.lines {
			if err := talk.Hear(raw); err != nil {
				t.Fatal(err)
			}
		}
		if got := talk.Behind("$sam"); got != tc.want {
			t.Errorf("%s: behind $sam is %q, want %q", tc.name, got, tc.want)
		}
	}
}
