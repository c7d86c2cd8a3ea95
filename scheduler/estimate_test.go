package scheduler_test

import (
	"testing"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
)

func TestCostOf(t *testing.T) {
	for _, tc := range []struct {
		name          string
		mean          scheduler.Cost
		input, output int64
		want          scheduler.Cost
	}{
		{"nothing is known", scheduler.Cost{}, 0, 0, scheduler.Cost{Tokens: 4000}},
		// 3,500 tokens at 2 a million and 500 at 10: 0.007 + 0.005
		{"a price", scheduler.Cost{}, 2_000_000, 10_000_000, scheduler.Cost{Tokens: 4000, Micros: 12_000}},
		{"runs before it", scheduler.Cost{Tokens: 9000, Micros: 500}, 2_000_000, 10_000_000, scheduler.Cost{Tokens: 9000, Micros: 500}},
		{"runs before it without a price", scheduler.Cost{Tokens: 9000}, 0, 0, scheduler.Cost{Tokens: 9000}},
		// 7,000 and 1,000 tokens: 0.007 + 0.002
		{"runs whose price was not known", scheduler.Cost{Tokens: 8000}, 1_000_000, 2_000_000, scheduler.Cost{Tokens: 8000, Micros: 9_000}},
		{"a free model", scheduler.Cost{Free: true}, 2_000_000, 10_000_000, scheduler.Cost{Free: true}},
		{"less than a millionth", scheduler.Cost{}, 1, 1, scheduler.Cost{Tokens: 4000, Micros: 1}},
	} {
		if got := scheduler.CostOf(tc.mean, tc.input, tc.output); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestEstimate(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC) // a Saturday; until Monday, 21 December, at 8
	penny := scheduler.Cost{Tokens: 4000, Micros: 12_000}
	for _, tc := range []struct {
		name, when, prompt string
		change             func(*scheduler.Job)
		one                scheduler.Cost
		want               string
		micros             int64
	}{
		{"weekdays", "0 9 * * 1-5", "brief me", nil, penny, "about 20 runs a month, about $0.24", 240_000},
		{"no price", "0 9 * * 1-5", "brief me", nil, scheduler.Cost{Tokens: 4000}, "about 20 runs a month, about 80,000 tokens", 0},
		{"gated", "0 9 * * 1-5", "brief me", func(j *scheduler.Job) { j.Gate.Command = "date" }, penny, "about 20 runs a month, at most $0.24", 240_000},
		{"reminder", "every 1m", "say: drink", nil, penny, "about 43,200 runs a month, free", 0},
		{"free model", "every 1h", "brief me", nil, scheduler.Cost{Free: true}, "about 720 runs a month, free", 0},
		{"once", "tomorrow at 9", "brief me", nil, penny, "one run, about $0.012", 12_000},
		{"once, next year", "at 2027-12-24 17:00", "brief me", nil, penny, "one run, about $0.012", 12_000},
		{"monthly", "0 9 1 * *", "brief me", nil, penny, "about 1 run a month, about $0.012", 12_000},
		{"yearly", "0 9 1 6 *", "brief me", nil, penny, "none within 30 days", 0},
		{"in the first months only", "0 9 * JAN-MAR MON,WED", "brief me", nil, penny, "none within 30 days", 0},
		{"dear", "every 1m", "brief me", nil, scheduler.Cost{Tokens: 4000, Micros: 50_000}, "about 43,200 runs a month, about $2,160.00", 2_160_000_000},
		{"limited", "0 9 * * 1-5", "brief me", func(j *scheduler.Job) { j.Tokens = 2000 }, penny, "about 20 runs a month, about $0.12", 120_000},
		{"limited above", "0 9 * * 1-5", "brief me", func(j *scheduler.Job) { j.Tokens = 9000 }, penny, "about 20 runs a month, about $0.24", 240_000},
	} {
		j, _, err := scheduler.New(scheduler.Draft{When: tc.when, Prompt: tc.prompt, Trust: event.Owner}, time.UTC, now)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if tc.change != nil {
			tc.change(&j)
		}
		e, err := scheduler.EstimateOf(j, tc.one, now)
		if err != nil || e.String() != tc.want || e.Micros != tc.micros {
			t.Errorf("%s: %q (%+v), %v, want %q", tc.name, e, e, err, tc.want)
		}
	}
	if _, err := scheduler.EstimateOf(scheduler.Job{Zone: "UTC", Spec: "cron"}, penny, now); err == nil {
		t.Error("a job that cannot run has an estimate")
	}
}
