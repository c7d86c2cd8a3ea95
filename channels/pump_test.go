package channels_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/daemon/clock"
	"hob/daemon/event"
	"hob/daemon/ident"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// arrival is one part as the other side got it.
type arrival struct {
	to        event.Address
	body      string
	nonce     string
	outbox    int64
	part      int
	unsureWas bool
}

// mouth is a platform whose sends go as scripted: the n-th send of all ends in script[n], those behind it work.
type mouth struct {
	mu     sync.Mutex
	script []string // ok, plain, later, lost (not arrived), kept (arrived, answer lost), dead, panic, crash-before, crash-after
	got    []arrival
	calls  int
	unsure map[string]int // by nonce: outcomes that left it open
	crash  func()
	delay  time.Duration
	stuck  event.Address              // sends to it always fail
	each   map[event.Address][]string // a script of its own for each address
	slow   map[event.Address]time.Duration
	fell   int // crashes
	max    int // bytes in a part
	active map[event.Address]int
	peak   int
}

// plainCh can do nothing special; keyedCh and finderCh can.
type (
	plainCh  struct{ *mouth }
	keyedCh  struct{ plainCh }
	finderCh struct{ plainCh }
	blindCh  struct{ plainCh } // can look, and never sees anything
)

func (blindCh) Find(context.Context, channels.Delivery) (string, bool, error) {
	return "", false, errLost
}

func (plainCh) Run(ctx context.Context, _ channels.Inbox) error { <-ctx.Done(); return nil }
func (m plainCh) MaxPart() int                                  { return max(m.max, 40) }
func (keyedCh) DedupsByNonce() bool                             { return true }

func (f finderCh) Find(_ context.Context, d channels.Delivery) (string, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.got {
		if a.nonce == d.Nonce {
			return "found", true, nil
		}
	}
	return "", false, nil
}

// next is what the script says; m.mu is held.
func (m *mouth) next(to event.Address) string {
	if to == m.stuck {
		return "plain"
	}
	if own := m.each[to]; len(own) > 0 {
		m.each[to] = own[1:]
		return own[0]
	}
	m.calls++
	if m.calls <= len(m.script) {
		return m.script[m.calls-1]
	}
	return "ok"
}

func (m plainCh) Send(_ context.Context, d channels.Delivery) (string, error) {
	m.mu.Lock()
	do := m.next(d.To)
	if m.active == nil {
		m.active, m.unsure = map[event.Address]int{}, map[string]int{}
	}
	if m.active[d.To]++; m.active[d.To] > 1 {
		panic("two sends to one address at once")
	}
	m.peak = max(m.peak, len(m.active))
	if do == "ok" || do == "kept" || do == "crash-after" || do == "panic" {
		m.got = append(m.got, arrival{to: d.To, body: d.Body, nonce: d.Nonce, outbox: d.Outbox, part: d.Part, unsureWas: m.unsure[d.Nonce] > 0})
	}
	if do != "ok" && do != "plain" && do != "later" && do != "dead" {
		m.unsure[d.Nonce]++
	}
	m.mu.Unlock()
	<-time.After(m.delay + m.slow[d.To])
	m.mu.Lock()
	delete(m.active, d.To)
	m.mu.Unlock()
	switch do {
	case "plain":
		return "", errPlain
	case "later":
		return "", errLater
	case "lost", "kept":
		return "", errLost
	case "dead":
		return "", errNever
	case "panic":
		panic("nil map")
	case "crash-before", "crash-after":
		m.crash()
	}
	return "id", nil
}

// rig runs one pump after the other on one outbox.
type rig struct {
	box   *channelstest.Outbox
	mouth *mouth
	owner []event.Address
	away  map[string]error
	sent  []error
	cause chan struct{}
}

func newRig(script ...string) *rig {
	r := &rig{
		box: channelstest.NewOutbox(clock.Real().Wall), mouth: &mouth{script: script}, away: map[string]error{},
		owner: []event.Address{"plain:me", "keyed:me", "finder:me", "blind:me"}, cause: make(chan struct{}, 100),
	}
	return r
}

func (r *rig) channel(name string) (channels.Channel, error) {
	if err := r.away[name]; err != nil {
		return nil, err
	}
	switch name {
	case "plain":
		return plainCh{r.mouth}, nil
	case "keyed":
		return keyedCh{plainCh{r.mouth}}, nil
	case "blind":
		return blindCh{plainCh{r.mouth}}, nil
	case "finder":
		return finderCh{plainCh{r.mouth}}, nil
	}
	return nil, channels.ErrNoChannel
}

// live runs processes, a new one after each crash, until nothing is left to do or limit has passed.
func (r *rig) live(t *testing.T, limit time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for crashed := true; crashed && ctx.Err() == nil; {
		crashed = r.process(ctx, t)
	}
}

// process runs one pump; true: it crashed.
func (r *rig) process(ctx context.Context, t *testing.T) bool {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	crashed := false
	store := r.box.Process()
	r.mouth.crash = func() { r.box.Process(); r.mouth.fell++; crashed = true; kill() }
	var wg sync.WaitGroup
	p := channels.NewPump(channels.Config{
		Store: store, Channel: r.channel, Owner: func() []event.Address { return r.owner }, Zone: func() *time.Location { return time.UTC },
		Report: func(_ string, err error) { r.mouth.mu.Lock(); r.sent = append(r.sent, err); r.mouth.mu.Unlock() },
		Once: func(_ string, f func() error) {
			wg.Go(func() { _ = f() }) // an error leaves the row for the next round
		},
		Wake: r.box.Wake, Clock: clock.Real(), Ident: ident.Random(), Log: slog.New(slog.DiscardHandler),
	})
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	for {
		select {
		case err := <-ended:
			wg.Wait()
			if err != nil && !errors.Is(err, channelstest.ErrOldEpoch) {
				t.Errorf("Run: %v", err)
			}
			return crashed
		case <-time.After(time.Minute):
			synctest.Wait()
			if r.idle() {
				kill()
			}
		}
	}
}

func (r *rig) idle() bool {
	return !slices.ContainsFunc(r.box.Rows(), func(row channelstest.OutRow) bool { return row.State == "ready" })
}

func (r *rig) say(to event.Address, body string) {
	n := len(r.box.Rows())
	r.box.Queue(event.Out{Key: fmt.Sprintf("k%d", n), Cause: event.Cause{Kind: event.ByTurn, ID: int64(n)}, To: to, Body: body})
}

func (r *rig) bodies() []string {
	var all []string
	for _, a := range r.mouth.got {
		all = append(all, a.body)
	}
	return all
}

func (r *rig) states() []string {
	var all []string
	for _, row := range r.box.Rows() {
		all = append(all, row.State)
	}
	return all
}

// story runs a test in a bubble of fake time.
func story(t *testing.T, script []string, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(script...)) })
}

func want[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func TestPumpKeepsOrderAndRetries(t *testing.T) {
	story(t, []string{"plain", "later", "ok", "plain"}, func(t *testing.T, r *rig) {
		r.say("plain:me", "one")
		r.say("plain:me", "two")
		r.live(t, time.Hour)
		want(t, "arrived", r.bodies(), "one", "two")
		want(t, "states", r.states(), "done", "done")
		if rows := r.box.Rows(); rows[0].Parts[0].RemoteID != "id" || rows[0].Parts[0].Attempts != 3 {
			t.Errorf("first part: %+v", rows[0].Parts[0])
		}
		if len(r.sent) != 5 || r.sent[0] == nil || r.sent[4] != nil {
			t.Errorf("reported %v", r.sent)
		}
	})
}

func TestPumpSplits(t *testing.T) {
	story(t, []string{"ok", "plain"}, func(t *testing.T, r *rig) {
		r.say("plain:me", strings.Repeat("word ", 20))
		r.say("plain:me", "next")
		r.live(t, time.Hour)
		want(t, "arrived", r.bodies(), strings.Repeat("word ", 8), strings.Repeat("word ", 8), strings.Repeat("word ", 4), "next")
	})
}

func TestPumpWorksSideBySide(t *testing.T) {
	story(t, nil, func(t *testing.T, r *rig) {
		r.mouth.delay = time.Second
		for i := range 20 {
			r.say(event.Address(fmt.Sprintf("plain:%d", i)), "hello")
			r.say(event.Address(fmt.Sprintf("plain:%d", i)), "again")
		}
		r.live(t, time.Hour)
		if r.mouth.peak != 8 || len(r.mouth.got) != 40 {
			t.Errorf("%d at once, %d arrived", r.mouth.peak, len(r.mouth.got))
		}
	})
}

func TestPumpWaitsForNotBefore(t *testing.T) {
	story(t, nil, func(t *testing.T, r *rig) {
		start := time.Now()
		r.box.Queue(event.Out{Key: "later", To: "plain:me", Body: "quiet hours", NotBefore: start.Add(8 * time.Hour)})
		r.say("plain:me", "urgent")
		r.live(t, 24*time.Hour)
		want(t, "arrived", r.bodies(), "urgent", "quiet hours")
	})
}

func TestPumpTellsOfWhatIsDead(t *testing.T) {
	story(t, []string{"dead"}, func(t *testing.T, r *rig) {
		r.say("plain:me", "one")
		r.say("plain:me", "two")
		r.live(t, time.Hour)
		want(t, "states", r.states(), "dead", "done", "done")
		rows := r.box.Rows()
		if n := rows[2]; n.To != "keyed:me" || n.Cause.Kind != event.ByNotice || !strings.Contains(n.Body, "no such chat") {
			t.Errorf("notice %+v", n.Out)
		}
	})
}

func TestPumpDoesNotChaseItsOwnNotices(t *testing.T) {
	story(t, []string{"dead", "dead", "dead", "dead"}, func(t *testing.T, r *rig) {
		r.say("plain:me", "one")
		r.live(t, time.Hour)
		rows := r.box.Rows()
		want(t, "states", r.states(), "dead", "dead", "done")
		if rows[1].To != "keyed:me" || rows[2].To != event.CLI {
			t.Errorf("notices to %s and %s", rows[1].To, rows[2].To)
		}
	})
}

func TestPumpUnknownChannel(t *testing.T) {
	story(t, nil, func(t *testing.T, r *rig) {
		r.say("pigeon:roof", "coo")
		r.live(t, time.Hour)
		want(t, "states", r.states(), "dead", "done")
		if n := r.box.Rows()[1]; !strings.Contains(n.Body, `there is no channel "pigeon"; add a section [channels.pigeon]`) {
			t.Errorf("notice %q", n.Body)
		}
	})
}

func TestPumpWaitsForAChannelThatIsAway(t *testing.T) {
	story(t, nil, func(t *testing.T, r *rig) {
		r.away["plain"] = errors.New("the section has a mistake")
		r.say("plain:me", "patience")
		r.say("keyed:me", "meanwhile")
		time.AfterFunc(3*time.Minute, func() { r.away["plain"] = nil })
		r.live(t, time.Hour)
		want(t, "arrived", r.bodies(), "meanwhile", "patience")
	})
}

func TestPumpExpires(t *testing.T) {
	story(t, nil, func(t *testing.T, r *rig) {
		r.mouth.stuck = "plain:other"
		start := time.Now()
		r.say("plain:other", "for somebody")
		r.live(t, 2*time.Hour)
		if took := time.Since(start); took < time.Hour || took > 62*time.Minute {
			t.Errorf("given up after %s, want one hour", took)
		}
		rows := r.box.Rows()
		if rows[0].State != "expired" || len(rows) < 2 || !strings.Contains(rows[1].Body, "not delivered in time") {
			t.Errorf("states %v: the owner must be told", r.states())
		}
	})
}

func TestPumpKeepsTheOwnersMessagesForSevenDays(t *testing.T) {
	story(t, nil, func(t *testing.T, r *rig) {
		r.mouth.stuck = "plain:me"
		r.say("plain:me", "for you")
		r.live(t, 6*24*time.Hour)
		want(t, "states after six days", r.states(), "ready")
		r.live(t, 2*24*time.Hour)
		want(t, "states after eight days", r.states(), "expired", "done")
	})
}

func TestPumpMarksWhatIsLate(t *testing.T) {
	for _, tc := range []struct {
		to    event.Address
		stuck time.Duration
		want  string
	}{
		{"plain:me", 13 * time.Minute / 2, "one"},
		{"plain:me", 16 * time.Minute, "one\n(late: from 2000-01-01 00:00)"},
		{"plain:other", 16 * time.Minute, "one"},
	} {
		story(t, nil, func(t *testing.T, r *rig) {
			r.mouth.stuck = tc.to
			r.say(tc.to, "one")
			time.AfterFunc(tc.stuck, func() { r.mouth.mu.Lock(); r.mouth.stuck = ""; r.mouth.mu.Unlock() })
			r.live(t, 50*time.Minute)
			want(t, fmt.Sprint(tc.to, tc.stuck), r.bodies(), tc.want)
		})
	}
}

func TestPumpUnsure(t *testing.T) {
	for _, tc := range []struct {
		to     event.Address
		script []string
		want   []string
		state  string
		asked  int
	}{
		{"plain:me", []string{"kept"}, []string{"x", "x (may be a repeat)"}, "done", 0},
		{"plain:me", []string{"lost"}, []string{"x (may be a repeat)"}, "done", 0},
		{"plain:me", []string{"panic"}, []string{"x", "x (may be a repeat)"}, "done", 0},
		{"plain:me", []string{"lost", "lost"}, nil, "held", 1},
		{"plain:me", []string{"lost", "plain"}, []string{"x (may be a repeat)"}, "done", 0},
		{"plain:me", []string{"crash-after"}, []string{"x", "x (may be a repeat)"}, "done", 0},
		{"plain:me", []string{"crash-after", "crash-before"}, []string{"x", "x (may be a repeat)"}, "done", 0},
		{"plain:other", []string{"lost"}, nil, "held", 1},
		{"plain:other", []string{"crash-after"}, []string{"x"}, "held", 1},
		{"keyed:other", []string{"kept"}, []string{"x", "x"}, "done", 0},
		{"keyed:other", []string{"crash-after"}, []string{"x", "x"}, "done", 0},
		{"finder:other", []string{"kept"}, []string{"x"}, "done", 0},
		{"finder:other", []string{"lost"}, []string{"x"}, "done", 0},
		{"blind:me", []string{"kept"}, []string{"x", "x (may be a repeat)"}, "done", 0},
		{"blind:me", []string{"crash-before"}, []string{"x (may be a repeat)"}, "done", 0},
		{"blind:other", []string{"kept"}, []string{"x"}, "held", 1},
		{"finder:me", []string{"crash-after"}, []string{"x"}, "done", 0},
		{"finder:me", []string{"crash-before", "plain", "crash-before"}, []string{"x"}, "done", 0},
	} {
		story(t, tc.script, func(t *testing.T, r *rig) {
			r.say(tc.to, "x")
			r.live(t, 24*time.Hour)
			name := fmt.Sprintf("%s %v", tc.to, tc.script)
			want(t, name, r.bodies(), tc.want...)
			if row := r.box.Rows()[0]; row.State != tc.state || len(r.box.Asked()) != tc.asked {
				t.Errorf("%s: %s, asked %v; want %s, %d", name, row.State, r.box.Asked(), tc.state, tc.asked)
			}
		})
	}
}

func TestPumpHeldRowHoldsNobodyUp(t *testing.T) {
	story(t, []string{"lost"}, func(t *testing.T, r *rig) {
		r.say("plain:other", "one")
		r.say("plain:other", "two")
		r.live(t, time.Hour)
		want(t, "arrived", r.bodies(), "two")
		r.box.Answer(1, true)
		r.live(t, time.Hour)
		want(t, "arrived after the answer", r.bodies(), "two", "one")
		want(t, "states", r.states(), "done", "done")
	})
}

// killed leaves n messages to n addresses of the owner as a process leaves them that is killed while it sends all of them.
func killed(t *testing.T, r *rig, channel string, n int) {
	r.owner = nil
	for i := range n {
		a := event.Address(fmt.Sprintf("%s:%d", channel, i))
		r.owner = append(r.owner, a)
		r.say(a, fmt.Sprintf("text %d", i))
	}
	dead := r.box.Process()
	for i := range n {
		id := int64(i + 1)
		d := channels.Delivery{Outbox: id, Body: fmt.Sprintf("text %d", i), Nonce: fmt.Sprint(i), Attempts: 1}
		if err := errors.Join(dead.Split(t.Context(), id, []channels.Delivery{d}), dead.Sending(t.Context(), d)); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *rig) marked() int {
	n := 0
	for _, b := range r.bodies() {
		if strings.HasSuffix(b, "(may be a repeat)") {
			n++
		}
	}
	return n
}

func TestPumpJoinsWhatIsUnsureAfterARestart(t *testing.T) {
	story(t, nil, func(t *testing.T, r *rig) {
		killed(t, r, "plain", 7)
		r.live(t, time.Hour)
		want(t, "states", r.states(), "done", "done", "done", "done", "done", "joined", "joined", "done")
		digest := r.box.Rows()[7]
		if digest.To != "plain:0" || !strings.Contains(digest.Body, "- to plain:5: “text 5”\n- to plain:6: “text 6”") {
			t.Errorf("digest %+v", digest.Out)
		}
		if r.marked() != 5 || len(r.bodies()) != 5+len(digest.Parts) {
			t.Errorf("%d marked, %d arrived", r.marked(), len(r.bodies()))
		}
	})
}

func TestPumpJoinsWhatCannotBeToldEither(t *testing.T) {
	story(t, nil, func(t *testing.T, r *rig) {
		killed(t, r, "blind", 7)
		r.live(t, time.Hour)
		joined := 0
		for _, s := range r.states() {
			if s == "joined" {
				joined++
			}
		}
		if r.marked() != 5 || joined != 2 {
			t.Errorf("%d marked, states %v", r.marked(), r.states())
		}
	})
}

func TestPumpLeavesRoomForMarks(t *testing.T) {
	story(t, []string{"kept", "ok", "kept"}, func(t *testing.T, r *rig) {
		r.mouth.max = 300
		r.mouth.stuck = "plain:me"
		time.AfterFunc(time.Hour, func() { r.mouth.mu.Lock(); r.mouth.stuck = ""; r.mouth.mu.Unlock() })
		r.say("plain:me", strings.Repeat("word", 200))
		r.live(t, 24*time.Hour)
		if r.marked() != 2 || !strings.Contains(r.bodies()[0], "(late: from 2000-01-01 00:00)") {
			t.Errorf("arrived %q", r.bodies())
		}
		for _, b := range r.bodies() {
			if len(b) > 300 {
				t.Errorf("a part of %d bytes, limit 300: %q", len(b), b)
			}
		}
	})
}

func TestPumpOutlivesAStoreThatFails(t *testing.T) {
	story(t, nil, func(t *testing.T, r *rig) {
		for n := 1; n < 6; n++ {
			r.say("plain:me", fmt.Sprint(n))
			r.box.FailNext(n)
			r.live(t, time.Hour)
		}
		start := time.Now()
		r.say("plain:me", "6")
		r.box.FailNext(30)
		r.live(t, time.Hour)
		if took := r.box.Rows()[5].Parts[0].Tried.Sub(start); took < 29*time.Second {
			t.Errorf("30 failures in %s: the store is hammered", took)
		}
		want(t, "arrived", r.bodies(), "1", "2", "3", "4", "5", "6")
		want(t, "states", r.states(), "done", "done", "done", "done", "done", "done")
	})
}

func TestPumpDropsWhatIsDropped(t *testing.T) {
	story(t, []string{"plain"}, func(t *testing.T, r *rig) {
		r.say("plain:me", "never mind")
		time.AfterFunc(100*time.Millisecond, func() { r.box.Answer(1, false) })
		r.live(t, time.Hour)
		want(t, "states", r.states(), "dead")
		want(t, "arrived", r.bodies())
	})
}

func TestPumpSaysNothingWithoutText(t *testing.T) {
	story(t, nil, func(t *testing.T, r *rig) {
		r.say("plain:me", " \n")
		r.say("plain:me", "x")
		r.live(t, time.Hour)
		want(t, "states", r.states(), "dead", "done")
	})
}

func TestPumpLetsASendFinishAtShutdown(t *testing.T) {
	story(t, nil, func(t *testing.T, r *rig) {
		r.mouth.delay = 5 * time.Second
		r.say("plain:me", strings.Repeat("word ", 10))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r.process(ctx, t)
		if p := r.box.Rows()[0].Parts; p[0].State != "sent" || p[1].State != "ready" {
			t.Errorf("parts %+v", p)
		}
	})
}
