package channels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/channels/markup"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

// When drafts are shown and edited.
const (
	firstAfter = 3 * time.Second // a turn has this long for its answer before a draft is shown
	editEvery  = 3 * time.Second // minimum time between two edits of a draft
	longPause  = time.Minute     // maximum wait between two edits while they fail
)

// LiveAnswer is an answer in progress, as the store knows it. Its Delivery is that of the draft's only part, with
// the text that was sent first. Outbox 0: there is no draft yet.
type LiveAnswer struct {
	Delivery
	Turn   int64
	Right  Right  // of To, when the draft was queued
	Shown  string // the platform's id of the draft's message; "" until it has arrived
	Tool   string // what the running tool does, "" if none runs
	Parked bool   // the turn waits
	For    string // what a parked turn waits for: question, timer, …
}

// NewDraft is a draft to queue.
type NewDraft struct {
	Turn       int64
	To         event.Address
	Text       string // Markdown of one part
	Nonce      string
	NewMessage bool // a new message may be sent for it; else only a message that shows the place in the queue is used
}

// Drafts is the store of answers in progress.
type Drafts interface {
	// LiveAnswers lists the running turn, if somebody waits for its answer, and all turns that have a draft.
	LiveAnswers(ctx context.Context) ([]LiveAnswer, error)
	// Draft queues the draft of a turn's answer: one commit adds its row and its delivery, which the pump
	// then delivers like any other. It does nothing if the turn no longer needs a draft, has had one, or may
	// not write there at once.
	Draft(ctx context.Context, o NewDraft) error
}

// Feed distributes the text of an answer while the model writes it. It is in memory and may lose pieces.
type Feed interface {
	// Follow returns a channel of pieces and the function that ends the subscription.
	Follow() (<-chan event.Piece, func())
}

// LiveConfig holds what a Live needs. All fields are needed.
type LiveConfig struct {
	Drafts  Drafts
	Feed    Feed
	Pump    *Pump
	Enabled func() bool
	Plain   func(string) string // makes a tool's description fit to show: without secrets and invisible characters
	Wake    <-chan struct{}     // a value: a turn may have started
	Ident   sys.IDs             // makes the nonces
}

// Live shows answers while they are written, on channels that can edit sent messages. After some seconds it
// queues a draft, then edits it as the text grows. The intermediate texts are not stored. The final text is:
// at the end of the turn the pump puts it in place of the draft.
type Live struct {
	LiveConfig
	views map[int64]*draftView // by turn; used by Run alone

	mu    sync.Mutex // protects steps
	steps map[int64]stepText
}

// draftView is the state of one turn's draft.
type draftView struct {
	text  string        // shown text
	next  time.Duration // no work before this time
	fails int           // edits in a row that failed
	old   bool          // the draft was made before a restart, and may show more than its first text
	over  bool          // no more edits
}

// stepText is the text of one step so far.
type stepText struct {
	step   int
	text   string
	broken bool // a piece was lost: the rest of this step is not shown
}

// NewLive makes a Live.
func NewLive(c LiveConfig) *Live {
	return &Live{LiveConfig: c, views: map[int64]*draftView{}, steps: map[int64]stepText{}}
}

// Listen collects the pieces of answers until ctx ends.
func (l *Live) Listen(ctx context.Context) error {
	pieces, end := l.Feed.Follow()
	defer end()
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-pieces:
			l.collect(p)
		}
	}
}

// collect appends a piece to the text of its step. A new step replaces the text of the one before.
func (l *Live) collect(p event.Piece) {
	if p.Output != "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.steps[p.Turn]
	if p.Step != s.step || p.Offset == 0 {
		s = stepText{step: p.Step}
	}
	// A piece that does not continue the text follows a lost one.
	if s.broken = s.broken || p.Offset != len(s.text); !s.broken {
		s.text += p.Text
	}
	l.steps[p.Turn] = s
}

// Run queues and edits drafts until ctx ends. A store error ends it too; the caller runs it again.
func (l *Live) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		list, err := l.Drafts.LiveAnswers(ctx)
		if err != nil {
			return sys.UnlessDone(ctx, fmt.Errorf("read which answers are being made: %w", err))
		}
		if !l.Enabled() {
			list = nil
		}
		l.forget(list)
		again := false
		for _, g := range list {
			more, err := l.update(ctx, g)
			if err != nil {
				return sys.UnlessDone(ctx, err)
			}
			again = again || more
		}
		l.wait(ctx, again)
	}
	return nil
}

// wait pauses briefly. If no draft needs work, it then waits until a turn may have started.
func (l *Live) wait(ctx context.Context, again bool) {
	sys.Sleep(ctx, lookEvery)
	if again {
		return
	}
	select {
	case <-ctx.Done():
	case <-l.Wake:
	}
}

// forget drops the state of turns that have ended.
func (l *Live) forget(list []LiveAnswer) {
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
	for turn := range l.steps {
		if !runs[turn] {
			delete(l.steps, turn)
		}
	}
}

// update does the next step for one answer. again reports whether more may be due without a wake signal.
func (l *Live) update(ctx context.Context, g LiveAnswer) (again bool, err error) {
	now := l.Pump.Clock.Mono()
	v := l.views[g.Turn]
	if v == nil {
		v = &draftView{old: g.Outbox != 0}
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
		return true, nil // the channel is away, it is too early, the pump is sending the draft, or the reader lost the right
	}
	v.text = cmp.Or(v.text, g.Body)
	text := l.text(g, FormOf(ch))
	switch {
	case g.Outbox == 0:
		v.next = now + editEvery
		return true, l.begin(ctx, g, AbilitiesOf(ch).Repeats, text)
	case v.old && text == working:
		return true, nil // a text stays until there is a longer one
	case text != v.text:
		l.editDraft(ctx, g, v, editor, text, AbilitiesOf(ch).Repeats)
	}
	return !g.Parked || text != v.text, nil
}

// hidden reports whether the draft's recipient has lost the right to see more of it.
func (l *Live) hidden(g LiveAnswer) bool {
	why, err := rightsCheck{l.Pump}.lost(g.To, g.Right)
	return why != "" || err != nil
}

// begin queues a draft. On a channel where sends can neither be looked up nor safely repeated, only the owner
// gets a new message: a doubtful send to anybody else is held with a question, and a draft is not worth one.
func (l *Live) begin(ctx context.Context, g LiveAnswer, repeats Repeats, text string) error {
	anew := repeats != Marked || l.Pump.isOwner(g.To)
	if err := l.Drafts.Draft(ctx, NewDraft{Turn: g.Turn, To: g.To, Text: text, Nonce: l.Ident.Code(16), NewMessage: anew}); err != nil {
		return fmt.Errorf("begin a draft for turn %d: %w", g.Turn, err)
	}
	return nil
}

// editDraft edits a draft while nothing else is sent to its address. Otherwise the final text could arrive between
// the check and the edit, and be overwritten.
func (l *Live) editDraft(ctx context.Context, g LiveAnswer, v *draftView, editor Editor, text string, repeats Repeats) {
	l.exclusive(g.To, func() {
		if !l.stillCurrent(ctx, g) {
			return
		}
		d := g.Delivery
		d.Body = text
		if d.Unsure > 0 && repeats == Marked {
			d.Repeat, d.Body = true, d.Body+repeatMark
		}
		err := edit(ctx, editor, d, g.Shown)
		fail.Point("draft.edited")
		l.recordEdit(g.To, v, text, err)
		if err != nil {
			l.Pump.Log.Debug("a draft was not edited", "turn", g.Turn, "to", g.To, "err", err)
		}
	})
}

// exclusive calls f while no worker sends to the address. It does nothing if one does, or the address rests.
func (l *Live) exclusive(a event.Address, f func()) {
	if !l.Pump.take(a) {
		return
	}
	defer func() {
		l.Pump.free(a)
		select {
		case l.Pump.addressFree <- struct{}{}:
		default:
		}
	}()
	f()
}

// stillCurrent reports whether the draft is still current.
func (l *Live) stillCurrent(ctx context.Context, g LiveAnswer) bool {
	list, err := l.Drafts.LiveAnswers(ctx)
	return err == nil && slices.ContainsFunc(list, func(now LiveAnswer) bool { return now.Outbox == g.Outbox && now.Shown == g.Shown })
}

// recordEdit records the result of an edit. An edit never has to succeed: a draft that can never be edited is
// left alone, and all other failures are tried again with the text of that moment. A RetryAfter of the
// platform applies to everything for the address.
func (l *Live) recordEdit(to event.Address, v *draftView, text string, err error) {
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
		l.Pump.rest(to, min(later.After, longestWait))
		return
	}
	v.next = now + min(editEvery<<v.fails, longPause)
	v.fails = min(v.fails+1, 10)
}

// edit calls the adapter's Edit with the limits of guarded.
func edit(ctx context.Context, editor Editor, d Delivery, remoteID string) error {
	_, _, err := guarded(ctx, func(ctx context.Context) (string, bool, error) { return "", false, editor.Edit(ctx, d, remoteID) })
	return err
}

// Edits reports whether a message that was sent to an address can be changed.
func (t *Table) Edits(to event.Address) bool {
	ch, err := t.Channel(to.Channel())
	return err == nil && AbilitiesOf(ch).Edits
}

// text returns what a draft shows now.
func (l *Live) text(g LiveAnswer, f markup.Form) string {
	l.mu.Lock()
	said := l.steps[g.Turn].text
	l.mu.Unlock()
	note := ""
	switch {
	case g.Parked && g.For == "question":
		note = "*Waiting for an answer to a question.*"
	case g.Parked:
		note = "*Waiting.*"
	case g.Tool != "" && l.Pump.isOwner(g.To): // visitors must not see what hob does for the owner
		note = working + " (" + inCode(l.Plain(g.Tool)) + ")"
	case g.Tool != "" || strings.TrimSpace(said) == "":
		note = working
	}
	return DraftText(said, note, f)
}

// working is shown before the first words.
const working = "*Working…*"

// longestDoing limits the description of a running tool, in characters.
const longestDoing = 80

func inCode(s string) string {
	line := []rune(strings.ReplaceAll(s, "`", "'"))
	if len(line) > longestDoing {
		line = append(line[:longestDoing-1], '…')
	}
	return "`" + string(line) + "`"
}

// DraftText returns the text of a draft: the beginning of the answer that fits into one message of form f,
// closed in itself, and a note as a separate paragraph. A beginning that may become a silence word is not
// shown.
func DraftText(said, note string, f markup.Form) string {
	if word := strings.TrimSpace(said); strings.HasPrefix("HEARTBEAT_OK", word) || strings.HasPrefix("NO_REPLY", word) {
		said = ""
	}
	f = withoutMarks(f)
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
