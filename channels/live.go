package channels

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/channels/markup"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

// When an answer that is being made is shown.
const (
	firstAfter = 3 * time.Second // so long a turn has for its answer before a draft of it is shown
	editEvery  = 3 * time.Second // a draft is edited at most so often
	longPause  = time.Minute     // between two edits of a draft, when they fail
)

// Growth is an answer that is being made, as the store knows it. Its Delivery is that of the draft's only part, with the text that was sent first;
// Outbox 0: there is no draft yet.
type Growth struct {
	Delivery
	Turn   int64
	Right  Right  // of To, when the draft was begun
	Shown  string // the platform's id of the message that shows the draft; "" as long as it has not arrived
	Doing  string // what the tool does that runs, "" when none does
	Parked bool   // the turn waits,
	For    string // for this: question, timer, …
}

// Opening is a draft to begin.
type Opening struct {
	Turn  int64
	To    event.Address
	Text  string // Markdown of one part
	Nonce string
	Anew  bool // a new message may show it; else only one that tells how many are ahead
}

// Drafts are the answers that are being made.
type Drafts interface {
	// Growing lists the turn that runs, when somebody sits and waits for its answer, and all that have a draft.
	Growing(ctx context.Context) ([]Growth, error)
	// Draft begins the draft of a turn's answer: its row and its delivery are one commit, which the pump then carries out like any other. It does nothing when
	// the turn does not need one any more, has had one, or may not be heard there at once.
	Draft(ctx context.Context, o Opening) error
}

// Feed is where the pieces of an answer pass by.
type Feed interface {
	// Follow returns a channel of pieces and the function that ends it.
	Follow() (<-chan event.Live, func())
}

// LiveConfig is what a Live works with. All fields are needed.
type LiveConfig struct {
	Drafts  Drafts
	Feed    Feed
	Pump    *Pump
	Enabled func() bool
	Plain   func(string) string // what runs, as it may be shown: without secrets, and with nothing in it that cannot be seen
	Wake    <-chan struct{}     // a value: a turn may have started
	Ident   sys.IDs             // makes the nonces
}

// Live shows answers while they are made, where the channel can edit what it has sent: a draft after some seconds, which it then edits. What it
// shows in between is not kept; the end of the turn, which is, puts the text in the draft's place.
type Live struct {
	LiveConfig
	views map[int64]*view // by turn; of Run alone

	mu   sync.Mutex // guards what follows
	said map[int64]spoken
}

// view is what Live has made of one turn.
type view struct {
	text  string        // what the draft shows
	next  time.Duration // nothing is done before
	fails int           // edits in a row that failed
	old   bool          // the draft is of an earlier start, which may have shown more than its first text
	over  bool          // nothing more is shown
}

// spoken is the text of one step so far.
type spoken struct {
	step   int
	text   string
	broken bool // a piece was lost: the rest of this step is not shown
}

// NewLive makes a Live.
func NewLive(c LiveConfig) *Live {
	return &Live{LiveConfig: c, views: map[int64]*view{}, said: map[int64]spoken{}}
}

// Listen puts the pieces of answers together until ctx ends.
func (l *Live) Listen(ctx context.Context) error {
	pieces, end := l.Feed.Follow()
	defer end()
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-pieces:
			l.hear(p)
		}
	}
}

func (l *Live) hear(p event.Live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.said[p.Turn]
	if p.Step != s.step || p.Offset == 0 {
		s = spoken{step: p.Step}
	}
	if s.broken = s.broken || p.Offset != len(s.text); !s.broken {
		s.text += p.Text
	}
	l.said[p.Turn] = s
}

// Run shows drafts until ctx ends. An error of the store ends it too; run it again.
func (l *Live) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		list, err := l.Drafts.Growing(ctx)
		if err != nil {
			return orEnd(ctx, fmt.Errorf("read which answers are being made: %w", err))
		}
		if !l.Enabled() {
			list = nil
		}
		l.forget(list)
		again := false
		for _, g := range list {
			more, err := l.tend(ctx, g)
			if err != nil {
				return orEnd(ctx, err)
			}
			again = again || more
		}
		l.wait(ctx, again)
	}
	return nil
}

// wait is over after a moment, or, when there is nothing to do, when something may have begun.
func (l *Live) wait(ctx context.Context, again bool) {
	Pause(ctx, lookEvery)
	if again {
		return
	}
	select {
	case <-ctx.Done():
	case <-l.Wake:
	}
}

// forget drops what is known of turns that have ended.
func (l *Live) forget(list []Growth) {
	runs := map[int64]bool{}
	for _, g := range list {
		runs[g.Turn] = true
	}
	for turn := range l.views {
		if !runs[turn] {
			delete(l.views, turn)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for turn := range l.said {
		if !runs[turn] {
			delete(l.said, turn)
		}
	}
}

// tend does what there is to do for one answer, and tells whether there may be more by itself.
func (l *Live) tend(ctx context.Context, g Growth) (again bool, err error) {
	now := l.Pump.Clock.Mono()
	v := l.views[g.Turn]
	if v == nil {
		v = &view{old: g.Outbox != 0}
		if !v.old {
			v.next = now + firstAfter
		}
		l.views[g.Turn] = v
	}
	ch, err := l.Pump.Channel(g.To.Channel())
	editor, can := ch.(Editor)
	switch {
	case v.over || err == nil && !can:
		return false, nil
	case err != nil || now < v.next || g.Outbox != 0 && g.Shown == "" || l.hidden(g):
		return true, nil // the channel is away, it is too early, the pump is at it, or nobody there may see more
	}
	if v.text == "" {
		v.text = g.Body
	}
	text := l.text(g, FormOf(ch))
	switch {
	case g.Outbox == 0:
		v.next = now + editEvery
		return true, l.begin(ctx, g, AbilitiesOf(ch).Repeats, text)
	case v.old && text == working:
		return true, nil // words stay until there are others
	case text != v.text:
		l.grow(ctx, g, v, editor, text, AbilitiesOf(ch).Repeats)
	}
	return !g.Parked || text != v.text, nil
}

// hidden reports whether a draft shows nothing more to whom it was begun for.
func (l *Live) hidden(g Growth) bool {
	why, err := guard{l.Pump}.lost(g.To, g.Right)
	return why != "" || err != nil
}

// begin begins a draft. Where a send can neither be looked up nor be made twice without harm, a new message shows it only to the owner: what may have
// arrived is held for anybody else, and a draft is not worth a question.
func (l *Live) begin(ctx context.Context, g Growth, repeats Repeats, text string) error {
	anew := repeats != Marked || l.Pump.isOwner(g.To)
	if err := l.Drafts.Draft(ctx, Opening{Turn: g.Turn, To: g.To, Text: text, Nonce: l.Ident.Code(16), Anew: anew}); err != nil {
		return fmt.Errorf("begin a draft for turn %d: %w", g.Turn, err)
	}
	return nil
}

// grow edits a draft, while nothing else is sent to its address: the turn's end must not come between the look and the edit.
func (l *Live) grow(ctx context.Context, g Growth, v *view, editor Editor, text string, repeats Repeats) {
	l.alone(g.To, func() {
		if !l.stands(ctx, g) {
			return
		}
		d := g.Delivery
		d.Body = text
		if d.Unsure > 0 && repeats == Marked {
			d.Repeat, d.Body = true, d.Body+repeatMark
		}
		err := edit(ctx, editor, d, g.Shown)
		fail.Point("draft.edited")
		l.edited(g.To, v, text, err)
		if err != nil {
			l.Pump.Log.Debug("a draft was not edited", "turn", g.Turn, "to", g.To, "err", err)
		}
	})
}

// alone calls f while no lane works on an address, unless one does, or it rests.
func (l *Live) alone(a event.Address, f func()) {
	if !l.Pump.take(a) {
		return
	}
	defer func() {
		l.Pump.free(a)
		select {
		case l.Pump.freed <- struct{}{}:
		default:
		}
	}()
	f()
}

// stands looks whether a draft is still one.
func (l *Live) stands(ctx context.Context, g Growth) bool {
	list, err := l.Drafts.Growing(ctx)
	for _, now := range list {
		if err == nil && now.Outbox == g.Outbox && now.Shown == g.Shown {
			return true
		}
	}
	return false
}

// edited notes what came of an edit. Nobody depends on it: what can never be edited is left alone, all else is tried again with what is there to show then.
// When the platform asks to wait, all that is meant for the address waits.
func (l *Live) edited(to event.Address, v *view, text string, err error) {
	now := l.Pump.Clock.Mono()
	var later *RetryAfter
	switch {
	case err == nil:
		v.text, v.old, v.fails, v.next = text, false, 0, now+editEvery
		return
	case errors.Is(err, ErrPermanent):
		v.over = true
	case errors.As(err, &later):
		v.next = now + max(later.After, editEvery)
		l.Pump.rest(to, min(later.After, longestNap))
		return
	}
	v.next = now + min(editEvery<<v.fails, longPause)
	v.fails = min(v.fails+1, 10)
}

// edit calls an adapter as guarded does.
func edit(ctx context.Context, editor Editor, d Delivery, remoteID string) error {
	_, _, err := guarded(ctx, func(ctx context.Context) (string, bool, error) { return "", false, editor.Edit(ctx, d, remoteID) })
	return err
}

// Edits tells whether what has been sent to an address can be changed.
func (h *Host) Edits(to event.Address) bool {
	ch, err := h.Channel(to.Channel())
	return err == nil && AbilitiesOf(ch).Edits
}

// text is what there is to show of an answer now.
func (l *Live) text(g Growth, f markup.Form) string {
	l.mu.Lock()
	said := l.said[g.Turn].text
	l.mu.Unlock()
	note := ""
	switch {
	case g.Parked && g.For == "question":
		note = "*Waiting for an answer to a question.*"
	case g.Parked:
		note = "*Waiting.*"
	case g.Doing != "" && l.Pump.isOwner(g.To): // what hob does for him is nobody else's business
		note = working + " (" + inCode(l.Plain(g.Doing)) + ")"
	case g.Doing != "" || strings.TrimSpace(said) == "":
		note = working
	}
	return Glimpse(said, note, f)
}

// working is shown while there are no words.
const working = "*Working…*"

// longestDoing is how much of what a tool does is shown, in characters.
const longestDoing = 80

func inCode(s string) string {
	line := []rune(strings.ReplaceAll(s, "`", "'"))
	if len(line) > longestDoing {
		line = append(line[:longestDoing-1], '…')
	}
	return "`" + string(line) + "`"
}

// Glimpse is what a draft shows: the beginning of an answer as far as one message of the form f takes it, whole in itself, and a note as a
// paragraph of its own. What may become a word that means silence is not shown.
func Glimpse(said, note string, f markup.Form) string {
	if word := strings.TrimSpace(said); strings.HasPrefix("HEARTBEAT_OK", word) || strings.HasPrefix("NO_REPLY", word) {
		said = ""
	}
	f = roomy(f)
	if f.Limit > 0 && note != "" {
		f.Limit -= f.Size(f.Render("x\n\n"+note)) - f.Size(f.Render("x"))
	}
	parts := f.Split(said)
	switch {
	case len(parts) == 0:
		return note
	case note == "":
		return markup.Closed(parts[0])
	}
	return markup.Closed(parts[0]) + "\n\n" + note
}
