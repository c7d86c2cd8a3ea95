package channels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"hob/daemon/event"
	"hob/daemon/sys"
)

// Row is the next outbox row of an address: the oldest that is neither finished nor held, and whose NotBefore
// has come. A row that still waits for its NotBefore does not delay later ones.
type Row struct {
	ID          int64
	To          event.Address
	Right       Right // of To, when the row was queued
	Body        string
	ReplyRef    string
	Overtaken   string // the beginning of the answered message, if other messages have come between it and this answer; "": none have
	Urgent      bool
	Cause       event.CauseKind
	Queued      time.Time        // when it was queued, or its NotBefore if that is later
	NotAfter    time.Time        // zero: Life decides
	Parts       int              // number of deliveries; 0: not split yet
	Todo        []Delivery       // deliveries not sent yet, in order; the pump reads Part, Body, File, Nonce, Attempts, Unsure and Tried
	Choices     []Choice         // what the reader can choose
	Files       []event.Enclosed // files of the message; read while Parts is 0
	Quiet       []HeldBack       // while Parts is 0: all due messages that quiet hours held back for this address, oldest first, beginning with this row
	Interrupted bool             // Todo[0] has been "sending" since an older epoch
	Drafted     bool             // the message of a draft takes the place of Todo[0], now that the row's text is known
	Shown       string           // Drafted: the platform's id of that message, "" if unknown
	Split       bool             // Drafted: the text was already split, and Todo[0].Body is its first part
}

// ErrNotReady says that a row was dropped, cancelled or finished meanwhile.
var ErrNotReady = errors.New("not ready any more")

// Store keeps the outbox and its deliveries. Each method is one transaction.
type Store interface {
	// Ready returns at most limit rows that can be worked on at now, oldest first. It returns one row for
	// each address, if the next try of its first open part is due.
	//
	// A row whose first open part has been "sending" since an older epoch is returned at once, with
	// Interrupted. A row that is "sending" in this epoch is not returned, and blocks its address. A held row
	// (a part is unknown) is skipped and does not block its address. A draft is a row of one part until that
	// is sent; then it is not returned until its text is known, and comes with Drafted.
	Ready(ctx context.Context, now time.Time, limit int) ([]Row, error)
	// Split stores the parts of a row that has none, or only that of a draft. It ends the rows joined, whose
	// texts the parts contain, with a pointer to this row. Read: Part, Body, File, Nonce. If the row already
	// has parts, or one of joined is not ready any more, nothing changes: ErrNotReady.
	Split(ctx context.Context, outbox int64, parts []Delivery, joined []int64) error
	// Sending marks a part as "sending" in this epoch and stores d.Attempts, d.Unsure and, if it has none,
	// d.Tried. The part must be ready, or sending since an older epoch; otherwise nothing changes:
	// ErrNotReady.
	Sending(ctx context.Context, d Delivery) error
	// Settle commits a verdict: the part's state, remote id, attempts, next try and Unsure. The row is done,
	// with the event message.sent, when its last part is sent. It becomes dead, expired or joined (v.With
	// too) if the verdict says so, even if it was not split (d.Parts 0). v.Tell is queued as an outbox row;
	// v.Ask is opened as a question. A row that has already ended is not changed.
	Settle(ctx context.Context, d Delivery, v Verdict) error
	// NextDue returns the earliest time after now at which Ready could return more by itself; zero if there
	// is none.
	NextDue(ctx context.Context, now time.Time) (time.Time, error)
}

// ErrNoChannel says that the config has no channel of that name.
var ErrNoChannel = errors.New("no such channel")

// Config holds what a pump needs. All fields are needed.
type Config struct {
	Store     Store
	Channel   func(name string) (Channel, error) // ErrNoChannel: none; any other error: it exists, but cannot be used now
	Owner     func() []event.Address             // the owner's addresses, the preferred one first
	Elsewhere func(avoid string) event.Address   // where the owner is told of trouble with the channel avoid, see Recipients.Elsewhere
	Right     func(event.Address) (Right, error) // the current right of an address; an error: not known yet
	Zone      func() *time.Location              // the owner's time zone, for times in texts
	Report    func(channel string, err error)    // called with the result of each send; nil: it worked
	Receives  func(channel string) time.Time     // since when receiving works; zero: it does not
	Away      func(channel string) bool          // its server cannot be reached; Wake comes when it can
	Once      func(name string, f func() error)  // runs f once in a goroutine of its own, e.g. sys.Group.Once
	Hide      func(string) string                // takes secrets out of texts
	Wake      <-chan struct{}                    // wake signal: the outbox has something new
	Open      Opener                             // opens the files of messages
	Clock     sys.Clock                          //
	Ident     sys.IDs                            // makes the nonces
	Log       *slog.Logger                       //
}

// Limits of the pump.
const (
	maxWorkers   = 8                // addresses worked on at the same time
	batch        = 1024             // rows read at a time
	awayWait     = 5 * time.Second  // before a channel that cannot be used is tried again
	triesAway    = 5                // tries of a message whose channel's server cannot be reached, some 15 s
	errorWait    = time.Second      // after a store error
	allHeads     = 10_000           // more than there are workers: all rows that a crash interrupted
	maxRecovered = 5                // unconfirmed sends that are repeated after a restart
	sendTime     = time.Minute      // timeout of a send
	drainTime    = 8 * time.Second  // time for running sends at shutdown
	lateAfter    = 15 * time.Minute // a later message to the owner is marked as late
	defaultPart  = 4000             // bytes, for a channel without TextFormatter
)

// Pump delivers the outbox through the channels: strictly in order for each address, and different addresses
// in parallel.
type Pump struct {
	Config
	mu          sync.Mutex // protects the fields below, and Ident
	busy        map[event.Address]bool
	resting     map[event.Address]rest // addresses that are left alone; losing it in a restart does no harm
	unconfirmed unconfirmed
	recovered   int
	counted     bool          // interrupted rows were counted
	addressFree chan struct{} // wake signal: an address can be worked on again
}

// rest says why an address is not used for a while, and how long.
type rest struct {
	until time.Time
	away  bool // ends earlier when its server can be reached
}

// NewPump makes a pump.
func NewPump(c Config) *Pump {
	return &Pump{Config: c, busy: map[event.Address]bool{}, resting: map[event.Address]rest{}, addressFree: make(chan struct{}, 1)}
}

// Run delivers until ctx ends, then waits a few seconds for running sends and returns nil. A store error ends
// it too; the caller runs it again.
func (p *Pump) Run(ctx context.Context) error {
	done := make(chan struct{}, maxWorkers)
	running := 0
	defer func() {
		for ; running > 0; running-- {
			<-done
		}
	}()
	if err := p.countInterrupted(ctx); err != nil {
		return sys.UnlessDone(ctx, err)
	}
	for ctx.Err() == nil {
		now := p.Clock.Wall() // one instant for Ready and NextDue, so that nothing falls between them
		n, err := p.start(ctx, now, maxWorkers-running, done)
		running += n
		if err != nil {
			return sys.UnlessDone(ctx, err)
		}
		wait, err := p.untilNext(ctx, now)
		if err != nil {
			return sys.UnlessDone(ctx, err)
		}
		timer := p.Clock.Timer(wait)
		select {
		case <-ctx.Done():
		case <-p.Wake:
		case <-p.addressFree:
		case <-timer.C:
		case <-done:
			running--
		}
		timer.Stop()
	}
	return nil
}

// start starts a worker for each row that can be worked on, at most free of them, and returns their number.
func (p *Pump) start(ctx context.Context, now time.Time, free int, done chan<- struct{}) (int, error) {
	if free == 0 {
		return 0, nil
	}
	before := p.working()
	rows, err := p.Store.Ready(ctx, now, batch)
	if err != nil {
		return 0, fmt.Errorf("read the outbox: %w", err)
	}
	started := 0
	for _, row := range rows {
		if started == free {
			break
		}
		if before[row.To] || !p.take(row.To) {
			continue // a worker may have changed the row after it was read
		}
		started++
		p.Once("deliver to "+string(row.To), func() error {
			defer func() { done <- struct{}{} }()
			defer p.free(row.To)
			return sys.UnlessDone(ctx, p.deliver(ctx, row))
		})
	}
	return started, nil
}

// working returns the addresses that have a worker.
func (p *Pump) working() map[event.Address]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.busy)
}

// take reserves an address for one worker. It fails if another worker has it, or it rests.
func (p *Pump) take(a event.Address) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.resting[a]
	if p.busy[a] || p.Clock.Wall().Before(r.until) && (!r.away || p.Away(a.Channel())) {
		return false
	}
	delete(p.resting, a)
	p.busy[a] = true
	return true
}

func (p *Pump) free(a event.Address) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, a)
}

// rest stops the use of an address for a while.
func (p *Pump) rest(a event.Address, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resting[a] = rest{until: p.Clock.Wall().Add(d)}
}

// restAway stops the use of a row's address while the channel's server cannot be reached, at most for the longest backoff, because each try
// costs two commits. It reports whether it did. The first tries are made in any case, because some channels send through another server
// than they receive from.
func (p *Pump) restAway(row Row) bool {
	if len(row.Todo) == 0 || row.Todo[0].Attempts < triesAway || row.Interrupted || !p.Away(row.To.Channel()) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	until := p.Clock.Wall().Add(longBackoff)
	if !row.NotAfter.IsZero() && row.NotAfter.Before(until) {
		until = row.NotAfter
	}
	p.resting[row.To] = rest{until: until, away: true}
	return true
}

// holdAddress applies RetryAfter to the whole address, not only to this row: other messages would come too soon as
// well.
func (p *Pump) holdAddress(a event.Address, err error, until time.Time) {
	if later := (*RetryAfter)(nil); errors.As(err, &later) {
		p.rest(a, until.Sub(p.Clock.Wall()))
	}
}

// rested returns the time until the first address ends its rest, at most sys.LongestSleep.
func (p *Pump) rested(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := sys.LongestSleep
	for a, r := range p.resting {
		if !r.until.After(now) {
			delete(p.resting, a)
			continue
		}
		wait = min(wait, r.until.Sub(now))
	}
	return wait
}

// untilNext returns the time until something is due.
func (p *Pump) untilNext(ctx context.Context, now time.Time) (time.Duration, error) {
	next, err := p.Store.NextDue(ctx, now)
	if err != nil {
		return 0, fmt.Errorf("read when the outbox is due: %w", err)
	}
	wait := p.rested(now)
	if !next.IsZero() {
		wait = min(wait, max(next.Sub(now), 0))
	}
	return wait, nil
}

// countInterrupted looks at the sends that the last process left unfinished. Where nothing can confirm a send, the
// first five rows to the owner are sent again with a mark. Further ones are only listed, in one digest: after
// a crash loop the owner must not get many repeats.
func (p *Pump) countInterrupted(ctx context.Context) error {
	if p.counted {
		return nil
	}
	rows, err := p.Store.Ready(ctx, p.Clock.Wall(), allHeads)
	if err != nil {
		return fmt.Errorf("read interrupted sends: %w", err)
	}
	unsure := slices.DeleteFunc(rows, func(r Row) bool {
		ch, err := p.Channel(r.To.Channel())
		if err != nil || !r.Interrupted || !p.isOwner(r.To) {
			return true
		}
		return AbilitiesOf(ch).Repeats != Marked
	})
	if len(unsure) > maxRecovered {
		p.settle(ctx, Delivery{Outbox: unsure[maxRecovered].ID}, p.digest(unsure[maxRecovered:]))
	}
	p.counted = true
	return nil
}

// digest ends rows and lists them in one notice.
func (p *Pump) digest(rows []Row) Verdict {
	text := "While hob restarted, this may or may not have arrived:"
	v := Verdict{State: Joined, Reason: "listed in a digest after a restart"}
	for i, r := range rows {
		text += fmt.Sprintf("\n- to %s: %s", r.To, Excerpt(r.Body+names(r.Files)))
		if i > 0 {
			v.With = append(v.With, r.ID)
		}
	}
	v.Tell = &Notice{Key: fmt.Sprintf("outbox:%d:joined", rows[0].ID), To: FirstOwner(p.Owner()), Text: text}
	return v
}

// mayRecover counts an unconfirmed send after a restart. It is false when the limit is reached.
func (p *Pump) mayRecover() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recovered++
	return p.recovered <= maxRecovered
}

// isOwner reports whether an address belongs to the owner; the cli always does.
func (p *Pump) isOwner(a event.Address) bool {
	return a == event.CLI || slices.Contains(p.Owner(), a)
}

// elsewhere returns where the owner is told of trouble with a. Trouble with a notice goes to the command line at once, so that two broken channels do
// not report each other endlessly.
func (p *Pump) elsewhere(a event.Address, cause event.CauseKind) event.Address {
	if cause == event.ByNotice {
		return event.CLI
	}
	return p.Elsewhere(a.Channel())
}
