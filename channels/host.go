package channels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"hob/daemon/netguard"
	"hob/daemon/sys"
)

// Section is one configured channel, for Replace.
type Section struct {
	Kind        string
	Fingerprint string  // fingerprint of the section's content; a channel with the same kind and fingerprint keeps running
	Channel     Channel // nil: Err says why the section is unusable
	Err         error
}

// HostConfig holds what a host needs. All fields are needed.
type HostConfig struct {
	Inbox     InboxStore
	Admission Admission
	Clock     sys.Clock
	Log       *slog.Logger
	Go        func(ctx context.Context, name string, f func(context.Context) error) // keeps f running, e.g. sys.Group.Go
	Changed   func(ChannelHealth)                                                   // called when a state of health changes or is proven for the first time; must not block
	Recovered func(channel string)                                                  // called when one direction of a channel recovers, so that waiting messages can be tried now; must not block
}

// Backoff between two runs of a channel that stopped receiving. A wait is at most shortBackoff or a twentieth
// of the time since receiving last worked, whichever is longer.
const (
	firstRest      = time.Second
	confirmDelay   = 5 * time.Second // wait before a lasting refusal is tried once more: a real one is reported soon, a short failure never
	resetAfter     = time.Minute     // after working this long, the backoff starts again
	longRest       = 5 * time.Minute
	longestWait    = time.Hour       // even if the platform asks for more
	recoveredAfter = 2 * time.Minute // receiving this long without a failure counts as recovered; longer than any timeout for a silent server
)

// Host runs all configured channels. It restarts a failed channel without limit; a failure never ends the
// process.
type Host struct {
	HostConfig
	*Table
	wake chan struct{}
}

// runningChannel is one channel that the host has opened.
type runningChannel struct {
	Section
	gauge    gauge
	stop     context.CancelFunc
	again    context.CancelFunc // ends the runs, which then begin again; nil: there are none. Protected by Table.mu
	ended    chan struct{}
	reported atomic.Bool // the account was reported to admission; only receive sets it

	away atomic.Pointer[netguard.Unreachable] // why the server could not be reached the last time; nil: it could, or was not tried. Only receive sets it

	refused atomic.Bool // the last run ended with a lasting refusal: a received message then proves nothing, only the time recoveredAfter does
}

// NewHost makes a host that keeps the channels of a table running. The table is empty until Replace is called.
func NewHost(t *Table, c HostConfig) *Host {
	return &Host{HostConfig: c, Table: t, wake: make(chan struct{}, 1)}
}

// Replace sets the configured channels, by name. Run starts the new ones, restarts the changed ones and stops
// the removed ones. The others keep running, even if one of their secrets can no longer be read. A send
// through an old channel may still finish. Call it before the pump starts.
func (h *Host) Replace(sections map[string]Section) {
	h.mu.Lock()
	h.want = maps.Clone(sections)
	if h.want == nil {
		h.want = map[string]Section{}
	}
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Restart ends the run of a channel, or its wait for the next one, and runs the same Channel again at once. A send goes on beside it.
func (h *Host) Restart(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.have[name]; t != nil && t.again != nil {
		t.again()
	}
}

// Run runs the channels until ctx ends, and returns nil when all have ended.
func (h *Host) Run(ctx context.Context) error {
	for {
		h.reconcile(ctx)
		select {
		case <-ctx.Done():
			h.end()
			return nil
		case <-h.wake:
		}
	}
}

// reconcile stops channels that are no longer configured, waits until they have ended, and starts configured
// channels that are not running.
func (h *Host) reconcile(ctx context.Context) {
	var ending []*runningChannel
	h.mu.Lock()
	for name, t := range h.have {
		if s, ok := h.want[name]; !ok || !t.serves(s) {
			delete(h.have, name)
			t.stop()
			ending = append(ending, t)
		}
	}
	h.mu.Unlock()
	// A replaced channel must have ended first: two runs with one cursor would both acknowledge upstream.
	for _, t := range ending {
		<-t.ended
	}
	for _, t := range h.openMissing(ctx) {
		if t.Channel == nil {
			h.Changed(t.gauge.read())
		}
	}
}

// serves reports whether t is what the section asks for. A section that could not be used is tried again when
// its error changes.
func (t *runningChannel) serves(s Section) bool {
	if s.Fingerprint != t.Fingerprint || s.Kind != t.Kind {
		return false
	}
	return t.Channel != nil || s.Channel == nil && s.Err.Error() == t.Err.Error()
}

// openMissing starts the configured channels that are not running.
func (h *Host) openMissing(ctx context.Context) []*runningChannel {
	h.mu.Lock()
	defer h.mu.Unlock()
	var opened []*runningChannel
	for name, s := range h.want {
		if h.have[name] == nil {
			t := h.open(ctx, name, s)
			h.have[name] = t
			opened = append(opened, t)
		}
	}
	return opened
}

// end waits for all channels, whose context has ended. They stay in the list, so that the pump does not take
// their messages for undeliverable.
func (h *Host) end() {
	h.mu.Lock()
	all := slices.Collect(maps.Values(h.have))
	h.mu.Unlock()
	for _, t := range all {
		t.stop()
		<-t.ended
	}
}

// open starts a channel, or records why its section is unusable.
func (h *Host) open(ctx context.Context, name string, s Section) *runningChannel {
	own, stop := context.WithCancel(ctx)
	now := h.Clock.Wall()
	well := Direction{State: OK, Since: now}
	t := &runningChannel{Section: s, stop: stop, ended: make(chan struct{})}
	t.gauge.h = ChannelHealth{Name: name, Kind: s.Kind, Receiving: well, Sending: well, Fingerprint: s.Fingerprint}
	if s.Channel == nil {
		close(t.ended)
		ill := Direction{State: Down, Since: now, LastError: s.Err.Error(), LastAt: now}
		t.gauge.h.Receiving, t.gauge.h.Sending, t.gauge.h.Unfit = ill, ill, true
		return t
	}
	// A message that was received proves that receiving works, except after a lasting refusal: some platforms
	// still deliver what was queued before.
	more, _ := AudienceOf(s.Channel)
	in := &channelInbox{InboxStore: h.Inbox, admission: h.Admission, name: name, more: more, now: h.Clock.Wall, received: func() {
		if !t.refused.Load() {
			h.note(t, receiving, nil)
		}
	}}
	h.Go(own, "channel "+name, func(ctx context.Context) error { return h.receive(ctx, t, in) })
	return t
}

// receive runs one channel until ctx ends, and anew after each Restart.
func (h *Host) receive(ctx context.Context, t *runningChannel, in Inbox) error {
	for ctx.Err() == nil {
		runs, again := context.WithCancel(ctx)
		h.mu.Lock()
		t.again = again
		h.mu.Unlock()
		h.keep(runs, t, in)
		again()
	}
	close(t.ended)
	return nil
}

// keep runs one channel again and again until ctx ends. The wait between two runs doubles up to longRest,
// and starts again after a run that was long enough.
func (h *Host) keep(ctx context.Context, t *runningChannel, in Inbox) {
	rest, well := firstRest, h.Clock.Mono()
	for ctx.Err() == nil {
		start := h.Clock.Mono()
		err := h.again(ctx, t, in)
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			err = errors.New("it stopped receiving without saying why")
		}
		if ran := h.Clock.Mono() - start; ran > longRest || ran > resetAfter && t.gauge.read().Receiving.State == OK {
			rest, well = firstRest, h.Clock.Mono()
		}
		h.note(t, receiving, err)
		away, _ := errors.AsType[*netguard.Unreachable](err)
		known := t.away.Swap(away) != nil && away != nil
		wait, refused := h.together(spread(min(rest, max(shortBackoff, (h.Clock.Mono()-well)/awayShare)))), false
		if later, ok := errors.AsType[*RetryAfter](err); ok {
			wait, refused = min(max(wait, later.After), longestWait), later.Lasts
		}
		if !t.refused.Swap(refused) && refused {
			wait = confirmDelay
		}
		level := slog.LevelWarn
		if known {
			level = slog.LevelDebug // the log has it from the first time
		}
		h.Log.Log(ctx, level, "channel stopped receiving", "channel", t.gauge.read().Name, "again_in", wait, "err", err)
		sys.Sleep(ctx, wait)
		rest = min(2*rest, longRest)
	}
}

// together extends a wait of some seconds, so that all channels whose platforms cannot be reached are tried at the same time. Each try
// wakes the process, and a machine that is offline may have many such channels.
func (h *Host) together(wait time.Duration) time.Duration {
	if wait < shortBackoff/2 {
		return wait
	}
	return wait + shortBackoff - (h.Clock.Mono()+wait)%shortBackoff
}

// spread adds jitter: it returns a time between d/2 and d, so that clients that were disconnected together do
// not all return at once.
func spread(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1) // #nosec G404 -- nothing is gained by guessing it
}

// again runs a channel. If its server could not be reached the last time, it only tries to connect first: this costs an idle process much
// less than a run with its requests and log entries. Once the server answers, waiting messages are tried too.
func (h *Host) again(ctx context.Context, t *runningChannel, in Inbox) error {
	if away := t.away.Load(); away != nil {
		if err := away.Again(ctx); err != nil {
			return err
		}
		t.away.Store(nil)
		h.Recovered(t.gauge.read().Name)
	}
	return h.once(ctx, t, in)
}

// once runs a channel a single time. The channel counts as recovered after a while without a failure. A panic
// is an error like any other.
func (h *Host) once(ctx context.Context, t *runningChannel, in Inbox) (err error) {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(recoveredAfter, func() {
		if own.Err() == nil {
			t.refused.Store(false)
			h.note(t, receiving, nil)
		}
	})
	defer timer.Stop()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the channel panicked: %v", r)
		}
	}()
	if err := h.reportAccount(own, t); err != nil {
		return err
	}
	return t.Channel.Run(own, in)
}

// accountTimeout is how long a platform may take to report hob's account.
const accountTimeout = 30 * time.Second

// reportAccount asks the platform for hob's account, once per section and before anything is received: admission
// depends on it.
func (h *Host) reportAccount(ctx context.Context, t *runningChannel) (err error) {
	if t.reported.Load() {
		return nil
	}
	account := ""
	if a, ok := t.Channel.(Accounted); ok {
		ctx, stop := context.WithTimeout(ctx, accountTimeout)
		defer stop()
		if account, err = a.Account(ctx); err != nil {
			return fmt.Errorf("ask which account it is: %w", err)
		}
	}
	if err := h.Admission.Connected(ctx, t.gauge.read().Name, account); err != nil {
		return fmt.Errorf("note which account it is: %w", err)
	}
	t.reported.Store(true)
	return nil
}

// Sent records the result of a send. A permanent refusal or a refusal of one address says nothing about the
// channel.
func (h *Host) Sent(name string, err error) {
	h.mu.Lock()
	t := h.have[name]
	h.mu.Unlock()
	if t != nil && !errors.Is(err, ErrPermanent) && !errors.Is(err, ErrAddress) {
		h.note(t, sending, err)
	}
}

// note records an attempt, and calls the hooks for a change and a recovery.
func (h *Host) note(t *runningChannel, pick func(*ChannelHealth) *Direction, err error) {
	health, changed, back := t.gauge.note(h.Clock.Wall(), pick, err)
	if changed {
		h.Changed(health)
	}
	if back {
		h.Recovered(health.Name)
	}
}
