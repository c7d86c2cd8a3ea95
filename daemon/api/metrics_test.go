package api_test

import (
	"testing"
	"time"

	"hob/daemon/api"
)

// TestFormat: the example of the format's page, as far as it is about counters and gauges.
func TestFormat(t *testing.T) {
	var p api.Metrics
	p.Counter("http_requests_total", "The total number of HTTP requests.",
		api.MetricSample{Labels: []string{"method", "post", "code", "200"}, Value: 1027}, api.MetricSample{Labels: []string{"method", "post", "code", "400"}, Value: 3})
	p.Gauge("msdos_file_access_time_seconds", "A \\ and\na line break; quotes \"stay\".",
		api.MetricSample{Labels: []string{"path", `C:\DIR\FILE.TXT`, "error", "Cannot find file:\n\"FILE.TXT\""}, Value: 1.458255915e9})
	p.Gauge("nothing", "Has no samples and does not appear.")
	p.Gauge("by_state", "In order.", api.SamplesBy("state", map[string]int64{"b": 2, "a": 0})...)
	p.Number("odd", "Not UTF-8: \xff.", api.BoolValue(true))
	want := `# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027
http_requests_total{method="post",code="400"} 3
# HELP msdos_file_access_time_seconds A \\ and\na line break; quotes "stay".
# TYPE msdos_file_access_time_seconds gauge
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e+09
# HELP by_state In order.
# TYPE by_state gauge
by_state{state="a"} 0
by_state{state="b"} 2
# HELP odd Not UTF-8: ` + "\uFFFD" + `.
# TYPE odd gauge
odd 1
`
	if p.String() != want {
		t.Errorf("%s\nwant\n%s", p.String(), want)
	}
}

func TestSeconds(t *testing.T) {
	if got := api.UnixSeconds(time.Date(2001, 9, 9, 1, 46, 40, 250_000_000, time.UTC)); got != 1_000_000_000.25 {
		t.Errorf("%f", got)
	}
}
