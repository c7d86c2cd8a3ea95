package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// Timing and limits of gap notices.
const (
	gatherFor  = time.Hour           // between two notices about a channel
	longKnown  = 30 * 24 * time.Hour // before a reported gap is forgotten
	maxReasons = 20                  // for each channel; further ones are counted together
)

// Gaps are the gaps of all channels, by name, as they are stored. The first gap is reported at once. Later
// ones within the hour are combined into one notice at its end, with their number and total length.
type Gaps map[string]ChannelGaps

// ChannelGaps holds the gaps of one channel.
type ChannelGaps struct {
	Reported int64     `json:"told"`    // time of the last notice about the channel, in Unix seconds
	Reasons  []Missing `json:"reasons"` // including reported ones, so that the same period is not reported twice
}

// Missing combines the gaps with one reason. Times are Unix seconds.
type Missing struct {
	Why   string `json:"why"`
	Times int64  `json:"times"` // gaps since the last notice; 0: all were reported
	From  int64  `json:"from"`  // beginning of the first gap
	Last  int64  `json:"last"`  // beginning of the last gap
	To    int64  `json:"to"`    // end of the last gap
	All   int64  `json:"all"`   // total length in seconds
}

// ReadGaps parses a text that String made; "" is empty.
func ReadGaps(text string) (Gaps, error) { return readStored[ChannelGaps](text, "gaps") }

// String returns the stored form.
func (g Gaps) String() string { return stored(g) }

// readStored reads what stored has written; "" is empty.
func readStored[T any](text, what string) (map[string]T, error) {
	all := map[string]T{}
	if text == "" {
		return all, nil
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("read the %s of channels: %w", what, err)
	}
	return all, nil
}

// stored encodes what is known of channels, by name; "": nothing.
func stored[T any](all map[string]T) string {
	if len(all) == 0 {
		return ""
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic("admin: " + err.Error()) // strings, numbers and booleans can always be encoded
	}
	return string(text)
}

// Add records a gap. A gap that is already known changes nothing.
func (g Gaps) Add(channel string, gap channels.Gap) {
	c := g[channel]
	m := Missing{Why: gap.Why, Times: 1, From: gap.From.Unix(), Last: gap.From.Unix(), To: gap.To.Unix(), All: gap.To.Unix() - gap.From.Unix()}
	if c.reason(m.Why) < 0 && len(c.Reasons) >= maxReasons {
		c.Reasons = slices.DeleteFunc(c.Reasons, func(m Missing) bool { return m.Times == 0 })
	}
	if c.reason(m.Why) < 0 && len(c.Reasons) >= maxReasons {
		m.Why = "for other reasons"
	}
	if at := c.reason(m.Why); at >= 0 {
		c.Reasons[at].add(m)
	} else {
		c.Reasons = append(c.Reasons, m)
	}
	g[channel] = c
}

// reason returns the index of a reason, -1 if there is none.
func (c ChannelGaps) reason(why string) int {
	return slices.IndexFunc(c.Reasons, func(m Missing) bool { return m.Why == why })
}

// add records one more gap. A gap that is repeated after a crash has the same beginning, and may be longer.
func (m *Missing) add(next Missing) {
	switch {
	case next.From >= m.Last && next.To <= m.To:
	case m.Times == 0:
		*m = next
	case next.From == m.Last:
		m.All += next.To - m.To
		m.To = next.To
	default:
		m.Times++
		m.All += max(0, next.To-max(next.From, m.To))
		m.From, m.Last, m.To = min(m.From, next.From), max(m.Last, next.From), max(m.To, next.To)
	}
}

// known reports whether all gaps of the channel were reported.
func (c ChannelGaps) known() bool {
	return !slices.ContainsFunc(c.Reasons, func(m Missing) bool { return m.Times > 0 })
}

// due returns when the next notice may be sent. A last notice in the future means that the clock was set
// back.
func (c ChannelGaps) due(now time.Time) time.Time {
	told := time.Unix(c.Reported, 0)
	if told.After(now) {
		return now
	}
	return told.Add(gatherFor)
}

// Report returns a channel whose notice is due, with its text, and marks its gaps as reported; "" if none is
// due. Gaps that were reported long ago are forgotten.
func (g Gaps) Report(now time.Time) (channel, text string) {
	for _, name := range slices.Sorted(maps.Keys(g)) {
		c := g[name]
		switch {
		case c.known() && c.due(now).Add(longKnown).Before(now):
			delete(g, name)
		case c.known() || c.due(now).After(now):
		default:
			text = c.text(name)
			c.Reported = now.Unix()
			for i := range c.Reasons {
				c.Reasons[i].Times = 0
			}
			g[name] = c
			return name, text
		}
	}
	return "", ""
}

// Next returns when the next notice is due; false if everything was reported.
func (g Gaps) Next(now time.Time) (next time.Time, is bool) {
	for _, c := range g {
		if at := c.due(now); !c.known() && (!is || at.Before(next)) {
			next, is = at, true
		}
	}
	return next, is
}

// text returns the notice.
func (c ChannelGaps) text(name string) string {
	var list []string
	for _, m := range c.Reasons {
		if m.Times > 0 {
			list = append(list, m.text())
		}
	}
	if len(list) == 1 {
		return fmt.Sprintf("Messages on %s may be missing, %s.", name, list[0])
	}
	return fmt.Sprintf("Messages on %s may be missing:\n- %s.", name, strings.Join(list, ".\n- "))
}

func (m Missing) text() string {
	const day, zone = "2006-01-02 15:04", " MST"
	from, to := time.Unix(m.From, 0).UTC(), time.Unix(m.To, 0).UTC()
	switch {
	case m.Times > 1 && m.All > 0:
		return fmt.Sprintf("%d times between %s and %s, %s in all: %s", m.Times, from.Format(day), to.Format(day+zone), time.Duration(m.All)*time.Second, m.Why)
	case m.Times > 1:
		return fmt.Sprintf("%d times between %s and %s: %s", m.Times, from.Format(day), to.Format(day+zone), m.Why)
	case m.All == 0:
		return fmt.Sprintf("from %s on: %s", from.Format(day+zone), m.Why)
	}
	return fmt.Sprintf("from %s to %s: %s", from.Format(day), to.Format(day+zone), m.Why)
}

// GapNotices sends the notices about gaps. NewGapNotices makes one. It is safe for concurrent use.
type GapNotices struct {
	GapNoticesConfig
	wake chan struct{}
}

// GapNoticesConfig holds what GapNotices needs. All fields are needed.
type GapNoticesConfig struct {
	Settle    Settle                             // keeps the gaps
	Elsewhere func(channel string) event.Address // where the owner hears of trouble with a channel
	Clock     sys.Clock
	Log       *slog.Logger
}

// NewGapNotices makes a GapNotices.
func NewGapNotices(c GapNoticesConfig) *GapNotices { return &GapNotices{c, make(chan struct{}, 1)} }

// Missed stores a gap of a channel, with a notice if it is the first one for a while.
func (t *GapNotices) Missed(ctx context.Context, channel string, gap channels.Gap) error {
	if _, _, err := t.settle(ctx, func(all Gaps) { all.Add(channel, gap) }); err != nil {
		return err
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return nil
}

// settle changes the stored gaps and queues one due notice. next is when the next one is due; more is false
// if there is none.
func (t *GapNotices) settle(ctx context.Context, change func(Gaps)) (next time.Time, more bool, err error) {
	err = t.Settle(ctx, func(known string) (string, event.Address, string) {
		now := t.Clock.Wall()
		all, err := ReadGaps(known)
		if err != nil {
			t.Log.Error("the stored gaps cannot be read and are dropped", "err", err)
			all = Gaps{}
		}
		change(all)
		channel, text := all.Report(now)
		next, more = all.Next(now)
		var to event.Address
		if text != "" {
			to = t.Elsewhere(channel)
		}
		return all.String(), to, text
	})
	return next, more, err
}

// Maximum sleep of Run, because timers stop while the machine sleeps; and the sleep after an error.
const (
	longNap  = time.Minute
	errorNap = 10 * time.Second
)

// Run sends notices when they are due, including those of an earlier process, until ctx ends.
func (t *GapNotices) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		next, more, err := t.settle(ctx, func(Gaps) {})
		nap := min(longNap, max(0, next.Sub(t.Clock.Wall())))
		if err != nil && ctx.Err() == nil {
			t.Log.Error("gaps could not be reported", "again_in", errorNap, "err", err)
			nap, more = errorNap, true
		}
		t.rest(ctx, nap, more)
	}
	return nil
}

// rest waits for a new gap; if timed, at most for nap.
func (t *GapNotices) rest(ctx context.Context, nap time.Duration, timed bool) {
	if timed {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, nap)
		defer cancel()
	}
	select {
	case <-ctx.Done():
	case <-t.wake:
	}
}
