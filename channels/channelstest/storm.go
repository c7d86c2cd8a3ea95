package channelstest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/daemon/event"
)

// Storm tests an adapter over a failing network, with the real host and the real pump around it. Each test
// runs in a bubble of testing/synctest, where an hour takes no time. open makes the world inside the bubble,
// with a fake that listens on n and adapters that use n.Env.
func Storm(t *testing.T, open func(t *testing.T, n *Network) World) {
	tests := map[string]func(*testing.T, *storm){
		"half open":       silentConnection,
		"an hour without": hourOfOutage,
		"the lid closed":  machineSleep,
		"a day without":   dayOfOutage,
		"cut after cut":   repeatedDisconnects,
		"login refused":   loginRefused,
		"never let in":    refusedFromStart,
		"second listener": secondListener,
		"another account": anotherAccount,
		"backlog":         backlog,
		"growth":          noLeaks,
		"health apart":    healthApart,
		"dead letter":     permanentRefusal,
		"order":           sendOrder,
		"parts":           sendParts,
		"many lines":      manyLines,
		"may be a repeat": uncertainSend,
		"to somebody":     uncertainSendToOthers,
		"expiry":          sendExpiry,
		"outages":         outages,
		"killed":          killedInSilence,
		"outages, others": outagesToSomebody,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := NewNetwork()
				test(t, &storm{World: open(t, n), net: n})
			})
		})
	}
}

// storm is a world and its network.
type storm struct {
	World
	net *Network
	*Harness
}

// start runs the adapter, and waits until it listens.
func (s *storm) start(t *testing.T) {
	t.Helper()
	s.startFor(t, s.To)
}

// startFor is start with another first address of the owner, "" for none.
func (s *storm) startFor(t *testing.T, owner event.Address) {
	t.Helper()
	s.Harness = HarnessConfig{Name: s.Name, Channel: s.World.Open(), Rules: s.Rules, Owner: owner, Clock: s.net.Clock()}.Open(t)
	s.Listening(t.Context())
	synctest.Wait() // the adapter has finished its start
}

// arrive waits until the messages have arrived.
func (s *storm) arrive(t *testing.T, limit time.Duration, ids ...string) {
	t.Helper()
	has := s.has(ids...)
	Wait(t, limit, "receiving", func() bool { return has(s.In.Rows()) })
}

// arrivedOnce checks that each of the texts arrived once, in order.
func (s *storm) arrivedOnce(t *testing.T, texts ...string) {
	t.Helper()
	var got []string
	for _, r := range s.In.Rows() {
		got = append(got, r.Text())
	}
	if !slices.Equal(got, texts) {
		t.Errorf("received %q, want %q", got, texts)
	}
}

// A silent connection is detected within a minute.
func silentConnection(t *testing.T, s *storm) {
	s.start(t)
	s.arrive(t, time.Minute, s.Say("before"))
	synctest.Wait()
	s.net.Freeze()
	froze, tries := time.Now(), len(s.net.Dials())
	Wait(t, time.Hour, "connecting anew", func() bool { return len(s.net.Dials()) > tries })
	if took := time.Since(froze); took > time.Minute+time.Second {
		t.Errorf("a dead connection was found after %s, want it within a minute", took)
	}
	s.Listening(t.Context())
	s.arrive(t, 2*time.Minute, s.Say("after"))
	s.arrivedOnce(t, "before", "after")
}

// An outage of an hour, of any kind, costs nothing but the hour.
func hourOfOutage(t *testing.T, s *storm) {
	s.start(t)
	want := []string{"before"}
	s.arrive(t, time.Minute, s.Say("before"))
	for _, away := range []Outage{NoName, NoService, Nothing} {
		s.net.Away(away)
		<-time.After(30 * time.Minute)
		if h := s.Health().Receiving; h.State == channels.OK || h.LastError == "" {
			t.Errorf("away for half an hour (%d): receiving is %+v", away, h)
		}
		during := fmt.Sprintf("during %d", away)
		id := s.Say(during)
		<-time.After(30 * time.Minute)
		s.net.Away(Up)
		if !s.Forgets {
			want = append(want, during)
			s.arrive(t, 10*time.Minute, id)
		}
		Wait(t, 10*time.Minute, "being well again", func() bool { return s.Health().Receiving.State == channels.OK })
		s.Listening(t.Context())
		after := fmt.Sprintf("after %d", away)
		want = append(want, after)
		s.arrive(t, time.Minute, s.Say(after))
	}
	s.arrivedOnce(t, want...)
	if gaps := s.In.Gaps(); s.Forgets != (len(gaps) > 0) {
		t.Errorf("gaps said: %q", gaps)
	}
}

// After a night's sleep of the machine the adapter recovers within two minutes, and receives the missed
// messages.
func machineSleep(t *testing.T, s *storm) {
	s.start(t)
	s.arrive(t, time.Minute, s.Say("before"))
	synctest.Wait()
	s.net.Sleep(8 * time.Hour)
	id := s.Say("at night")
	woke := time.Now()
	if !s.Forgets {
		s.arrive(t, 10*time.Minute, id)
	} else {
		Wait(t, 10*time.Minute, "saying what is lost", func() bool { return len(s.In.Gaps()) > 0 })
	}
	if took := time.Since(woke); took > 2*time.Minute {
		t.Errorf("back %s after waking up", took)
	}
}

// During a day without a server the adapter keeps trying: soon at first, then every few minutes, with jitter,
// and without end.
func dayOfOutage(t *testing.T, s *storm) {
	s.start(t)
	s.arrive(t, time.Minute, s.Say("before"))
	s.net.Away(NoService)
	s.net.Cut()
	from := len(s.net.Dials())
	<-time.After(24 * time.Hour)
	tries := s.net.Dials()[from:]
	if len(tries) < 24*60/5 || len(tries) > 24*60*2 {
		t.Errorf("%d tries in a day, want one every few minutes at least, and no more than two a minute", len(tries))
	}
	var beats []time.Duration
	for i := max(1, len(tries)-20); i < len(tries); i++ {
		beats = append(beats, tries[i]-tries[i-1])
	}
	if longest := slices.Max(beats); longest > 5*time.Minute+time.Second {
		t.Errorf("no try for %s", longest)
	}
	slices.Sort(beats)
	if beats = slices.Compact(beats); len(beats) < 5 {
		t.Errorf("the tries come at a beat, as those of all others do that were cut off at the same time: %s", beats)
	}
	s.net.Away(Up)
	Wait(t, 10*time.Minute, "being well again", func() bool { return s.Health().Receiving.State == channels.OK })
}

// Connections that break again and again lose nothing, duplicate nothing, and leak nothing.
func repeatedDisconnects(t *testing.T, s *storm) {
	s.start(t)
	var want []string
	var routines int
	for i := range 30 {
		s.Listening(t.Context())
		text := fmt.Sprintf("message %d", i)
		id := s.Say(text)
		if i%2 == 0 || s.Forgets {
			s.arrive(t, time.Minute, id)
		}
		s.net.Cut()
		synctest.Wait()
		s.arrive(t, 10*time.Minute, id)
		want = append(want, text)
		if i == 5 {
			s.Listening(t.Context())
			routines = runtime.NumGoroutine()
		}
	}
	s.Listening(t.Context())
	synctest.Wait()
	s.arrivedOnce(t, want...)
	if now := runtime.NumGoroutine(); now > routines+10 {
		t.Errorf("%d goroutines, %d after the first cuts", now, routines)
	}
	if open := s.net.Open(); open > 5 {
		t.Errorf("%d connections are open", open)
	}
}

// A refused log-in is reported with advice, and tried again slowly.
func loginRefused(t *testing.T, s *storm) {
	if s.Account.Revoke == nil {
		t.Skip("nobody logs in there, or the fake cannot refuse it")
	}
	s.start(t)
	s.Account.Revoke()
	Wait(t, 10*time.Minute, "saying that the login is refused", func() bool {
		return s.Health().Receiving.State == channels.Down || strings.Contains(s.Health().Receiving.LastError, "token")
	})
	from := s.net.Requests()
	<-time.After(24 * time.Hour)
	h := s.Health()
	if h.Receiving.State != channels.Down || !hints(h.Receiving.LastError) {
		t.Errorf("receiving is %s, and says %q: want what to do", h.Receiving.State, h.Receiving.LastError)
	}
	if tries := s.net.Requests() - from; tries < 24 || tries > 24*60*2 {
		t.Errorf("hob has written %d times in a day", tries)
	}
}

// An account that is refused from the beginning is down within seconds, and is tried again slowly.
func refusedFromStart(t *testing.T, s *storm) {
	if s.Account.Revoke == nil {
		t.Skip("nobody logs in there, or the fake cannot refuse it")
	}
	s.Account.Revoke()
	s.Harness = HarnessConfig{Name: s.Name, Channel: s.World.Open(), Rules: s.Rules, Owner: s.To, Clock: s.net.Clock()}.Open(t)
	Wait(t, 15*time.Second, "receiving being down", func() bool { return s.Health().Receiving.State == channels.Down })
	if said := s.Health().Receiving.LastError; !hints(said) || strings.Contains(said, "retry after") {
		t.Errorf("it says %q: want what to do", said)
	}
	from := s.net.Requests()
	<-time.After(time.Hour)
	if tries := s.net.Requests() - from; tries < 12 || tries > 12*10 {
		t.Errorf("hob has written %d times in an hour, want it tried about every five minutes", tries)
	}
}

// hints reports whether an error contains advice.
func hints(text string) bool {
	return slices.ContainsFunc([]string{"set ", "check ", "make ", "take ", "log in", "add ", "reset ", "new "}, func(word string) bool {
		return strings.Contains(text, word)
	})
}

// If only one program can listen, the error says that another one does.
func secondListener(t *testing.T, s *storm) {
	if s.Account.Rival == nil {
		t.Skip("as many programs as like can listen there")
	}
	s.start(t)
	s.Account.Rival()
	Wait(t, 10*time.Minute, "saying that another program listens", func() bool { return strings.Contains(s.Health().Receiving.LastError, "another program") })
}
