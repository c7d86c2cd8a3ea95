package channels_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"hob/channels"
	"hob/channels/markup"
	"hob/daemon/event"
)

// hushed sets quiet hours for the owner from 22:00 to 07:00 UTC.
func (r *pumpHarness) hushed(t *testing.T) {
	t.Helper()
	night, err := channels.ParseHours("22:00-07:00")
	if err != nil {
		t.Fatal(err)
	}
	r.outbox.SetQuietHours(func(a event.Address, at time.Time) time.Time {
		if !slices.Contains(r.owner, a) {
			return time.Time{}
		}
		return night.End(at, time.UTC)
	})
}

// murmur queues a message that is not urgent.
func (r *pumpHarness) murmur(to event.Address, body string) {
	n := len(r.outbox.Rows())
	r.outbox.Queue(event.Out{Key: fmt.Sprintf("m%d", n), Cause: event.Cause{Kind: event.ByFire, ID: 1}, To: to, Body: body, Urgency: event.Normal})
}

func TestPumpGathersWhatWaitedThroughTheNight(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) { // which begins at midnight
		r.hushed(t)
		r.mouth.form = markup.Telegram()
		r.murmur("plain:me", "one")
		for i, body := range []string{"```\nleft open", "~~~ text\ncode\n~~~", "**four**"} {
			time.AfterFunc(time.Duration(i+1)*time.Hour, func() { r.murmur("plain:me", body) })
		}
		time.AfterFunc(90*time.Minute, func() {
			r.outbox.Queue(event.Out{Key: "urgent", To: "plain:me", Body: "fire", Urgency: event.Urgent})
		})
		time.AfterFunc(2*time.Hour+time.Minute, func() { r.murmur("plain:other", "not the owner") })
		time.AfterFunc(7*time.Hour-time.Second, func() {
			r.mouth.mu.Lock()
			defer r.mouth.mu.Unlock()
			want(t, "arrived at night", r.bodies(), "fire", "not the owner")
		})
		r.live(t, 24*time.Hour)
		want(t, "arrived", r.bodies(), "fire", "not the owner", "While it was quiet:\n\n<b>00:00</b>\n\none\n\n<b>01:00</b>\n\n<pre>left open</pre>\n\n"+
			"<b>02:00</b>\n\n<pre><code class=\"language-text\">code</code></pre>\n\n<b>03:00</b>\n\n<b>four</b>")
		for _, row := range r.outbox.Rows() {
			if row.Key != "m0" && row.Quiet && (row.State != "joined" || row.Joined != 1) {
				t.Errorf("row %d is %s with %d", row.ID, row.State, row.Joined)
			}
		}
	})
}

func TestPumpSendsAFewOneByOne(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.hushed(t)
		start := time.Now()
		for _, body := range []string{"one", "two", "three"} {
			r.murmur("plain:me", body)
		}
		r.live(t, 24*time.Hour)
		want(t, "arrived", r.bodies(), "one", "two", "three")
		if sent := r.outbox.Rows()[0].Parts[0].Tried.Sub(start); sent != 7*time.Hour {
			t.Errorf("sent after %s, want 7 h", sent)
		}
	})
}

func TestPumpDatesWhatWaitedForDays(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		end := time.Now().Add(50 * time.Hour)
		r.outbox.SetQuietHours(func(_ event.Address, at time.Time) time.Time {
			if at.Before(end) {
				return end
			}
			return time.Time{}
		})
		for i := range 4 {
			r.murmur("plain:me", fmt.Sprint("n", i))
		}
		r.live(t, 80*time.Hour)
		if got := r.bodies(); len(got) != 1 || !strings.Contains(got[0], "2000-01-01 00:00\n\nn3") {
			t.Errorf("arrived %q", got)
		}
	})
}

// TestPumpQuietProperties: despite failures and crashes, all messages that waited arrive once, in order, and
// at their addresses.
func TestPumpQuietProperties(t *testing.T) {
	all := []event.Address{"finder:me", "finder:other", "keyed:me"}
	rapid.Check(t, func(rt *rapid.T) {
		type said struct {
			to event.Address
			at time.Duration
		}
		var list []said
		for range rapid.IntRange(1, 12).Draw(rt, "messages") {
			at := time.Duration(rapid.IntRange(1, 24*60).Draw(rt, "minute")) * time.Minute
			list = append(list, said{rapid.SampledFrom(all).Draw(rt, "to"), at})
		}
		slices.SortStableFunc(list, func(a, b said) int { return int(a.at - b.at) })
		script := rapid.SliceOfN(rapid.SampledFrom([]string{"ok", "ok", "plain", "later", "crash-before", "crash-after"}), 0, 12).Draw(rt, "script")
		var faults []string
		synctest.Test(t, func(t *testing.T) {
			r := newPumpHarness()
			r.hushed(t)
			r.mouth.each = map[event.Address][]string{"finder:me": script, "finder:other": slices.Clone(script), "keyed:me": slices.Clone(script)}
			r.mouth.slow = map[event.Address]time.Duration{"finder:me": 7 * time.Millisecond, "finder:other": 13 * time.Millisecond, "keyed:me": 29 * time.Millisecond}
			for i, m := range list {
				time.AfterFunc(m.at, func() { r.murmur(m.to, fmt.Sprintf("message %d.", i)) })
			}
			for end := time.Now().Add(48 * time.Hour); time.Now().Before(end); {
				r.live(t, time.Until(end))
				<-time.After(time.Minute)
			}
			faults = noticeFaults(r)
		})
		for _, f := range faults {
			rt.Error(f)
		}
	})
}

// noticeFaults lists what is wrong with the arrived messages.
func noticeFaults(r *pumpHarness) (faults []string) {
	night := func(at time.Time) bool { return at.Hour() < 7 || at.Hour() >= 22 }
	next := map[event.Address]int{} // where in all that arrived there the next message must stand
	texts := map[event.Address]string{}
	seen := map[string]bool{}
	for _, a := range r.mouth.got {
		if seen[a.nonce] { // a second try of a channel with keys
			continue
		}
		seen[a.nonce] = true
		texts[a.to] += a.body + "\n"
	}
	for _, row := range r.outbox.Rows() {
		i := strings.Index(texts[row.To][next[row.To]:], row.Body)
		if i < 0 || strings.Count(texts[row.To], row.Body) != 1 {
			faults = append(faults, fmt.Sprintf("%q to %s did not arrive once, and in order: %q", row.Body, row.To, texts[row.To]))
			continue
		}
		next[row.To] += i
		if row.State == "done" && slices.Contains(r.owner, row.To) && night(row.Parts[0].Tried) {
			faults = append(faults, fmt.Sprintf("%q was sent at %s", row.Body, row.Parts[0].Tried))
		}
	}
	return faults
}
