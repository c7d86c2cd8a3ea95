package secret

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"unicode/utf8"
)

// Writer returns a writer that redacts what goes to w, including values that are split over several writes: it holds back an end that
// could be the beginning of a value until the next write or Close. Close does not close w.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &writer{r: r, w: w} }

type writer struct {
	mu   sync.Mutex
	r    *Redactor
	w    io.Writer
	last string // the end of what was written, at most one character: whether a short value is a word of its own depends on it
	held string
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// held is shorter than the longest known form, so it does not grow with the log.
	s := w.last + w.held + string(p)
	n := w.r.settled(s, len(w.last))
	w.held = s[n:]
	if err := w.emit(s, n); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.last + w.held
	w.held = ""
	return w.emit(rest, len(rest))
}

// emit writes s up to end, without last, which it begins with.
func (w *writer) emit(s string, end int) error {
	clean := w.r.text(s, len(w.last), end)
	w.last = s[max(0, end-utf8.UTFMax):end]
	if clean == "" {
		return nil
	}
	if _, err := io.WriteString(w.w, clean); err != nil {
		return fmt.Errorf("write redacted text: %w", err)
	}
	return nil
}

// Handler returns a handler that redacts messages and attributes before h gets them. An attribute that is neither text nor a number and
// that contains a value is replaced by its redacted text.
func (r *Redactor) Handler(h slog.Handler) slog.Handler { return handler{r: r, next: h} }

type handler struct {
	r    *Redactor
	next slog.Handler
}

func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, rec slog.Record) error {
	clean := slog.NewRecord(rec.Time, rec.Level, h.r.Text(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return handler{r: h.r, next: h.next.WithAttrs(clean)}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{r: h.r, next: h.next.WithGroup(h.r.Text(name))}
}

func (h handler) attr(a slog.Attr) slog.Attr {
	// Resolve calls the LogValue method of a value, whose result may hold a secret.
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		v = slog.StringValue(h.r.Text(v.String()))
	case slog.KindGroup:
		group := v.Group()
		clean := make([]slog.Attr, len(group))
		for i, g := range group {
			clean[i] = h.attr(g)
		}
		v = slog.GroupValue(clean...)
	case slog.KindAny:
		v = h.any(v)
	}
	return slog.Attr{Key: h.r.Text(a.Key), Value: v}
}

// any replaces a value if its text or its JSON contains a secret.
func (h handler) any(v slog.Value) slog.Value {
	// Text and JSON are both checked, because the next handler may write either.
	text := fmt.Sprintf("%+v", v.Any())
	if b, ok := v.Any().([]byte); ok {
		text = string(b)
	}
	if clean := h.r.Text(text); clean != text {
		return slog.StringValue(clean)
	}
	if _, ok := v.Any().(error); ok {
		return v // handlers write errors as their text
	}
	if b, err := json.Marshal(v.Any()); err == nil {
		if clean := h.r.Text(string(b)); clean != string(b) {
			return slog.StringValue(clean)
		}
	}
	return v
}
