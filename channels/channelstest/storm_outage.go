package channelstest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/sys"
)

// outage is a server that is away for some time.
type outage struct {
	how   Outage
	lasts time.Duration
}

func (o outage) String() string {
	return fmt.Sprintf("%s for %s", [...]string{"up", "no name", "gone", "nothing", "closes", "hangs", "502", "swallows answers"}[o.how], o.lasts)
}

// eachOutage returns each kind of outage for seconds, minutes and an hour.
func eachOutage() (all []outage) {
	for _, how := range []Outage{Closes, Hangs, BadGateway, NoService, Swallows} {
		for _, lasts := range []time.Duration{5 * time.Second, 100 * time.Second, time.Hour} {
			all = append(all, outage{how, lasts})
		}
	}
	return all
}

// during queues two texts for the tested address while the server is away, and waits until they are settled:
// within seconds after receiving recovers (C5), or after the send that hangs since the outage has timed out;
// in any case soon after the outage.
func (s *storm) during(t *testing.T, o outage) (texts []string) {
	t.Helper()
	s.Listening(t.Context())
	<-time.After(time.Minute) // the effects of the last outage are over
	s.net.Away(o.how)
	s.net.Cut()
	for n := range 2 {
		text := fmt.Sprintf("%s, text %d", o, n)
		s.Queue(s.To, text)
		texts = append(texts, text)
	}
	<-time.After(o.lasts)
	s.net.Away(Up)
	s.net.Cut()
	up, again := time.Now(), time.Time{}
	if s.Health().Receiving.State == channels.OK {
		again = up.Add(time.Hour) // the outage was not noticed
	}
	Wait(t, 10*time.Minute, o.String()+": being settled", func() bool {
		if again.IsZero() && s.Health().Receiving.State == channels.OK {
			again = time.Now()
		}
		return !slices.ContainsFunc(s.Out.Rows(), func(r OutRow) bool { return r.State == "ready" })
	})
	if took := time.Since(up); took > max(2*time.Minute, o.lasts/10+time.Minute) || !again.IsZero() && time.Since(again) > 65*time.Second {
		t.Errorf("%s: settled %s after it was back; it received again after %s", o, took, again.Sub(up))
	}
	return texts
}

var late = sys.Regexp(`\(late: from [^)]*\)`)

// arrived returns what arrived since the n-th message, without marks: the count of each text, in the order of
// first arrival. It fails if a text is repeated without a mark.
func (s *storm) arrived(t *testing.T, n int) (order []string, times map[string]int) {
	t.Helper()
	times = map[string]int{}
	last := ""
	for line := range strings.SplitSeq(late().ReplaceAllString(strings.Join(s.Sent()[n:], "\n"), ""), "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case line == "(may be a repeat)":
			last = ""
			continue
		case times[last] > 1:
			t.Errorf("%q came twice without a mark", last)
		}
		if last = line; times[line] == 0 {
			order = append(order, line)
		}
		times[line]++
	}
	if times[last] > 1 {
		t.Errorf("%q came twice without a mark", last)
	}
	return order, times
}

// C1: whatever a server does during an outage, and however long: afterwards each text is there, in order, at
// most once more and then marked. The owner is not asked about messages to the owner, and there are as many
// rows as messages.
func outages(t *testing.T, s *storm) {
	s.failing(t)
	s.start(t)
	for _, o := range eachOutage() {
		before := len(s.Sent())
		texts := s.during(t, o)
		order, times := s.arrived(t, before)
		if !slices.Equal(order, texts) || times[texts[0]] > 2 || times[texts[1]] > 2 {
			t.Errorf("%s: arrived %q", o, s.Sent()[before:])
		}
	}
	if rows, want := len(s.Out.Rows()), 2*len(eachOutage()); rows != want || len(s.Out.Asked()) > 0 {
		t.Errorf("%d rows for %d messages, %d questions", rows, want, len(s.Out.Asked()))
	}
}

// C1 for messages to others: each arrives once, or the owner is asked once about it.
func outagesToSomebody(t *testing.T, s *storm) {
	s.failing(t)
	s.startFor(t, "")
	for _, o := range eachOutage() {
		if o.lasts == time.Hour {
			o.lasts /= 2 // messages to others expire after an hour
		}
		before, rows, asked := len(s.Sent()), len(s.Out.Rows()), len(s.Out.Asked())
		texts := s.during(t, o)
		_, times := s.arrived(t, before)
		held := 0
		for _, r := range s.Out.Rows()[rows:] {
			if r.To != s.To {
				continue
			}
			text := r.Body
			switch {
			case r.State == "held":
				held++
			case r.State != "done" || times[text] == 0:
				t.Errorf("%s: %q is %s and arrived %d times", o, text, r.State, times[text])
			}
			if times[text] > 1 && channels.AbilitiesOf(s.World.Open()).Repeats != channels.ByKey {
				t.Errorf("%s: %q arrived %d times at somebody else's", o, text, times[text])
			}
		}
		if n := len(s.Out.Asked()) - asked; n != held {
			t.Errorf("%s: %d questions about %d held messages", o, n, held)
		}
		if n := len(s.Out.Rows()) - rows; n != len(texts)+held {
			t.Errorf("%s: %d rows for %d messages, of which %d are held", o, n, len(texts), held)
		}
	}
}

// U44: killing a process whose channel is connected and silent leaves no gap from before the kill.
func killedInSilence(t *testing.T, s *storm) {
	first := &MessageInbox{}
	adapter := start(t, s.World, first)
	s.Listening(t.Context())
	<-time.After(25 * time.Minute)
	stored, killed := first.Stored(), time.Now()
	_ = adapter.stop() // a killed process does not store its last position
	<-time.After(5 * time.Second)
	second := MessageInboxAt(stored)
	start(t, s.World, second)
	s.Listening(t.Context())
	<-time.After(5 * time.Minute)
	for _, gap := range second.Gaps() {
		from, _, _ := strings.Cut(gap, "-")
		seconds, err := strconv.ParseInt(from, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if before := killed.Sub(time.Unix(seconds, 0)); before > 2*time.Minute {
			t.Errorf("a gap begins %s before the kill: %s", before, gap)
		}
	}
}
