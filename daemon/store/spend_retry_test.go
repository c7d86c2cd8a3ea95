package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/policy"
	"hob/daemon/store"
	"hob/scheduler"
	"hob/tools"
)

// Reservations of many requests at once never go over the cap.
func TestCapUnderConcurrency(t *testing.T) {
	s := fresh(t, func(s *testStore) { s.policy.PerDayTokens = 1000 })
	s.accept(message("hello"))
	if s.take() == 0 {
		t.Fatal("no turn")
	}
	const children = 32
	for range children {
		s.sql("INSERT INTO turns (session, parent, state, epoch, asker, reply_to, started) VALUES (1, 1, 'running', 1, 'owner', '', 1)")
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	granted, refused := 0, 0
	for n := range children {
		wg.Go(func() {
			_, err := s.Turns.Begin(context.Background(), turn.Begin{Turn: int64(2 + n), Step: turn.Step{N: 1, Kind: turn.ModelStep, State: turn.StepIntent, Reserve: turn.Amount{Tokens: 100}}})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				granted++
			case errors.Is(err, turn.ErrBudget):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b, err := s.Spending.Spent(t.Context())
	if err != nil || granted != 10 || refused != children-10 || b.ReservedTokens != 1000 {
		t.Errorf("%d granted, %d refused, budget %+v, %v", granted, refused, b, err)
	}
	n := 0
	for _, o := range s.outs() {
		n += strings.Count(o.Body, "80 %")
	}
	if n != 1 {
		t.Errorf("the owner was told of 80 %% %d times", n)
	}
}

// A zone that changes while a request is under way loses no usage and wedges nothing.
func TestZoneChangesDuringARequest(t *testing.T) {
	s := fresh(t)
	s.accept(message("hello"))
	id := s.take()
	step := turn.Step{N: 1, Kind: turn.ModelStep, State: turn.StepIntent, Reserve: turn.Amount{Tokens: 500}}
	if _, err := s.Turns.Begin(t.Context(), turn.Begin{Turn: id, Step: step}); err != nil {
		t.Fatal(err)
	}
	s.zone = map[bool]string{true: "Pacific/Kiritimati", false: "Pacific/Pago_Pago"}[s.now().UTC().Hour() >= 12] // another day there
	step.State, step.Usage = turn.StepDone, llm.Usage{Input: 40, Output: 2}
	if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, Steps: []turn.Step{step}}); err != nil {
		t.Fatalf("settle: %v", err)
	}
	if n := one[int](s, "SELECT sum(used_tokens) FROM spend WHERE scope = 'all'"); n != 42 {
		t.Errorf("%d tokens are booked, want 42", n)
	}
}

func TestRetryAndDrop(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	seq := s.accept(message("hello"))
	if err := s.Inbox.Retry(ctx, seq); err == nil {
		t.Error("a waiting input was retried")
	}
	if err := s.Inbox.Drop(ctx, seq); err != nil {
		t.Fatal(err)
	}
	if s.take() != 0 {
		t.Error("a dropped input was taken")
	}
	if err := s.Inbox.Drop(ctx, seq); err == nil {
		t.Error("it was dropped twice")
	}
	if err := s.Inbox.Retry(ctx, seq); err != nil {
		t.Fatal(err)
	}
	s.end(turn.Done)
	if err := s.Inbox.Retry(ctx, seq); err == nil {
		t.Error("an input that was served well was retried")
	}
	if err := s.Inbox.Retry(ctx, 999); err == nil {
		t.Error("a row that never was was retried")
	}
}

func TestDroppedFireEndsItsSlot(t *testing.T) {
	s := fresh(t)
	j := s.job("j")
	if err := s.Jobs.Fire(t.Context(), []scheduler.Firing{s.due(j.ID)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Inbox.Drop(t.Context(), one[int64](s, "SELECT seq FROM inbox")); err != nil {
		t.Fatal(err)
	}
	if got := s.fires(); got[0] != "done skipped dropped by the owner" {
		t.Errorf("fires %v", got)
	}
	if err := s.Inbox.Retry(t.Context(), one[int64](s, "SELECT seq FROM inbox")); err != nil {
		t.Fatal(err)
	}
	s.end(turn.Done)
	if got := s.fires(); !strings.HasPrefix(got[0], "done ran") {
		t.Errorf("after the retry: %v", got)
	}
}

func TestStopTurn(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	s.accept(message("hello"))
	id := s.take()
	err := s.Turns.Commit(ctx, turn.Commit{Turn: id, Park: &turn.Park{Why: "waiting", On: "c"}, Wait: &turn.Wait{CallID: "c", Kind: tools.ForTimer, Until: s.now().Add(time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	if next, err := s.Turns.NextWake(ctx, s.now()); err != nil || next.Sub(s.now()) > time.Hour || next.Sub(s.now()) < 59*time.Minute {
		t.Errorf("next wake %v, %v", next, err)
	}
	if stopped, err := s.Commands.StopTurn(ctx, id); err != nil || !stopped {
		t.Errorf("a parked turn: %v, %v", stopped, err)
	}
	if stopped, err := s.Commands.StopTurn(ctx, id); err != nil || stopped {
		t.Errorf("again: %v, %v", stopped, err)
	}
	s.ahead.Add(int64(2 * time.Hour))
	if s.take() != 0 {
		t.Error("a stopped turn was taken")
	}
}

// A turn that ends with a call under way says that the outcome is unknown; a call that had not begun was not run.
func TestEndClosesCalls(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	s.accept(message("hello"))
	id := s.take()
	call := func(n string) llm.Item {
		return llm.Item{Session: 1, Turn: id, Step: 1, Role: llm.Assistant, Kind: llm.CallItem, CallID: n, Tool: "exec", Args: []byte("{}"), Trust: event.Owner, Source: "model"}
	}
	step := func(n int, id string, state turn.StepState) turn.Step {
		return turn.Step{N: n, Kind: turn.ToolStep, State: state, CallID: id, Tool: "exec", Effect: tools.Once}
	}
	err := s.Turns.Commit(ctx, turn.Commit{Turn: id, Items: []llm.Item{call("begun"), call("waiting")}, Steps: []turn.Step{step(1, "begun", turn.StepIntent), step(2, "waiting", turn.StepAllowed)}})
	if err != nil {
		t.Fatal(err)
	}
	s = s.crash()
	if stopped, err := s.Commands.StopTurn(ctx, id); err != nil || !stopped {
		t.Fatalf("stop: %v, %v", stopped, err)
	}
	for id, want := range map[string]string{"begun": "unknown", "waiting": "not run"} {
		if got := one[string](s, "SELECT parts FROM items WHERE kind = 'result' AND call_id = ?", id); !strings.Contains(got, want) {
			t.Errorf("the call that was %s has the result %s", id, got)
		}
	}
	if n := one[int](s, "SELECT count(*) FROM steps WHERE state NOT IN ('done', 'unknown')"); n != 0 {
		t.Errorf("%d steps are open", n)
	}
}

// An approval from the command line is used up by one call and asked for once.
func TestUseOrAsk(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	q := turn.Question{Subject: turn.AboutCall, Tool: "exec", Text: "may I?", Options: []string{turn.AnswerOnce, turn.AnswerNo}, ActionHash: "h", Until: s.now().Add(time.Hour), To: event.CLI}
	asked, used, err := s.Calls.UseOrAsk(ctx, q, 0)
	code := asked.Code
	if err != nil || used || code == "" {
		t.Fatalf("%s, %v, %v", code, used, err)
	}
	if again, used, err := s.Calls.UseOrAsk(ctx, q, 0); err != nil || used || again.Code != code {
		t.Errorf("asked again: %s, %v, %v", again.Code, used, err)
	}
	answer := func(id, text string) error {
		in := message(text)
		in.ExtID, in.Kind = id, event.Answer
		_, err := s.Commands.AnswerFrom(ctx, in, strings.ToLower(" "+code+" "), text)
		return err
	}
	for i, text := range []string{"yes", turn.AnswerTurn, turn.AnswerAlways} {
		if err := answer(fmt.Sprint("w", i), text); err == nil {
			t.Errorf("%q answers it", text)
		}
	}
	if err := answer("a", turn.AnswerOnce); err != nil {
		t.Fatal(err)
	}
	if err := answer("b", turn.AnswerNo); err == nil {
		t.Error("it was answered twice")
	}
	other := q
	other.ActionHash = "other"
	if _, used, err := s.Calls.UseOrAsk(ctx, other, 0); err != nil || used {
		t.Errorf("another call used the approval: %v", err)
	}
	if _, used, err := s.Calls.UseOrAsk(ctx, q, 0); err != nil || !used {
		t.Errorf("the approved call: %v, %v", used, err)
	}
	if next, used, err := s.Calls.UseOrAsk(ctx, q, 0); err != nil || used || next.Code == code {
		t.Errorf("a second call with one approval: %v, %v", used, err)
	}
}

// The question of a call that was approved at the terminal is withdrawn, with an event, so that a chat that shows it takes it away.
func TestSettledQuestionIsWithdrawn(t *testing.T) {
	s := fresh(t)
	q := turn.Question{Subject: turn.AboutCall, Tool: "exec", Text: "may I?", ActionHash: "h", Until: s.now().Add(time.Hour), To: event.CLI}
	if _, _, err := s.Calls.UseOrAsk(t.Context(), q, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Calls.Settled(t.Context(), "h"); err != nil {
		t.Fatal(err)
	}
	// It was withdrawn; one whose time is up expires.
	q.ActionHash = "late"
	if _, _, err := s.Calls.UseOrAsk(t.Context(), q, 0); err != nil {
		t.Fatal(err)
	}
	s.ahead.Add(int64(2 * time.Hour))
	s.accept(message("hello"))
	s.take()
	view := store.NewView(s.Reader(), s.now)
	for i, state := range []string{"expired", "withdrawn"} {
		list, err := view.QuestionRows(t.Context(), event.Filter{State: state})
		if err != nil || len(list) != 1 || list[0].State != state || list[0].Answer != "" || list[0].ID != int64(2-i) {
			t.Errorf("%s: %+v, %v", state, list, err)
		}
	}
	if list, err := view.QuestionRows(t.Context(), event.Filter{}); err != nil || len(list) != 2 || list[0].State != "expired" || list[1].State != "withdrawn" {
		t.Errorf("all: %+v, %v", list, err)
	}
	if n := one[int](s, "SELECT count(*) FROM questions q JOIN events e ON e.type = 'question.expired' AND e.data ->> 'code' = q.code WHERE q.state = 'expired'"); n != 2 {
		t.Errorf("%d events", n)
	}
}

func TestAskIsNotApproved(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	s.accept(message("hello"))
	id := s.take()
	err := s.Turns.Commit(ctx, turn.Commit{Turn: id, Question: &turn.Question{Subject: turn.AboutAsk, Turn: id, CallID: "c", Text: "tea?", Until: s.now().Add(time.Hour), To: chat}})
	if err != nil {
		t.Fatal(err)
	}
	in := message("approve X")
	in.ExtID, in.Kind = "a", event.Answer
	if _, err := s.Commands.AnswerFrom(ctx, in, one[string](s, "SELECT code FROM questions"), turn.AnswerOnce); err == nil {
		t.Error("a question that wants words was approved")
	}
	in.ExtID, in.Parts = "b", event.Say("answer X")
	if _, err := s.Commands.AnswerFrom(ctx, in, one[string](s, "SELECT code FROM questions"), "once"); err != nil {
		t.Errorf("the word once as an answer: %v", err)
	}
}

// A change that cannot be applied undoes the whole commit that it stands in.
func TestUnknownChange(t *testing.T) {
	s := fresh(t)
	out := event.Out{Key: "k", Cause: event.Cause{Kind: event.ByNotice, ID: 1}, To: chat, Body: "b", Urgency: event.Urgent}
	if err := s.Calls.Record(t.Context(), out, 42); err == nil {
		t.Fatal("a number was applied")
	}
	if n := len(s.outs()); n != 0 {
		t.Errorf("%d messages", n)
	}
	if err := s.Calls.Record(t.Context(), policy.Entry{CallID: "c", Tool: "t", Actor: "api", Trust: event.Owner, Decision: policy.Decision{Verdict: "perhaps"}}); err == nil {
		t.Error("an unknown verdict was stored")
	}
}

func TestSend(t *testing.T) {
	s := fresh(t)
	in := message("send")
	in.ExtID, in.Kind = "x", event.Command
	id, err := s.Outbox.Send(t.Context(), in, chat, "hello")
	if err != nil || id == 0 {
		t.Fatal(err)
	}
	o := s.outs()[0]
	if o.To != chat || o.Cause.Kind != event.ByCommand || o.Cause.ID == 0 || one[string](s, "SELECT state FROM inbox") != "done" {
		t.Errorf("outbox %+v", o)
	}
}
