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
	"hob/channels/markup"
	"hob/daemon/event"
	"hob/daemon/sys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// arrival is one arrived part.
type arrival struct {
	to        event.Address
	body      string
	nonce     string
	outbox    int64
	part      int
	unsureWas bool
	overtaken bool
}

// mouth is a platform with scripted sends: the n-th send ends with script[n]; later ones succeed.
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
	looks  []time.Time // of shutCh
	fell   int         // crashes
	mute   time.Time   // until then probedCh is not answered
	probes int
	form   markup.Form
	active map[event.Address]int
	peak   int
}

// plainCh has no special abilities; keyedCh and finderCh have one each.
type (
	plainCh  struct{ *mouth }
	keyedCh  struct{ plainCh }
	finderCh struct{ plainCh }
	blindCh  struct{ plainCh } // can look, and never sees anything
	shutCh   struct{ plainCh } // could look, and is never answered
	probedCh struct{ plainCh } // can ask whether anybody answers

	replierCh struct{ plainCh } // can refer to the message that it answers
)

func (replierCh) Replies() bool { return true }

func (p probedCh) Probe(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probes++
	if time.Now().Before(p.mute) {
		return errLost
	}
	return nil
}

func (s shutCh) Find(context.Context, channels.Delivery) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks = append(s.looks, time.Now())
	return "", false, errPlain
}

func (blindCh) Find(context.Context, channels.Delivery) (string, bool, error) {
	return "", false, errLost
}

func (plainCh) Run(ctx context.Context, _ channels.Inbox) error { <-ctx.Done(); return nil }
func (keyedCh) DedupsByNonce() bool                             { return true }

func (m plainCh) Form() markup.Form { return m.form }

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

// next returns the scripted result. The caller holds m.mu.
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
		m.got = append(m.got, arrival{to: d.To, body: m.form.Render(d.Body).Text, nonce: d.Nonce, outbox: d.Outbox, part: d.Part, unsureWas: m.unsure[d.Nonce] > 0, overtaken: d.Overtaken})
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

// pumpHarness runs pumps, one after the other, on one outbox.
type pumpHarness struct {
	outbox      *channelstest.Outbox
	mouth       *mouth
	owner       []event.Address
	away        map[string]error
	unreachable map[string]bool // channels whose servers cannot be reached
	sent        []error
	right       map[event.Address]channels.Right // of others than the owner
	blank       map[event.Address]bool           // it cannot be told what they are
	slow        time.Duration                    // between reading the outbox and handing the rows on
	overtaken   string                           // what all rows answer that are read, if they were overtaken
	stale       int                              // how often the store was asked for what could not be
}

// slowStore returns rows that may have changed since they were read.
type slowStore struct {
	channels.Store
	delay time.Duration
	mu    sync.Mutex
	stale *int
}

func (s *slowStore) Ready(ctx context.Context, now time.Time, limit int) ([]channels.Row, error) {
	rows, err := s.Store.Ready(ctx, now, limit)
	<-time.After(s.delay)
	return rows, err
}

// overtakenStore returns rows that were overtaken.
type overtakenStore struct {
	channels.Store
	text string
}

func (s overtakenStore) Ready(ctx context.Context, now time.Time, limit int) ([]channels.Row, error) {
	rows, err := s.Store.Ready(ctx, now, limit)
	for i := range rows {
		rows[i].Overtaken = s.text
	}
	return rows, err
}

func (s *slowStore) note(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		*s.stale++
	}
	return err
}

func (s *slowStore) Split(ctx context.Context, id int64, parts []channels.Delivery, joined []int64) error {
	return s.note(s.Store.Split(ctx, id, parts, joined))
}

func (s *slowStore) Sending(ctx context.Context, d channels.Delivery) error {
	return s.note(s.Store.Sending(ctx, d))
}

// leastLimit is the smallest limit of a channel.
const leastLimit = 320

func limited(f markup.Form, limit int) markup.Form {
	f.Limit = limit
	return f
}

func newPumpHarness(script ...string) *pumpHarness {
	r := &pumpHarness{
		outbox: channelstest.NewOutbox(sys.RealClock().Wall), mouth: &mouth{script: script, form: limited(markup.Plain(), leastLimit)}, away: map[string]error{}, unreachable: map[string]bool{},
		owner: []event.Address{"plain:me", "keyed:me", "finder:me", "blind:me", "shut:me", "probed:me", "replier:me"},
	}
	return r
}

// rightOf returns the current right of an address.
func (r *pumpHarness) rightOf(to event.Address) (channels.Right, error) {
	r.mouth.mu.Lock()
	defer r.mouth.mu.Unlock()
	if r.blank[to] {
		return "", errPlain
	}
	if slices.Contains(r.owner, to) {
		return channels.OwnerRight, nil
	}
	return r.right[to], nil
}

func (r *pumpHarness) channel(name string) (channels.Channel, error) {
	r.mouth.mu.Lock()
	err := r.away[name]
	r.mouth.mu.Unlock()
	if err != nil {
		return nil, err
	}
	switch name {
	case "plain":
		return plainCh{r.mouth}, nil
	case "replier":
		return replierCh{plainCh{r.mouth}}, nil
	case "carrier":
		return carrierCh{plainCh{r.mouth}}, nil
	case "keyed":
		return keyedCh{plainCh{r.mouth}}, nil
	case "blind":
		return blindCh{plainCh{r.mouth}}, nil
	case "shut":
		return shutCh{plainCh{r.mouth}}, nil
	case "probed":
		return probedCh{plainCh{r.mouth}}, nil
	case "finder":
		return finderCh{plainCh{r.mouth}}, nil
	}
	return nil, channels.ErrNoChannel
}

// live runs processes, a new one after each crash, until nothing is left to do or limit has passed.
func (r *pumpHarness) live(t *testing.T, limit time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for crashed := true; crashed && ctx.Err() == nil; {
		crashed = r.process(ctx, t)
	}
}

// process runs one pump; true: it crashed.
func (r *pumpHarness) process(ctx context.Context, t *testing.T) bool {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	crashed := false
	store := r.outbox.Process()
	if r.slow > 0 {
		store = &slowStore{Store: store, delay: r.slow, stale: &r.stale}
	}
	store = overtakenStore{store, r.overtaken}
	r.mouth.crash = func() {
		r.mouth.mu.Lock()
		defer r.mouth.mu.Unlock()
		r.outbox.Process()
		r.mouth.fell++
		crashed = true
		kill()
	}
	var wg sync.WaitGroup
	p := channels.NewPump(channels.Config{
		Hide:  func(text string) string { return text },
		Store: store, Channel: r.channel, Owner: func() []event.Address { return r.owner }, Elsewhere: channelstest.OwnerAddress(func() []event.Address { return r.owner }), Zone: func() *time.Location { return time.UTC },
		Right:    r.rightOf,
		Report:   func(_ string, err error) { r.mouth.mu.Lock(); r.sent = append(r.sent, err); r.mouth.mu.Unlock() },
		Receives: func(string) time.Time { return time.Time{} },
		Away:     func(name string) bool { r.mouth.mu.Lock(); defer r.mouth.mu.Unlock(); return r.unreachable[name] },
		Once: func(_ string, f func() error) {
			wg.Go(func() { _ = f() }) // an error leaves the row for the next round
		},
		Wake: r.outbox.Wake, Open: openArtifact, Clock: sys.RealClock(), Ident: sys.RandomIDs(), Log: slog.New(slog.DiscardHandler),
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

func (r *pumpHarness) idle() bool {
	return !slices.ContainsFunc(r.outbox.Rows(), func(row channelstest.OutRow) bool { return row.State == "ready" })
}

func (r *pumpHarness) say(to event.Address, body string) {
	n := len(r.outbox.Rows())
	r.outbox.Queue(event.Out{Key: fmt.Sprintf("k%d", n), Cause: event.Cause{Kind: event.ByTurn, ID: int64(n)}, To: to, Body: body})
}

func (r *pumpHarness) bodies() []string {
	var all []string
	for _, a := range r.mouth.got {
		all = append(all, a.body)
	}
	return all
}

// arrivedAt returns what arrived at one address.
func (r *pumpHarness) arrivedAt(t *testing.T, to event.Address, bodies ...string) {
	t.Helper()
	var got []string
	for _, a := range r.mouth.got {
		if a.to == to {
			got = append(got, a.body)
		}
	}
	want(t, "arrived at "+string(to), got, bodies...)
}

func (r *pumpHarness) states() []string {
	var all []string
	for _, row := range r.outbox.Rows() {
		all = append(all, row.State)
	}
	return all
}

// story runs a test in a bubble of fake time.
func story(t *testing.T, script []string, f func(t *testing.T, r *pumpHarness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newPumpHarness(script...)) })
}

func want[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// killed leaves n messages to n addresses of the owner, as if a process was killed while sending all of them.
func killed(t *testing.T, r *pumpHarness, channel string, n int) {
	r.owner = nil
	for i := range n {
		a := event.Address(fmt.Sprintf("%s:%d", channel, i))
		r.owner = append(r.owner, a)
		r.say(a, fmt.Sprintf("text %d", i))
	}
	dead := r.outbox.Process()
	for i := range n {
		id := int64(i + 1)
		d := channels.Delivery{Outbox: id, Body: fmt.Sprintf("text %d", i), Nonce: fmt.Sprint(i), Attempts: 1}
		if err := errors.Join(dead.Split(t.Context(), id, []channels.Delivery{d}, nil), dead.Sending(t.Context(), d)); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *pumpHarness) marked() int {
	n := 0
	for _, b := range r.bodies() {
		if strings.HasSuffix(b, "(may be a repeat)") {
			n++
		}
	}
	return n
}
