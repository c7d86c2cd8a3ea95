package channels_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/daemon/event"
)

// later changes a rig while it runs.
func (r *pumpHarness) later(d time.Duration, f func()) {
	time.AfterFunc(d, func() {
		r.mouth.mu.Lock()
		defer r.mouth.mu.Unlock()
		f()
	})
}

// A waiting message does not go to an address that loses its right meanwhile; the owner is told at the first
// address. An address that keeps its right, gets a better one, or had none, is not affected.
func TestPumpTurnsAwayWhoHasLostHisRight(t *testing.T) {
	for name, c := range map[string]struct {
		then, now channels.Right
		why       string
	}{
		"still the owner":         {channels.OwnerRight, channels.OwnerRight, ""},
		"still named":             {channels.NamedRight, channels.NamedRight, ""},
		"named, and paired since": {channels.NamedRight, channels.OwnerRight, ""},
		"written to by a call":    {channels.NoRight, channels.NoRight, ""},
		"nobody, and named since": {channels.NoRight, channels.NamedRight, ""},
		"a pairing taken back":    {channels.OwnerRight, channels.NoRight, "it is no longer an address of the owner"},
		"the owner, known now":    {channels.OwnerRight, channels.NamedRight, "it is no longer an address of the owner"},
		"no longer named":         {channels.NamedRight, channels.NoRight, "the config no longer lists it"},
	} {
		story(t, nil, func(t *testing.T, r *pumpHarness) {
			const to = "plain:other"
			r.right = map[event.Address]channels.Right{to: c.then}
			r.outbox.SetRights(func(a event.Address) channels.Right { return r.right[a] })
			r.mouth.stuck = to
			r.say(to, "the code is 7")
			r.later(time.Minute, func() { r.right[to], r.mouth.stuck = c.now, "" })
			r.live(t, time.Hour)
			if c.why == "" {
				want(t, name, r.bodies(), "the code is 7")
				return
			}
			rows := r.outbox.Rows()
			if rows[0].State != "dead" || rows[0].Reason != c.why || slices.ContainsFunc(r.mouth.got, func(a arrival) bool { return a.to == to }) {
				t.Errorf("%s: %s because %q; arrived %q", name, rows[0].State, rows[0].Reason, r.bodies())
			}
			if len(rows) != 2 || rows[1].To != "plain:me" || !strings.Contains(rows[1].Body, c.why) || !strings.Contains(rows[1].Body, "the code is 7") || !strings.Contains(rows[1].Body, "hob outbox retry 1 ") {
				t.Errorf("%s: told %+v", name, rows[1:])
			}
		})
	}
}

// A right that is lost between two parts stops the rest of the message.
func TestPumpTurnsAwayBetweenTwoParts(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		const to = "plain:other"
		r.right = map[event.Address]channels.Right{to: channels.NamedRight}
		r.outbox.SetRights(func(a event.Address) channels.Right { return r.right[a] })
		r.mouth.slow = map[event.Address]time.Duration{to: time.Second}
		r.say(to, words(100))
		r.later(500*time.Millisecond, func() { delete(r.right, to) })
		r.live(t, time.Hour)
		row := r.outbox.Rows()[0]
		if row.State != "dead" || row.Parts[0].State != "sent" || row.Parts[1].State != "ready" {
			t.Errorf("%s, parts %+v", row.State, row.Parts)
		}
	})
}

// While the right of an address is unknown, its messages wait, and others do not.
func TestPumpWaitsUntilItKnowsWhoseAnAddressIs(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.outbox.SetRights(func(event.Address) channels.Right { return channels.OwnerRight })
		r.blank = map[event.Address]bool{"plain:me": true}
		r.say("plain:me", "patience")
		r.say("keyed:me", "meanwhile")
		r.later(3*time.Minute, func() { r.blank = nil })
		r.live(t, time.Hour)
		want(t, "arrived", r.bodies(), "meanwhile", "patience")
	})
}

// A section's list matches the address: the person's id in a private chat, the group's id in a thread.
func TestHostNames(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, _ *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		x := &able{ear: ear{run: listen}, Audience: channels.Audience{Groups: []string{"G1", "a/b="}, Known: []string{"K1", "k@x.org"}, Public: []string{"P1"}}}
		h.Replace(map[string]channels.Section{"x": {Channel: x}, "mute": {Channel: &ear{run: listen}}, "broken": {Err: errPlain}})
		synctest.Wait()
		for to, want := range map[event.Address]bool{
			"x:K1": true, "x:k@x.org": true, "x:P1": true, "x:G1": true, "x:G1/17": true, "x:#G1": true, "x:#G1/T2": true, "x:a/b=": true,
			"x:K2": false, "x:": false, "x:G": false, "x:17/G1": false, "x:k1": false, "mute:K1": false,
		} {
			if got, err := h.Names(to); got != want || err != nil {
				t.Errorf("%s: %v, %v", to, got, err)
			}
		}
		for _, to := range []event.Address{"broken:K1", "gone:K1"} {
			if _, err := h.Names(to); err == nil {
				t.Errorf("%s: nobody knows", to)
			}
		}
	})
}

// unanswered learns its account when answer is closed.
type unanswered struct {
	able
	answer chan struct{}
}

func (u *unanswered) Account(context.Context) (string, error) {
	<-u.answer
	return "me", nil
}

// An account is known after the current section has reported it.
func TestHostMet(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, _ *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		if h.AccountKnown("x") {
			t.Error("before there is a config")
		}
		h.Replace(map[string]channels.Section{"x": {Fingerprint: "1", Channel: &able{ear: ear{run: listen}}}})
		synctest.Wait()
		if !h.AccountKnown("x") || h.AccountKnown("y") {
			t.Errorf("x %v, y %v", h.AccountKnown("x"), h.AccountKnown("y"))
		}
		answer := make(chan struct{})
		h.Replace(map[string]channels.Section{"x": {Fingerprint: "2", Channel: &unanswered{able: able{ear: ear{run: listen}}, answer: answer}}})
		synctest.Wait()
		if h.AccountKnown("x") {
			t.Error("another token may be another account's")
		}
		close(answer)
		synctest.Wait()
		if !h.AccountKnown("x") {
			t.Error("it has been asked again")
		}
	})
}
