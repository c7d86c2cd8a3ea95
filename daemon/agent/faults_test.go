package agent_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/anthropic"
	"hob/daemon/llm/llmtest"
	"hob/daemon/llm/openai"
)

// The waits between the tries of one request, with the rig's jitter: three quarters of 1, 2, 4, … 32 s.
const (
	oneWait  = 750 * time.Millisecond
	twoWaits = oneWait + 1500*time.Millisecond
	allWaits = 95_250 * time.Millisecond
)

const (
	allTries  = llm.MaxRetries + 1
	always    = 1 << 30
	turnLimit = 15 * time.Minute
	glance    = 10 * time.Second // between two looks at a turn that runs
	theKey    = "sk-never-to-be-seen-4711"
)

// fault is a row of the fault table: what a model's server or the way to it does, and what comes of it. What hob tries again
// plays twice: as a fault that stays, and as one that happens once.
type fault struct {
	name       string
	provider   string                                                       // "": compatible
	turn       llmtest.Turn                                                 // what the server does with a request
	play       func(n int) llmtest.Turn                                     // the same, where it depends on how many came before
	dial       func(ctx context.Context, p *llmtest.Pipe) (net.Conn, error) // what the line does with a connection
	https      bool                                                         // the server speaks TLS
	compatible bool                                                         // it is about Chat Completions alone: the other protocol cannot have it
	asked      string                                                       // what the owner says; "": do it
	with       func(*harness)                                               // what the rig has that others have not
	also       func(t *testing.T, w *wireHarness, id int64)                 // what else holds after a fault that stays

	state turn.Status   // how the turn ends when the fault stays; default: failed
	asks  int           // requests then
	takes time.Duration // until the end
	says  string        // what the owner reads, in part
	never string        // what he does not read

	once  int           // requests when it happens once; 0: the first request decides
	after time.Duration // until the answer then

	billed bool // a request that came to nothing may have been paid for: all that was reserved counts
}

// host is a model's server at the end of a line of its own, and the real adapter that asks it.
type host struct {
	pipe      *llmtest.Pipe
	server    *llmtest.Server
	transport *http.Transport
	model     llm.Model

	mu   sync.Mutex
	left int // faults to come
	came int // faults so far
}

// newHost starts a server for the model of a config, whose address and key are filled in.
func newHost(t *testing.T, c llm.Config, https bool) *host {
	t.Helper()
	h := &host{pipe: llmtest.NewPipe()}
	h.transport = h.pipe.Transport()
	var at net.Listener = h.pipe
	if https {
		at = secured(t, at, h.transport)
	}
	h.server = llmtest.NewServerOn(at)
	c.BaseURL, c.APIKey, c.HTTP = h.server.URL, theKey, &http.Client{Transport: h.transport}
	if https {
		c.BaseURL = strings.Replace(c.BaseURL, "http:", "https:", 1)
	} else if c.Model != "" {
		c.BaseURL = "http://" + c.Model + ".test/v1" // the pipe leads to the one server, whatever its name
	}
	open := openai.New
	if c.Provider == "anthropic" {
		open = anthropic.New
	}
	m, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	h.model = m
	return h
}

func (h *host) close() {
	h.transport.CloseIdleConnections()
	h.server.Close()
}

// next takes one fault of those to come, and says how many there were before. False: all is well now.
func (h *host) next() (int, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left <= 0 {
		return 0, false
	}
	h.left--
	h.came++
	return h.came - 1, true
}

// heal ends the fault, and says how often it has happened.
func (h *host) heal() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left = 0
	return h.came
}

// suffer lets a fault happen so often; when it does not, the server says well.
func (h *host) suffer(f fault, times int, well string) {
	h.mu.Lock()
	h.left = times
	h.mu.Unlock()
	if f.dial != nil {
		h.pipe.Divert(func(ctx context.Context, _, _ string) (net.Conn, error) {
			if _, ill := h.next(); ill {
				return f.dial(ctx, h.pipe)
			}
			return h.pipe.Connect(ctx)
		})
	}
	h.server.Otherwise(func(llmtest.Request) llmtest.Turn {
		if f.dial != nil {
			return streams(well)
		}
		n, ill := h.next()
		switch {
		case !ill:
			return streams(well)
		case f.play != nil:
			return f.play(n)
		default:
			return f.turn
		}
	})
}

func streams(text string) llmtest.Turn { return llmtest.Streamed(llmtest.Say(text)) }

// wireHarness is a harness whose models are asked by HTTP: with the real adapter, the library's client and server, and a network in memory
// between them.
type wireHarness struct {
	*harness
	hosts []*host
	log   *logged
}

// logged is what hob has written to its log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// overWire runs a body with a wired rig that is up, in a bubble of fake time.
func overWire(t *testing.T, open func(t *testing.T) []*host, body func(*testing.T, *wireHarness), change ...func(*harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &wireHarness{hosts: open(t), log: &logged{}}
		for _, h := range w.hosts {
			defer h.close()
		}
		models := func(r *harness) {
			r.model = w.hosts[0].model
			for _, h := range w.hosts[1:] {
				r.others = append(r.others, h.model)
			}
		}
		w.harness = newHarness(t, t.TempDir(), nil, append([]func(*harness){models}, change...)...)
		w.thread.Log = slog.New(slog.NewTextHandler(w.log, nil))
		w.start()
		defer w.close()
		body(t, w)
	})
}

// finished waits until a message has come to its end, and returns the turn.
func (w *wireHarness) finished(t *testing.T, seq int64) api.Turn {
	t.Helper()
	for range 2 * turnLimit / glance {
		w.settle()
		if row := w.inbox(seq); row.State == "done" || row.State == "dead" {
			return w.turn(row.Turn).Turn
		}
		time.Sleep(glance)
	}
	t.Fatalf("message %d never ends: %+v", seq, w.inbox(seq))
	return api.Turn{}
}

// final is what the owner has read of a turn's end. It is one message.
func (w *wireHarness) final(t *testing.T, id int64) string {
	t.Helper()
	newest, err := w.rows().OutboxRows(context.Background(), event.Filter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, o := range newest {
		if o.Cause.ID == id && strings.HasPrefix(o.Key, "turn:") {
			said = append(said, o.Body)
		}
	}
	if len(said) != 1 {
		t.Fatalf("turn %d told the owner %d times: %q", id, len(said), said)
	}
	return said[0]
}

// lost are the requests of a turn that came to nothing, and how many of them were counted as paid for.
func (w *wireHarness) lost(id int64) (n, paid int) {
	for _, s := range w.turn(id).Control {
		if s.Kind != string(turn.ModelStep) || s.State != string(turn.StepUnknown) {
			continue
		}
		n++
		if s.Usage.Tokens() > 0 {
			paid++
		}
	}
	return n, paid
}

// sound checks what holds after every fault, whatever it was.
func (w *wireHarness) sound(t *testing.T) {
	t.Helper()
	var billed turn.Amount
	for _, h := range w.hosts {
		u := h.model.Info().Price.Of(h.server.Billed())
		if billed.Micros += u.Cost; !u.Priced {
			billed.Tokens += u.Tokens()
		}
		wellFormed(t, h.server.Requests())
	}
	b := w.budget()
	if b.ReservedTokens != 0 || b.ReservedMicros != 0 {
		t.Errorf("%d tokens and %d micros are still reserved", b.ReservedTokens, b.ReservedMicros)
	}
	if b.UsedTokens < billed.Tokens || b.UsedTokens > b.PerDayTokens || b.Used.Micros() < billed.Micros || b.PerDayMicros >= 0 && b.Used.Micros() > b.PerDayMicros {
		t.Errorf("spent is %+v, the servers have billed %+v", b, billed)
	}
	for _, o := range w.outbox() {
		if !utf8.ValidString(o.Body) {
			t.Errorf("%q is not valid", o.Body)
		}
	}
	if strings.Contains(w.log.String(), theKey) {
		t.Errorf("the key is in the log: %s", w.log)
	}
	for _, name := range []string{"hob.db", "hob.db-wal"} {
		data, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(theKey)) {
			t.Errorf("the key is in %s", name)
		}
	}
}

// wellFormed checks that a server would take the requests: each call has its result, and arguments are JSON.
func wellFormed(t *testing.T, requests []llmtest.Request) {
	t.Helper()
	var all []llm.Request
	for n, req := range requests {
		if !utf8.Valid(req.Body) {
			t.Errorf("request %d is not valid UTF-8", n)
		}
		var made llm.Request
		for _, m := range req.Messages {
			next := llm.Message{Role: llm.Role(m.Role), CallID: m.CallID}
			for _, c := range m.Calls {
				if !json.Valid([]byte(c.Function.Arguments)) {
					t.Errorf("request %d: arguments %q", n, c.Function.Arguments)
				}
				next.Calls = append(next.Calls, llm.Call{ID: c.ID})
			}
			made.Messages = append(made.Messages, next)
		}
		all = append(all, made)
	}
	valid(t, all)
}

// goesOn checks that the next message gets a normal answer.
func (w *wireHarness) goesOn(t *testing.T) {
	t.Helper()
	before := len(w.hosts[0].server.Requests())
	got := w.finished(t, w.ask("and now?"))
	if said := w.final(t, got.ID); got.State != turn.Done || said != "well" || got.Ended.Sub(got.Started) != 0 {
		t.Errorf("the next turn is %s after %v and says %q", got.State, got.Ended.Sub(got.Started), said)
	}
	requests := w.hosts[0].server.Requests()[before:]
	if len(requests) != 1 || !strings.HasSuffix(requests[0].Last(), "and now?") {
		t.Errorf("the next message took %d requests", len(requests))
	}
}

func (f fault) hosts(t *testing.T) []*host {
	return []*host{newHost(t, llm.Config{Provider: cmp.Or(f.provider, "compatible"), Model: "large", MaxOutput: 8192}, f.https)}
}

func (f fault) stays(t *testing.T) {
	overWire(t, f.hosts, func(t *testing.T, w *wireHarness) {
		h := w.hosts[0]
		h.suffer(f, always, "well")
		got := w.finished(t, w.say(cmp.Or(f.asked, "do it")))
		came := h.heal()
		state := f.state
		if state == "" {
			state = turn.Failed
		}
		said, took := w.final(t, got.ID), got.Ended.Sub(got.Started)
		if got.State != state || came != f.asks || took != f.takes || took > turnLimit {
			t.Errorf("the turn is %s after %d requests and %v; want %s, %d, %v", got.State, came, took, state, f.asks, f.takes)
		}
		if all := w.bodies(); len(all) != 1 || strings.Contains(said, theKey) {
			t.Errorf("the owner reads %q", all)
		}
		contains(t, said, f.says)
		if state == turn.Failed {
			contains(t, said, "I could not finish this: ")
		}
		if f.never != "" && strings.Contains(said, f.never) {
			t.Errorf("%q says %q", said, f.never)
		}
		f.checkPaid(t, w, got.ID)
		if f.also != nil {
			f.also(t, w, got.ID)
		}
		w.sound(t)
		w.goesOn(t)
		w.sound(t)
	}, f.changes()...)
}

func (f fault) happensOnce(t *testing.T) {
	overWire(t, f.hosts, func(t *testing.T, w *wireHarness) {
		h := w.hosts[0]
		h.suffer(f, 1, "well")
		got := w.finished(t, w.say(cmp.Or(f.asked, "do it")))
		steps := 0
		for _, s := range w.turn(got.ID).Control {
			if s.Kind == string(turn.ModelStep) {
				steps++
			}
		}
		took := got.Ended.Sub(got.Started)
		said, _, _ := strings.Cut(w.final(t, got.ID), "\n\n(hob: ") // below it: which calls did not work
		if got.State != turn.Done || said != "well" || steps != f.once || took != f.after || h.heal() != 1 {
			t.Errorf("the turn is %s after %d requests and %v, and says %q; want %d, %v", got.State, steps, took, said, f.once, f.after)
		}
		f.checkPaid(t, w, got.ID)
		w.sound(t)
		w.goesOn(t)
		w.sound(t)
	}, f.changes()...)
}

// checkPaid compares what the requests that came to nothing have cost.
func (f fault) checkPaid(t *testing.T, w *wireHarness, id int64) {
	t.Helper()
	lost, paid := w.lost(id)
	if f.billed && paid != lost || !f.billed && paid != 0 {
		t.Errorf("%d of %d lost requests count as paid for", paid, lost)
	}
}

func (f fault) changes() []func(*harness) {
	if f.with == nil {
		return nil
	}
	return []func(*harness){f.with}
}

// playAll plays rows over both protocols.
func playAll(t *testing.T, rows []fault) {
	t.Helper()
	playOver(t, "compatible", rows)
	playOver(t, "anthropic", slices.DeleteFunc(slices.Clone(rows), func(f fault) bool { return f.compatible }))
}

func playOver(t *testing.T, provider string, rows []fault) {
	t.Helper()
	for i, f := range rows {
		if testing.Short() && i%8 != 0 {
			continue // the race detector has seen all of the code in every eighth
		}
		f.provider = provider
		t.Run(provider+"/"+f.name, func(t *testing.T) {
			t.Run("stays", f.stays)
			if f.once > 0 {
				t.Run("once", f.happensOnce)
			}
		})
	}
}
