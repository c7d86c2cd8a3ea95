package channels_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/daemon/sys"
)

// textParts returns the state of a direction, and whether it is proven.
func textParts(d channels.Direction) string { return fmt.Sprintf("%s %v", d.State, d.Proven) }

// A working channel is reported once, even if nothing failed before: until then its state is unknown.
func TestHostTellsTheFirstProof(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		begin := make(chan struct{})
		h.Replace(map[string]channels.Section{"a": {Kind: "ear", Fingerprint: "1", Channel: &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			<-begin
			for range 2 {
				if err := in.Receive(ctx, nil, &channels.Cursor{Source: "a", Value: "1"}); err != nil {
					return err
				}
			}
			return listen(ctx, n, in)
		}}}})
		synctest.Wait()
		if got := h.Health()[0]; got.Receiving.Proven || got.Sending.Proven || len(*changes) != 0 || got.Fingerprint != "1" || got.Unfit {
			t.Errorf("before anything was tried: %+v, told %+v", got, *changes)
		}
		close(begin)
		<-time.After(time.Hour)
		synctest.Wait()
		for range 2 {
			h.Sent("a", nil)
		}
		var told []string
		for _, c := range *changes {
			told = append(told, textParts(c.Receiving)+", "+textParts(c.Sending))
		}
		want(t, "told", told, "ok true, ok false", "ok true, ok true")
	})
}

// The last failure is kept with its time after recovery; a proven direction stays proven when it fails.
func TestHostKeepsTheLastErrorWithItsTime(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, _ *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		h.Replace(map[string]channels.Section{"a": {Channel: &ear{run: listen}}})
		synctest.Wait()
		h.Sent("a", nil)
		<-time.After(time.Minute)
		at := time.Now()
		h.Sent("a", errPlain)
		if got := h.Health()[0].Sending; !got.LastAt.Equal(at) || textParts(got) != "degraded true" {
			t.Errorf("when it failed: %+v, want the time %s", got, at)
		}
		<-time.After(time.Minute)
		h.Sent("a", nil)
		if got := h.Health()[0].Sending; !got.LastAt.Equal(at) || got.LastError != errPlain.Error() || got.State != channels.OK {
			t.Errorf("when it works again: %+v, want the time %s", got, at)
		}
	})
}

// A section with a missing secret is opened when the secret is available, although the section did not
// change. A running channel continues when its secret can no longer be read.
func TestHostFollowsWhatASectionRefersTo(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		replace := func(s channels.Section) {
			s.Fingerprint = "the same"
			h.Replace(map[string]channels.Section{"a": s})
			synctest.Wait()
		}
		replace(channels.Section{Err: errors.New("no token")})
		replace(channels.Section{Err: errors.New("no token")})
		if got := h.Health()[0]; !got.Unfit || got.Receiving.State != channels.Down || got.Receiving.LastAt.IsZero() || len(*changes) != 1 {
			t.Errorf("without a secret: %+v, told %d times", got, len(*changes))
		}
		replace(channels.Section{Err: errors.New("an empty token")})
		if got := h.Health()[0]; got.Receiving.LastError != "an empty token" || len(*changes) != 2 {
			t.Errorf("for another reason: %+v, told %d times", got, len(*changes))
		}
		runs := &ear{run: listen}
		replace(channels.Section{Channel: runs})
		if got := h.Health()[0]; got.Unfit || got.Receiving.State != channels.OK || runs.runs() != 1 {
			t.Errorf("with a secret: %+v, ran %d times", got, runs.runs())
		}
		for _, s := range []channels.Section{{Err: errors.New("no token")}, {Channel: &ear{run: listen}}} {
			replace(s)
			if ch, err := h.Channel("a"); err != nil || ch != runs || runs.runs() != 1 || h.Health()[0].Unfit {
				t.Errorf("it does not go on: %v, ran %d times", err, runs.runs())
			}
		}
	})
}

// errToken is an adapter's error for a refused log-in.
var errToken = fmt.Errorf("listen: %w", channels.Refused(errors.New("not let in: set a new token")))

// A lasting refusal is tried once more after some seconds, then slowly: the owner is told at once, with the
// adapter's text.
func TestHostTellsOfARefusalAtOnce(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		var at []time.Duration
		start := time.Now()
		h.Replace(map[string]channels.Section{"a": {Channel: &ear{run: func(context.Context, int, channels.Inbox) error {
			at = append(at, time.Since(start))
			return errToken
		}}}})
		<-time.After(10 * time.Second)
		synctest.Wait()
		if got := h.Health()[0].Receiving; got.State != channels.Down || got.LastError != "listen: not let in: set a new token" {
			t.Errorf("after ten seconds: %+v", got)
		}
		<-time.After(10 * time.Minute)
		synctest.Wait()
		want(t, "runs at", at, 0, 5*time.Second, 5*time.Minute+5*time.Second, 10*time.Minute+5*time.Second)
		var states []channels.Health
		for _, c := range *changes {
			states = append(states, c.Receiving.State)
		}
		want(t, "told", states, channels.Degraded, channels.Down)
	})
}

// A short failure that looks like a refusal does not count as down; a later one is tried once more too.
func TestHostTakesABlipForWhatItIs(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		e := &ear{run: func(ctx context.Context, n int, _ channels.Inbox) error {
			if n > 1 {
				sys.Sleep(ctx, time.Hour)
			}
			return errToken
		}}
		h.Replace(map[string]channels.Section{"a": {Channel: e}})
		<-time.After(3*time.Hour + 5*time.Minute)
		synctest.Wait()
		for _, c := range *changes {
			if c.Receiving.State == channels.Down {
				t.Errorf("it was down: %q", c.Receiving.LastError)
			}
		}
		if got := h.Health()[0].Receiving; got.State != channels.OK || got.LastError == "" {
			t.Errorf("at the end: %+v", got)
		}
		if e.runs() != 5 {
			t.Errorf("ran %d times, want it tried once more within seconds each time", e.runs())
		}
	})
}

// A platform that accepts the log-in and then refuses each time does not count as working: the owner is told
// once.
func TestHostIsNotFooledByAWelcome(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		h.Replace(map[string]channels.Section{"a": {Channel: &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			if err := in.Receive(ctx, nil, &channels.Cursor{Source: "a", Value: "1"}); err != nil {
				return err
			}
			if n == 5 {
				return listen(ctx, n, in)
			}
			return errToken
		}}}})
		<-time.After(time.Hour)
		synctest.Wait()
		var states []channels.Health
		for _, c := range *changes {
			states = append(states, c.Receiving.State)
		}
		want(t, "told", states, channels.OK, channels.Degraded, channels.Down, channels.OK)
	})
}

// A refusal of one address says nothing about the channel.
func TestHostSendsToOthersAllTheSame(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		h.Replace(map[string]channels.Section{"a": {Channel: &ear{run: listen}}})
		synctest.Wait()
		for range 9 {
			h.Sent("a", &channels.RetryAfter{After: time.Second, Err: fmt.Errorf("%w: greylisted", channels.ErrAddress)})
			h.Sent("a", fmt.Errorf("ana: %w", channels.ErrAddress))
		}
		if got := h.Health()[0].Sending; got.State != channels.OK || got.Proven || got.LastError != "" || len(*changes) != 0 {
			t.Errorf("%+v, told %d times", got, len(*changes))
		}
	})
}

// C5: when a direction recovers, the messages that wait for the channel are tried, once for each failure.
func TestHostTellsWhatIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back []string
		in := &channelstest.Inbox{}
		var wg sync.WaitGroup
		h := channels.NewHost(channels.NewTable(), channels.HostConfig{
			Inbox: in, Admission: in, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
			Go:        func(ctx context.Context, _ string, f func(context.Context) error) { wg.Go(func() { _ = f(ctx) }) },
			Changed:   func(channels.ChannelHealth) {},
			Recovered: func(name string) { back = append(back, name) },
		})
		h.Replace(map[string]channels.Section{"a": {Channel: &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			if n%3 != 0 {
				return errPlain
			}
			for range 3 {
				if err := in.Receive(ctx, nil, &channels.Cursor{Source: "a", Value: "1"}); err != nil {
					return err
				}
			}
			sys.Sleep(ctx, time.Minute)
			return errPlain
		}}}})
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() { _ = h.Run(ctx) })
		<-time.After(100 * time.Second) // it has failed, worked for a minute, failed, and worked
		synctest.Wait()
		want(t, "back by receiving", back, "a", "a")
		for _, err := range []error{nil, nil, errPlain, errPlain, nil, nil} {
			h.Sent("a", err)
		}
		want(t, "back by receiving and sending", back, "a", "a", "a")
		cancel()
		wg.Wait()
	})
}
