package daemon

import (
	"context"
	"path/filepath"
	"runtime"
	"time"

	"hob/channels"
	"hob/daemon/api"
	"hob/daemon/prom"
)

// LogFile is where hob's log is.
func (d overview) LogFile() string { return filepath.Join(d.opt.state(), "log", "hob.log") }

// Metrics are hob's numbers in Prometheus' text format. Those about models count since the database began, so that a restart is no
// reset.
func (d overview) Metrics(ctx context.Context) ([]byte, error) {
	s, err := d.look(ctx)
	if err != nil {
		return nil, err
	}
	g, err := d.view.Gauges(ctx)
	if err != nil {
		return nil, err
	}
	p := &prom.Page{}
	p.Gauge("hob_build_info", "What runs; always 1.", prom.Sample{Labels: []string{"version", d.opt.Version, "go", runtime.Version(), "system", runtime.GOOS + "/" + runtime.GOARCH}, Value: 1})
	g.Write(p)
	countSpending(p, s.Budget)
	p.Gauge("hob_channel_up", "Whether a channel's last attempt went well.", upSamples(s.Channels)...)
	p.Number("hob_safe_mode", "Whether safe mode is on.", prom.Truth(s.SafeMode.On))
	p.Number("hob_config_problems", "Remarks on the config.", float64(len(s.Config)))
	p.Gauge("hob_database_bytes", "Size of the database's files.", prom.By("file", map[string]int64{"main": s.Database.Bytes, "wal": s.Database.WAL})...)
	p.Number("hob_uptime_seconds", "How long hob has run.", float64(s.UptimeMS)/1000)
	wall, mono := d.clock.Wall(), d.clock.Mono()
	p.Gauge("hob_progress_timestamp_seconds", "When a part last made progress, since 1970.", prom.By("component", map[string]float64{
		"thread": instant(wall, mono, d.thread.Beat()), "scheduler": instant(wall, mono, d.runner.Progress()),
	})...)
	p.Process(s.Started)
	return []byte(d.secrets.Text(p.String())), nil
}

// instant turns a reading of the monotonic clock into seconds since 1970: time() minus it is how long nothing has moved.
func instant(wall time.Time, mono, reading time.Duration) float64 {
	return prom.Seconds(wall.Add(reading - mono))
}

// countSpending is about the owner's present day; a cap that is not set has no sample.
func countSpending(p *prom.Page, b api.Budget) {
	p.Gauge("hob_budget_money", "Money of the owner's present day, in the budget's currency.", prom.By("part", map[string]float64{"used": money(b.Used.Micros()), "reserved": money(b.ReservedMicros)})...)
	p.Gauge("hob_budget_tokens", "Tokens of the owner's present day at an unknown price.", prom.By("part", map[string]int64{"used": b.UsedTokens, "reserved": b.ReservedTokens})...)
	limits := map[string]float64{}
	if b.PerDayMicros >= 0 {
		limits["money"] = money(b.PerDayMicros)
	}
	if b.PerDayTokens >= 0 {
		limits["tokens"] = float64(b.PerDayTokens)
	}
	p.Gauge("hob_budget_limit", "Caps of a day.", prom.By("unit", limits)...)
}

func upSamples(list []channels.ChannelHealth) []prom.Sample {
	var up []prom.Sample
	for _, c := range list {
		up = append(up, prom.Sample{Labels: []string{"channel", c.Name, "direction", "receive"}, Value: prom.Truth(c.Receiving.State == channels.OK)},
			prom.Sample{Labels: []string{"channel", c.Name, "direction", "send"}, Value: prom.Truth(c.Sending.State == channels.OK || c.Sending.State == channels.Untried)})
	}
	return up
}
