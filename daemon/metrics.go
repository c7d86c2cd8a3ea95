package daemon

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/daemon/store"
	"hob/daemon/store/view"
)

// LogFile is where hob's log is.
func (d overview) LogFile() string { return filepath.Join(d.opt.state(), "log", "hob.log") }

// Metrics are hob's numbers in the text format of Prometheus, version 0.0.4
// (prometheus.io/docs/instrumenting/exposition_formats). Counters about models count since the database began, so that a restart is
// no reset.
func (d overview) Metrics(ctx context.Context) ([]byte, error) {
	s, err := d.look(ctx)
	if err != nil {
		return nil, err
	}
	g, err := d.view.Gauges(ctx)
	if err != nil {
		return nil, err
	}
	var e exposition
	e.rows(g)
	e.requests(g.Requests)
	e.budget(s.Budget)
	e.health(s)
	e.progress(d.clock.Wall(), d.clock.Mono(), map[string]time.Duration{"thread": d.thread.Beat(), "scheduler": d.runner.Progress()})
	e.gauge("hob_uptime_seconds", "How long hob has run.", float64(s.UptimeMS)/1000)
	e.process(s.Started)
	e.family("hob_build_info", "gauge", "What runs; always 1.", sample{labels: []string{"version", d.opt.Version, "go", runtime.Version(), "system", runtime.GOOS + "/" + runtime.GOARCH}, value: 1})
	return []byte(d.secrets.Text(e.String())), nil
}

// exposition is a document that is written family by family.
type exposition struct{ strings.Builder }

// sample is one line of a family. labels are names and values in turn.
type sample struct {
	labels []string
	value  float64
}

// family writes all samples of one name together, under its help and its type.
func (e *exposition) family(name, kind, help string, samples ...sample) {
	if len(samples) == 0 {
		return
	}
	escaped := strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help)
	fmt.Fprintf(e, "# HELP %s %s\n# TYPE %s %s\n", name, escaped, name, kind)
	value := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	for _, s := range samples {
		e.WriteString(name)
		for i := 0; i+1 < len(s.labels); i += 2 {
			open := ","
			if i == 0 {
				open = "{"
			}
			e.WriteString(open + s.labels[i] + `="` + value.Replace(strings.ToValidUTF8(s.labels[i+1], "\uFFFD")) + `"`)
		}
		if len(s.labels) > 0 {
			e.WriteString("}")
		}
		e.WriteString(" " + strconv.FormatFloat(s.value, 'g', -1, 64) + "\n")
	}
}

// gauge writes a family of one number.
func (e *exposition) gauge(name, help string, value float64) {
	e.family(name, "gauge", help, sample{value: value})
}

func (e *exposition) rows(g view.Gauges) {
	e.family("hob_inbox_rows", "gauge", "Inbox rows by state.", byLabel("state", g.Inbox)...)
	e.family("hob_turns", "gauge", "Turns by state.", byLabel("state", g.Turns)...)
	e.family("hob_outbox_rows", "gauge", "Messages in the outbox by state.", byLabel("state", g.Outbox)...)
	e.gauge("hob_questions_open", "Questions that wait for the owner.", float64(g.Questions))
	e.gauge("hob_jobs", "Jobs that are not removed.", float64(g.Jobs))
	e.family("hob_events_total", "counter", "Events of the live view, ever.", sample{value: float64(g.Events)})
}

func byLabel[N int64 | float64](label string, values map[string]N) []sample {
	var list []sample
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, sample{[]string{label, key}, float64(values[key])})
	}
	return list
}

// requests sums up what models were asked; failures are by the kind of fault.
func (e *exposition) requests(list []view.Requests) {
	asked, cost := map[string]int64{}, map[string]float64{}
	var failed, tokens []sample
	counted := map[string][3]int64{}
	for _, r := range list {
		asked[r.Model] += r.Count
		cost[r.Model] += money(r.Micros)
		c := counted[r.Model]
		counted[r.Model] = [3]int64{c[0] + r.Input - r.Cached, c[1] + r.Cached, c[2] + r.Output}
		if r.Fault != "" {
			failed = append(failed, sample{[]string{"model", r.Model, "fault", r.Fault}, float64(r.Count)})
		}
	}
	for _, model := range slices.Sorted(maps.Keys(counted)) {
		for i, kind := range []string{"input", "cached", "output"} {
			tokens = append(tokens, sample{[]string{"model", model, "kind", kind}, float64(counted[model][i])})
		}
	}
	e.family("hob_model_requests_total", "counter", "Requests to a model that have ended.", byLabel("model", asked)...)
	e.family("hob_model_failures_total", "counter", "Requests to a model that gave nothing usable, by fault.", failed...)
	e.family("hob_model_tokens_total", "counter", "Tokens of a model: fresh input, cached input, output.", tokens...)
	e.family("hob_model_cost_total", "counter", "What a model has cost, in the budget's currency.", byLabel("model", cost)...)
}

// budget is the day's spending; a cap that is not set has no sample.
func (e *exposition) budget(b store.Budget) {
	e.family("hob_budget_money", "gauge", "Money of the owner's present day, in the budget's currency.",
		sample{[]string{"part", "used"}, money(b.UsedMicros)}, sample{[]string{"part", "reserved"}, money(b.ReservedMicros)})
	e.family("hob_budget_tokens", "gauge", "Tokens of the owner's present day at an unknown price.",
		sample{[]string{"part", "used"}, float64(b.UsedTokens)}, sample{[]string{"part", "reserved"}, float64(b.ReservedTokens)})
	var limits []sample
	if b.PerDayMicros >= 0 {
		limits = append(limits, sample{[]string{"unit", "money"}, money(b.PerDayMicros)})
	}
	if b.PerDayTokens >= 0 {
		limits = append(limits, sample{[]string{"unit", "tokens"}, float64(b.PerDayTokens)})
	}
	e.family("hob_budget_limit", "gauge", "Caps of a day.", limits...)
}

// health is how channels, config and safe mode are.
func (e *exposition) health(s Status) {
	var up []sample
	for _, c := range s.Channels {
		up = append(up, sample{[]string{"channel", c.Name, "direction", "receive"}, truth(c.Receiving.State == "ok")},
			sample{[]string{"channel", c.Name, "direction", "send"}, truth(c.Sending.State == "ok")})
	}
	e.family("hob_channel_up", "gauge", "Whether a channel's last attempt went well.", up...)
	e.gauge("hob_safe_mode", "Whether safe mode is on.", truth(s.SafeMode.On))
	e.gauge("hob_config_problems", "Remarks on the config.", float64(len(s.Config)))
	e.family("hob_database_bytes", "gauge", "Size of the database's files.",
		sample{[]string{"file", "main"}, float64(s.Database.Bytes)}, sample{[]string{"file", "wal"}, float64(s.Database.WAL)})
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// progress turns readings of the monotonic clock into instants: time() minus them is how long nothing has moved.
func (e *exposition) progress(wall time.Time, mono time.Duration, last map[string]time.Duration) {
	at := map[string]float64{}
	for part, beat := range last {
		at[part] = unixSeconds(wall.Add(beat - mono))
	}
	e.family("hob_progress_timestamp_seconds", "gauge", "When a part last made progress, since 1970.", byLabel("component", at)...)
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// process is what Prometheus' own clients tell of a process, under the same names.
func (e *exposition) process(started time.Time) {
	e.gauge("process_start_time_seconds", "When the process started, since 1970.", unixSeconds(started))
	if n, ok := resident(); ok {
		e.gauge("process_resident_memory_bytes", "Memory of the process that is in RAM.", n)
	}
	read := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(read)
	for i, name := range []string{"hob_memory_mapped_bytes", "go_memstats_alloc_bytes", "go_goroutines"} {
		help := []string{"Memory that the Go runtime has mapped.", "Memory of live objects and of those not swept yet.", "Goroutines that exist."}[i]
		if read[i].Value.Kind() == metrics.KindUint64 {
			e.gauge(name, help, float64(read[i].Value.Uint64()))
		}
	}
}

// resident reads the second field of /proc/self/statm, which counts pages (proc(5)). Other systems have none.
func resident() (float64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()), err == nil
}
