package triggers_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
	"hob/daemon/triggers"
	"hob/scheduler"
	"hob/tools"
)

// newJobs returns the service for jobs on a real store, with a model that costs 2 and 10 for a million tokens.
func newJobs(t *testing.T) (triggers.Jobs, *store.Store) {
	t.Helper()
	s := storetest.Fresh(t)
	return triggers.Jobs{
		Prompts: event.Prompts{NoModel: func() bool { return false }, Understands: func(string) bool { return false }},
		Rows:    s.Jobs, Zone: func() *time.Location { return time.UTC }, Now: time.Now, Unheard: func(event.Address) string { return "" },
		Tool: func(name string) bool { return name == "read" || name == "grep" },
		Costs: triggers.Costs{
			Mean: func(ctx context.Context, job int64, since time.Time) (scheduler.Cost, error) {
				return store.RunCost(ctx, s.Reader(), job, since)
			},
			Price: func() (input, output int64, free bool) { return 2_000_000, 10_000_000, false },
		},
	}, s
}

// planned plans a job and stores it.
func planned(t *testing.T, d triggers.Jobs, s *store.Store, wish scheduler.Draft) scheduler.View {
	t.Helper()
	wish.Trust, wish.Now = event.Owner, time.Now()
	j, change, err := d.Plan(t.Context(), wish)
	if err == nil {
		err = s.Calls.Record(t.Context(), change)
	}
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Limits that a change does not name stay; the estimate follows what is known of the job's runs.
func TestLimitsAndEstimate(t *testing.T) {
	d, s := newJobs(t)
	made := planned(t, d, s, scheduler.Draft{Name: "j", When: "every 1h", Prompt: "brief me", Limits: "tools=read,grep tokens=2000"})
	// 720 runs at half of 3,500 tokens for 2 and 500 for 10 a million
	if made.Estimate == nil || made.Estimate.Text != "about 720 runs a month, about $4.32" || !slices.Equal(made.Tools, []string{"read", "grep"}) || made.Tokens != 2000 {
		t.Fatalf("made %+v, %+v", made, made.Estimate)
	}
	j, err := d.Named(t.Context(), "j")
	if err != nil || j.Estimate == nil || j.Estimate.Micros != 4_320_000 || j.Estimate.Runs != 720 {
		t.Fatalf("shown %+v, %v", j.Estimate, err)
	}
	for _, tc := range []struct {
		limits string
		tools  int
		tokens int64
	}{{"", 2, 2000}, {"tools=read", 1, 2000}, {"tokens=none", 1, 0}, {"tools=all tokens=9000", 0, 9000}, {"none", 0, 0}} {
		if got := planned(t, d, s, scheduler.Draft{ID: j.ID, Prompt: "brief me", Limits: tc.limits}); len(got.Tools) != tc.tools || got.Tokens != tc.tokens || got.ID != j.ID {
			t.Errorf("after %q: %+v", tc.limits, got)
		}
	}
	for _, limits := range []string{"tools=read,nosuch", "tokens=10", "tools=re$d", "tools=read,"} {
		_, _, err := d.Plan(t.Context(), scheduler.Draft{ID: j.ID, Limits: limits, Trust: event.Owner, Now: time.Now()})
		if r := tools.ErrorResult(err); err == nil || r.Code != tools.Validation {
			t.Errorf("%q: %v", limits, err)
		}
	}
	reminder := planned(t, d, s, scheduler.Draft{When: "every 1h", Prompt: "say: drink"})
	if !reminder.Estimate.Free || !strings.HasSuffix(reminder.Estimate.Text, ", free") {
		t.Errorf("a reminder: %+v", reminder.Estimate)
	}
}

// The limits of a job in the config are its keys tools and max_tokens; a change of them reaches the row.
func TestLimitsInTheConfig(t *testing.T) {
	section := func(in scheduler.Draft) func(any) error {
		return func(to any) error {
			in.Cron, in.Prompt = "0 9 * * *", "brief me"
			*to.(*scheduler.Draft) = in
			return nil
		}
	}
	d, s := newJobs(t)
	for _, in := range []scheduler.Draft{{}, {Tools: []string{"read"}}, {Tools: []string{"read"}, MaxTokens: 5000}, {Tools: []string{"grep"}, MaxTokens: 5000}, {}} {
		off, err := d.Sync(t.Context(), []triggers.Wanted{{Name: "morning", Decode: section(in)}}, triggers.Heartbeat{})
		if err != nil || len(off) > 0 {
			t.Fatal(off, err)
		}
		j, err := s.Jobs.JobNamed(t.Context(), "morning")
		if err != nil || !slices.Equal(j.Tools, in.Tools) || j.Tokens != in.MaxTokens {
			t.Errorf("of %+v: %+v, %v", in, j.Permissions, err)
		}
	}
	if _, _, err := triggers.CheckJob(section(scheduler.Draft{MaxTokens: 10}), "UTC", time.Now()); err == nil || !strings.HasPrefix(err.Error(), "max_tokens: ") {
		t.Errorf("10 tokens: %v", err)
	}
}
