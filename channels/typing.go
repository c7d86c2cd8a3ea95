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

// How often the typing sign is shown. Platforms remove it by themselves after five to ten seconds.
const (
	signEvery = 5 * time.Second
	signTime  = 4 * time.Second // timeout of one call
	lookEvery = time.Second     // minimum time between two looks at the running turn
)

// TypingSigns shows that an answer is being written, on channels that can. Nothing depends on it: failures are
// only logged, and nothing waits for it.
type TypingSigns struct {
	// Answering returns where the running turn will answer, "" if none runs or nobody waits for its answer.
	Answering func(ctx context.Context) (event.Address, error)
	Channel   func(name string) (Channel, error)
	Wake      <-chan struct{} // a value: a turn may have started
	Clock     sys.Clock
	Log       *slog.Logger
}

// Run shows signs until ctx ends. An error of Answering ends it too; the caller runs it again.
func (t *TypingSigns) Run(ctx context.Context) error {
	var shown event.Address // address of the last sign
	var at time.Duration    // time of the last sign
	for ctx.Err() == nil {
		to, err := t.Answering(ctx)
		if err != nil {
			return sys.UnlessDone(ctx, fmt.Errorf("read who waits for an answer: %w", err))
		}
		if now := t.Clock.Mono(); to != "" && (to != shown || now-at >= signEvery) {
			shown, at = to, now
			t.show(ctx, to)
		}
		t.wait(ctx, to != "")
	}
	return nil
}

// wait ends when the running turn may have changed, or when the next sign is due.
func (t *TypingSigns) wait(ctx context.Context, runs bool) {
	sys.Sleep(ctx, lookEvery)
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

// show shows one sign. A panic in an adapter is logged like an error.
func (t *TypingSigns) show(ctx context.Context, to event.Address) {
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
