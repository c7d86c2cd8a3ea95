package channels_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
)

// said is how a side does, and whether that is proven.
func said(d channels.Direction) string { return fmt.Sprintf("%s %v", d.State, d.Proven) }

// That a channel works is told once, also when nothing had failed before: until then nobody knows.
func TestHostTellsTheFirstProof(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		begin := make(chan struct{})
		h.Replace(map[string]channels.Section{"a": {Kind: "ear", Print: "1", Channel: &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			<-begin
			for range 2 {
				if err := in.Receive(ctx, nil, &channels.Cursor{Source: "a", Value: "1"}); err != nil {
					return err
				}
			}
			return listen(ctx, n, in)
		}}}})
		synctest.Wait()
		if got := h.Health()[0]; got.Receiving.Proven || got.Sending.Proven || len(*changes) != 0 || got.Print != "1" || got.Unfit {
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
			told = append(told, said(c.Receiving)+", "+said(c.Sending))
		}
		want(t, "told", told, "ok true, ok false", "ok true, ok true")
	})
}

// What failed last is kept with its time when it is over; what was proven stays so when it fails.
func TestHostKeepsTheLastErrorWithItsTime(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, _ *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		h.Replace(map[string]channels.Section{"a": {Channel: &ear{run: listen}}})
		synctest.Wait()
		h.Sent("a", nil)
		<-time.After(time.Minute)
		at := time.Now()
		h.Sent("a", errPlain)
		if got := h.Health()[0].Sending; !got.LastAt.Equal(at) || said(got) != "degraded true" {
			t.Errorf("when it failed: %+v, want the time %s", got, at)
		}
		<-time.After(time.Minute)
		h.Sent("a", nil)
		if got := h.Health()[0].Sending; !got.LastAt.Equal(at) || got.LastError != errPlain.Error() || got.State != channels.OK {
			t.Errorf("when it works again: %+v, want the time %s", got, at)
		}
	})
}

// A section that cannot be used for want of a secret is opened as soon as that is there, though not a letter of it has changed; and a channel
// that runs goes on when its secret cannot be read any more.
func TestHostFollowsWhatASectionRefersTo(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		replace := func(s channels.Section) {
			s.Print = "the same"
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
