package daemon

import (
	"context"
	"path/filepath"
	"runtime"
	"time"

	"hob/channels"
	"hob/daemon/api"
)

// LogFile returns the path of hob's log.
func (d status) LogFile() string { return filepath.Join(d.opt.state(), "log", "hob.log") }

// Metrics returns hob's numbers in the text format of Prometheus. Counters of models begin with the database, so that a restart does not reset them.
// GET /metrics serves them. The names of the metrics are part of the API: monitors of users depend on them.
func (d status) Metrics(ctx context.Context) ([]byte, error) {
	s, err := d.look(ctx)
	if err != nil {
		return nil, err
	}
	// look has what hob status shows too; Gauges has the counts that only a monitor needs.
	g, err := d.view.Gauges(ctx)
	if err != nil {
		return nil, err
	}
	p := &api.Metrics{}
	p.Gauge("hob_build_info", "What runs; always 1.", api.MetricSample{Labels: []string{"version", d.opt.Version, "go", runtime.Version(), "system", runtime.GOOS + "/" + runtime.GOARCH}, Value: 1})
	g.Write(p)
	countSpending(p, s.Budget)
	p.Gauge("hob_channel_up", "Whether a channel's last attempt went well.", upSamples(s.Channels)...)
	p.Number("hob_safe_mode", "Whether safe mode is on.", api.BoolValue(s.SafeMode.On))
	p.Number("hob_config_problems", "Remarks on the config.", float64(len(s.Config)))
	p.Gauge("hob_database_bytes", "Size of the database's files.", api.SamplesBy("file", map[string]int64{"main": s.Database.Bytes, "wal": s.Database.WAL})...)
	p.Number("hob_uptime_seconds", "How long hob has run.", float64(s.UptimeMS)/1000)
	wall, mono := d.clock.Wall(), d.clock.Mono()
	p.Gauge("hob_progress_timestamp_seconds", "When a part last made progress, since 1970.", api.SamplesBy("component", map[string]float64{
		"thread": instant(wall, mono, d.turn.Beat(mono)), "scheduler": instant(wall, mono, d.runner.Progress()),
	})...)
	p.Process(s.Started)
	// Names of models and channels come from the config, so a secret could be in one.
	return []byte(d.hide(p.String())), nil
}

// instant turns a reading of the monotonic clock into seconds since 1970, so that time() minus it is the time without progress.
func instant(wall time.Time, mono, reading time.Duration) float64 {
	return api.UnixSeconds(wall.Add(reading - mono))
}

// countSpending adds the budget of the owner's current day. A cap that is not set has no sample.
func countSpending(p *api.Metrics, b api.Budget) {
	p.Gauge("hob_budget_money", "Money of the owner's present day, in the budget's currency.", api.SamplesBy("part", map[string]float64{"used": money(b.Used.Micros()), "reserved": money(b.ReservedMicros)})...)
	p.Gauge("hob_budget_tokens", "Tokens of the owner's present day at an unknown price.", api.SamplesBy("part", map[string]int64{"used": b.UsedTokens, "reserved": b.ReservedTokens})...)
	limits := map[string]float64{}
	if b.PerDayMicros >= 0 {
		limits["money"] = money(b.PerDayMicros)
	}
	if b.PerDayTokens >= 0 {
		limits["tokens"] = float64(b.PerDayTokens)
	}
	p.Gauge("hob_budget_limit", "Caps of a day.", api.SamplesBy("unit", limits)...)
}

// upSamples has two samples for each channel. A channel that has not sent anything yet counts as able to send.
func upSamples(list []channels.ChannelHealth) []api.MetricSample {
	var up []api.MetricSample
	for _, c := range list {
		up = append(up, api.MetricSample{Labels: []string{"channel", c.Name, "direction", "receive"}, Value: api.BoolValue(c.Receiving.State == channels.OK)},
			api.MetricSample{Labels: []string{"channel", c.Name, "direction", "send"}, Value: api.BoolValue(c.Sending.State == channels.OK || c.Sending.State == channels.Untried)})
	}
	return up
}
