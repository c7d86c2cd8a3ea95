package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store"
)

// twins are the store and the model of it that the pump's tests use, told the same things.
type twins struct {
	t         *rapid.T
	testStore *testStore
	model     *channelstest.Outbox
	proc      channels.Store
	now       time.Time
	n         int
}

func (w *twins) must(what string, err error) {
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
}

// sync moves the store's clock to the model's time.
func (w *twins) sync() { w.testStore.ahead.Store(int64(time.Until(w.now))) }

func (w *twins) queue() {
	w.n++
	out := event.Out{
		Key: fmt.Sprint("k", w.n), Cause: event.Cause{Kind: event.ByNotice, ID: 1}, Body: fmt.Sprint("b", w.n), Urgency: rapid.SampledFrom([]event.Urgency{event.Urgent, event.Normal, event.Normal}).Draw(w.t, "urgency"),
		To: rapid.SampledFrom([]event.Address{"x:1", "x:2", "x:3"}).Draw(w.t, "to"),
	}
	if rapid.Bool().Draw(w.t, "later") {
		out.NotBefore = w.now.Add(time.Duration(rapid.IntRange(1, 120).Draw(w.t, "minutes")) * time.Minute)
	}
	w.model.Queue(out, out)
	w.sync()
	w.must("queue", w.testStore.Calls.Record(context.Background(), out, out))
}

// ready reads both sides and fails when they differ.
func (w *twins) ready() (mine, model []channels.Row) {
	ctx := context.Background()
	mine, err := w.testStore.Outbox.Ready(ctx, w.now, 100)
	w.must("ready", err)
	mine = slices.DeleteFunc(mine, func(r channels.Row) bool { return r.To.Channel() != "x" }) // questions go to the owner
	model, err = w.proc.Ready(ctx, w.now, 100)
	w.must("ready of the model", err)
	if a, b := drawn(mine), drawn(model); a != b {
		w.t.Fatalf("the store has\n%s\nthe model\n%s", a, b)
	}
	return mine, model
}

func drawn(rows []channels.Row) string {
	text := ""
	for _, r := range rows {
		text += fmt.Sprintf("%s to %s, %d parts, interrupted %v, urgent %v:", r.Body, r.To, r.Parts, r.Interrupted, r.Urgent)
		for _, d := range r.Todo {
			text += fmt.Sprintf(" [%d %s tries %d unsure %d]", d.Part, d.Body, d.Attempts, d.Unsure)
		}
		for _, q := range r.Quiet {
			text += fmt.Sprintf(" %s of %s", q.Body, q.At.UTC().Format(time.Kitchen))
		}
		text += "\n"
	}
	return text
}

func (w *twins) work() {
	ctx := context.Background()
	mine, model := w.ready()
	if len(mine) == 0 {
		return
	}
	i := rapid.IntRange(0, len(mine)-1).Draw(w.t, "head")
	if mine[i].Parts == 0 {
		n := rapid.IntRange(1, 3).Draw(w.t, "parts")
		together := rapid.Bool().Draw(w.t, "together")
		for _, side := range []struct {
			row channels.Row
			to  channels.Store
		}{{mine[i], w.testStore.Outbox}, {model[i], w.proc}} {
			var parts []channels.Delivery
			for p := range n {
				parts = append(parts, channels.Delivery{Outbox: side.row.ID, Part: p, Parts: n, Body: fmt.Sprint("part ", p), Nonce: fmt.Sprint(p)})
			}
			var joined []int64
			for k, q := range side.row.Quiet {
				if together && k > 0 {
					joined = append(joined, q.ID)
				}
			}
			w.must("split", side.to.Split(ctx, side.row.ID, parts, joined))
		}
		return
	}
	d, e := mine[i].Todo[0], model[i].Todo[0]
	d.Attempts, e.Attempts, d.Tried, e.Tried, d.To, e.To = d.Attempts+1, e.Attempts+1, w.now, w.now, mine[i].To, mine[i].To
	if a, b := w.testStore.Outbox.Sending(ctx, d), w.proc.Sending(ctx, e); (a == nil) != (b == nil) {
		w.t.Fatalf("sending: %v, the model %v", a, b)
	}
	if err := w.testStore.Outbox.Sending(ctx, d); !errors.Is(err, channels.ErrNotReady) {
		w.t.Fatalf("sending it twice: %v", err)
	}
	v := channels.Verdict{Reason: "because"}
	switch rapid.IntRange(0, 9).Draw(w.t, "verdict") {
	case 0: // the process dies before it is told
		return
	case 1, 2:
		v.State, v.At, v.Unsure = channels.Retry, w.now.Add(time.Duration(rapid.IntRange(0, 30).Draw(w.t, "retry"))*time.Minute), rapid.IntRange(0, 2).Draw(w.t, "unsure")
	case 3:
		v.State = channels.Dead
	case 4:
		v.State = channels.Expired
	case 5:
		v.State, v.Unsure = channels.Unknown, 1
	default:
		v.State, v.RemoteID = channels.Sent, "remote"
	}
	w.must("settle", errors.Join(w.testStore.Outbox.Settle(ctx, d, v), w.proc.Settle(ctx, e, v)))
	if v.State == channels.Sent {
		w.must("settle again", w.testStore.Outbox.Settle(ctx, d, v))
	}
}

// The store's outbox does what the model of the pump's tests does, also over crashes.
func TestOutboxLikeItsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &twins{t: rt, now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
		quiet := func(at time.Time) time.Time { return lunch(t).End(at, time.UTC) }
		w.testStore = fresh(t, func(s *testStore) { s.owner, s.policy.Quiet = []event.Address{chat, "x:1", "x:2"}, quiet })
		w.model = channelstest.NewOutbox(func() time.Time { return w.now })
		w.model.SetQuietHours(func(a event.Address, at time.Time) time.Time {
			if a == "x:3" {
				return time.Time{} // somebody else's
			}
			return quiet(at)
		})
		w.proc = w.model.Process()
		for range rapid.IntRange(5, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 12).Draw(rt, "step") {
			case 0, 1, 2:
				w.queue()
			case 3:
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(rt, "pass")) * time.Minute)
			case 4:
				w.testStore, w.proc = w.testStore.crash(), w.model.Process()
			case 5: // C5
				w.model.RetryNow("x")
				w.must("hasten", errors.Join(w.testStore.Outbox.Hasten(context.Background(), "x"), w.testStore.Outbox.Hasten(context.Background(), "xx")))
			default:
				w.work()
			}
			w.sync()
			w.ready()
		}
		for _, r := range w.model.Rows() {
			want := map[string]string{"joined": "cancelled"}[r.State]
			if want == "" {
				want = r.State
			}
			if got := one[string](w.testStore, "SELECT state FROM outbox WHERE key = ?", r.Key); got != want {
				rt.Errorf("%s is %s, the model says %s", r.Key, got, want)
			}
		}
	})
}

// An unknown delivery is held, asked about, and resent or dropped by the owner's word; the labels of the question are answers too.
func TestUnknownDelivery(t *testing.T) {
	for answer, want := range map[string]string{"once": "ready", "resend": "ready", "Drop": "cancelled", "no": "cancelled"} {
		s := fresh(t)
		ctx := t.Context()
		if err := s.Calls.Record(ctx, event.Out{Key: "k", Cause: event.Cause{Kind: event.ByNotice, ID: 1}, To: "x:1", Body: "b", Urgency: event.Urgent}); err != nil {
			t.Fatal(err)
		}
		d := channels.Delivery{Outbox: 1, Parts: 1, Body: "b", Nonce: "n", Attempts: 1, To: "x:1"}
		v := channels.Verdict{State: channels.Unknown, Unsure: 1, Reason: "the connection was cut", Ask: &channels.Ask{Text: "resend or drop?"}}
		if err := errors.Join(s.Outbox.Split(ctx, 1, []channels.Delivery{d}, nil), s.Outbox.Sending(ctx, d), s.Outbox.Settle(ctx, d, v)); err != nil {
			t.Fatal(err)
		}
		if got := one[string](s, "SELECT state FROM outbox WHERE id = 1"); got != "held" {
			t.Fatalf("it is %s", got)
		}
		code := one[string](s, "SELECT code FROM questions")
		in := message("answer")
		in.ExtID, in.Kind = "a1", event.Answer
		if _, err := s.Commands.AnswerFrom(ctx, in, code, "maybe"); err == nil {
			t.Error("maybe is an answer")
		}
		in.ExtID = "a2"
		if _, err := s.Commands.AnswerFrom(ctx, in, code, answer); err != nil {
			t.Errorf("%s: %v", answer, err)
		}
		if got := one[string](s, "SELECT state FROM outbox WHERE id = 1"); got != want {
			t.Errorf("after %s it is %s, want %s", answer, got, want)
		}
	}
}

// What goes to the local API is delivered by its commit.
func TestCLIDelivery(t *testing.T) {
	s := fresh(t)
	out := event.Out{Key: "k", Cause: event.Cause{Kind: event.ByNotice, ID: 1}, To: event.CLI, Body: "hello", Urgency: event.Normal}
	if err := s.Calls.Record(t.Context(), out, out, event.Out{Key: "none", Cause: out.Cause, To: event.ToNone, Body: "nowhere"}); err != nil {
		t.Fatal(err)
	}
	if o := s.outs(); len(o) != 1 || o[0].State != "done" || len(o[0].Deliveries) != 1 || o[0].Deliveries[0].State != "sent" {
		t.Errorf("outbox %+v", o)
	}
	events, err := s.Events.EventsAfter(t.Context(), 0, 10)
	if err != nil || len(events) != 1 || events[0].Type != "message.sent" || events[0].Data["text"] != "hello" {
		t.Errorf("events %+v, %v", events, err)
	}
}

var _ channels.Store = store.Outbox{}

// A question that is open has its answers as buttons, each of them the command that gives it; one that was answered has none.
func TestButtons(t *testing.T) {
	for name, c := range map[string]struct {
		q    turn.Question
		want string
	}{
		"a call":          {turn.Question{Subject: turn.AboutCall, Text: "run x?", Pattern: "p", Options: []string{turn.AnswerOnce, turn.AnswerTurn, turn.AnswerNo}}, "Yes, this once=/approve C|For this turn=/approve C turn|Always=/approve C always|No=/deny C"},
		"nothing to keep": {turn.Question{Subject: turn.AboutCall, Text: "run x?", Options: []string{turn.AnswerOnce, turn.AnswerTurn, turn.AnswerNo}}, "Yes, this once=/approve C|No=/deny C"},
		"an ask":          {turn.Question{Subject: turn.AboutAsk, Text: "tea?", Options: []string{"green", "black"}}, "green=/answer C #1|black=/answer C #2"},
		"an open ask":     {turn.Question{Subject: turn.AboutAsk, Text: "what?"}, ""},
		"a job":           {turn.Question{Subject: turn.AboutJob, Text: "go on?", Options: []string{"go on", "pause"}}, "go on=/approve C|pause=/deny C"},
	} {
		s := fresh(t)
		c.q.To, c.q.Until = event.ToOwner, s.now().Add(time.Hour)
		if err := s.Write(t.Context(), func(tx *store.Tx) error { _, err := store.AskIn(tx, &c.q); return err }); err != nil {
			t.Fatal(err)
		}
		code := one[string](s, "SELECT code FROM questions")
		buttons := func() string {
			rows, err := s.Outbox.Ready(t.Context(), s.now(), 10)
			if err != nil || len(rows) != 1 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			var list []string
			for _, b := range rows[0].Choices {
				list = append(list, b.Label+"="+strings.Replace(b.Data, code, "C", 1))
			}
			return strings.Join(list, "|")
		}
		if got := buttons(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		s.sql("UPDATE questions SET state = 'expired'")
		if got := buttons(); got != "" {
			t.Errorf("%s, over: %s", name, got)
		}
	}
}
