// Package channelstest contains what tests of channels share: the suite that every adapter must pass, fakes
// of the platforms that speak the real protocols, and an inbox and an outbox in memory. It is never part of
// the binary.
package channelstest

import (
	"context"
	"flag"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// inbox returns a new inbox for the world's channel.
func (w World) inbox() *Inbox { return &Inbox{Name: w.Name, Rules: w.Rules} }

// Run tests an adapter against a world that open makes for each test. Storm tests network faults.
func Run(t *testing.T, open func(t *testing.T) World) { run(t, true, open) }

// RunInTurn is Run for worlds that share a server: one test at a time.
func RunInTurn(t *testing.T, open func(t *testing.T) World) { run(t, false, open) }

func run(t *testing.T, parallel bool, open func(t *testing.T) World) {
	receiving := map[string]func(*testing.T, World){
		"receives":               receives,
		"accepts before cursor":  acceptsBeforeCursor,
		"ends before the commit": endsBeforeCommit,
		"ends after the commit":  endsAfterCommit,
		"same id twice":          sameIDTwice,
		"while it was down":      whileDown,
		"wrong order":            wrongOrder,
		"what is lost":           lostMessages,
		"noise":                  noise,
		"own output":             ownOutput,
		"edits":                  edits,
		"deletions":              deletions,
		"files come in":          filesComeIn,
		"groups":                 groups,
		"threads":                threads,
		"buttons":                buttons,
		"sockets":                sockets,
	}
	others := map[string]func(*testing.T, World){
		"sends":                  sends,
		"classes of failure":     classes,
		"a full part":            fullPart,
		"keys and looks":         keysAndLooks,
		"growing texts":          growingTexts,
		"files go out":           filesGoOut,
		"signs of typing":        typingSign,
		"account":                account,
		"ends when told to":      endsOnContext,
		"foreign address":        foreignAddress,
		"nobody there":           absentRecipient,
		"survives a dead socket": survivesCancelledSend,
	}
	all := maps.Clone(others)
	maps.Copy(all, receiving)
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			if parallel && name != "sockets" { // which counts those of the whole process
				t.Parallel() // most of it is waiting
			}
			w := open(t)
			if w.SendOnly {
				if receiving[name] != nil {
					t.Skip("nobody can write to hob there")
				}
				w.Listening = func(context.Context) {}
			}
			test(t, w)
		})
	}
}

// Main runs the tests of an adapter and looks for leaked goroutines. Parallel tests wait most of the time, so more
// of them run at once than there are processors; -parallel on the command line takes precedence.
func Main(m *testing.M, leaks ...goleak.Option) {
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, leaks...)
}

// patience is how long a test waits for something that must happen.
const patience = 30 * time.Second

// launch runs f in a goroutine.
func launch(f func()) {
	sys.NewGroup(slog.New(slog.DiscardHandler), nil).Once("test", func() error { f(); return nil })
}

// running is an adapter that runs.
type running struct {
	ch    channels.Channel
	ended chan error
	stop  func() error
}

// start runs an adapter until the test or stop ends it, and restarts it when it fails, like the host.
func start(t *testing.T, w World, in channels.Inbox) *running {
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{ch: w.Open(), ended: make(chan error, 1)}
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-r.ended
	})
	launch(func() {
		for {
			err := r.ch.Run(ctx, in)
			if ctx.Err() != nil {
				r.ended <- err
				return
			}
			if err == nil {
				t.Error("Run ended without an error while its context lived")
			}
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { _ = r.stop() }) // tests that need the result have called stop
	return r
}

func wait(t *testing.T, in *Inbox, what string, ok func([]event.In) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !in.Wait(ctx, ok) {
		t.Fatalf("%s did not happen; the inbox has %+v", what, in.Rows())
	}
}

func (w World) has(ids ...string) func([]event.In) bool {
	of := w.ID
	if of == nil {
		of = func(r event.In) string { return r.ExtID }
	}
	return func(rows []event.In) bool {
		for _, id := range ids {
			if !slices.ContainsFunc(rows, func(r event.In) bool { return of(r) == id }) {
				return false
			}
		}
		return true
	}
}

func endsOnContext(t *testing.T, w World) {
	r := start(t, w, w.inbox())
	w.Listening(t.Context())
	if err := r.stop(); err != nil {
		t.Errorf("Run ended with %v, want nil when its context ends", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Open().Run(ctx, w.inbox()); err != nil {
		t.Errorf("Run with an ended context: %v", err)
	}
}
