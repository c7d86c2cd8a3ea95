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

// fakeChat is a platform whose messages can be edited. Its messages stay when the process that wrote them ends.
type fakeChat struct {
	mu     sync.Mutex
	notes  []*fakeMessage
	nonces map[string]string // ids by nonce, of a platform with keys
	now    func() time.Time
}

// fakeMessage is one message: its present text and its earlier ones.
type fakeMessage struct {
	id     string
	to     event.Address
	texts  []string
	edited []time.Time
}

func (n *fakeMessage) text() string { return n.texts[len(n.texts)-1] }

// fakeChannel is the channel of one process to a fakeChat.
type fakeChannel struct {
	*fakeChat
	gone  bool // the process has been killed
	limit int
	sends []error // what the next sends come to
	edits []error // and the next edits
	kill  func()
	takes time.Duration // what a send takes
}

// What a platform can be: with keys, or to be looked up in, or neither.
type (
	keyedChannel      struct{ *fakeChannel }
	findingChannel    struct{ *fakeChannel }
	uneditableChannel struct{ channels.Channel } // nothing on it can be changed
)

// What kills a process in the middle of a call.
var (
	errKilled  = errors.New("killed before anything arrived")
	errArrived = errors.New("killed after it had arrived")
)

func (keyedChannel) DedupsByNonce() bool { return true }

func (f findingChannel) Find(_ context.Context, d channels.Delivery) (string, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, found := f.nonces[d.Nonce]
	return id, found, nil
}

func (b *fakeChannel) Run(ctx context.Context, _ channels.Inbox) error { <-ctx.Done(); return nil }

func (b *fakeChannel) Form() markup.Form {
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

func (b *fakeChannel) Send(_ context.Context, d channels.Delivery) (string, error) {
	time.Sleep(b.takes)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return "", errKilled
	}
	err := next(&b.sends)
	if err != nil && !errors.Is(err, errArrived) && !errors.Is(err, channels.ErrUnknown) {
		b.die(err)
		return "", err
	}
	id := b.nonces[d.Nonce]
	if id == "" || d.Repeat && strings.HasSuffix(d.Body, "(may be a repeat)") { // only a platform with keys knows the repeat
		id = fmt.Sprint(len(b.notes) + 1)
		b.nonces[d.Nonce] = id
		b.notes = append(b.notes, &fakeMessage{id: id, to: d.To, texts: []string{d.Body}})
	}
	b.die(err)
	return id, err
}

// die is a kill in the middle of a call.
func (b *fakeChannel) die(err error) {
	if errors.Is(err, errKilled) || errors.Is(err, errArrived) {
		b.gone = true
		b.kill()
	}
}

func (b *fakeChannel) Edit(_ context.Context, d channels.Delivery, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return errKilled
	}
	if err := next(&b.edits); err != nil {
		b.die(err)
		return err
	}
	i := slices.IndexFunc(b.notes, func(n *fakeMessage) bool { return n.id == id && n.to == d.To })
	if i < 0 {
		return fmt.Errorf("no message %s: %w", id, channels.ErrPermanent)
	}
	n := b.notes[i]
	n.texts, n.edited = append(n.texts, d.Body), append(n.edited, b.now())
	return nil
}

// hangs is what can be read on the wall now.
func (b *fakeChannel) hangs() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.notes {
		list = append(list, n.text())
	}
	return list
}

// slowModel is a model that streams its pieces with a pause before each. A piece "!tool {…}" calls a tool instead, and ends the answer.
type slowModel struct {
	every time.Duration
	mu    sync.Mutex
	says  []string // answers in order; pieces end with spaces
}

func (*slowModel) Info() llm.Info {
	return llm.Info{Provider: "slow", Model: "slow", Context: 200_000, MaxOutput: 8192}
}

func (m *slowModel) Answer(ctx context.Context, _ llm.Request, delta func(llm.Delta)) (llm.Answer, error) {
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

// draftHarness is a harness whose answers go to a fakeChat.
type draftHarness struct {
	*harness
	*fakeChannel
	ch      channels.Channel
	mode    policy.Mode
	waits   time.Duration // what the tool reach takes
	hold    time.Duration // how long a message to others waits before it is sent
	lag     time.Duration // once between reading what grows and knowing it
	running time.Duration // the longest that a turn may run
	revoked atomic.Bool   // the chat is nobody's any more
	group   *sys.Group
	end     context.CancelFunc
}

// withDrafts runs a test in a synctest bubble with a thread, a pump and drafts.
func withDrafts(t *testing.T, m *slowModel, body func(*draftHarness), change ...func(*draftHarness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &draftHarness{mode: policy.ModeOpen, fakeChannel: &fakeChannel{fakeChat: &fakeChat{nonces: map[string]string{}, now: time.Now}, limit: 4000}}
		s.ch = keyedChannel{s.fakeChannel}
		for _, f := range change {
			f(s)
		}
		s.open(t, t.TempDir(), m)
		defer s.close()
		body(s)
	})
}

// open starts a process over a database.
func (s *draftHarness) open(t *testing.T, dir string, m *slowModel) {
	s.harness = newHarness(t, dir, nil, func(r *harness) {
		r.model = m
		r.mode = s.mode
		r.policy.CancelDelay = s.hold
		if s.running > 0 {
			r.limits.Running = s.running
		}
		r.list[3] = slowTool{r.list[3], s.waits}
		r.policy.Edits = func(a event.Address) bool {
			_, can := s.ch.(channels.Editor)
			return a.Channel() == "chat" && can
		}
	})
	s.fakeChannel.kill = func() {}
	ctx, end := context.WithCancel(t.Context())
	s.end = end
	s.group = sys.NewGroup(slog.New(slog.DiscardHandler), nil)
	wake := func(name string, ring func() <-chan struct{}) <-chan struct{} {
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
		Hide:  func(text string) string { return text },
		Store: s.harness.store.Outbox, Channel: func(string) (channels.Channel, error) { return s.ch, nil },
		Owner: func() []event.Address { return []event.Address{chat} }, Elsewhere: func(string) event.Address { return event.CLI }, Right: s.right, Zone: func() *time.Location { return time.UTC }, Report: func(string, error) {}, Receives: func(string) time.Time { return time.Time{} }, Away: func(string) bool { return false },
		Once: s.group.Once, Wake: wake("out", s.harness.store.Outbox.OutboxSignal), Clock: s.harness.clock, Ident: sys.RandomIDs(), Log: slog.New(slog.DiscardHandler),
	})
	live := channels.NewLive(channels.LiveConfig{
		Drafts: slowDrafts{s.harness.store.Outbox, s.lag, &sync.Once{}}, Feed: s.harness.thread.Feed, Pump: pump, Enabled: func() bool { return true }, Plain: strings.ToLower,
		Wake: wake("events", s.harness.store.Events.EventsSignal), Ident: sys.RandomIDs(),
	})
	s.group.Go(ctx, "pump", pump.Run)
	s.group.Go(ctx, "listen", live.Listen)
	s.group.Go(ctx, "live", live.Run)
	s.harness.start()
}

func (s *draftHarness) close() {
	s.end()
	s.group.Wait()
	s.harness.close()
}

// dies ends the process as a kill would, and starts the next one over what it left.
func (s *draftHarness) dies(dir string, m *slowModel) {
	s.t.Helper()
	t := s.t
	s.fakeChat.mu.Lock()
	s.gone = true
	s.fakeChat.mu.Unlock()
	s.close()
	s.fakeChat.mu.Lock()
	next := &fakeChannel{fakeChat: s.fakeChat, limit: s.limit}
	s.fakeChat.mu.Unlock()
	switch s.ch.(type) {
	case keyedChannel:
		s.ch = keyedChannel{next}
	case findingChannel:
		s.ch = findingChannel{next}
	default:
		s.ch = next
	}
	s.fakeChannel = next
	s.open(t, dir, m)
}

// slowTool is a tool that takes a while.
type slowTool struct {
	tools.Tool
	time.Duration
}

func (w slowTool) Run(ctx context.Context, call tools.Call, intent tools.Intent) (tools.Result, error) {
	time.Sleep(w.Duration)
	return w.Tool.Run(ctx, call, intent)
}

// slowDrafts delays one reading of the drafts while a tool runs: its result is old when it arrives.
type slowDrafts struct {
	channels.Drafts
	lag  time.Duration
	once *sync.Once
}

func (l slowDrafts) LiveAnswers(ctx context.Context) ([]channels.LiveAnswer, error) {
	list, err := l.Drafts.LiveAnswers(ctx)
	if len(list) > 0 && list[0].Shown != "" && list[0].Tool != "" {
		l.once.Do(func() { time.Sleep(l.lag) })
	}
	return list, err
}

func (s *draftHarness) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// after lets time pass, and then everything come to rest.
func (s *draftHarness) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *draftHarness) wantWall(want ...string) {
	s.t.Helper()
	if got := s.hangs(); !slices.Equal(got, want) {
		s.t.Errorf("on the wall:\n%s\nwant:\n%s", strings.Join(got, "\n---\n"), strings.Join(want, "\n---\n"))
	}
}

// wantAnywhere is wantWall in any order.
func (s *draftHarness) wantAnywhere(want ...string) {
	s.t.Helper()
	if got := slices.Sorted(slices.Values(s.hangs())); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		s.t.Errorf("on the wall: %q, want %q", got, want)
	}
}

// right returns the chat's right to receive messages: none after it was revoked.
func (s *draftHarness) right(event.Address) (channels.Right, error) {
	if s.revoked.Load() {
		return channels.NoRight, nil
	}
	return channels.OwnerRight, nil
}

func (s *draftHarness) wantRows(want ...string) {
	s.t.Helper()
	var got []string
	for _, o := range s.outbox() {
		got = append(got, o.State+" "+o.Body)
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("outbox:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
