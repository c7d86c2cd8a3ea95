package channels_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hob/channels"
)

var (
	noon      = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	errPlain  = errors.New("connection refused")
	errLost   = fmt.Errorf("connection lost: %w", channels.ErrUnknown)
	errNever  = fmt.Errorf("no such chat: %w", channels.ErrPermanent)
	errLater  = fmt.Errorf("send: %w", &channels.RetryAfter{After: 42 * time.Second, Err: errors.New("slow down")})
	soonDies  = noon.Add(10 * time.Second)
	longDead  = noon
	untilNext = noon.Add(time.Hour)
)

func TestAfter(t *testing.T) {
	for _, tc := range []struct {
		name   string
		o      channels.TryResult
		how    channels.Repeats
		owner  bool
		unsure int
		until  time.Time
		want   channels.State
		at     time.Time // of a retry; zero: some time later
		left   int       // unsure afterwards
	}{
		{name: "it worked", want: channels.Sent},
		{name: "it worked at the last moment", until: longDead, want: channels.Sent},
		{name: "refused for good", o: channels.TryResult{Err: errNever}, want: channels.Dead},
		{name: "asked to wait", o: channels.TryResult{Err: errLater}, want: channels.Retry, at: noon.Add(42 * time.Second)},
		{name: "asked to wait past its end", o: channels.TryResult{Err: errLater}, until: soonDies, want: channels.Retry, at: soonDies},
		{name: "failed", o: channels.TryResult{Err: errPlain}, want: channels.Retry},
		{name: "failed, an earlier try unsure", o: channels.TryResult{Err: errPlain}, unsure: 1, want: channels.Retry, left: 1},
		{name: "failed at its end", o: channels.TryResult{Err: errPlain}, until: longDead, want: channels.Expired},

		{name: "lost, can be looked up", o: channels.TryResult{Err: errLost}, how: channels.ByLook, want: channels.Retry, left: 1},
		{name: "lost, has a key", o: channels.TryResult{Err: errLost}, how: channels.ByKey, unsure: 7, want: channels.Retry, left: 8},
		{name: "lost, to the owner", o: channels.TryResult{Err: errLost}, owner: true, want: channels.Retry, left: 1},
		{name: "lost twice, to the owner", o: channels.TryResult{Err: errLost}, owner: true, unsure: 1, want: channels.Retry, at: noon.Add(10 * time.Second), left: 2},
		{name: "lost five times, to the owner", o: channels.TryResult{Err: errLost}, owner: true, unsure: 4, want: channels.Retry, at: noon.Add(640 * time.Second), left: 5},
		{name: "lost seven times, to the owner", o: channels.TryResult{Err: errLost}, owner: true, unsure: 6, want: channels.Retry, at: noon.Add(time.Hour), left: 7},
		{name: "lost eight times, to the owner", o: channels.TryResult{Err: errLost}, owner: true, unsure: 7, want: channels.Dead},
		{name: "lost, to others", o: channels.TryResult{Err: errLost}, want: channels.Unknown, left: 1},

		{name: "crash, to the owner", o: channels.TryResult{Interrupted: true}, owner: true, want: channels.Retry, at: noon, left: 1},
		{name: "second crash, to the owner", o: channels.TryResult{Interrupted: true}, owner: true, unsure: 1, want: channels.Retry, at: noon, left: 2},
		{name: "seventh crash, to the owner", o: channels.TryResult{Interrupted: true}, owner: true, unsure: 6, want: channels.Retry, at: noon, left: 7},
		{name: "eighth crash, to the owner", o: channels.TryResult{Interrupted: true}, owner: true, unsure: 7, want: channels.Dead},
		{name: "crash, to others", o: channels.TryResult{Interrupted: true}, want: channels.Unknown, left: 1},
		{name: "crash, has a key", o: channels.TryResult{Interrupted: true}, how: channels.ByKey, want: channels.Retry, at: noon, left: 1},
		{name: "crash, after its end", o: channels.TryResult{Interrupted: true}, owner: true, until: longDead, want: channels.Expired, left: 1},

		{name: "looked up: there", o: channels.TryResult{Interrupted: true, Looked: channels.Found, RemoteID: "r"}, how: channels.ByLook, until: longDead, want: channels.Sent},
		{name: "looked up: not there", o: channels.TryResult{Interrupted: true, Looked: channels.Missing}, how: channels.ByLook, want: channels.Retry, at: noon},
		{name: "looked up: cannot tell, to the owner", o: channels.TryResult{Interrupted: true, Looked: channels.Unclear, Err: errLost}, how: channels.ByLook, owner: true, want: channels.Retry, at: noon, left: 1},
		{name: "looked up: cannot tell, to others", o: channels.TryResult{Interrupted: true, Looked: channels.Unclear}, how: channels.ByLook, want: channels.Unknown, left: 1},
		{name: "looked up later: cannot tell, to the owner", o: channels.TryResult{Looked: channels.Unclear, Err: errLost}, how: channels.ByLook, owner: true, unsure: 1, want: channels.Retry, at: noon, left: 1},
		{name: "looked up later again: cannot tell, to the owner", o: channels.TryResult{Looked: channels.Unclear}, how: channels.ByLook, owner: true, unsure: 2, want: channels.Retry, at: noon, left: 2},
		{name: "the look-up failed after a crash", o: channels.TryResult{Interrupted: true, Err: errPlain}, how: channels.ByLook, want: channels.Retry, left: 1},
		{name: "the look-up failed later", o: channels.TryResult{Err: errPlain}, how: channels.ByLook, unsure: 1, want: channels.Retry, left: 1},
	} {
		d := channels.Delivery{Outbox: 3, To: "x:1", Body: "text", Nonce: "n", Attempts: 2, Unsure: tc.unsure, NotAfter: tc.until}
		v := channels.After(d, tc.o, cmp.Or(tc.how, channels.Marked), noon, tc.owner)
		if v.State != tc.want || v.Unsure != tc.left {
			t.Errorf("%s: %s, unsure %d; want %s, %d", tc.name, v.State, v.Unsure, tc.want, tc.left)
		}
		if !tc.at.IsZero() && !v.At.Equal(tc.at) {
			t.Errorf("%s: at %s, want %s", tc.name, v.At, tc.at)
		}
		if v.State == channels.Retry && tc.at.IsZero() && (v.At.Before(noon.Add(time.Second)) || v.At.After(noon.Add(2*time.Second))) {
			t.Errorf("%s: at %s, want within the second backoff", tc.name, v.At)
		}
		if (v.Tell != nil) != (v.State == channels.Dead || v.State == channels.Expired) || (v.Ask != nil) != (v.State == channels.Unknown) {
			t.Errorf("%s: tell %+v, ask %+v", tc.name, v.Tell, v.Ask)
		}
		if v.State != channels.Sent && v.Reason == "" && tc.until.IsZero() {
			t.Errorf("%s: no reason", tc.name)
		}
	}
}

func TestNoticesAreSentences(t *testing.T) {
	d := channels.Delivery{Outbox: 3, To: "x:1", Body: "Dinner is\nready", NotAfter: noon}
	v := channels.After(d, channels.TryResult{Err: errNever}, channels.Marked, noon, true)
	if want := "A message to x:1 could not be delivered: no such chat: will never be delivered\nIt says: “Dinner is ready”"; v.Tell.Text != want {
		t.Errorf("dead:\n got %q\nwant %q", v.Tell.Text, want)
	}
	v = channels.After(d, channels.TryResult{Err: errPlain}, channels.Marked, noon, true)
	if want := "A message to x:1 was not delivered in time and is given up: connection refused\nIt says: “Dinner is ready”"; v.Tell.Text != want {
		t.Errorf("expired:\n got %q\nwant %q", v.Tell.Text, want)
	}
	d.NotAfter = untilNext
	v = channels.After(d, channels.TryResult{Interrupted: true}, channels.Marked, noon, false)
	if !strings.Contains(v.Ask.Text, "may or may not have arrived: “Dinner is ready”") {
		t.Errorf("ask: %q", v.Ask.Text)
	}
	if e := channels.Excerpt(strings.Repeat("ä", 500)); len([]rune(e)) != 122 || !strings.HasSuffix(e, "…”") {
		t.Errorf("excerpt %q", e)
	}
}

// C5: a try that was running when the outage ended does not wait for the backoff of the outage.
func TestBackoffEndsWithTheOutage(t *testing.T) {
	for _, tc := range []struct {
		err    error
		unsure int
		soon   bool
	}{{errPlain, 0, true}, {errLost, 0, true}, {errLost, 4, false}, {errLater, 0, false}} {
		d := channels.Delivery{Nonce: "n", Attempts: 40, Tried: noon.Add(-time.Hour), Unsure: tc.unsure}
		usual := channels.After(d, channels.TryResult{Err: tc.err}, channels.Marked, noon, true).At
		at := channels.After(d, channels.TryResult{Err: tc.err, Recovered: true}, channels.Marked, noon, true).At
		if soon := at.Equal(noon.Add(time.Second)); soon != tc.soon || !soon && !at.Equal(usual) || !usual.After(noon.Add(time.Second)) {
			t.Errorf("%v, unsure %d: at %s, usually at %s", tc.err, tc.unsure, at, usual)
		}
	}
}

func TestBackoff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1_000_000).Draw(t, "attempts")
		d := channels.Delivery{Nonce: rapid.String().Draw(t, "nonce"), Attempts: n}
		wait := channels.After(d, channels.TryResult{Err: errPlain}, channels.Marked, noon, true).At.Sub(noon)
		full := 5 * time.Minute
		if n < 10 {
			full = min(full, time.Second<<(n-1))
		}
		if wait < full/2 || wait > full {
			t.Errorf("attempt %d waits %s, want %s to %s", n, wait, full/2, full)
		}
	})
}
