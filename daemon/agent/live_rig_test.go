package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/markup"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/policy"
	"hob/daemon/sys"
	"hob/tools"
)

// wall is a platform whose messages can be changed. What hangs on it outlives the processes that write on it.
type wall struct {
	mu     sync.Mutex
	notes  []*note
	nonces map[string]string // ids by nonce, of a platform with keys
	now    func() time.Time
}

// note is one message: what it says, and has said before.
type note struct {
	id     string
	to     event.Address
	texts  []string
	edited []time.Time
}

func (n *note) text() string { return n.texts[len(n.texts)-1] }

// brush is the channel of one process to a wall.
type brush struct {
	*wall
	gone  bool // the process has been killed
	limit int
	sends []error // what the next sends come to
	edits []error // and the next edits
	kill  func()
	takes time.Duration // what a send takes
}

// What a platform can be: with keys, or to be looked up in, or neither.
type (
	keyed  struct{ *brush }
	finder struct{ *brush }
	still  struct{ channels.Channel } // nothing on it can be changed
)

// What kills a process in the middle of a call.
var (
	errGone  = errors.New("killed before anything arrived")
	errHeard = errors.New("killed after it had arrived")
)

func (keyed) DedupsByNonce() bool { return true }

func (f finder) Find(_ context.Context, d channels.Delivery) (string, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, found := f.nonces[d.Nonce]
	return id, found, nil
}

func (b *brush) Run(ctx context.Context, _ channels.Inbox) error { <-ctx.Done(); return nil }

func (b *brush) Form() markup.Form {
	f := markup.Plain()
	f.Limit = b.limit
	return f
}

// next takes what a script says.
func next(script *[]error) error {
	if len(*script) == 0 {
		return nil
	}
	err := (*script)[0]
	*script = (*script)[1:]
	return err
}

func (b *brush) Send(_ context.Context, d channels.Delivery) (string, error) {
	time.Sleep(b.takes)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return "", errGone
	}
	err := next(&b.sends)
	if err != nil && !errors.Is(err, errHeard) && !errors.Is(err, channels.ErrUnknown) {
		b.die(err)
		return "", err
	}
	id := b.nonces[d.Nonce]
	if id == "" || d.Repeat && strings.HasSuffix(d.Body, "(may be a repeat)") { // only a platform with keys knows the repeat
		id = fmt.Sprint(len(b.notes) + 1)
		b.nonces[d.Nonce] = id
		b.notes = append(b.notes, &note{id: id, to: d.To, texts: []string{d.Body}})
	}
	b.die(err)
	return id, err
}

// die is a kill in the middle of a call.
func (b *brush) die(err error) {
	if errors.Is(err, errGone) || errors.Is(err, errHeard) {
		b.gone = true
		b.kill()
	}
}

func (b *brush) Edit(_ context.Context, d channels.Delivery, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return errGone
	}
	if err := next(&b.edits); err != nil {
		b.die(err)
		return err
	}
	i := slices.IndexFunc(b.notes, func(n *note) bool { return n.id == id && n.to == d.To })
	if i < 0 {
		return fmt.Errorf("no message %s: %w", id, channels.ErrPermanent)
	}
	n := b.notes[i]
	n.texts, n.edited = append(n.texts, d.Body), append(n.edited, b.now())
	return nil
}

// hangs is what can be read on the wall now.
func (b *brush) hangs() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.notes {
		list = append(list, n.text())
	}
	return list
}

// slow is a model that says its pieces one after the other, each after a while. A piece "!tool {…}" calls a tool instead, and ends the answer.
type slow struct {
	every time.Duration
	mu    sync.Mutex
	says  []string // answers in order; pieces end with spaces
}

func (*slow) Info() llm.Info {
	return llm.Info{Provider: "slow", Model: "slow", Context: 200_000, MaxOutput: 8192}
}

func (m *slow) Answer(ctx context.Context, _ llm.Request, delta func(llm.Delta)) (llm.Answer, error) {
	m.mu.Lock()
	text := m.says[0]
	m.mu.Unlock()
	a := llm.Answer{Finish: llm.Stop, Usage: llm.Usage{Input: 1, Output: 1}}
	text, call, calls := strings.Cut(text, "!")
	for _, piece := range strings.SplitAfter(text, " ") {
		select {
		case <-time.After(m.every):
		case <-ctx.Done():
			return llm.Answer{}, ctx.Err()
		}
		a.Text += piece
		delta(llm.Delta{Text: piece})
	}
	if calls {
		name, args, _ := strings.Cut(call, " ")
		a.Calls, a.Finish = []llm.Call{{ID: "c", Name: name, Args: []byte(args)}}, llm.ToolCall
	}
	m.mu.Lock()
	m.says = m.says[1:]
	m.mu.Unlock()
	return a, nil
}

// shown is a rig whose answers go out on a wall.
type shown struct {
	*rig
	*brush
	ch      channels.Channel
	mode    policy.Mode
	waits   time.Duration // what the tool reach takes
	hold    time.Duration // what is said to others waits
	lag     time.Duration // once between reading what grows and knowing it
	running time.Duration // the longest that a turn may run
	revoked atomic.Bool   // the chat is nobody's any more
	group   *sys.Group
	end     context.CancelFunc
}

// onTheWall runs a test in a bubble with a thread, a pump and drafts.
func onTheWall(t *testing.T, m *slow, body func(*shown), change ...func(*shown)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &shown{mode: policy.ModeOpen, brush: &brush{wall: &wall{nonces: map[string]string{}, now: time.Now}, limit: 4000}}
		s.ch = keyed{s.brush}
		for _, f := range change {
			f(s)
		}
		s.open(t, t.TempDir(), m)
		defer s.close()
		body(s)
	})
}

// open starts a process over a database.
func (s *shown) open(t *testing.T, dir string, m *slow) {
	s.rig = newRig(t, dir, nil, func(r *rig) {
		r.model = m
		r.mode = s.mode
		r.policy.Hold = s.hold
		if s.running > 0 {
			r.limits.Running = s.running
		}
		r.list[3] = waiting{r.list[3], s.waits}
		r.policy.Edits = func(a event.Address) bool {
			_, can := s.ch.(channels.Editor)
			return a.Channel() == "chat" && can
		}
	})
	s.brush.kill = func() {}
	ctx, end := context.WithCancel(t.Context())
	s.end = end
	s.group = sys.NewGroup(slog.New(slog.DiscardHandler), nil)
	bell := func(name string, ring func() <-chan struct{}) <-chan struct{} {
		c := make(chan struct{}, 1)
		s.group.Go(ctx, name, func(ctx context.Context) error {
			for rung := ring(); ; {
				select {
				case <-ctx.Done():
					return nil
				case <-rung:
				}
				rung = ring()
				select {
				case c <- struct{}{}:
				default:
				}
			}
		})
		return c
	}
	pump := channels.NewPump(channels.Config{
		Store: s.rig.store.Outbox, Channel: func(string) (channels.Channel, error) { return s.ch, nil },
		Owner: func() []event.Address { return []event.Address{chat} }, Right: s.standing, Zone: func() *time.Location { return time.UTC }, Report: func(string, error) {}, Receives: func(string) time.Time { return time.Time{} },
		Once: s.group.Once, Wake: bell("out", s.rig.store.Outbox.OutboxBell), Clock: s.rig.clock, Ident: sys.RandomIDs(), Log: slog.New(slog.DiscardHandler),
	})
	live := channels.NewLive(channels.LiveConfig{
		Drafts: lagging{s.rig.store.Outbox, s.lag, &sync.Once{}}, Feed: s.rig.thread.Feed, Pump: pump, Enabled: func() bool { return true }, Plain: strings.ToLower,
		Wake: bell("events", s.rig.store.Events.EventsBell), Ident: sys.RandomIDs(),
	})
	s.group.Go(ctx, "pump", pump.Run)
	s.group.Go(ctx, "listen", live.Listen)
	s.group.Go(ctx, "live", live.Run)
	s.rig.start()
}

func (s *shown) close() {
	s.end()
	s.group.Wait()
	s.rig.close()
}

// dies ends the process as a kill would, and starts the next one over what it left.
func (s *shown) dies(dir string, m *slow) {
	s.t.Helper()
	t := s.t
	s.wall.mu.Lock()
	s.gone = true
	s.wall.mu.Unlock()
	s.close()
	s.wall.mu.Lock()
	next := &brush{wall: s.wall, limit: s.limit}
	s.wall.mu.Unlock()
	switch s.ch.(type) {
	case keyed:
		s.ch = keyed{next}
	case finder:
		s.ch = finder{next}
	default:
		s.ch = next
	}
	s.brush = next
	s.open(t, dir, m)
}

// waiting is a tool that takes a while.
type waiting struct {
	tools.Tool
	time.Duration
}

func (w waiting) Run(ctx context.Context, call tools.Call, intent tools.Intent) (tools.Result, error) {
	time.Sleep(w.Duration)
	return w.Tool.Run(ctx, call, intent)
}

// lagging tells once what has grown, while a tool runs, a while after it has looked.
type lagging struct {
	channels.Drafts
	lag  time.Duration
	once *sync.Once
}

func (l lagging) Growing(ctx context.Context) ([]channels.Growth, error) {
	list, err := l.Drafts.Growing(ctx)
	if len(list) > 0 && list[0].Shown != "" && list[0].Doing != "" {
		l.once.Do(func() { time.Sleep(l.lag) })
	}
	return list, err
}

func (s *shown) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// after lets time pass, and then everything come to rest.
func (s *shown) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *shown) wantWall(want ...string) {
	s.t.Helper()
	if got := s.hangs(); !slices.Equal(got, want) {
		s.t.Errorf("on the wall:\n%s\nwant:\n%s", strings.Join(got, "\n---\n"), strings.Join(want, "\n---\n"))
	}
}

// wantAnywhere is wantWall in any order.
func (s *shown) wantAnywhere(want ...string) {
	s.t.Helper()
	if got := slices.Sorted(slices.Values(s.hangs())); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		s.t.Errorf("on the wall: %q, want %q", got, want)
	}
}

// wantRows checks the outbox: "STATE BODY".
// standing is by what right the chat hears from hob.
func (s *shown) standing(event.Address) (channels.Right, error) {
	if s.revoked.Load() {
		return channels.NoRight, nil
	}
	return channels.OwnerRight, nil
}

func (s *shown) wantRows(want ...string) {
	s.t.Helper()
	var got []string
	for _, o := range s.outbox() {
		got = append(got, o.State+" "+o.Body)
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("outbox:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
