package logfile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// Lines returns a handler that writes records as JSON lines, with durations in readable form.
// The log file gets its lines from here; Follow reads them back by the names of slog's fields. Records below level are dropped.
func Lines(w io.Writer, level slog.Level) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: spans})
}

// spans formats durations, for example as 1m30s.
func spans(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// Journal returns a handler for a standard error that systemd's journal reads. A line begins with its priority (sd-daemon(3)) and has no
// time and level, because the journal stores both itself.
func Journal(w io.Writer, level slog.Level) slog.Handler {
	p := &lineBuffer{to: w}
	return journal{line: p, next: slog.NewTextHandler(&p.buf, &slog.HandlerOptions{Level: level, ReplaceAttr: bare})}
}

// lineBuffer builds one line, so that it is written in one piece.
// All handlers that were derived from one Journal share it, so mu keeps their lines apart.
type lineBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
	to  io.Writer
}

// journal is the handler of Journal. next formats a record into the buffer of line.
type journal struct {
	line *lineBuffer
	next slog.Handler
}

// bare removes the time and the level.
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
	j.line.mu.Lock()
	defer j.line.mu.Unlock()
	// The buffer still holds the last line.
	j.line.buf.Reset()
	fmt.Fprintf(&j.line.buf, "<%d>", priority(r.Level))
	if err := j.next.Handle(ctx, r); err != nil {
		return fmt.Errorf("write for the journal: %w", err)
	}
	if _, err := j.line.to.Write(j.line.buf.Bytes()); err != nil {
		return fmt.Errorf("write to the journal: %w", err)
	}
	return nil
}

func (j journal) WithAttrs(attrs []slog.Attr) slog.Handler {
	return journal{j.line, j.next.WithAttrs(attrs)}
}

func (j journal) WithGroup(name string) slog.Handler { return journal{j.line, j.next.WithGroup(name)} }

// priority returns the syslog priority (syslog(3)): 3 error, 4 warning, 6 information, 7 debugging.
func priority(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return 3
	case level >= slog.LevelWarn:
		return 4
	case level >= slog.LevelInfo:
		return 6
	}
	return 7
}
