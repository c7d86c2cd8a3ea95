package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hob/channels"
	"hob/daemon/event"
)

// Part is one stored delivery.
type Part struct {
	channels.Delivery
	State    string // ready, sending, sent, unknown
	Epoch    int
	RemoteID string
	NextAt   time.Time
}

// OutRow is one stored outbox row.
type OutRow struct {
	event.Out
	ID      int64
	State   string         // ready, held, done, dead, expired, joined
	Right   channels.Right // right of its address when the message was queued, as set by Stand
	Quiet   bool           // it waits, or has waited, through quiet hours
	Joined  int64          // the row whose parts contain its text
	Reason  string
	Created time.Time
	Queued  time.Time
	Parts   []Part
}

// ErrOldEpoch is the error of a process that was replaced by a newer one.
var ErrOldEpoch = errors.New("a newer process has taken over")

// process is the outbox as one process sees it.
type process struct {
	*Outbox
	epoch int
}

// Outbox is an outbox in memory with the guarantees of the real one, for tests of the pump.
type Outbox struct {
	mu    sync.Mutex
	now   func() time.Time
	epoch int
	rows  []*OutRow
	asked []int64
	fail  int
	quiet func(event.Address, time.Time) time.Time
	stand func(event.Address) channels.Right
	Wake  chan struct{} // wake signal for the pump
}

// NewOutbox makes an empty outbox; now returns the time.
func NewOutbox(now func() time.Time) *Outbox {
	return &Outbox{now: now, Wake: make(chan struct{}, 1)}
}

// Queue adds messages, once for each key, and wakes the pump.
func (o *Outbox) Queue(outs ...event.Out) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, out := range outs {
		o.queue(out)
	}
}

func (o *Outbox) queue(out event.Out) {
	if slices.ContainsFunc(o.rows, func(r *OutRow) bool { return r.Key == out.Key }) {
		return
	}
	queued := o.now()
	if out.NotBefore.After(queued) {
		queued = out.NotBefore
	}
	r := &OutRow{Out: out, ID: int64(len(o.rows) + 1), State: "ready", Created: o.now(), Queued: queued}
	if o.stand != nil {
		r.Right = o.stand(out.To)
	}
	if out.To == event.CLI {
		r.State = "done" // delivered by its commit
	} else if end := o.quietUntil(out, queued); !end.IsZero() {
		r.NotBefore, r.Queued, r.Quiet = end, end, !out.NotBefore.After(o.now())
	}
	o.rows = append(o.rows, r)
	select {
	case o.Wake <- struct{}{}:
	default:
	}
}

// RetryNow makes everything due that waits for a retry on a channel, and wakes the pump.
func (o *Outbox) RetryNow(channel string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.rows {
		for i := range r.Parts {
			if p := &r.Parts[i]; r.To.Channel() == channel && p.NextAt.After(o.now()) {
				p.NextAt = o.now()
			}
		}
	}
	select {
	case o.Wake <- struct{}{}:
	default:
	}
}

// SetQuietHours holds back messages that are not urgent. end returns when the quiet hours of an address around an
// instant end, or zero.
func (o *Outbox) SetQuietHours(end func(event.Address, time.Time) time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.quiet = end
}

// SetRights sets the right of addresses for messages that are queued from now on; by default they have none.
func (o *Outbox) SetRights(of func(event.Address) channels.Right) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stand = of
}

func (o *Outbox) quietUntil(out event.Out, at time.Time) time.Time {
	if o.quiet == nil || out.Urgency == event.Urgent {
		return time.Time{}
	}
	return o.quiet(out.To, at)
}

// Process begins a new epoch. The stores of earlier epochs cannot commit any more, as if their process had
// been killed.
func (o *Outbox) Process() channels.Store {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.epoch++
	return &process{Outbox: o, epoch: o.epoch}
}

// FailNext makes the next n writes fail.
func (o *Outbox) FailNext(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fail = n
}

// Rows returns all rows, oldest first.
func (o *Outbox) Rows() []OutRow {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]OutRow, 0, len(o.rows))
	for _, r := range o.rows {
		c := *r
		c.Parts = slices.Clone(r.Parts)
		all = append(all, c)
	}
	return all
}

// Asked returns the rows about which a question was opened.
func (o *Outbox) Asked() []int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.asked)
}

// Answer answers a question: resend or drop.
func (o *Outbox) Answer(id int64, resend bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.rows[id-1]
	r.State = "ready"
	if !resend {
		r.State = "dead"
	}
	for i := range r.Parts {
		if r.Parts[i].State == "unknown" {
			r.Parts[i].State, r.Parts[i].Unsure, r.Parts[i].NextAt = "ready", 0, o.now()
		}
	}
}

// write begins a commit, or fails as scripted.
func (o *process) write() error {
	if o.epoch != o.Outbox.epoch {
		return ErrOldEpoch
	}
	if o.fail > 0 {
		o.fail--
		return fmt.Errorf("write the outbox: disk full")
	}
	return nil
}

// Ready implements channels.Store.
func (o *process) Ready(_ context.Context, now time.Time, limit int) ([]channels.Row, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var heads []channels.Row
	seen := map[event.Address]bool{}
	for _, r := range o.rows {
		if r.State != "ready" || r.NotBefore.After(now) || seen[r.To] {
			continue
		}
		seen[r.To] = true
		if row, due := o.head(r, now); due && len(heads) < limit {
			heads = append(heads, row)
		}
	}
	return heads, nil
}

func (o *process) head(r *OutRow, now time.Time) (channels.Row, bool) {
	row := channels.Row{
		ID: r.ID, To: r.To, Right: r.Right, Body: r.Body, ReplyRef: r.ReplyRef, Urgent: r.Urgency == event.Urgent, Cause: r.Cause.Kind,
		Queued: r.Queued, NotAfter: r.NotAfter, Parts: len(r.Parts), Files: r.Files,
	}
	for _, p := range r.Parts {
		if p.State == "sent" {
			continue
		}
		if len(row.Todo) == 0 {
			row.Interrupted = p.State == "sending" && p.Epoch < o.epoch
			if p.State == "sending" && !row.Interrupted || p.State == "ready" && p.NextAt.After(now) {
				return row, false
			}
		}
		row.Todo = append(row.Todo, p.Delivery)
	}
	if r.Quiet && len(r.Parts) == 0 && len(r.Files) == 0 {
		for _, other := range o.rows[r.ID-1:] {
			if other.To != r.To || other.State != "ready" || other.NotBefore.After(now) {
				continue
			}
			// Messages to an address keep their order: what follows a message that is sent alone is not joined before it.
			if !other.Quiet || len(other.Parts)+len(other.Files) > 0 {
				break
			}
			row.Quiet = append(row.Quiet, channels.HeldBack{ID: other.ID, Body: other.Body, At: other.Created})
		}
	}
	return row, true
}

// Split implements channels.Store.
func (o *process) Split(_ context.Context, id int64, parts []channels.Delivery, joined []int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.write(); err != nil {
		return err
	}
	if len(o.rows[id-1].Parts) > 0 {
		return fmt.Errorf("split outbox row %d: it has parts already: %w", id, channels.ErrNotReady)
	}
	for _, j := range joined {
		if r := o.rows[j-1]; r.State != "ready" || len(r.Parts) > 0 {
			return channels.ErrNotReady
		}
	}
	for _, j := range joined {
		o.rows[j-1].State, o.rows[j-1].Joined = "joined", id
	}
	for _, d := range parts {
		o.rows[id-1].Parts = append(o.rows[id-1].Parts, Part{Delivery: d, State: "ready"})
	}
	return nil
}

// Sending implements channels.Store.
func (o *process) Sending(_ context.Context, d channels.Delivery) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.write(); err != nil {
		return err
	}
	r := o.rows[d.Outbox-1]
	p := &r.Parts[d.Part]
	if r.State != "ready" || p.State != "ready" && (p.State != "sending" || p.Epoch == o.epoch) {
		return channels.ErrNotReady
	}
	p.State, p.Epoch, p.Attempts, p.Unsure = "sending", o.epoch, d.Attempts, d.Unsure
	if p.Tried.IsZero() {
		p.Tried = d.Tried
	}
	return nil
}

// Settle implements channels.Store.
func (o *process) Settle(_ context.Context, d channels.Delivery, v channels.Verdict) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.write(); err != nil {
		return err
	}
	r := o.rows[d.Outbox-1]
	if r.State != "ready" {
		return nil
	}
	switch v.State {
	case channels.Dead, channels.Expired, channels.Joined:
		for _, id := range append([]int64{d.Outbox}, v.With...) {
			o.rows[id-1].State, o.rows[id-1].Reason = string(v.State), v.Reason
		}
	default:
		o.settlePart(r, d, v)
	}
	if v.Tell != nil {
		o.queue(event.Out{Key: v.Tell.Key, Cause: event.Cause{Kind: event.ByNotice, ID: d.Outbox}, To: v.Tell.To, Body: v.Tell.Text, Urgency: event.Urgent})
	}
	if v.Ask != nil {
		o.asked = append(o.asked, d.Outbox)
		o.queue(event.Out{Key: fmt.Sprintf("question:%d", len(o.asked)), Cause: event.Cause{Kind: event.ByQuestion, ID: int64(len(o.asked))}, To: v.Ask.To, Body: v.Ask.Text, Urgency: event.Urgent})
	}
	return nil
}

func (o *process) settlePart(r *OutRow, d channels.Delivery, v channels.Verdict) {
	p := &r.Parts[d.Part]
	p.State, p.RemoteID, p.Attempts, p.Unsure, p.NextAt = string(v.State), v.RemoteID, d.Attempts, v.Unsure, v.At
	r.Reason = v.Reason
	if v.Instead != "" {
		p.Delivery = channels.Delivery{Outbox: d.Outbox, Part: d.Part, Body: v.Instead, Nonce: d.Nonce}
	}
	if v.State == channels.Unknown {
		r.State = "held"
	}
	if !slices.ContainsFunc(r.Parts, func(p Part) bool { return p.State != "sent" }) {
		r.State = "done"
	}
}

// NextDue implements channels.Store.
func (o *process) NextDue(_ context.Context, now time.Time) (time.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var next time.Time
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, r := range o.rows {
		if r.State != "ready" {
			continue
		}
		consider(r.NotBefore)
		for _, p := range r.Parts {
			consider(p.NextAt)
		}
	}
	return next, nil
}
