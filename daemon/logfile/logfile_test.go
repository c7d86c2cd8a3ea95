package logfile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/daemon/logfile"
	"hob/daemon/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// line returns a line of the log that is 100 bytes long, including its line break.
func line(n int, level string, turn int) string {
	text := fmt.Sprintf(`{"time":"2026-11-21T09:00:%02dZ","level":%q,"msg":"line %d","turn":%d,"pad":"`, n%60, level, n, turn)
	return text + strings.Repeat("x", 97-len(text)) + "\"}\n"
}

func put(t *testing.T, w *logfile.Writer, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if n, err := w.Write([]byte(l)); n != len(l) || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
}

func writer(t *testing.T, path string, most int64, kept int) *logfile.Writer {
	t.Helper()
	w := logfile.New(path, most, kept)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// read returns the messages that a query selects.
func read(t *testing.T, path string, q logfile.Query) (found []string) {
	t.Helper()
	err := logfile.Follow(t.Context(), path, q, false, nil, func(raw []byte) error {
		found = append(found, message(t, raw))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func message(t *testing.T, raw []byte) string {
	t.Helper()
	var l struct{ Msg string }
	if err := json.Unmarshal(raw, &l); err != nil {
		t.Errorf("%q: %v", raw, err)
	}
	return l.Msg
}

func TestTurnsOverBySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log", "hob.log")
	w := writer(t, path, 300, 2)
	for n := range 11 {
		put(t, w, line(n, "INFO", 0))
	}
	for name, want := range map[string]string{path: "line 9 line 10", path + ".1": "line 6 line 7 line 8", path + ".2": "line 3 line 4 line 5"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 300 || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%s has %d bytes and mode %v", name, info.Size(), info.Mode())
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for l := range strings.Lines(string(text)) {
			got = append(got, message(t, []byte(l)))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s holds %v, want %s", name, got, want)
		}
	}
	if _, err := os.Stat(path + ".3"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a third older file: %v", err)
	}
	if got := strings.Join(read(t, path, logfile.Query{}), " "); got != "line 3 line 4 line 5 line 6 line 7 line 8 line 9 line 10" {
		t.Errorf("read %s", got)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
		t.Errorf("folder: %v, %v", info.Mode(), err)
	}
}

func TestLineLargerThanAFileIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob.log")
	put(t, writer(t, path, 50, 1), line(1, "INFO", 0), line(2, "INFO", 0))
	if got := strings.Join(read(t, path, logfile.Query{}), " "); got != "line 1 line 2" {
		t.Errorf("read %s", got)
	}
}

func TestQueries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob.log")
	w := writer(t, path, 400, 5)
	for n := range 12 {
		put(t, w, line(n, []string{"DEBUG", "INFO", "WARN", "ERROR"}[n%4], n%3))
	}
	put(t, w, "no JSON\n", `{"time":"x","level":"INFO","msg":"bad time"}`+"\n", `{"time":"2026-11-21T09:00:59Z","level":"INFO","msg":"odd","turn":"3"}`+"\n")
	at := func(s int) time.Time { return time.Date(2026, 11, 21, 9, 0, s, 0, time.UTC) }
	for _, c := range []struct {
		name string
		q    logfile.Query
		want string
	}{
		{"all", logfile.Query{Level: slog.LevelDebug}, "line 0 line 1 line 2 line 3 line 4 line 5 line 6 line 7 line 8 line 9 line 10 line 11 odd"},
		{"the newest", logfile.Query{Level: slog.LevelDebug, Limit: 3}, "line 10 line 11 odd"},
		{"over three files", logfile.Query{Level: slog.LevelDebug, Limit: 9}, "line 4 line 5 line 6 line 7 line 8 line 9 line 10 line 11 odd"},
		{"warnings", logfile.Query{Level: slog.LevelWarn}, "line 2 line 3 line 6 line 7 line 10 line 11"},
		{"errors, two", logfile.Query{Level: slog.LevelError, Limit: 2}, "line 7 line 11"},
		{"a turn", logfile.Query{Level: slog.LevelDebug, Turn: 2}, "line 2 line 5 line 8 line 11"},
		{"a turn that is not there", logfile.Query{Turn: 20}, ""},
		{"since", logfile.Query{Level: slog.LevelDebug, Since: at(9)}, "line 9 line 10 line 11 odd"},
		{"together", logfile.Query{Level: slog.LevelWarn, Turn: 2, Since: at(3), Limit: 5}, "line 11"},
	} {
		if got := strings.Join(read(t, path, c.q), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := read(t, filepath.Join(t.TempDir(), "none", "hob.log"), logfile.Query{}); len(got) != 0 {
		t.Errorf("no log: %v", got)
	}
}

// following starts a follower and returns a function that waits for the next message.
func following(t *testing.T, path string, q logfile.Query) (next func() string) {
	t.Helper()
	lines, ended := make(chan string, 1000), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- logfile.Follow(ctx, path, q, true, nil, func(raw []byte) error {
			lines <- message(t, raw)
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return func() string {
		t.Helper()
		select {
		case l := <-lines:
			return l
		case <-time.After(20 * time.Second):
			t.Fatal("nothing comes")
			return ""
		}
	}
}

func TestFollowsOverTheTurnAndADeletion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob.log")
	w := writer(t, path, 300, 2)
	put(t, w, line(0, "INFO", 0), line(1, "INFO", 0))
	next := following(t, path, logfile.Query{Limit: 1})
	if got := next(); got != "line 1" {
		t.Fatalf("the backlog begins with %s", got)
	}
	for n := 2; n < 9; n++ { // the log is rotated twice
		put(t, w, line(n, "DEBUG", 0), line(n, "INFO", 0))
		if got := next(); got != fmt.Sprint("line ", n) {
			t.Fatalf("%s after line %d", got, n-1)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	put(t, w, line(9, "INFO", 0), line(9, "INFO", 0))
	if got := next() + " " + next(); got != "line 9 line 9" {
		t.Errorf("after the file was deleted: %s", got)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	put(t, w, line(10, "INFO", 0))
	if got := next(); got != "line 10" {
		t.Errorf("after the file was emptied: %s", got)
	}
}

func TestFollowBeginsBeforeTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob.log")
	next := following(t, path, logfile.Query{})
	put(t, writer(t, path, 300, 2), line(1, "INFO", 0))
	if got := next(); got != "line 1" {
		t.Error(got)
	}
}

func TestFollowEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob.log")
	put(t, writer(t, path, 300, 2), line(1, "INFO", 0))
	full := errors.New("full")
	if err := logfile.Follow(t.Context(), path, logfile.Query{}, true, nil, func([]byte) error { return full }); !errors.Is(err, full) {
		t.Errorf("an error of the reader: %v", err)
	}
	stop := make(chan struct{})
	close(stop)
	if err := logfile.Follow(t.Context(), path, logfile.Query{}, true, stop, func([]byte) error { return nil }); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

// TestFullDisk: lines are lost without an error to the caller, and the next successful write reports how many.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full here")
	}
	path := filepath.Join(t.TempDir(), "hob.log")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	w := writer(t, path, 300, 2)
	log := slog.New(logfile.Lines(w, slog.LevelInfo))
	for range 3 {
		log.InfoContext(t.Context(), "into the void")
	}
	if w.Lost() != 3 {
		t.Errorf("%d lines are lost", w.Lost())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	log.InfoContext(t.Context(), "there is room again")
	if got := strings.Join(read(t, path, logfile.Query{}), " / "); got != "log lines could not be written / there is room again" {
		t.Errorf("read %s", got)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"lines":3}`) || w.Lost() != 0 {
		t.Errorf("%s %v, %d lost", text, err, w.Lost())
	}
}

func TestFolderThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := writer(t, filepath.Join(file, "hob.log"), 300, 2)
	put(t, w, line(1, "INFO", 0))
	if w.Lost() != 1 {
		t.Errorf("%d lines are lost", w.Lost())
	}
}

// TestTornLine: a partial line of a killed process does not swallow the next line.
func TestTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob.log")
	if err := os.WriteFile(path, []byte(line(1, "INFO", 0)+`{"time":"2026`), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, writer(t, path, 1000, 2), line(2, "INFO", 0))
	if got := strings.Join(read(t, path, logfile.Query{}), " "); got != "line 1 line 2" {
		t.Errorf("read %s", got)
	}
}

func TestJournalForm(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(logfile.Journal(&out, slog.LevelDebug)).With("turn", 3)
	ctx := t.Context()
	log.DebugContext(ctx, "a")
	log.InfoContext(ctx, "b", "text", "two\nlines")
	log.WarnContext(ctx, "c", slog.Group("g", "level", 1))
	log.ErrorContext(ctx, "d", "err", errors.New("e"))
	want := "<7>msg=a turn=3\n<6>msg=b turn=3 text=\"two\\nlines\"\n<4>msg=c turn=3 g.level=1\n<3>msg=d turn=3 err=e\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
	if slog.New(logfile.Journal(&out, slog.LevelInfo)).Enabled(ctx, slog.LevelDebug) {
		t.Error("debugging at level info")
	}
}

// TestCanaries: behind the redactor, no sink gets a secret in any part of a record.
func TestCanaries(t *testing.T) {
	var r secret.Redactor
	for n := range 50 {
		r.Add("k", fmt.Sprintf("canary-%02d", n))
	}
	path := filepath.Join(t.TempDir(), "hob.log")
	var text, journal bytes.Buffer
	sinks := slog.NewMultiHandler(logfile.Lines(writer(t, path, 1<<20, 1), slog.LevelInfo), logfile.Journal(&journal, slog.LevelInfo), slog.NewTextHandler(&text, nil))
	log := slog.New(r.Handler(sinks))
	for n := range 50 {
		c := fmt.Sprintf("canary-%02d", n)
		rec := slog.NewRecord(time.Now(), slog.LevelError, "message "+c, 0)
		rec.Add("text", c, "err", fmt.Errorf("get: %w", errors.New(c)), "list", []string{c}, slog.Group("g", "in", "x"+c+"y"), c, 1)
		if err := log.With("with", c).Handler().Handle(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"file": string(file), "journal": journal.String(), "terminal": text.String()} {
		if strings.Contains(got, "canary") || strings.Count(got, "[secret k]") < 50*6 || strings.Count(got, "\n") != 50 {
			t.Errorf("%s: %.300s", name, got)
		}
	}
}

// FuzzRead: for any content of the file, reading ends and returns only complete JSON objects, each once.
func FuzzRead(f *testing.F) {
	f.Add([]byte(line(1, "INFO", 1)+"\n\n{\"level\":3}\n"+line(2, "WARN", 1)), 1)
	f.Add([]byte(`{"level":"INFO","turn":1}`), 0)
	f.Fuzz(func(t *testing.T, text []byte, limit int) {
		path := filepath.Join(t.TempDir(), "hob.log")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		found := 0
		err := logfile.Follow(t.Context(), path, logfile.Query{Limit: limit, Turn: 1}, false, nil, func(raw []byte) error {
			found++
			if !json.Valid(raw) || bytes.ContainsRune(raw, '\n') {
				t.Errorf("%q", raw)
			}
			return nil
		})
		if err != nil || limit > 0 && found > limit || found > bytes.Count(text, []byte("\n")) {
			t.Errorf("%d lines, %v", found, err)
		}
	})
}
