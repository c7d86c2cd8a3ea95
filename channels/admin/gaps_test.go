package admin_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"hob/channels"
	"hob/channels/admin"
	"hob/daemon/event"
	"hob/daemon/sys"
)

var ten = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// lost returns a gap that begins some minutes after ten.
func lost(from int, lasts time.Duration, why string) channels.Gap {
	at := ten.Add(time.Duration(from) * time.Minute)
	return channels.Gap{From: at, To: at.Add(lasts), Why: why}
}

// kept returns the gaps after they were stored and read again.
func kept(t testing.TB, all admin.Gaps) admin.Gaps {
	t.Helper()
	again, err := admin.ReadGaps(all.String())
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// TestGathered checks the hourly notice after a first one at ten.
func TestGathered(t *testing.T) {
	const away, full = "hob was not connected", "in #a not all could be read"
	first := lost(-5, time.Minute, away)
	many := make([]channels.Gap, 30)
	for i := range many {
		many[i] = lost(i, time.Minute, fmt.Sprintf("reason %02d", i))
	}
	for name, tc := range map[string]struct {
		gaps []channels.Gap
		want string // "": nothing
	}{
		"nothing":               {nil, ""},
		"one":                   {[]channels.Gap{lost(1, 2*time.Minute, away)}, "Messages on x may be missing, from 2026-11-21 10:01 to 2026-11-21 10:03 UTC: hob was not connected."},
		"several":               {[]channels.Gap{lost(1, 30*time.Second, away), lost(10, 90*time.Second, away), lost(50, time.Minute, away)}, "Messages on x may be missing, 3 times between 2026-11-21 10:01 and 2026-11-21 10:51 UTC, 3m0s in all: hob was not connected."},
		"for two reasons":       {[]channels.Gap{lost(1, time.Minute, away), lost(2, 0, full), lost(3, time.Minute, away)}, "Messages on x may be missing:\n- 2 times between 2026-11-21 10:01 and 2026-11-21 10:04 UTC, 2m0s in all: hob was not connected.\n- from 2026-11-21 10:02 UTC on: in #a not all could be read."},
		"without an end":        {[]channels.Gap{lost(1, 0, full), lost(7, 0, full)}, "Messages on x may be missing, 2 times between 2026-11-21 10:01 and 2026-11-21 10:07 UTC: in #a not all could be read."},
		"what is known":         {[]channels.Gap{first}, ""},
		"what is known, longer": {[]channels.Gap{lost(-5, 7*time.Minute, away)}, "Messages on x may be missing, from 2026-11-21 09:55 to 2026-11-21 10:02 UTC: hob was not connected."},
		"the same twice":        {[]channels.Gap{lost(1, time.Minute, away), lost(1, time.Minute, away)}, "Messages on x may be missing, from 2026-11-21 10:01 to 2026-11-21 10:02 UTC: hob was not connected."},
		"the same, longer":      {[]channels.Gap{lost(1, time.Minute, away), lost(1, 3*time.Minute, away), lost(8, time.Minute, away)}, "Messages on x may be missing, 2 times between 2026-11-21 10:01 and 2026-11-21 10:09 UTC, 4m0s in all: hob was not connected."},
		"overlapping":           {[]channels.Gap{lost(1, 5*time.Minute, away), lost(3, 5*time.Minute, away)}, "Messages on x may be missing, 2 times between 2026-11-21 10:01 and 2026-11-21 10:08 UTC, 7m0s in all: hob was not connected."},
	} {
		t.Run(name, func(t *testing.T) {
			all := admin.Gaps{}
			all.Add("x", first)
			if channel, text := all.Report(ten); channel != "x" || !strings.Contains(text, "from 2026-11-21 09:55 to 2026-11-21 09:56 UTC: hob was") {
				t.Fatalf("the first one: %q, %q", channel, text)
			}
			for _, gap := range tc.gaps {
				all = kept(t, all)
				all.Add("x", gap)
				if channel, text := all.Report(ten.Add(time.Hour - time.Second)); text != "" {
					t.Errorf("told within the hour: %q, %q", channel, text)
				}
			}
			next, is := all.Next(ten.Add(59 * time.Minute))
			if is != (tc.want != "") || is && !next.Equal(ten.Add(time.Hour)) {
				t.Errorf("next %v, %v", next, is)
			}
			if _, text := all.Report(ten.Add(time.Hour)); text != tc.want {
				t.Errorf("told %q, want %q", text, tc.want)
			}
			if _, text := all.Report(ten.Add(3 * time.Hour)); text != "" {
				t.Errorf("told again: %q", text)
			}
		})
	}
	all := admin.Gaps{}
	for _, gap := range many {
		all.Add("x", gap)
	}
	if _, text := all.Report(ten); strings.Count(text, "\n") != 21 || !strings.Contains(text, "10 times between 2026-11-21 10:20 and 2026-11-21 10:30 UTC, 10m0s in all: for other reasons") {
		t.Errorf("thirty reasons: %q", text)
	}
}

// TestClockSetBack: a notice with a time in the future delays nothing.
func TestClockSetBack(t *testing.T) {
	all := admin.Gaps{}
	all.Add("x", lost(0, time.Minute, "a"))
	all.Report(ten.Add(24 * time.Hour))
	all.Add("x", lost(5, time.Minute, "a"))
	if _, text := all.Report(ten.Add(10 * time.Minute)); text == "" {
		t.Error("nothing was told")
	}
}

// TestForgotten: gaps that were reported long ago are removed.
func TestForgotten(t *testing.T) {
	all := admin.Gaps{}
	all.Add("x", lost(0, time.Minute, "a"))
	all.Report(ten)
	if all.Report(ten.Add(20 * 24 * time.Hour)); all.String() == "" {
		t.Error("forgotten after twenty days")
	}
	if all.Report(ten.Add(40 * 24 * time.Hour)); all.String() != "" {
		t.Errorf("kept: %s", all)
	}
}

// TestEveryGapIsReported: each gap is reported once, and each channel at most once an hour.
func TestEveryGapIsReported(t *testing.T) {
	times := regexp.MustCompile(`(\d+) times`)
	rapid.Check(t, func(t *rapid.T) {
		all, now := admin.Gaps{}, ten
		added, said := map[string]int{}, map[string]int{}
		last := map[string]time.Time{}
		tell := func() {
			for {
				channel, text := all.Report(now)
				if text == "" {
					return
				}
				if at, before := last[channel]; before && now.Sub(at) < time.Hour {
					t.Fatalf("%s told after %s", channel, now.Sub(at))
				}
				last[channel] = now
				for line := range strings.SplitSeq(strings.TrimPrefix(text, "Messages on "+channel+" may be missing:\n"), "\n") {
					n := 1
					if m := times.FindStringSubmatch(line); m != nil {
						n, _ = strconv.Atoi(m[1])
					}
					said[channel] += n
				}
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "gaps") {
			now = now.Add(time.Duration(rapid.IntRange(2, 3000).Draw(t, "pause")) * time.Second)
			tell() // as Run does in time
			channel := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "channel")
			from := now.Add(-time.Duration(rapid.IntRange(0, 1).Draw(t, "lasts")) * time.Second)
			all.Add(channel, channels.Gap{From: from, To: now, Why: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "why")})
			added[channel]++
			tell()
			var err error
			if all, err = admin.ReadGaps(all.String()); err != nil {
				t.Fatal(err)
			}
		}
		for next, more := all.Next(now); more; next, more = all.Next(now) {
			now = next
			tell()
		}
		if fmt.Sprint(added) != fmt.Sprint(said) {
			t.Fatalf("%v happened, %v were told", added, said)
		}
	})
}

// noticeBoard stores gaps and records the notices with their times.
type noticeBoard struct {
	mu    sync.Mutex
	known string
	told  []string
	fails int
}

func (b *noticeBoard) newNotices(began time.Time) *admin.GapNotices {
	return admin.NewGapNotices(admin.GapNoticesConfig{
		Settle: func(_ context.Context, f func(string) (string, event.Address, string)) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			now, to, text := f(b.known)
			if b.fails > 0 {
				b.fails--
				return errors.New("the disk is full")
			}
			if b.known = now; text != "" {
				b.told = append(b.told, fmt.Sprintf("%s %s %s", time.Since(began), to, strings.TrimSpace(strings.SplitN(text, ",", 3)[1])))
			}
			return nil
		},
		Elsewhere: func(channel string) event.Address { return event.Address("not-" + channel + ":1") },
		Clock:     sys.RealClock(), Log: slog.New(slog.DiscardHandler),
	})
}

// failing makes the next n commits fail.
func (b *noticeBoard) failing(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails = n
}

func (b *noticeBoard) list() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.told, "\n")
}

// TestGapNotices reports the first gap at once and later ones after an hour, separately for each channel,
// also across a restart and with a failing store.
func TestGapNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := &noticeBoard{known: "{not JSON"}
		run := func() (*admin.GapNotices, func()) {
			notices := b.newNotices(began)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- notices.Run(ctx) }()
			return notices, func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		notices, stop := run()
		miss := func(channel string) {
			t.Helper()
			if err := notices.Missed(t.Context(), channel, channels.Gap{From: time.Now().Add(-time.Second), To: time.Now(), Why: "it is flaky"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		expect := func(want ...string) {
			t.Helper()
			if synctest.Wait(); b.list() != strings.Join(want, "\n") {
				t.Fatalf("told:\n%s\nwant:\n%s", b.list(), strings.Join(want, "\n"))
			}
		}
		miss("x")
		const told = "0s not-x:1 from 1999-12-31 23:59 to 2000-01-01 00:00 UTC: it is flaky."
		expect(told)
		<-time.After(10 * time.Minute)
		miss("x")
		<-time.After(10 * time.Minute)
		miss("x")
		b.failing(1)
		if err := notices.Missed(t.Context(), "x", channels.Gap{}); err == nil {
			t.Error("what was not kept is no error")
		}
		expect(told)
		stop()
		<-time.After(time.Minute)
		notices, stop = run()
		defer stop()
		<-time.After(30 * time.Minute)
		b.failing(2)
		expect(told)
		<-time.After(10 * time.Minute)
		const late = "1h0m0s not-x:1 2 times between 2000-01-01 00:09 and 2000-01-01 00:20 UTC"
		expect(told, late)
		<-time.After(5 * time.Hour)
		miss("x")
		expect(told, late, "6h1m0s not-x:1 from 2000-01-01 06:00 to 2000-01-01 06:01 UTC: it is flaky.")
	})
}
