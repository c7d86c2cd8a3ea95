package transcribe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/modelapi"
	"hob/daemon/text"
)

// Rows reads and writes the transcript.
type Rows interface {
	// UntranscribedNotes lists the voice notes in a turn's inputs that are not transcribed yet, oldest first.
	UntranscribedNotes(ctx context.Context, id int64) ([]turn.VoiceNote, error)
	// StoreTranscript stores the text after a note, once. It returns turn.ErrStale if the turn no longer belongs to this process.
	StoreTranscript(ctx context.Context, id int64, n turn.VoiceNote, text string) error
}

// ErrNone is returned by Service.Endpoint if no endpoint is configured.
var ErrNone = errors.New("no [voice] endpoint is configured")

// Service transcribes voice notes. All fields are required.
//
// The agent calls it before the first request of a turn that would contain a note, not when the note arrives. So the channel never waits.
// Nothing is lost if hob is killed meanwhile: the note is a row by then, and the turn starts again. The note also keeps its place before
// later messages, and /stop ends the waiting.
//
// The text, or the reason why there is none, is committed into the item before a model sees it, because an item that a model has seen
// never changes.
type Service struct {
	Rows     Rows
	Open     func(ctx context.Context, artifact string) (io.ReadSeekCloser, error)
	Endpoint func(ctx context.Context) (Endpoint, error)
	Reserve  modelapi.Reserve
	Log      *slog.Logger
}

// The tokens to reserve for a request with an unknown price. OpenAI's models count ten tokens per second of speech, and people say about
// three words per second. A recording of unknown length has at most one second per 1,000 bytes (speech codecs use at least 8 kbit/s).
const (
	tokensPerSecond = 10 + 5
	tokensAround    = 100
	bytesPerSecond  = 1_000
)

// mostText is the longest stored text of one note, in bytes.
const mostText = 32 << 10

// Hear transcribes the notes of a turn. Afterwards each has a text: its transcription, or the reason why there is none. Its errors are
// those of the store, and the end of ctx.
func (d Service) Hear(ctx context.Context, id int64) error {
	notes, err := d.Rows.UntranscribedNotes(ctx, id)
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
			text = Untranscribed(n.Part, err)
		}
		fail.Point("voice.heard")
		if err := d.Rows.StoreTranscript(ctx, id, n, text); err != nil {
			return fmt.Errorf("store the transcription: %w", err)
		}
	}
	return nil
}

// Untranscribed is the text after a note that could not be transcribed.
func Untranscribed(p event.Part, why error) string {
	what := "voice note"
	if length := p.Length(); length != "" {
		what += " " + length
	}
	return fmt.Sprintf("[%s was not transcribed: %v]", what, why)
}

// words transcribes a note. An amount that may have been billed stays booked.
func (d Service) words(ctx context.Context, n turn.VoiceNote) (text string, err error) {
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
	if no := (*modelapi.Refused)(nil); errors.As(err, &no) && !no.Again() {
		used = &turn.Amount{} // nothing was done
	}
	if used != nil && correct != nil {
		if cerr := correct(context.WithoutCancel(ctx), *used); cerr != nil {
			d.Log.Error("the cost of a transcription was not corrected, so the booked amount is too high", "err", cerr)
		}
	}
	if err == nil && w.Text == "" {
		err = errors.New("nothing could be understood")
	}
	return shortened(w.Text), err
}

// booked reserves the highest possible cost of a note. An endpoint on this machine costs nothing.
func (d Service) booked(ctx context.Context, e Endpoint, p event.Part) (func(context.Context, turn.Amount) error, error) {
	if e.Local() {
		return nil, nil
	}
	correct, err := d.Reserve(ctx, e.most(p))
	if errors.Is(err, turn.ErrBudget) {
		return nil, errors.New("today's budget is used up (hob budget show)")
	}
	return correct, err
}

// most is the highest possible cost of a note: money if the price is known, otherwise tokens.
func (e Endpoint) most(p event.Part) turn.Amount {
	seconds := float64(p.Seconds)
	if p.Seconds <= 0 {
		seconds = float64(p.Size)/bytesPerSecond + 1
	}
	return e.costs(seconds)
}

// costs converts seconds of audio into money or tokens.
func (e Endpoint) costs(seconds float64) turn.Amount {
	if e.Price > 0 {
		return turn.Amount{Micros: int64(math.Ceil(seconds * float64(e.Price) / 60))}
	}
	return turn.Amount{Tokens: int64(math.Ceil(seconds*tokensPerSecond)) + tokensAround}
}

// used returns the real cost of a request as far as the endpoint reports it. nil: unknown, so the reserved amount stays.
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

// shortened limits a text to mostText.
func shortened(all string) string {
	if len(all) <= mostText {
		return all
	}
	return fmt.Sprintf("%s\n[cut here: %d KB of %d KB are shown]", text.Head(all, mostText), mostText>>10, (len(all)+1023)>>10)
}
