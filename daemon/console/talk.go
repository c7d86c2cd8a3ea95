package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"hob/daemon/api/client"
	"hob/daemon/sys"
)

// Pauses between attempts to reach the daemon; each is twice as long as the one before.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 5 * time.Second
)

// interrupt is Ctrl-C as a terminal in raw mode sends it.
const interrupt = 0x03

// Markers of pasted text (bracketed paste). Everything between them is text.
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// messageID is the number of characters in a message's id, under which the daemon detects repeats.
const messageID = 20

// Talk is a conversation on a terminal. The caller has put it into raw mode if Look says that the cursor can be moved.
type Talk struct {
	API     API
	In      io.Reader
	Out     io.Writer
	Size    func() (width, height int)
	Session string // "" is the session main
	Cursor  Cursor
	Zone    *time.Location
	Look    Look
	History string                     // file of the lines typed before; "" keeps none
	Words   func(line string) []string // what Tab offers for the last word of a line; nil: nothing
	// Sessions lists the conversations for /sessions; nil: there are none. Choose shows them at the start.
	Sessions func() ([]Choice, error)
	Choose   bool
	Verbose  bool             // questions show the canonical form of calls
	Ends     bool             // leaving ends hob itself
	Resized  <-chan os.Signal // the size has changed; nil: it never does
	Now      func() time.Time // nil: the time of this machine
	Log      *slog.Logger
}

// talk is a running Talk. One goroutine (loop) owns its state; the goroutines for the keyboard, the line editor and the events only send to
// its channels.
type talk struct {
	options      *Talk
	conversation *conversation
	editor       *lineEditor
	draft        draft
	armed        bool           // Ctrl-C was pressed and there was nothing to stop
	ending       bool           // the prompt asks whether hob may stop
	answers      string         // code of the question that the prompt shows and the line answers; "" for none
	idle         *time.Timer    // ends when nothing was typed or asked for a while
	isIdle       bool           // it has ended
	begun        time.Time      // when the message that is typed was begun
	unsent       client.Message // the one that did not reach the daemon
	files        files          // go with the next message
	choices      []Choice       // the conversations of which the next line may choose one
	asked        int            // the view's blocks when the last question had been shown
	last         string         // the code of that question
	raw          chan []byte
	frames       chan client.Frame
	lost         chan error // nil: found again
	unnoted      bool       // the place could not be noted, and that was told
}

// errLeave ends the conversation because the user leaves.
var errLeave = errors.New("leave")

// Run talks until the user leaves (Ctrl-D, or Ctrl-C twice when nothing can be stopped) or ctx ends. If the daemon stops, Run waits for it
// to come back. The goroutine that reads In ends only when In does, so Run does not wait for it.
func (t *Talk) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h, err := newHistory(t.History)
	if err != nil {
		return fmt.Errorf("read the lines typed before: %w", err)
	}
	d := newLineEditor(t.Out, t.Look, t.Size, &typing{history: h, words: t.Words})
	k := &talk{
		options: t, conversation: newConversation(d), editor: d, idle: time.NewTimer(idleDelay),
		raw: make(chan []byte), frames: make(chan client.Frame, 64), lost: make(chan error, 1),
	}
	k.conversation.zone, k.conversation.session, d.view.verbose = t.Zone, cmp.Or(t.Session, "main"), t.Verbose
	if t.Now != nil {
		k.conversation.progress.now = t.Now
	}
	if err := k.catchUp(ctx); err != nil {
		return err
	}
	// The group of the reader is not waited for: a read of the keyboard cannot be interrupted.
	reader, g := sys.NewGroup(t.Log, nil), sys.NewGroup(t.Log, nil)
	reader.Once("keyboard", func() error { return k.read(ctx) })
	g.Once("line editor", d.edit)
	seq := k.conversation.seq
	g.Once("events", func() error { return k.listen(ctx, seq) })
	d.open()
	if t.Choose {
		err = k.choose()
	}
	if err == nil {
		err = k.loop(ctx)
	}
	// All goroutines except the keyboard's end here, before the caller restores the terminal.
	d.leave()
	stop()
	d.close()
	g.Wait()
	if errors.Is(err, errLeave) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, h.err, t.Cursor.Move(k.conversation.seq))
}

// catchUp shows what happened since the user last looked, and follows the events from there.
func (k *talk) catchUp(ctx context.Context) error {
	away, err := readMissed(ctx, k.options.API, k.options.Cursor, 0)
	if err != nil {
		return err
	}
	away.show(k.conversation)
	k.conversation.seq = away.seq
	k.note() // the process may be killed; what it has shown does not come again
	return nil
}

// read passes typed bytes to the loop.
func (k *talk) read(ctx context.Context) error {
	defer close(k.raw)
	for {
		b := make([]byte, 256)
		n, err := k.options.In.Read(b)
		if n > 0 {
			select {
			case k.raw <- b[:n]:
			case <-ctx.Done():
				return nil
			}
		}
		if err != nil {
			return nil // the terminal is closed: the loop leaves
		}
	}
}

// listen follows the daemon's events, also after its restarts. It reports to the loop when the daemon is lost and when it is back.
func (k *talk) listen(ctx context.Context, seq int64) error {
	pause := firstPause
	for {
		err := k.options.API.Follow(ctx, seq, true, func(f client.Frame) error {
			// The first frame after a loss: the daemon is back.
			if pause != firstPause {
				pause = firstPause
				k.tell(ctx, nil)
			}
			if f.Event != nil {
				seq = f.Event.Seq
			} else if f.Piece == nil {
				seq = f.Start
			}
			select {
			case k.frames <- f:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if ctx.Err() != nil {
			return nil
		}
		// Only the first failure is reported; further attempts fail for the same reason.
		if pause == firstPause {
			k.tell(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// tell reports the loss of the daemon to the loop, or its return (nil).
func (k *talk) tell(ctx context.Context, err error) {
	select {
	case k.lost <- err:
	case <-ctx.Done():
	}
}

// loop waits for keys, entered lines, events and the state of the connection, and handles one at a time. It opens an input line whenever no
// turn is at work.
func (k *talk) loop(ctx context.Context) error {
	spinner := time.NewTicker(spin)
	spinner.Stop()
	defer spinner.Stop()
	defer k.idle.Stop()
	for spins := false; k.editor.err == nil; {
		k.offer()
		busy := k.conversation.busy()
		if !k.editor.editing && !busy {
			k.begin()
		}
		// Nothing moves while nothing is at work: the process then sleeps.
		if busy && !spins {
			spinner.Reset(spin)
		} else if !busy && spins {
			spinner.Stop()
		}
		spins = busy
		k.editor.view.runs(k.conversation.progress.status(k.conversation.running(), k.conversation.queued(), k.editor.view), k.covered())
		var err error
		select {
		case <-spinner.C:
		case <-k.idle.C:
			k.isIdle = true
		case <-k.options.Resized:
			k.editor.resized()
		case <-ctx.Done():
			return ctx.Err()
		case b, open := <-k.raw:
			if !open {
				return errLeave
			}
			err = k.keyed(ctx, b)
		case l := <-k.editor.lines:
			err = k.entered(ctx, l)
		case f := <-k.frames:
			k.shown(f)
		case e := <-k.lost:
			k.connection(e)
		}
		if err != nil {
			return err
		}
	}
	return k.editor.err
}

// begin opens the input line. A new line has the terminal's current size.
func (k *talk) begin() {
	if !k.editor.editing {
		k.disturbed() // keys that were pressed before are still on their way
	}
	if k.editor.term == nil && !k.editor.editing && !k.draft.open() {
		k.begun = k.conversation.progress.now() // its keys are not seen
	}
	k.editor.begin(k.prompt())
}

// shown shows a frame. The prompt changes when a question was asked or closed. After a message or the end of a turn the user's place moves.
func (k *talk) shown(f client.Frame) {
	before := k.prompt()
	k.conversation.see(f)
	if f.Event != nil && f.Event.Type == "question.asked" {
		k.asked, k.last = k.editor.view.blocks, stringOf(f.Event, "code")
		k.disturbed()
	}
	if now := k.prompt(); k.editor.editing && now != before {
		k.editor.reprompt(now)
	}
	if e := f.Event; e != nil && (e.Type == "message.sent" || e.Type == "turn.finished") {
		k.conversation.forget()
		k.note()
	}
}

// note notes the user's place. A failure never ends the conversation, which in the terminal of hob up would end hob: it is told once.
func (k *talk) note() {
	err := k.options.Cursor.Move(k.conversation.seq)
	if !k.unnoted {
		unplaced(k.conversation.out, err)
	}
	k.unnoted = err != nil
}

// connection shows that the daemon was lost, or is back.
func (k *talk) connection(lost error) {
	if lost == nil {
		k.conversation.out.Note("hob answers again")
		return
	}
	k.options.Log.Debug("lost the daemon", "err", lost)
	k.conversation.out.Break()
	k.conversation.out.Note("hob has stopped; waiting for it …")
}

// keyed handles typed bytes: Ctrl-C acts at once, anything else goes to the line editor.
func (k *talk) keyed(ctx context.Context, b []byte) error {
	// A paste may have the character too; the key comes alone.
	if bytes.IndexByte(b, interrupt) >= 0 && (len(b) == 1 || !k.editor.typing.inPaste(b)) {
		return k.interrupted(ctx)
	}
	k.armed = false
	k.disturbed()
	if k.editor.term != nil && !k.editor.typing.begun() && !k.draft.open() {
		k.begun = k.conversation.progress.now()
	}
	k.begin()
	k.editor.typed(b)
	return nil
}

// interrupted stops the turns of this conversation. Messages in the queue were accepted and are still served.
func (k *talk) interrupted(ctx context.Context) error {
	waiting := ""
	if n := k.conversation.queued(); n > 0 {
		waiting = Plural(n, "message") + " of yours still queued (see: hob inbox list); "
	}
	if turns := k.conversation.running(); len(turns) > 0 {
		if waiting != "" || !k.options.Look.Moves {
			k.conversation.out.Note(waiting + "stopping …")
		}
		for _, turn := range turns {
			k.conversation.progress.does(turn, "stopping", time.Time{})
			if err := k.showError(halt(ctx, k.options.API, turn)); err != nil {
				return err
			}
		}
		return nil
	}
	typed := k.editor.typing.begun() || k.draft.open()
	k.draft = draft{}
	switch {
	case typed: // as in a shell
		k.editor.wipe(k.prompt())
		return nil
	case k.armed:
		return errLeave
	}
	k.armed = true
	leave := "press Ctrl-C again, or Ctrl-D, to leave"
	if k.options.Ends {
		leave += "; hob then stops, and reminders wait until it runs again"
	}
	k.conversation.out.Note(waiting + leave)
	return nil
}

// entered handles an entered line: a file to attach, an answer to the question asked last, or a message or part of one.
func (k *talk) entered(ctx context.Context, l typed) error {
	k.editor.ended(l)
	if l.err != nil {
		return errLeave
	}
	message, ready := k.draft.add(l.line)
	if !ready {
		k.begin()
		return nil
	}
	answers, ending := k.answers, k.ending
	k.answers, k.ending = "", false
	switch {
	case k.leaves(message, answers, ending):
		return errLeave
	case k.ending, ending && slices.Contains([]string{"", "n", "no"}, strings.ToLower(message)): // it asks, or the answer is no
		return nil
	case message == "/sessions":
		return k.choose()
	case k.choices != nil && k.chosen(message):
		return nil
	case elsewhere(message) != "":
		k.conversation.out.Note(elsewhere(message))
		return nil
	}
	switch word, path, _ := strings.Cut(message, " "); word {
	case attachWord:
		k.attach(strings.TrimSpace(path))
		return nil
	case "/help":
		k.conversation.out.Note(helpHere)
	}
	if done, err := k.answer(ctx, answers, message); done || err != nil {
		return err
	}
	if strings.TrimSpace(message) == "" {
		return nil
	}
	return k.post(ctx, message)
}

// post sends a message. If the daemon does not answer, the message goes back into the editor. Sent again unchanged it keeps its id, so the
// daemon drops the repeat if only its answer was lost.
func (k *talk) post(ctx context.Context, message string) error {
	id := sys.RandomIDs().Code(messageID)
	m := client.Message{Text: message, Session: k.options.Session, ID: id, Begun: k.begun, Attachments: k.files.take()}
	if message == k.unsent.Text && len(m.Attachments) == 0 {
		m.ID, m.Begun, m.Attachments = k.unsent.ID, k.unsent.Begun, k.unsent.Attachments
	}
	k.unsent = client.Message{}
	r, err := k.options.API.Post(ctx, m)
	var p *client.Problem
	switch {
	case err == nil:
		k.conversation.expect(r.Inbox, message)
		return nil
	// The daemon has answered with a refusal, so the message need not be kept.
	case errors.As(err, &p), errors.Is(err, context.Canceled):
		return k.showError(err)
	}
	k.unsent = m
	again := "; your message is below; press Enter to send it again"
	if k.editor.term == nil {
		again = "; type your message again to send it"
	}
	k.conversation.out.Note(err.Error() + again)
	k.begin()
	k.editor.again(message)
	return nil
}

// showError shows an error of the daemon, after which the conversation continues.
func (k *talk) showError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	k.conversation.out.Note(err.Error())
	var p *client.Problem
	if errors.As(err, &p) {
		k.conversation.out.Note(p.Hint)
	}
	return nil
}
