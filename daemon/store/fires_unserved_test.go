package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/scheduler"
	"hob/tools"
)

// A slot that came due, and that a change of its job keeps from being served, has its row all the same, and the owner is told. A change
// that leaves the next slot as it is takes nothing away.
func TestChangesLoseNoSlot(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(j scheduler.Job, now time.Time) tools.Change
		want   string // of each slot that is overdue; "": they are served yet
	}{
		{"another prompt", func(j scheduler.Job, _ time.Time) tools.Change { j.Prompt = "new"; return scheduler.Put{Job: j} }, ""},
		{"another schedule", func(j scheduler.Job, now time.Time) tools.Change {
			j.Spec, j.Due = "every 5h0m0s", now.Add(5*time.Hour)
			return scheduler.Put{Job: j}
		}, "its schedule was changed"},
		{"removed", func(j scheduler.Job, _ time.Time) tools.Change { return scheduler.Remove{ID: j.ID} }, "the job was removed"},
		{"paused", func(j scheduler.Job, _ time.Time) tools.Change {
			return scheduler.Pause{ID: j.ID, Paused: true, Due: j.Due}
		}, "the job was paused"},
		{"resumed", func(j scheduler.Job, now time.Time) tools.Change {
			return scheduler.Pause{ID: j.ID, Due: now.Add(time.Hour)}
		}, "-"},
	} {
		s := fresh(t)
		j := s.job("j")
		paused := c.want == "-" // what passed while it was paused is not caught up
		s.sql("UPDATE triggers SET paused = ?", map[bool]int{true: 1}[paused])
		s.later(j.Due.Sub(s.now()) + 2*time.Hour + time.Minute)
		if err := s.Calls.Record(t.Context(), c.change(j, s.now())); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, err := s.Jobs.Report(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(s.fires(), ", ")
		if c.want == "" || paused {
			if got != "" || len(s.away()) != 0 {
				t.Errorf("%s: %s, told %q", c.name, got, s.away())
			}
			continue
		}
		row := "done missed " + c.want + " before it was served"
		if want := strings.Join([]string{row, row, row}, ", "); got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
		if told := s.away(); len(told) != 1 || !strings.HasSuffix(told[0], ": j: 3 runs missed") {
			t.Errorf("%s: told %q", c.name, told)
		}
		if n := one[int](s, "SELECT count(*) FROM inbox"); n != 0 {
			t.Errorf("%s: %d inputs", c.name, n)
		}
	}
}

// A job that was changed since it was read does not fire by what it was, though its next slot is the same one.
func TestFireSeesAnyChange(t *testing.T) {
	s := fresh(t)
	j := s.job("j")
	stale := s.due(j.ID)
	j.Prompt = "new"
	if err := s.Calls.Record(t.Context(), scheduler.Put{Job: j}); err != nil {
		t.Fatal(err)
	}
	if err := s.Jobs.Fire(t.Context(), []scheduler.Firing{stale}); err == nil || len(s.fires()) != 0 {
		t.Errorf("%v; fires %v", err, s.fires())
	}
	s.comes(j)
	if text := one[string](s, "SELECT json_extract(parts, '$[0].text') FROM inbox"); text != "new" {
		t.Errorf("it runs %q", text)
	}
}

// A change that was worked out before a slot was served puts the slot's old instant back: the owner is not asked about it again.
func TestAskedOnce(t *testing.T) {
	s := fresh(t)
	j := s.job("j", func(j *scheduler.Job) { j.Missed = scheduler.MissedAsk })
	back := j.Due.Add(59 * time.Minute)
	s.fire(j.ID, back)
	if err := s.Calls.Record(t.Context(), scheduler.Put{Job: j}); err != nil {
		t.Fatal(err)
	}
	s.fire(j.ID, back)
	if n := one[int](s, "SELECT count(*) FROM questions"); n != 1 || len(s.fires()) != 1 {
		t.Errorf("%d questions, fires %v", n, s.fires())
	}
}

// What was missed of a job that has been spoilt since does not run, and the owner is told why.
func TestAskedOfASpoiltJob(t *testing.T) {
	s := fresh(t)
	j := s.job("j", func(j *scheduler.Job) { j.Missed = scheduler.MissedAsk })
	s.fire(j.ID, j.Due.Add(59*time.Minute))
	s.sql("UPDATE triggers SET body = '[]'")
	in := message("answer")
	in.ExtID, in.Kind = "a", event.Answer
	_, err := s.Commands.AnswerFrom(t.Context(), in, one[string](s, "SELECT code FROM questions"), "run once now")
	if f, ok := event.AsFault(err); !ok || f.Kind != event.Clash || !strings.HasPrefix(f.Text, "job j cannot run: ") || len(s.fires()) != 1 {
		t.Errorf("%v; fires %v", err, s.fires())
	}
}

// The question after five failures is put once: the tenth adds none while it is open, and another one when it was not answered in time.
func TestFailingIsAskedOnce(t *testing.T) {
	s := fresh(t)
	j := s.job("j")
	fails := func(times int) {
		t.Helper()
		for range times {
			s.comes(j)
			s.later(3 * time.Hour)
			s.end(turn.Failed)
		}
	}
	asked := func() int { return one[int](s, "SELECT count(*) FROM questions") }
	if fails(10); asked() != 1 {
		t.Errorf("%d questions after 10 failures", asked())
	}
	s.later(8 * 24 * time.Hour)
	if fails(5); asked() != 2 {
		t.Errorf("%d questions after 15 failures, the first one not answered", asked())
	}
	// Of a job that is gone every answer is taken: an earlier version of hob left the question open.
	s.sql("UPDATE triggers SET removed = 1")
	in := message("answer")
	in.ExtID, in.Kind = "a", event.Answer
	if _, err := s.Commands.AnswerFrom(t.Context(), in, one[string](s, "SELECT code FROM questions WHERE state = 'open'"), "pause"); err != nil {
		t.Errorf("of a job that is gone: %v", err)
	}
}

// A run that the owner tries again and that ends well does not keep the reason why it failed.
func TestRetriedFire(t *testing.T) {
	s := fresh(t)
	j := s.job("j", func(j *scheduler.Job) { j.MaxLate = 24 * time.Hour })
	s.comes(j)
	s.later(time.Hour)
	s.end(turn.Failed)
	if err := s.Inbox.Retry(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: s.take(), End: &turn.Finish{State: turn.Done}}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.fires()); got != "[done ran]" {
		t.Errorf("fires %s", got)
	}
}

// What was queued when hob was killed, and begins hours later, is told with the rest. A quick restart is no downtime.
func TestReportOfWhatWaited(t *testing.T) {
	for _, c := range []struct {
		away time.Duration
		want string
	}{{30 * time.Second, ""}, {5 * time.Hour, "j ran 5 h late"}} {
		s := fresh(t)
		j := s.job("j")
		s.later(j.Due.Sub(s.now()))
		s.fire(j.ID, s.now())
		if c.want == "" { // it waits in a long queue, and hob is at work
			s.later(10 * time.Minute)
			s.accept(message("hello"))
		}
		s.later(c.away)
		s = s.crash()
		for range 2 {
			if _, err := s.Jobs.Report(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		told := s.away()
		if c.want == "" {
			if len(told) != 0 {
				t.Errorf("after %v: %q", c.away, told)
			}
			continue
		}
		if len(told) != 1 || !strings.Contains(told[0], "): "+c.want) || !strings.Contains(told[0], " to ") {
			t.Errorf("after %v: %q", c.away, told)
		}
	}
}

// Whether a slot runs that waits for its gate is told when the gate was looked at, in the same message if that does not take long; a gate
// that stays shut is not told.
func TestReportWaitsForGates(t *testing.T) {
	for _, c := range []struct {
		name    string
		looked  time.Duration
		outcome scheduler.Outcome
		want    string
	}{
		{"opens", time.Minute, "", "[g ran 3 h late · j ran 3 h late]"},
		{"stays shut", time.Minute, scheduler.OutcomeSkipped, "[j ran 3 h late]"},
		{"takes long and opens", 3 * time.Minute, "", "[j ran 3 h late g ran 3 h late]"},
		{"takes long and stays shut", 3 * time.Minute, scheduler.OutcomeSkipped, "[j ran 3 h late]"},
	} {
		s := fresh(t)
		daily := func(j *scheduler.Job) {
			j.Spec, j.Created, j.MaxLate = "every 24h0m0s", j.Due.Add(-24*time.Hour), 4*time.Hour
		}
		j, g := s.job("j", daily), s.job("g", daily, gatedJob)
		s.later(j.Due.Sub(s.now()) + 3*time.Hour)
		s.fire(j.ID, s.now())
		s.fire(g.ID, s.now())
		told := func() string {
			t.Helper()
			if _, err := s.Jobs.Report(t.Context()); err != nil {
				t.Fatal(err)
			}
			list := s.away()
			for i, text := range list {
				_, list[i], _ = strings.Cut(text, "): ")
			}
			return fmt.Sprint(list)
		}
		if got := told(); got != "[]" {
			t.Errorf("%s: before the look %s", c.name, got)
		}
		if s.later(c.looked); c.looked > 2*time.Minute && told() != "[j ran 3 h late]" {
			t.Errorf("%s: it waits for ever: %s", c.name, told())
		}
		s.rule(c.outcome, "gate: no change", "")
		told()
		if got := told(); got != c.want {
			t.Errorf("%s: told %s, want %s", c.name, got, c.want)
		}
	}
}

// Due instants move to the rules of today in the commit that notes them; a job that was changed meanwhile is left alone.
func TestRedatedRows(t *testing.T) {
	s := fresh(t)
	a, b := s.job("a"), s.job("b")
	s.job("period", func(j *scheduler.Job) { j.Spec = "every 1h0m0s" })
	s.job("over", func(j *scheduler.Job) { j.Due = time.Time{} })
	list, err := s.Jobs.Crons(t.Context(), 0, 10)
	if err != nil || len(list) != 2 || list[0].ID != a.ID {
		t.Fatalf("%+v, %v", list, err)
	}
	if list, err := s.Jobs.Crons(t.Context(), a.ID, 10); err != nil || len(list) != 1 || list[0].ID != b.ID {
		t.Errorf("after the first: %+v, %v", list, err)
	}
	if err := s.Calls.Record(t.Context(), scheduler.Put{Job: b}); err != nil { // the same, but changed since
		t.Fatal(err)
	}
	half := 30 * time.Minute
	if err := s.Jobs.Redate(t.Context(), "new", []scheduler.Redated{{Job: a, Due: a.Due.Add(half)}, {Job: b, Due: b.Due.Add(half)}}); err != nil {
		t.Fatal(err)
	}
	s = s.crash()
	if print, err := s.Jobs.ZoneRules(t.Context()); err != nil || print != "new" {
		t.Errorf("%q, %v", print, err)
	}
	for _, want := range []scheduler.Job{a, b} {
		if want.ID == a.ID {
			want.Due = want.Due.Add(half)
		}
		if got, err := s.Jobs.Job(t.Context(), want.ID); err != nil || !got.Due.Equal(want.Due) {
			t.Errorf("%s is due %v, %v; want %v", want.Name, got.Due, err, want.Due)
		}
	}
}

// A job is found by its name and by its number, and no other way.
func TestJobByNameAndNumber(t *testing.T) {
	s := fresh(t)
	s.job("a")
	s.job("b")
	for name, want := range map[string]string{"a": "a", "2": "b", "02": "", "c": "", "-1": "", "": ""} {
		if j, err := s.Jobs.JobNamed(t.Context(), name); j.Name != want || (err == nil) != (want != "") {
			t.Errorf("%q finds %q, %v", name, j.Name, err)
		}
	}
}
