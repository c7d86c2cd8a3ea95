package console_test

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

// TestWideLine: the cursor is where the next character goes, in lines with wide characters, marks, line breaks and pastes.
func TestWideLine(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		keys   string
		shown  string // the input line, its rows joined by |
		x, y   int    // of the cursor, from the first row of the input line
		posted string
	}{
		"wide":             {"日本", "> 日本", 6, 0, "日本"},
		"in the middle":    {"日本\x1b[Dx", "> 日x本", 5, 0, "日x本"},
		"back":             {"a日本b\x7f\x7f", "> a日", 5, 0, "a日"},
		"delete":           {"a日本\x01\x1b[C\x1b[3~", "> a本", 3, 0, "a本"},
		"Ctrl-D":           {"日本\x01\x04", "> 本", 2, 0, "本"},
		"swap":             {"日本\x14", "> 本日", 6, 0, "本日"},
		"kill":             {"日本語\x1b[D\x1b[D\x0b", "> 日", 4, 0, "日"},
		"to the start":     {"日本語\x1b[D\x15", "> 語", 2, 0, "語"},
		"words":            {"日本 語言 x\x17\x17", "> 日本", 7, 0, "日本"},
		"next word":        {"日本 語言 x\x01\x1bd", ">  語言 x", 2, 0, "語言 x"},
		"emoji":            {"👍🏽a👨‍👩‍👧b", "> 👍🏽a👨‍👩‍👧b", 8, 0, "👍🏽a👨‍👩‍👧b"},
		"emoji is one":     {"a👨‍👩‍👧\x7f", "> a", 3, 0, "a"},
		"mark":             {"e\u0301x", "> e\u0301x", 4, 0, "e\u0301x"},
		"mark alone":       {"e\x7fx\x1b[D\u0301\x1b[C!", ">  \u0301x!", 5, 0, "\u0301x!"},
		"full row":         {"日本語日本語日本語", "> 日本語日本語日本語|", 0, 1, "日本語日本語日本語"},
		"over the edge":    {"a日本語日本語日本語b", "> a日本語日本語日本|語b", 3, 1, "a日本語日本語日本語b"},
		"edge, then first": {"a日本語日本語日本語b\x01\x1b[3~", "> 日本語日本語日本語|b", 2, 0, "日本語日本語日本語b"},
		"edge, then left":  {"a日本語日本語日本語\x1b[D\x1b[Dx", "> a日本語日本語日x本|語", 18, 0, "a日本語日本語日x本語"},
		"breaks":           {"a\nb\x1b\r日\x1b[D!", "> a|  b|  !日", 3, 2, "a\nb\n!日"},
		"break undone":     {"a\nb\x1b[D\x7f", "> ab", 3, 0, "ab"},
		"paste":            {"\x1b[200~one\r\n日\rthree\r\x1b[201~!", "> one|  日|  three!", 8, 2, "one\n日\nthree!"},
		"paste in parts":   {"\x1b[200~日\xe6|\x9c\xac\x1b[2|01~!", "> 日本!", 7, 0, "日本!"},
		"keys in parts":    {"\xe6|\x97|\xa5\x1b[|Dx", "> x日", 3, 0, "x日"},
		"hostile paste":    {"\x1b[200~a\x1b[2J\u202eb\tc\x03\x1b[201~", "> a?[2J?b c?", 12, 0, "a\x1b[2J\u202eb\tc\x03"},
		"private use":      {"\U00100000\U0010F020x", "> \U00100000\U0010F020x", 5, 0, "\U00100000\U0010F020x"},
		"big paste":        {"\x1b[200~" + big + "\x1b[201~!", "> [1 line, 1.0 MB]!", 19, 0, big + "!"},
		"lines pasted":     {"\x1b[200~" + strings.Repeat("y\r", 40) + "\x1b[201~\x1b[DA", "> A[40 lines, 79 bytes]", 3, 0, "A" + strings.Repeat("y\n", 39) + "y"},
		"nothing to add":   {"日 ./zz\t", "> 日 ./zz", 9, 0, "日 ./zz"}, // no file of this folder begins with zz
	} {
		t.Run(name, func(t *testing.T) {
			posted := make(chan string, 1)
			f := newFake(func(_ *fake, _ int64, m client.Message) { posted <- m.Text })
			s := drawing(t, f, 20, 12, console.Look{UTF8: true, Moves: true})
			for part := range strings.SplitSeq(c.keys, "|") {
				s.press(t, part)
			}
			ok := s.reaches(func() bool {
				at := s.drawn.CursorPosition()
				rows := strings.TrimRight(strings.ReplaceAll(s.plain(), "\n", ""), " ")
				return rows == strings.ReplaceAll(c.shown, "|", "") && at.X == c.x && at.Y == c.y
			})
			if !ok {
				t.Errorf("%s\nwant %q, cursor at %d,%d", s.shown(), c.shown, c.x, c.y)
			}
			s.press(t, "\r")
			if got := <-posted; got != c.posted {
				t.Errorf("%d bytes were sent: %.100q", len(got), got)
			}
			s.leaves(t)
		})
	}
}

// TestWideScreens: something arrives and the window is resized while a line with wide characters is typed.
func TestWideScreens(t *testing.T) {
	posted := make(chan string, 1)
	f := newFake(func(_ *fake, _ int64, m client.Message) { posted <- m.Text })
	s := drawing(t, f, 40, 12, console.Look{UTF8: true, Moves: true})
	s.press(t, "家には三つの部屋があります。台所は南向き、広い。\n👍🏽 ok")
	s.until(t, "ok")
	s.keeps(t, "wide-1-typed")
	f.emit(event.Event{Type: "message.sent", At: noon, Data: map[string]any{"text": "立って", "cause": "fire", "from": "job", "name": "stretch"}})
	s.until(t, "立って")
	s.keeps(t, "wide-2-arrived")
	s.resize(61, 12)
	s.press(t, "!")
	s.until(t, "ok!")
	s.keeps(t, "wide-3-resized")
	s.press(t, "\r")
	if got := <-posted; got != "家には三つの部屋があります。台所は南向き、広い。\n👍🏽 ok!" {
		t.Errorf("%q was sent", got)
	}
	s.leaves(t)
}

// TestHistoryOfWideLines: messages of several lines and with wide characters come back as they were, also after a new start.
func TestHistoryOfWideLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	posted := make(chan string, 1)
	f := newFake(func(_ *fake, _ int64, m client.Message) { posted <- m.Text })
	for _, keys := range []string{"日本\nzwei\r", "\x1b[A!\r", "zw\x12\r"} {
		in, typed := io.Pipe()
		w := &terminal{keys: typed}
		w.more = sync.NewCond(&w.mu)
		talk := console.Talk{
			API: f, In: in, Out: w, Zone: time.UTC, Log: slog.New(slog.DiscardHandler), History: file,
			Size: func() (int, int) { return 80, 24 }, Look: console.Look{UTF8: true, Moves: true},
		}
		ended := make(chan error, 1)
		go func() { ended <- talk.Run(t.Context()) }()
		w.until(t, "> ")
		w.press(t, keys)
		want := "日本\nzwei"
		if keys != "日本\nzwei\r" {
			want += "!"
		}
		if got := <-posted; got != want {
			t.Errorf("%q sent %q", keys, got)
		}
		w.press(t, "\x04")
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = typed.Close()
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "日本\u2028zwei\n日本\u2028zwei!\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestTalkOnADumbTerminal: without a cursor that moves there are plain lines, which the system edits, and no escape sequence.
func TestTalkOnADumbTerminal(t *testing.T) {
	f := newFake(func(f *fake, row int64, m client.Message) { turn(f, row, row, "you said: "+m.Text) })
	f.down = 1
	in, keys := io.Pipe()
	w := &terminal{keys: keys}
	w.more = sync.NewCond(&w.mu)
	talk := console.Talk{
		API: f, In: in, Out: w, Zone: time.UTC, Log: slog.New(slog.DiscardHandler), Look: console.Look{UTF8: true},
		Size: func() (int, int) { return 80, 24 },
	}
	ended := make(chan error, 1)
	go func() { ended <- talk.Run(t.Context()) }()
	w.until(t, "> ")
	w.press(t, "日本\n")
	w.until(t, "type your message again to send it\n")
	w.press(t, "日本\n")
	w.until(t, "you said: 日本\n")
	w.until(t, "> ")
	f.emit(event.Event{Type: "message.sent", Data: map[string]any{"text": "stand up", "cause": "step", "turn": 1}})
	w.until(t, "\nstand up\n\n> ")
	w.press(t, "one\\\ntwo\r\n")
	w.until(t, "you said: one\ntwo\n")
	w.until(t, "> ")
	_ = keys.Close() // Ctrl-D
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if strings.ContainsAny(w.shown, "\x1b\r\a\b") || !strings.HasSuffix(w.shown, "\n") {
		t.Errorf("%q", w.shown)
	}
	if ids := fmt.Sprint(f.posts[0].ID == f.posts[1].ID, len(f.posts)); ids != "true 3" {
		t.Error(ids)
	}
}
