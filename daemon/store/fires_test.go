package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/scheduler"
)

// fire commits what is due of a job at an instant.
func (s *testStore) fire(id int64, at time.Time) {
	s.t.Helper()
	j, err := s.Jobs.Job(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	f, ok, err := scheduler.Slots(j, at)
	if err != nil || !ok {
		s.t.Fatalf("nothing is due: %v", err)
	}
	if err := s.Jobs.Fire(s.t.Context(), []scheduler.Firing{f}); err != nil {
		s.t.Fatal(err)
	}
}

// fireRows lists the fires, newest first.
func (s *testStore) fireRows(f event.Filter) []api.Fire {
	s.t.Helper()
	rows, err := s.FireRows(s.t.Context(), f)
	if err != nil {
		s.t.Fatal(err)
	}
	return rows
}

// Lateness counts until the turn begins, and is measured by the limit that held when the slot came due.
func TestLateIsCountedToTheStart(t *testing.T) {
	for _, tc := range []struct {
		wait time.Duration
		want string
	}{{29 * time.Minute, "ran"}, {31 * time.Minute, "late"}} {
		s := fresh(t)
		j := s.job("j")
		s.later(j.Due.Sub(s.now()))
		s.fire(j.ID, s.now())
		if got := s.fireRows(event.Filter{})[0]; got.LateMS > 1000 || got.LimitMS != (30*time.Minute).Milliseconds() {
			t.Fatalf("when it came due: %+v", got)
		}
		s.later(tc.wait) // the queue is long
		s.end(turn.Done)
		s.sql("UPDATE triggers SET body = json_set(body, '$.max_late', ?)", int64(time.Second)) // what comes later does not count
		got := s.fireRows(event.Filter{})[0]
		if got.Outcome != tc.want || got.LateMS < tc.wait.Milliseconds() || got.LateMS > tc.wait.Milliseconds()+10_000 || got.LateMS != got.Started.Sub(got.Due).Milliseconds() {
			t.Errorf("after %v in the queue: %+v", tc.wait, got)
		}
		for _, state := range []string{"ran", "late", "done"} {
			if n := len(s.fireRows(event.Filter{State: state})); (n == 1) != (state == tc.want || state == "done") {
				t.Errorf("%s: --state %s lists %d", tc.want, state, n)
			}
		}
	}
}

// The fires table is queried by name, by number and by kind.
func TestFiresByName(t *testing.T) {
	s := fresh(t)
	a, b := s.job("a"), s.job("b")
	s.fire(a.ID, a.Due)
	s.fire(b.ID, b.Due)
	for name, want := range map[string]string{"": "ba", "a": "a", fmt.Sprint(b.ID): "b", "job:a": "a", "watch:a": "", "c": ""} {
		got := ""
		for _, r := range s.fireRows(event.Filter{Name: name}) {
			got += r.Job
			if r.Kind != "job" || r.Zone != "UTC" || r.Slots != 1 {
				t.Errorf("%+v", r)
			}
		}
		if got != want {
			t.Errorf("%q lists %q, want %q", name, got, want)
		}
	}
}

// What became of the answer is another matter than what became of the run.
func TestDeliveryOfARun(t *testing.T) {
	for _, tc := range []struct {
		name     string
		says, to string
		change   string // of the outbox row
		want     string
		why      string
	}{
		{"silent", "", "chat:1", "", "nothing to say", ""},
		{"to nobody", "", "none", "", "to nobody", ""},
		{"under way", "done", "chat:1", "", "sending", ""},
		{"sent", "done", "chat:1", "UPDATE outbox SET state = 'done', ended = 1", "sent", ""},
		{"refused", "done", "chat:1", "UPDATE outbox SET state = 'dead', ended = 1, reason = 'no such chat'", "failed", "no such chat"},
		{"unsure", "done", "chat:1", "UPDATE outbox SET state = 'held', reason = 'may have arrived'", "held", "may have arrived"},
		{"too old", "done", "chat:1", "UPDATE outbox SET state = 'expired', ended = 1", "expired", ""},
		{"dropped", "done", "chat:1", "UPDATE outbox SET state = 'cancelled', ended = 1", "dropped", ""},
	} {
		s := fresh(t)
		j := s.job("j", func(j *scheduler.Job) { j.Deliver = event.Address(tc.to) })
		s.fire(j.ID, j.Due)
		if got := s.fireRows(event.Filter{})[0]; got.RunDelivery != (api.RunDelivery{}) {
			t.Errorf("%s: before the run %+v", tc.name, got.RunDelivery)
		}
		s.later(time.Hour)
		id := s.take()
		c := turn.Commit{Turn: id, End: &turn.Finish{State: turn.Done, Text: tc.says}}
		if tc.says != "" {
			c.Changes = append(c.Changes, event.Out{Key: "k", Cause: event.Cause{Kind: event.ByTurn, ID: id}, To: chat, Body: tc.says, Urgency: event.Normal})
		}
		if err := s.Turns.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if tc.change != "" {
			s.sql(tc.change)
		}
		if got := s.fireRows(event.Filter{})[0]; got.RunDelivery != (api.RunDelivery{Outcome: tc.want, Why: tc.why}) || got.Turn != id {
			t.Errorf("%s: %+v, want %q", tc.name, got, tc.want)
		}
	}
}

// A run costs what its turns and their sub-agents cost, also when it was tried twice.
func TestCostOfARun(t *testing.T) {
	s := fresh(t)
	j := s.job("j")
	s.fire(j.ID, j.Due)
	s.later(time.Hour)
	s.end(turn.Failed)
	s.sql("UPDATE turns SET tokens = 100, cost = 7")
	s.sql("INSERT INTO turns (session, parent, state, epoch, asker, reply_to, started, ended, tokens, cost) SELECT session, id, 'done', epoch, asker, '', 1, 2, 30, 2 FROM turns")
	if got := s.fireRows(event.Filter{})[0]; got.Tokens != 130 || got.CostMicros != 9 {
		t.Errorf("%+v", got)
	}
	if c, err := store.RunCost(t.Context(), s.Reader(), j.ID, time.Time{}); err != nil || c != (scheduler.Cost{Micros: 9, Tokens: 130}) {
		t.Errorf("mean of one run: %+v, %v", c, err)
	}
	// A job without runs of its own is like the others of late; a reminder tells nothing.
	k := s.job("k")
	s.fire(k.ID, k.Due)
	s.later(time.Hour)
	s.end(turn.Done)
	if c, err := store.RunCost(t.Context(), s.Reader(), k.ID, s.now().Add(-24*time.Hour)); err != nil || c != (scheduler.Cost{Micros: 9, Tokens: 130}) {
		t.Errorf("mean of all jobs: %+v, %v", c, err)
	}
	if c, err := store.RunCost(t.Context(), s.Reader(), k.ID, s.now().Add(time.Hour)); err != nil || c != (scheduler.Cost{}) {
		t.Errorf("no runs since: %+v, %v", c, err)
	}
}

// away are the messages about what was missed.
func (s *testStore) away() (list []string) {
	for _, o := range s.outs() {
		if strings.HasPrefix(o.Key, "notice:away:") {
			list = append(list, o.Body)
		}
	}
	return list
}

// One message for one downtime, whatever crashes; the marks are committed with it.
func TestReport(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	if _, err := s.Jobs.Report(ctx); err != nil || len(s.outs()) != 0 {
		t.Fatalf("nothing to tell: %v, %v", s.outs(), err)
	}
	hourly, skipped := s.job("hourly"), s.job("skipped", func(j *scheduler.Job) { j.Missed = scheduler.MissedSkip })
	beat := s.job("beat")
	s.sql("UPDATE triggers SET kind = 'heartbeat' WHERE id = ?", beat.ID)
	back := hourly.Due.Add(3*time.Hour + 59*time.Minute)
	s.later(back.Sub(s.now()))
	s.fire(hourly.ID, back)
	s.fire(skipped.ID, back)
	s = s.crash() // before the report
	if _, err := s.Jobs.Report(ctx); err != nil {
		t.Fatal(err)
	}
	day := hourly.Due.Format("Mon 15:04")
	want := fmt.Sprintf("While hob was not running (%s to ", day)
	told := s.away()
	if len(told) != 1 || !strings.HasPrefix(told[0], want) || !strings.HasSuffix(told[0], "): hourly: 3 missed, one run replaces them · skipped: 4 runs missed") {
		t.Fatalf("told %q", told)
	}
	if n := one[int](s, "SELECT count(*) FROM fires WHERE told = 2"); n != 8 {
		t.Errorf("%d of 8 slots are marked as told", n)
	}
	s = s.crash() // after it
	if _, err := s.Jobs.Report(ctx); err != nil || len(s.away()) != 1 {
		t.Errorf("told again: %q, %v", s.away(), err)
	}
	// The heartbeat is not worth a word.
	s.sql("INSERT INTO fires (trigger, key, due, created, ended, state, outcome, told) VALUES (?, 'k', 1, 1, 1, 'done', 'missed', 1)", beat.ID)
	if _, err := s.Jobs.Report(ctx); err != nil || len(s.away()) != 1 || one[int](s, "SELECT count(*) FROM fires WHERE told = 1") != 0 {
		t.Errorf("of the heartbeat: %q, %v", s.away(), err)
	}
}

// R2: slots that could not be stored are told as that, apart from those that came due while hob was not running.
func TestReportOfWhatCouldNotBeStored(t *testing.T) {
	s := fresh(t)
	j := s.job("hourly", func(j *scheduler.Job) { j.Missed = scheduler.MissedSkip })
	back := j.Due.Add(3*time.Hour + 59*time.Minute)
	s.later(back.Sub(s.now()))
	s.fire(j.ID, back)
	s.sql("UPDATE fires SET unstored = 1 WHERE id > (SELECT min(id) FROM fires)")
	if _, err := s.Jobs.Report(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := strings.Join(s.away(), "\n")
	if !strings.HasPrefix(told, "hob could not write to its disk from "+j.Due.Add(time.Hour).Format("Mon 15:04")+" to ") || !strings.Contains(told, ": hourly: 3 runs missed\nWhile the machine slept or its clock went ahead") || !strings.HasSuffix(told, "hourly: 1 run missed") {
		t.Errorf("told %q", told)
	}
}

// What runs in time, or less than a minute late, is not told.
func TestNothingToReport(t *testing.T) {
	s := fresh(t)
	j := s.job("j")
	s.fire(j.ID, j.Due.Add(time.Minute))
	if _, err := s.Jobs.Report(t.Context()); err != nil || len(s.outs()) != 0 {
		t.Errorf("told %+v, %v", s.outs(), err)
	}
}

// A job that waits because its last run does says so once a day of its zone, and not while that run is queued or goes on.
func TestReminderOfAWaitingJob(t *testing.T) {
	s := fresh(t)
	j := s.job("j", func(j *scheduler.Job) { j.Zone = "Asia/Tokyo" })
	s.fire(j.ID, j.Due)
	next := func() {
		j, err := s.Jobs.Job(t.Context(), j.ID)
		if err != nil {
			t.Fatal(err)
		}
		s.later(j.Due.Sub(s.now()))
		s.fire(j.ID, j.Due)
	}
	next()
	if n := len(s.outs()); n != 0 {
		t.Fatalf("%d messages about a run that is queued", n)
	}
	id := s.take()
	next()
	if n := len(s.outs()); n != 0 {
		t.Fatalf("%d messages about a run that goes on", n)
	}
	if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, Wait: &turn.Wait{CallID: "c", Kind: "timer", Until: s.now().Add(1000 * time.Hour)}, Park: &turn.Park{Why: "waiting for timer", On: "c"}}); err != nil {
		t.Fatal(err)
	}
	days := map[string]bool{}
	for range 60 {
		next()
		days[s.now().In(time.FixedZone("Tokyo", 9*3600)).Format(time.DateOnly)] = true
	}
	outs := s.outs()
	if len(outs) != len(days) {
		t.Fatalf("%d messages on %d days", len(outs), len(days))
	}
	if want := fmt.Sprintf(", which is waiting for timer. What comes due meanwhile is folded into that run. To look at it: hob turns show %d", id); !strings.HasPrefix(outs[0].Body, "Job j waits for its run of ") || !strings.HasSuffix(outs[0].Body, want) {
		t.Errorf("told %q", outs[0].Body)
	}
}

// A job's limits are its turn's, and those of the turn's sub-agents; what the family has used counts.
func TestLimitsOfARun(t *testing.T) {
	s := fresh(t)
	j := s.job("j", func(j *scheduler.Job) { j.Tools, j.Permissions.Tokens = []string{"read", "grep"}, 5000 })
	s.fire(j.ID, j.Due)
	s.later(time.Hour)
	id := s.take()
	s.sql("UPDATE turns SET tokens = 1200")
	s.sql("INSERT INTO turns (session, parent, state, epoch, asker, reply_to, started, tokens) SELECT session, id, 'ready', epoch, asker, '', 1, 300 FROM turns")
	for _, id := range []int64{id, id + 1} {
		got, err := s.Turns.Turn(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got.Only) != "[read grep]" || got.MaxTokens != 5000 || got.UsedTokens != 1500 || len(got.Rights) != 0 {
			t.Errorf("turn %d: %+v", id, got.RunLimits)
		}
	}
	s.accept(message("hello"))
	s.sql("UPDATE turns SET state = 'done', ended = 1")
	if got, err := s.Turns.Turn(t.Context(), s.take()); err != nil || len(got.Only) != 0 || got.MaxTokens != 0 {
		t.Errorf("a turn of the owner's: %+v, %v", got.RunLimits, err)
	}
}

// What a run has asked for comes back as a report, which opens a turn of its own: it has the run's limits, and what it uses counts. Nothing
// of it reaches turns that nothing of the run has opened.
func TestLimitsGoOnWithReports(t *testing.T) {
	for _, source := range []string{"sub-agent", "process", "session"} {
		s := fresh(t)
		j := s.job("j", func(j *scheduler.Job) { j.Tools, j.Permissions.Tokens = []string{"read", "grep"}, 5000 })
		s.fire(j.ID, j.Due)
		s.later(time.Hour)
		asked := s.take()
		for n, want := range []int64{1200, 1900, 2600} { // the run, what its report opens, and what a report to that one opens
			got, err := s.Turns.Turn(t.Context(), asked)
			if err == nil {
				s.sql("UPDATE turns SET tokens = ? WHERE id = ?", want-got.UsedTokens, asked)
				got, err = s.Turns.Turn(t.Context(), asked)
			}
			if err != nil || fmt.Sprint(got.Only) != "[read grep]" || got.MaxTokens != 5000 || got.UsedTokens != want || len(got.Rights) != 0 || (got.Fire != 0) != (n == 0) {
				t.Errorf("%s, report %d: %+v, %v", source, n, got, err)
			}
			call := fmt.Sprintf("t%d_1", asked)
			s.sql("INSERT INTO steps (turn, n, kind, state, epoch, call_id) SELECT id, 1, 'tool', 'done', epoch, ? FROM turns WHERE id = ?", call, asked)
			s.sql("UPDATE turns SET state = 'done', ended = 1 WHERE id = ?", asked)
			s.accept(event.In{Source: source, ExtID: call, Session: j.SessionKey(), Kind: event.Report, Trust: event.Owner, Parts: event.Say("done"), Received: s.now()})
			asked = s.take()
		}
		s.sql("UPDATE turns SET state = 'done', ended = 1")
		s.accept(event.In{Source: source, ExtID: "t999_1", Session: j.SessionKey(), Kind: event.Report, Trust: event.Owner, Parts: event.Say("done"), Received: s.now()})
		if got, err := s.Turns.Turn(t.Context(), s.take()); err != nil || len(got.Only) != 0 || got.MaxTokens != 0 {
			t.Errorf("%s: what nobody's call asked for: %+v, %v", source, got.RunLimits, err)
		}
	}
}
