package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"hob/daemon/api"
	"hob/daemon/sqlite"
)

// unpriced selects, in SQL, the steps p with tokens but without a known price.
const unpriced = "p.kind = 'model' AND p.state IN ('done', 'unknown') AND coalesce(p.usage ->> 'priced', 0) = 0 AND coalesce(p.usage ->> 'input', 0) + coalesce(p.usage ->> 'output', 0) > 0"

// Gauges are the numbers for monitoring.
type Gauges struct {
	Inbox     map[string]int64 // rows by state, including states without rows
	Turns     map[string]int64
	Outbox    map[string]int64
	Questions int64 // open ones
	Jobs      int64 // without removed ones
	Events    int64 // number of the newest event
	Requests  []Requests
}

// Requests sums up the requests to one model with the same result, since the database was created.
type Requests struct {
	Model   string
	Fault   string // of llm, "interrupted" or "other"; "": success
	Count   int64
	Input   int64 // tokens, including cached and written ones
	Cached  int64 // read from the provider's cache
	Written int64 // written to it
	Output  int64
	Micros  int64 // in millionths of the budget's currency

	Unpriced int64 // number of requests without a known price
}

// interruptedRequest is the fault of a request that was cut off by a crash or by stopping the turn.
const interruptedRequest = "interrupted"

// Meter computes Gauges. It is safe for concurrent use.
type Meter struct {
	rows  *sqlite.Readers
	asked requestTally
}

// Gauges computes the numbers. Requests of ended turns are summed up once and cached.
func (s *Meter) Gauges(ctx context.Context) (Gauges, error) {
	g := Gauges{
		Inbox:  zeroCounts("queued held joined done dropped expired dead"),
		Turns:  zeroCounts("ready running waiting done failed stopped dead"),
		Outbox: zeroCounts("draft held ready done cancelled expired dead"),
	}
	for table, counts := range map[string]map[string]int64{"inbox": g.Inbox, "turns": g.Turns, "outbox": g.Outbox} {
		if err := s.byState(ctx, table, counts); err != nil {
			return g, fmt.Errorf("count %s: %w", table, err)
		}
	}
	err := s.rows.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM questions WHERE state = 'open'), (SELECT count(*) FROM triggers WHERE `+ofJobs+` AND removed = 0),
		(SELECT coalesce(max(seq), 0) FROM events)`).Scan(&g.Questions, &g.Jobs, &g.Events)
	if err != nil {
		return g, fmt.Errorf("count: %w", err)
	}
	g.Requests, err = s.asked.count(ctx, s.rows)
	return g, err
}

// zeroCounts returns a count of 0 for each state, so that a state without rows is shown too.
func zeroCounts(states string) map[string]int64 {
	m := map[string]int64{}
	for _, s := range strings.Fields(states) {
		m[s] = 0
	}
	return m
}

// byState counts the rows of a table by their state.
func (s *Meter) byState(ctx context.Context, table string, counts map[string]int64) error {
	rs, err := s.rows.QueryContext(ctx, "SELECT state, count(*) FROM "+table+" GROUP BY state") // #nosec G202 -- a constant
	_, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (struct{}, error) {
		var state string
		var n int64
		err := rs.Scan(&state, &n)
		counts[state] = n
		return struct{}{}, err
	})
	return err
}

// spendSources lists the sources of a day's spending, most expensive first.
func spendSources(ctx context.Context, read *sqlite.Readers, day string) ([]api.Spent, error) {
	rs, err := read.QueryContext(ctx, `SELECT substr(scope, length('source:') + 1), used_micros, reserved_micros, used_tokens, reserved_tokens FROM spend
		WHERE day = ? AND scope LIKE 'source:%' ORDER BY used_micros + reserved_micros DESC, used_tokens + reserved_tokens DESC, scope`, day)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (p api.Spent, err error) {
		err = rs.Scan(&p.Source, &p.Used, &p.ReservedMicros, &p.UsedTokens, &p.ReservedTokens)
		p.Used = api.CostOf(int64(p.Used), p.UsedTokens)
		return p, err
	})
}

// requestTally caches the sums of ended turns, whose rows no longer change. Open turns are counted each time.
type requestTally struct {
	mu      sync.Mutex
	through int64   // newest turn seen
	open    []int64 // turns up to it that were still open
	sums    map[requestOutcome]Requests
}

// requestOutcome is the key of a sum.
type requestOutcome struct{ model, fault string }

// turnRequests is the requests of one turn with the same result; Count is 0 for a turn without requests.
type turnRequests struct {
	turn  int64
	ended bool
	Requests
}

// count returns the requests per model and fault.
//
// The steps of turns that have ended do not change any more, so their sums are kept, and each call reads only newer turns and those that
// were open before.
func (t *requestTally) count(ctx context.Context, read *sqlite.Readers) ([]Requests, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, err := t.fresh(ctx, read)
	if err != nil {
		return nil, fmt.Errorf("count requests: %w", err)
	}
	if t.sums == nil {
		t.sums = map[requestOutcome]Requests{}
	}
	t.open = nil
	now := map[requestOutcome]Requests{}
	for _, a := range list {
		t.through = max(t.through, a.turn)
		// Only the sums of ended turns last. Those of open turns are counted anew each time.
		into := t.sums
		if !a.ended {
			into = now
			t.open = append(t.open, a.turn)
		}
		if a.Count > 0 {
			a.addTo(into)
		}
	}
	// now has the open turns so far; add the sums of the ended ones.
	for _, r := range t.sums {
		r.addTo(now)
	}
	return slices.SortedFunc(maps.Values(now), func(a, b Requests) int {
		return strings.Compare(a.Model+"\x00"+a.Fault, b.Model+"\x00"+b.Fault)
	}), nil
}

// addTo adds the numbers to the sum of the same model and fault.
func (r Requests) addTo(sums map[requestOutcome]Requests) {
	key := requestOutcome{r.Model, r.Fault}
	s := sums[key]
	s.Model, s.Fault = r.Model, r.Fault
	s.Count, s.Input, s.Cached, s.Written = s.Count+r.Count, s.Input+r.Input, s.Cached+r.Cached, s.Written+r.Written
	s.Output, s.Micros, s.Unpriced = s.Output+r.Output, s.Micros+r.Micros, s.Unpriced+r.Unpriced
	sums[key] = s
}

// fresh reads the requests of all turns that are new or were still open.
func (t *requestTally) fresh(ctx context.Context, read *sqlite.Readers) ([]turnRequests, error) {
	open, err := json.Marshal(append([]int64{}, t.open...))
	if err != nil {
		return nil, err
	}
	rs, err := read.QueryContext(ctx, `SELECT t.id, t.ended > 0, coalesce(p.model, ''), coalesce(p.state = 'unknown', 0), coalesce(p.fault, ''), count(p.n), coalesce(sum(p.usage ->> 'input'), 0),
		coalesce(sum(p.usage ->> 'cached'), 0), coalesce(sum(p.usage ->> 'cache_written'), 0), coalesce(sum(p.usage ->> 'output'), 0), coalesce(sum(p.usage ->> 'cost_micros'), 0),
		coalesce(sum(`+unpriced+`), 0)
		FROM turns t LEFT JOIN steps p ON p.turn = t.id AND p.kind = 'model' AND p.state IN ('done', 'unknown')
		WHERE t.id > ? OR t.id IN (SELECT value FROM json_each(?)) GROUP BY 1, 2, 3, 4, 5`, t.through, string(open)) // #nosec G202 -- a constant
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (a turnRequests, err error) {
		var lost bool
		err = rs.Scan(&a.turn, &a.ended, &a.Model, &lost, &a.Fault, &a.Count, &a.Input, &a.Cached, &a.Written, &a.Output, &a.Micros, &a.Unpriced)
		if lost && a.Fault == "" {
			a.Fault = interruptedRequest
		}
		return a, err
	})
}

// Write adds the numbers to a Prometheus page.
func (g Gauges) Write(p *api.Metrics) {
	p.Gauge("hob_inbox_rows", "Inbox rows by state.", api.SamplesBy("state", g.Inbox)...)
	p.Gauge("hob_turns", "Turns by state.", api.SamplesBy("state", g.Turns)...)
	p.Gauge("hob_outbox_rows", "Messages in the outbox by state.", api.SamplesBy("state", g.Outbox)...)
	p.Number("hob_questions_open", "Questions that wait for the owner.", float64(g.Questions))
	p.Number("hob_jobs", "Jobs that are not removed.", float64(g.Jobs))
	p.Counter("hob_events_total", "Events of the live view, ever.", api.MetricSample{Value: float64(g.Events)})
	countRequests(p, g.Requests)
}

// countRequests adds the requests per model, and failures by fault.
func countRequests(p *api.Metrics, list []Requests) {
	asked, unpriced, cost, counted := map[string]int64{}, map[string]int64{}, map[string]float64{}, map[string]map[string]int64{}
	var failed, tokens []api.MetricSample
	for _, r := range list {
		asked[r.Model] += r.Count
		unpriced[r.Model] += r.Unpriced
		cost[r.Model] += float64(r.Micros) / 1e6
		if counted[r.Model] == nil {
			counted[r.Model] = map[string]int64{}
		}
		// Input includes the tokens of the cache; the page shows them apart.
		for kind, n := range map[string]int64{"input": r.Input - r.Cached - r.Written, "cached": r.Cached, "written": r.Written, "output": r.Output} {
			counted[r.Model][kind] += n
		}
		if r.Fault != "" {
			failed = append(failed, api.MetricSample{Labels: []string{"model", r.Model, "fault", r.Fault}, Value: float64(r.Count)})
		}
	}
	for model, n := range unpriced {
		if n == 0 {
			delete(unpriced, model)
		} else if cost[model] == 0 {
			delete(cost, model) // the cost is unknown, not 0
		}
	}
	for _, model := range slices.Sorted(maps.Keys(counted)) {
		for _, kind := range []string{"input", "cached", "written", "output"} {
			n := counted[model][kind]
			if kind == "written" && n == 0 {
				continue // most providers do not count it
			}
			tokens = append(tokens, api.MetricSample{Labels: []string{"model", model, "kind", kind}, Value: float64(n)})
		}
	}
	p.Counter("hob_model_requests_total", "Requests to a model that have ended.", api.SamplesBy("model", asked)...)
	p.Counter("hob_model_failures_total", "Requests to a model that gave nothing usable, by fault.", failed...)
	p.Counter("hob_model_tokens_total", "Tokens of a model: fresh input, cached input, input written to the cache, output.", tokens...)
	p.Counter("hob_model_cost_total", "What a model has cost where its price is known, in the budget's currency.", api.SamplesBy("model", cost)...)
	p.Counter("hob_model_unpriced_requests_total", "Requests to a model whose price is not known.", api.SamplesBy("model", unpriced)...)
}
