package channels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hob/daemon/event"
	"hob/daemon/sys"
)

// How often people are shown that hob is at work. Platforms take the sign away by themselves, after five to ten seconds.
const (
	signEvery = 5 * time.Second
	signTime  = 4 * time.Second // the longest that showing it may take
	lookEvery = time.Second     // a look at what runs comes at most so often
)

// Typist shows people that an answer is on its way, where their channel can. Nothing depends on it: what fails is only logged, and nobody waits.
type Typist struct {
	// Answering is where the turn that runs will answer, "" when none runs or nobody waits for it.
	Answering func(ctx context.Context) (event.Address, error)
	Channel   func(name string) (Channel, error)
	Wake      <-chan struct{} // a value: a turn may have started
	Clock     sys.Clock
	Log       *slog.Logger
}

// Run shows signs until ctx ends. An error of Answering ends it too; run it again.
func (t *Typist) Run(ctx context.Context) error {
	var shown event.Address // there was a sign at this address,
	var at time.Duration    // at this time
	for ctx.Err() == nil {
		to, err := t.Answering(ctx)
		if err != nil {
			return orEnd(ctx, fmt.Errorf("read who waits for an answer: %w", err))
		}
		if now := t.Clock.Mono(); to != "" && (to != shown || now-at >= signEvery) {
			shown, at = to, now
			t.show(ctx, to)
		}
		t.wait(ctx, to != "")
	}
	return nil
}

// wait is over when something may have changed, or when the next sign is due.
func (t *Typist) wait(ctx context.Context, runs bool) {
	Pause(ctx, lookEvery)
	var next <-chan time.Time
	if runs {
		timer := time.NewTimer(signEvery - lookEvery)
		defer timer.Stop()
		next = timer.C
	}
	select {
	case <-ctx.Done():
	case <-t.Wake:
	case <-next:
	}
}

// show shows one sign. A panic in an adapter is an error like any other.
func (t *Typist) show(ctx context.Context, to event.Address) {
	ch, err := t.Channel(to.Channel())
	typer, can := ch.(Typer)
	if err != nil || !can {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, signTime)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			t.Log.Error("the channel panicked", "to", to, "panic", r)
		}
	}()
	if err := typer.Typing(ctx, to); err != nil && !errors.Is(err, context.Canceled) {
		t.Log.Debug("no sign of typing", "to", to, "err", err)
	}
}
