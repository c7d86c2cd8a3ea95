package channelstest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
)

// failing skips platforms that cannot be told to fail.
func (s *storm) failing(t *testing.T) {
	t.Helper()
	if s.Fail == nil {
		t.Skip("a real server fails by itself only")
	}
}

// settled waits until the newest row for an address has a state.
func (s *storm) settled(t *testing.T, to event.Address, limit time.Duration, state string) {
	t.Helper()
	Wait(t, limit, "the last row to "+string(to)+" being "+state, func() bool {
		last := ""
		for _, r := range s.Out.Rows() {
			if r.To == to {
				last = r.State
			}
		}
		return last == state
	})
}

// Sending may fail while receiving works: the health of both is separate.
func healthApart(t *testing.T, s *storm) {
	s.failing(t)
	s.start(t)
	for range 4 {
		s.Fail(Broken)
	}
	s.Queue(s.To, "one")
	Wait(t, time.Hour, "sending being down", func() bool { return s.Health().Sending.State == channels.Down })
	s.arrive(t, time.Minute, s.Say("and back?"))
	if h := s.Health(); h.Receiving.State != channels.OK || h.Sending.LastError == "" {
		t.Errorf("health %+v", h)
	}
	s.settled(t, s.To, time.Hour, "done")
	if h := s.Health(); h.Sending.State != channels.OK {
		t.Errorf("sending works, and is %+v", h.Sending)
	}
}

// A permanently refused message is given up at once, and the owner hears of it elsewhere.
func permanentRefusal(t *testing.T, s *storm) {
	s.failing(t)
	s.start(t)
	s.Fail(Refused)
	s.Queue(s.To, "the first")
	s.settled(t, s.To, time.Minute, "dead")
	s.Queue(s.To, "the second")
	s.settled(t, s.To, time.Minute, "done")
	if got := s.Sent(); !slices.Equal(got, []string{"the second"}) {
		t.Errorf("arrived: %q", got)
	}
	Wait(t, time.Minute, "being told elsewhere", func() bool { return len(s.Elsewhere()) > 0 })
	if told := s.Elsewhere(); len(told) != 1 || !strings.Contains(told[0], string(s.To)+" could not be delivered: ") || !strings.Contains(told[0], "the first") {
		t.Errorf("told %q", told)
	}
}

// Messages to one address keep their order, whatever fails in between.
func sendOrder(t *testing.T, s *storm) {
	s.failing(t)
	s.start(t)
	var want []string
	for i := range 12 {
		text := fmt.Sprintf("number %d", i)
		want = append(want, text)
		if i == 0 {
			s.Fail(Later)
			s.Fail(Broken)
		}
		s.Queue(s.To, text)
		if i == 6 {
			s.settled(t, s.To, time.Hour, "done")
			s.Fail(Broken)
		}
	}
	s.settled(t, s.To, time.Hour, "done")
	if got := s.Sent(); !slices.Equal(got, want) {
		t.Errorf("arrived: %q", got)
	}
}

// A long text arrives in parts and in order; after a failure in the middle it continues there.
func sendParts(t *testing.T, s *storm) {
	s.failing(t)
	s.start(t)
	limit := channels.FormOf(s.World.Open()).Limit
	if limit == 0 {
		t.Skip("a text is never cut there")
	}
	var words []string
	for i := range limit / 3 {
		words = append(words, fmt.Sprintf("word%04d", i))
	}
	s.Queue(s.To, strings.Join(words, " "))
	Wait(t, time.Hour, "the first part", func() bool { return len(s.Sent()) > 0 })
	s.Fail(Broken)
	s.settled(t, s.To, time.Hour, "done")
	got := s.Sent()
	if !slices.Equal(strings.Fields(strings.Join(got, " ")), words) || len(got) < 3 {
		t.Errorf("%d parts arrived with %d words, want at least 3 with %d", len(got), len(strings.Fields(strings.Join(got, " "))), len(words))
	}
	if rows := s.Out.Rows(); len(rows) != 1 || !s.Lines && len(rows[0].Parts) != len(got) {
		t.Errorf("%d parts were sent as %d", len(rows[0].Parts), len(got))
	}
}

// A text of many short lines arrives once, even if each line is a message and the rate is limited.
func manyLines(t *testing.T, s *storm) {
	s.start(t)
	var list, want []string
	for i := range 80 {
		list = append(list, fmt.Sprintf("- n%d", i))
		want = append(want, fmt.Sprintf("n%d", i))
	}
	s.Queue(s.To, strings.Join(list, "\n"))
	s.settled(t, s.To, time.Hour, "done")
	words := slices.DeleteFunc(strings.Fields(strings.Join(s.Sent(), " ")), func(w string) bool { return !strings.HasPrefix(w, "n") })
	if !slices.Equal(words, want) {
		t.Errorf("arrived: %q", s.Sent())
	}
	if rows := s.Out.Rows(); slices.ContainsFunc(rows[0].Parts, func(p Part) bool { return p.Attempts != 1 }) {
		t.Errorf("the parts took more than one try: %+v", rows[0].Parts)
	}
}

// An uncertain send is looked up, or repeated with its key; without either, it is repeated once with a mark.
func uncertainSend(t *testing.T, s *storm) {
	s.failing(t)
	s.start(t)
	s.Queue(s.To, "an older one, by which what the platform still has can be seen")
	s.settled(t, s.To, time.Minute, "done")
	<-time.After(10 * time.Minute)
	for _, kept := range []Failure{CutBefore, CutAfter} {
		before := len(s.Sent())
		s.Listening(t.Context())
		text := fmt.Sprintf("was it said %d", kept)
		s.Fail(kept)
		s.Queue(s.To, text)
		s.settled(t, s.To, time.Hour, "done")
		got, want := s.Sent()[before:], []string{text}
		if channels.AbilitiesOf(s.World.Open()).Repeats == channels.Marked || s.Doubts && kept == CutBefore {
			marked := []string{text + "\n\n(may be a repeat)"}
			if s.Lines {
				marked = []string{text, "(may be a repeat)"}
			}
			want = marked
			if kept == CutAfter {
				want = append([]string{text}, marked...)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("failure %d: arrived %q, want %q", kept, got, want)
		}
	}
}

// An uncertain send to somebody else is never repeated without a key or a look-up: the owner is asked.
func uncertainSendToOthers(t *testing.T, s *storm) {
	s.failing(t)
	s.startFor(t, "")
	s.Fail(CutAfter)
	s.Queue(s.To, "for you")
	marked := channels.AbilitiesOf(s.World.Open()).Repeats == channels.Marked
	if marked {
		s.settled(t, s.To, time.Hour, "held")
	} else {
		s.settled(t, s.To, time.Hour, "done")
	}
	if asked := s.Out.Asked(); marked != (len(asked) == 1) || len(s.Sent()) != 1 {
		t.Errorf("asked about %v; arrived %q", asked, s.Sent())
	}
}

// An undelivered message expires after a week, or an hour if it is for somebody else; the owner hears of it
// elsewhere.
func sendExpiry(t *testing.T, s *storm) {
	s.start(t)
	s.net.Away(NoService)
	s.net.Cut()
	s.Queue(s.To, "for the owner")
	s.Out.Queue(event.Out{Key: "short", To: s.To, Body: "for an hour", NotAfter: s.net.Clock().Wall().Add(time.Hour), Cause: event.Cause{Kind: event.ByTurn}})
	<-time.After(6 * 24 * time.Hour)
	if state := s.Out.Rows()[0].State; state != "ready" {
		t.Errorf("after six days it is %s", state)
	}
	<-time.After(2 * 24 * time.Hour)
	for _, r := range s.Out.Rows()[:2] {
		if r.State != "expired" {
			t.Errorf("%q is %s after eight days", r.Body, r.State)
		}
	}
	Wait(t, time.Minute, "being told elsewhere", func() bool { return len(s.Elsewhere()) == 2 })
	if told := s.Elsewhere(); !strings.Contains(told[0], "not delivered in time") {
		t.Errorf("told %q", told)
	}
	s.net.Away(Up)
	<-time.After(10 * time.Minute)
	if got := s.Sent(); len(got) != 0 {
		t.Errorf("it arrived nevertheless: %q", got)
	}
}
