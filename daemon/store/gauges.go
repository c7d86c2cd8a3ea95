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

// unpriced are, in SQL, the steps p whose tokens have no known price.
const unpriced = "p.kind = 'model' AND p.state IN ('done', 'unknown') AND coalesce(p.usage ->> 'priced', 0) = 0 AND coalesce(p.usage ->> 'input', 0) + coalesce(p.usage ->> 'output', 0) > 0"

// Gauges are the numbers that a monitor asks for again and again.
type Gauges struct {
	Inbox     map[string]int64 // rows by state; states without rows are 0
	Turns     map[string]int64
	Outbox    map[string]int64
	Questions int64 // open ones
	Jobs      int64 // that are not removed
	Events    int64 // the number of the newest one
	Requests  []Requests
}

// Requests sums up the requests to one model that came to the same end, since the database began.
type Requests struct {
	Model  string
	Fault  string // of llm, "interrupted", "other"; "" is none
	Count  int64
	Input  int64 // tokens, the cached ones among them
	Cached int64
	Output int64
	Micros int64 // cost, in millionths of the budget's currency

	Unpriced int64 // how many of them have no known price
}

// interruptedRequest is the fault of requests that did not end as a model's: hob ended in the middle, or the turn was stopped.
const interruptedRequest = "interrupted"

// Meter counts what Gauges holds, again and again. It is safe for concurrent use.
type Meter struct {
	rows  *sqlite.Readers
	asked requestTally
}

// Gauges counts. Requests of turns that have ended are added up once and remembered.
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
	err := s.rows.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM questions WHERE state = 'open'), (SELECT count(*) FROM triggers WHERE kind = 'job' AND removed = 0),
		(SELECT coalesce(max(seq), 0) FROM events)`).Scan(&g.Questions, &g.Jobs, &g.Events)
	if err != nil {
		return g, fmt.Errorf("count: %w", err)
	}
	g.Requests, err = s.asked.count(ctx, s.rows)
	return g, err
}

func zeroCounts(states string) map[string]int64 {
	m := map[string]int64{}
	for _, s := range strings.Fields(states) {
		m[s] = 0
	}
	return m
}

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

// spendSources lists who the money of a day was spent for, the dearest first.
func spendSources(ctx context.Context, read *sqlite.Readers, day string) ([]api.Spent, error) {
	rs, err := read.QueryContext(ctx, `SELECT substr(scope, length('source:') + 1), used_micros, reserved_micros, used_tokens, reserved_tokens FROM spend
		WHERE day = ? AND scope LIKE 'source:%' ORDER BY used_micros + reserved_micros DESC, used_tokens + reserved_tokens DESC, scope`, day)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (api.Spent, error) {
		var p api.Spent
		err := rs.Scan(&p.Source, &p.Used, &p.ReservedMicros, &p.UsedTokens, &p.ReservedTokens)
		p.Used = api.CostOf(int64(p.Used), p.UsedTokens)
		return p, err
	})
}

// requestTally adds up the requests of ended turns once: their rows change no more. The others are counted anew each time.
type requestTally struct {
	mu      sync.Mutex
	through int64   // the newest turn that was seen
	open    []int64 // turns up to it that had not ended
	sums    map[requestOutcome]Requests
}

// requestOutcome is what requests are added up by.
type requestOutcome struct{ model, fault string }

// askedRequest is the requests of one turn that came to the same end; a turn without any has Count 0.
type askedRequest struct {
	turn  int64
	ended bool
	Requests
}

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
		into := t.sums
		if !a.ended {
			into = now
			t.open = append(t.open, a.turn)
		}
		if a.Count > 0 {
			a.addTo(into)
		}
	}
	for _, r := range t.sums {
		r.addTo(now)
	}
	return slices.SortedFunc(maps.Values(now), func(a, b Requests) int {
		return strings.Compare(a.Model+"\x00"+a.Fault, b.Model+"\x00"+b.Fault)
	}), nil
}

func (r Requests) addTo(sums map[requestOutcome]Requests) {
	key := requestOutcome{r.Model, r.Fault}
	s := sums[key]
	s.Model, s.Fault = r.Model, r.Fault
	s.Count, s.Input, s.Cached, s.Output, s.Micros = s.Count+r.Count, s.Input+r.Input, s.Cached+r.Cached, s.Output+r.Output, s.Micros+r.Micros
	s.Unpriced += r.Unpriced
	sums[key] = s
}

// fresh reads the requests of all turns that are new or had not ended, in one look.
func (t *requestTally) fresh(ctx context.Context, read *sqlite.Readers) ([]askedRequest, error) {
	open, err := json.Marshal(append([]int64{}, t.open...))
	if err != nil {
		return nil, err
	}
	rs, err := read.QueryContext(ctx, `SELECT t.id, t.ended > 0, coalesce(p.model, ''), coalesce(p.state = 'unknown', 0), coalesce(p.fault, ''), count(p.n), coalesce(sum(p.usage ->> 'input'), 0),
		coalesce(sum(p.usage ->> 'cached'), 0), coalesce(sum(p.usage ->> 'output'), 0), coalesce(sum(p.usage ->> 'cost_micros'), 0),
		coalesce(sum(`+unpriced+`), 0)
		FROM turns t LEFT JOIN steps p ON p.turn = t.id AND p.kind = 'model' AND p.state IN ('done', 'unknown')
		WHERE t.id > ? OR t.id IN (SELECT value FROM json_each(?)) GROUP BY 1, 2, 3, 4, 5`, t.through, string(open)) // #nosec G202 -- a constant
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (askedRequest, error) {
		var a askedRequest
		var lost bool
		err := rs.Scan(&a.turn, &a.ended, &a.Model, &lost, &a.Fault, &a.Count, &a.Input, &a.Cached, &a.Output, &a.Micros, &a.Unpriced)
		if lost && a.Fault == "" {
			a.Fault = interruptedRequest
		}
		return a, err
	})
}

// Write adds the numbers to a page for Prometheus.
func (g Gauges) Write(p *api.Metrics) {
	p.Gauge("hob_inbox_rows", "Inbox rows by state.", api.SamplesBy("state", g.Inbox)...)
	p.Gauge("hob_turns", "Turns by state.", api.SamplesBy("state", g.Turns)...)
	p.Gauge("hob_outbox_rows", "Messages in the outbox by state.", api.SamplesBy("state", g.Outbox)...)
	p.Number("hob_questions_open", "Questions that wait for the owner.", float64(g.Questions))
	p.Number("hob_jobs", "Jobs that are not removed.", float64(g.Jobs))
	p.Counter("hob_events_total", "Events of the live view, ever.", api.MetricSample{Value: float64(g.Events)})
	countRequests(p, g.Requests)
}

// countRequests sums up what models were asked; failures are by the kind of fault.
func countRequests(p *api.Metrics, list []Requests) {
	asked, unpriced, cost, counted := map[string]int64{}, map[string]int64{}, map[string]float64{}, map[string][3]int64{}
	var failed, tokens []api.MetricSample
	for _, r := range list {
		asked[r.Model] += r.Count
		unpriced[r.Model] += r.Unpriced
		cost[r.Model] += float64(r.Micros) / 1e6
		c := counted[r.Model]
		counted[r.Model] = [3]int64{c[0] + r.Input - r.Cached, c[1] + r.Cached, c[2] + r.Output}
		if r.Fault != "" {
			failed = append(failed, api.MetricSample{Labels: []string{"model", r.Model, "fault", r.Fault}, Value: float64(r.Count)})
		}
	}
	for model, n := range unpriced {
		if n == 0 {
			delete(unpriced, model)
		} else if cost[model] == 0 {
			delete(cost, model) // it is not known, and not 0
		}
	}
	for _, model := range slices.Sorted(maps.Keys(counted)) {
		for i, kind := range []string{"input", "cached", "output"} {
			tokens = append(tokens, api.MetricSample{Labels: []string{"model", model, "kind", kind}, Value: float64(counted[model][i])})
		}
	}
	p.Counter("hob_model_requests_total", "Requests to a model that have ended.", api.SamplesBy("model", asked)...)
	p.Counter("hob_model_failures_total", "Requests to a model that gave nothing usable, by fault.", failed...)
	p.Counter("hob_model_tokens_total", "Tokens of a model: fresh input, cached input, output.", tokens...)
	p.Counter("hob_model_cost_total", "What a model has cost where its price is known, in the budget's currency.", api.SamplesBy("model", cost)...)
	p.Counter("hob_model_unpriced_requests_total", "Requests to a model whose price is not known.", api.SamplesBy("model", unpriced)...)
}
