package transcribe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path"
	"unicode/utf8"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// Note is a voice note that nobody has listened to yet, in an input that a turn has taken.
type Note struct {
	Item int64 // of the transcript
	event.Part
}

// Rows is the transcript.
type Rows interface {
	// Unheard lists the notes in a turn's inputs that nobody has listened to, oldest first.
	Unheard(ctx context.Context, turn int64) ([]Note, error)
	// Heard puts a text behind a note, once: turn.ErrStale when the turn is no longer this process's.
	Heard(ctx context.Context, turn int64, n Note, text string) error
}

// Book books what a request may cost at most before it is made: turn.ErrBudget when a cap does not allow it. What it returns replaces that
// by what was really used.
type Book func(ctx context.Context, most turn.Amount) (correct func(ctx context.Context, used turn.Amount) error, err error)

// ErrNone is what Desk.Endpoint returns when none is configured.
var ErrNone = errors.New("no [voice] endpoint is configured")

// Service listens to voice notes. All fields are needed.
//
// It is asked by the thread, at the step before a turn's first request that would hold a note: not where the note comes in, so that nothing
// holds up the channel, and nothing is lost when hob is killed meanwhile, because the note is a row by then and the turn begins
// again. In the thread the note also keeps its place before what is written after it, /stop ends the waiting, and what
// was heard, or why nothing was, is committed into the item before any model has seen it: what a model has seen never changes.
type Service struct {
	Rows     Rows
	Open     func(ctx context.Context, artifact string) (io.ReadSeekCloser, error)
	Endpoint func(ctx context.Context) (Endpoint, error)
	Book     Book
	Log      *slog.Logger
}

// What is booked for a request whose price nobody knows, in tokens. OpenAI's models count ten tokens for a second of speech, and people say
// about three words in one; a recording of unknown length has at most a second in each 1,000 bytes (speech codecs use 8 kbit/s and more).
const (
	tokensPerSecond = 10 + 5
	tokensAround    = 100
	bytesPerSecond  = 1_000
)

// mostText is the longest text that is kept of one note, in bytes.
const mostText = 32 << 10

// Hear listens to the notes of a turn. Each of them then has a text behind it: what is said in it, or why nobody can tell. Its errors are
// those of the store, and the end of ctx.
func (d Service) Hear(ctx context.Context, id int64) error {
	notes, err := d.Rows.Unheard(ctx, id)
	if err != nil {
		return fmt.Errorf("look for voice notes: %w", err)
	}
	for _, n := range notes {
		text, err := d.words(ctx, n)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			d.Log.Warn("voice note not transcribed", "turn", id, "file", n.Name, "err", err)
			text = Unheard(n.Part, err)
		}
		fail.Point("voice.heard")
		if err := d.Rows.Heard(ctx, id, n, text); err != nil {
			return fmt.Errorf("store what was heard: %w", err)
		}
	}
	return nil
}

// Unheard is what stands behind a note that could not be transcribed.
func Unheard(p event.Part, why error) string {
	what := "voice note"
	if length := p.Length(); length != "" {
		what += " " + length
	}
	return fmt.Sprintf("[%s was not transcribed: %v]", what, why)
}

// words are what is said in a note. What may have been billed stays booked.
func (d Service) words(ctx context.Context, n Note) (text string, err error) {
	e, err := d.Endpoint(ctx)
	if err != nil {
		return "", err
	}
	body, err := d.Open(ctx, n.Artifact)
	if err != nil {
		return "", errors.New("its file cannot be opened")
	}
	defer func() { _ = body.Close() }() // only read
	correct, err := d.booked(ctx, e, n.Part)
	if err != nil {
		return "", err
	}
	w, err := e.Transcribe(ctx, Recording{Name: path.Base(n.Name), MIME: n.MIME, Size: n.Size, Body: body})
	used := e.used(w)
	if no := (*refused)(nil); errors.As(err, &no) && !no.again() {
		used = &turn.Amount{} // nothing was done
	}
	if used != nil && correct != nil {
		if cerr := correct(context.WithoutCancel(ctx), *used); cerr != nil {
			d.Log.Error("what a transcription has cost is not corrected: more is booked", "err", cerr)
		}
	}
	if err == nil && w.Text == "" {
		err = errors.New("nothing could be understood")
	}
	return shortened(w.Text), err
}

// booked books what a note may cost at most. An endpoint on this machine costs nothing.
func (d Service) booked(ctx context.Context, e Endpoint, p event.Part) (func(context.Context, turn.Amount) error, error) {
	if e.Local() {
		return nil, nil
	}
	correct, err := d.Book(ctx, e.most(p))
	if errors.Is(err, turn.ErrBudget) {
		return nil, errors.New("today's budget is used up (hob budget show)")
	}
	return correct, err
}

// most is what a note costs at most: money where the price is known, else tokens.
func (e Endpoint) most(p event.Part) turn.Amount {
	seconds := float64(p.Seconds)
	if p.Seconds <= 0 {
		seconds = float64(p.Size)/bytesPerSecond + 1
	}
	return e.costs(seconds)
}

func (e Endpoint) costs(seconds float64) turn.Amount {
	if e.Price > 0 {
		return turn.Amount{Micros: int64(math.Ceil(seconds * float64(e.Price) / 60))}
	}
	return turn.Amount{Tokens: int64(math.Ceil(seconds*tokensPerSecond)) + tokensAround}
}

// used is what a request has really cost, as far as the endpoint tells; nil when it tells nothing, and what was booked stays.
func (e Endpoint) used(w Words) *turn.Amount {
	switch {
	case w.Cost > 0:
		return &turn.Amount{Micros: int64(math.Ceil(w.Cost * 1e6))}
	case w.Tokens > 0 && e.Price == 0:
		return &turn.Amount{Tokens: w.Tokens}
	case w.Seconds > 0:
		a := e.costs(w.Seconds)
		return &a
	}
	return nil
}

// shortened is a text that is not too long for the transcript.
func shortened(text string) string {
	if len(text) <= mostText {
		return text
	}
	cut := mostText
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s\n[cut here: %d KB of %d KB are shown]", text[:cut], mostText>>10, (len(text)+1023)>>10)
}
