package scheduler

import (
	"fmt"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/text"
	"hob/scheduler/spec"
)

// month is the period of an estimate.
const month = 30 * 24 * time.Hour

// The assumed tokens of a run without history, and the fraction of all tokens that is output.
const (
	guessInput  = 3_500
	guessOutput = 500
	outputPart  = (guessInput + guessOutput) / guessOutput
)

// million is the number of tokens that a price refers to.
const million = 1_000_000

// Cost is the cost of one run. Micros are millionths of the budget's currency; 0 if the price is unknown.
type Cost struct {
	Free   bool
	Micros int64
	Tokens int64
}

// CostOf predicts the cost of one run from the mean of earlier runs, which is zero if there are none. input and output are the model's
// price in millionths per million tokens, both 0 if unknown.
func CostOf(mean Cost, input, output int64) Cost {
	if mean.Free {
		return mean
	}
	if mean.Tokens <= 0 {
		mean = Cost{Tokens: guessInput + guessOutput}
	}
	if mean.Micros == 0 {
		// A token costs the mean of both prices, weighted by the usual parts of input and output. The sum is rounded up.
		mean.Micros = (mean.Tokens*((outputPart-1)*input+output)/outputPart + million - 1) / million
	}
	return mean
}

// EstimateOf counts a job's slots of the next month and their cost, each assumed equal. A run uses no more tokens than the job's limit. The
// error is the reason that the job's row cannot be used.
func EstimateOf(j Job, one Cost, now time.Time) (Estimate, error) {
	zone, err := Zone(j.Zone)
	if err != nil {
		return Estimate{}, err
	}
	s, err := spec.Parse(j.Spec)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Once: !s.Recurring(), Most: !j.Gate.Always(), Free: one.Free || !event.AsksModel(j.Prompt, j.Plain)}
	first, ok := s.Next(now, zone, j.Start())
	if until := now.Add(month); ok && !first.After(until) {
		// Only the number is needed: with the limit 1, Overdue counts all slots but the newest.
		list, older := s.Overdue(first, until, zone, j.Start(), 1)
		e.Runs = int64(len(list)) + older
	}
	if e.Once && ok {
		e.Runs = 1
	}
	if !e.Free {
		e.cost(one, j.Tokens)
	}
	e.Text = e.String()
	return e, nil
}

// cost adds the cost of the runs. limit is the most tokens of one run; 0: no limit.
func (e *Estimate) cost(one Cost, limit int64) {
	if limit > 0 && one.Tokens > limit {
		// A run that is stopped at its limit costs in proportion.
		one.Micros, one.Tokens = one.Micros*limit/one.Tokens, limit
	}
	e.Micros, e.Tokens = e.Runs*one.Micros, e.Runs*one.Tokens
}

// String formats the estimate in one line: "about 22 runs a month, about $0.40".
func (e Estimate) String() string {
	times := "about " + text.Thousands(e.Runs) + " " + pick(e.Runs, "run", "runs") + " a month"
	switch {
	case e.Once && e.Runs == 0:
		return "no run to come"
	case e.Once:
		times = "one run"
	case e.Runs == 0:
		return "none within 30 days"
	}
	about := "about "
	if e.Most {
		about = "at most "
	}
	switch {
	case e.Free:
		return times + ", free"
	case e.Micros > 0:
		return times + ", " + about + dollars(e.Micros)
	}
	return times + ", " + about + text.Thousands(e.Tokens) + " tokens"
}

// dollars formats an amount; below 10 cents with up to four decimals.
func dollars(micros int64) string {
	if micros < 100_000 {
		text := fmt.Sprintf("%.4f", float64((micros+99)/100)/10_000)
		for strings.HasSuffix(text, "0") && len(text) > len("0.00") {
			text = text[:len(text)-1]
		}
		return "$" + text
	}
	cents := (micros + 5_000) / 10_000
	return fmt.Sprintf("$%s.%02d", text.Thousands(cents/100), cents%100)
}
