package sys_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hob/daemon/sys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// A component that fails or panics is restarted after pauses that double from 250 ms to a minute.
func TestGoRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []error
		g := sys.NewGroup(quiet(), func(name string, err error) {
			if name != "part" {
				t.Errorf("reported as %q", name)
			}
			reports = append(reports, err)
		})
		var starts []time.Duration
		began := time.Now()
		broken := errors.New("broken")
		g.Go(t.Context(), "part", func(context.Context) error {
			starts = append(starts, time.Since(began))
			switch len(starts) {
			case 12:
				return nil
			case 2:
				panic("oh")
			default:
				return broken
			}
		})
		g.Wait()
		want := []time.Duration{0, 250, 750, 1750, 3750, 7750, 15750, 31750, 63750, 123750, 183750, 243750}
		for i := range want {
			want[i] *= time.Millisecond
		}
		if !slices.Equal(starts, want) {
			t.Errorf("started at %v, want %v", starts, want)
		}
		if len(reports) != 11 || !errors.Is(reports[0], broken) || !errors.Is(reports[1], sys.ErrPanic) {
			t.Errorf("reports %v", reports)
		}
	})
}

// A long run resets the backoff.
func TestGoForgivesAfterALongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := sys.NewGroup(quiet(), nil)
		var starts []time.Time
		g.Go(t.Context(), "part", func(context.Context) error {
			starts = append(starts, time.Now())
			switch len(starts) {
			case 5:
				time.Sleep(6 * time.Minute)
			case 6:
				return nil
			}
			return errors.New("broken")
		})
		g.Wait()
		if pause := starts[5].Sub(starts[4].Add(6 * time.Minute)); pause != 250*time.Millisecond {
			t.Errorf("after a long run the pause is %v", pause)
		}
	})
}

func TestGoEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := sys.NewGroup(quiet(), func(_ string, err error) { t.Errorf("reported: %v", err) })
		g.Go(ctx, "blocks", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		synctest.Wait()
		cancel()
		g.Wait()
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := sys.NewGroup(quiet(), nil)
		n := 0
		g.Go(ctx, "fails", func(context.Context) error { n++; return errors.New("broken") })
		time.Sleep(100 * time.Millisecond) // during the first pause
		cancel()
		g.Wait()
		if n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}

func TestOnce(t *testing.T) {
	var reports []error
	g := sys.NewGroup(quiet(), func(_ string, err error) { reports = append(reports, err) })
	g.Once("fine", func() error { return nil })
	g.Wait()
	g.Once("panics", func() error { panic("oh") })
	g.Wait()
	if len(reports) != 1 || !errors.Is(reports[0], sys.ErrPanic) {
		t.Errorf("reports %v", reports)
	}
}

// Both runs its functions at the same time: each waits for a message of the other one. One after the other would be a deadlock, which synctest
// reports at once.
func TestBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, from := make(chan int), make(chan int)
		err := sys.Both(func() error { to <- 1; <-from; return nil }, func() error { <-to; from <- 1; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	first, second := errors.New("first"), errors.New("second")
	err := sys.Both(func() error { return first }, func() error { return second })
	if !errors.Is(err, first) || !errors.Is(err, second) {
		t.Errorf("%v, want both errors", err)
	}
	for i, f := range [...]func() error{func() error { panic("oh") }, func() error { return nil }} {
		if err := sys.Both(f, func() error {
			if i == 1 {
				panic("oh")
			}
			return nil
		}); !errors.Is(err, sys.ErrPanic) {
			t.Errorf("%d: %v, want a panic as an error", i, err)
		}
	}
}
