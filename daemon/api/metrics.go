package api

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Metrics is the page /metrics: numbers in the text format of Prometheus, version 0.0.4
// (prometheus.io/docs/instrumenting/exposition_formats). It is written one metric family at a time. Its zero value is empty.
type Metrics struct{ text strings.Builder }

// MetricSample is one line of a metric family. Labels alternates between names and values.
type MetricSample struct {
	Labels []string
	Value  float64
}

// String returns the document.
func (p *Metrics) String() string { return p.text.String() }

func (p *Metrics) write(parts ...string) {
	for _, s := range parts {
		p.text.WriteString(s)
	}
}

// Counter writes a family of counters, which only grow. By convention, name ends in _total.
func (p *Metrics) Counter(name, help string, samples ...MetricSample) {
	p.family(name, "counter", help, samples)
}

// Gauge writes a family of gauges, which go up and down.
func (p *Metrics) Gauge(name, help string, samples ...MetricSample) {
	p.family(name, "gauge", help, samples)
}

// Number writes a gauge with a single sample without labels.
func (p *Metrics) Number(name, help string, value float64) {
	p.Gauge(name, help, MetricSample{Value: value})
}

// family writes the help and type lines of a metric and all of its samples. Without samples it writes nothing.
func (p *Metrics) family(name, kind, help string, samples []MetricSample) {
	if len(samples) == 0 {
		return
	}
	p.write("# HELP ", name, " ", escape(help, ""), "\n# TYPE ", name, " ", kind, "\n")
	for _, s := range samples {
		p.write(name)
		for i := 0; i+1 < len(s.Labels); i += 2 {
			p.write(map[bool]string{true: "{", false: ","}[i == 0], s.Labels[i], `="`, escape(s.Labels[i+1], `"`), `"`)
		}
		if len(s.Labels) > 1 {
			p.write("}")
		}
		p.write(" ", strconv.FormatFloat(s.Value, 'g', -1, 64), "\n")
	}
}

// escape puts a backslash before backslashes and quotes, and writes line breaks as \n. It replaces invalid UTF-8.
func escape(text, quote string) string {
	text = strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(strings.ToValidUTF8(text, "\uFFFD"))
	if quote != "" {
		text = strings.ReplaceAll(text, quote, `\`+quote)
	}
	return text
}

// SamplesBy makes one sample for each entry, ordered by key.
func SamplesBy[N int64 | float64](label string, values map[string]N) []MetricSample {
	var list []MetricSample
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, MetricSample{[]string{label, key}, float64(values[key])})
	}
	return list
}

// BoolValue returns 1 for true and 0 for false.
func BoolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// UnixSeconds returns an instant in seconds since 1970, with milliseconds.
func UnixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// Process writes the metrics of the process under the names that the official Prometheus clients use: start time, resident
// memory, Go memory and goroutines.
func (p *Metrics) Process(started time.Time) {
	p.Number("process_start_time_seconds", "When the process started, since 1970.", UnixSeconds(started))
	if n, ok := resident(); ok {
		p.Number("process_resident_memory_bytes", "Memory of the process that is in RAM.", n)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.Number("go_memstats_sys_bytes", "Memory that the Go runtime has mapped.", float64(m.Sys))
	p.Number("go_memstats_alloc_bytes", "Memory of objects that are live or not swept yet.", float64(m.Alloc))
	p.Number("go_goroutines", "Goroutines that exist.", float64(runtime.NumGoroutine()))
}

// resident returns the resident memory in bytes, from the second field of /proc/self/statm, which counts pages (proc(5)). It
// returns false on systems without that file.
func resident() (float64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()), err == nil
}
