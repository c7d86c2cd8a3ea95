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

// Row is the head of an address's line: its oldest outbox row that is neither finished nor held, and whose NotBefore has come.
// A row that still waits for its NotBefore holds nobody up.
type Row struct {
	ID          int64
	To          event.Address
	Right       Right // of To, when the row was queued
	Body        string
	ReplyRef    string
	Urgent      bool
	Cause       event.CauseKind
	Queued      time.Time        // when it was queued, or its NotBefore when that is later
	NotAfter    time.Time        // zero: Life decides
	Parts       int              // how many deliveries there are; 0: not split yet
	Todo        []Delivery       // those not sent yet, in order; Part, Body, File, Nonce, Attempts, Unsure and Tried are read
	Choices     []Choice         // what the reader can choose
	Files       []event.Enclosed // go with it; read while Parts is 0
	Quiet       []Waiter         // Parts 0: all whose time has come that waited for this address through quiet hours, oldest first, this row itself the first; else none
	Interrupted bool             // Todo[0] stands as "sending" since an older epoch
	Drafted     bool             // a message shows a draft in the place of Todo[0], and takes the row's text now:
	Shown       string           // the platform's id of it, "" when it gave none
	Cut         bool             // Drafted: the parts are those of the text already, and Todo[0].Body is the first of them
}

// ErrNotReady says that a row was taken away meanwhile: dropped, cancelled, finished.
var ErrNotReady = errors.New("not ready any more")

// Store keeps the outbox and its deliveries. Each method is one commit.
type Store interface {
	// Ready returns the heads of line that can be worked on at now, oldest first, at most limit: per address one row,
	// and only when the next try of its first open part has come. A row whose first open part has been "sending"
	// since an older epoch comes at once, with Interrupted; one that is "sending" in this epoch does not come, and holds up its line.
	// A held row (a part unknown) is passed over and does not hold up its address. A draft comes as a row of one part until that is sent,
	// and then no more; when its text is known it comes with Drafted.
	Ready(ctx context.Context, now time.Time, limit int) ([]Row, error)
	// Split stores the parts of a row that has none, or only one that shows a draft, and ends the rows joined, whose texts stand in them too, with a pointer to it.
	// Read: Part, Body, File, Nonce. When the row has parts already, or one of joined is not ready any more, nothing is changed: ErrNotReady.
	Split(ctx context.Context, outbox int64, parts []Delivery, joined []int64) error
	// Sending marks a part as "sending" in this epoch and stores d.Attempts, d.Unsure and, when it has none, d.Tried.
	// It takes a part that is ready, or sending since an older epoch; else it changes nothing and returns ErrNotReady.
	Sending(ctx context.Context, d Delivery) error
	// Settle commits a verdict: the part's state, remote id, attempts, next try and Unsure; the row as done with its
	// event message.sent when its last part is sent; the row as dead, expired or joined (v.With too) when the
	// verdict says so, even when it has not been split (d.Parts 0); v.Tell queued as an outbox row, v.Ask opened as a question.
	// A row that has ended already is left as it is.
	Settle(ctx context.Context, d Delivery, v Verdict) error
	// NextDue is the earliest instant after now at which Ready could return more by itself; zero when there is none.
	NextDue(ctx context.Context, now time.Time) (time.Time, error)
}

// ErrNoChannel says that no channel of that name is configured at all.
var ErrNoChannel = errors.New("no such channel")

// Config is what a pump works with. All fields are needed.
type Config struct {
	Store    Store
	Channel  func(name string) (Channel, error) // ErrNoChannel: none; any other error: there is one, but not at the moment
	Owner    func() []event.Address             // the owner's addresses, the first one first
	Right    func(event.Address) (Right, error) // of an address now; an error: it cannot be told yet
	Zone     func() *time.Location              // the owner's zone, for times in texts
	Report   func(channel string, err error)    // told of each send; nil error: it worked
	Receives func(channel string) time.Time     // since when receiving works, zero: it does not
	Once     func(name string, f func() error)  // runs f once in a goroutine of its own, e.g. spawn.Group.Once
	Wake     <-chan struct{}                    // a value: something new is in the outbox
	Open     Opener                             // opens the files that go with messages
	Clock    sys.Clock                          //
	Ident    sys.IDs                            // makes the nonces
	Log      *slog.Logger                       //
}

// Limits of the pump.
const (
	lanes        = 8                // addresses worked on side by side
	batch        = 1024             // heads of line read at a time
	awayNap      = 5 * time.Second  // until a channel that is away is asked for again
	errorNap     = time.Second      // after an error of the store
	everyHead    = 10_000           // more than there are lanes: all that a crash interrupted
	maxRecovered = 5                // unconfirmed sends after a restart
	longNap      = 30 * time.Second // timers stand still while the machine sleeps: look again at least this often
	sendTime     = time.Minute      // the longest a send may take
	drainTime    = 8 * time.Second  // what a send in flight still gets at shutdown
	lateAfter    = 15 * time.Minute // the owner is told that a message is late
	defaultPart  = 4000             // bytes, for a channel without Former
)

// Pump empties the outbox into the channels: strictly in order at each address, different addresses side by side.
type Pump struct {
	Config
	mu        sync.Mutex // guards what follows, and Ident
	busy      map[event.Address]bool
	resting   map[event.Address]time.Time // not looked at before; nothing is lost when the process forgets it
	doubts    doubts
	recovered int
	looked    bool          // interrupted rows have been counted
	freed     chan struct{} // an address can be worked on again
}

// NewPump makes a pump.
func NewPump(c Config) *Pump {
	return &Pump{Config: c, busy: map[event.Address]bool{}, resting: map[event.Address]time.Time{}, freed: make(chan struct{}, 1)}
}

// Run delivers until ctx ends, then lets what is in flight finish (at most some seconds) and returns nil.
// An error of the store ends it too; run it again.
func (p *Pump) Run(ctx context.Context) error {
	done := make(chan struct{}, lanes)
	running := 0
	defer func() {
		for ; running > 0; running-- {
			<-done
		}
	}()
	if err := p.takeStock(ctx); err != nil {
		return orEnd(ctx, err)
	}
	for ctx.Err() == nil {
		now := p.Clock.Wall() // one instant for both questions, so that nothing falls between them
		n, err := p.start(ctx, now, lanes-running, done)
		running += n
		if err != nil {
			return orEnd(ctx, err)
		}
		nap, err := p.nap(ctx, now)
		if err != nil {
			return orEnd(ctx, err)
		}
		timer := time.NewTimer(nap)
		select {
		case <-ctx.Done():
		case <-p.Wake:
		case <-p.freed:
		case <-timer.C:
		case <-done:
			running--
		}
		timer.Stop()
	}
	return nil
}

// orEnd hides the error of a call that was cut off by the end of ctx.
func orEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// start opens a lane for each free head of line, at most free of them, and returns how many.
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
			continue // a lane may have changed the row since it was read
		}
		started++
		p.Once("deliver to "+string(row.To), func() error {
			defer func() { done <- struct{}{} }()
			defer p.free(row.To)
			return orEnd(ctx, p.lane(ctx, row))
		})
	}
	return started, nil
}

// working lists the addresses that have a lane.
func (p *Pump) working() map[event.Address]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.busy)
}

func (p *Pump) take(a event.Address) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[a] || p.Clock.Wall().Before(p.resting[a]) {
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

// rest leaves an address alone for a while.
func (p *Pump) rest(a event.Address, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resting[a] = p.Clock.Wall().Add(d)
}

// heed leaves an address alone until a time when the platform has asked to wait: what else there is for it would come too soon as well.
func (p *Pump) heed(a event.Address, err error, until time.Time) {
	if later := (*RetryAfter)(nil); errors.As(err, &later) {
		p.rest(a, until.Sub(p.Clock.Wall()))
	}
}

// rested is the earliest end of a rest, longNap away at most.
func (p *Pump) rested(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	nap := longNap
	for a, until := range p.resting {
		if !until.After(now) {
			delete(p.resting, a)
			continue
		}
		nap = min(nap, until.Sub(now))
	}
	return nap
}

// nap is how long nothing is due.
func (p *Pump) nap(ctx context.Context, now time.Time) (time.Duration, error) {
	next, err := p.Store.NextDue(ctx, now)
	if err != nil {
		return 0, fmt.Errorf("read when the outbox is due: %w", err)
	}
	nap := p.rested(now)
	if !next.IsZero() {
		nap = min(nap, max(next.Sub(now), 0))
	}
	return nap, nil
}

// takeStock counts what the last process left in the middle of a send. Where nothing can confirm a send, the first
// five rows to the owner are sent again with a mark; all further ones are told of in one digest.
func (p *Pump) takeStock(ctx context.Context) error {
	if p.looked {
		return nil
	}
	rows, err := p.Store.Ready(ctx, p.Clock.Wall(), everyHead)
	if err != nil {
		return fmt.Errorf("read what was being sent: %w", err)
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
	p.looked = true
	return nil
}

// digest ends rows and lists them in one notice.
func (p *Pump) digest(rows []Row) Verdict {
	text := "While hob restarted, this may or may not have arrived:"
	v := Verdict{State: Joined, Reason: "told of in a digest after a restart"}
	for i, r := range rows {
		text += fmt.Sprintf("\n- to %s: %s", r.To, Excerpt(r.Body+names(r.Files)))
		if i > 0 {
			v.With = append(v.With, r.ID)
		}
	}
	v.Tell = &Notice{Key: fmt.Sprintf("outbox:%d:joined", rows[0].ID), To: p.firstOwner(), Text: text}
	return v
}

func (p *Pump) firstOwner() event.Address {
	for _, a := range p.Owner() {
		return a
	}
	return event.CLI
}

// mayRecover counts an unconfirmed send after a restart, and is false when there were enough of them.
func (p *Pump) mayRecover() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recovered++
	return p.recovered <= maxRecovered
}

func (p *Pump) isOwner(a event.Address) bool {
	return a == event.CLI || slices.Contains(p.Owner(), a)
}

// elsewhere is where the owner hears of trouble with a: his first address on another channel, else the cli.
// Trouble with a notice goes to the cli at once, so that two broken channels do not report each other for ever.
func (p *Pump) elsewhere(a event.Address, cause event.CauseKind) event.Address {
	if cause != event.ByNotice {
		for _, o := range p.Owner() {
			if o.Channel() != a.Channel() {
				return o
			}
		}
	}
	return event.CLI
}
