package logfile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// Lines returns a handler that writes records as JSON lines, durations as people write them.
func Lines(w io.Writer, level slog.Level) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: spans})
}

func spans(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// Journal returns a handler for a standard error that systemd's journal reads: a priority in front (sd-daemon(3)), no time and no
// level, which the journal keeps itself.
func Journal(w io.Writer, level slog.Level) slog.Handler {
	p := &page{to: w}
	return journal{page: p, next: slog.NewTextHandler(&p.buf, &slog.HandlerOptions{Level: level, ReplaceAttr: bare})}
}

// page is where one line is made before it is written in one piece.
type page struct {
	mu  sync.Mutex
	buf bytes.Buffer
	to  io.Writer
}

type journal struct {
	page *page
	next slog.Handler
}

// bare takes the time and the level out.
func bare(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

func (j journal) Enabled(ctx context.Context, level slog.Level) bool {
	return j.next.Enabled(ctx, level)
}

func (j journal) Handle(ctx context.Context, r slog.Record) error {
	j.page.mu.Lock()
	defer j.page.mu.Unlock()
	j.page.buf.Reset()
	fmt.Fprintf(&j.page.buf, "<%d>", priority(r.Level))
	if err := j.next.Handle(ctx, r); err != nil {
		return fmt.Errorf("write for the journal: %w", err)
	}
	if _, err := j.page.to.Write(j.page.buf.Bytes()); err != nil {
		return fmt.Errorf("write to the journal: %w", err)
	}
	return nil
}

func (j journal) WithAttrs(attrs []slog.Attr) slog.Handler {
	return journal{j.page, j.next.WithAttrs(attrs)}
}

func (j journal) WithGroup(name string) slog.Handler { return journal{j.page, j.next.WithGroup(name)} }

// priority is syslog's (syslog(3)): 3 error, 4 warning, 6 information, 7 debugging.
func priority(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return 3
	case level >= slog.LevelWarn:
		return 4
	case level >= slog.LevelInfo:
		return 6
	default:
		return 7
	}
}
