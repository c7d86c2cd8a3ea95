package channelstest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
)

// cursorRecorder is an inbox that records the cursors that it returned.
type cursorRecorder struct {
	*MessageInbox
	gave chan string
}

func (a cursorRecorder) Cursor(ctx context.Context, source, identity string) (string, error) {
	value, err := a.MessageInbox.Cursor(ctx, source, identity)
	select {
	case a.gave <- value:
	default:
	}
	return value, err
}

// The position in one account is not used for another one.
func anotherAccount(t *testing.T, s *storm) {
	if s.Account.Other == nil {
		t.Skip("there is one account only, or no cursor")
	}
	b := cursorRecorder{&MessageInbox{}, make(chan string, 100)}
	run := func(ch channels.Channel, ok func() bool) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		launch(func() {
			_ = ch.Run(ctx, b) // only the cursor matters
			close(ended)
		})
		Wait(t, 10*time.Minute, "reading", ok)
		cancel()
		<-ended
	}
	run(s.World.Open(), func() bool { return b.Stored().Value != "" || sayAgain(s, b.MessageInbox) })
	<-b.gave
	for len(b.gave) > 0 {
		<-b.gave
	}
	run(s.World.Open(), func() bool { return len(b.gave) > 0 })
	if got := <-b.gave; got == "" {
		t.Error("the same account was given no cursor")
	}
	for len(b.gave) > 0 {
		<-b.gave
	}
	run(s.Account.Other(), func() bool { return len(b.gave) > 0 })
	if got := <-b.gave; got != "" {
		t.Errorf("another account was given the cursor %q", got)
	}
}

// sayAgain sends a message, so that there is something to read; it returns false.
func sayAgain(s *storm, b *MessageInbox) bool {
	if b.Count() == 0 {
		s.Listening(context.Background())
		s.Say("something")
	}
	return false
}

// Ten thousand waiting messages arrive once each, in order, and in several commits.
func backlog(t *testing.T, s *storm) {
	if s.Forgets {
		t.Skip("nothing waits for who is away")
	}
	const n, most = 10_000, 1_000
	b := &MessageInbox{}
	first := start(t, s.World, b)
	s.Listening(t.Context())
	s.Say("before")
	Wait(t, 10*time.Minute, "receiving", func() bool { return b.Count() > 0 })
	if err := first.stop(); err != nil {
		t.Errorf("Run ended with %v", err)
	}
	synctest.Wait() // the server has noticed that nobody reads
	for i := range n {
		s.Say(fmt.Sprintf("waits %d", i))
	}
	start(t, s.World, b)
	Wait(t, 48*time.Hour, "receiving the last", func() bool { return b.Count() > n })
	var texts []string
	seen := map[string]bool{}
	for _, m := range b.List() {
		if !seen[m.ID] {
			seen[m.ID] = true
			texts = append(texts, m.Text)
		}
	}
	for _, in := range b.Accepted() {
		if !seen[in.ExtID] {
			seen[in.ExtID] = true
			texts = append(texts, in.Text())
		}
	}
	if len(texts) != n+1 {
		t.Fatalf("%d messages came in, want %d", len(texts), n+1)
	}
	for i, text := range texts[1:] {
		if want := fmt.Sprintf("waits %d", i); text != want {
			t.Fatalf("message %d is %q", i, text)
		}
	}
	if b.Largest() > most {
		t.Errorf("%d messages in one commit, want at most %d", b.Largest(), most)
	}
	if gaps := b.Gaps(); len(gaps) > 0 {
		t.Errorf("gaps said: %q", gaps)
	}
}

// reconnects is how often growth breaks the connection: 200 times, or HOB_RECONNECTS.
func reconnects(t *testing.T) int {
	t.Helper()
	env := os.Getenv("HOB_RECONNECTS")
	if env == "" {
		return 200
	}
	n, err := strconv.Atoi(env)
	if err != nil || n < 100 {
		t.Fatalf("HOB_RECONNECTS=%q: want a number of at least 100", env)
	}
	return n
}

// Broken connections leak nothing: no goroutine, no connection, no memory.
func noLeaks(t *testing.T, s *storm) {
	n := reconnects(t)
	b := &MessageInbox{}
	start(t, s.World, b)
	weigh := func() (routines int, heap uint64) {
		s.Listening(t.Context())
		synctest.Wait()
		runtime.GC()
		runtime.GC() // finalizers of the first connections
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	var routines int
	var heap uint64
	for i := range n {
		s.Listening(t.Context())
		if i == n/4 { // everything that is allocated once exists by now
			routines, heap = weigh()
		}
		s.net.Cut()
		synctest.Wait()
	}
	nowRoutines, nowHeap := weigh()
	if nowRoutines > routines+5 {
		t.Errorf("%d goroutines after %d connections, %d after a quarter of them", nowRoutines, n, routines)
	}
	if nowHeap > heap+heap/4+1<<20 {
		t.Errorf("%d bytes in use after %d connections, %d after a quarter of them", nowHeap, n, heap)
	}
	if open := s.net.Open(); open > 5 {
		t.Errorf("%d connections are open", open)
	}
	s.Say("still there?")
	Wait(t, 10*time.Minute, "receiving", func() bool { return b.Count() > 0 })
}
